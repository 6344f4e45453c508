//! Erasure processes and flows from flags and parameter files, with the files that they name.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{Arg, Command};
use fluid_tcp::experiment::with_files;
use tmt_core::channel::{FAMILIES, SlotChannel, names_files};
use tmt_core::format::import::table_text;

use super::open_or;
use crate::exit::{Failure, Outcome};

/// An erasure process as typed; valid, unless it names files, which are read later.
#[derive(Debug, Clone)]
pub(crate) struct ProcessText(String);

impl ProcessText {
    /// The process, whose files are read.
    pub(crate) fn read(&self, flag: &str) -> Outcome<SlotChannel> {
        let refused = |why| Failure::failed(format!("{flag}: {why}"));
        let text = unnamed(&self.0).map_err(refused)?;
        let text = text.as_ref().unwrap_or(&self.0);
        let process = text.parse::<SlotChannel>();
        process.map_err(|error| Failure::failed(format!("{flag}: {error}")))
    }
}

/// The text of a process or a flow with the content of its files instead of their names; `None` if it names none.
pub(crate) fn unnamed(text: &str) -> Result<Option<String>, String> {
    with_files(text, &mut content)
}

/// The text of a file, which may be gzip or zstd, or the table of a capture.
fn content(path: &str) -> Result<String, String> {
    if path == "-" {
        return Err("found stdin (-), expected the name of a file".to_owned());
    }
    let file = open_or("tmt", Some(path)).map_err(|error| format!("{path}: {error}"))?;
    table_text(path, file)
}

/// Text of a process in a command: quoted if a shell would change it.
pub(crate) fn quoted(process: &SlotChannel) -> String {
    let text = process.to_string();
    if text.contains(['{', ';', ' ']) {
        format!("'{text}'")
    } else {
        text
    }
}

/// Reads a process, and offers the names of the families for completion.
#[derive(Debug, Clone)]
pub(crate) struct ProcessParser;

impl TypedValueParser for ProcessParser {
    type Value = ProcessText;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &OsStr,
    ) -> Result<ProcessText, clap::Error> {
        let check = |text: String| {
            if !names_files(&text, FAMILIES) {
                text.parse::<SlotChannel>()?;
            }
            Ok::<_, tmt_core::channel::ChannelError>(ProcessText(text))
        };
        let parser = StringValueParser::new().try_map(check);
        parser.parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = FAMILIES.iter().map(|family| family.name);
        Some(Box::new(names.map(PossibleValue::new)))
    }
}

/// The processes for help: form, description and keys of each family.
pub(crate) fn list() -> String {
    let mut text = "Processes:\n".to_owned();
    for family in FAMILIES {
        text.push_str(&format!("  {}\n", family.form()));
        let keys = family.parameters.iter().map(|key| match key.default {
            Some(_) => format!(
                "{}: {} [default: {}]",
                key.name,
                key.about,
                key.default_text()
            ),
            None => format!("{}: {}", key.name, key.about),
        });
        let lines = std::iter::once(family.about.to_owned()).chain(keys);
        for line in lines {
            text.push_str(&format!("      {line}\n"));
        }
    }
    text
}

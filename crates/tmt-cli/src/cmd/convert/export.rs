//! `tmt convert --to`: writes a trace as files of another tool.
//!
//! Such files have no end line, so half of one looks like a whole one: all outputs are collected first, and written when
//! nothing can fail any more.

use std::fs::File;
use std::io::{self, Seek as _, Write};

use tmt_core::format::export::{self, Export, ExportError, Exporter, Exporters, OUTPUT, Outputs};
use tmt_core::format::import::{Effect, Given, render_keys};
use tmt_core::format::{Compression, Options, Rows};
use tmt_core::named::Kind;
use tmt_core::named::unknown_of;
use tmt_core::types::{Metadata, TraceKind};
use tmt_core::{Error, ErrorKind};

use super::inputs::Inputs;
use super::{Args, BATCH, Started, own, print_findings, say, strictly, typed};
use crate::exit::{Failure, Outcome, headline};
use crate::input::{self, note_reading, open_trace};
use crate::output::{Output, refuse_shared_files};
use crate::table::counted;

/// The format that `--to` names, if it is given.
pub(super) fn exporter(args: &Args) -> Outcome<Option<&'static Exporter>> {
    let Some(name) = &args.common.to else {
        return Ok(None);
    };
    let exporters = Exporters::default();
    exporters.find(name).map(Some).ok_or_else(|| {
        Failure::usage(format!(
            "--to: {}",
            unknown_of("format", name, exporters.names())
        ))
    })
}

/// Where a trace is written.
pub(super) struct Target {
    exporter: &'static Exporter,
    given: Given,
    strict: bool,
    /// The outputs with their keys.
    outputs: Vec<(&'static str, Output)>,
    parts: Parts,
}

/// Contents of the outputs, by their keys.
#[derive(Default)]
struct Parts(Vec<(&'static str, File)>);

impl Outputs for Parts {
    fn create(&mut self, key: &'static str) -> io::Result<Box<dyn Write + Send>> {
        let file = tempfile::tempfile()?;
        self.0.push((key, file.try_clone()?));
        Ok(Box::new(file))
    }
}

impl Target {
    /// Opens the outputs; none of them may be one of the `inputs`.
    pub(super) fn open<'a>(
        args: &'a Args,
        exporter: &'static Exporter,
        inputs: impl Iterator<Item = &'a str>,
    ) -> Outcome<Self> {
        let name = exporter.name;
        if let Some(flag) = args.output.format.given() {
            return Err(Failure::usage(format!(
                "{flag} does not apply to --to {name}: it is about traces of tmt"
            )));
        }
        let given = own(&args.given, exporter.keys);
        let output = args.output.output.as_deref();
        let paths: Vec<(&str, Option<&str>)> = if exporter.has_several_files() {
            let files = exporter.keys.iter().filter(|key| key.kind == Kind::File);
            let files: Vec<&str> = files.map(|key| key.name).collect();
            if output.is_some() {
                let files: Vec<String> = files.iter().map(|key| typed(key)).collect();
                return Err(Failure::usage(format!(
                    "--output does not apply to --to {name}: it has {}",
                    files.join(" and ")
                )));
            }
            let path = |key: &'static str| Some((key, Some(args.given.text(key)?)));
            let keys = exporter.keys.iter().filter(|key| key.kind == Kind::File);
            keys.filter_map(|key| path(key.name)).collect()
        } else {
            vec![(OUTPUT, output)]
        };
        let outputs = paths.iter().filter_map(|(_, path)| *path);
        refuse_shared_files(inputs.chain(outputs.clone()))?;
        if outputs.clone().filter(|path| *path == "-").count() > 1 {
            return Err(Failure::usage(format!(
                "two files of --to {name} cannot both go to stdout; name a file"
            )));
        }
        for path in outputs {
            if let Some(compression) = Compression::from_file_name(path) {
                return Err(Failure::usage(format!(
                    "{path}: {name} is not compressed: expected a name without {}",
                    compression.extension()
                )));
            }
        }
        let keys = exporter.keys.iter().map(|key| key.name).chain([OUTPUT]);
        let keys: Vec<&'static str> = keys.collect();
        let create = |(key, path): (&str, Option<&str>)| {
            let key = keys.iter().copied().find(|known| *known == key);
            Ok((key.unwrap_or(OUTPUT), Output::create(path)?))
        };
        Ok(Self {
            exporter,
            given,
            strict: args.common.strict,
            outputs: paths.into_iter().map(create).collect::<Outcome<_>>()?,
            parts: Parts::default(),
        })
    }

    /// Writes the slots of a conversion.
    pub(super) fn write_import(
        mut self,
        started: Started,
        inputs: &Inputs<'_>,
        settings: &str,
    ) -> Outcome {
        let mut said = Vec::new();
        let mut export = self.begin(inputs.name(), &started.head, &mut said)?;
        let (mut slots, mut batch, mut rows) = (started.import.slots, Vec::new(), 0);
        loop {
            batch.clear();
            while batch.len() < BATCH {
                match slots.next_slot() {
                    Ok(Some(slot)) => batch.push(slot),
                    Ok(None) => break,
                    Err(error) => return Err(inputs.failure(&error)),
                }
            }
            if batch.is_empty() {
                break;
            }
            rows += batch.len() as u64;
            export
                .put(&batch)
                .map_err(|error| failure(inputs.name(), &error))?;
        }
        // An exporter of a capacity reports the rate of probes itself.
        print_findings(&slots.findings(), TraceKind::Capacity);
        if rows == 0 {
            let name = inputs.name();
            return Err(Failure::failed(format!(
                "{name}: found no row, expected at least one"
            )));
        }
        self.end(inputs.name(), export, said, started.kind)?;
        let slots = counted(rows, "slot");
        headline!(
            "convert",
            "{slots} ({settings} --to {})",
            self.exporter.name
        );
        self.finish()
    }

    /// Writes the trace at `path`.
    pub(super) fn write_trace(mut self, path: &str, kind: Option<TraceKind>) -> Outcome {
        let (name, mut reader) = open_trace("convert", Some(path), Options::default())?;
        let mut head = reader.metadata().clone();
        if let Some(kind) = kind {
            head.set(TraceKind::KEY, kind.to_string());
        }
        let mut said = Vec::new();
        let mut export = self.begin(&name, &head, &mut said)?;
        let (mut rows, mut count) = (Rows::default(), 0);
        while reader
            .next_rows(&mut rows)
            .map_err(|error| unread(&name, &error))?
        {
            count += rows.slots.len() as u64;
            export
                .put(&rows.slots)
                .map_err(|error| failure(&name, &error))?;
        }
        note_reading("convert", &name, &reader);
        let kind = head.trace_kind().unwrap_or(TraceKind::Capacity);
        self.end(&name, export, said, kind)?;
        let slots = counted(count, "slot");
        headline!("convert", "{slots} (--to {})", self.exporter.name);
        self.finish()
    }

    /// Starts the export of the trace `name`.
    fn begin(
        &mut self,
        name: &str,
        head: &Metadata,
        said: &mut Vec<(Effect, String)>,
    ) -> Outcome<Box<dyn Export>> {
        let (given, parts) = (&self.given, &mut self.parts);
        let begun = export::open(self.exporter, given, head, parts, &mut |remark| {
            said.push((remark.effect, remark.text.clone()));
            say(remark);
        });
        begun.map_err(|error| failure(name, &error))
    }

    /// Completes the export of the trace `name`, and says what was found.
    fn end(
        &self,
        name: &str,
        export: Box<dyn Export>,
        mut said: Vec<(Effect, String)>,
        kind: TraceKind,
    ) -> Outcome {
        let findings = export.finish().map_err(|error| failure(name, &error))?;
        if self.strict {
            let found = findings.iter();
            said.extend(found.map(|found| (found.effect, found.text.clone())));
            strictly(name, &said)?;
        }
        print_findings(&findings, kind);
        Ok(())
    }

    /// Writes the outputs.
    fn finish(mut self) -> Outcome {
        for (key, part) in &mut self.parts.0 {
            let found = self.outputs.iter_mut().find(|(known, _)| known == key);
            let Some((_, output)) = found else { continue };
            let name = output.name().to_owned();
            let copied = part.rewind().and_then(|()| io::copy(part, output));
            copied.map_err(|error| Failure::io(&name, &error))?;
            output.close()?;
        }
        let mut outputs = self.outputs.into_iter();
        outputs.try_for_each(|(_, output)| output.finish())
    }
}

/// The failure of an export of the trace `name`.
fn failure(name: &str, error: &ExportError) -> Failure {
    match error {
        ExportError::Refused(refusal) => Failure::usage(render_keys(refusal, typed)),
        ExportError::Keys(refusal) => Failure::usage(render_keys(&refusal.to_string(), typed)),
        ExportError::Trace(refusal) => {
            // Text between backticks here may be a command.
            let text = render_keys(refusal, |key| {
                if key.contains(' ') {
                    format!("`{key}`")
                } else {
                    typed(key)
                }
            });
            Failure::failed(format!("{name}: {text}"))
        }
        ExportError::Output(error) => Failure::io("temporary file", error),
    }
}

/// The failure of reading the trace `name`.
fn unread(name: &str, error: &Error) -> Failure {
    let failure = Failure::input(input::shown(Some(name)), error);
    match (failure, error.kind()) {
        (Failure::Failed { message, .. }, ErrorKind::Cut { .. } | ErrorKind::CutStream { .. }) => {
            let help = "the previous stage failed or the file was cut; `tmt slice --rows 0.. --allow-cut` passes on the rows that are present";
            Failure::Failed {
                message,
                help: Some(help.to_owned()),
            }
        }
        (failure, _) => failure,
    }
}

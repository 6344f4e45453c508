//! Flags of `tmt lint`: its own, those of reading traces, and those of the formats of other tools.

use std::ffi::OsString;

use clap::{ArgMatches, Command, FromArgMatches};
use tmt_core::format::import::{Given, Importers};
use tmt_core::named::{Kind, Parameter};

use crate::cmd::convert::{FormatParser, capital, flag};
use crate::input::ReadArgs;

const AFTER_HELP: &str = "docs/lint.md lists all findings with their thresholds. Nothing is converted or changed.\n\n\
    Exit codes: 0 no warning (notes do not count), 1 a warning, or a file that cannot be read to its end, 2 usage.\n\n\
    Example:\n  tmt lint ping.log\n  tmt lint --from delay-loss --delay delay.txt --loss loss.txt --interval 10ms\n  \
    tmt convert --from mahimahi trace.down | tmt lint --json";

/// Flags of every look.
#[derive(Debug, clap::Args)]
pub(super) struct Common {
    /// File to look at: a trace or timeline in any form, or a file of another tool, compressed or not [default: stdin, also
    /// `-`]
    #[arg(value_name = "FILE")]
    pub(super) file: Option<String>,
    /// Format of another tool; `tmt lint --from FORMAT --help` shows its options [default: by the content]
    #[arg(long, value_name = "FORMAT", value_parser = FormatParser, hide_possible_values = true)]
    pub(super) from: Option<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(super) json: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<String>,
}

/// Flags of `tmt lint`.
#[derive(Debug)]
pub(crate) struct Args {
    pub(super) common: Common,
    pub(super) read: ReadArgs,
    /// Values for formats of other tools, without the positional file.
    pub(super) given: Given,
}

impl Args {
    /// All files as typed.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let keys = Importers::default().keys();
        let files: Vec<&'static str> = keys
            .iter()
            .filter(|(key, _)| key.kind == Kind::File)
            .map(|(key, _)| key.name)
            .collect();
        let given = files.into_iter().filter_map(|key| self.given.text(key));
        self.common.file.as_deref().into_iter().chain(given)
    }
}

/// The keys of formats that are no flags of this command otherwise.
fn own_keys() -> Vec<(&'static Parameter, Vec<&'static str>)> {
    let known = ReadArgs::augment(Command::new("lint"));
    let known = Common::augment(known);
    let mut keys = Importers::default().keys();
    keys.retain(|(key, _)| {
        let is_flag = known
            .get_arguments()
            .any(|arg| arg.get_long() == Some(key.name));
        key.kind != Kind::Input && !is_flag
    });
    keys
}

/// The flags of a group.
trait Group: clap::Args {
    fn augment(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl Group for ReadArgs {}
impl Group for Common {}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let keys = own_keys().into_iter().map(|(key, formats)| {
            let help = format!("{}: {}", formats.join(", "), key.about);
            flag(key).help(help)
        });
        let command = Common::augment(command);
        ReadArgs::augment(command).args(keys).after_help(AFTER_HELP)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// `tmt` with a help of `tmt lint` that fits the arguments: options of formats only for the one that `--from` names.
pub(crate) fn focused(tmt: Command, arguments: &[OsString]) -> Command {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    if !words.contains(&"lint") {
        return tmt;
    }
    let name = words.iter().enumerate().find_map(|(at, word)| match *word {
        "--from" => words.get(at + 1).copied(),
        word => word.strip_prefix("--from="),
    });
    let importer = name.and_then(|name| Importers::default().find(name));
    let keys = own_keys();
    tmt.mut_subcommand("lint", |lint| {
        lint.mut_args(|arg| {
            if !keys.iter().any(|(key, _)| arg.get_id() == key.name) {
                return arg;
            }
            let own = importer.map_or(&[][..], |importer| importer.keys).iter();
            match own.into_iter().find(|key| arg.get_id() == key.name) {
                Some(key) => arg.help(capital(key.about)),
                None => arg.hide(true),
            }
        })
    })
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Given::default();
        for (key, _) in own_keys() {
            if key.kind == Kind::Present {
                if matches.get_flag(key.name) {
                    given.set(key.name, "");
                }
            } else if let Some(value) = matches.get_one::<String>(key.name) {
                given.set(key.name, value);
            }
        }
        let read = ReadArgs::from_arg_matches(matches)?;
        if let Some(interval) = read.interval {
            given.set("interval", interval.to_string());
        }
        if let Some(lldu) = read.lldu {
            given.set("lldu", lldu.to_string());
        }
        Ok(Self {
            common: Common::from_arg_matches(matches)?,
            read,
            given,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

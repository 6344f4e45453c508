//! `tmt convert`: conversion of measured traces of other tools to PHY traces (docs/trace-format.md, Sec. 11).
//!
//! Flags, help and errors derive from the descriptions of the formats (`tmt_core::format::import`).

use std::io::{self, BufRead, BufReader};

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use tmt_core::format::import::{
    self, Files, Given, ImportError, Importer, Importers, Key, Slots, ValueKind, render_keys,
};
use tmt_core::pipeline::{StageError, produce};
use tmt_core::types::{Metadata, Time};

use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::input::{self, is_file};
use crate::output::{OutputArgs, end_of_slots, refuse_shared_files};
use crate::provenance;
use crate::table::counted;

const AFTER_HELP: &str = "The delay in a PHY trace excludes propagation, and 0 means erased. A measured one-way delay D \
    therefore becomes max(1 ns, D - P), with P from --propagation, and rtt_ns = 2 P is stored in the metadata.\n\n\
    Example:\n  tmt convert --from delay-loss --delay delay.txt --loss loss.txt \\\n    \
    --interval 10ms --propagation 3ms > phy.csv\n  tmt convert --from mahimahi --rtt 60ms ATT-LTE-driving.down > phy.csv";

/// Placeholder of a format's input, which is positional.
const INPUT: &str = "TRACE";

/// Flags of `tmt convert`: those below, and one per key of the formats.
#[derive(Debug)]
pub(crate) struct Args {
    from: String,
    given: Given,
    output: OutputArgs,
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let importers = Importers::default();
        let names: Vec<&str> = importers.iter().map(Importer::name).collect();
        let formats = importers.iter();
        let lines = formats.map(|format| format!("  {:<10}  {}", format.name(), format.about()));
        let list = lines.collect::<Vec<_>>().join("\n");
        let from = Arg::new("from")
            .long("from")
            .value_name("FORMAT")
            .required(true)
            .value_parser(PossibleValuesParser::new(&names))
            .help("Format of the input");
        let keys = importers.keys().into_iter().map(|(key, formats)| {
            let help = if formats.len() == names.len() {
                let (first, rest) = key.help.split_at(1);
                first.to_uppercase() + rest
            } else {
                format!("{}: {}", formats.join(", "), key.help)
            };
            flag(key).help(help)
        });
        let command = command.arg(from).args(keys);
        OutputArgs::augment_args(command).after_help(format!("Formats:\n{list}\n\n{AFTER_HELP}"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Given::default();
        for (key, _) in Importers::default().keys() {
            if key.kind == ValueKind::Switch {
                if matches.get_flag(key.name) {
                    given.set(key.name, "");
                }
            } else if let Some(value) = matches.get_one::<String>(key.name) {
                given.set(key.name, value);
            }
        }
        Ok(Self {
            from: matches.get_one("from").cloned().unwrap_or_default(),
            given,
            output: OutputArgs::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag for a key.
fn flag(key: &'static Key) -> Arg {
    let arg = Arg::new(key.name).value_parser(ValueParser::new(|text: &str| key.read(text)));
    match key.kind {
        ValueKind::Input => arg.value_name(INPUT),
        ValueKind::File => arg.long(key.name).value_name("FILE"),
        ValueKind::Switch => Arg::new(key.name).long(key.name).action(ArgAction::SetTrue),
        ValueKind::Period | ValueKind::Duration | ValueKind::DurationOr(_) => {
            arg.long(key.name).value_name("DURATION")
        }
        ValueKind::Size => arg.long(key.name).value_name("SIZE"),
        ValueKind::OneOf(words) => {
            let words = PossibleValuesParser::new(words);
            arg.long(key.name).value_name("WORD").value_parser(words)
        }
    }
}

/// A key as typed on the command line.
fn typed(name: &str) -> String {
    let keys = Importers::default().keys();
    let is_input = |(key, _): &(&Key, _)| key.name == name && key.kind == ValueKind::Input;
    if keys.iter().any(is_input) {
        INPUT.to_owned()
    } else {
        format!("--{name}")
    }
}

/// Input files of a format, each with its key and its path as typed; `-` is stdin.
struct Inputs<'a> {
    format: &'static str,
    files: Vec<(&'static Key, &'a str)>,
}

impl<'a> Inputs<'a> {
    fn new(importer: &dyn Importer, given: &'a Given) -> Self {
        let path = |key: &'static Key| match key.kind {
            ValueKind::Input => Some((key, given.text(key.name).unwrap_or("-"))),
            ValueKind::File => Some((key, given.text(key.name)?)),
            _ => None,
        };
        Self {
            format: importer.name(),
            files: importer.keys().iter().filter_map(path).collect(),
        }
    }

    fn path(&self, key: &str) -> Option<&'a str> {
        let found = self.files.iter().find(|(known, _)| known.name == key);
        found.map(|(_, path)| *path)
    }

    /// Name of the whole input in messages: its file if it has only one, else the format.
    fn name(&self) -> &str {
        let input = self
            .files
            .iter()
            .find(|(key, _)| key.kind == ValueKind::Input);
        input.map_or(self.format, |(_, path)| input::shown(Some(path)))
    }

    /// The failure, with the name of the file concerned.
    fn failure(&self, error: &tmt_core::Error) -> Failure {
        let path = error.input().and_then(|key| self.path(key));
        let name = path.map_or_else(|| self.name(), |path| input::shown(Some(path)));
        Failure::input(name, error)
    }
}

impl Files for Inputs<'_> {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let input = input::open_or("convert", self.path(key))?;
        Ok(Box::new(BufReader::new(input)))
    }

    fn can_reopen(&self, key: &'static str) -> bool {
        self.path(key).is_some_and(is_file)
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let importer = Importers::default()
        .find(&args.from)
        .ok_or_else(|| Failure::usage(format!("unknown format '{}' of --from", args.from)))?;
    let mut inputs = Inputs::new(importer, &args.given);
    let paths = inputs.files.iter().map(|(_, path)| *path);
    refuse_shared_files(paths.chain(args.output.output.as_deref()))?;
    args.output.form()?;
    let stdins = inputs.files.iter().filter(|(_, path)| *path == "-");
    let stdins: Vec<String> = stdins
        .map(|(key, _)| format!("{} -", typed(key.name)))
        .collect();
    if stdins.len() > 1 {
        let stdins = stdins.join(" and ");
        return Err(Failure::usage(format!(
            "{stdins} cannot both be stdin; name a file"
        )));
    }
    let opened = import::open(importer, &args.given, &mut inputs, &mut |text| {
        note!("convert", "{}", render_keys(&text, typed));
    });
    let import = opened.map_err(|error| match error {
        ImportError::Refused(refusal) => Failure::usage(render_keys(&refusal, typed)),
        ImportError::Input(error) => inputs.failure(&error),
    })?;

    let mut command = format!("tmt convert --from {}", inputs.format);
    let is_input = |kind| matches!(kind, ValueKind::Input | ValueKind::File);
    for key in importer.keys().iter().filter(|key| !is_input(key.kind)) {
        match import.settings.text(key.name) {
            Some("") => command.push_str(&format!(" --{}", key.name)),
            Some(value) => command.push_str(&format!(" --{} {value}", key.name)),
            None => {}
        }
    }
    let mut head = provenance::new_head(&command);
    for (key, value) in import.head.iter() {
        head.set(key, value);
    }
    head.push("stage", command.clone());
    let rows = write_slots(&args.output, &head, &inputs, import.slots)?;
    let settings = command.trim_start_matches("tmt convert ");
    headline!("convert", "{} ({settings})", counted(rows, "slot"));
    Ok(())
}

/// Slots per batch.
const BATCH: usize = 1 << 14;

/// Writes all `slots` behind `head`, and returns their number.
fn write_slots(
    output: &OutputArgs,
    head: &Metadata,
    inputs: &Inputs<'_>,
    mut slots: Box<dyn Slots>,
) -> Outcome<u64> {
    let mut writer = output.create(head)?;
    let unwritten = |error| Failure::io(output.name(), &error);
    let (mut rows, mut last) = (0u64, Time::ZERO);
    let produced = produce(&mut writer, |batch| {
        while batch.len() < BATCH
            && let Some(slot) = slots.next_slot()?
        {
            rows += 1;
            last = slot.tx_time();
            batch.push(slot);
        }
        Ok(())
    });
    match produced {
        Ok(()) => {}
        Err(StageError::Output(_, error)) => return Err(unwritten(error)),
        Err(StageError::Input(error)) => {
            // The slots before the error are valid.
            writer.abandon().map_err(unwritten)?;
            return Err(inputs.failure(&error));
        }
    }
    for text in slots.findings() {
        note!("convert", "{}", render_keys(&text, typed));
    }
    for text in slots.warnings() {
        warning!("convert", "{}", render_keys(&text, typed));
    }
    if rows == 0 {
        // An input without rows is refused: no output must look like a trace.
        let name = inputs.name();
        return Err(Failure::failed(format!(
            "{name}: found no row, expected at least one"
        )));
    }
    let written = writer.finish(&end_of_slots(rows, last));
    written.map_err(unwritten)?.finish()?;
    Ok(rows)
}

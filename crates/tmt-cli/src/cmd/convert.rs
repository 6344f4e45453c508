//! `tmt convert`: measured traces of other tools into PHY traces (link-layer.md §11).
//!
//! Flags, help and refusals follow from the descriptions of the formats (`tmt_core::format::import`).

use std::io::{self, BufRead, BufReader};

use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use tmt_core::format::import::{
    self, Files, Given, Import, ImportError, Importers, Key, Takes, spell,
};
use tmt_core::pipeline::{StageError, produce};
use tmt_core::types::{Metadata, Slot, Time};

use crate::exit::{Failure, Outcome, note};
use crate::input::{self, is_file};
use crate::output::{Output, OutputArgs, end_of_slots, refuse_twice};
use crate::provenance;

const AFTER_HELP: &str = "A PHY trace's delay leaves propagation out, and 0 means erased. So a measured one-way delay D \
    becomes max(1 ns, D - P), with P from --propagation, and is told as rtt_ns = 2 P.\n\n\
    Example:\n  tmt convert --from delay-loss --delay delay.txt --loss loss.txt --interval 10ms \
    --propagation 3ms > phy.csv\n  tmt convert --from mahimahi --rtt 60ms ATT-LTE-driving.down > phy.csv";

/// How the input of a format that has one is shown; it takes no flag.
const INPUT: &str = "TRACE";

/// Flags of `tmt convert`: those below, and the keys of all formats.
#[derive(Debug)]
pub(crate) struct Args {
    from: String,
    given: Given,
    output: OutputArgs,
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let importers = Importers::default();
        let names: Vec<&str> = importers.iter().map(import::Importer::name).collect();
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
            if key.takes == Takes::Switch {
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

/// The flag of a key.
fn flag(key: &'static Key) -> Arg {
    let arg = Arg::new(key.name).value_parser(ValueParser::new(|text: &str| key.read(text)));
    match key.takes {
        Takes::Input => arg.value_name(INPUT),
        Takes::File => arg.long(key.name).value_name("FILE"),
        Takes::Switch => Arg::new(key.name).long(key.name).action(ArgAction::SetTrue),
        Takes::Period | Takes::Duration | Takes::DurationOr(_) => {
            arg.long(key.name).value_name("DURATION")
        }
        Takes::Size => arg.long(key.name).value_name("SIZE"),
        Takes::OneOf(words) => {
            let words = PossibleValuesParser::new(words);
            arg.long(key.name).value_name("WORD").value_parser(words)
        }
    }
}

/// A key as it is typed.
fn typed(name: &str) -> String {
    let keys = Importers::default().keys();
    let is_input = |(key, _): &(&Key, _)| key.name == name && key.takes == Takes::Input;
    if keys.iter().any(is_input) {
        INPUT.to_owned()
    } else {
        format!("--{name}")
    }
}

fn tell(text: &str) {
    note!("convert", "{}", spell(text, typed));
}

/// The inputs of a format by its keys, as they were typed.
struct Inputs<'a> {
    keys: &'static [Key],
    given: &'a Given,
}

impl Inputs<'_> {
    /// The files that are read, each with its key; `-` for stdin.
    fn paths(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.keys.iter().filter_map(|key| {
            let path = match key.takes {
                Takes::Input => self.given.text(key.name).or(Some("-")),
                Takes::File => self.given.text(key.name),
                _ => None,
            };
            Some((key.name, path?))
        })
    }

    fn path(&self, key: &str) -> Option<&str> {
        let found = self.paths().find(|(name, _)| *name == key);
        found.map(|(_, path)| path)
    }

    /// The failure, with the name of the file it is about.
    fn failure(&self, format: &str, error: &tmt_core::Error) -> Failure {
        let path = error.input().and_then(|key| self.path(key));
        Failure::input(path.map_or_else(|| self.name(format), shown), error)
    }

    /// What messages call the input as a whole: the file, where there is one, else the format.
    fn name<'s>(&'s self, format: &'s str) -> &'s str {
        let input = self.keys.iter().find(|key| key.takes == Takes::Input);
        input
            .and_then(|key| self.path(key.name))
            .map_or(format, shown)
    }
}

/// The name of an input as messages have it.
fn shown(path: &str) -> &str {
    if path == "-" { "<stdin>" } else { path }
}

impl Files for Inputs<'_> {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let input = input::open_or("convert", self.path(key))?;
        Ok(Box::new(BufReader::new(input.reader)))
    }

    fn can_reopen(&self, key: &'static str) -> bool {
        self.path(key).is_some_and(is_file)
    }
}

pub(crate) fn run(args: &Args) -> Outcome {
    let importer = Importers::default()
        .find(&args.from)
        .ok_or_else(|| Failure::usage(format!("--from {}: expected a format", args.from)))?;
    let format = importer.name();
    let mut inputs = Inputs {
        keys: importer.keys(),
        given: &args.given,
    };
    let output = args.output.output.as_deref();
    refuse_twice(inputs.paths().map(|(_, path)| path).chain(output))?;
    args.output.form()?;
    let stdins: Vec<String> = inputs
        .paths()
        .filter(|(_, path)| *path == "-")
        .map(|(key, _)| format!("{} -", typed(key)))
        .collect();
    if stdins.len() > 1 {
        let stdins = stdins.join(" and ");
        return Err(Failure::usage(format!("{stdins} cannot both be stdin")));
    }
    let opened = import::open(importer, &args.given, &mut inputs, &mut |told| tell(&told));
    let Import {
        head: lines,
        settings,
        mut slots,
    } = opened.map_err(|error| match error {
        ImportError::Refused(refusal) => Failure::usage(spell(&refusal, typed)),
        ImportError::Input(error) => inputs.failure(format, &error),
    })?;

    let mut command = format!("tmt convert --from {format}");
    let is_input = |takes| matches!(takes, Takes::Input | Takes::File);
    for key in inputs.keys.iter().filter(|key| !is_input(key.takes)) {
        match settings.text(key.name) {
            Some("") => command.push_str(&format!(" --{}", key.name)),
            Some(value) => command.push_str(&format!(" --{} {value}", key.name)),
            None => {}
        }
    }
    let mut head = provenance::new_head(&command);
    for (key, value) in lines.iter() {
        head.set(key, value);
    }
    head.push("stage", command);
    let next = || {
        let next = slots.next_slot();
        next.map_err(|error| inputs.failure(format, &error))
    };
    let written = write_slots(args, &head, next)?;
    slots.findings().iter().for_each(|text| tell(text));
    let Some((output, rows)) = written else {
        let name = inputs.name(format);
        return Err(Failure::failed(format!(
            "{name}: found no row, expected at least one"
        )));
    };
    output.finish()?;
    note!("convert", "{rows} slots");
    Ok(())
}

/// Slots taken from a converter at a time.
const BATCH: usize = 1 << 14;

/// Writes all rows: the output, which is yet to be made final, and their number; none where there is no row.
fn write_slots(
    args: &Args,
    head: &Metadata,
    mut next: impl FnMut() -> Outcome<Option<Slot>> + Send,
) -> Outcome<Option<(Output, u64)>> {
    let mut writer = args.output.create(head)?;
    let name = args.output.name();
    let (mut slots, mut last) = (0u64, Time::ZERO);
    let fill = |batch: &mut Vec<Slot>| -> Result<(), Stop> {
        while batch.len() < BATCH
            && let Some(slot) = next().map_err(Stop::Failure)?
        {
            slots += 1;
            last = slot.tx_time();
            batch.push(slot);
        }
        Ok(())
    };
    match produce(&mut writer, fill) {
        Ok(()) => {}
        Err(Stop::Failure(failure)) => {
            // The slots in front of the fault were good.
            writer
                .abandon()
                .map_err(|error| Failure::io(name, &error))?;
            return Err(failure);
        }
        Err(Stop::Stage(error)) => return Err(Failure::stage(name, &[name], &error)),
    }
    if slots == 0 {
        // An input without a row is refused; nothing may look like a trace.
        return Ok(None);
    }
    let output = writer
        .finish(&end_of_slots(slots, last, None))
        .map_err(|error| Failure::io(name, &error))?;
    Ok(Some((output, slots)))
}

/// Why a conversion stopped.
enum Stop {
    Failure(Failure),
    Stage(StageError),
}

impl From<StageError> for Stop {
    fn from(error: StageError) -> Self {
        Self::Stage(error)
    }
}

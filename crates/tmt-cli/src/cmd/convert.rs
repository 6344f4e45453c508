//! `tmt convert`: conversion of measured traces of other tools to PHY traces (docs/trace-format.md, Sec. 12), and of traces
//! to files of other tools (Sec. 14).
//!
//! Flags, help and errors derive from the descriptions of the formats (`tmt_core::format::import`, `export`).

mod export;
mod inputs;
mod keys;
mod list;

use std::ffi::OsString;

use clap::builder::{
    PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser, ValueParser,
};
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use tmt_core::format::Carries;
use tmt_core::format::export::{Exporter, Exporters};
use tmt_core::format::import::{
    self, Effect, Finding, Given, Import, ImportError, Importer, Importers, Remark, Severity,
    Slots, render_keys,
};
use tmt_core::named::unknown_of;
use tmt_core::named::{Kind, Parameter};
use tmt_core::pipeline::{StageError, produce};
use tmt_core::types::{Metadata, Time, TraceKind};

use self::inputs::Inputs;
use crate::exit::{Failure, Outcome, headline, note, warning};
use crate::output::{OutputArgs, end_of_slots};
use crate::provenance;
use crate::table::counted;

const AFTER_HELP: &str = "The delay in a PHY trace excludes propagation, and 0 means erased. A measured one-way delay D \
    therefore becomes max(1 ns, D - P), with P from --propagation, and rtt_ns = 2 P is stored in the metadata.\n\n\
    Example:\n  tmt convert --from delay-loss --delay delay.txt --loss loss.txt \\\n    \
    --interval 10ms --propagation 3ms > phy.csv\n  tmt convert --from mahimahi --rtt 60ms ATT-LTE-driving.down > phy.csv\n  \
    tmt convert --from ping ping.log > phy.csv\n  tmt convert --to mahimahi phy.csv > link.down";

/// Placeholder of a format's input, which is positional.
const INPUT: &str = "TRACE";

/// Key of that input.
const TRACE: &str = "trace";

/// Flags of every format.
#[derive(Debug, clap::Args)]
struct Common {
    /// Format of the input; `tmt convert --from FORMAT --help` shows its options [default with --to: a trace of tmt]
    #[arg(long, value_name = "FORMAT", value_parser = FormatParser, hide_possible_values = true)]
    from: Option<String>,
    /// Format of the output; `tmt convert --to FORMAT --help` shows its options [default: a trace of tmt]
    #[arg(long, value_name = "FORMAT", value_parser = TargetParser, hide_possible_values = true)]
    to: Option<String>,
    /// Meaning of a row: a delivery opportunity of the link (capacity), or a sample of its delay and loss (probe) [default: by
    /// the format]
    #[arg(
        long,
        value_name = "KIND",
        value_parser = PossibleValuesParser::new(TraceKind::NAMES).try_map(|kind| kind.parse::<TraceKind>())
    )]
    kind: Option<TraceKind>,
    /// Refuse to convert if anything has to be assumed, or cannot be carried; reads the input twice
    #[arg(long)]
    strict: bool,
    /// List the formats with what each can carry
    #[arg(long, conflicts_with_all = ["from", "to", "kind", "strict"])]
    list: bool,
    /// Print JSON, with --list
    #[arg(long, requires = "list")]
    json: bool,
}

/// Flags of `tmt convert`: those of every format, and one per key of the formats.
#[derive(Debug)]
pub(crate) struct Args {
    common: Common,
    given: Given,
    output: OutputArgs,
}

/// Reads any name, and offers those of the formats for completion: an unknown one is refused with a guess.
#[derive(Debug, Clone)]
pub(super) struct FormatParser;

impl TypedValueParser for FormatParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = Importers::default().names();
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}

/// The same for the formats that are written.
#[derive(Debug, Clone)]
struct TargetParser;

impl TypedValueParser for TargetParser {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        arg: Option<&Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let names = Exporters::default().names();
        Some(Box::new(names.into_iter().map(PossibleValue::new)))
    }
}

/// `text` with a capital letter at its start.
pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

impl clap::Args for Args {
    fn augment_args(command: Command) -> Command {
        let keys = keys::all().into_iter().map(|known| {
            let help = format!("{}: {}", known.formats.join(", "), known.key.about);
            flag(known.key).help(help)
        });
        let (importers, exporters) = (Importers::default(), Exporters::default());
        let read: Vec<_> = importers
            .iter()
            .map(|format| (format.name, format.about))
            .collect();
        let written: Vec<_> = exporters
            .iter()
            .map(|format| (format.name, format.about))
            .collect();
        let width = read
            .iter()
            .chain(&written)
            .map(|(name, _)| name.len())
            .max();
        let width = width.unwrap_or(0);
        let list = |formats: &[(&str, &str)]| {
            let lines = formats
                .iter()
                .map(|(name, about)| format!("  {name:<width$}  {about}"));
            lines.collect::<Vec<_>>().join("\n")
        };
        let command = Common::augment_args(command).args(keys);
        OutputArgs::augment_args(command).after_help(format!(
            "Formats of --from (--list shows what each can carry):\n{}\n\nFormats of --to:\n{}\n\n{AFTER_HELP}",
            list(&read),
            list(&written)
        ))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

/// The word after a flag in arguments.
fn word_of<'a>(words: &[&'a str], flag: &str) -> Option<&'a str> {
    words.iter().enumerate().find_map(|(at, word)| {
        let rest = word.strip_prefix(flag)?;
        if rest.is_empty() {
            words.get(at + 1).copied()
        } else {
            rest.strip_prefix('=')
        }
    })
}

/// `tmt` with a help of `tmt convert` that fits the arguments: only options of the formats that `--from` and `--to` name, none
/// of a format without them. Manual pages and completions have all.
pub(super) fn focused(tmt: Command, arguments: &[OsString]) -> Command {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    if !words.contains(&"convert") {
        return tmt;
    }
    let importer = word_of(&words, "--from").and_then(|name| Importers::default().find(name));
    let exporter = word_of(&words, "--to").and_then(|name| Exporters::default().find(name));
    let read = importer.map_or(&[][..], |importer| importer.keys);
    let written = exporter.map_or(&[][..], |exporter| exporter.keys);
    let all = keys::all();
    tmt.mut_subcommand("convert", |convert| {
        let convert = convert.mut_args(|arg| {
            let Some(known) = all.iter().find(|known| arg.get_id() == known.key.name) else {
                return arg;
            };
            let own = read.iter().chain(written).find(|key| key.name == known.key.name);
            match own {
                Some(key) => arg.help(capital(key.about)),
                None if known.key.kind != Kind::Input => arg.hide(true),
                None if importer.is_some() => arg.hide(true),
                None if exporter.is_some() => {
                    arg.help("Trace of tmt, in any of its forms [default: stdin, also `-`]")
                }
                None => {
                    let formats = known.formats.join(", ");
                    arg.help(format!(
                        "Input of {formats}; with --to alone a trace of tmt [default: stdin, also `-`]"
                    ))
                }
            }
        });
        let mut after = Vec::new();
        if let Some(importer) = importer {
            let kind = match importer.kind {
                TraceKind::Capacity => "delivery opportunity (kind capacity)",
                TraceKind::Probe => "sample of delay and loss (kind probe)",
            };
            let (name, about) = (importer.name, importer.about);
            let carried = carried(importer.carries);
            after.push(format!(
                "Format {name}: {about}.\nIt carries {carried}; a row of the trace is a {kind}."
            ));
        }
        if let Some(exporter) = exporter {
            let (name, about) = (exporter.name, exporter.about);
            let carried = carried(exporter.carries);
            after.push(format!("Output {name}: {about}.\nIt carries {carried} of a trace."));
        }
        if after.is_empty() {
            convert
        } else {
            convert.after_help(after.join("\n\n"))
        }
    })
}

/// Properties that a format carries, as text.
fn carried(carries: Carries) -> String {
    let named = carries.named().into_iter();
    let carried: Vec<&str> = named.filter(|(_, is)| *is).map(|(name, _)| name).collect();
    if carried.is_empty() {
        "nothing".to_owned()
    } else {
        carried.join(", ")
    }
}

impl FromArgMatches for Args {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given = Given::default();
        for known in keys::all() {
            let key = known.key;
            if key.kind == Kind::Present {
                if matches.get_flag(key.name) {
                    given.set(key.name, "");
                }
            } else if let Some(value) = matches.get_one::<String>(key.name) {
                given.set(key.name, value);
            }
        }
        Ok(Self {
            common: Common::from_arg_matches(matches)?,
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
pub(super) fn flag(key: &'static Parameter) -> Arg {
    let read = |text: &str| key.kind.read(text).map(|value| value.to_string());
    let arg = Arg::new(key.name)
        .value_name(key.kind.value_name())
        .value_parser(ValueParser::new(read));
    match key.kind {
        Kind::Input => arg.value_name(INPUT),
        Kind::Present => Arg::new(key.name).long(key.name).action(ArgAction::SetTrue),
        Kind::Words(words) => arg
            .long(key.name)
            .value_parser(PossibleValuesParser::new(words)),
        _ => arg.long(key.name),
    }
}

/// A key as typed on the command line.
pub(super) fn typed(name: &str) -> String {
    let keys = Importers::default().keys();
    let is_input = |(key, _): &(&Parameter, _)| key.name == name && key.kind == Kind::Input;
    if keys.iter().any(is_input) {
        INPUT.to_owned()
    } else {
        format!("--{name}")
    }
}

/// The format that `--from` names.
fn importer(args: &Args) -> Outcome<&'static Importer> {
    let importers = Importers::default();
    let Some(name) = &args.common.from else {
        return importer_missing(args);
    };
    importers.find(name).ok_or_else(|| {
        let unknown = unknown_of("format", name, importers.names());
        let guess = inputs::guess(&args.given);
        Failure::usage(format!("--from: {unknown}{guess}"))
    })
}

/// The refusal of a conversion without a format.
fn importer_missing<T>(args: &Args) -> Outcome<T> {
    let names = Importers::default().names();
    let guess = inputs::guess(&args.given);
    Err(Failure::usage(format!(
        "--from is missing: expected a format, one of {}{guess}",
        names.join(", ")
    )))
}

/// The values of these keys among `given`.
fn own(given: &Given, keys: &[Parameter]) -> Given {
    let mut own = Given::default();
    for key in keys {
        if let Some(value) = given.text(key.name) {
            own.set(key.name, value);
        }
    }
    own
}

/// Refuses options that no format of the conversion has, with the names of those that have them.
fn refuse_foreign_options(
    importer: Option<&Importer>,
    exporter: Option<&Exporter>,
    given: &Given,
) -> Outcome {
    let read = importer.map_or(&[][..], |importer| importer.keys);
    let written = exporter.map_or(&[][..], |exporter| exporter.keys);
    let is_own = |key: &Parameter| {
        let is_trace = importer.is_none() && key.kind == Kind::Input;
        is_trace || read.iter().chain(written).any(|own| own.name == key.name)
    };
    let keys = keys::all();
    let foreign = keys
        .iter()
        .find(|known| given.has(known.key.name) && !is_own(known.key));
    foreign.map_or(Ok(()), |known| {
        let names = [
            importer.map(|importer| importer.name),
            exporter.map(|exporter| exporter.name),
        ];
        let names: Vec<&str> = names.into_iter().flatten().collect();
        Err(Failure::usage(format!(
            "{} does not apply to {}: it is an option of {}",
            typed(known.key.name),
            names.join(" and "),
            known.formats.join(", ")
        )))
    })
}

pub(crate) fn run(args: &Args) -> Outcome {
    if args.common.list {
        return list::run(args.common.json, args.output.output.as_deref());
    }
    let exporter = export::exporter(args)?;
    let importer = match (&args.common.from, exporter) {
        (None, Some(_)) => None,
        _ => Some(importer(args)?),
    };
    refuse_foreign_options(importer, exporter, &args.given)?;
    match (importer, exporter) {
        (Some(importer), None) => {
            let given = own(&args.given, importer.keys);
            let mut inputs = Inputs::new(importer, &given, args.common.strict);
            inputs.check(args.output.output.as_deref())?;
            args.output.form()?;
            let started = start(args, importer, &given, &mut inputs)?;
            let slots = started.import.slots;
            let rows = write_slots(&args.output, &started.head, &inputs, started.kind, slots)?;
            let settings = started.command.trim_start_matches("tmt convert ");
            headline!("convert", "{} ({settings})", counted(rows, "slot"));
            Ok(())
        }
        (Some(importer), Some(exporter)) => {
            let given = own(&args.given, importer.keys);
            let mut inputs = Inputs::new(importer, &given, args.common.strict);
            let target = export::Target::open(args, exporter, inputs.paths())?;
            inputs.check(None)?;
            let started = start(args, importer, &given, &mut inputs)?;
            let settings = started
                .command
                .trim_start_matches("tmt convert ")
                .to_owned();
            target.write_import(started, &inputs, &settings)
        }
        (None, Some(exporter)) => {
            let path = args.given.text(TRACE).unwrap_or("-");
            let target = export::Target::open(args, exporter, [path].into_iter())?;
            target.write_trace(path, args.common.kind)
        }
        (None, None) => importer_missing(args),
    }
}

/// A conversion that has been started, with its head.
struct Started {
    import: Import,
    head: Metadata,
    /// The command with all settings.
    command: String,
    kind: TraceKind,
}

/// Starts a conversion to slots.
fn start(
    args: &Args,
    importer: &Importer,
    given: &Given,
    inputs: &mut Inputs<'_>,
) -> Outcome<Started> {
    if args.common.strict {
        refuse_assumptions(importer, given, inputs)?;
    }
    let mut import = open(importer, given, inputs, &mut say)?;
    let mut command = format!("tmt convert --from {}", inputs.format);
    for key in importer.keys.iter().filter(|key| !key.kind.is_file()) {
        match import.settings.text(key.name) {
            Some("") => command.push_str(&format!(" --{}", key.name)),
            Some(value) => command.push_str(&format!(" --{} {value}", key.name)),
            None => {}
        }
    }
    let by_format = import.head.trace_kind().unwrap_or(importer.kind);
    let kind = args.common.kind.unwrap_or(by_format);
    if let Some(kind) = args.common.kind {
        command.push_str(&format!(" --kind {kind}"));
        import.head.set(TraceKind::KEY, kind.to_string());
        if kind != by_format {
            note!(
                "convert",
                "kind {kind} (--kind) instead of {by_format}, that of the format"
            );
        }
    }
    let mut head = provenance::new_head(&command);
    for (key, value) in import.head.iter() {
        head.set(key, value);
    }
    head.push("stage", command.clone());
    Ok(Started {
        import,
        head,
        command,
        kind,
    })
}

/// Prints what a conversion says before it begins.
#[expect(clippy::needless_pass_by_value, reason = "as the formats pass it")]
fn say(remark: Remark) {
    let text = render_keys(&remark.text, typed);
    if remark.effect == Effect::NotCarried {
        headline!("convert", "{text}");
    } else {
        note!("convert", "{text}");
    }
}

/// Starts a conversion.
fn open(
    importer: &Importer,
    given: &Given,
    inputs: &mut Inputs<'_>,
    note: &mut dyn FnMut(Remark),
) -> Outcome<Import> {
    import::open(importer, given, inputs, note).map_err(|error| match error {
        ImportError::Refused(refusal) => Failure::usage(render_keys(&refusal, typed)),
        ImportError::Keys(refusal) => Failure::usage(render_keys(&refusal.to_string(), typed)),
        ImportError::Input(error) => inputs.failure(&error),
    })
}

/// Reads the whole input, and fails if something was assumed or cannot be carried.
fn refuse_assumptions(importer: &Importer, given: &Given, inputs: &mut Inputs<'_>) -> Outcome {
    let mut said: Vec<(Effect, String)> = Vec::new();
    let mut import = open(importer, given, inputs, &mut |remark| {
        said.push((remark.effect, remark.text));
    })?;
    loop {
        match import.slots.next_slot() {
            Ok(Some(_)) => {}
            Ok(None) => break,
            Err(error) => return Err(inputs.failure(&error)),
        }
    }
    let findings = import.slots.findings().into_iter();
    said.extend(findings.map(|finding| (finding.effect, finding.text)));
    strictly(inputs.name(), &said)
}

/// Fails if something was assumed or cannot be carried.
fn strictly(name: &str, said: &[(Effect, String)]) -> Outcome {
    let lines = said.iter().filter_map(|(effect, text)| {
        let text = render_keys(text, typed);
        match effect {
            Effect::Fact => None,
            Effect::Assumed => Some(format!("assumed: {text}")),
            Effect::NotCarried => Some(format!("not carried: {text}")),
        }
    });
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{name}: refused by --strict\n  {}",
        lines.join("\n  ")
    )))
}

/// Prints what was found in the input.
fn print_findings(findings: &[Finding], kind: TraceKind) {
    for finding in findings {
        let text = render_keys(&finding.text, typed);
        match (finding.severity, finding.effect) {
            (Severity::Note, Effect::NotCarried) => headline!("convert", "{text}"),
            (Severity::Note, _) => note!("convert", "{text}"),
            // Who says that the rows are capacity knows what they are.
            (Severity::Warning, _)
                if finding.name == "rate-of-probes" && kind == TraceKind::Capacity => {}
            (Severity::Warning, _) => warning!("convert", "{text}"),
        }
    }
}

/// Slots per batch.
const BATCH: usize = 1 << 14;

/// Writes all `slots` behind `head`, and returns their number.
fn write_slots(
    output: &OutputArgs,
    head: &Metadata,
    inputs: &Inputs<'_>,
    kind: TraceKind,
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
    print_findings(&slots.findings(), kind);
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

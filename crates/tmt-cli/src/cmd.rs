//! The commands. A new one is one file and one line in each of the two lists below.

mod advise;
mod apply;
pub(crate) mod arguments;
mod audit;
mod code;
mod convert;
mod demo;
mod diff;
mod fit;
mod generate;
mod glossary;
mod inject;
mod lint;
mod model;
mod plot;
pub(crate) mod replay;
mod report;
mod reproduce;
mod slice;
pub(crate) mod stats;
mod summarise;
mod sweep;
mod synth;
pub(crate) mod tcp;
mod validate;

use std::ffi::OsString;

use clap::Subcommand;
use strum::IntoStaticStr;

use crate::exit::Outcome;

/// The commands of `tmt`. The string form is the name as typed.
#[derive(Debug, Subcommand, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Command {
    /// Run the whole chain on an example, next to a published table
    Demo(demo::Args),
    /// Convert measured traces of other tools to PHY traces
    Convert(convert::Args),
    /// Look for what is odd in a trace, or in a file before its conversion
    Lint(lint::Args),
    /// Generate a PHY trace of constant rate, or that of a named scenario
    Synth(synth::Args),
    /// Add erasures to a PHY trace
    Inject(inject::Args),
    /// Cut, thin out, move, concatenate or merge PHY traces
    Slice(slice::Args),
    /// Show statistics of a trace: erasures, bursts, delays, rate
    Stats(stats::Args),
    /// Compare two traces: first difference, heads, statistics side by side
    Diff(diff::Args),
    /// Fit models of losses to a trace: Gilbert-Elliott and others
    Fit(fit::Args),
    /// Apply reliability schemes to a PHY trace, which gives timelines
    Apply(apply::Args),
    /// Simulate TCP over a timeline, a coupled or a synthetic link
    Tcp(Box<tcp::Args>),
    /// Run many simulations or closed forms from one plan
    Sweep(Box<sweep::Args>),
    /// Print means and intervals of the results of a sweep
    Summarise(summarise::Args),
    /// Draw a table, a trace or a document as SVG, PNG or text
    Plot(plot::Args),
    /// Make an HTML page of results, of one run, or of two studies
    Report(report::Args),
    /// Run real TCP stacks over traces: iperf3, curl, any command
    Replay(Box<replay::Args>),
    /// Find the best scheme for a link: FEC, ARQ, HARQ and their parameters
    Advise(Box<advise::Args>),
    /// Check the packet log of a TCP run, independently of the simulator
    Audit(audit::Args),
    /// Evaluate a closed form: link schemes, TCP, codes, TCP splitting
    Model(model::Args),
    /// Find the best code and modulation at a C/N0, or a table of them
    Code(code::Args),
    /// Compare closed forms with simulations, figure by figure
    Validate(validate::Args),
    /// Run a table or figure of a paper: published, ours, verdict
    Reproduce(reproduce::Args),
    /// Print shell completions
    Completions(generate::CompletionsArgs),
    /// Print a manual page, or write all of them
    Man(generate::ManArgs),
    /// Print the help of a command, or explain a term: tmt help LLDU
    Help(glossary::Args),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Convert(args) => convert::run(&args),
            Self::Lint(args) => lint::run(&args),
            Self::Synth(args) => synth::run(&args),
            Self::Inject(args) => inject::run(&args),
            Self::Slice(args) => slice::run(&args),
            Self::Stats(args) => stats::run(&args),
            Self::Diff(args) => diff::run(&args),
            Self::Fit(args) => fit::run(&args),
            Self::Apply(args) => apply::run(&args),
            Self::Tcp(args) => tcp::run(&args),
            Self::Sweep(args) => sweep::run(&args),
            Self::Summarise(args) => summarise::run(&args),
            Self::Plot(args) => plot::run(&args),
            Self::Report(args) => report::run(&args),
            Self::Replay(args) => replay::run(&args),
            Self::Advise(args) => advise::run(&args),
            Self::Audit(args) => audit::run(&args),
            Self::Model(args) => model::run(&args),
            Self::Code(args) => code::run(&args),
            Self::Validate(args) => validate::run(&args),
            Self::Reproduce(args) => reproduce::run(&args),
            Self::Completions(args) => generate::completions(&args),
            Self::Man(args) => generate::man(&args),
            Self::Help(args) => glossary::run(&args),
        }
    }
}

/// `tmt` with helps that fit the arguments: of commands that read formats of other tools, and short ones for `-h`.
pub(crate) fn focused(tmt: clap::Command, arguments: &[OsString]) -> clap::Command {
    let tmt = lint::focused(convert::focused(tmt, arguments), arguments);
    if !arguments.iter().any(|word| word == "-h") {
        return tmt;
    }
    tmt.mut_subcommands(|command| {
        // These have a short help of their own.
        let has_both = command.get_after_long_help().is_some();
        if has_both {
            command
        } else {
            shortened(command)
        }
    })
}

/// Flags that only `--help` shows: how foreign tables and files of fading are read, and the form of outputs.
const IN_FULL_HELP: [&str; 11] = [
    "unit",
    "allow_cut",
    "columns",
    "interval",
    "format",
    "no_head",
    "clamp_curve",
    "fading_in",
    "fading_format",
    "fading_step",
    "fading_gap",
];

/// Most possible values that a short help lists.
const SHOWN_VALUES: usize = 4;

/// The command with a help of one or two lines a flag, and the examples without the lists before them.
fn shortened(command: clap::Command) -> clap::Command {
    let name = command.get_name().to_owned();
    let after = command.get_after_help().map(ToString::to_string);
    let examples = after.as_deref().unwrap_or_default().split("\n\n");
    let mut after: Vec<&str> = examples
        .filter(|part| part.starts_with("Example"))
        .collect();
    let full = format!("`tmt {name} --help` has all flags, in full.");
    after.insert(0, &full);
    let after = after.join("\n\n");
    command
        .mut_args(|arg| {
            let is_rare = IN_FULL_HELP.contains(&arg.get_id().as_str());
            let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
            let is_hidden = is_rare || arg.is_hide_set();
            let has_many_values = arg.get_possible_values().len() > SHOWN_VALUES;
            let arg = arg.help(first_clause(&help)).hide(is_hidden);
            if has_many_values {
                arg.hide_possible_values(true)
            } else {
                arg
            }
        })
        .after_help(after)
}

/// The first clause of a help text, with the default at its end.
fn first_clause(help: &str) -> String {
    let (text, default) = match help.rfind(" [default: ") {
        Some(at) => help.split_at(at),
        None => (help, ""),
    };
    let ends = ["; ", ". ", ": ", ", e.g. ", " ("];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    let clause = &text[..end.unwrap_or(text.len())];
    let default = default.split("; ").next().unwrap_or_default();
    let end = if default.is_empty() || default.ends_with(']') {
        ""
    } else {
        "]"
    };
    format!("{clause}{default}{end}")
}

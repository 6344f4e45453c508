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

use clap::error::ErrorKind;
use clap::{ArgMatches, Args as _, CommandFactory as _, FromArgMatches, Subcommand};

use crate::Cli;
use crate::exit::Outcome;

/// The commands: variant with its flags, name as typed, function, and line of the help.
macro_rules! commands {
    ($($variant:ident($flags:ty) as $name:literal => $run:path, $about:literal;)+) => {
        /// The commands of `tmt`.
        #[derive(Debug)]
        pub(crate) enum Command {
            $(#[doc = $about] $variant($flags),)+
        }

        impl Command {
            /// Its name as typed.
            pub(crate) fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)+
                }
            }

            /// Runs the command.
            pub(crate) fn run(self) -> Outcome {
                match self {
                    $(Self::$variant(flags) => $run(&flags),)+
                }
            }
        }

        /// `tmt` with the flags of those commands that `is_typed`.
        fn with_flags(tmt: clap::Command, is_typed: impl Fn(&str) -> bool) -> clap::Command {
            $(let tmt = if is_typed($name) {
                let with_flags = |command| <$flags>::augment_args(command).about($about).long_about(None);
                tmt.mut_subcommand($name, with_flags)
            } else {
                tmt
            };)+
            tmt
        }

        impl Subcommand for Command {
            /// Without flags: those of all commands take longer to make than most short runs.
            fn augment_subcommands(tmt: clap::Command) -> clap::Command {
                tmt$(.subcommand(clap::Command::new($name).about($about)))+
            }

            fn augment_subcommands_for_update(tmt: clap::Command) -> clap::Command {
                Self::augment_subcommands(tmt)
            }

            fn has_subcommand(name: &str) -> bool {
                [$($name),+].contains(&name)
            }
        }

        impl FromArgMatches for Command {
            fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
                match matches.subcommand() {
                    $(Some(($name, matches)) => <$flags>::from_arg_matches(matches).map(Self::$variant),)+
                    _ => Err(clap::Error::new(ErrorKind::MissingSubcommand)),
                }
            }

            fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
                *self = Self::from_arg_matches(matches)?;
                Ok(())
            }
        }
    };
}

commands! {
    Demo(demo::Args) as "demo" => demo::run, "Run the whole chain on an example, next to a published table";
    Convert(convert::Args) as "convert" => convert::run, "Convert measured traces of other tools to PHY traces";
    Lint(lint::Args) as "lint" => lint::run, "Look for what is odd in a trace, or in a file before its conversion";
    Synth(synth::Args) as "synth" => synth::run, "Generate a PHY trace of constant rate, or that of a named scenario";
    Inject(inject::Args) as "inject" => inject::run, "Add erasures to a PHY trace";
    Slice(slice::Args) as "slice" => slice::run, "Cut, thin out, move, concatenate or merge PHY traces";
    Stats(stats::Args) as "stats" => stats::run, "Show statistics of a trace: erasures, bursts, delays, rate";
    Diff(diff::Args) as "diff" => diff::run, "Compare two traces: first difference, heads, statistics side by side";
    Fit(fit::Args) as "fit" => fit::run, "Fit models of losses to a trace: Gilbert-Elliott and others";
    Apply(apply::Args) as "apply" => apply::run, "Apply reliability schemes to a PHY trace, which gives timelines";
    Tcp(Box<tcp::Args>) as "tcp" => tcp::run, "Simulate TCP over a timeline, a coupled or a synthetic link";
    Sweep(Box<sweep::Args>) as "sweep" => sweep::run, "Run many simulations or closed forms from one plan";
    Summarise(summarise::Args) as "summarise" => summarise::run, "Print means and intervals of the results of a sweep";
    Plot(plot::Args) as "plot" => plot::run, "Draw a table, a trace or a document as SVG, PNG or text";
    Report(report::Args) as "report" => report::run, "Make an HTML page of results, of one run, or of two studies";
    Replay(Box<replay::Args>) as "replay" => replay::run, "Run real TCP stacks over traces: iperf3, curl, any command";
    Advise(Box<advise::Args>) as "advise" => advise::run, "Find the best scheme for a link: FEC, ARQ, HARQ and their parameters";
    Audit(audit::Args) as "audit" => audit::run, "Check the packet log of a TCP run, independently of the simulator";
    Model(model::Args) as "model" => model::run, "Evaluate a closed form: link schemes, TCP, codes, TCP splitting";
    Code(code::Args) as "code" => code::run, "Find the best code and modulation at a C/N0, or a table of them";
    Validate(validate::Args) as "validate" => validate::run, "Compare closed forms with simulations, figure by figure";
    Reproduce(reproduce::Args) as "reproduce" => reproduce::run, "Run a table or figure of a paper: published, ours, verdict";
    Completions(generate::CompletionsArgs) as "completions" => generate::completions, "Print shell completions";
    Man(generate::ManArgs) as "man" => generate::man, "Print a manual page, or write all of them";
    Help(glossary::Args) as "help" => glossary::run, "Print the help of a command, or explain a term: tmt help LLDU";
}

/// `tmt` with the flags of all commands.
pub(crate) fn whole() -> clap::Command {
    with_flags(Cli::command(), |_| true)
}

/// `tmt` with the flags of the commands that are among the arguments.
pub(crate) fn typed(arguments: &[OsString]) -> clap::Command {
    let tmt = with_flags(Cli::command(), |name| {
        arguments.iter().any(|word| word == name)
    });
    focused(tmt, arguments)
}

/// `tmt` with helps that fit the arguments: of commands that read formats of other tools, and short ones for `-h`.
fn focused(tmt: clap::Command, arguments: &[OsString]) -> clap::Command {
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

//! The commands. A new one is one file and one line in each of the two lists below.

mod advise;
mod apply;
mod audit;
mod convert;
mod demo;
mod diff;
mod fit;
mod generate;
mod glossary;
mod inject;
mod lint;
mod model;
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
    /// Find the best scheme for a link: FEC, ARQ, HARQ and their parameters
    Advise(Box<advise::Args>),
    /// Check the packet log of a TCP run, independently of the simulator
    Audit(audit::Args),
    /// Evaluate a closed form: link schemes, TCP, codes, TCP splitting
    Model(model::Args),
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
            Self::Advise(args) => advise::run(&args),
            Self::Audit(args) => audit::run(&args),
            Self::Model(args) => model::run(&args),
            Self::Validate(args) => validate::run(&args),
            Self::Reproduce(args) => reproduce::run(&args),
            Self::Completions(args) => generate::completions(&args),
            Self::Man(args) => generate::man(&args),
            Self::Help(args) => glossary::run(&args),
        }
    }
}

/// `tmt` with helps that fit the arguments: of commands that read formats of other tools.
pub(crate) fn focused(tmt: clap::Command, arguments: &[OsString]) -> clap::Command {
    lint::focused(convert::focused(tmt, arguments), arguments)
}

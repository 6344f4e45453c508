//! The commands. A new one is one file and one line in each of the two lists below.

mod apply;
mod audit;
mod convert;
mod demo;
mod generate;
mod inject;
mod model;
mod stats;
mod synth;
pub(crate) mod tcp;
mod validate;

use clap::Subcommand;
use strum::IntoStaticStr;

use crate::exit::Outcome;

/// What `tmt` can do; as a text the name as it was typed.
#[derive(Debug, Subcommand, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Command {
    /// Show the whole chain on an embedded example, beside a published table
    Demo(demo::Args),
    /// Turn measured traces of other tools into PHY traces
    Convert(convert::Args),
    /// Make an error-free PHY trace of a constant rate
    Synth(synth::Args),
    /// Put erasures into a PHY trace
    Inject(inject::Args),
    /// Show what a trace is like: erasures, bursts, delays, rate
    Stats(stats::Args),
    /// Run a reliability scheme over a PHY trace: link-layer timeline out
    Apply(apply::Args),
    /// Run TCP flows over a link-layer timeline, a coupled link or a synthetic one
    Tcp(Box<tcp::Args>),
    /// Check the packet log of a TCP run, independently of what made it
    Audit(audit::Args),
    /// Evaluate a closed form: link schemes, TCP, codes, splitting
    Model(model::Args),
    /// Hold closed forms against the transform and the simulator, figure by figure
    Validate(validate::Args),
    /// Print shell completions
    Completions(generate::CompletionsArgs),
    /// Print a manual page
    Man(generate::ManArgs),
}

impl Command {
    /// Does it.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Demo(args) => demo::run(&args),
            Self::Convert(args) => convert::run(&args),
            Self::Synth(args) => synth::run(&args),
            Self::Inject(args) => inject::run(&args),
            Self::Stats(args) => stats::run(&args),
            Self::Apply(args) => apply::run(&args),
            Self::Tcp(args) => tcp::run(&args),
            Self::Audit(args) => audit::run(&args),
            Self::Model(args) => model::run(&args),
            Self::Validate(args) => validate::run(&args),
            Self::Completions(args) => generate::completions(&args),
            Self::Man(args) => generate::man(&args),
        }
    }
}

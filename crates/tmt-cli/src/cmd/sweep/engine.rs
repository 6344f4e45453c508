//! Where the cells of a sweep run: one file an engine, in a registry.

mod local;
mod slurm;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use tmt_study::{Records, Sweep};

use super::partial::{Part, Partial};
use super::{Read, carry_out, forecast};
use crate::exit::{Failure, Outcome};

/// All engines, the default first.
const ENGINES: &[&Engine] = &[&local::ENGINE, &slurm::ENGINE];

/// Something that runs cells.
#[derive(Debug)]
pub(super) struct Engine {
    name: &'static str,
    help: &'static str,
    /// How it works on the folder of records.
    pub(super) part: Part,
    /// Runs what is left of a sweep, with the records that are there. All records are in the folder then.
    pub(super) run: fn(&Job<'_>, &Sweep<'_>, Records) -> Outcome,
}

/// Input of engines.
pub(super) struct Job<'a> {
    /// Flags of engines.
    pub(super) flags: &'a Flags,
    /// Whether an interrupted sweep goes on.
    pub(super) resume: bool,
    /// The file of results.
    pub(super) path: &'a str,
    pub(super) read: &'a Read,
    pub(super) partial: &'a Partial,
}

/// Flags of engines.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(super) struct Flags {
    /// Where cells run
    #[arg(long, value_name = "ENGINE", default_value = ENGINES[0].name, value_parser = engines())]
    pub(super) engine: &'static Engine,
    #[command(flatten)]
    slurm: slurm::Slurm,
}

fn engines() -> impl TypedValueParser<Value = &'static Engine> {
    let names = ENGINES.iter();
    let names = names.map(|engine| PossibleValue::new(engine.name).help(engine.help));
    PossibleValuesParser::new(names).map(|name| {
        let mut engines = ENGINES.iter().copied();
        engines
            .find(|engine| engine.name == name)
            .unwrap_or(ENGINES[0])
    })
}

impl Flags {
    /// Refuses flags of an engine that is not chosen, and an engine that cannot work here.
    pub(super) fn check(&self) -> Outcome {
        if self.engine.name == slurm::ENGINE.name {
            return self.slurm.check();
        }
        match self.slurm.given() {
            Some(flag) => Err(Failure::usage(format!(
                "{flag} needs --engine {}",
                slurm::ENGINE.name
            ))),
            None => Ok(()),
        }
    }
}

//! Flags of the engine.

use tmt_core::types::Span;

use super::queue;
use crate::exit::{Failure, Outcome};
use crate::quantity::whole;

/// Options of `sbatch` that the engine sets.
const OURS: [&str; 12] = [
    "--array",
    "-a",
    "--job-name",
    "-J",
    "--output",
    "-o",
    "--error",
    "-e",
    "--chdir",
    "-D",
    "--input",
    "-i",
];

/// Flags of the engine.
#[derive(Debug, clap::Args)]
pub(in super::super) struct Slurm {
    /// Number of tasks of the array [default: as many as take --task-duration each, by timing a few cells]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>(1, 1_000_000))]
    pub(super) tasks: Option<usize>,
    /// Time that a task takes on one core, about [default: 10min]
    #[arg(
        long,
        value_name = "DURATION",
        hide_short_help = true,
        conflicts_with = "tasks"
    )]
    pub(super) task_duration: Option<Span>,
    /// How often a task that has failed is submitted again [default: 2]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<u32>(0, 1000))]
    pub(super) retries: Option<u32>,
    /// Options of sbatch, e.g. "--partition=long --time=1:00:00 --cpus-per-task=4"; repeat for more
    #[arg(
        long,
        value_name = "OPTIONS",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    pub(super) sbatch: Vec<String>,
}

impl Slurm {
    /// A flag that is given.
    pub(in super::super) fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--tasks", self.tasks.is_some()),
            ("--task-duration", self.task_duration.is_some()),
            ("--retries", self.retries.is_some()),
            ("--sbatch", !self.sbatch.is_empty()),
        ];
        let mut flags = flags.into_iter();
        flags.find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// Refuses options that the engine sets, and a machine without the commands of Slurm.
    pub(in super::super) fn check(&self) -> Outcome {
        for text in &self.sbatch {
            if text.chars().any(char::is_control) {
                return Err(Failure::usage(
                    "--sbatch: found a line break or another control character, expected options",
                ));
            }
            let mut words = text.split_whitespace();
            let is = |word: &str, ours: &str| {
                if ours.starts_with("--") {
                    word.split('=').next() == Some(ours)
                } else {
                    // Its value may follow without a blank.
                    word.starts_with(ours)
                }
            };
            let ours = words.find_map(|word| OURS.iter().find(|ours| is(word, ours)));
            if let Some(ours) = ours {
                return Err(Failure::usage(format!(
                    "--sbatch {text}: found {ours}, which the engine sets, expected other options"
                )));
            }
        }
        queue::check()
    }
}

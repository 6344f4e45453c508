//! `--dry-run`: the cells, and their cost estimated from a few that are timed.

use std::time::Instant;

use tmt_study::{Plan, PlanError, Record, Records, Sweep};

use super::{refusal, stopped};
use crate::cmd::tcp::Files;
use crate::exit::{Outcome, headline};
use crate::output::Output;
use crate::table::{Table, counted};

/// Cells that are timed.
const TIMED: usize = 5;

/// Largest number of cells that are all printed.
const PRINTED: usize = 1000;

/// Estimated time of a sweep.
pub(super) struct Estimate {
    /// All of it, on as many threads as the few cells were timed on.
    pub(super) seconds: f64,
    timed_runs: u64,
    timed_seconds: f64,
}

/// Times a few cells of `sweep`, whose records go to `keep`.
pub(super) fn time(
    plan: &Plan,
    sweep: &Sweep<'_>,
    threads: usize,
    keep: impl Fn(&Record) -> Outcome + Sync,
) -> Outcome<Estimate> {
    let cells = plan.cells();
    // Spread over the plan, so that slow values are among them.
    let chosen = |cell: usize| {
        cells <= TIMED || (0..TIMED).any(|i| (2 * i + 1) * cells / (2 * TIMED) == cell)
    };
    let sample = sweep.clone().of_cells(chosen);
    let timed_runs = sample.runs();
    let started = now();
    let ran = sample.run(&Files::here(), threads, Records::default(), keep);
    ran.map_err(|error| stopped(error, None))?;
    let timed_seconds = started.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    let seconds = timed_seconds / timed_runs.max(1) as f64 * sweep.runs() as f64;
    Ok(Estimate {
        seconds,
        timed_runs,
        timed_seconds,
    })
}

/// Prints the cells of `plan` and the estimate.
pub(super) fn print(plan: &Plan, sweep: &Sweep<'_>) -> Outcome {
    let cells = (0..plan.cells().min(PRINTED)).map(|number| Ok((number, plan.cell(number)?)));
    let cells: Result<Vec<_>, PlanError> = cells.collect();
    let cells = cells.map_err(|error| refusal(&error, None))?;
    let mut table = Table::of(cells).words("cell", |(number, _)| *number);
    for name in plan.varying() {
        table = table.words(name, |(_, cell)| cell.text(name).unwrap_or_default());
    }
    let mut output = Output::create(None)?;
    output.show(&table.to_string())?;
    if plan.cells() > PRINTED {
        output.write(format!("… and {} more cells\n", plan.cells() - PRINTED).as_bytes())?;
    }
    output.settle()?;
    let threads = rayon::current_num_threads();
    let estimate = time(plan, sweep, threads, |_| Ok(()))?;
    headline!(
        "sweep",
        "{}, {}: about {} on {} ({} timed in {:.2} s; cells that share slots take less)",
        counted(plan.cells() as u64, "cell"),
        counted(sweep.runs(), "run"),
        lasting(estimate.seconds),
        counted(threads as u64, "thread"),
        counted(estimate.timed_runs, "run"),
        estimate.timed_seconds,
    );
    output.finish()
}

#[allow(
    clippy::disallowed_methods,
    reason = "the command line may look at the clock"
)]
fn now() -> Instant {
    Instant::now()
}

/// A duration for people.
pub(super) fn lasting(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{s:.2} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

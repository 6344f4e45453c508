//! `--dry-run`: the cells, and their cost estimated from a few that are timed.

use std::convert::Infallible;
use std::time::Instant;

use tmt_study::engine::Error;
use tmt_study::{Plan, Records, Sweep};

use super::{named, refusal};
use crate::cmd::tcp::Files;
use crate::exit::{Failure, Outcome, headline};
use crate::output::Output;
use crate::table::{Report, counted};

/// Cells that are timed.
const TIMED: usize = 5;

/// Cells of which all are printed.
const PRINTED: usize = 1000;

/// Prints the cells of `plan` and the estimate.
pub(super) fn print(plan: &Plan, sweep: Sweep<'_>) -> Outcome {
    let names: Vec<&str> = plan.varying().collect();
    let mut report = Report::new(std::iter::once("cell").chain(names.iter().copied()));
    for column in 1..=names.len() {
        report = report.left(column);
    }
    for number in 0..plan.cells().min(PRINTED) {
        let cell = plan.cell(number).map_err(|error| refusal(&error, None))?;
        let values = names.iter().map(|name| cell.text(name).unwrap_or_default());
        report.row(&number.to_string(), values);
    }
    let mut output = Output::create(None)?;
    output.write(report.to_string().as_bytes())?;
    if plan.cells() > PRINTED {
        output.write(format!("… and {} more cells\n", plan.cells() - PRINTED).as_bytes())?;
    }
    output.settle()?;
    let (runs, cells) = (sweep.runs(), plan.cells());
    let threads = rayon::current_num_threads();
    // Spread over the plan, so that slow values are among them.
    let chosen = |cell: usize| {
        cells <= TIMED || (0..TIMED).any(|i| (2 * i + 1) * cells / (2 * TIMED) == cell)
    };
    let sample = sweep.of_cells(chosen);
    let sampled = sample.runs();
    let started = now();
    let ran = sample.run(&Files, threads, Records::default(), |_| {
        Ok::<(), Infallible>(())
    });
    ran.map_err(|error| match error {
        Error::Plan(error) => refusal(&error, None),
        Error::Storage(message) => Failure::failed(named(&message)),
        Error::Sink(never) => match never {},
    })?;
    let took = started.elapsed().as_secs_f64();
    #[allow(clippy::cast_precision_loss, reason = "an estimate")]
    let all = took / sampled.max(1) as f64 * runs as f64;
    headline!(
        "sweep",
        "{}, {}: about {} on {} ({} timed in {took:.2} s; cells that share slots take less)",
        counted(cells as u64, "cell"),
        counted(runs, "run"),
        lasting(all),
        counted(threads as u64, "thread"),
        counted(sampled, "run"),
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
fn lasting(seconds: f64) -> String {
    match seconds {
        s if s < 1.0 => format!("{s:.2} s"),
        s if s < 120.0 => format!("{s:.0} s"),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

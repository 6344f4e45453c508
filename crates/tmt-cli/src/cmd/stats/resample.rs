//! `tmt stats --resample`: flags, and the table of intervals.

use serde::ser::SerializeMap as _;
use serde::{Serialize, Serializer};
use tmt_core::stats::{Figure, Interval, LEAST_RESAMPLES, ResampleSettings, Resampled, TraceStats};
use tmt_core::types::{Span, to_f64};

use crate::exit::{Failure, Outcome, warning};
use crate::quantity::whole;
use crate::table::{Report, counted, number, rounded, wrap};

/// Bursts, and blocks, below which an interval is doubtful.
const FEW: u64 = 10;

/// Width of an interval, relative to its estimate, up to which it is due to times in whole ns.
const ROUNDING: f64 = 1e-4;

/// Flags of the bootstrap.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct ResampleArgs {
    /// Print 95 % intervals, by drawing blocks of the trace N times (block bootstrap), e.g. 200
    #[arg(long, value_name = "N", value_parser = whole::<u32>(LEAST_RESAMPLES.into(), 1_000_000))]
    resample: Option<u32>,
    /// Length of the blocks [default: of each figure by its correlation, Politis and White 2004]
    #[arg(long, value_name = "DURATION", requires = "resample")]
    block: Option<Span>,
}

impl ResampleArgs {
    /// The settings of the bootstrap, if there is to be one.
    pub(super) fn settings(&self, seed: u64) -> Outcome<Option<ResampleSettings>> {
        if self.block.is_some_and(Span::is_zero) {
            return Err(Failure::usage("--block: found 0, expected more than 0"));
        }
        Ok(self.resample.map(|resamples| ResampleSettings {
            resamples,
            seed,
            block: self.block,
        }))
    }
}

/// The intervals, in JSON.
#[derive(Debug, Serialize)]
pub(super) struct Intervals {
    resamples: u32,
    cell_slots: u64,
    #[serde(serialize_with = "by_name")]
    figures: Vec<(&'static Figure, Option<Interval>)>,
}

fn by_name<S: Serializer>(
    figures: &[(&'static Figure, Option<Interval>)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(figures.len()))?;
    for (figure, interval) in figures {
        map.serialize_entry(figure.name, interval)?;
    }
    map.end()
}

impl Intervals {
    pub(super) fn new(settings: ResampleSettings, found: Resampled) -> Self {
        Self {
            resamples: settings.resamples,
            cell_slots: found.cell_slots,
            figures: found.intervals,
        }
    }

    /// Prints what casts doubt on the intervals.
    pub(super) fn warn(&self, stats: &TraceStats) {
        let bursts: u64 = stats.bursts.values().sum();
        if (1..FEW).contains(&bursts) {
            warning!(
                "stats",
                "the trace has {} of erasures: with fewer than {FEW} the intervals of what they decide are too narrow",
                counted(bursts, "burst")
            );
        }
        // What is constant but for the rounding of times needs no blocks.
        let varies = |each: &Interval| {
            let width = each.high.zip(each.low).map(|(high, low)| high - low);
            width.is_some_and(|width| width > ROUNDING * each.estimate.abs())
        };
        let few = self.figures.iter().filter(|(_, interval)| {
            interval.is_some_and(|each| varies(&each) && each.blocks < to_f64(FEW))
        });
        let few: Vec<&str> = few.map(|(figure, _)| figure.name).collect();
        if !few.is_empty() {
            warning!(
                "stats",
                "fewer than {FEW} blocks for {}: their intervals are rough, as the trace is short for its correlation, or --block long",
                few.join(", ")
            );
        }
    }

    /// The table.
    pub(super) fn table(&self, seed: u64) -> String {
        let line = format!(
            "95 % intervals by {} resamples of blocks of slots (--seed {seed})",
            self.resamples
        );
        let headings = ["", "estimate", "low", "high", "block s", "blocks"];
        let mut report = Report::new(headings);
        for (figure, interval) in &self.figures {
            let Some(interval) = interval else { continue };
            let (scale, decimals) = figure.scale;
            let show = |value: Option<f64>| number(value.map(|value| value * scale), decimals);
            report.row(
                figure.label,
                [
                    show(Some(interval.estimate)),
                    show(interval.low),
                    show(interval.high),
                    rounded(interval.block_s, 3),
                    rounded(interval.blocks, 3),
                ],
            );
        }
        format!("\n{}\n{report}", wrap(&line, "  "))
    }
}

//! `tmt stats --resample`: flags, and the table of intervals.

use serde::{Serialize, Serializer};
use tmt_core::stats::{Figure, Interval, LEAST_RESAMPLES, ResampleSettings, Resampled, TraceStats};
use tmt_core::types::{Span, to_f64};

use crate::exit::{Failure, Outcome, warning};
use crate::quantity::whole;
use crate::table::{Show, Table, counted, wrap};

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
    serializer.collect_map(
        figures
            .iter()
            .map(|(figure, interval)| (figure.name, interval)),
    )
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
        // A figure that is constant but for the rounding of times needs no blocks.
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
        let figures = self.figures.iter();
        let known = figures.filter_map(|(figure, interval)| Some((figure, (*interval)?)));
        let table = Table::of(known)
            .words("", |(figure, _)| figure.label)
            .plain("estimate", |(figure, of)| {
                figure.show.text(Some(of.estimate))
            })
            .plain("low", |(figure, of)| figure.show.text(of.low))
            .plain("high", |(figure, of)| figure.show.text(of.high))
            .number("block s", Show::Significant(3), |(_, of)| of.block_s)
            .number("blocks", Show::Significant(3), |(_, of)| of.blocks);
        format!("\n{}\n{table}", wrap(&line, "  "))
    }
}

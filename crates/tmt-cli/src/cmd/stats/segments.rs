//! `tmt stats --segments`: flags, and the tables of outages and steps.

use tmt_core::stats::{GridEvents, SegmentSettings, Segments};
use tmt_core::types::Span;

use crate::cmd::stats::figures::seconds;
use crate::exit::{Failure, Outcome};
use crate::table::{Show, Table, counted, millis, number, rounded, wrap};

/// Rows that a table of outages or steps has. JSON has all of them.
const SHOWN: usize = 20;

/// Period at which Starlink assigns its satellites anew.
const STARLINK: Span = Span::from_secs(15);

/// Flags of the search for segments.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct SegmentArgs {
    /// Search for outages and for handover candidates (steps of the delay), and compare both with a grid in time
    #[arg(long)]
    segments: bool,
    /// An outage is a stretch between two deliveries that is longer than this [default: the larger of 100ms and 10
    /// times the median slot period]
    #[arg(long, value_name = "DURATION", requires = "segments")]
    outage: Option<Span>,
    /// A step is the difference of the medians of the delay in windows of this length before and after it [default: the
    /// larger of 1s and 20 times the median slot period]
    #[arg(long, value_name = "DURATION", requires = "segments")]
    step_window: Option<Span>,
    /// Period of the grid [default: 15s, at which Starlink assigns satellites]
    #[arg(long, value_name = "DURATION", requires = "segments")]
    grid: Option<Span>,
}

impl SegmentArgs {
    /// The settings of the search, if there is to be one.
    pub(super) fn settings(&self, seed: u64) -> Outcome<Option<SegmentSettings>> {
        for (flag, value) in [("--step-window", self.step_window), ("--grid", self.grid)] {
            if value.is_some_and(Span::is_zero) {
                return Err(Failure::usage(format!(
                    "{flag}: found 0, expected more than 0"
                )));
            }
        }
        Ok(self.segments.then(|| SegmentSettings {
            outage: self.outage,
            window: self.step_window,
            grid: self.grid.unwrap_or(STARLINK),
            seed,
            shortest_is_known: false,
        }))
    }
}

/// The tables.
pub(super) fn tables(found: &Segments) -> String {
    let mut text = outages(found);
    text += &steps(found);
    text += &grid(found);
    text
}

/// The largest rows in their order, by a size.
fn largest<T>(rows: &[T], size: impl Fn(&T) -> f64) -> Vec<&T> {
    let mut rows: Vec<(usize, &T)> = rows.iter().enumerate().collect();
    rows.sort_by(|a, b| size(b.1).total_cmp(&size(a.1)));
    rows.truncate(SHOWN);
    rows.sort_by_key(|(place, _)| *place);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Note on rows that a table leaves out.
fn rest(all: usize, what: &str) -> String {
    if all > SHOWN {
        format!("the {SHOWN} {what} of {all}; --json has all\n")
    } else {
        String::new()
    }
}

fn outages(found: &Segments) -> String {
    let threshold = millis(Some(found.outage_threshold_s));
    let from = if found.outage_threshold_from == "given" {
        "--outage".to_owned()
    } else {
        let period = millis(Some(found.slot_period_median_s));
        format!("the larger of 100 ms and 10 median slot periods of {period} ms")
    };
    let all = &found.outages;
    let count = match all.len() {
        0 => "no outage".to_owned(),
        count => counted(count as u64, "outage"),
    };
    let line = format!("{count}: without delivery for more than {threshold} ms ({from})");
    let mut text = format!("\n{}\n", wrap(&line, "  "));
    if all.is_empty() {
        return text;
    }
    text += &Table::of(largest(all, |outage| outage.length_s))
        .plain("start s", |outage| seconds(outage.start.as_nanos()))
        .number("length s", Show::Decimals(3), |outage| outage.length_s)
        .plain("slots lost", |outage| outage.slots_lost)
        .number("delay before ms", Show::Milli, |outage| {
            outage.delay_before_s
        })
        .number("delay after ms", Show::Milli, |outage| outage.delay_after_s)
        .words("", |outage| if outage.is_cut { "cut" } else { "" })
        .to_string();
    text += &rest(all.len(), "longest");
    let longest = all.iter().map(|outage| outage.length_s).fold(0.0, f64::max);
    let line = format!(
        "together {} s, {} of the trace; the longest {} s",
        number(Some(found.outage_total_s), 3),
        number(found.outage_share, 6),
        number(Some(longest), 3),
    );
    text + &wrap(&line, "  ") + "\n"
}

fn steps(found: &Segments) -> String {
    let window = rounded(found.window_s, 6);
    let Some(spread) = found.level_spread_s else {
        return "\nno steps of the delay: too few delays are known\n".to_owned();
    };
    let count = match found.steps.len() {
        0 => "no handover candidate".to_owned(),
        count => counted(count as u64, "handover candidate"),
    };
    let line = format!(
        "{count}: steps between the medians of {window} s before and after, of more than 3 robust spreads (of the trace {} ms)",
        millis(Some(spread))
    );
    let mut text = format!("\n{}\n", wrap(&line, "  "));
    if found.steps.is_empty() {
        return text;
    }
    text += &Table::of(largest(&found.steps, |step| step.step_s.abs()))
        .number("time s", Show::Decimals(1), |step| step.time_s)
        .number("delay before ms", Show::Milli, |step| step.delay_before_s)
        .number("delay after ms", Show::Milli, |step| step.delay_after_s)
        .plain("step ms", |step| format!("{:+.3}", step.step_s * 1e3))
        .to_string();
    text + &rest(found.steps.len(), "largest")
}

fn grid(found: &Segments) -> String {
    let grid = &found.grid;
    let kinds = [
        ("handover candidates", &grid.steps),
        ("starts of outages", &grid.outages),
    ];
    let kinds: Vec<(&str, &GridEvents)> = kinds
        .into_iter()
        .filter(|(_, events)| events.events > 1)
        .collect();
    if kinds.is_empty() {
        return String::new();
    }
    let line = format!(
        "grid of {} s: events within {} s of the phase that has the most; chance: as many events, uniform in time",
        rounded(grid.period_s, 6),
        rounded(grid.tolerance_s, 3)
    );
    let table = Table::of(kinds)
        .words("", |(name, _)| *name)
        .plain("events", |(_, of)| of.events)
        .number("phase s", Show::Decimals(1), |(_, of)| of.phase_s)
        .plain("within", |(_, of)| of.within)
        .number("share", Show::Decimals(3), |(_, of)| of.share)
        .number("by chance", Show::Decimals(3), |(_, of)| of.chance_share)
        .number("p", Show::Decimals(3), |(_, of)| of.chance_probability);
    format!("\n{}\n{table}", wrap(&line, "  "))
}

//! `outage-list`: outages at given times.

use std::fmt;
use std::sync::Arc;

use super::chain::{self, Row, Rows};
use super::family::{Family, Make, TableError};
use super::interval::Intervals;
use super::{Erasing, Process, SlotChannel, Use};
use crate::types::decimal::Decimal;
use crate::types::{Slot, Span, Time};

pub(super) static FAMILY: Family = Family {
    name: "outage-list",
    about: "Outages at given times",
    parameters: &[chain::table(
        "table `start_s,end_s` or `start_s,end_s,erasure`: a row per outage in the order of time, its end excluded, with \
         its erasure probability",
    )],
    examples: &[
        "outage-list:{start_s,end_s;12,12.08;27.5,27.9}",
        "outage-list:{start_s,end_s,erasure;0,1.5,0.25}",
    ],
    make: Make {
        content: Some(|text| chain::content(text, outages)),
        ..Make::timed(|values| {
            let rows = Rows::of(values.text(chain::TABLE))?;
            let list = OutageList {
                outages: outages(&rows)?.into(),
                text: format!("{}:{{{}}}", FAMILY.name, rows.in_one_line()),
            };
            Ok(SlotChannel::Timed(Arc::new(list)))
        })
    },
};

/// Start, end and erasure probability.
type Outage = (Time, Time, f64);

/// Outages in the order of time.
#[derive(Debug)]
struct OutageList {
    text: String,
    outages: Arc<[Outage]>,
}

/// The outages of a table.
fn outages(rows: &Rows<'_>) -> Result<Vec<Outage>, TableError> {
    const FORM: &str = "start_s,end_s[,erasure]";
    let (header, rows) = rows.with_header(FORM)?;
    let has_erasure = match header.cells[..] {
        ["start_s", "end_s"] => false,
        ["start_s", "end_s", "erasure"] => true,
        _ => {
            let found = header.cells.join(",");
            return Err(header.wrong(format!("found '{found}', expected the header {FORM}")));
        }
    };
    let mut outages: Vec<Outage> = Vec::with_capacity(rows.len());
    for row in rows {
        if row.cells.len() != header.cells.len() {
            let (found, expected) = (row.cells.len(), header.cells.len());
            return Err(row.wrong(format!("found {found} columns, expected {expected}")));
        }
        let (start, end) = (time(row, 0)?, time(row, 1)?);
        if start >= end {
            return Err(row.wrong(format!(
                "found an outage from {start} to {end}, expected an end after its start"
            )));
        }
        if let Some((_, before, _)) = outages.last().filter(|(_, before, _)| *before > start) {
            return Err(row.wrong(format!(
                "found an outage from {start} on, expected none before the end of the one above, {before}"
            )));
        }
        let p = if has_erasure {
            row.number(2, "an erasure probability", 0.0, 1.0)?
        } else {
            1.0
        };
        outages.push((start, end, p));
    }
    Ok(outages)
}

/// The time in cell `at`, s.
fn time(row: &Row<'_>, at: usize) -> Result<Time, TableError> {
    let text = row.cells[at];
    let nanos = Decimal::exactly(text, 1, 9);
    let time = nanos.and_then(Time::from_nanos);
    time.ok_or_else(|| {
        row.fault(
            at,
            format!("found '{text}', expected seconds with at most 9 decimals"),
        )
    })
}

impl fmt::Display for OutageList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Process for OutageList {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(Running {
            outages: Arc::clone(&self.outages),
            intervals: Intervals::new(seed, used),
        })
    }

    fn is_random(&self) -> bool {
        let mut erasures = self.outages.iter().map(|(.., erasure)| *erasure);
        erasures.any(|erasure| erasure > 0.0 && erasure < 1.0)
    }

    fn note(&self, _on_air: Span) -> String {
        let last = self.outages.last().map_or(Time::ZERO, |(_, end, _)| *end);
        format!("{} outages until {last}", self.outages.len())
    }
}

/// A running list.
#[derive(Debug)]
struct Running {
    outages: Arc<[Outage]>,
    intervals: Intervals,
}

impl Erasing for Running {
    fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]) {
        let from = slots.first().map_or(Time::ZERO, Slot::tx_time);
        let ended = self.outages.partition_point(|(_, end, _)| *end <= from);
        let outages = self.outages[ended..].iter().copied();
        self.intervals.erase(first, on_air, slots, outages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_that_touch_a_listed_outage_are_erased() {
        let list: SlotChannel =
            "outage-list:{start_s,end_s,erasure;0.010,0.012,1;0.012,0.0205,0;0.03,9,1}"
                .parse()
                .unwrap();
        let slot = |at: u64| Slot::new(Time::from_nanos(at * 1_000_000)?, Span::NANOSECOND);
        let mut slots: Vec<Slot> = (0..40).filter_map(slot).collect();
        let mut running = list.begin(1, Use::Forward);
        running.erase(0, Span::from_millis(1), &mut slots);
        let found: Vec<usize> = (0..40).filter(|at| slots[*at].is_erased()).collect();
        let expected: Vec<usize> = (10..12).chain(30..40).collect();
        assert_eq!(found, expected);
        let SlotChannel::Timed(list) = list else {
            panic!("a process in time");
        };
        assert_eq!(list.note(Span::ZERO), "3 outages until 9.000000000 s");
    }

    #[test]
    fn outages_out_of_order_are_refused() {
        for (rows, expected) in [
            (
                "start_s,end_s;1,1",
                "row 2: found an outage from 1.000000000 s to 1.000000000 s",
            ),
            (
                "start_s,end_s;1,3;2,4",
                "row 3: found an outage from 2.000000000 s on",
            ),
            (
                "start_s,end_s;1,x",
                "row 2: column 2: found 'x', expected seconds",
            ),
            (
                "start,end;1,2",
                "expected the header start_s,end_s[,erasure]",
            ),
            ("start_s,end_s;1", "found 1 columns, expected 2"),
        ] {
            let refused = format!("outage-list:{{{rows}}}").parse::<SlotChannel>();
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(expected), "{rows}: {refused}");
        }
    }
}

//! `--series`: the state of each sender, one row per event or interval.

use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm};
use tmt_core::types::{Metadata, Span, Time};

use super::{Table, always, maybe, span};
use crate::endpoint::sender::Snapshot;
use crate::simulation::probe::{Probe, SenderEvent};

/// Columns of the series (docs/simulator.md, Sec. 11).
const COLUMNS: &[Column] = &[
    always("time", Kind::Time),
    always("flow", Kind::Count),
    always("event", Kind::Word),
    always("cwnd", Kind::Real),
    maybe("ssthresh", Kind::Real),
    maybe("srtt", Kind::Time),
    always("rto", Kind::Time),
    always("in_flight", Kind::Count),
    always("queue", Kind::Count),
    always("delivered", Kind::Count),
];

/// Probe that writes the series during the run.
#[derive(Debug)]
pub struct Series<W: Write + Send> {
    table: Table<W>,
    /// Shortest time between two rows of a flow; `None` for one row per event.
    interval: Option<Span>,
    /// Earliest time of each flow's next row.
    due: Vec<Time>,
}

impl<W: Write + Send> Series<W> {
    /// Creates the series of `flows` flows and writes its head.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(
        output: W,
        form: TableForm,
        head: &Metadata,
        flows: usize,
        interval: Option<Span>,
    ) -> io::Result<Self> {
        Ok(Self {
            table: Table::new(output, form, COLUMNS, head)?,
            interval,
            due: vec![Time::ZERO; flows],
        })
    }

    /// Writes the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.table.finish()
    }
}

impl<W: Write + Send> Probe for Series<W> {
    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        moment: SenderEvent,
        sender: &Snapshot,
        queue: u64,
        delivered: u64,
    ) {
        if let Some(interval) = self.interval {
            if now < self.due[flow] {
                return;
            }
            self.due[flow] = now.saturating_add(interval);
        }
        self.table.row(&[
            Cell::Time(now.as_nanos()),
            Cell::Count(flow as u64),
            Cell::Word(moment.into()),
            Cell::Real(sender.cwnd),
            sender.ssthresh.map_or(Cell::None, Cell::Real),
            span(sender.srtt),
            span(Some(sender.rto)),
            Cell::Count(sender.in_flight),
            Cell::Count(queue),
            Cell::Count(delivered),
        ]);
    }
}

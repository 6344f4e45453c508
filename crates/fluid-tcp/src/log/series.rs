//! `--series`: the state of each sender, one row per event or interval.

use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm};
use tmt_core::types::{Bytes, Metadata, Span, Time, to_f64};

use super::{Table, span};
use crate::endpoint::sender::Snapshot;
use crate::simulation::probe::{Probe, SenderEvent};
use crate::simulation::{Flow, Setup};

/// Columns of the series (docs/simulator.md, Sec. 11).
const COLUMNS: &[Column] = &[
    Column::always("time", Kind::Time),
    Column::always("flow", Kind::Count),
    Column::always("event", Kind::Word),
    Column::always("cwnd", Kind::Real),
    Column::maybe("ssthresh", Kind::Real),
    Column::maybe("srtt", Kind::Time),
    Column::always("rto", Kind::Time),
    Column::always("in_flight", Kind::Count),
    Column::always("queue", Kind::Count),
    Column::always("delivered", Kind::Count),
    Column::maybe("goodput_bps", Kind::Real),
];

/// Probe that writes the series during the run.
#[derive(Debug)]
pub struct Series<W: Write + Send> {
    table: Table<W>,
    /// Shortest time between two rows of a flow; `None` for one row per event.
    interval: Option<Span>,
    /// The last row of each flow.
    last: Vec<LastRow>,
    /// The flows, and the size of their packets.
    flows: Vec<Flow>,
    packet: Bytes,
}

/// What a flow's next row depends on.
#[derive(Debug, Clone, Copy)]
struct LastRow {
    /// Time of the flow's last row; the begin of the run before the first.
    time: Time,
    /// Packets that the receiver had in order then.
    delivered: u64,
    /// Earliest time of the next row.
    due: Time,
}

impl<W: Write + Send> Series<W> {
    /// Creates the series of a run with this setup and writes its head.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(
        output: W,
        form: TableForm,
        head: &Metadata,
        setup: &Setup,
        interval: Option<Span>,
    ) -> io::Result<Self> {
        Ok(Self {
            table: Table::new(output, form, COLUMNS, head)?,
            interval,
            last: vec![
                LastRow {
                    time: setup.begin,
                    delivered: 0,
                    due: Time::ZERO,
                };
                setup.flows.len()
            ],
            flows: setup.flows.clone(),
            packet: setup.packet,
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
        let last = self.last[flow];
        let mut goodput = Cell::None;
        if let Some(interval) = self.interval {
            if now < last.due {
                return;
            }
            let payload = |packets| self.flows[flow].payload_of(packets, self.packet);
            let (bits, since) = (
                to_f64(8 * (payload(delivered) - payload(last.delivered))),
                now.since(last.time),
            );
            if !since.is_zero() {
                goodput = Cell::Real(bits / since.as_secs_f64());
            }
            self.last[flow] = LastRow {
                time: now,
                delivered,
                due: now.saturating_add(interval),
            };
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
            goodput,
        ]);
    }
}

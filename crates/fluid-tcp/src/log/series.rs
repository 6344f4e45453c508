//! `--series`: what each sender shows of itself, event by event or at intervals.

use std::io::{self, Write};

use tmt_core::metadata::Metadata;
use tmt_core::text::encode;
use tmt_core::units::{Span, Time};

use super::{Field, Table};
use crate::probe::{Moment, Probe};
use crate::sender::Snapshot;

/// Columns of the series.
const HEADER: &str = "time,flow,event,cwnd,ssthresh,srtt,rto,in_flight,queue,delivered\n";

/// Writes the series while the run goes on.
#[derive(Debug)]
pub struct Series<W> {
    table: Table<W>,
    /// Shortest time between two rows of a flow; none for a row an event.
    interval: Option<Span>,
    /// When each flow may write its next row.
    due: Vec<Time>,
}

impl<W: Write> Series<W> {
    /// A series of `flows` flows; writes the head.
    pub fn new(output: W, head: &Metadata, flows: usize, interval: Option<Span>) -> Self {
        let mut table = Table::new(output);
        encode::head(head, &mut table.buffer);
        table.buffer.extend_from_slice(HEADER.as_bytes());
        Self {
            table,
            interval,
            due: vec![Time::ZERO; flows],
        }
    }

    /// Writes what is left and the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        let rows = self.table.rows;
        self.table
            .buffer
            .extend_from_slice(format!("# end: rows={rows}\n").as_bytes());
        self.table.finish()
    }
}

impl<W: Write> Probe for Series<W> {
    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        moment: Moment,
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
        let seconds = |span: Span| Field::Seconds(Time::ZERO.checked_add(span));
        self.table.row(&[
            Field::Seconds(Some(now)),
            Field::Number(flow as u64),
            Field::Word(match moment {
                Moment::Start => "start",
                Moment::Ack => "ack",
                Moment::Timeout => "timeout",
                Moment::Timer => "timer",
                Moment::Pace => "pace",
            }),
            Field::Real(Some(sender.cwnd)),
            Field::Real(sender.ssthresh),
            sender.srtt.map_or(Field::Seconds(None), seconds),
            seconds(sender.rto),
            Field::Number(sender.in_flight),
            Field::Number(queue),
            Field::Number(delivered),
        ]);
    }
}

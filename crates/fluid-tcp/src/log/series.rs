//! `--series`: the state of each sender, one row per event or interval.

use std::borrow::Cow;
use std::collections::BTreeMap;
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

/// State from which a flow's next row follows.
#[derive(Debug, Clone, Copy)]
struct LastRow {
    /// Time of the flow's last row; the start of the run before the first.
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
                setup.flow_count()
            ],
            flows: setup.numbered().map(Cow::into_owned).collect(),
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

/// Columns of the series of real hosts: those of [`COLUMNS`], and retransmissions. The queue is the link's, not the host's.
const HOST_COLUMNS: &[Column] = &[
    Column::always("time", Kind::Time),
    Column::always("flow", Kind::Count),
    Column::always("event", Kind::Word),
    Column::always("cwnd", Kind::Real),
    Column::maybe("ssthresh", Kind::Real),
    Column::maybe("srtt", Kind::Time),
    Column::always("rto", Kind::Time),
    Column::always("in_flight", Kind::Count),
    Column::maybe("queue", Kind::Count),
    Column::always("delivered", Kind::Count),
    Column::maybe("goodput_bps", Kind::Real),
    Column::always("retransmitted", Kind::Count),
];

/// State of a sender that a real host reports.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostSample {
    /// Number of the connection, from 0, in the order in which connections were seen.
    pub flow: u64,
    /// Windows and times, as the simulator's series has them.
    pub state: Snapshot,
    /// Segments acknowledged.
    pub delivered: u64,
    /// Payload acknowledged, bytes.
    pub acked: Bytes,
    /// Segments sent again.
    pub retransmitted: u64,
}

/// Series of the senders of real hosts, a row per connection and sample, which `tmt plot` draws as those of the simulator.
#[derive(Debug)]
pub struct HostSeries<W: Write + Send> {
    table: Table<W>,
    /// The last sample of each connection: its time, and the payload acknowledged.
    last: BTreeMap<u64, (Time, Bytes)>,
}

impl<W: Write + Send> HostSeries<W> {
    /// Creates the series and writes its head.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(output: W, form: TableForm, head: &Metadata) -> io::Result<Self> {
        let mut head = head.clone();
        head.set("log", "series");
        head.set("hosts", "real");
        Ok(Self {
            table: Table::new(output, form, HOST_COLUMNS, &head)?,
            last: BTreeMap::new(),
        })
    }

    /// Writes the sample of a connection.
    pub fn sample(&mut self, now: Time, sample: &HostSample) {
        let last = self.last.insert(sample.flow, (now, sample.acked));
        let goodput = last.and_then(|(time, acked)| {
            let since = Some(now.since(time)).filter(|since| !since.is_zero())?;
            let bits = to_f64(8 * sample.acked.0.saturating_sub(acked.0));
            Some(bits / since.as_secs_f64())
        });
        self.table.row(&[
            Cell::Time(now.as_nanos()),
            Cell::Count(sample.flow),
            Cell::Word("sample"),
            Cell::Real(sample.state.cwnd),
            sample.state.ssthresh.map_or(Cell::None, Cell::Real),
            span(sample.state.srtt),
            span(Some(sample.state.rto)),
            Cell::Count(sample.state.in_flight),
            Cell::None,
            Cell::Count(sample.delivered),
            goodput.map_or(Cell::None, Cell::Real),
            Cell::Count(sample.retransmitted),
        ]);
    }

    /// Writes the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.table.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_of_hosts_have_the_columns_of_the_simulator() {
        let names = |columns: &[Column]| columns.iter().map(Column::full_name).collect::<Vec<_>>();
        assert_eq!(names(&HOST_COLUMNS[..COLUMNS.len()]), names(COLUMNS));
    }

    #[test]
    fn goodput_is_what_was_acknowledged_since_the_last_sample_of_the_connection() {
        let mut series =
            HostSeries::new(Vec::new(), TableForm::Text(None), &Metadata::new()).unwrap();
        let second = Span::from_secs(1);
        for (number, flow, acked) in [(0, 0, 0), (0, 1, 5), (1, 0, 1000), (2, 1, 255)] {
            let sample = HostSample {
                flow,
                state: Snapshot {
                    cwnd: 10.0,
                    ssthresh: None,
                    srtt: None,
                    rto: second,
                    in_flight: 3,
                },
                delivered: acked / 100,
                acked: Bytes(acked),
                retransmitted: 2,
            };
            let now = Time::ZERO.saturating_add(second.checked_mul(number).unwrap());
            series.sample(now, &sample);
        }
        let text = String::from_utf8(series.finish().unwrap()).unwrap();
        let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let goodputs = rows[1..].iter().map(|row| row.split(',').nth(10).unwrap());
        assert_eq!(
            goodputs.collect::<Vec<_>>(),
            ["", "", "8000.000000", "1000.000000"]
        );
    }
}

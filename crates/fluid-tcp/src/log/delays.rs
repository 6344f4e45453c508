//! `--delays`: the distributions of the delay and of the queueing delay, of each flow and of all flows together.

use std::collections::BTreeMap;
use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm};
use tmt_core::stats::distribution::Distribution;
use tmt_core::types::{Metadata, Time, to_f64};

use super::Table;
use crate::endpoint::Transmission;
use crate::simulation::Setup;
use crate::simulation::probe::{Probe, Refused};
use crate::simulation::tally::DelayDistributions;
use tmt_link::Service;

/// Columns of the table (docs/results.md, Sec. 4). Rows of all flows together have no flow.
const COLUMNS: &[Column] = &[
    Column::maybe("flow", Kind::Count),
    Column::always("kind", Kind::Word),
    Column::always("delay", Kind::Time),
    Column::always("count", Kind::Count),
    Column::always("share", Kind::Real),
];

/// A transmission whose delays are not known yet.
#[derive(Debug, Clone, Copy)]
struct Pending {
    sent: Time,
    enqueued: Time,
    /// Whether its service, or its delivery or loss, has been reported.
    half_done: bool,
}

/// Probe that collects the delays of a run and writes their distributions at its end.
///
/// The rows of a distribution are its values in ascending order: the count of each, and the share of all that is not
/// larger. They are exact as far as the percentiles of the report are, and have their precision above.
#[derive(Debug)]
pub struct Delays<W: Write + Send> {
    table: Table<W>,
    flows: Vec<DelayDistributions>,
    total: DelayDistributions,
    /// By ordinal.
    pending: BTreeMap<u64, Pending>,
}

impl<W: Write + Send> Delays<W> {
    /// Creates the table of a run of `setup` and writes its head.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(output: W, form: TableForm, head: &Metadata, setup: &Setup) -> io::Result<Self> {
        let mut head = head.clone();
        head.set("log", "delays");
        let flows = setup.flow_count();
        let of_flow = |_| DelayDistributions::of(flows);
        Ok(Self {
            table: Table::new(output, form, COLUMNS, &head)?,
            flows: (0..flows).map(of_flow).collect(),
            total: DelayDistributions::of(1),
            pending: BTreeMap::new(),
        })
    }

    /// Writes the rows and the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        let flows = (0..).zip(&self.flows);
        let flows = flows.map(|(flow, delays)| (Cell::Count(flow), delays));
        for (flow, delays) in std::iter::once((Cell::None, &self.total)).chain(flows) {
            for (kind, distribution) in [("delay", &delays.delay), ("queueing", &delays.queueing)] {
                rows(&mut self.table, flow, kind, distribution);
            }
        }
        self.table.finish()
    }

    /// Removes a transmission after its last report.
    fn forget(&mut self, transmission: Transmission) {
        self.pending.remove(&transmission.ordinal);
    }

    /// Notes one of the two reports of a transmission that the link serves, and removes it after the second.
    fn half(&mut self, transmission: Transmission) -> Option<Pending> {
        let pending = self.pending.get_mut(&transmission.ordinal)?;
        let found = *pending;
        pending.half_done = true;
        if found.half_done {
            self.forget(transmission);
        }
        Some(found)
    }
}

/// The rows of one distribution.
fn rows<W: Write + Send>(table: &mut Table<W>, flow: Cell, kind: &'static str, of: &Distribution) {
    let mut so_far = 0;
    for (delay, count) in of.counts() {
        so_far += count;
        table.row(&[
            flow,
            Cell::Word(kind),
            Cell::Time(delay.as_nanos()),
            Cell::Count(count),
            Cell::Real(to_f64(so_far) / to_f64(of.count())),
        ]);
    }
}

impl<W: Write + Send> Probe for Delays<W> {
    fn on_sent(&mut self, now: Time, transmission: Transmission) {
        let pending = Pending {
            sent: now,
            enqueued: now,
            half_done: false,
        };
        self.pending.insert(transmission.ordinal, pending);
    }

    fn on_enqueued(&mut self, now: Time, transmission: Transmission) {
        if let Some(pending) = self.pending.get_mut(&transmission.ordinal) {
            pending.enqueued = now;
        }
    }

    fn on_refused(&mut self, _now: Time, transmission: Transmission, _why: Refused) {
        self.forget(transmission);
    }

    fn on_dropped(&mut self, _now: Time, transmission: Transmission) {
        self.forget(transmission);
    }

    fn on_service(&mut self, transmission: Transmission, service: &Service) {
        let Some(pending) = self.half(transmission) else {
            return;
        };
        let waited = service.start.since(pending.enqueued);
        self.flows[transmission.flow].queueing.push(waited);
        self.total.queueing.push(waited);
    }

    fn on_departure(&mut self, _left: Time, transmission: Transmission, lost: bool) {
        if lost {
            self.half(transmission);
        }
    }

    fn on_delivered(&mut self, now: Time, transmission: Transmission) {
        let Some(pending) = self.half(transmission) else {
            return;
        };
        let delay = now.since(pending.sent);
        self.flows[transmission.flow].delay.push(delay);
        self.total.delay.push(delay);
    }
}

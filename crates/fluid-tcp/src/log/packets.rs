//! `--packets`: one row per transmission, in the order of sending.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm};
use tmt_core::types::{Metadata, Span, Time};

use super::{Fate, Table, count, span, time};
use crate::endpoint::Transmission;
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};
use crate::simulation::{Setup, Side};
use tmt_link::Service;
use tmt_link::queue::Discipline;

/// Columns of the log (docs/simulator.md, Sec. 11).
const COLUMNS: &[Column] = &[
    Column::always("flow", Kind::Count),
    Column::always("packet", Kind::Count),
    Column::always("copy", Kind::Count),
    Column::always("sent", Kind::Time),
    Column::maybe("enqueued", Kind::Time),
    Column::maybe("service_start", Kind::Time),
    Column::maybe("service_end", Kind::Time),
    Column::maybe("first_lldu", Kind::Count),
    Column::maybe("last_lldu", Kind::Count),
    Column::maybe("delivered", Kind::Time),
    Column::always("fate", Kind::Word),
    Column::maybe("acked", Kind::Time),
    Column::maybe("delay_propagation", Kind::Time),
    Column::maybe("delay_queue", Kind::Time),
    Column::maybe("delay_serialisation", Kind::Time),
    Column::maybe("delay_wait", Kind::Time),
    Column::maybe("left", Kind::Time),
    Column::always("size_bytes", Kind::Count),
    Column::maybe("offered", Kind::Time),
    Column::maybe("crossed", Kind::Time),
    Column::maybe("delay_terrestrial", Kind::Time),
    Column::maybe("delay_far", Kind::Time),
    Column::maybe("gone", Kind::Time),
];

/// Columns of a log without hops beside the link.
const ALONE: usize = COLUMNS.len() - 4;

/// The same for packets of one size that no proxy sends again.
const USUAL: usize = ALONE - 2;

/// The same for packets of several sizes.
const SIZED: usize = USUAL + 1;

/// One row, filled in as its transmission goes on.
#[derive(Debug, Clone, Default)]
struct Row {
    copy: Transmission,
    sent: Time,
    enqueued: Option<Time>,
    /// Time at which a proxy offers it to the queue again, the last of them.
    offered: Option<Time>,
    service: Option<Service>,
    delivered: Option<Time>,
    fate: Fate,
    acked: Option<Time>,
    /// Time at which it left the gateway's buffer.
    left: Option<Time>,
    /// Time at which it was dropped beside the link, or the end of its service there if it was lost.
    gone: Option<Time>,
}

impl Row {
    /// Whether no further event can change it. `acknowledged` states whether the log has ACKs.
    fn is_complete(&self, acknowledged: bool) -> bool {
        let over = match self.fate {
            Fate::Open => false,
            Fate::Delivered | Fate::Link | Fate::Far => self.left.is_some(),
            Fate::Queue | Fate::Duplicate | Fate::Terrestrial => true,
        };
        over && (self.acked.is_some() || !acknowledged)
    }
}

/// Probe that writes the packet log during the run. A row is written once no further event can change it.
///
/// ```
/// use fluid_tcp::audit::audit;
/// use fluid_tcp::experiment::{Experiment, InMemory, LinkKind};
/// use fluid_tcp::log::PacketLog;
/// use tmt_core::format::table::TableForm;
/// use tmt_core::types::Metadata;
/// use tmt_core::{BitRate, Span};
///
/// let plan = Experiment {
///     link: Some(LinkKind::Synthetic),
///     rate: Some(BitRate(1_000_000)),
///     duration: Some(Span::from_secs(10)),
///     ..Experiment::default()
/// }
/// .resolve(&InMemory)?;
/// let run = plan.runs()[0];
/// let setup = plan.setup(run);
/// let mut head = Metadata::new();
/// head.set("tool", "my-simulator 1.0");
/// plan.describe(&mut head, &setup, run.seed);
/// let mut log = PacketLog::new(Vec::new(), TableForm::Text(None), &head, &setup)?;
/// let report = plan.run(run, &mut log)?;
///
/// let audit = audit(&log.finish()?[..], None)?;
/// assert!(audit.passed());
/// assert_eq!(audit.totals.counts.copies_sent, report.total.metrics.packets_sent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PacketLog<W: Write + Send> {
    table: Table<W>,
    /// Number of its columns.
    columns: usize,
    /// Rows from the first one that is not complete.
    rows: VecDeque<Row>,
    /// Ordinal of the first of `rows`.
    first: u64,
    /// Ordinals of the transmissions of each unacknowledged packet, by flow.
    unacked: Vec<BTreeMap<u64, Vec<u64>>>,
    end: Time,
    /// Time from the sender of each flow to the first hop, if there are hops beside the link.
    toward: Vec<Span>,
    /// Whether a proxy keeps packets until the link has acknowledged them.
    proxied: bool,
    /// Whether it observes the ACKs of the hosts of each flow: those of TCP.
    acknowledged: Vec<bool>,
}

impl<W: Write + Send> PacketLog<W> {
    /// Creates the log of a run of `setup` and writes its head.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(output: W, form: TableForm, head: &Metadata, setup: &Setup) -> io::Result<Self> {
        let mut head = head.clone();
        let drops_after_proxy =
            setup.path.split.is_some() && setup.discipline != Discipline::default();
        let columns = match setup.flows.iter().any(|flow| flow.hosts.is_some()) {
            _ if setup.has_side_paths() => COLUMNS.len(),
            _ if drops_after_proxy => ALONE,
            true => SIZED,
            false => USUAL,
        };
        head.set("log", "packets/2");
        Self::of_columns(columns, output, form, &head, setup)
    }

    /// Creates the log of a link between real hosts, whose ACKs only they know: a packet is any datagram, and `acked` stays
    /// empty. The head says `hosts: real`.
    ///
    /// # Errors
    /// An error of the output.
    pub fn of_real_hosts(
        output: W,
        form: TableForm,
        head: &Metadata,
        setup: &Setup,
    ) -> io::Result<Self> {
        let mut head = head.clone();
        head.set("log", "packets/2");
        head.set("hosts", "real");
        let log = Self::of_columns(SIZED, output, form, &head, setup)?;
        Ok(Self {
            acknowledged: vec![false; setup.flow_count()],
            ..log
        })
    }

    fn of_columns(
        columns: usize,
        output: W,
        form: TableForm,
        head: &Metadata,
        setup: &Setup,
    ) -> io::Result<Self> {
        Ok(Self {
            acknowledged: setup.numbered().map(|flow| flow.hosts.is_none()).collect(),
            table: Table::new(output, form, &COLUMNS[..columns], head)?,
            columns,
            rows: VecDeque::new(),
            first: 0,
            unacked: vec![BTreeMap::new(); setup.flow_count()],
            end: setup.end,
            toward: if columns == COLUMNS.len() {
                let flows = setup.numbered();
                flows
                    .map(|flow| setup.terrestrial_rtt(&flow).half())
                    .collect()
            } else {
                Vec::new()
            },
            proxied: setup.path.split.is_some(),
        })
    }

    /// Writes the remaining rows and the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        while let Some(row) = self.rows.pop_front() {
            self.write(&row);
        }
        self.table.finish()
    }

    /// Changes the row of a transmission and writes all rows that are complete.
    fn change(&mut self, ordinal: u64, change: impl FnOnce(&mut Row)) {
        let index = ordinal.checked_sub(self.first).map(usize::try_from);
        if let Some(Ok(index)) = index
            && let Some(row) = self.rows.get_mut(index)
        {
            change(row);
        }
        while let Some(row) = self.rows.front()
            && row.is_complete(self.acknowledged[row.copy.flow])
            && let Some(row) = self.rows.pop_front()
        {
            self.first += 1;
            self.write(&row);
        }
    }

    fn write(&mut self, row: &Row) {
        // Events after the end of the run are not part of it.
        let service = row.service.filter(|service| service.start <= self.end);
        let within = |time: Option<Time>| time.filter(|time| *time <= self.end);
        let delivered = within(row.delivered);
        let known = row
            .service
            .zip(row.enqueued)
            .filter(|_| delivered.is_some());
        let parts = known.and_then(|(service, at)| DelayParts::of(row.sent, at, &service));
        let toward = self.toward.get(row.copy.flow);
        let crossed = row.service.and_then(|service| service.arrival);
        let crossed = within(crossed.filter(|_| toward.is_some()));
        let (mut near, mut far) = (None, None);
        let parts = parts.map(|mut parts| {
            if let (Some(toward), Some(enqueued)) = (toward, row.enqueued) {
                let hop = enqueued.since(row.sent).saturating_sub(*toward);
                parts.propagation = parts.propagation.saturating_sub(hop);
                near = Some(hop);
                far = delivered
                    .zip(crossed)
                    .map(|(at, crossed)| at.since(crossed));
            }
            parts
        });
        let [propagation, queue, serialisation, wait] = parts.map_or([Cell::None; 4], |parts| {
            parts.all().map(|part| span(Some(part)))
        });
        let cells = [
            Cell::Count(row.copy.flow as u64),
            Cell::Count(row.copy.packet),
            Cell::Count(u64::from(row.copy.copy)),
            Cell::Time(row.sent.as_nanos()),
            time(row.enqueued),
            time(service.map(|service| service.start)),
            time(service.map(|service| service.end)),
            count(service.map(|service| service.first_unit)),
            count(service.map(|service| service.last_unit)),
            time(delivered),
            Cell::Word(row.fate.into()),
            time(row.acked),
            propagation,
            queue,
            serialisation,
            wait,
            time(within(row.left)),
            Cell::Count(row.copy.size.0),
            time(row.offered),
            time(crossed),
            span(near),
            span(far),
            time(within(row.gone)),
        ];
        self.table.row(&cells[..self.columns]);
    }
}

impl<W: Write + Send> Probe for PacketLog<W> {
    fn on_sent(&mut self, now: Time, copy: Transmission) {
        self.rows.push_back(Row {
            copy,
            sent: now,
            ..Row::default()
        });
        if self.acknowledged[copy.flow] {
            let copies = self.unacked[copy.flow].entry(copy.packet).or_default();
            copies.push(copy.ordinal);
        }
    }

    fn on_enqueued(&mut self, now: Time, copy: Transmission) {
        self.change(copy.ordinal, |row| row.enqueued = Some(now));
    }

    fn on_offered_again(&mut self, at: Time, copy: Transmission) {
        self.change(copy.ordinal, |row| row.offered = Some(at));
    }

    fn on_refused(&mut self, now: Time, copy: Transmission, why: Refused) {
        self.change(copy.ordinal, |row| {
            (row.enqueued, row.fate) = (Some(now), why.into());
        });
    }

    fn on_released(&mut self, now: Time, copy: Transmission) {
        self.change(copy.ordinal, |row| row.left = Some(now));
    }

    fn on_service(&mut self, copy: Transmission, service: &Service) {
        self.change(copy.ordinal, |row| row.service = Some(*service));
    }

    fn on_dropped(&mut self, _now: Time, copy: Transmission) {
        self.change(copy.ordinal, |row| row.fate = Fate::Queue);
    }

    fn on_gone_beside(&mut self, at: Time, copy: Transmission, side: Side) {
        self.change(copy.ordinal, |row| {
            (row.fate, row.gone) = (side.into(), Some(at));
        });
    }

    fn on_departure(&mut self, left: Time, copy: Transmission, lost: bool) {
        let proxied = self.proxied;
        self.change(copy.ordinal, |row| {
            if lost {
                row.fate = Fate::Link;
            }
            if !proxied {
                row.left = Some(left);
            }
        });
    }

    fn on_delivered(&mut self, now: Time, copy: Transmission) {
        self.change(copy.ordinal, |row| {
            (row.delivered, row.fate) = (Some(now), Fate::Delivered);
        });
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        while let Some(first) = self.unacked[flow].first_entry()
            && *first.key() < next
        {
            for ordinal in first.remove() {
                self.change(ordinal, |row| row.acked = Some(now));
            }
        }
    }
}

//! `--packets`: the story of every copy of every packet, in the order of sending.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm};
use tmt_core::types::{Metadata, Time};

use super::{Fate, Table, always, count, maybe, span, time};
use crate::link::{PacketCopy, Service};
use crate::simulation::Setup;
use crate::simulation::delay::DelayParts;
use crate::simulation::probe::{Probe, Refused};

/// Columns of the log.
const COLUMNS: &[Column] = &[
    always("flow", Kind::Count),
    always("packet", Kind::Count),
    always("copy", Kind::Count),
    always("sent", Kind::Time),
    maybe("enqueued", Kind::Time),
    maybe("service_start", Kind::Time),
    maybe("service_end", Kind::Time),
    maybe("first_lldu", Kind::Count),
    maybe("last_lldu", Kind::Count),
    maybe("delivered", Kind::Time),
    always("fate", Kind::Word),
    maybe("acked", Kind::Time),
    maybe("delay_propagation", Kind::Time),
    maybe("delay_queue", Kind::Time),
    maybe("delay_serialisation", Kind::Time),
    maybe("delay_wait", Kind::Time),
    maybe("left", Kind::Time),
];

/// One row in the making.
#[derive(Debug, Clone, Default)]
struct Story {
    copy: PacketCopy,
    sent: Time,
    enqueued: Option<Time>,
    service: Option<Service>,
    delivered: Option<Time>,
    fate: Fate,
    acked: Option<Time>,
    /// When the gateway's buffer let it go.
    left: Option<Time>,
}

impl Story {
    /// Whether nothing more can happen to it.
    fn is_complete(&self) -> bool {
        let over = match self.fate {
            Fate::Open => false,
            Fate::Delivered | Fate::Link => self.left.is_some(),
            Fate::Queue | Fate::Duplicate => true,
        };
        over && self.acked.is_some()
    }
}

/// Writes the log while the run goes on; rows leave once nothing more can happen to them.
#[derive(Debug)]
pub struct PacketLog<W: Write + Send> {
    table: Table<W>,
    /// Copies from the first whose story is not complete.
    stories: VecDeque<Story>,
    first: u64,
    /// For each flow and each packet not yet acknowledged its copies.
    unacked: Vec<BTreeMap<u64, Vec<u64>>>,
    end: Time,
    /// Whether a proxy keeps what the link has not acknowledged.
    proxied: bool,
}

impl<W: Write + Send> PacketLog<W> {
    /// A log of a run of `setup`; writes the head.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn new(output: W, form: TableForm, head: &Metadata, setup: &Setup) -> io::Result<Self> {
        let mut head = head.clone();
        head.set("log", "packets");
        Ok(Self {
            table: Table::new(output, form, COLUMNS, &head)?,
            stories: VecDeque::new(),
            first: 0,
            unacked: vec![BTreeMap::new(); setup.flows.len()],
            end: setup.end,
            proxied: setup.path.split.is_some(),
        })
    }

    /// Writes what is left and the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(mut self) -> io::Result<W> {
        while let Some(story) = self.stories.pop_front() {
            self.write(&story);
        }
        self.table.finish()
    }

    /// Changes the story of a copy, and writes those to which nothing more can happen.
    fn change(&mut self, ordinal: u64, change: impl FnOnce(&mut Story)) {
        let index = ordinal.checked_sub(self.first).map(usize::try_from);
        if let Some(Ok(index)) = index
            && let Some(story) = self.stories.get_mut(index)
        {
            change(story);
        }
        while let Some(story) = self.stories.pop_front_if(|story| story.is_complete()) {
            self.first += 1;
            self.write(&story);
        }
    }

    fn write(&mut self, story: &Story) {
        // What lies behind the end of the run did not happen in it.
        let service = story.service.filter(|service| service.start <= self.end);
        let within = |time: Option<Time>| time.filter(|time| *time <= self.end);
        let delivered = within(story.delivered);
        let known = story
            .service
            .zip(story.enqueued)
            .filter(|_| delivered.is_some());
        let parts = known.and_then(|(service, at)| DelayParts::of(story.sent, at, &service));
        let [propagation, queue, serialisation, wait] = parts.map_or([Cell::None; 4], |parts| {
            parts.all().map(|part| span(Some(part)))
        });
        let cells = [
            Cell::Count(story.copy.flow as u64),
            Cell::Count(story.copy.packet),
            Cell::Count(u64::from(story.copy.copy)),
            Cell::Time(story.sent.as_nanos()),
            time(story.enqueued),
            time(service.map(|service| service.start)),
            time(service.map(|service| service.end)),
            count(service.map(|service| service.first_unit)),
            count(service.map(|service| service.last_unit)),
            time(delivered),
            Cell::Word(story.fate.into()),
            time(story.acked),
            propagation,
            queue,
            serialisation,
            wait,
            time(within(story.left)),
        ];
        self.table.row(&cells);
    }
}

impl<W: Write + Send> Probe for PacketLog<W> {
    fn on_sent(&mut self, now: Time, copy: PacketCopy) {
        self.stories.push_back(Story {
            copy,
            sent: now,
            ..Story::default()
        });
        let copies = self.unacked[copy.flow].entry(copy.packet).or_default();
        copies.push(copy.ordinal);
    }

    fn on_enqueued(&mut self, now: Time, copy: PacketCopy) {
        self.change(copy.ordinal, |story| story.enqueued = Some(now));
    }

    fn on_refused(&mut self, now: Time, copy: PacketCopy, why: Refused) {
        self.change(copy.ordinal, |story| {
            (story.enqueued, story.fate) = (Some(now), why.into());
        });
    }

    fn on_released(&mut self, now: Time, copy: PacketCopy) {
        self.change(copy.ordinal, |story| story.left = Some(now));
    }

    fn on_service(&mut self, copy: PacketCopy, service: &Service) {
        self.change(copy.ordinal, |story| story.service = Some(*service));
    }

    fn on_dropped(&mut self, _now: Time, copy: PacketCopy) {
        self.change(copy.ordinal, |story| story.fate = Fate::Queue);
    }

    fn on_departure(&mut self, left: Time, copy: PacketCopy, lost: bool) {
        let proxied = self.proxied;
        self.change(copy.ordinal, |story| {
            if lost {
                story.fate = Fate::Link;
            }
            if !proxied {
                story.left = Some(left);
            }
        });
    }

    fn on_delivered(&mut self, now: Time, copy: PacketCopy) {
        self.change(copy.ordinal, |story| {
            (story.delivered, story.fate) = (Some(now), Fate::Delivered);
        });
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        while let Some(first) = self.unacked[flow].first_entry()
            && *first.key() < next
        {
            for ordinal in first.remove() {
                self.change(ordinal, |story| story.acked = Some(now));
            }
        }
    }
}

//! `--packets`: the story of every copy of every packet, in the order of sending.

use std::collections::VecDeque;
use std::io::{self, Write};

use tmt_core::metadata::Metadata;
use tmt_core::table::{Cell, Column, Kind, TableForm};
use tmt_core::units::Time;

use super::{Table, always, count, maybe, span, time};
use crate::delay::DelayParts;
use crate::link::Service;
use crate::probe::{Copy, Probe};

/// Columns of the log.
const COLUMNS: &[Column] = &[
    always("flow", Kind::Count),
    always("packet", Kind::Count),
    always("copy", Kind::Count),
    always("sent", Kind::Time),
    always("enqueued", Kind::Time),
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
];

/// What became of a copy.
#[derive(Debug, Clone, core::marker::Copy, PartialEq, Eq)]
enum Fate {
    /// The run ended before it was known.
    Open,
    Delivered,
    /// Dropped at the full queue.
    Queue,
    /// Lost on the link.
    Link,
}

/// One row in the making.
#[derive(Debug, Clone)]
struct Story {
    copy: Copy,
    sent: Time,
    service: Option<Service>,
    delivered: Option<Time>,
    fate: Fate,
    acked: Option<Time>,
}

/// Writes the log while the run goes on; rows leave once nothing more can happen to them.
#[derive(Debug)]
pub struct PacketLog<W: Write + Send> {
    table: Table<W>,
    /// Copies from the first whose story is not complete.
    stories: VecDeque<Story>,
    first: u64,
    /// For each flow and each packet not yet acknowledged, from the lowest on, its copies.
    unacked: Vec<(u64, VecDeque<Vec<u64>>)>,
    end: Time,
}

impl<W: Write + Send> PacketLog<W> {
    /// A log of a run of `flows` flows that ends at `end`; writes the head.
    ///
    /// # Errors
    /// What the system says while writing.
    pub fn new(
        output: W,
        form: TableForm,
        head: &Metadata,
        flows: usize,
        end: Time,
    ) -> io::Result<Self> {
        Ok(Self {
            table: Table::new(output, form, COLUMNS, head)?,
            stories: VecDeque::new(),
            first: 0,
            unacked: vec![(0, VecDeque::new()); flows],
            end,
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

    fn story(&mut self, ordinal: u64) -> Option<&mut Story> {
        let index = usize::try_from(ordinal.checked_sub(self.first)?).ok()?;
        self.stories.get_mut(index)
    }

    fn write_complete(&mut self) {
        while let Some(story) = self.stories.front() {
            if story.fate == Fate::Open || story.acked.is_none() {
                return;
            }
            if let Some(story) = self.stories.pop_front() {
                self.first += 1;
                self.write(&story);
            }
        }
    }

    fn write(&mut self, story: &Story) {
        // What lies behind the end of the run did not happen in it.
        let service = story.service.filter(|service| service.start <= self.end);
        let within = |time: Option<Time>| time.filter(|time| *time <= self.end);
        let delivered = within(story.delivered);
        let parts = story
            .service
            .filter(|_| delivered.is_some())
            .and_then(|service| DelayParts::of(story.sent, story.sent, &service));
        let cells = [
            Cell::Count(story.copy.flow as u64),
            Cell::Count(story.copy.packet),
            Cell::Count(u64::from(story.copy.copy)),
            Cell::Time(story.sent.as_nanos()),
            Cell::Time(story.sent.as_nanos()),
            time(service.map(|service| service.start)),
            time(service.map(|service| service.end)),
            count(service.map(|service| service.first_unit)),
            count(service.map(|service| service.last_unit)),
            time(delivered),
            Cell::Word(match story.fate {
                Fate::Open => "open",
                Fate::Delivered => "delivered",
                Fate::Queue => "queue",
                Fate::Link => "link",
            }),
            time(story.acked),
            span(parts.map(|parts| parts.propagation)),
            span(parts.map(|parts| parts.queue)),
            span(parts.map(|parts| parts.serialisation)),
            span(parts.map(|parts| parts.wait)),
        ];
        self.table.row(&cells);
    }
}

impl<W: Write + Send> Probe for PacketLog<W> {
    fn on_sent(&mut self, now: Time, copy: Copy, enqueued: bool) {
        let fate = if enqueued { Fate::Open } else { Fate::Queue };
        self.stories.push_back(Story {
            copy,
            sent: now,
            service: None,
            delivered: None,
            fate,
            acked: None,
        });
        let (una, packets) = &mut self.unacked[copy.flow];
        let index = usize::try_from(copy.packet.saturating_sub(*una)).unwrap_or(usize::MAX);
        if index >= packets.len() {
            packets.resize_with(index + 1, Vec::new);
        }
        packets[index].push(copy.ordinal);
    }

    fn on_service(&mut self, copy: Copy, service: &Service) {
        if let Some(story) = self.story(copy.ordinal) {
            story.service = Some(*service);
        }
    }

    fn on_dropped(&mut self, _now: Time, copy: Copy) {
        if let Some(story) = self.story(copy.ordinal) {
            story.fate = Fate::Queue;
        }
        self.write_complete();
    }

    fn on_departure(&mut self, copy: Copy, lost: bool) {
        if lost && let Some(story) = self.story(copy.ordinal) {
            story.fate = Fate::Link;
        }
        self.write_complete();
    }

    fn on_delivered(&mut self, now: Time, copy: Copy) {
        if let Some(story) = self.story(copy.ordinal) {
            story.delivered = Some(now);
            story.fate = Fate::Delivered;
        }
        self.write_complete();
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        while self.unacked[flow].0 < next {
            self.unacked[flow].0 += 1;
            let Some(copies) = self.unacked[flow].1.pop_front() else {
                break;
            };
            for ordinal in copies {
                if let Some(story) = self.story(ordinal) {
                    story.acked = Some(now);
                }
            }
        }
        self.write_complete();
    }
}

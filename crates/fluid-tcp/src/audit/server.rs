//! The link, replayed in the order of service: rules `fifo`, `slots` and `early`. `on_timeline` has the checks of
//! `slots` and `early` on a timeline, `on_slots` those of a coupled link.
//!
//! Rows are in the order of sending, and no packet is served before it is sent. A row is therefore replayed once a row
//! sent after the start of its service has been read.

pub(super) mod fifo;
mod on_slots;
mod on_timeline;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use tmt_core::types::{Span, Time};

use super::head::{Head, Link, Order};
use super::listed::Listed;
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row, Service};
use super::timeline::Cursor;
use fifo::Fifo;

/// Time at which a transmission reached the queue, its line and its flow. The first arrival is the minimum.
type Arrived = (Time, u64, u64);

/// Its size, bytes, beside it.
type Waiting = (Arrived, u64);

/// Place of a row in the order of service: service start, first LLDU, last LLDU, turn, enqueued, line.
type Turn = (Time, u64, u64, Reverse<u64>, Time, u64);

/// A transmission that was served.
#[derive(Debug, Clone, Copy)]
pub(super) struct Served {
    row: Row,
    enqueued: Time,
    service: Service,
}

/// State of the replayed link.
#[derive(Default)]
pub(super) struct Server<'t> {
    head: Head,
    timeline: Option<Cursor<'t>>,
    /// The packets that a synthetic link loses, by the number of their service.
    listed: Option<Listed>,
    /// Rows not yet replayed. Packets may share an LLDU; all but the last of those that begin in it also end in it.
    pub(super) ahead: BTreeMap<Turn, Served>,
    /// The previous service.
    previous: Option<Service>,
    /// Number of services so far.
    services: u64,
    /// The LLDU after the last one that was used correctly.
    unused: u64,
    /// Bytes used in the last LLDU of the previous packet, or 1 if packets do not share LLDUs.
    filled: u64,
    /// The orders that the queue keeps.
    fifo: Fifo,
    /// First arrival among the packets that still waited for service at the end of the run.
    waiting: Option<Waiting>,
    /// Lines of packets on their way at the end of the run, and when they would have arrived.
    open: Vec<(u64, Time)>,
    /// Per flow, or under 0 for the whole link: the latest delivery, or the line of an open packet that blocks it.
    latest_in_order: BTreeMap<u64, Result<Time, u64>>,
    /// The keys of the map above with a packet after the latest delivery that was not delivered.
    lost_before: BTreeSet<u64>,
    /// The latest delivery with `--overlap shift`.
    latest: Option<Time>,
}

impl<'t> Server<'t> {
    /// `order` is that of the queue, with the classes of the flows.
    pub(super) fn new(
        head: &Head,
        (order, classes): (Order, Vec<u64>),
        timeline: Option<Cursor<'t>>,
        listed: Option<Listed>,
    ) -> Self {
        Self {
            fifo: Fifo::new(order, classes, head.shows_turns()),
            head: *head,
            timeline,
            listed,
            ..Self::default()
        }
    }

    /// Entries that are kept for packets that arrived together.
    #[cfg(test)]
    pub(super) fn tied(&self) -> usize {
        self.fifo.tied()
    }

    /// Processes the log's next row; `sent` is the latest of the log, so that no earlier service can follow. `toward` is
    /// the time from the row's sender to the gateway.
    pub(super) fn on_row(
        &mut self,
        row: Row,
        sent: Time,
        toward: Span,
        tally: &mut RuleTally,
    ) -> tmt_core::Result<()> {
        let Some(enqueued) = row.enqueued else {
            let reaches = row.sent.saturating_add(toward);
            self.open.push((row.line, reaches));
            return Ok(());
        };
        let offered = row.offered.unwrap_or(enqueued);
        if let Some(service) = row.service {
            let turn = (
                service.start,
                service.first,
                service.last,
                self.fifo.turn(&row),
                offered,
                row.line,
            );
            let served = Served {
                row,
                enqueued: offered,
                service,
            };
            self.ahead.insert(turn, served);
        } else if row.fate == Fate::Open {
            let arrived = (offered, row.line, row.kept_in_order_with());
            self.fifo.waits(&row, arrived);
            let arrived = (arrived, row.size);
            self.waiting = Some(self.waiting.map_or(arrived, |first| first.min(arrived)));
        }
        while let Some(first) = self.ahead.first_entry()
            && first.key().0 < sent
        {
            let served = first.remove();
            self.on_service(&served, tally)?;
        }
        Ok(())
    }

    /// Replays all remaining services at the end of the log; `latest` is the last event of the log.
    ///
    /// The run may have ended before the time in the head, if all its flows were complete.
    pub(super) fn finish(mut self, latest: Time, tally: &mut RuleTally) -> tmt_core::Result<()> {
        while let Some((_, served)) = self.ahead.pop_first() {
            self.on_service(&served, tally)?;
        }
        // A packet that is open cannot have arrived before the last event.
        let found = format_args!("open, although the run lasted until {latest}");
        for &(line, arrives) in &self.open {
            let expected = format_args!("a fate by {arrives}");
            let mut early = tally.at(Rule::Early, line);
            early.check(arrives >= latest, found, expected);
        }
        self.check_waiting(latest, tally)
    }

    fn on_service(&mut self, served: &Served, tally: &mut RuleTally) -> tmt_core::Result<()> {
        let taken = self.at_head(served.enqueued);
        let times = (served.enqueued, served.service.start, taken);
        self.fifo.check(&served.row, times, tally);
        let has_own_time = self.check_in_order(&served.row, tally);
        match self.head.link {
            Link::Synthetic => self.check_rate(served, tally),
            Link::Coupled => {
                self.check_slots(served, tally);
                self.check_leaving(served, has_own_time, tally);
            }
            Link::Timeline => self.check_lldus(served, tally)?,
        }
        self.previous = Some(served.service);
        self.services += 1;
        Ok(())
    }

    /// Time at which a packet that was enqueued at `enqueued` is at the head of the queue and the link is free.
    fn at_head(&self, enqueued: Time) -> Time {
        let free = self.previous.map_or(Time::ZERO, |previous| previous.end);
        free.max(enqueued)
    }

    /// Checks in-order delivery, if the head says so: after all earlier packets, and not while one of them is open.
    ///
    /// Returns whether a delivery did not wait for an earlier packet.
    fn check_in_order(&mut self, row: &Row, tally: &mut RuleTally) -> bool {
        let Some(in_order) = self.head.in_order else {
            return true;
        };
        let scope = in_order.scope(row.flow);
        let latest = self.latest_in_order.entry(scope).or_insert(Ok(Time::ZERO));
        if let Some(at) = row.delivered {
            let expected = match *latest {
                Ok(before) if at >= before => None,
                Ok(before) => Some(format!("not before {before}, an earlier packet's delivery")),
                Err(line) => Some(format!("no delivery while the earlier line {line} is open")),
            };
            let mut fifo = tally.at(Rule::Fifo, row.line);
            fifo.record(format_args!("delivered {at}"), expected);
            let follows_loss = self.lost_before.remove(&scope);
            let has_own_time = !follows_loss && latest.is_ok_and(|before| at > before);
            *latest = latest.map(|before| before.max(at));
            return has_own_time;
        }
        self.lost_before.insert(scope);
        if row.fate == Fate::Open && !self.head.keeps {
            // If the gateway waits for feedback, a loss that it does not know yet is logged as open.
            *latest = latest.and(Err(row.line));
        }
        false
    }

    /// Checks a service of a synthetic link: services are numbered 0, 1, 2 …, begin as soon as possible and take the
    /// time that follows from the rate.
    fn check_rate(&mut self, served: &Served, tally: &mut RuleTally) {
        let Service { first, last, .. } = served.service;
        let next = self.services;
        let found = format_args!("services {first} to {last}");
        let expected = format_args!("service {next}");
        let mut slots = tally.at(Rule::Slots, served.row.line);
        slots.check([first, last] == [next; 2], found, expected);
        if let Some((at, is_lost)) = self.listed.as_mut().map(Listed::next) {
            let (found, expected) = if is_lost {
                ("delivered", "a loss, as 'loss' of the head lists it")
            } else {
                ("lost", "a delivery, as 'loss' of the head does not list it")
            };
            // The run may have ended before its fate.
            let against = if is_lost { Fate::Delivered } else { Fate::Link };
            let found = format_args!("service {at} {found}");
            slots.check(served.row.fate != against, found, expected);
        }
        let Service { start, end, .. } = served.service;
        let mut early = tally.at(Rule::Early, served.row.line);
        let why = ", when it reached the head of the queue";
        early.exactly("service_start", start, self.at_head(served.enqueued), why);
        let times = self.head.service_time(served.row.size);
        let ends = times.map(|span| start.saturating_add(span));
        let found = format_args!("service_end {end}");
        let expected = format_args!("{} or {}", ends[0], ends[1]);
        early.check(ends.contains(&end), found, expected);
        self.check_arrival(&served.row, end.saturating_add(self.head.forward), tally);
    }

    /// Checks that a delivery is at least the propagation and 1 ns of decoding after `sent`.
    fn check_earliest(&self, row: &Row, sent: Time, tally: &mut RuleTally) {
        if let Some(at) = row.delivered {
            let decoding = Span::from_nanos(1).unwrap_or(Span::ZERO);
            let earliest = sent.saturating_add(self.head.forward.saturating_add(decoding));
            let mut early = tally.at(Rule::Early, row.line);
            early.not_before("delivered", at, earliest, "");
        }
    }

    /// Checks that a transmission that reaches the receiver at `arrives` is delivered then, unless the run ended first.
    fn check_arrival(&mut self, row: &Row, arrives: Time, tally: &mut RuleTally) {
        if let Some(at) = row.delivered {
            let mut early = tally.at(Rule::Early, row.line);
            early.exactly("delivered", at, arrives, "");
        } else if row.fate == Fate::Open {
            self.open.push((row.line, arrives));
        }
    }

    /// Checks that no packet waits while the link is free: a packet that was never served could not have been served
    /// before `latest`.
    fn check_waiting(&mut self, latest: Time, tally: &mut RuleTally) -> tmt_core::Result<()> {
        let Some(((enqueued, line, _), size)) = self.waiting else {
            return Ok(());
        };
        let at_head = self.at_head(enqueued);
        let whole_service = match (self.head.link, &mut self.timeline) {
            (Link::Synthetic, _) => {
                let [_, longest] = self.head.service_time(size);
                Some((at_head, at_head.saturating_add(longest)))
            }
            (Link::Timeline, Some(timeline)) => {
                let (need, room) = self.head.lldus(size);
                timeline.next_from(at_head, need, (self.filled % room, room))?
            }
            (Link::Coupled, _) | (Link::Timeline, None) => return Ok(()),
        };
        let could = whole_service
            .filter(|&(_, end)| end < latest)
            .map(|(start, end)| format!("service {start} to {end}, when the link was free"));
        tally.at(Rule::Early, line).record("no service", could);
        Ok(())
    }
}

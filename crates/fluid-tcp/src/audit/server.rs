//! The link in the order in which it served packets: rules `fifo`, `slots` and `early`. What the
//! last two ask of each kind of link is in a file of its own.
//!
//! For hackers: rows come in order of sending. No packet is served before it is sent, so a row has
//! its turn when one sent after its service began has been read.

mod on_coupled;
mod on_synthetic;
mod on_timeline;

use std::collections::BTreeMap;
use tmt_core::types::{Span, Time};

use super::finding::Finding;
use super::head::{Head, Lane, Link};
use super::report::{Rule, RuleTally};
use super::row::{Fate, Row, Service};
use super::timeline::Cursor;

/// A copy that reached the queue; the first to do so is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Arrived {
    enqueued: Time,
    line: u64,
    flow: u64,
}

/// A copy that was served.
#[derive(Debug, Clone, Copy)]
struct Served {
    arrived: Arrived,
    line: u64,
    service: Service,
    fate: Fate,
}

/// The link, replayed.
pub(super) struct Server<'t> {
    head: Head,
    timeline: Option<Cursor<'t>>,
    /// Rows whose turn has not come, by (service start, first LLDU, line).
    ahead: BTreeMap<(Time, u64, u64), Served>,
    /// The service before.
    previous: Option<Service>,
    /// Services so far.
    services: u64,
    /// The LLDU behind the last one that was rightly used.
    unused: u64,
    /// Latest time at which a served packet was enqueued.
    enqueued: Time,
    /// The latest line of each flow among those enqueued and served at that time.
    tied: BTreeMap<u64, u64>,
    /// The first of those that waited for their service until the run ended.
    waiting: Option<Arrived>,
    /// Lines of those served and left open, and when they would have arrived.
    open: Vec<(u64, Time)>,
    /// By flow, or under 0 for the link: the latest delivery, or the line that stands in its way for good.
    lanes: BTreeMap<u64, Result<Time, u64>>,
    /// The latest delivery, where deliveries are moved apart.
    latest: Option<Time>,
}

impl<'t> Server<'t> {
    pub(super) fn new(head: Head, timeline: Option<Cursor<'t>>) -> Self {
        Self {
            head,
            timeline,
            ahead: BTreeMap::new(),
            previous: None,
            services: 0,
            unused: 0,
            enqueued: Time::ZERO,
            tied: BTreeMap::new(),
            waiting: None,
            open: Vec::new(),
            lanes: BTreeMap::new(),
            latest: None,
        }
    }

    /// Takes the log's next row; `sent` is the latest of the log, before which no service begins any more.
    pub(super) fn on_row(
        &mut self,
        row: &Row,
        sent: Time,
        tally: &mut RuleTally,
    ) -> tmt_core::Result<()> {
        let &Row {
            line, flow, fate, ..
        } = row;
        let Some(enqueued) = row.enqueued else {
            let reaches = row.sent.saturating_add(self.head.toward);
            self.open.push((line, reaches));
            return Ok(());
        };
        let arrived = Arrived {
            enqueued,
            line,
            flow,
        };
        if let Some(service) = fate.service() {
            let served = Served {
                arrived,
                line,
                service,
                fate,
            };
            let turn = (service.start, service.first, line);
            self.ahead.insert(turn, served);
        } else if matches!(fate, Fate::Open { .. }) {
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

    /// Replays what is left when the log has ended; `latest` is the last event that it tells.
    ///
    /// The head says when the run had to end; it may have ended sooner, all its flows being done.
    pub(super) fn finish(mut self, latest: Time, tally: &mut RuleTally) -> tmt_core::Result<()> {
        while let Some((_, served)) = self.ahead.pop_first() {
            self.on_service(&served, tally)?;
        }
        self.check_open(latest, tally);
        self.check_waiting(latest, tally)
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.ahead.len() + self.tied.len()
    }

    fn on_service(&mut self, served: &Served, tally: &mut RuleTally) -> tmt_core::Result<()> {
        self.check_fifo(served, tally);
        self.check_lane(served, tally);
        let at_head = self.at_head(served.arrived.enqueued);
        match self.head.link {
            Link::Synthetic { service } => {
                self.check_ordinal(served, tally);
                self.check_rate(served, at_head, service, tally);
            }
            Link::Coupled {
                units_per_packet,
                interleave,
            } => {
                self.check_slots(served, units_per_packet, interleave, tally);
                self.check_order(served, tally);
            }
            Link::Timeline { lldus_per_packet } => {
                let slots_hold = self.check_lldus(served, lldus_per_packet, tally);
                self.check_bounds(served, at_head, tally);
                self.check_apart(served, tally);
                if slots_hold {
                    self.check_stretch(served, at_head, tally)?;
                    self.unused = served.service.last + 1;
                }
            }
        }
        self.previous = Some(served.service);
        self.services += 1;
        Ok(())
    }

    /// When a packet that reached the queue at `enqueued` is next to be served.
    fn at_head(&self, enqueued: Time) -> Time {
        self.previous
            .map_or(enqueued, |previous| previous.end.max(enqueued))
    }

    /// Where the head says so, a packet is delivered after those in front of it, and not while one of them is open.
    fn check_lane(&mut self, served: &Served, tally: &mut RuleTally) {
        let lane = match self.head.in_order {
            None => return,
            Some(Lane::Link) => 0,
            Some(Lane::Flow) => served.arrived.flow,
        };
        let latest = self.lanes.entry(lane).or_insert(Ok(Time::ZERO));
        match (served.fate, *latest) {
            (Fate::Delivered { at, .. }, before) => {
                let holds = before.is_ok_and(|before| at >= before);
                tally.check(Rule::Fifo, served.line, holds, || {
                    let expected = match before {
                        Ok(before) => format!("not before one in front of it, {before}"),
                        Err(line) => format!("no delivery, as line {line} in front of it is open"),
                    };
                    Finding::new(format!("delivered {at}"), expected)
                });
                *latest = before.map(|before| before.max(at));
            }
            // Where the gateway waits for feedback, a loss of which it does not know yet stands as open.
            (Fate::Open { .. }, Ok(_)) if !self.head.keeps => *latest = Err(served.line),
            _ => {}
        }
    }

    fn check_fifo(&mut self, served: &Served, tally: &mut RuleTally) {
        let Arrived {
            enqueued,
            line,
            flow,
        } = served.arrived;
        let mut fifo = tally.at(Rule::Fifo, line);
        let found = || format!("served {} though enqueued {enqueued}", served.service.start);
        // Two flows may reach the queue at one instant in any order; one flow's packets stay in order.
        let tied = self.tied.get(&flow).copied();
        let overtaken = tied.filter(|before| *before > line);
        let in_order = enqueued > self.enqueued || enqueued == self.enqueued && overtaken.is_none();
        fifo.check(in_order, || {
            let before = match overtaken {
                None => format!("that was enqueued {}", self.enqueued),
                Some(before) => format!("of line {before}, which its flow sent later"),
            };
            Finding::new(found(), format!("service before the packet {before}"))
        });
        if enqueued > self.enqueued {
            self.enqueued = enqueued;
            self.tied.clear();
        }
        if enqueued == self.enqueued {
            let latest = self.tied.entry(flow).or_insert(line);
            *latest = line.max(*latest);
        }
        let passed_over = self.waiting.filter(|first| {
            first.enqueued < enqueued
                || first.enqueued == enqueued && first.flow == flow && first.line < line
        });
        fifo.check(passed_over.is_none(), || {
            let expected = passed_over.map(|Arrived { line, enqueued, .. }| {
                format!("no service, as line {line} enqueued {enqueued} still waits")
            });
            Finding::new(found(), expected.unwrap_or_default())
        });
    }

    /// No delivery before propagation and 1 ns of decoding after `sent`.
    fn check_earliest(&self, served: &Served, sent: Time, tally: &mut RuleTally) {
        if let Some(at) = served.fate.delivered() {
            let decoding = Span::from_nanos(1).unwrap_or(Span::ZERO);
            let earliest = sent.saturating_add(self.head.forward.saturating_add(decoding));
            let mut early = tally.at(Rule::Early, served.line);
            early.not_before("delivered", at, earliest, "");
        }
    }

    /// A copy that reaches the receiver at `arrives` is delivered then, unless the run ended first.
    fn check_arrival(&mut self, served: &Served, arrives: Time, tally: &mut RuleTally) {
        match served.fate {
            Fate::Delivered { at, .. } => {
                let mut early = tally.at(Rule::Early, served.line);
                early.exactly("delivered", at, arrives, "");
            }
            Fate::Open { .. } => self.open.push((served.line, arrives)),
            Fate::LostOnLink { .. } | Fate::DroppedAtQueue | Fate::Duplicate => {}
        }
    }

    /// What is left open cannot have been settled before `latest`, the last event that the log tells.
    fn check_open(&self, latest: Time, tally: &mut RuleTally) {
        for &(line, arrives) in &self.open {
            tally.check(Rule::Early, line, arrives >= latest, || {
                let found = format!("open, though the run went on until {latest}");
                Finding::new(found, format!("a fate by {arrives}"))
            });
        }
    }

    /// Nobody waits beside a free link: what was never served cannot have been before `latest`.
    fn check_waiting(&mut self, latest: Time, tally: &mut RuleTally) -> tmt_core::Result<()> {
        let Some(Arrived { line, enqueued, .. }) = self.waiting else {
            return Ok(());
        };
        let at_head = self.at_head(enqueued);
        let whole_service = match (self.head.link, &mut self.timeline) {
            (Link::Synthetic { service }, _) => {
                Some((at_head, at_head.saturating_add(service.ceil)))
            }
            (Link::Timeline { lldus_per_packet }, Some(timeline)) => timeline
                .next_from(at_head, lldus_per_packet)?
                .map(|stretch| (stretch.start, stretch.end)),
            (Link::Coupled { .. }, _) | (Link::Timeline { .. }, None) => return Ok(()),
        };
        let could = whole_service.filter(|&(_, end)| end < latest);
        tally.check(Rule::Early, line, could.is_none(), || {
            let expected = could
                .map(|(start, end)| format!("service {start} to {end}, when the link was free"));
            Finding::new("no service", expected.unwrap_or_default())
        });
        Ok(())
    }
}

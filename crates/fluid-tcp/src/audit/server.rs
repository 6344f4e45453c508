//! The link in the order in which it served packets: rules `slots` and `fifo`, and the times of
//! rule `early` that need no timeline. What a timeline can tell besides is in `on_timeline`.
//!
//! For hackers: rows come in order of sending. No packet is served before it is sent, so a row has
//! its turn when one sent after its service began has been read.

mod on_timeline;

use std::collections::BTreeMap;
use std::io::Read;

use tmt_core::Result;
use tmt_core::units::Time;

use super::head::{Head, Link, ServiceTime};
use super::refusal::Refusal;
use super::report::{Ledger, Rule};
use super::row::{Fate, Row, Service};
use super::timeline::Cursor;

/// A copy that was served.
#[derive(Debug, Clone, Copy)]
struct Served {
    line: u64,
    flow: u64,
    enqueued: Time,
    service: Service,
    fate: Fate,
}

/// A copy that waited for its service until the run ended.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    line: u64,
    flow: u64,
    enqueued: Time,
}

/// The link, replayed.
pub(super) struct Server<T> {
    head: Head,
    timeline: Option<Cursor<T>>,
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
    /// The first of those never served.
    waiting: Option<Waiting>,
}

impl<T: Read> Server<T> {
    pub(super) fn new(head: Head, timeline: Option<Cursor<T>>) -> Self {
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
        }
    }

    /// Takes the log's next row; `sent` is the latest of the log, before which no service begins any more.
    pub(super) fn on_row(&mut self, row: &Row, sent: Time, ledger: &mut Ledger) -> Result<()> {
        let &Row {
            line,
            flow,
            enqueued,
            fate,
            ..
        } = row;
        if let Some(service) = fate.service() {
            self.ahead.insert(
                (service.start, service.first, line),
                Served {
                    line,
                    flow,
                    enqueued,
                    service,
                    fate,
                },
            );
        } else if matches!(fate, Fate::Open { .. })
            && self
                .waiting
                .is_none_or(|first| (enqueued, line) < (first.enqueued, first.line))
        {
            self.waiting = Some(Waiting {
                line,
                flow,
                enqueued,
            });
        }
        while let Some(first) = self.ahead.first_entry()
            && first.key().0 < sent
        {
            let served = first.remove();
            self.on_service(&served, ledger)?;
        }
        Ok(())
    }

    /// Replays what is left when the log has ended.
    pub(super) fn finish(mut self, ledger: &mut Ledger) -> Result<()> {
        while let Some((_, served)) = self.ahead.pop_first() {
            self.on_service(&served, ledger)?;
        }
        self.check_waiting(ledger)
    }

    /// Packets kept.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        self.ahead.len() + self.tied.len()
    }

    fn on_service(&mut self, served: &Served, ledger: &mut Ledger) -> Result<()> {
        self.check_fifo(served, ledger);
        let at_head = self.at_head(served.enqueued);
        match self.head.link {
            Link::Synthetic { service } => {
                self.check_ordinal(served, ledger);
                check_rate(served, at_head, service, &self.head, ledger);
            }
            Link::Timeline { lldus_per_packet } => {
                let slots_hold = self.check_lldus(served, lldus_per_packet, ledger);
                on_timeline::check_bounds(served, at_head, &self.head, ledger);
                if slots_hold {
                    self.check_stretch(served, at_head, ledger)?;
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

    fn check_fifo(&mut self, served: &Served, ledger: &mut Ledger) {
        let &Served {
            line,
            flow,
            enqueued,
            ..
        } = served;
        // Two flows may reach the queue at one instant in any order; one flow's packets stay in order.
        let overtaken = self
            .tied
            .get(&flow)
            .copied()
            .filter(|&before| before > line);
        let in_order = enqueued > self.enqueued || enqueued == self.enqueued && overtaken.is_none();
        ledger.check(Rule::Fifo, line, in_order, || {
            let found = format!("served {} though enqueued {enqueued}", served.service.start);
            let expected = overtaken.map_or_else(
                || {
                    format!(
                        "service before the packet that was enqueued {}",
                        self.enqueued
                    )
                },
                |before| {
                    format!("service before the packet of line {before}, which its flow sent later")
                },
            );
            Refusal::new(found, expected)
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
        ledger.check(Rule::Fifo, line, passed_over.is_none(), || {
            let expected = passed_over.map(|first| {
                format!(
                    "no service, as line {} enqueued {} still waits",
                    first.line, first.enqueued
                )
            });
            let found = format!("served {} though enqueued {enqueued}", served.service.start);
            Refusal::new(found, expected.unwrap_or_default())
        });
    }

    /// Synthetic link: services are numbered 0, 1, 2 …
    fn check_ordinal(&self, served: &Served, ledger: &mut Ledger) {
        let Service { first, last, .. } = served.service;
        ledger.check(
            Rule::Slots,
            served.line,
            (first, last) == (self.services, self.services),
            || {
                Refusal::new(
                    format!("services {first} to {last}"),
                    format!("service {}", self.services),
                )
            },
        );
    }

    /// Timeline: LLDUs of the right number, none of them used before.
    fn check_lldus(&self, served: &Served, lldus: u64, ledger: &mut Ledger) -> bool {
        let Service { first, last, .. } = served.service;
        let found = || format!("LLDUs {first} to {last}");
        let whole = last >= first && last - first == lldus - 1;
        let whole = ledger.check(Rule::Slots, served.line, whole, || {
            Refusal::new(found(), format!("{lldus} LLDUs"))
        });
        let unused = ledger.check(Rule::Slots, served.line, first >= self.unused, || {
            Refusal::new(
                found(),
                format!(
                    "none below {}, which packets served before used",
                    self.unused
                ),
            )
        });
        whole && unused
    }

    /// Nobody waits beside a free link: what was never served could not have been.
    fn check_waiting(&mut self, ledger: &mut Ledger) -> Result<()> {
        let Some(Waiting { line, enqueued, .. }) = self.waiting else {
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
            (Link::Timeline { .. }, None) => return Ok(()),
        };
        let could = whole_service.filter(|&(_, end)| end < self.head.run_ends);
        ledger.check(Rule::Early, line, could.is_none(), || {
            let expected = could
                .map(|(start, end)| format!("service {start} to {end}, when the link was free"));
            Refusal::new("no service", expected.unwrap_or_default())
        });
        Ok(())
    }
}

/// Synthetic link: a packet is served as soon as it can be, at the link's rate, and arrives.
fn check_rate(
    served: &Served,
    at_head: Time,
    exact: ServiceTime,
    head: &Head,
    ledger: &mut Ledger,
) {
    let Service { start, end, .. } = served.service;
    ledger.check(Rule::Early, served.line, start == at_head, || {
        Refusal::new(
            format!("service_start {start}"),
            format!("{at_head}, when it reached the head of the queue"),
        )
    });
    let ends = [exact.floor, exact.ceil].map(|span| start.saturating_add(span));
    ledger.check(Rule::Early, served.line, ends.contains(&end), || {
        Refusal::new(
            format!("service_end {end}"),
            format!("{} or {}", ends[0], ends[1]),
        )
    });
    let arrives = end.saturating_add(head.forward);
    check_arrival(served, arrives, head, ledger);
}

/// A copy that reaches the receiver at `arrives` is delivered then, unless the run ended or it was lost.
fn check_arrival(served: &Served, arrives: Time, head: &Head, ledger: &mut Ledger) {
    match served.fate {
        Fate::Delivered { at, .. } => ledger.check(Rule::Early, served.line, at == arrives, || {
            Refusal::new(format!("delivered {at}"), format!("{arrives}"))
        }),
        Fate::Open { .. } => {
            ledger.check(Rule::Early, served.line, arrives >= head.run_ends, || {
                let found = format!("open, though the run went on until {}", head.run_ends);
                Refusal::new(found, format!("a fate by {arrives}"))
            })
        }
        Fate::LostOnLink { .. } | Fate::DroppedAtQueue => true,
    };
}

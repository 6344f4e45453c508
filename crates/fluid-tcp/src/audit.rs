//! The independent auditor of packet logs: `tmt audit` (tcp.md §6).
//!
//! It reads what `tmt tcp --packets` wrote and shares no code with the simulator that wrote it: the
//! log is text again, every number is parsed again, and the queue, the link and the endpoints are
//! replayed from the log's own times. All times are integer nanoseconds.
//!
//! | module | holds | rules |
//! |---|---|---|
//! | `reader`, `fields`, `head`, `row` | text to values | `form` |
//! | `packet_lifecycle` | one row | `form`, `story`, `queue`, `parts` |
//! | `flow` | one flow's copies and ACKs | `causality`, `acked` |
//! | `queue` | packets by the time they were enqueued | `queue` |
//! | `server`, `timeline` | packets by the time they were served | `slots`, `fifo`, `early` |
//! | `slots` | the used slots of a coupled link, each with its packet | `slots`, `early`, `story`, `repeats` |
//!
//! Logs and timeline are streams, read once. Kept is what is under way: packets in the queue, and per
//! flow the packets until a row sent after their ACK has come. A packet that is never acknowledged
//! stays, and so do those of its flow behind it.
//!
//! Not covered, because a log does not tell it: which slots of a coupled link repeats took and whether they went
//! first, unless there is a slot log; where a timeline repeated by `--loop` was, a run whose times do
//! not count from the timeline's zero, and drops by `CoDel`.

mod fields;
mod finding;
mod flow;
mod head;
mod packet_lifecycle;
mod queue;
mod reader;
mod report;
mod row;
mod server;
mod slots;
#[cfg(test)]
mod tests;
mod timeline;
mod totals;

use std::collections::BTreeMap;
use std::io::{self, Read};

use tmt_core::format::TraceReader;
use tmt_core::types::{Metadata, Time};

pub use report::{AuditReport, Log, RuleReport, VIOLATIONS_SHOWN, Violation};
pub use totals::{Counts, FlowTotals, Totals};

use flow::Flow;
use head::{Head, Link};
use queue::Queue;
use reader::LogReader;
use report::{Rule, RuleTally};
use row::Row;
use server::Server;
use slots::Slots;
use timeline::Cursor;

/// Why an audit could not be made; a log that breaks rules is no error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] io::Error),
    /// The timeline could not be read, or is none.
    #[error(transparent)]
    Timeline(#[from] tmt_core::Error),
    /// The slot log could not be read.
    #[error(transparent)]
    Slots(io::Error),
    /// A slot log beside a log of a link that is not coupled.
    #[error("found a slot log beside a log of a link that is not coupled, expected the log alone")]
    NeedlessSlots,
    /// A timeline beside a log of a synthetic or coupled link, which has none.
    #[error("found a timeline beside a log of a link that has none, expected the log alone")]
    NeedlessTimeline,
    /// A timeline beside a log of a run that went through it more than once.
    #[error(
        "found a timeline beside a log of a run that went through it more than once, expected the log alone"
    )]
    LoopedTimeline,
}

/// Audits a packet log, and holds it against the timeline it ran on where one is given.
///
/// `timeline` is the text of a link-layer timeline in seconds (link-layer.md §8), read as far as the
/// log needs it. Without it the rules `early` and `slots` use what the log tells alone. The report
/// depends on the bytes of both only, not on how they are cut into reads.
///
/// A row that cannot be read breaks the rule `form` and is left out of the others, where it may be
/// missed; a log without a usable head or header gets no further than `form`.
///
/// # Errors
/// An input that cannot be read, a timeline that is none, or one beside a log that cannot be held against it.
pub fn audit<R: Read>(
    log: R,
    timeline: Option<TraceReader<'_>>,
) -> Result<AuditReport, AuditError> {
    audit_all(log, timeline, None)
}

/// Audits the packet log of a coupled link beside its slot log (`tmt tcp --slots`).
///
/// # Errors
/// A log that cannot be read, or one of another link.
pub fn audit_with_slots<R: Read, S: Read>(log: R, slots: S) -> Result<AuditReport, AuditError> {
    audit_all(log, None, Some(Box::new(slots)))
}

fn audit_all<'t, R: Read>(
    log: R,
    timeline: Option<TraceReader<'t>>,
    slots: Option<Box<dyn Read + 't>>,
) -> Result<AuditReport, AuditError> {
    let mut tally = RuleTally::new(slots.is_some());
    let log = LogReader::new(Log::Packets, log);
    match Auditor::open(log, timeline, slots, &mut tally)? {
        Some(auditor) => auditor.run(tally),
        None => Ok(tally.into_report(Totals::default())),
    }
}

/// The audit under way: hands each row to the parts that replay it.
struct Auditor<'t, R> {
    log: LogReader<R>,
    head: Head,
    /// The latest time of sending.
    sent: Time,
    /// The latest event, up to which the run must have gone on.
    latest: Time,
    counts: Counts,
    flows: BTreeMap<u64, Flow>,
    queue: Queue,
    server: Server<'t>,
    slots: Option<Slots<'t>>,
}

impl<'t, R: Read> Auditor<'t, R> {
    /// Reads the heads; `None` where that of the packet log leaves nothing to audit by.
    fn open(
        mut log: LogReader<R>,
        timeline: Option<TraceReader<'t>>,
        slots: Option<Box<dyn Read + 't>>,
        tally: &mut RuleTally,
    ) -> Result<Option<Self>, AuditError> {
        let of = |metadata: &Metadata| Head::of(metadata, "packets");
        let Some(head) = log.head(row::HEADER, tally, of)? else {
            return Ok(None);
        };
        match head.link {
            Link::Timeline { .. } if timeline.is_some() && head.looped => {
                return Err(AuditError::LoopedTimeline);
            }
            Link::Synthetic { .. } | Link::Coupled { .. } if timeline.is_some() => {
                return Err(AuditError::NeedlessTimeline);
            }
            Link::Synthetic { .. } | Link::Timeline { .. } if slots.is_some() => {
                return Err(AuditError::NeedlessSlots);
            }
            _ => {}
        }
        let timeline = timeline.map(Cursor::new).transpose()?;
        let slots = slots.map(|slots| Slots::open(slots, head, tally));
        let slots = slots.transpose().map_err(AuditError::Slots)?;
        Ok(Some(Self {
            log,
            head,
            sent: Time::ZERO,
            latest: Time::ZERO,
            counts: Counts::default(),
            flows: BTreeMap::new(),
            queue: Queue::new(&head),
            server: Server::new(head, timeline),
            slots: slots.flatten(),
        }))
    }

    /// Audits all rows and what the end of the log leaves.
    fn run(mut self, mut tally: RuleTally) -> Result<AuditReport, AuditError> {
        while self.log.next_row(&mut tally)? {
            self.on_row(&mut tally)?;
        }
        if let Some(slots) = self.slots {
            let finished = slots.finish(self.latest, &mut tally);
            finished.map_err(AuditError::Slots)?;
        }
        if !self.log.ended {
            self.log.check_end(&mut tally);
        }
        let flows = self.flows.into_iter().map(|(flow, state)| {
            let counts = state.finish(&self.head, &mut tally);
            FlowTotals { flow, counts }
        });
        let totals = Totals::of(flows.collect(), self.counts);
        self.queue.finish(&mut tally);
        self.server.finish(self.latest, &mut tally)?;
        Ok(tally.into_report(totals))
    }

    /// Takes the row that has been read, after the slots sent before it.
    fn on_row(&mut self, tally: &mut RuleTally) -> Result<(), AuditError> {
        let line = self.log.location.line;
        let fields = self.log.fields();
        let row = fields.and_then(|fields| Row::parse(fields, line, self.head.flows));
        if let (Ok(row), Some(slots)) = (&row, &mut self.slots) {
            let read = slots.until(Some(row.sent), tally);
            read.map_err(AuditError::Slots)?;
        }
        let mut form = tally.at(Rule::Form, line);
        let Some(row) = form.take(row) else {
            return Ok(());
        };
        let why = ", when the row in front was sent";
        form.not_before("sent", row.sent, self.sent, why);
        self.sent = self.sent.max(row.sent);
        let events = [Some(row.sent), row.delivered, row.acked];
        self.latest = events.into_iter().flatten().fold(self.latest, Time::max);
        self.counts.on_row(&row);
        packet_lifecycle::check(&row, &self.head, tally);

        let flow = self.flows.entry(row.flow).or_default();
        flow.on_row(&row, self.sent, &self.head, tally);
        self.queue.on_row(&row, self.sent, tally);
        if let Some(slots) = &mut self.slots {
            slots.on_row(row);
        }
        Ok(self.server.on_row(row, self.sent, tally)?)
    }
}

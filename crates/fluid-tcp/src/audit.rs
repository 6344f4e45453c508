//! The independent auditor of packet logs: `tmt audit` (tcp.md §6).
//!
//! It reads what `tmt tcp --packets` wrote and shares no code with the simulator that wrote it: the
//! log is text again, every number is parsed again, and the queue, the link and the endpoints are
//! replayed from the log's own times. All times are integer nanoseconds.
//!
//! | module | holds | rules |
//! |---|---|---|
//! | `lines`, `head`, `row` | text to values | `form` |
//! | `story`, `parts` | one row | `form`, `story`, `parts` |
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

mod flow;
mod head;
mod lines;
mod parts;
mod queue;
mod refusal;
mod report;
mod row;
mod server;
mod slots;
mod story;
#[cfg(test)]
mod tests;
mod timeline;
mod totals;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use tmt_core::format::TraceReader;
use tmt_core::types::Time;

pub use report::{AuditReport, Log, RuleReport, VIOLATIONS_SHOWN, Violation};
pub use totals::{Counts, FlowTotals, Totals};

use flow::Flow;
use head::{Head, Link};
use lines::{Line, Lines};
use queue::Queue;
use refusal::{Refusal, shown};
use report::{Ledger, Rule};
use row::Row;
use server::Server;
use slots::Slots;
use timeline::Cursor;

/// Why an audit could not be made; a log that breaks rules is no error.
#[derive(Debug)]
#[non_exhaustive]
pub enum AuditError {
    /// The log could not be read.
    Log(io::Error),
    /// The timeline could not be read, or is none.
    Timeline(tmt_core::Error),
    /// The slot log could not be read.
    Slots(io::Error),
    /// A slot log beside a log of a link that is not coupled.
    NeedlessSlots,
    /// A timeline beside a log of a synthetic or coupled link, which has none.
    NeedlessTimeline,
    /// A timeline beside a log of a run that went through it more than once.
    LoopedTimeline,
}

impl fmt::Display for AuditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) | Self::Slots(error) => write!(f, "{error}"),
            Self::NeedlessSlots => f.write_str(
                "found a slot log beside a log of a link that is not coupled, expected the log alone",
            ),
            Self::Timeline(error) => write!(f, "{error}"),
            Self::NeedlessTimeline => f.write_str(
                "found a timeline beside a log of a link that has none, expected the log alone",
            ),
            Self::LoopedTimeline => f.write_str(
                "found a timeline beside a log of a run with --loop, expected the log alone",
            ),
        }
    }
}

impl std::error::Error for AuditError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        // What is wrapped is already printed; only what stands behind it is passed on.
        match self {
            Self::Log(error) | Self::Slots(error) => error.source(),
            Self::Timeline(error) => error.source(),
            Self::NeedlessSlots | Self::NeedlessTimeline | Self::LoopedTimeline => None,
        }
    }
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

fn audit_all<R: Read>(
    log: R,
    timeline: Option<TraceReader<'_>>,
    slots: Option<Box<dyn Read + '_>>,
) -> Result<AuditReport, AuditError> {
    let mut ledger = Ledger::new(slots.is_some());
    let mut log = Lines::new(log);
    let Some(head) = head::read(&mut log, &mut ledger).map_err(AuditError::Log)? else {
        return Ok(ledger.into_report(Totals::default()));
    };
    if timeline.is_some() && !matches!(head.link, Link::Timeline { .. }) {
        return Err(AuditError::NeedlessTimeline);
    }
    if timeline.is_some() && head.looped {
        return Err(AuditError::LoopedTimeline);
    }
    let timeline = timeline
        .map(Cursor::new)
        .transpose()
        .map_err(AuditError::Timeline)?;
    if slots.is_some() && !matches!(head.link, Link::Coupled { .. }) {
        return Err(AuditError::NeedlessSlots);
    }
    let slots = slots
        .map(|slots| Slots::open(slots, &head, &mut ledger))
        .transpose()
        .map_err(AuditError::Slots)?;
    let mut auditor = Auditor::new(head, timeline, ledger);
    auditor.slots = slots.flatten();
    while let Some((number, line)) = log.next().map_err(AuditError::Log)? {
        match line {
            Line::Comment(text) => auditor.on_comment(&text, number),
            Line::Fields(fields) => {
                let row = Row::parse(fields, head.columns, number, head.flows);
                auditor.slots_before(&row).map_err(AuditError::Slots)?;
                auditor
                    .on_fields(row, number)
                    .map_err(AuditError::Timeline)?;
            }
        }
    }
    auditor.finish_slots().map_err(AuditError::Slots)?;
    auditor.finish(log.line()).map_err(AuditError::Timeline)
}

/// The audit under way: hands each row to the parts that replay it.
struct Auditor<'t> {
    head: Head,
    ledger: Ledger,
    rows: u64,
    /// Whether the end line has been read.
    ended: bool,
    /// The latest time of sending.
    sent: Time,
    /// The latest event, up to which the run must have gone on.
    latest: Time,
    flows: BTreeMap<u64, Flow>,
    queue: Queue,
    server: Server<'t>,
    slots: Option<Slots<'t>>,
}

impl<'t> Auditor<'t> {
    fn new(head: Head, timeline: Option<Cursor<'t>>, ledger: Ledger) -> Self {
        Self {
            head,
            ledger,
            rows: 0,
            ended: false,
            sent: Time::ZERO,
            latest: Time::ZERO,
            flows: BTreeMap::new(),
            queue: Queue::new(head.capacity_packets, head.drop_tail),
            server: Server::new(head, timeline),
            slots: None,
        }
    }

    /// Behind the header the only comment is the end line.
    fn on_comment(&mut self, text: &str, line: u64) {
        let told = text
            .strip_prefix(" end: rows=")
            .and_then(|rows| row::whole(rows.as_bytes()));
        let holds = !self.ended && told == Some(self.rows);
        self.ledger.check(Rule::Form, line, holds, || {
            let expected = if self.ended {
                "nothing behind the end line"
            } else {
                "the rows read in '# end: rows=N'"
            };
            Refusal::new(
                shown(format!("#{text}").as_bytes()),
                format!("{expected} ({} rows)", self.rows),
            )
        });
        self.ended |= told.is_some();
    }

    fn on_fields(&mut self, row: Result<Row, Refusal>, line: u64) -> tmt_core::Result<()> {
        self.rows += 1;
        if self.ended {
            self.ledger.check(Rule::Form, line, false, || {
                Refusal::new("a row", "nothing behind the end line")
            });
        }
        match self.ledger.take(Rule::Form, line, row) {
            Some(row) => self.on_row(&row),
            None => Ok(()),
        }
    }

    fn on_row(&mut self, row: &Row) -> tmt_core::Result<()> {
        let ledger = &mut self.ledger;
        ledger.check(Rule::Form, row.line, row.sent >= self.sent, || {
            Refusal::new(
                format!("sent {}", row.sent),
                format!("not before the row in front, {}", self.sent),
            )
        });
        self.sent = self.sent.max(row.sent);
        let events = [Some(row.sent), row.fate.delivered(), row.acked];
        self.latest = events.into_iter().flatten().fold(self.latest, Time::max);
        story::check_run_end(row, self.head.run_ends, ledger);
        story::check(row, &self.head, ledger);
        story::check_gateway(row, &self.head, ledger);
        parts::check(row, &self.head, ledger);
        let flow = self.flows.entry(row.flow).or_default();
        flow.on_row(row, self.sent, &self.head, ledger);
        self.queue.on_row(row, self.sent, ledger);
        if let Some(slots) = &mut self.slots {
            slots.on_row(row);
        }
        self.server.on_row(row, self.sent, ledger)
    }

    /// Takes in the slots sent before a row was.
    fn slots_before(&mut self, row: &Result<Row, Refusal>) -> io::Result<()> {
        match (row, &mut self.slots) {
            (Ok(row), Some(slots)) => slots.until(row.sent, &mut self.ledger),
            _ => Ok(()),
        }
    }

    fn finish_slots(&mut self) -> io::Result<()> {
        match self.slots.take() {
            Some(slots) => slots.finish(self.latest, &mut self.ledger),
            None => Ok(()),
        }
    }

    fn finish(mut self, last_line: u64) -> tmt_core::Result<AuditReport> {
        if !self.ended {
            self.ledger.check(Rule::Form, last_line, false, || {
                let found = format!(
                    "the end of the log after {} rows: the log is cut",
                    self.rows
                );
                Refusal::new(found, "more rows or the line '# end: rows=N'")
            });
        }
        let ledger = &mut self.ledger;
        let flows = self.flows.into_iter().map(|(flow, state)| {
            let counts = state.finish(&self.head, ledger);
            FlowTotals { flow, counts }
        });
        let totals = Totals::of(flows.collect());
        self.queue.finish(ledger);
        self.server.finish(self.latest, ledger)?;
        Ok(self.ledger.into_report(totals))
    }

    /// Packets kept by any part.
    #[cfg(test)]
    fn held(&self) -> usize {
        self.flows.values().map(Flow::held).sum::<usize>() + self.queue.held() + self.server.held()
    }
}

//! The independent auditor of packet logs: `tmt audit` (docs/simulator.md, Sec. 13).
//!
//! It reads the output of `tmt tcp --packets` and shares no code with the simulator. It parses the log as text and
//! replays queue, link and endpoints from the log's own times. All times are integer nanoseconds.
//!
//! | module | checks | rules |
//! |---|---|---|
//! | `reader`, `text`, `head`, `row` | text to values | `form` |
//! | `packet_lifecycle` | one row | `form`, `story`, `queue`, `parts` |
//! | `flow`, `receiver` | transmissions and ACKs of one flow | `causality`, `acked` |
//! | `datagrams` | datagrams of one flow | `causality`, `acked`, `story`, `form` |
//! | `queue` | packets in the order of enqueuing | `queue` |
//! | `server`, `timeline` | packets in the order of service | `slots`, `fifo` (by discipline: `server/fifo`), `early` |
//! | `hops` | packets in the orders in which they reach and leave a hop beside the link | `early`, `queue`, `fifo`, `story` |
//! | `slots` | the used slots of a coupled link and their packets | `slots`, `early`, `story`, `repeats` |
//!
//! Logs and timeline are streams that are read once. Memory holds only the packets in the queue and, per flow, the
//! packets whose ACK may still be followed by an older row. A packet that is never acknowledged is kept until the end,
//! and so are all later packets of its flow.
//!
//! Not covered, because the log does not contain it: without a slot log, which slots the repeats of a coupled link
//! took; runs whose times do not count from the timeline's zero; drops by disciplines other than drop-tail, and which flow
//! `fq-codel` serves; marks; and services of a hop beside the link that follows a trace, without the trace.

mod datagram_form;
mod datagrams;
mod finding;
mod flow;
mod flow_settings;
mod head;
mod hops;
mod listed;
mod packet_lifecycle;
mod queue;
mod reader;
mod receiver;
mod report;
mod row;
mod server;
mod slots;
#[cfg(test)]
mod tests;
mod text;
mod timeline;
mod totals;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};

use tmt_core::format::TraceReader;
use tmt_core::types::{Metadata, Span, Time};

pub use report::{AuditReport, Log, NotRecomputed, RuleReport, VIOLATIONS_SHOWN, Violation};
pub use totals::{Counts, FlowTotals, Totals};

use flow::Flow;
use head::{Hop, Link, Pace, Settings};
use hops::{Replay, Visit};
use queue::Queue;
use reader::LogReader;
use report::{Rule, RuleTally};
use row::{Fate, Row};
use server::Server;
use slots::Slots;
use timeline::Cursor;

/// Reason why a log could not be audited. A log that breaks rules is not an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AuditError {
    /// The log could not be read.
    #[error(transparent)]
    Log(#[from] io::Error),
    /// The timeline could not be read, or is not a timeline.
    #[error(transparent)]
    Timeline(#[from] tmt_core::Error),
    /// The slot log could not be read.
    #[error(transparent)]
    Slots(io::Error),
    /// A slot log was given, but the packet log is not of a coupled link.
    #[error(
        "found a slot log with a packet log of a link that is not coupled, expected the packet log alone"
    )]
    NeedlessSlots,
    /// A timeline was given, but the packet log is of a synthetic or coupled link.
    #[error(
        "found a timeline with a packet log of a link that has none, expected the packet log alone"
    )]
    NeedlessTimeline,
    /// The trace of a hop beside the link, by its key, could not be read.
    #[error("{1}")]
    Trace(&'static str, tmt_core::Error),
    /// A trace of a hop was given, by its key, but the run had no hop that follows one there.
    #[error("found a `{0}` with a packet log of a run without it, expected none")]
    NeedlessTrace(&'static str),
}

/// Keys of the traces of the hops before the gateway and behind the link.
const TRACES: [&str; 2] = ["terrestrial_trace", "far_trace"];

/// Audits a packet log and, if a timeline is given, checks the log against it.
///
/// `timeline` is a link-layer timeline as text, in seconds (docs/trace-format.md). It is read only as far as the log
/// needs it. Without it, the rules `early` and `slots` check what the log alone can show. The report depends only on
/// the bytes of both inputs, not on how they are split into reads.
///
/// A row that cannot be parsed breaks the rule `form`. The other rules do not see it and may report that it is
/// missing. If head or header cannot be used, only `form` is checked.
///
/// ```
/// use fluid_tcp::audit::audit;
///
/// let report = audit(&b"# tool: someone\nflow,packet\n0,0\n"[..], None)?;
/// assert!(!report.passed());
/// let form = report.rules.iter().find(|rule| rule.rule == "form").ok_or("no such rule")?;
/// for violation in &form.violations {
///     println!("line {}: found {}, expected {}", violation.line, violation.found, violation.expected);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// An input that cannot be read, an input that is not a timeline, or a timeline that does not belong to such a log.
pub fn audit<R: Read>(
    log: R,
    timeline: Option<TraceReader<'_>>,
) -> Result<AuditReport, AuditError> {
    let beside = Beside {
        timeline,
        ..Beside::default()
    };
    audit_beside(log, beside)
}

/// Audits the packet log of a coupled link together with its slot log (`tmt tcp --slots`).
///
/// # Errors
/// A log that cannot be read, or a packet log of a link that is not coupled.
pub fn audit_with_slots<R: Read, S: Read>(log: R, slots: S) -> Result<AuditReport, AuditError> {
    let beside = Beside {
        slots: Some(Box::new(slots)),
        ..Beside::default()
    };
    audit_beside(log, beside)
}

/// Inputs of the same run beside a packet log, all of them optional.
#[derive(Default)]
pub struct Beside<'t> {
    /// Timeline of the link.
    pub timeline: Option<TraceReader<'t>>,
    /// Slot log of a coupled link.
    pub slots: Option<Box<dyn Read + 't>>,
    /// PHY trace or timeline of the hop before the gateway.
    pub terrestrial_trace: Option<TraceReader<'t>>,
    /// That of the hop behind the link.
    pub far_trace: Option<TraceReader<'t>>,
}

impl fmt::Debug for Beside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Beside")
    }
}

/// Audits a packet log, as [`audit`], against all that is beside it.
///
/// # Errors
/// An input that cannot be read, is not what it should be, or does not belong to such a log.
pub fn audit_beside<R: Read>(log: R, beside: Beside<'_>) -> Result<AuditReport, AuditError> {
    let mut tally = RuleTally::new(beside.slots.is_some());
    let log = LogReader::new(Log::Packets, log);
    match Auditor::open(log, beside, &mut tally)? {
        Some(auditor) => auditor.run(tally),
        None => Ok(tally.into_report(Totals::default())),
    }
}

/// State of an audit. It passes each row to the parts that replay it.
struct Auditor<'t, R> {
    log: LogReader<R>,
    settings: Settings,
    /// Latest time of sending so far.
    sent: Time,
    /// Time of the latest event. The run cannot have ended before it.
    latest: Time,
    counts: Counts,
    flows: BTreeMap<u64, Flow>,
    /// The hops before the gateway and behind the link.
    hops: [Option<Replay<'t>>; 2],
    queue: Queue,
    server: Server<'t>,
    slots: Option<Slots<'t>>,
}

impl<'t, R: Read> Auditor<'t, R> {
    /// Reads the heads; `None` if that of the packet log cannot be used.
    fn open(
        mut log: LogReader<R>,
        beside: Beside<'t>,
        tally: &mut RuleTally,
    ) -> Result<Option<Self>, AuditError> {
        let of = |metadata: &Metadata| head::settings(metadata, "packets");
        let Some(mut settings) = log.head(row::HEADER, tally, of)? else {
            return Ok(None);
        };
        let head = settings.head;
        let Beside {
            timeline,
            slots,
            terrestrial_trace,
            far_trace,
        } = beside;
        match head.link {
            Link::Synthetic | Link::Coupled if timeline.is_some() => {
                return Err(AuditError::NeedlessTimeline);
            }
            Link::Synthetic | Link::Timeline if slots.is_some() => {
                return Err(AuditError::NeedlessSlots);
            }
            _ => {}
        }
        let hops = {
            let classes = &settings.order.1;
            let hop = |column, key, hop: Option<Hop>, trace: Option<TraceReader<'t>>| {
                let follows = hop.is_some_and(|hop| matches!(hop.pace, Pace::Trace(_)));
                match &trace {
                    Some(_) if !follows => return Err(AuditError::NeedlessTrace(key)),
                    _ => {}
                }
                let trace = trace.map(|trace| (key, trace));
                let replay =
                    hop.map(|hop| Replay::new(column, hop, classes.clone(), trace, head.looped));
                let replay = replay.transpose();
                replay.map_err(|error| AuditError::Trace(key, error))
            };
            let [near, far] = settings.hops;
            [
                hop("enqueued", TRACES[0], near, terrestrial_trace)?,
                hop("delivered", TRACES[1], far, far_trace)?,
            ]
        };
        let timeline = timeline.map(|timeline| Cursor::new(timeline, head.looped));
        let timeline = timeline.transpose()?;
        let slots = slots.map(|slots| Slots::open(slots, &head, tally));
        let slots = slots.transpose().map_err(AuditError::Slots)?;
        Ok(Some(Self {
            log,
            sent: Time::ZERO,
            latest: Time::ZERO,
            counts: Counts::default(),
            flows: BTreeMap::new(),
            hops,
            queue: Queue::new(&head, settings.queue_losses.take()),
            server: Server::new(
                &head,
                std::mem::take(&mut settings.order),
                timeline,
                settings.link_losses.take(),
            ),
            slots: slots.flatten(),
            settings,
        }))
    }

    /// Audits all rows, then everything that was waiting for the end of the log.
    fn run(mut self, mut tally: RuleTally) -> Result<AuditReport, AuditError> {
        while self.log.next_row(&mut tally)? {
            self.on_row(&mut tally)?;
        }
        if let Some(slots) = self.slots {
            let finished = slots.finish(self.latest, &mut tally);
            finished.map_err(AuditError::Slots)?;
        }
        if !self.log.is_whole() {
            self.log.check_end(&mut tally);
        }
        let known = if self.flows.values().all(Flow::is_complete) {
            self.latest
        } else {
            self.settings.head.run_ends
        };
        let flows = self.flows.into_iter().map(|(flow, state)| {
            let head = self.settings.of(flow);
            let counts = state.finish(head, known, &mut tally);
            FlowTotals { flow, counts }
        });
        let totals = Totals::of(flows.collect(), self.counts);
        for (key, hop) in TRACES.into_iter().zip(&mut self.hops) {
            let finished = hop.as_mut().map(|hop| hop.finish(self.latest, &mut tally));
            finished
                .transpose()
                .map_err(|error| AuditError::Trace(key, error))?;
        }
        self.queue.finish(&mut tally);
        self.server.finish(self.latest, &mut tally)?;
        Ok(tally.into_report(totals))
    }

    /// Processes the row that has been read, after all slots sent before it.
    fn on_row(&mut self, tally: &mut RuleTally) -> Result<(), AuditError> {
        let line = self.log.location.line;
        let row = Row::of(&self.log, &self.settings.head);
        if let (Ok(row), Some(slots)) = (&row, &mut self.slots) {
            let read = slots.until(Some(row.sent), tally);
            read.map_err(AuditError::Slots)?;
        }
        let mut form = tally.at(Rule::Form, line);
        let Some(row) = form.take(row) else {
            return Ok(());
        };
        let why = ", when the previous row was sent";
        form.not_before("sent", row.sent, self.sent, why);
        self.sent = self.sent.max(row.sent);
        let events = [Some(row.sent), row.delivered, row.acked];
        self.latest = events.into_iter().flatten().fold(self.latest, Time::max);
        row.count(&mut self.counts);
        let head = self.settings.of(row.flow);
        packet_lifecycle::check(&row, head, tally);
        if let Some(start) = self.settings.start_of(row.flow) {
            let found = format_args!("flow {} sent {}", row.flow, row.sent);
            let expected = format_args!("not before its start, {start}");
            let mut causality = tally.at(Rule::Causality, line);
            causality.check(row.sent >= start, found, expected);
        }

        let flow = self.flows.entry(row.flow);
        let flow = flow.or_insert_with(|| {
            let datagrams = self.settings.datagrams_of(row.flow);
            Flow::new(self.settings.unacknowledged, datagrams)
        });
        flow.on_row(&row, self.sent, head, tally);
        let toward = head.toward;
        self.on_hops(&row, toward, tally)?;
        let Some(row) = row.on_link() else {
            return Ok(());
        };
        self.queue.on_row(&row, self.sent, tally);
        if let Some(slots) = &mut self.slots {
            slots.on_row(row);
        }
        Ok(self.server.on_row(row, self.sent, toward, tally)?)
    }

    /// Processes a row at the hops beside the link. It reaches the first of them `toward` after it was sent.
    fn on_hops(
        &mut self,
        row: &Row,
        toward: Span,
        tally: &mut RuleTally,
    ) -> Result<(), AuditError> {
        let of = |key| move |error| AuditError::Trace(key, error);
        let Some(beside) = row.beside else {
            return Ok(());
        };
        let [near, far] = &mut self.hops;
        if let Some(near) = near {
            let visit = Visit {
                row: *row,
                arrived: row.sent.saturating_add(toward),
                left: row.enqueued,
                is_gone: row.fate == Fate::Terrestrial,
                gone: beside.gone().filter(|_| row.fate == Fate::Terrestrial),
            };
            // A log does not say of a packet without a fate that it was still on its way to the hop at the end of the run.
            let is_there =
                visit.arrived < self.settings.head.run_ends || visit.left.or(visit.gone).is_some();
            if is_there {
                near.visits(&visit, tally);
            }
            near.replay((self.sent, self.latest), tally)
                .map_err(of(TRACES[0]))?;
        }
        if let Some((far, crossed)) = far.as_mut().zip(beside.crossed) {
            // Packets that leave the link at one time may do so in any order.
            let row = Row {
                offered: Some(crossed),
                ..*row
            };
            let visit = Visit {
                row,
                arrived: crossed,
                left: row.delivered,
                is_gone: row.fate == Fate::Far,
                gone: beside.gone(),
            };
            far.visits(&visit, tally);
        }
        if let Some(far) = far {
            far.replay((self.sent, self.latest), tally)
                .map_err(of(TRACES[1]))?;
        }
        Ok(())
    }
}

//! Hops beside the link: parts of the rules `early`, `queue`, `fifo` and `story`.
//!
//! A hop with a constant rate serves one packet at a time, so that packets leave one service time apart, and their places in its buffer
//! with them. A drop-tail queue serves each as soon as it can: D(k) = max(D(k - 1), A(k)) + S(k), lost packets included. A hop without a
//! rate and a trace takes no time. Services of a hop with a trace follow from the trace (`on_trace`); without it the log does not have the
//! times at which packets leave the buffer.

mod on_trace;

use std::collections::BTreeMap;

use tmt_core::Result;
use tmt_core::format::TraceReader;
use tmt_core::types::{Span, Time};

use super::head::{Hop, Order, Pace};
use super::queue::{Leaves, Queue};
use super::report::{Rule, RuleTally};
use super::row::Row;
use super::server::fifo::Fifo;
use on_trace::OnTrace;

/// A packet that has arrived at a hop.
#[derive(Debug, Clone, Copy)]
pub(super) struct Visit {
    pub(super) row: Row,
    pub(super) arrived: Time,
    /// Time at which it left for the next hop; `None` if it did not.
    pub(super) left: Option<Time>,
    /// Whether it was dropped or lost there, and when, if not after the run.
    pub(super) is_gone: bool,
    pub(super) gone: Option<Time>,
}

/// A hop, replayed in the orders of arrival and departure.
pub(super) struct Replay<'t> {
    name: &'static str,
    hop: Hop,
    /// Departures not yet replayed, by time, arrival and line; `true` for those to the next hop.
    ahead: BTreeMap<(Time, Time, u64), (Row, bool)>,
    /// The previous departure.
    free: Time,
    queue: Queue,
    fifo: Fifo,
    /// Services by the trace; `None` without it.
    on_trace: Option<OnTrace<'t>>,
    /// First of the packets that wait at the end of the run: arrival, line and size.
    waiting: Option<(Time, u64, u64)>,
    /// The packet in service then that is lost after it: arrival, line and size.
    lost_later: Option<(Time, u64, u64)>,
}

impl<'t> Replay<'t> {
    /// Column `name` has the departures; these are the classes of the flows, and the trace that the hop follows with its key in the
    /// head, which the run may have repeated.
    pub(super) fn new(
        name: &'static str,
        hop: Hop,
        classes: Vec<u64>,
        trace: Option<(&'static str, TraceReader<'t>)>,
        looped: bool,
    ) -> Result<Self> {
        let on_trace = match (hop.pace, trace) {
            (Pace::Trace(packed), Some(trace)) => Some(OnTrace::new(trace, packed, hop, looped)?),
            _ => None,
        };
        Ok(Self {
            on_trace,
            name,
            hop,
            ahead: BTreeMap::new(),
            free: Time::ZERO,
            // One with priorities drops on arrival only if it is full, too.
            queue: Queue::of(hop.capacity, hop.is_drop_tail || hop.order == Order::Class),
            fifo: Fifo::new(hop.order, classes, false),
            waiting: None,
            lost_later: None,
        })
    }

    /// A packet arrives.
    pub(super) fn visits(&mut self, visit: &Visit, tally: &mut RuleTally) {
        let Visit {
            row,
            arrived,
            left,
            gone,
            is_gone,
        } = *visit;
        let mut story = tally.at(Rule::Story, row.line);
        for (name, at) in [(self.name, left), ("gone", gone)] {
            let Some(at) = at else { continue };
            let why = ", when it reached the hop";
            if self.hop.pace == Pace::AtOnce {
                story.exactly(name, at, arrived, why);
            } else {
                story.not_before(name, at, arrived, why);
            }
        }
        if let Some(on_trace) = &mut self.on_trace {
            return on_trace.visits(visit, self.fifo.lane(&row));
        }
        let is_unfinished = is_gone && gone.is_none();
        if self.hop.pace == Pace::AtOnce || self.lost_later.is_some() {
            let expected = "its time, unless it is in service at the end of the run";
            story.check(!is_unfinished, "an empty gone_s", expected);
        }
        let loses = self.hop.loses || matches!(self.hop.pace, Pace::Trace(_));
        if let Some(at) = gone.filter(|_| self.hop.is_drop_tail && !loses) {
            story.exactly("gone", at, arrived, ", as the hop loses nothing");
        }
        let Pace::Rate(_) = self.hop.pace else { return };
        let is_dropped = gone == Some(arrived);
        self.queue
            .arrives(&row, arrived, is_dropped, Leaves::at(left.or(gone)));
        if is_dropped {
            return;
        }
        match (left, gone) {
            (Some(at), _) => {
                self.ahead.insert((at, arrived, row.line), (row, true));
            }
            (None, Some(at)) if self.hop.is_drop_tail => {
                self.ahead.insert((at, arrived, row.line), (row, false));
            }
            // Another discipline may have dropped it out of turn.
            (None, Some(_)) => {}
            (None, None) => {
                let turn = (arrived, row.line, row.kept_in_order_with());
                self.fifo.waits(&row, turn);
                let waits = (arrived, row.line, row.size);
                if is_unfinished {
                    self.lost_later = Some(waits);
                } else {
                    self.waiting = Some(self.waiting.map_or(waits, |first| first.min(waits)));
                }
            }
        }
    }

    /// Replays all that is left at the end of the log; `latest` is its last event.
    pub(super) fn finish(&mut self, latest: Time, tally: &mut RuleTally) -> Result<()> {
        self.serve((None, latest), tally)?;
        if let Some(on_trace) = &mut self.on_trace {
            on_trace.finish(latest, (self.name, &mut self.queue), tally);
        }
        self.queue.finish(tally);
        // That in service, or the first that waits: neither could have ended by then.
        let Some((arrived, line, size)) = self.lost_later.or(self.waiting) else {
            return Ok(());
        };
        if let (Pace::Rate(rate), true) = (self.hop.pace, self.hop.is_drop_tail) {
            let [_, ends] = self.ends(rate, arrived, size);
            let found = format_args!("no time, although the run lasted until {latest}");
            let expected = format_args!("{} by {ends}", self.name);
            let mut early = tally.at(Rule::Early, line);
            early.check(ends >= latest, found, expected);
        }
        Ok(())
    }

    /// Earliest and latest end of the next service, if it is of a packet of `size` bytes that arrived then.
    fn ends(&self, rate: u64, arrived: Time, size: u64) -> [Time; 2] {
        let (work, rate) = (u128::from(size) * 8_000_000_000, u128::from(rate));
        [work / rate, work.div_ceil(rate)].map(|nanos| {
            let span = u64::try_from(nanos).ok().and_then(Span::from_nanos);
            let start = self.free.max(arrived);
            start.saturating_add(span.unwrap_or(Span::MAX))
        })
    }

    /// Replays what happened before a time; `latest` is the last event of the log so far.
    pub(super) fn replay(
        &mut self,
        (before, latest): (Time, Time),
        tally: &mut RuleTally,
    ) -> Result<()> {
        self.serve((Some(before), latest), tally)?;
        // What a packet does to the buffer follows from its service, which may be later.
        let open = self.on_trace.as_ref().and_then(OnTrace::first);
        let known = open.map_or(before, |open| open.min(before));
        self.queue.replay(Some(known), tally);
        Ok(())
    }

    /// Replays the departures before a time, or all if it is `None`.
    fn serve(
        &mut self,
        (before, latest): (Option<Time>, Time),
        tally: &mut RuleTally,
    ) -> Result<()> {
        if let Some(on_trace) = &mut self.on_trace {
            let hop = (self.name, &mut self.queue);
            return on_trace.serve((before, latest), hop, tally);
        }
        let Pace::Rate(rate) = self.hop.pace else {
            return Ok(());
        };
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((left, arrived, line), (row, passes)) = first.remove_entry();
            let ends = self.ends(rate, arrived, row.size);
            let (name, [earliest, latest]) = (if passes { self.name } else { "gone" }, ends);
            let mut early = tally.at(Rule::Early, line);
            let found = format_args!("{name} {left}");
            if self.hop.is_drop_tail {
                let expected =
                    format_args!("{earliest} or {latest}, one service after the packet before");
                early.check(ends.contains(&left), found, expected);
            } else {
                let expected =
                    format_args!("not before {earliest}, one service after the packet before");
                early.check(left >= earliest, found, expected);
            }
            self.free = left;
            self.fifo.check(&row, (arrived, left, left), tally);
        }
        Ok(())
    }
}

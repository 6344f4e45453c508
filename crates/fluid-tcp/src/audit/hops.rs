//! Hops beside the link with a constant rate: part of rule `early`. They serve one packet at a time, so that packets leave one
//! service time apart. A drop-tail queue without losses serves each as soon as it can: D(k) = max(D(k - 1), A(k)) + S(k).

use std::collections::BTreeMap;

use tmt_core::types::{Span, Time};

use super::report::{Rule, RuleTally};

/// One hop of a head.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Hop {
    /// Its rate, bit/s; `None` if it is unknown, as with a trace.
    pub(super) rate_bps: Option<u64>,
    /// Whether it serves all that it does not drop, first in, first out.
    pub(super) is_exact: bool,
}

/// A hop, replayed in the order of departure.
#[derive(Debug)]
pub(super) struct Replay {
    name: &'static str,
    hop: Hop,
    /// Departures not yet replayed, by time and line: arrival and size.
    ahead: BTreeMap<(Time, u64), (Time, u64)>,
    /// The previous departure.
    free: Time,
}

impl Replay {
    /// Column `name` has the departures.
    pub(super) fn new(name: &'static str, hop: Hop) -> Self {
        Self {
            name,
            hop,
            ahead: BTreeMap::new(),
            free: Time::ZERO,
        }
    }

    /// A packet of `size` bytes on `line` arrived and left at these times.
    pub(super) fn passes(&mut self, line: u64, arrived: Time, left: Time, size: u64) {
        if self.hop.rate_bps.is_some() {
            self.ahead.insert((left, line), (arrived, size));
        }
    }

    /// Replays the departures before a time, or all if it is `None`.
    pub(super) fn replay(&mut self, before: Option<Time>, tally: &mut RuleTally) {
        let Some(rate) = self.hop.rate_bps.map(u128::from) else {
            return;
        };
        while let Some(first) = self.ahead.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let ((left, line), (arrived, size)) = first.remove_entry();
            let work = u128::from(size) * 8_000_000_000;
            let ends = [work / rate, work.div_ceil(rate)].map(|nanos| {
                let span = u64::try_from(nanos).ok().and_then(Span::from_nanos);
                let start = self.free.max(arrived);
                start.saturating_add(span.unwrap_or(Span::MAX))
            });
            let (name, [earliest, latest]) = (self.name, ends);
            let mut early = tally.at(Rule::Early, line);
            let found = format_args!("{name} {left}");
            if self.hop.is_exact {
                let expected =
                    format_args!("{earliest} or {latest}, one service after the packet before");
                early.check(ends.contains(&left), found, expected);
            } else {
                let expected =
                    format_args!("not before {earliest}, one service after the packet before");
                early.check(left >= earliest, found, expected);
            }
            self.free = left;
        }
    }
}

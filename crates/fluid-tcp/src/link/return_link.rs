//! A return link with a timeline of its own: acknowledgements ride on its LLDUs as packets do on those of the way there
//! (tcp.md §1), and wait for their turn without limit.

use std::sync::Arc;

use tmt_core::types::{Span, Time};

use crate::link::timeline::Timeline;
use crate::link::{Link, TimelineLink};

/// The timeline of the return link.
#[derive(Debug, Clone)]
pub struct ReturnTrace {
    /// Its LLDUs.
    pub timeline: Arc<Timeline>,
    /// LLDUs of an acknowledgement, from 1 to as many as there are.
    pub lldus: usize,
    /// Time from one round of the timeline to the next; none for one that is gone through once.
    pub period: Option<Span>,
}

/// The return link at work.
#[derive(Debug)]
pub(crate) struct ReturnLink {
    /// None where the timeline has no room for an acknowledgement, or cannot be read.
    link: Option<TimelineLink>,
    /// When the last acknowledgement has been sent.
    free: Time,
}

impl ReturnLink {
    /// For a run that starts at `begin`.
    pub(crate) fn new(trace: &ReturnTrace, begin: Time) -> Self {
        let timeline = Arc::clone(&trace.timeline);
        Self {
            link: TimelineLink::new(timeline, trace.lldus, Span::ZERO, trace.period, begin),
            free: begin,
        }
    }

    /// When an acknowledgement sent at `now`, which never falls, is there, propagation left out; none where one of its
    /// LLDUs is lost or the timeline has ended.
    pub(crate) fn send(&mut self, now: Time) -> Option<Time> {
        let service = self.link.as_mut()?.serve(now.max(self.free))?;
        self.free = service.end;
        service.arrival
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::link::timeline::Builder;

    proptest! {
        /// Against the rule over the LLDUs themselves: the first free ones sent at or after it, and all must be there.
        #[test]
        fn acknowledgements_take_the_first_free_lldus(
            steps in prop::collection::vec((0u64..20, 0u64..60), 1..80),
            lldus in 1usize..4,
            waits in prop::collection::vec(prop_oneof![Just(0u64), 0u64..50], 1..60),
            begin in 0u64..100,
        ) {
            prop_assume!(lldus <= steps.len());
            let mut at = 0;
            let rows: Vec<(u64, u64)> = steps.iter().map(|(step, delay)| { at += step; (at, delay.saturating_sub(10)) }).collect();
            let mut builder = Builder::default();
            for &(at, delay) in &rows {
                builder.push(Time::from_nanos(at).unwrap(), Span::from_nanos(delay).unwrap(), None);
            }
            let trace = ReturnTrace { timeline: Arc::new(builder.finish()), lldus, period: None };
            let mut link = ReturnLink::new(&trace, Time::from_nanos(begin).unwrap());
            let (mut now, mut next) = (begin, 0);
            for wait in waits {
                now += wait;
                while next < rows.len() && rows[next].0 < now {
                    next += 1;
                }
                let taken = rows.get(next..next + lldus);
                let there = taken.and_then(|taken| {
                    let lost = taken.iter().any(|(_, delay)| *delay == 0);
                    let latest = taken.iter().map(|(at, delay)| at + delay).max();
                    latest.filter(|_| !lost)
                });
                next = if taken.is_some() { next + lldus } else { rows.len() };
                prop_assert_eq!(link.send(Time::from_nanos(now).unwrap()).map(Time::as_nanos), there);
            }
        }
    }
}

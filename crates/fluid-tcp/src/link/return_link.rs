//! Return link over a timeline of its own (`--return-trace`). ACKs take its LLDUs as packets take those of a timeline
//! link (docs/simulator.md, Sec. 2.1). Their queue is unlimited.

use std::sync::Arc;

use tmt_core::types::{Span, Time};

use crate::link::timeline::Timeline;
use crate::link::{Link, Segmentation, TimelineLink};

/// Timeline of the return link, and what an ACK takes of it.
#[derive(Debug, Clone)]
pub struct ReturnTrace {
    /// LLDUs of the return link.
    pub timeline: Arc<Timeline>,
    /// Segmentation of ACKs; one needs at least 1 LLDU and no more than the timeline has.
    pub segmentation: Segmentation,
    /// Period with which the timeline is repeated; `None` if it is used once.
    pub period: Option<Span>,
}

/// State of the return link during a run.
#[derive(Debug)]
pub(crate) struct ReturnLink {
    /// `None` if the timeline is too short for one ACK or cannot be read.
    link: Option<TimelineLink>,
    /// End of the last service.
    free: Time,
}

impl ReturnLink {
    /// Return link of a run that starts at `begin`.
    pub(crate) fn new(trace: &ReturnTrace, begin: Time) -> Self {
        let timeline = Arc::clone(&trace.timeline);
        Self {
            link: TimelineLink::new(
                timeline,
                trace.segmentation,
                Span::ZERO,
                trace.period,
                begin,
            ),
            free: begin,
        }
    }

    /// Arrival of an ACK sent at `now`, without propagation. `None` if one of its LLDUs is lost or the timeline has
    /// ended. `now` never decreases.
    pub(crate) fn send(&mut self, now: Time) -> Option<Time> {
        let service = self.link.as_mut()?.serve(now.max(self.free))?;
        self.free = service.end;
        service.arrival
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use proptest::prelude::*;
    use tmt_core::types::Bytes;

    use super::*;
    use crate::link::timeline::Builder;

    proptest! {
        /// Compares with the rule applied to a list of bytes, or of whole LLDUs: an ACK takes the first free ones and needs
        /// all of them.
        #[test]
        fn acks_take_the_first_free_lldus(
            steps in prop::collection::vec((0u64..20, 0u64..60), 1..80),
            (size, room) in prop_oneof![(1usize..4, Just(1usize)), (1usize..60, 2usize..90)],
            waits in prop::collection::vec(prop_oneof![Just(0u64), 0u64..50], 1..60),
            begin in 0u64..100,
        ) {
            let segmentation = Segmentation::bytes(Bytes(size as u64), NonZeroU64::new(room as u64).unwrap());
            prop_assume!(segmentation.lldus() <= steps.len() as u64);
            let mut at = 0;
            let rows: Vec<(u64, u64)> = steps.iter().map(|(step, delay)| { at += step; (at, delay.saturating_sub(10)) }).collect();
            let mut builder = Builder::default();
            for &(at, delay) in &rows {
                builder.push(Time::from_nanos(at).unwrap(), Span::from_nanos(delay).unwrap(), None);
            }
            let rows: Vec<(u64, u64)> = rows.iter().flat_map(|row| std::iter::repeat_n(*row, room)).collect();
            let trace = ReturnTrace { timeline: Arc::new(builder.finish()), segmentation, period: None };
            let mut link = ReturnLink::new(&trace, Time::from_nanos(begin).unwrap());
            let (mut now, mut next) = (begin, 0);
            for wait in waits {
                now += wait;
                while next < rows.len() && rows[next].0 < now {
                    next += 1;
                }
                let taken = rows.get(next..next + size);
                let there = taken.and_then(|taken| {
                    let lost = taken.iter().any(|(_, delay)| *delay == 0);
                    let latest = taken.iter().map(|(at, delay)| at + delay).max();
                    latest.filter(|_| !lost)
                });
                next = if taken.is_some() { next + size } else { rows.len() };
                prop_assert_eq!(link.send(Time::from_nanos(now).unwrap()).map(Time::as_nanos), there);
            }
        }
    }
}

//! CoDel (RFC 8289, Sec. 5), with ECN marking (RFC 3168) of capable packets.
//!
//! Sizes are counted in packets: "no more than one MTU in the queue" means one packet after the one that leaves. Named
//! deviation: as in Linux, a packet that is marked instead of dropped ends the dropping of that moment.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time, to_f64};

use crate::named::{Parameter, Values};

use super::Queued;
use super::queue::{Dequeued, Entry, Queue};
use tmt_core::math::num::floor_u64;

/// CoDel (RFC 8289) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "codel",
    about: "also drops packets that have waited too long (RFC 8289), or marks them if they are ECN-capable",
    parameters: &[
        // TARGET of RFC 8289, Sec. 4.2: queueing delay that is acceptable.
        Parameter::duration("target", Span::from_millis(5)),
        // INTERVAL of Sec. 4.3: time for which the delay must stay above the target; about the largest RTT.
        Parameter::duration("interval", Span::from_millis(100)),
    ],
    examples: &["codel", "codel:target=20ms,interval=200ms"],
    make: |parameters| Box::new(CoDel::of(parameters)),
};

/// State of CoDel. The names are those of RFC 8289, Sec. 5.
#[derive(Debug, Default)]
pub(crate) struct CoDel {
    target: Span,
    interval: Span,
    waiting: VecDeque<(Queued, Time)>,
    /// Time at which the delay will have been above the target for one interval (`first_above_time`).
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Whether the control law has to be applied before the next decision: the last packet was dropped or marked.
    law_due: bool,
    /// Drops since the dropping state was entered, and their number when the previous one was entered.
    count: u64,
    last_count: u64,
}

impl CoDel {
    pub(super) fn of(parameters: &Values) -> Self {
        Self {
            target: parameters.duration("target"),
            interval: parameters.duration("interval"),
            ..Self::default()
        }
    }

    /// Time of the next drop: the interval shrinks with the square root of the number of drops (`control_law`).
    fn control_law(&self, from: Time) -> Time {
        let nanos = to_f64(self.interval.as_nanos()) / to_f64(self.count.max(1)).sqrt();
        from.saturating_add(Span::from_nanos(floor_u64(nanos)).unwrap_or(Span::MAX))
    }

    /// Whether the delay has been above the target for an interval when this packet leaves (`dodequeue`). The packet
    /// arrived at `since`.
    fn ok_to_drop(&mut self, now: Time, since: Time) -> bool {
        // `waiting` still contains the packet itself.
        if now.since(since) < self.target || self.waiting.len() <= 2 {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now.saturating_add(self.interval));
                false
            }
            Some(at) => now >= at,
        }
    }

    /// Whether to drop or mark the packet at the head, which arrived at `since` (`dequeue`).
    fn should_drop_or_mark(&mut self, now: Time, since: Time) -> bool {
        let ok_to_drop = self.ok_to_drop(now, since);
        let law_due = std::mem::take(&mut self.law_due);
        if !ok_to_drop {
            self.dropping = false;
            return false;
        }
        if self.dropping {
            if law_due {
                self.drop_next = self.control_law(self.drop_next);
            }
            let drop_or_mark = now >= self.drop_next;
            self.count += u64::from(drop_or_mark);
            self.law_due = drop_or_mark;
            return drop_or_mark;
        }
        self.dropping = true;
        // If dropping ended only recently, resume with its rate.
        let recent = self.count.saturating_sub(self.last_count);
        let limit = self.interval.checked_mul(16).unwrap_or(Span::MAX);
        let soon = now.since(self.drop_next) < limit;
        self.count = if recent > 1 && soon { recent } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
        true
    }
}

impl Queue for CoDel {
    #[inline]
    fn enqueue(&mut self, now: Time, packet: Queued) -> Option<Queued> {
        self.waiting.push_back((packet, now));
        None
    }

    #[inline]
    fn dequeue(&mut self, now: Time) -> Option<Dequeued> {
        let Some((packet, since)) = self.waiting.front().copied() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let drop_or_mark = self.should_drop_or_mark(now, since);
        self.waiting.pop_front();
        Some(if drop_or_mark && !packet.capable {
            Dequeued::Drop(packet)
        } else {
            Dequeued::Serve {
                packet,
                marked: drop_or_mark,
            }
        })
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{BitRate, Bytes};

    use super::*;
    use crate::endpoint::sender::TransmissionReason;
    use crate::link::gateway::{Fate, Gateway as _, QueuedLink};
    use crate::link::{SyntheticLink, Transmission};

    fn packet(ordinal: u64, sent: Time, capable: bool) -> Queued {
        let transmission = Transmission {
            ordinal,
            flow: 0,
            packet: ordinal,
            copy: 1,
            why: TransmissionReason::New,
        };
        Queued {
            transmission,
            sent,
            enqueued: sent,
            capable,
            cwr: false,
        }
    }

    /// Runs a link of 100 packets per second under a load of `load` packets per second for `seconds`. Returns the fates
    /// with the times at which they were decided.
    fn fates(load: u64, seconds: u64, capable: bool) -> Vec<(Time, Fate)> {
        let link = SyntheticLink::new(BitRate(800), Bytes(1), Span::ZERO, None, Time::ZERO);
        let (target, interval) = (Span::from_millis(15), Span::from_millis(100));
        let mut queue = QueuedLink::new(
            link.unwrap(),
            10_000,
            Box::new(CoDel {
                target,
                interval,
                ..CoDel::default()
            }),
        );
        let mut fates = Vec::new();
        for ordinal in 0..load * seconds {
            let now = Time::from_nanos(ordinal * 1_000_000_000 / load).unwrap();
            while let Some(due) = queue.due()
                && due <= now
            {
                queue.pop_departed(due);
                while let Some(fate) = queue.wake(due) {
                    fates.push((due, fate));
                }
            }
            assert_eq!(
                queue.enqueue(now, packet(ordinal, now, capable)),
                Fate::Waiting
            );
            queue.pop_departed(now);
            while let Some(fate) = queue.wake(now) {
                fates.push((now, fate));
            }
        }
        fates
    }

    #[test]
    fn nothing_is_dropped_below_the_rate_of_the_link() {
        let dropped = |(_, fate): &(Time, Fate)| matches!(fate, Fate::Dropped(_));
        assert!(!fates(99, 60, false).iter().any(dropped));
    }

    #[test]
    fn drops_follow_the_control_law() {
        // RFC 8289, Sec. 5.1: gaps of interval/√1, /√2, /√3 …; decided when a packet leaves, every 10 ms.
        let drops: Vec<Time> = fates(200, 2, false)
            .into_iter()
            .filter(|(_, fate)| matches!(fate, Fate::Dropped(_)))
            .map(|(at, _)| at)
            .collect();
        assert!(drops.len() > 20, "{}", drops.len());
        let mut expected = drops[0];
        for (count, at) in (1u64..).zip(&drops).take(15) {
            let late = at.since(expected);
            assert!(
                *at >= expected && late <= Span::from_millis(10),
                "drop {count}: {at} for {expected}"
            );
            let gap = 1e8 / to_f64(count).sqrt();
            expected = expected.saturating_add(Span::from_nanos(floor_u64(gap)).unwrap());
        }
    }

    #[test]
    fn one_waiting_packet_is_not_a_standing_queue() {
        // A service takes 10 ms. When a packet leaves, `standing` more wait.
        for (standing, drops) in [(1u64, false), (2, true)] {
            let link = SyntheticLink::new(BitRate(800), Bytes(1), Span::ZERO, None, Time::ZERO);
            let (target, interval) = (Span::from_millis(5), Span::from_millis(100));
            let mut queue = QueuedLink::new(
                link.unwrap(),
                100,
                Box::new(CoDel {
                    target,
                    interval,
                    ..CoDel::default()
                }),
            );
            let mut dropped = 0;
            for ordinal in 0..200 + standing {
                let now = Time::from_nanos(ordinal.saturating_sub(standing) * 10_000_000).unwrap();
                queue.pop_departed(now);
                queue.enqueue(now, packet(ordinal, now, false));
                while let Some(fate) = queue.wake(now) {
                    dropped += u32::from(matches!(fate, Fate::Dropped(_)));
                }
            }
            assert_eq!(dropped > 0, drops, "{standing}");
        }
    }

    #[test]
    fn capable_packets_are_marked_instead_of_dropped() {
        let fates = fates(120, 4, true);
        let marked = fates
            .iter()
            .filter(|(_, fate)| matches!(fate, Fate::Served(_, _, true)));
        assert!(marked.count() > 20);
        assert!(
            !fates
                .iter()
                .any(|(_, fate)| matches!(fate, Fate::Dropped(_)))
        );
    }
}

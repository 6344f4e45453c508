//! Controlled delay (RFC 8289 §5), with the marking of RFC 3168 for flows that take it.
//!
//! Sizes are counted in packets: "no more than one MTU in the queue" is one packet behind the one that leaves. Named
//! deviation: as in Linux, a packet that may be marked is marked and sent, and ends the dropping of that moment.

use std::collections::VecDeque;

use tmt_core::types::{Span, Time, to_f64};

use crate::named::Parameter;

use super::Queued;
use super::queue::{Entry, Queue, Taken};
use tmt_core::math::num::whole;

/// CoDel (RFC 8289) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "codel",
    about: "also some of those that have waited for long (RFC 8289); packets of flows with ECN are marked instead",
    parameters: &[
        // TARGET of RFC 8289 §4.2: waiting that is not a standing queue.
        Parameter::duration("target", Span::from_millis(5)),
        // INTERVAL of §4.3: how long the waiting must stay above the target; about the largest round-trip time.
        Parameter::duration("interval", Span::from_millis(100)),
    ],
    examples: &["codel", "codel:target=20ms,interval=200ms"],
    make: |parameters| {
        Box::new(CoDel {
            target: parameters.duration("target"),
            interval: parameters.duration("interval"),
            ..CoDel::default()
        })
    },
};

/// A queue that drops from its head what stands for too long.
#[derive(Debug, Default)]
struct CoDel {
    target: Span,
    interval: Span,
    waiting: VecDeque<(Queued, Time)>,
    /// When the waiting, if it stays above the target, has been above it for an interval.
    first_above: Option<Time>,
    dropping: bool,
    drop_next: Time,
    /// Whether the last strike was a drop, so that the next one waits for the control law only if the queue still stands.
    law_due: bool,
    /// Drops since this state began, and at the end of the last one.
    count: u64,
    last_count: u64,
}

impl CoDel {
    /// The interval to the next drop shrinks with the square root of their number (§5.1 control_law).
    fn control_law(&self, from: Time) -> Time {
        let nanos = to_f64(self.interval.as_nanos()) / to_f64(self.count.max(1)).sqrt();
        from.saturating_add(Span::from_nanos(whole(nanos)).unwrap_or(Span::MAX))
    }

    /// Whether the packet that would leave `now` has waited above the target for an interval (§5.6 dodequeue).
    fn ok_to_drop(&mut self, now: Time, since: Time) -> bool {
        // The head still counts.
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

    /// Whether the head of the queue is to be dropped or marked (§5.5).
    fn strikes(&mut self, now: Time, since: Time) -> bool {
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
            let strikes = now >= self.drop_next;
            self.count += u64::from(strikes);
            self.law_due = strikes;
            return strikes;
        }
        self.dropping = true;
        // After a short while without drops their rate goes on from where it was.
        let recent = self.count.saturating_sub(self.last_count);
        let a_while = self.interval.checked_mul(16).unwrap_or(Span::MAX);
        let soon = now.since(self.drop_next) < a_while;
        self.count = if recent > 1 && soon { recent } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
        true
    }
}

impl Queue for CoDel {
    fn offer(&mut self, now: Time, packet: Queued) -> Option<Queued> {
        self.waiting.push_back((packet, now));
        None
    }

    fn take(&mut self, now: Time) -> Option<Taken> {
        let Some((packet, since)) = self.waiting.front().copied() else {
            self.first_above = None;
            self.dropping = false;
            return None;
        };
        let strikes = self.strikes(now, since);
        self.waiting.pop_front();
        Some(if strikes && !packet.capable {
            Taken::Drop(packet)
        } else {
            Taken::Serve {
                packet,
                marked: strikes,
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
    use crate::endpoint::sender::Why;
    use crate::link::gateway::{Fate, Gateway as _, QueuedLink};
    use crate::link::{PacketCopy, SyntheticLink};

    fn packet(ordinal: u64, sent: Time, capable: bool) -> Queued {
        let copy = PacketCopy {
            ordinal,
            flow: 0,
            packet: ordinal,
            copy: 1,
            why: Why::New,
        };
        Queued {
            copy,
            sent,
            enqueued: sent,
            capable,
            reduced: false,
        }
    }

    /// A link of 100 packets a second under a load of `load` packets a second for `seconds`; what became of each in
    /// its order, with when it was decided.
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
                queue.leave(due);
                while let Some(fate) = queue.wake(due) {
                    fates.push((due, fate));
                }
            }
            assert_eq!(queue.offer(now, packet(ordinal, now, capable)), Fate::Waits);
            queue.leave(now);
            while let Some(fate) = queue.wake(now) {
                fates.push((now, fate));
            }
        }
        fates
    }

    #[test]
    fn below_the_links_rate_nothing_is_dropped() {
        let dropped = |(_, fate): &(Time, Fate)| matches!(fate, Fate::Dropped(_));
        assert!(!fates(99, 60, false).iter().any(dropped));
    }

    #[test]
    fn drops_come_an_interval_over_the_root_of_their_number_apart() {
        // RFC 8289 §5.1: interval/√1, /√2, /√3 …; told when a packet leaves, every 10 ms.
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
            expected = expected.saturating_add(Span::from_nanos(whole(gap)).unwrap());
        }
    }

    #[test]
    fn one_packet_that_stands_behind_is_no_standing_queue() {
        // Services of 10 ms; behind each packet that leaves the queue `standing` more wait.
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
                queue.leave(now);
                queue.offer(now, packet(ordinal, now, false));
                while let Some(fate) = queue.wake(now) {
                    dropped += u32::from(matches!(fate, Fate::Dropped(_)));
                }
            }
            assert_eq!(dropped > 0, drops, "{standing}");
        }
    }

    #[test]
    fn packets_that_may_be_marked_are_marked_and_sent() {
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

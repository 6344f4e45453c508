//! CoDel (RFC 8289, Sec. 5), with ECN marking (RFC 3168) of capable packets.
//!
//! `MAXPACKET` is the size of the largest packet seen. Named deviation: as in Linux, a packet that is marked instead of
//! dropped ends the dropping of that moment.

use std::collections::VecDeque;

use tmt_core::types::{Bytes, Span, Time, to_f64};

use tmt_core::math::num::floor_u64;
use tmt_core::named::{Parameter, Values};

use super::{Entry, Make, Queue};
use crate::packet::{Ecn, Packet};

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
    make: Make {
        marks: true,
        by_flow: false,
        draws: false,
        refuses: |_| None,
        queue: |parameters, _| Box::new(CoDel::of(parameters)),
    },
};

/// State of CoDel. The names are those of RFC 8289, Sec. 5.
#[derive(Debug, Default)]
pub struct CoDel {
    target: Span,
    interval: Span,
    waiting: VecDeque<(Packet, Time)>,
    /// Bytes that wait, and the size of the largest packet so far (`MAXPACKET`).
    bytes: u64,
    largest: u64,
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
    pub(crate) fn of(parameters: &Values) -> Self {
        Self {
            target: parameters.duration("target"),
            interval: parameters.duration("interval"),
            ..Self::default()
        }
    }

    /// Bytes that wait.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Removes the first packet, to be dropped because a buffer is full. The control law takes no notice of it.
    pub(super) fn drop_head(&mut self) -> Option<Packet> {
        let (packet, _) = self.waiting.pop_front()?;
        self.bytes -= packet.size.0;
        Some(packet)
    }

    /// The same with a `MAXPACKET` of at least this size.
    pub(super) fn with_largest(self, largest: Bytes) -> Self {
        Self {
            largest: largest.0,
            ..self
        }
    }

    /// Time of the next drop: the interval shrinks with the square root of the number of drops (`control_law`).
    fn control_law(&self, from: Time) -> Time {
        let nanos = to_f64(self.interval.as_nanos()) / to_f64(self.count.max(1)).sqrt();
        from.saturating_add(Span::from_nanos(floor_u64(nanos)).unwrap_or(Span::MAX))
    }

    /// Whether the delay has been above the target for an interval when a packet leaves (`dodequeue`). It arrived at `since`
    /// and is no longer counted in `bytes`.
    #[inline]
    fn ok_to_drop(&mut self, now: Time, since: Time) -> bool {
        if now.since(since) < self.target || self.bytes <= self.largest {
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
    #[inline]
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
    fn enqueue(&mut self, now: Time, packet: Packet, _dropped: &mut Vec<Packet>) {
        self.bytes += packet.size.0;
        self.largest = self.largest.max(packet.size.0);
        self.waiting.push_back((packet, now));
    }

    #[expect(clippy::inline_always, reason = "avoids copies of the packet")]
    #[inline(always)]
    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        while let Some((mut packet, since)) = self.waiting.pop_front() {
            self.bytes -= packet.size.0;
            let drop_or_mark = self.should_drop_or_mark(now, since);
            if !drop_or_mark {
                return Some(packet);
            }
            if packet.ecn != Ecn::NotCapable {
                packet.ecn = Ecn::Marked;
                return Some(packet);
            }
            dropped.push(packet);
        }
        self.first_above = None;
        self.dropping = false;
        None
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(id: u64, sent: Time, ecn: Ecn) -> Packet {
        Packet {
            id,
            size: Bytes(1),
            ecn,
            sent,
            enqueued: sent,
            ..Packet::default()
        }
    }

    fn codel(target: u32) -> CoDel {
        CoDel {
            target: Span::from_millis(target),
            interval: Span::from_millis(100),
            ..CoDel::default()
        }
    }

    /// Drives a queue before a link that takes a packet every 10 ms, under a load of `load` packets per second for `seconds`.
    /// Returns the packets that are dropped and those that are served, with the times at which they leave.
    fn leave(load: u64, seconds: u64, ecn: Ecn) -> [Vec<(Time, Packet)>; 2] {
        let (mut queue, mut dropped) = (codel(15), Vec::new());
        let (mut drops, mut served) = (Vec::new(), Vec::new());
        let mut arrivals = (0..load * seconds).map(|id| {
            let now = Time::from_nanos(id * 1_000_000_000 / load).unwrap();
            packet(id, now, ecn)
        });
        let mut next = arrivals.next();
        for service in 0..seconds * 100 {
            let now = Time::from_nanos(service * 10_000_000).unwrap();
            while let Some(packet) = next.take_if(|packet| packet.sent <= now) {
                queue.enqueue(packet.sent, packet, &mut dropped);
                next = arrivals.next();
            }
            served.extend(queue.dequeue(now, &mut dropped).map(|packet| (now, packet)));
            drops.extend(dropped.drain(..).map(|packet| (now, packet)));
        }
        [drops, served]
    }

    #[test]
    fn nothing_is_dropped_below_the_rate_of_the_link() {
        assert_eq!(leave(99, 60, Ecn::NotCapable)[0], []);
    }

    #[test]
    fn drops_follow_the_control_law() {
        // RFC 8289, Sec. 5.1: gaps of interval/√1, /√2, /√3 …; decided when a packet leaves, every 10 ms.
        let [drops, _] = leave(200, 2, Ecn::NotCapable);
        assert!(drops.len() > 20, "{}", drops.len());
        let mut expected = drops[0].0;
        for (count, (at, _)) in (1u64..).zip(&drops).take(15) {
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
            let (mut queue, mut dropped) = (codel(5), Vec::new());
            for id in 0..200 + standing {
                let now = Time::from_nanos(id.saturating_sub(standing) * 10_000_000).unwrap();
                queue.enqueue(now, packet(id, now, Ecn::NotCapable), &mut dropped);
                if id >= standing {
                    queue.dequeue(now, &mut dropped);
                }
            }
            assert_eq!(!dropped.is_empty(), drops, "{standing}");
        }
    }

    #[test]
    fn bytes_of_one_largest_packet_are_not_a_standing_queue() {
        // Ten packets of a byte wait, after one that was larger than all of them together, or not.
        for (largest, drops) in [(10, false), (9, true)] {
            let (mut queue, mut dropped) = (codel(5), Vec::new());
            let first = Packet {
                size: Bytes(largest),
                ..packet(0, Time::ZERO, Ecn::NotCapable)
            };
            queue.enqueue(Time::ZERO, first, &mut dropped);
            queue.dequeue(Time::ZERO, &mut dropped);
            for id in 1..200u64 {
                let now = Time::from_nanos(id.saturating_sub(10) * 10_000_000).unwrap();
                queue.enqueue(now, packet(id, now, Ecn::NotCapable), &mut dropped);
                if id > 10 {
                    queue.dequeue(now, &mut dropped);
                }
            }
            assert_eq!(!dropped.is_empty(), drops, "{largest}");
        }
    }

    #[test]
    fn capable_packets_are_marked_instead_of_dropped() {
        let [drops, served] = leave(120, 4, Ecn::Capable);
        let marked = served
            .iter()
            .filter(|(_, packet)| packet.ecn == Ecn::Marked);
        assert!(marked.count() > 20);
        assert_eq!(drops, []);
    }
}

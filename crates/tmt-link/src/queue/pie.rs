//! PIE (RFC 8033, Sec. 4 and Appendix A), with ECN marking (Sec. 5.1).
//!
//! The pseudocode of Appendix A, whose names are kept:
//!
//! ```text
//! enqueue: if burst_allowance = 0 and drop_early(): drop, else enqueue
//! drop_early: false if qdelay_old < QDELAY_REF / 2 and drop_prob < 0.2, or if the queue has at most 2 MEAN_PKTSIZE bytes;
//!     else true with probability drop_prob
//! every T_UPDATE:
//!     p ← alpha (current_qdelay − QDELAY_REF) + beta (current_qdelay − qdelay_old), divided by 2048, 512, 128, 32, 8, 2 or 1
//!         for drop_prob below 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1 and from there on
//!     drop_prob ← drop_prob + p; · 0.98 if current_qdelay = qdelay_old = 0; within 0 … 1
//!     burst_allowance ← max(0, burst_allowance − T_UPDATE)
//!     if drop_prob = 0 and both delays are below QDELAY_REF / 2: burst_allowance ← MAX_BURST
//!     qdelay_old ← current_qdelay
//! ```
//!
//! `current_qdelay` is measured by timestamps (Sec. 4.3): the time that the packet which was taken last had waited, or 0 if it
//! left none behind, as in Linux. There is no estimate of the departure rate. A packet that is ECN-capable is marked instead of
//! dropped while `drop_prob` is at most 10 %. The timer runs from the first arrival on; its steps are made before the next
//! arrival or departure, each with the state that it would have found. `MEAN_PKTSIZE` is the size of a usual packet. Not used: the
//! optional parts of Sec. 5.3 to 5.5 (activation, derandomisation, cap on the steps).

use std::collections::VecDeque;

use tmt_core::math::rng::Uniform;
use tmt_core::named::{Parameter, Values};
use tmt_core::types::{Span, Time};

use super::{Context, Entry, Make, Queue};
use crate::packet::{Ecn, Packet};

/// PIE (RFC 8033) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "pie",
    about: "also drops arriving packets at random, or marks them, to hold the queueing delay at a target (RFC 8033)",
    parameters: &[
        // QDELAY_REF, T_UPDATE and MAX_BURST of RFC 8033, Sec. 4.2 to 4.4, then alpha and beta of Sec. 4.2, 1/s.
        Parameter::duration("target", Span::from_millis(15)),
        Parameter::duration("update", Span::from_millis(15)),
        Parameter::duration("burst", Span::from_millis(150)),
        Parameter::number("alpha", 0.125, 0.0, 1e3),
        Parameter::number("beta", 1.25, 0.0, 1e3),
    ],
    examples: &["pie", "pie:target=20ms,update=10ms,burst=100ms"],
    make: Make {
        marks: true,
        by_flow: false,
        draws: true,
        refuses: |_| None,
        queue: |parameters, context| Box::new(Pie::new(parameters, context)),
    },
};

/// Largest probability at which packets are marked instead of dropped (RFC 8033, Sec. 5.1).
const MARK_ECNTH: f64 = 0.1;

/// State of PIE. The names are those of RFC 8033.
#[derive(Debug)]
pub struct Pie {
    qdelay_ref: Span,
    t_update: Span,
    max_burst: Span,
    alpha: f64,
    beta: f64,
    /// Bytes up to which nothing is dropped early: 2 MEAN_PKTSIZE.
    small_bytes: u64,
    waiting: VecDeque<(Packet, Time)>,
    bytes: u64,
    drop_prob: f64,
    burst_allowance: Span,
    qdelay_old: Span,
    /// Time that the packet taken last had waited, or 0 if it left none behind.
    qdelay: Span,
    /// Time of the next update; `None` before the first arrival.
    next_update: Option<Time>,
    random: Uniform,
    /// Random numbers drawn so far.
    drawn: u64,
}

impl Pie {
    /// An empty queue with these parameters of [`ENTRY`].
    pub(crate) fn new(parameters: &Values, context: &Context) -> Self {
        let max_burst = parameters.duration("burst");
        Self {
            qdelay_ref: parameters.duration("target"),
            t_update: parameters.duration("update"),
            max_burst,
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            small_bytes: context.packet.0.saturating_mul(2),
            waiting: VecDeque::new(),
            bytes: 0,
            drop_prob: 0.0,
            burst_allowance: max_burst,
            qdelay_old: Span::ZERO,
            qdelay: Span::ZERO,
            next_update: None,
            random: context.random("pie"),
            drawn: 0,
        }
    }

    /// Whether an update would change nothing: the queue is empty and all has decayed.
    fn is_at_rest(&self) -> bool {
        self.waiting.is_empty()
            && self.qdelay_old.is_zero()
            && self.drop_prob == 0.0
            && self.burst_allowance == self.max_burst
    }

    /// Makes the updates that are due by `now`.
    fn advance(&mut self, now: Time) {
        let mut next = self
            .next_update
            .unwrap_or_else(|| now.saturating_add(self.t_update));
        while next <= now {
            if self.is_at_rest() {
                let steps = now.since(next).as_nanos() / self.t_update.as_nanos() + 1;
                let skipped = self.t_update.checked_mul(steps).unwrap_or(Span::MAX);
                next = next.saturating_add(skipped);
                break;
            }
            self.calculate_drop_prob();
            next = next.saturating_add(self.t_update);
        }
        self.next_update = Some(next);
    }

    fn calculate_drop_prob(&mut self) {
        let current = self.qdelay;
        let (delay, old) = (current.as_secs_f64(), self.qdelay_old.as_secs_f64());
        let p = self.alpha * (delay - self.qdelay_ref.as_secs_f64()) + self.beta * (delay - old);
        self.drop_prob += p * self.scale();
        if current.is_zero() && self.qdelay_old.is_zero() {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(self.t_update);
        let half = self.qdelay_ref.half();
        if self.drop_prob == 0.0 && current < half && self.qdelay_old < half {
            self.burst_allowance = self.max_burst;
        }
        self.qdelay_old = current;
    }

    /// Factor of a step, by the probability (Sec. 4.2).
    fn scale(&self) -> f64 {
        let limits = [1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1];
        let divisors = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0];
        let of = limits.iter().zip(divisors);
        let mut below = of.filter(|(limit, _)| self.drop_prob < **limit);
        below.next().map_or(1.0, |(_, divisor)| 1.0 / divisor)
    }

    fn drop_early(&mut self) -> bool {
        let calm = self.qdelay_old < self.qdelay_ref.half() && self.drop_prob < 0.2;
        if calm || self.bytes <= self.small_bytes {
            return false;
        }
        self.drawn += 1;
        self.random.at(self.drawn - 1) < self.drop_prob
    }
}

impl Queue for Pie {
    fn enqueue(&mut self, now: Time, mut packet: Packet, dropped: &mut Vec<Packet>) {
        self.advance(now);
        if self.burst_allowance.is_zero() && self.drop_early() {
            if packet.ecn == Ecn::NotCapable || self.drop_prob > MARK_ECNTH {
                dropped.push(packet);
                return;
            }
            packet.ecn = Ecn::Marked;
        }
        self.bytes += packet.size.0;
        self.waiting.push_back((packet, now));
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        self.advance(now);
        let (packet, since) = self.waiting.pop_front()?;
        self.bytes -= packet.size.0;
        self.qdelay = if self.waiting.is_empty() {
            Span::ZERO
        } else {
            now.since(since)
        };
        Some(packet)
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{Bytes, to_f64};

    use super::*;
    use crate::queue::{Buffer, Discipline};

    fn pie(text: &str) -> Pie {
        let discipline: Discipline = text.parse().unwrap();
        let context = Context {
            buffer: Buffer::UNLIMITED,
            packet: Bytes(1000),
            rate: None,
            seed: 3,
            hop: 0,
        };
        Pie::new(discipline.values(), &context)
    }

    fn packet(id: u64, ecn: Ecn) -> Packet {
        Packet {
            id,
            size: Bytes(1000),
            ecn,
            ..Packet::default()
        }
    }

    fn millis(at: u64) -> Time {
        Time::from_nanos(at * 1_000_000).unwrap()
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    }

    #[test]
    fn updates_follow_the_table() {
        // Made by hand with alpha = 0.125, beta = 1.25 and QDELAY_REF = 15 ms: delay (ms), probability before and after.
        // The step is 0.125 (delay − 0.015) + 1.25 (delay − old), scaled.
        for (old, delay, before, after) in [
            (15, 15, 0.3, 0.3),                        // at the target
            (15, 25, 0.3, 0.31375),                    // 0.00125 + 0.0125
            (25, 15, 0.3, 0.2875),                     // −0.0125
            (0, 0, 0.3, (0.3 - 0.001_875) * 0.98),     // decay
            (15, 25, 0.05, 0.056_875),                 // / 2
            (15, 25, 0.005, 0.006_718_75),             // / 8
            (15, 25, 0.0005, 0.000_929_687_5),         // / 32
            (15, 25, 0.00005, 0.000_157_421_875),      // / 128
            (15, 25, 0.000_005, 0.000_031_855_468_75), // / 512
            (15, 25, 0.0, 0.000_006_713_867_187_5),    // / 2048
            (100, 0, 0.05, 0.0),                       // never below 0
            (0, 900, 0.5, 1.0),                        // never above 1
        ] {
            let mut pie = pie("pie");
            pie.waiting
                .push_back((packet(0, Ecn::NotCapable), Time::ZERO));
            pie.qdelay = Span::from_millis(delay);
            pie.qdelay_old = Span::from_millis(old);
            pie.drop_prob = before;
            pie.calculate_drop_prob();
            assert_close(pie.drop_prob, after);
            assert_eq!(pie.qdelay_old, Span::from_millis(delay));
        }
    }

    #[test]
    fn the_timer_makes_every_step() {
        // One packet per 10 ms arrives and leaves after 40 ms. Steps of 15 ms from the first arrival, at 5 ms.
        let (mut lazy, mut dropped) = (pie("pie:burst=30ms"), Vec::new());
        let mut steps = pie("pie:burst=30ms");
        let mut next = 20;
        for id in 0..100 {
            let now = 5 + id * 10;
            while next <= now {
                steps.calculate_drop_prob();
                next += 15;
            }
            lazy.enqueue(millis(now), packet(id, Ecn::NotCapable), &mut dropped);
            steps
                .waiting
                .push_back((packet(id, Ecn::NotCapable), millis(now)));
            if id >= 4 {
                lazy.dequeue(millis(now), &mut dropped).unwrap();
                steps.waiting.pop_front();
                steps.qdelay = Span::from_millis(40);
            }
            lazy.bytes = 0; // never drops early
            assert_close(lazy.drop_prob, steps.drop_prob);
            assert_eq!(lazy.burst_allowance, steps.burst_allowance, "{id}");
            lazy.bytes = 1_000_000;
        }
        assert!(lazy.drop_prob > 0.0);
        assert_eq!(lazy.burst_allowance, Span::ZERO);
    }

    #[test]
    fn steps_that_change_nothing_are_skipped_with_the_same_phase() {
        let mut pie = pie("pie");
        pie.advance(millis(1));
        pie.advance(millis(1_000_000_007));
        // 1 + 15 n, after 10^9 + 7.
        assert_eq!(pie.next_update, Some(millis(1_000_000_021)));
    }

    #[test]
    fn bursts_short_queues_and_low_delays_are_spared() {
        let full = |drop_prob| {
            let mut pie = pie("pie");
            pie.burst_allowance = Span::ZERO;
            pie.drop_prob = drop_prob;
            pie.qdelay_old = Span::from_millis(20);
            (0..3).for_each(|id| {
                pie.waiting
                    .push_back((packet(id, Ecn::NotCapable), Time::ZERO));
            });
            pie.bytes = 3000;
            pie
        };
        let is_dropped = |mut pie: Pie, ecn| {
            let mut dropped = Vec::new();
            pie.enqueue(Time::ZERO, packet(9, ecn), &mut dropped);
            (!dropped.is_empty(), pie.waiting.back().unwrap().0.ecn)
        };
        assert!(is_dropped(full(1.0), Ecn::NotCapable).0);
        assert!(is_dropped(full(1.0), Ecn::Capable).0, "above 10 %");
        let mut spared = full(1.0);
        spared.burst_allowance = Span::from_millis(1);
        assert!(!is_dropped(spared, Ecn::NotCapable).0);
        let mut spared = full(1.0);
        spared.bytes = 2000;
        assert!(!is_dropped(spared, Ecn::NotCapable).0);
        let low = |drop_prob| {
            let mut pie = full(drop_prob);
            pie.qdelay_old = Span::from_millis(7);
            let hits = (0..2000).filter(|_| pie.drop_early()).count();
            to_f64(hits as u64) / 2000.0
        };
        assert_close(low(0.19), 0.0);
        assert!((low(0.2) - 0.2).abs() < 0.04);
        // At 10 % capable packets are marked, never dropped.
        let mut pie = full(0.1);
        let mut dropped = Vec::new();
        for id in 0..200 {
            pie.enqueue(Time::ZERO, packet(id, Ecn::Capable), &mut dropped);
        }
        let marked = pie.waiting.iter().filter(|(it, _)| it.ecn == Ecn::Marked);
        assert!((5..40).contains(&marked.count()));
        assert_eq!(dropped, []);
    }

    #[test]
    fn the_last_packet_of_a_queue_leaves_no_delay_behind() {
        // It waits 50 ms; another one comes at once, and nothing is taken before the update. As in Linux (pie_process_dequeue):
        // what the last packet waited says nothing of the one that waits now.
        let mut pie = pie("pie");
        pie.enqueue(Time::ZERO, packet(0, Ecn::NotCapable), &mut Vec::new());
        pie.dequeue(millis(50), &mut Vec::new());
        pie.enqueue(millis(50), packet(1, Ecn::NotCapable), &mut Vec::new());
        pie.advance(millis(70));
        assert_eq!(pie.qdelay_old, Span::ZERO);
        // One that leaves a packet behind does.
        pie.enqueue(millis(70), packet(2, Ecn::NotCapable), &mut Vec::new());
        pie.dequeue(millis(80), &mut Vec::new());
        pie.advance(millis(100));
        assert_eq!(pie.qdelay_old, Span::from_millis(30));
    }
}

//! RED (Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM Trans. Netw. 1(4), 1993,
//! Fig. 2), with ECN marking (RFC 3168) of capable packets and the gentle mode (Floyd, "Recommendation on using the gentle
//! variant of RED", 2000).
//!
//! The paper's pseudocode, whose names are kept:
//!
//! ```text
//! for each packet arrival
//!     if the queue is nonempty: avg ← (1 − wq) avg + wq q
//!     else: m ← (time − q_time) / s; avg ← (1 − wq)^m avg
//!     if minth ≤ avg < maxth: count ← count + 1
//!         pb ← maxp (avg − minth) / (maxth − minth); pa ← pb / (1 − count · pb)
//!         with probability pa: mark the packet, count ← 0
//!     else if maxth ≤ avg: mark the packet, count ← 0
//!     else count ← −1
//! when the queue becomes empty: q_time ← time
//! ```
//!
//! To mark a packet is to set its ECN field if it is capable, else to drop it, as the paper leaves open. q counts the packets that
//! wait, or their bytes, without the one in service. s is the time that the link takes for a usual packet at its mean rate; if
//! that rate is unknown, the average stays as it is while the queue is empty. In bytes, pb is also multiplied by size / usual size
//! (Sec. VII). In gentle mode pb grows from maxp to 1 between maxth and 2 maxth.

use std::collections::VecDeque;

use tmt_core::math::num::pow;
use tmt_core::math::rng::Uniform;
use tmt_core::named::{Parameter, Values};
use tmt_core::types::{Time, to_f64};

use super::{Context, Entry, Make, Queue};
use crate::packet::{Ecn, Packet};

/// RED as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "red",
    about: "also drops arriving packets at random, or marks them, the more the longer the average queue (Floyd 1993)",
    parameters: &[
        // The values that the paper uses in its simulations (Sec. V) with maxth = 3 minth (Sec. XI).
        Parameter::number("min-th", 5.0, 0.0, 1e12),
        Parameter::number("max-th", 15.0, 0.0, 1e12),
        Parameter::number("w-q", 0.002, 1e-9, 1.0),
        Parameter::number("max-p", 0.02, 0.0, 1.0),
        Parameter::keyword("unit", &["packets", "bytes"]),
        Parameter::switch("gentle", false),
    ],
    examples: &[
        "red",
        "red:min-th=2,max-th=8,max-p=0.1,gentle=on",
        "red:min-th=4,max-th=13,w-q=0.01,unit=bytes",
    ],
    make: Make {
        marks: true,
        by_flow: false,
        draws: true,
        refuses: contradiction,
        queue: |parameters, context| Box::new(Red::new(parameters, context)),
    },
};

/// Refuses thresholds between which there is nothing.
fn contradiction(parameters: &Values) -> Option<String> {
    let [min, max] = ["min-th", "max-th"].map(|name| parameters.number(name));
    (min >= max)
        .then(|| format!("found min-th={min} and max-th={max}, expected min-th below max-th"))
}

/// State of RED. The names are those of the paper.
#[derive(Debug)]
pub struct Red {
    min_th: f64,
    max_th: f64,
    w_q: f64,
    max_p: f64,
    gentle: bool,
    /// Size of a usual packet, bytes, if thresholds and queue are in bytes.
    usual_bytes: Option<f64>,
    /// Usual packets that the link serves in a second (1/s); `None` if its rate is unknown.
    served_per_s: Option<f64>,
    waiting: VecDeque<Packet>,
    bytes: u64,
    avg: f64,
    /// Packets since the last one that was marked; `None` is −1 of the paper.
    count: Option<u64>,
    /// Time at which the queue became empty.
    q_time: Time,
    random: Uniform,
    /// Random numbers drawn so far.
    drawn: u64,
}

impl Red {
    /// An empty queue with these parameters of [`ENTRY`].
    pub(crate) fn new(parameters: &Values, context: &Context) -> Self {
        let usual_bits = to_f64(context.packet.0.saturating_mul(8).max(1));
        let in_bytes = parameters.word("unit") == "bytes";
        let threshold =
            |name| parameters.number(name) * if in_bytes { usual_bits / 8.0 } else { 1.0 };
        Self {
            min_th: threshold("min-th"),
            max_th: threshold("max-th"),
            w_q: parameters.number("w-q"),
            max_p: parameters.number("max-p"),
            gentle: parameters.is_on("gentle"),
            usual_bytes: in_bytes.then_some(usual_bits / 8.0),
            served_per_s: context.rate.map(|rate| to_f64(rate.0) / usual_bits),
            waiting: VecDeque::new(),
            bytes: 0,
            avg: 0.0,
            count: None,
            q_time: Time::ZERO,
            random: context.random("red"),
            drawn: 0,
        }
    }

    /// Updates the average when a packet arrives.
    fn on_arrival(&mut self, now: Time) {
        if self.waiting.is_empty() {
            let idle_s = now.since(self.q_time).as_secs_f64();
            let m = idle_s * self.served_per_s.unwrap_or(0.0);
            self.avg *= pow(1.0 - self.w_q, m);
            // The idle time counts once, also if this packet is dropped.
            self.q_time = now;
        } else {
            let in_bytes = self.usual_bytes.is_some();
            let q = if in_bytes {
                self.bytes
            } else {
                self.waiting.len() as u64
            };
            self.avg += self.w_q * (to_f64(q) - self.avg);
        }
    }

    /// The probability pb for the average; `None` below the lower threshold.
    fn base_probability(&self) -> Option<f64> {
        if self.avg < self.min_th {
            None
        } else if self.avg < self.max_th {
            Some(self.max_p * (self.avg - self.min_th) / (self.max_th - self.min_th))
        } else if self.gentle && self.avg < 2.0 * self.max_th {
            Some(self.max_p + (1.0 - self.max_p) * (self.avg - self.max_th) / self.max_th)
        } else {
            Some(1.0)
        }
    }

    /// Whether to mark the packet that has just arrived.
    fn is_marked(&mut self, packet: &Packet) -> bool {
        let Some(base) = self.base_probability() else {
            self.count = None;
            return false;
        };
        let count = self.count.map_or(0, |count| count + 1);
        let size = self.usual_bytes;
        let share = size.map_or(1.0, |usual| to_f64(packet.size.0) / usual);
        // At or above the upper threshold every packet is marked, of any size.
        let p_b = if base < 1.0 { base * share } else { base };
        self.drawn += 1;
        // u < pb / (1 − count · pb), which is 1 from count · pb ≥ 1 on.
        let is_marked = self.random.at(self.drawn - 1) * (1.0 - to_f64(count) * p_b) < p_b;
        self.count = Some(if is_marked { 0 } else { count });
        is_marked
    }
}

impl Queue for Red {
    fn enqueue(&mut self, now: Time, mut packet: Packet, dropped: &mut Vec<Packet>) {
        self.on_arrival(now);
        if self.is_marked(&packet) {
            if packet.ecn == Ecn::NotCapable {
                dropped.push(packet);
                return;
            }
            packet.ecn = Ecn::Marked;
        }
        self.bytes += packet.size.0;
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: Time, _dropped: &mut Vec<Packet>) -> Option<Packet> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.size.0;
        if self.waiting.is_empty() {
            self.q_time = now;
        }
        Some(packet)
    }

    fn waiting(&self) -> u64 {
        self.waiting.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{BitRate, Bytes, Span};

    use super::*;
    use crate::queue::{Buffer, Discipline};

    fn red(text: &str) -> Red {
        let discipline: Discipline = text.parse().unwrap();
        let context = Context {
            buffer: Buffer::UNLIMITED,
            packet: Bytes(1000),
            // A packet of 1000 B takes 1 ms.
            rate: Some(BitRate(8_000_000)),
            seed: 7,
            hop: 0,
        };
        Red::new(discipline.values(), &context)
    }

    fn packet(id: u64, size: u64, ecn: Ecn) -> Packet {
        Packet {
            id,
            size: Bytes(size),
            ecn,
            ..Packet::default()
        }
    }

    fn millis(at: u64) -> Time {
        Time::from_nanos(at * 1_000_000).unwrap()
    }

    #[track_caller]
    fn assert_close(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
    }

    #[test]
    fn the_average_follows_the_table() {
        // w_q = 1/4, made by hand. Arrivals at t ms; the third column is q when the packet arrives.
        let mut red = red("red:min-th=100,max-th=300,w-q=0.25");
        let mut dropped = Vec::new();
        let mut arrive = |red: &mut Red, at, expected| {
            red.enqueue(millis(at), packet(at, 1000, Ecn::NotCapable), &mut dropped);
            assert_close(red.avg, expected);
        };
        arrive(&mut red, 0, 0.0); // empty, average 0
        arrive(&mut red, 1, 0.25); // q = 1
        arrive(&mut red, 2, 0.6875); // q = 2: 0.75 · 0.25 + 0.25 · 2
        arrive(&mut red, 3, 1.265_625); // q = 3
        for at in 4..8 {
            red.dequeue(millis(at), &mut Vec::new()).unwrap();
        }
        // Empty since 7 ms. At 9 ms two packets could have been served: 1.265625 · 0.75².
        arrive(&mut red, 9, 0.711_914_062_5);
        red.dequeue(millis(9), &mut Vec::new());
        // Half a service time: 0.7119140625 · √0.75.
        red.enqueue(
            Time::from_nanos(9_500_000).unwrap(),
            packet(99, 1000, Ecn::NotCapable),
            &mut Vec::new(),
        );
        assert_close(red.avg, 0.711_914_062_5 * 0.75f64.sqrt());
    }

    #[test]
    fn the_average_is_a_sum_over_all_arrivals() {
        // While the queue is never empty, avg_n = Σ wq (1 − wq)^(n − i) q_i, summed here in another order.
        let w = 0.002;
        let mut red = red("red:min-th=1000000,max-th=3000000");
        let mut lengths = Vec::new();
        for id in 0..3000u64 {
            lengths.push(to_f64(red.waiting()));
            red.enqueue(
                millis(id),
                packet(id, 1000, Ecn::NotCapable),
                &mut Vec::new(),
            );
            if id % 3 > 0 && id % 700 > 100 && red.waiting() > 1 {
                red.dequeue(millis(id), &mut Vec::new());
            }
        }
        let last = lengths.len() - 1;
        let terms = (0..=last).rev().map(|i| {
            let weight = (1..=last - i).fold(w, |weight, _| weight * (1.0 - w));
            weight * lengths[i]
        });
        assert_close(red.avg, terms.sum());
        assert!(red.avg > 10.0, "{}", red.avg);
    }

    #[test]
    fn probabilities_follow_the_two_thresholds() {
        for (text, avg, expected) in [
            ("red", 4.999, None),
            ("red", 5.0, Some(0.0)),
            ("red", 10.0, Some(0.01)),
            ("red", 15.0, Some(1.0)),
            ("red:gentle=on", 15.0, Some(0.02)),
            ("red:gentle=on", 22.5, Some(0.51)),
            ("red:gentle=on", 30.0, Some(1.0)),
        ] {
            let red = Red { avg, ..red(text) };
            match (red.base_probability(), expected) {
                (Some(found), Some(expected)) => assert_close(found, expected),
                (found, expected) => assert_eq!(found, expected, "{text} at {avg}"),
            }
        }
    }

    /// Gaps between marked packets while the average stays at `avg`.
    fn gaps(text: &str, avg: f64, size: u64, packets: u64) -> Vec<u64> {
        let mut red = red(text);
        let (mut gaps, mut gap) = (Vec::new(), 0);
        for id in 0..packets {
            red.avg = avg;
            gap += 1;
            if red.is_marked(&packet(id, size, Ecn::Capable)) {
                gaps.push(gap);
                gap = 0;
            }
        }
        gaps
    }

    #[test]
    fn gaps_between_marks_are_uniform() {
        // Sec. VII, method 2: with pb = 0.01 the gap is uniform on 1 … 100, after the first packet with count 0.
        let gaps = gaps("red", 10.0, 1000, 400_000);
        assert!(gaps.iter().all(|gap| (1..=100).contains(gap)));
        let number = to_f64(gaps.len() as u64);
        let mean = to_f64(gaps.iter().sum()) / number;
        // The count begins at 1 after a mark: uniform on 1 … 99 or 100. Standard error 28.9 / √7900 = 0.33.
        assert!((mean - 50.0).abs() < 1.5, "{mean}");
        for quarter in 0..4 {
            let inside = gaps.iter().filter(|gap| (**gap - 1) / 25 == quarter);
            let share = to_f64(inside.count() as u64) / number;
            assert!((share - 0.25).abs() < 0.025, "{quarter}: {share}");
        }
    }

    #[test]
    fn in_bytes_a_packet_counts_by_its_size() {
        let text = "red:min-th=5,max-th=15,unit=bytes";
        let mean = |size| {
            let gaps = gaps(text, 10_000.0, size, 400_000);
            to_f64(gaps.iter().sum()) / to_f64(gaps.len() as u64)
        };
        // pb = 0.01 for 1000 B and 0.001 for 100 B.
        assert!((mean(1000) - 50.0).abs() < 1.5, "{}", mean(1000));
        assert!((mean(100) - 500.0).abs() < 50.0, "{}", mean(100));
        let mut red = red(text);
        for id in 0..3 {
            red.enqueue(
                Time::ZERO,
                packet(id, 400, Ecn::NotCapable),
                &mut Vec::new(),
            );
        }
        // (1 − w) w 400 + w 800.
        assert_close(red.avg, 0.998 * 0.8 + 1.6);
    }

    #[test]
    fn an_idle_period_counts_once() {
        // A link of 1000 B a second and nothing for 100 s. The average stays above the upper threshold: both packets are dropped.
        let mut red = Red {
            avg: 20.0,
            served_per_s: Some(1.0),
            ..red("red")
        };
        let mut dropped = Vec::new();
        let at = |second: u32| Time::ZERO.saturating_add(Span::from_secs(second));
        red.enqueue(at(100), packet(0, 1000, Ecn::NotCapable), &mut dropped);
        assert_close(red.avg, 20.0 * pow(0.998, 100.0));
        red.enqueue(at(102), packet(1, 1000, Ecn::NotCapable), &mut dropped);
        assert_eq!(dropped.len(), 2);
        assert_close(red.avg, 20.0 * pow(0.998, 102.0));
    }

    #[test]
    fn thresholds_without_a_range_are_refused() {
        for (text, is_refused) in [
            ("red", false),
            ("red:min-th=15", true),
            ("red:min-th=20", true),
        ] {
            let discipline: Discipline = text.parse().unwrap();
            let why = (discipline.entry().make.refuses)(discipline.values());
            assert_eq!(why.is_some(), is_refused, "{text}: {why:?}");
        }
    }

    #[test]
    fn capable_packets_are_marked_and_others_dropped() {
        for (ecn, marks) in [(Ecn::Capable, 1), (Ecn::NotCapable, 0)] {
            let mut red = Red {
                avg: 20.0,
                ..red("red:w-q=1e-9")
            };
            let mut dropped = Vec::new();
            red.waiting.push_back(packet(0, 1000, ecn));
            red.bytes = 1000;
            red.enqueue(Time::ZERO, packet(1, 1000, ecn), &mut dropped);
            assert_eq!(dropped.len(), 1 - marks);
            let marked = red.waiting.iter().filter(|it| it.ecn == Ecn::Marked);
            assert_eq!(marked.count(), marks);
        }
    }
}

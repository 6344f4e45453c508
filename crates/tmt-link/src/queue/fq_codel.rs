//! FQ-CoDel (RFC 8290, Sec. 4): packets are hashed by their flow into queues, which take turns by deficit round robin, new
//! queues first; each queue is a [`CoDel`] of its own.
//!
//! The algorithm of Sec. 4.1 and 4.2, in its words:
//!
//! ```text
//! enqueue: append to the queue of the flow; if it is on no list: credits ← quantum, append it to the new queues
//!     if the buffer is full: drop half of the packets, at most 64, from the head of the queue with the most bytes
//! dequeue: take the first new queue, else the first old one
//!     if its credits are ≤ 0: credits ← credits + quantum, append it to the old queues, and begin again
//!     take a packet by CoDel; if none is left: append a new queue to the old ones, remove an old one; begin again
//!     credits ← credits − size of the packet
//! ```
//!
//! The quantum is a full packet of the run unless it is given: 1514 B in Sec. 5.2.4 are the MTU of Ethernet and its header, which
//! counts in the size of a packet there, as in Linux, and not here. With 14 B more than a full packet, each new queue would send two
//! in its first turn.
//!
//! The hash is of the number of the flow, which stands for its five-tuple, with a perturbation from the seed of the run. The packet
//! that finds the buffer full counts as one of its queue; if it is the only one there and that queue has the most bytes, it is
//! refused.

use std::collections::VecDeque;

use tmt_core::named::{Kind, Parameter, Value, Values};
use tmt_core::types::{Bytes, Span, Time};

use super::codel::CoDel;
use super::{Context, Entry, Make, Queue};
use crate::packet::Packet;

/// FQ-CoDel (RFC 8290) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "fq-codel",
    about: "a queue with CoDel for each flow, which take turns (RFC 8290)",
    parameters: &[
        // As CoDel; then the quantum and the number of queues of RFC 8290, Sec. 5.2.4 and 5.2.5.
        Parameter::duration("target", Span::from_millis(5)),
        Parameter::duration("interval", Span::from_millis(100)),
        Parameter::optional(
            "quantum",
            Kind::Size,
            "what a flow may send in its turn, else a full packet",
        ),
        Parameter::preset("flows", Kind::Count(1, 65_536), Value::Count(1024)),
    ],
    examples: &[
        "fq-codel",
        "fq-codel:target=20ms,interval=200ms,quantum=300B,flows=2",
    ],
    make: Make {
        marks: true,
        by_flow: true,
        draws: true,
        refuses: |_| None,
        queue: |parameters, context| Box::new(FqCoDel::new(parameters, context)),
    },
};

/// Most packets that a full buffer drops at once (RFC 8290, Sec. 4.1).
const MOST_DROPPED: u64 = 64;

/// The queue of the flows with one hash.
#[derive(Debug, Default)]
struct FlowQueue {
    codel: CoDel,
    /// Bytes that it may still send in its turn; negative if it has sent more.
    credits: i64,
    /// Whether it is on one of the lists.
    is_listed: bool,
}

/// State of FQ-CoDel.
#[derive(Debug)]
pub struct FqCoDel {
    quantum: i64,
    perturbation: u64,
    queues: Vec<FlowQueue>,
    /// Numbers of the queues on the two lists, the next first.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    waiting: u64,
    /// Packets that a full buffer drops and that have not been returned.
    shed: VecDeque<Packet>,
}

impl FqCoDel {
    /// An empty queue with these parameters of [`ENTRY`].
    pub(crate) fn new(parameters: &Values, context: &Context) -> Self {
        let queue = || FlowQueue {
            // One MAXPACKET for all flows: small packets of one are no standing queue.
            codel: CoDel::of(parameters).with_largest(context.packet),
            ..FlowQueue::default()
        };
        let number = parameters.count("flows");
        let quantum = match parameters.get("quantum") {
            Some(Value::Size(quantum)) => *quantum,
            _ => context.packet,
        };
        Self {
            quantum: size(quantum).max(1),
            perturbation: context.random("fq-codel").at(0).to_bits(),
            queues: (0..number).map(|_| queue()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: 0,
            shed: VecDeque::new(),
        }
    }

    /// Number of the queue of a flow: the finaliser of SplitMix64 over flow and perturbation.
    fn queue_of(&self, flow: u32) -> usize {
        let mut hash = self.perturbation ^ u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        let number = hash % (self.queues.len() as u64).max(1);
        usize::try_from(number).unwrap_or(0)
    }

    /// Removes packets from the queue with the most bytes, `packet` included, which has arrived.
    fn shed(&mut self, packet: &Packet) {
        let own = self.queue_of(packet.flow);
        let bytes = self.queues.iter().enumerate().map(|(number, queue)| {
            let arriving = if number == own { packet.size.0 } else { 0 };
            queue.codel.bytes() + arriving
        });
        // The first of those with as many.
        let most = bytes.enumerate().rev().max_by_key(|(_, bytes)| *bytes);
        let Some((fattest, _)) = most else { return };
        let Some(queue) = self.queues.get_mut(fattest) else {
            return;
        };
        let packets = queue.codel.waiting() + u64::from(fattest == own);
        let half = packets.div_euclid(2);
        for _ in 0..half.clamp(1, MOST_DROPPED) {
            if let Some(victim) = queue.codel.drop_head() {
                self.waiting -= 1;
                self.shed.push_back(victim);
            }
        }
    }
}

/// A size as credits.
fn size(bytes: Bytes) -> i64 {
    i64::try_from(bytes.0).unwrap_or(i64::MAX)
}

impl Queue for FqCoDel {
    fn enqueue(&mut self, now: Time, packet: Packet, dropped: &mut Vec<Packet>) {
        dropped.extend(self.shed.drain(..));
        let number = self.queue_of(packet.flow);
        let Some(queue) = self.queues.get_mut(number) else {
            return;
        };
        queue.codel.enqueue(now, packet, dropped);
        self.waiting += 1;
        if !std::mem::replace(&mut queue.is_listed, true) {
            queue.credits = self.quantum;
            self.new.push_back(number);
        }
    }

    fn dequeue(&mut self, now: Time, dropped: &mut Vec<Packet>) -> Option<Packet> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let queue = self.queues.get_mut(number)?;
            if queue.credits <= 0 {
                queue.credits = queue.credits.saturating_add(self.quantum);
                list.pop_front();
                self.old.push_back(number);
                continue;
            }
            let before = dropped.len();
            let packet = queue.codel.dequeue(now, dropped);
            self.waiting -= (dropped.len() - before) as u64;
            let Some(packet) = packet else {
                list.pop_front();
                if is_new {
                    self.old.push_back(number);
                } else {
                    queue.is_listed = false;
                }
                continue;
            };
            queue.credits = queue.credits.saturating_sub(size(packet.size));
            self.waiting -= 1;
            return Some(packet);
        }
    }

    fn make_room(&mut self, _now: Time, packet: &Packet) -> Option<Packet> {
        if self.shed.is_empty() {
            self.shed(packet);
        }
        self.shed.pop_front()
    }

    fn waiting(&self) -> u64 {
        self.waiting
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::{Buffer, Discipline};

    fn fq(text: &str, seed: u64) -> FqCoDel {
        let discipline: Discipline = text.parse().unwrap();
        let context = Context {
            buffer: Buffer::UNLIMITED,
            packet: Bytes(1000),
            rate: None,
            seed,
            hop: 0,
        };
        FqCoDel::new(discipline.values(), &context)
    }

    fn packet(id: u64, flow: u32, size: u64) -> Packet {
        Packet {
            id,
            flow,
            size: Bytes(size),
            ..Packet::default()
        }
    }

    /// Flows 0, 1, 2 … that have queues of their own.
    fn apart(fq: &FqCoDel, number: usize) -> Vec<u32> {
        let mut flows: Vec<u32> = Vec::new();
        for flow in 0.. {
            let is_taken = |other: &&u32| fq.queue_of(**other) == fq.queue_of(flow);
            if flows.iter().find(is_taken).is_none() {
                flows.push(flow);
            }
            if flows.len() == number {
                break;
            }
        }
        flows
    }

    fn drain(fq: &mut FqCoDel) -> Vec<u64> {
        let mut dropped = Vec::new();
        let all = std::iter::from_fn(|| fq.dequeue(Time::ZERO, &mut dropped));
        let ids = all.map(|packet| packet.id).collect();
        assert_eq!(dropped, []);
        ids
    }

    #[test]
    fn turns_follow_the_table() {
        // Quantum 1500 B, made by hand. Flow a has packets 0 to 3 of 1000 B, b has 10 to 13 of 500 B, c has 20 of 1500 B.
        let mut fq = fq("fq-codel:quantum=1500B", 1);
        let flows = apart(&fq, 4);
        let [a, b, c, d] = flows[..] else { panic!() };
        let mut none = Vec::new();
        let packets = (0..4).map(|i| packet(i, a, 1000));
        let packets = packets.chain((10..14).map(|i| packet(i, b, 500)));
        for packet in packets.chain([packet(20, c, 1500)]) {
            fq.enqueue(Time::ZERO, packet, &mut none);
        }
        assert_eq!((fq.waiting(), &none[..]), (9, &[][..]));
        // a: 1500 → 500 → −500, to the old queues with 1000. b: three packets → 0, to the old queues with 1500. c: 0.
        // a: 1000 → 0, old with 1500. b: one packet → 1000. Then c is empty, a has its last one.
        let mut order: Vec<u64> = (0..5)
            .map(|_| fq.dequeue(Time::ZERO, &mut none).unwrap().id)
            .collect();
        assert_eq!(order, [0, 1, 10, 11, 12]);
        // A flow that begins now goes before the old ones, but after c, which is still new.
        fq.enqueue(Time::ZERO, packet(30, d, 100), &mut none);
        order = drain(&mut fq);
        assert_eq!(order, [20, 30, 2, 13, 3]);
        assert_eq!(fq.waiting(), 0);
        assert!(fq.queues.iter().all(|queue| !queue.is_listed));
        // All lists are empty: the flow is new again, with a full quantum.
        fq.enqueue(Time::ZERO, packet(40, a, 100), &mut none);
        assert_eq!((fq.new.len(), fq.old.len()), (1, 0));
    }

    #[test]
    fn a_full_packet_takes_a_whole_turn() {
        // Flow a is new with two full packets when a packet of b arrives; b waits for one of them, as it would on Ethernet, where
        // quantum and packet both have 14 B more.
        let mut fq = fq("fq-codel", 1);
        let [a, b] = apart(&fq, 2)[..] else { panic!() };
        let mut none = Vec::new();
        for packet in [packet(0, a, 1000), packet(1, a, 1000), packet(10, b, 200)] {
            fq.enqueue(Time::ZERO, packet, &mut none);
        }
        assert_eq!(drain(&mut fq), [0, 10, 1]);
    }

    #[test]
    fn a_new_queue_that_runs_empty_waits_behind_the_old_ones() {
        // Otherwise a flow could stay new for ever by sending single packets (RFC 8290, Sec. 4.2).
        let mut fq = fq("fq-codel:quantum=1000B", 1);
        let [a, b] = apart(&fq, 2)[..] else { panic!() };
        let mut none = Vec::new();
        (0..4).for_each(|i| fq.enqueue(Time::ZERO, packet(i, a, 1000), &mut none));
        assert_eq!(fq.dequeue(Time::ZERO, &mut none).unwrap().id, 0);
        assert_eq!(fq.dequeue(Time::ZERO, &mut none).unwrap().id, 1);
        fq.enqueue(Time::ZERO, packet(10, b, 100), &mut none);
        assert_eq!(fq.dequeue(Time::ZERO, &mut none).unwrap().id, 10);
        // b is found empty and becomes old; its next packet waits for a's turn.
        assert_eq!(fq.dequeue(Time::ZERO, &mut none).unwrap().id, 2);
        fq.enqueue(Time::ZERO, packet(11, b, 100), &mut none);
        assert_eq!(drain(&mut fq), [11, 3]);
    }

    #[test]
    fn a_full_buffer_drops_half_of_the_fattest_queue_from_its_head() {
        let mut fq = fq("fq-codel", 1);
        let [thin, fat] = apart(&fq, 2)[..] else {
            panic!()
        };
        let mut none = Vec::new();
        (0..10).for_each(|i| fq.enqueue(Time::ZERO, packet(i, thin, 100), &mut none));
        (10..15).for_each(|i| fq.enqueue(Time::ZERO, packet(i, fat, 1000), &mut none));
        // Half of 5, rounded down: 2. The rest comes with the packet that arrives.
        let arriving = packet(20, thin, 100);
        assert_eq!(fq.make_room(Time::ZERO, &arriving).unwrap().id, 10);
        let mut dropped = Vec::new();
        fq.enqueue(Time::ZERO, arriving, &mut dropped);
        assert_eq!(dropped.iter().map(|it| it.id).collect::<Vec<_>>(), [11]);
        assert_eq!(fq.waiting(), 14);
        // A packet of the fattest queue counts as one of it: half of 3 + 1 is 2.
        let arriving = packet(21, fat, 1000);
        assert_eq!(fq.make_room(Time::ZERO, &arriving).unwrap().id, 12);
        dropped.clear();
        fq.enqueue(Time::ZERO, arriving, &mut dropped);
        assert_eq!(dropped.iter().map(|it| it.id).collect::<Vec<_>>(), [13]);
        // At most 64.
        (100..300).for_each(|i| fq.enqueue(Time::ZERO, packet(i, fat, 1000), &mut none));
        let victims = std::iter::from_fn(|| {
            let first = fq.shed.is_empty() && fq.waiting() > 160;
            first.then(|| fq.make_room(Time::ZERO, &packet(400, thin, 1)))?
        });
        assert_eq!(victims.count(), 1);
        assert_eq!(fq.shed.len(), 63);
    }

    #[test]
    fn a_packet_is_refused_if_it_is_all_of_the_fattest_queue() {
        let mut fq = fq("fq-codel", 1);
        let [a, b] = apart(&fq, 2)[..] else { panic!() };
        fq.enqueue(Time::ZERO, packet(0, a, 100), &mut Vec::new());
        assert_eq!(fq.make_room(Time::ZERO, &packet(1, b, 1000)), None);
        let found = fq.make_room(Time::ZERO, &packet(1, b, 99));
        assert_eq!(found.map(|it| it.id), Some(0));
        assert_eq!(fq.make_room(Time::ZERO, &packet(1, b, 99)), None);
    }

    #[test]
    fn the_seed_perturbs_the_hash() {
        let shared = |seed| {
            let fq = fq("fq-codel:flows=16", seed);
            (0..16).map(|flow| fq.queue_of(flow)).collect::<Vec<_>>()
        };
        assert_ne!(shared(1), shared(2));
        // 10 000 flows in 16 queues: 625 each, with a deviation of 24.
        let fq = fq("fq-codel:flows=16", 1);
        let mut counts = [0; 16];
        (0..10_000).for_each(|flow| counts[fq.queue_of(flow)] += 1);
        assert!(
            counts.iter().all(|count| (500..750).contains(count)),
            "{counts:?}"
        );
    }

    #[test]
    fn codel_works_in_each_queue_alone() {
        // Flow a holds a standing queue of 20 ms and more, b sends a packet every 10 ms that leaves at once.
        let mut fq = fq("fq-codel:quantum=1000B", 1);
        let [a, b] = apart(&fq, 2)[..] else { panic!() };
        let (mut dropped, mut served) = (Vec::new(), Vec::new());
        for step in 0..400u64 {
            let now = Time::from_nanos(step * 10_000_000).unwrap();
            for i in 0..3 {
                fq.enqueue(now, packet(step * 10 + i, a, 1000), &mut dropped);
            }
            fq.enqueue(now, packet(step * 10 + 9, b, 1000), &mut dropped);
            served.extend((0..2).filter_map(|_| fq.dequeue(now, &mut dropped)));
        }
        assert!(dropped.len() > 50 && dropped.iter().all(|it| it.flow == a));
        assert_eq!(served.iter().filter(|it| it.flow == b).count(), 400);
        assert_eq!(fq.waiting() + (dropped.len() + served.len()) as u64, 1600);
    }
}

//! Queue before the return path, where ACKs may be replaced while they wait (`--ack-filter`).

use std::collections::{HashMap, VecDeque};

use tmt_core::types::{Bytes, Time};
use tmt_link::Packet;
use tmt_link::queue::Buffer;

use super::ack_filter::Rule;
use crate::endpoint::receiver::Ack;

/// A packet that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) packet: Packet,
    /// The ACK, if it is one of TCP.
    pub(super) ack: Option<Ack>,
    /// Time at which it reached the queue.
    pub(super) since: Time,
    /// Whether it may replace another and be replaced.
    pure: bool,
    /// Number of ACKs that it is for.
    together: u64,
    /// Time from which on it may be sent.
    ready: Time,
}

/// Fate of a packet that reaches the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pushed {
    /// It waits.
    Queued,
    /// It waits in the place of another, which is gone.
    Replaced,
    /// There is no room for it.
    Refused,
}

/// First in, first out but for ACKs that are held back.
#[derive(Debug)]
pub(super) struct ReturnQueue {
    rule: Option<Rule>,
    buffer: Buffer,
    waiting: VecDeque<Waiting>,
    bytes: u64,
    /// Size of the packet in service and the end of its service.
    serving: Option<(Time, Bytes)>,
    /// The packet in service by a demand, and the start of its service.
    pub(super) in_service: Option<(Waiting, Time)>,
    /// By flow: packet expected next by its latest ACK.
    newest: HashMap<u32, u64>,
}

impl ReturnQueue {
    pub(super) fn new(rule: Option<Rule>, buffer: Buffer) -> Self {
        Self {
            rule,
            buffer,
            waiting: VecDeque::new(),
            bytes: 0,
            serving: None,
            in_service: None,
            newest: HashMap::new(),
        }
    }

    /// A packet reaches the queue.
    pub(super) fn push(&mut self, now: Time, packet: Packet, ack: Option<Ack>) -> Pushed {
        let pure = ack.is_some_and(|ack| self.is_pure(packet.flow, &ack));
        let rule = self.rule.filter(|_| pure);
        let mut arriving = Waiting {
            packet,
            ack,
            since: now,
            pure,
            together: 1,
            ready: match rule {
                Some(rule) if rule.together > 1 => now.saturating_add(rule.hold),
                _ => now,
            },
        };
        let mut of_flow = self.waiting.iter_mut().rev();
        let last = of_flow.find(|waiting| waiting.packet.flow == packet.flow);
        if let Some(last) = last {
            if let Some(rule) = rule.filter(|_| last.pure) {
                arriving.together += last.together;
                arriving.ready = last.ready;
                if arriving.together >= rule.together {
                    arriving.ready = arriving.ready.min(now);
                }
                *last = arriving;
                return Pushed::Replaced;
            }
            // Nothing of a flow overtakes what is held back.
            last.ready = last.ready.min(now);
        }
        self.serving = self.serving.filter(|(end, _)| *end > now);
        let (packets, bytes) = match self.serving {
            Some((_, size)) => (1, size.0),
            None => (0, 0),
        };
        let (packets, bytes) = match &self.in_service {
            Some((waiting, _)) => (1, waiting.packet.size.0),
            None => (packets, bytes),
        };
        let packets = packets + self.waiting.len() as u64;
        if !self
            .buffer
            .has_room(packets, bytes + self.bytes, packet.size)
        {
            return Pushed::Refused;
        }
        self.bytes += packet.size.0;
        self.waiting.push_back(arriving);
        Pushed::Queued
    }

    /// Whether an ACK acknowledges new data and carries nothing else.
    fn is_pure(&mut self, flow: u32, ack: &Ack) -> bool {
        let newest = self.newest.entry(flow).or_insert(0);
        let advances = ack.next > *newest;
        *newest = ack.next.max(*newest);
        let has_blocks = ack.blocks.iter().any(|(start, end)| start < end);
        advances && !has_blocks && !ack.dsack && !ack.ece && !ack.window_update
    }

    /// Bytes that wait and are not held back at `now`.
    pub(super) fn backlog(&self, now: Time) -> u64 {
        let ready = self.waiting.iter().filter(|waiting| waiting.ready <= now);
        ready.map(|waiting| waiting.packet.size.0).sum()
    }

    /// Time at which the next packet may be sent over a path that is free from `free` on.
    pub(super) fn due(&self, free: Time) -> Option<Time> {
        let ready = self.waiting.iter().map(|waiting| waiting.ready).min()?;
        Some(ready.max(free))
    }

    /// Removes the packet to be sent at `now`: the first that is ready.
    pub(super) fn pop(&mut self, now: Time) -> Option<Waiting> {
        let place = self
            .waiting
            .iter()
            .position(|waiting| waiting.ready <= now)?;
        let waiting = self.waiting.remove(place)?;
        self.bytes -= waiting.packet.size.0;
        Some(waiting)
    }

    /// The packet that was removed last is in service until `end`.
    pub(super) fn serve(&mut self, end: Time, size: Bytes) {
        self.serving = Some((end, size));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tmt_core::types::Span;
    use tmt_link::hop::{Event, Hop as _, ReturnHop, ReturnPath};

    use super::*;
    use crate::simulation::ack_filter::{Rule, rule};

    /// An ACK that arrives: gap before it in ms, flow, and what it is.
    #[derive(Debug, Clone, Copy)]
    enum What {
        New(u64),
        Duplicate,
        Sack,
        DSack,
        Echo,
        Window,
    }

    fn whats() -> impl Strategy<Value = What> {
        prop_oneof![
            4 => (1u64..4).prop_map(What::New),
            2 => Just(What::Duplicate),
            1 => Just(What::Sack),
            1 => Just(What::DSack),
            1 => Just(What::Echo),
            1 => Just(What::Window),
        ]
    }

    /// The ACKs of two flows, in order of arrival.
    fn acks(list: &[(u64, u32, What)]) -> Vec<(Time, u32, Ack)> {
        let (mut at, mut next) = (Time::ZERO, [0u64; 2]);
        let list = list.iter().map(|&(gap, flow, what)| {
            at = at.saturating_add(Span::from_nanos(gap * 1_000_000).unwrap());
            let next = &mut next[flow as usize];
            let mut ack = Ack::default();
            match what {
                What::New(more) => *next += more,
                What::Duplicate => {}
                What::Sack => ack.blocks[0] = (*next + 5, *next + 6),
                What::DSack => ack.dsack = true,
                What::Echo => {
                    *next += 1;
                    ack.ece = true;
                }
                What::Window => ack.window_update = true,
            }
            ack.next = *next;
            (at, flow, ack)
        });
        list.collect()
    }

    /// Sends the ACKs over a path of 8 kbit/s, on which one of 50 B takes 50 ms. Returns what leaves, with its time, and the
    /// numbers of those that were replaced and refused.
    fn send(
        rule: Option<Rule>,
        buffer: Buffer,
        acks: &[(Time, u32, Ack)],
    ) -> (Vec<(Time, u32, Ack)>, usize, usize) {
        let path = ReturnPath {
            rate: Some(tmt_core::types::BitRate(8000)),
            ..ReturnPath::default()
        };
        let mut hop = ReturnHop::new(&path, Time::ZERO);
        let mut queue = ReturnQueue::new(rule, buffer);
        let (mut sent, mut replaced, mut refused) = (Vec::new(), 0, 0);
        let mut serve = |queue: &mut ReturnQueue, until: Option<Time>| {
            while let Some(due) = queue.due(hop.free())
                && until.is_none_or(|until| due <= until)
            {
                let waiting = queue.pop(due).unwrap();
                let served = hop.push_late(due, waiting.since, waiting.packet);
                let Some(Event::Served(packet, service)) = served else {
                    panic!("it has no queue");
                };
                queue.serve(service.end, packet.size);
                sent.push((service.arrival.unwrap(), packet.flow, waiting.ack.unwrap()));
            }
        };
        for &(at, flow, ack) in acks {
            serve(&mut queue, Some(at));
            let packet = Packet {
                flow,
                size: Bytes(50),
                ..Packet::default()
            };
            match queue.push(at, packet, Some(ack)) {
                Pushed::Queued => {}
                Pushed::Replaced => replaced += 1,
                Pushed::Refused => refused += 1,
            }
            serve(&mut queue, Some(at));
        }
        serve(&mut queue, None);
        (sent, replaced, refused)
    }

    proptest! {
        /// For all arrivals: all that is not pure arrives, in order; each flow's ACKs keep their order; the newest cumulative ACK
        /// arrives; and the sender counts every duplicate.
        #[test]
        fn only_pure_acks_are_replaced(
            list in prop::collection::vec((0u64..80, 0u32..2, whats()), 1..60),
            filter in prop::sample::select(vec!["filter", "thin:n=2,hold=10ms", "thin:n=4,hold=300ms"]),
        ) {
            let acks = acks(&list);
            let (sent, replaced, refused) = send(rule(&filter.parse().unwrap()), Buffer::UNLIMITED, &acks);
            prop_assert_eq!((sent.len() + replaced, refused), (acks.len(), 0));
            for flow in 0..2u32 {
                let of = |list: &[(Time, u32, Ack)]| -> Vec<Ack> {
                    list.iter().filter(|it| it.1 == flow).map(|it| it.2).collect()
                };
                let (before, after) = (of(&acks), of(&sent));
                // A subsequence: nothing is reordered or invented.
                let mut rest = before.iter();
                prop_assert!(after.iter().all(|ack| rest.any(|one| one == ack)));
                prop_assert_eq!(before.last().map(|ack| ack.next), after.last().map(|ack| ack.next));
                let marked = |ack: &&Ack| ack.dsack || ack.ece || ack.window_update || ack.blocks[0] != (0, 0);
                let special = |list: &[Ack]| -> Vec<Ack> { list.iter().filter(marked).copied().collect() };
                prop_assert_eq!(special(&before), special(&after));
                // By number expected next, how many ACKs repeat it: duplicates as the sender counts them.
                let repeats = |list: &[Ack]| {
                    let mut repeats = std::collections::BTreeMap::new();
                    for pair in list.windows(2).filter(|pair| pair[0].next == pair[1].next) {
                        *repeats.entry(pair[0].next).or_insert(0) += 1;
                    }
                    repeats
                };
                prop_assert_eq!(repeats(&before), repeats(&after));
            }
        }

        /// Without a rule the queue is that of a return path that knows its departures ahead: the same ACKs arrive, at the
        /// same times, and the same are refused.
        #[test]
        fn without_a_rule_it_is_the_drop_tail_queue(
            list in prop::collection::vec((0u64..80, 0u32..2, whats()), 1..60),
            room in 1u64..6,
        ) {
            let acks = acks(&list);
            let buffer = Buffer::Packets(room);
            let path = ReturnPath { rate: Some(tmt_core::types::BitRate(8000)), buffer, ..ReturnPath::default() };
            let mut hop = ReturnHop::new(&path, Time::ZERO);
            let ahead = acks.iter().map(|&(at, flow, ack)| {
                let packet = Packet { flow, size: Bytes(50), ..Packet::default() };
                match hop.push(at, packet) {
                    Some(Event::Served(_, service)) => Some((service.arrival.unwrap(), flow, ack)),
                    _ => None,
                }
            });
            let ahead: Vec<_> = ahead.collect();
            let (sent, replaced, refused) = send(None, buffer, &acks);
            prop_assert_eq!((replaced, refused), (0, ahead.iter().filter(|it| it.is_none()).count()));
            prop_assert_eq!(sent, ahead.into_iter().flatten().collect::<Vec<_>>());
        }
    }

    /// By hand: at 50 ms each, the ACK for 1 is sent at once; those for 2 to 5 wait for it and become one.
    #[test]
    fn acks_that_wait_become_one() {
        let new = |gap| (gap, 0, What::New(1));
        let acks = acks(&[new(0), new(10), new(10), new(10), new(10), new(60)]);
        let at = |millis: u32| Time::ZERO.saturating_add(Span::from_millis(millis));
        let left = |rule: Option<Rule>| -> Vec<(Time, u64)> {
            let (sent, ..) = send(rule, Buffer::Packets(2), &acks);
            sent.iter().map(|(at, _, ack)| (*at, ack.next)).collect()
        };
        let filter = rule(&"filter".parse().unwrap());
        assert_eq!(left(filter), [(at(50), 1), (at(100), 5), (at(150), 6)]);
        // A drop-tail queue of two has dropped 3, 4 and 5.
        assert_eq!(left(None), [(at(50), 1), (at(100), 2), (at(150), 6)]);
        // Three become one at 20 ms and at 100 ms; until then they are held.
        let thin = rule(&"thin:n=3,hold=1s".parse().unwrap());
        assert_eq!(left(thin), [(at(70), 3), (at(150), 6)]);
        // Held for 15 ms: sent at 15 ms with those of 10 ms, and so on.
        let thin = rule(&"thin:n=9,hold=15ms".parse().unwrap());
        assert_eq!(left(thin), [(at(65), 2), (at(115), 5), (at(165), 6)]);
    }
}

//! A small model that writes random correct logs: flows with retransmissions, one queue, one link. It shares no code
//! with the simulator.

use std::collections::BTreeMap;
use std::fmt::Write;

/// Settings of the model.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) seed: u64,
    /// Whether the link is a timeline; otherwise it is synthetic.
    pub(super) timeline: bool,
    /// Bytes that an LLDU carries, of packets that share LLDUs; 1 if each packet begins an LLDU of its own.
    pub(super) room: usize,
    pub(super) flows: u64,
    pub(super) packets: u64,
    /// Factor on the times between new packets.
    pub(super) pace: u64,
    pub(super) capacity: usize,
    pub(super) rtt: u64,
    /// One in this many LLDUs or packets is lost; 0 for no losses.
    pub(super) loss: u64,
    pub(super) run_ends: u64,
}

/// LLDUs of a packet that begins an LLDU of its own.
const LLDUS_PER_PACKET: usize = 3;
const PACKET_BYTES: u64 = 1500;
/// Size of packets that share LLDUs.
const SHARING_BYTES: usize = 30;
const RATE: u64 = 7_777_777;
/// Times between events are multiples of this, so that many events coincide. ns.
const TICK: u64 = 500_000;

/// splitmix64: the next of a sequence of random numbers.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

fn seconds(nanos: u64) -> String {
    format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000)
}

fn field(nanos: Option<u64>) -> String {
    nanos.map_or_else(String::new, seconds)
}

/// Start, end, first and last LLDU.
type Service = (u64, u64, usize, usize);

/// One transmission, including events after the end of the run.
struct Copy {
    key: (u64, u64),
    number: u64,
    sent: u64,
    service: Option<Service>,
    dropped: bool,
    arrives: Option<u64>,
}

/// Time at which the first transmission of each packet to arrive does so.
type Arrivals = BTreeMap<(u64, u64), u64>;

struct Link {
    slots: Vec<(u64, u64)>,
    /// The next free LLDU, or byte of the LLDUs.
    next: usize,
    free_at: u64,
    /// Fraction of a nanosecond that is carried over, times the rate.
    carry: u64,
}

impl World {
    /// The log, and the timeline if the link is one.
    pub(super) fn logs(&self) -> (String, Option<String>) {
        let mut state = self.seed;
        let mut link = self.link(&mut state);
        let (copies, arrivals) = self.run(&mut link, &mut state);
        let timeline = self.timeline.then(|| {
            let mut text = "tx_time,decode_delay\n".to_owned();
            for &(t, d) in &link.slots {
                writeln!(
                    text,
                    "{},{}",
                    seconds(t),
                    if d == 0 { "0".to_owned() } else { seconds(d) }
                )
                .unwrap();
            }
            text
        });
        (self.text(&copies, &arrivals), timeline)
    }

    fn link(&self, state: &mut u64) -> Link {
        let mut slots = Vec::new();
        let mut t = 0;
        while self.timeline && t < self.run_ends {
            let lost = self.is_lost(state);
            slots.push((
                t,
                if lost {
                    0
                } else {
                    1 + random(state) % 40_000_000
                },
            ));
            t += random(state) % 3 * TICK / 2;
        }
        Link {
            slots,
            next: 0,
            free_at: 0,
            carry: 0,
        }
    }

    fn run(&self, link: &mut Link, state: &mut u64) -> (Vec<Copy>, Arrivals) {
        let mut plans = BTreeMap::new();
        for flow in 0..self.flows {
            let mut at = random(state) % 10 * TICK;
            for packet in 0..self.packets {
                at += (random(state) % 40).saturating_sub(25) * TICK * self.pace;
                plans.insert((at, plans.len()), (flow, packet, 1));
            }
        }
        let mut order = plans.len();
        let (mut copies, mut arrivals) = (Vec::new(), Arrivals::new());
        let mut inside: Vec<u64> = Vec::new();
        while let Some(((at, _), (flow, packet, number))) = plans.pop_first() {
            let key = (flow, packet);
            if at > self.run_ends || self.acked(&arrivals, key).is_some_and(|acked| acked <= at) {
                continue;
            }
            // Most packets that arrived are not sent again, but some are.
            let sacked = arrivals
                .get(&key)
                .is_some_and(|arrived| arrived + self.rtt <= at);
            if sacked && !random(state).is_multiple_of(8) {
                continue;
            }
            // Packets that leave at this time may have left or not.
            let left = random(state).is_multiple_of(2);
            inside.retain(|&end| end >= at);
            let gone = inside.iter().filter(|&&end| end == at && left).count();
            let dropped = inside.len() - gone >= self.capacity;
            let (service, arrives) = if dropped {
                (None, None)
            } else {
                self.serve(link, at, state)
            };
            if !dropped {
                inside.push(service.map_or(u64::MAX, |(_, end, ..)| end));
            }
            if let Some(arrives) = arrives {
                let first = arrivals.entry(key).or_insert(arrives);
                *first = arrives.min(*first);
            }
            copies.push(Copy {
                key,
                number,
                sent: at,
                service,
                dropped,
                arrives,
            });
            plans.insert(
                (at + self.rtt + 100 * TICK, order),
                (flow, packet, number + 1),
            );
            order += 1;
        }
        (copies, arrivals)
    }

    /// Time at which the sender has an ACK of the packet and all before it.
    fn acked(&self, arrivals: &Arrivals, (flow, packet): (u64, u64)) -> Option<u64> {
        let latest = (0..=packet).try_fold(0, |latest, packet| {
            Some(latest.max(*arrivals.get(&(flow, packet))?))
        });
        latest.map(|latest| latest + self.rtt - self.rtt / 2)
    }

    /// LLDUs, or bytes of LLDUs, that a packet on the timeline needs.
    fn need(&self) -> usize {
        match self.room {
            1 => LLDUS_PER_PACKET,
            _ => SHARING_BYTES,
        }
    }

    fn is_lost(&self, state: &mut u64) -> bool {
        self.loss > 0 && random(state).is_multiple_of(self.loss)
    }

    /// The service of the next packet in the queue, and its arrival.
    fn serve(&self, link: &mut Link, at: u64, state: &mut u64) -> (Option<Service>, Option<u64>) {
        let at_head = at.max(link.free_at);
        let (service, arrives) = if self.timeline {
            let (room, units) = (self.room, link.slots.len() * self.room);
            let skipped = (link.next..units).take_while(|unit| link.slots[unit / room].0 < at_head);
            let first = link.next + skipped.count();
            if first + self.need() > units {
                link.next = units;
                return (None, None);
            }
            link.next = first + self.need();
            let (first, last) = (first / room, (link.next - 1) / room);
            let slots = &link.slots[first..=last];
            let whole = slots.iter().all(|slot| slot.1 > 0);
            let arrives = slots
                .iter()
                .map(|slot| slot.0 + slot.1)
                .max()
                .filter(|_| whole);
            (
                (link.slots[first].0, link.slots[last].0, first, last),
                arrives,
            )
        } else {
            let exact = PACKET_BYTES * 8 * 1_000_000_000 + link.carry;
            link.carry = exact % RATE;
            let end = at_head + exact / RATE;
            link.next += 1;
            let lost = self.is_lost(state);
            (
                (at_head, end, link.next - 1, link.next - 1),
                (!lost).then_some(end),
            )
        };
        link.free_at = service.1;
        (Some(service), arrives.map(|arrives| arrives + self.rtt / 2))
    }

    /// The fields with the parts of the delay.
    fn parts(&self, copy: &Copy, delivered: Option<u64>) -> String {
        let (Some((start, end, ..)), Some(at)) = (copy.service, delivered) else {
            return ",,,".to_owned();
        };
        let way = self.rtt / 2;
        [way, start - copy.sent, end - start, at - way - end]
            .map(seconds)
            .join(",")
    }

    fn text(&self, copies: &[Copy], arrivals: &Arrivals) -> String {
        let packing = match self.room {
            1 => {
                format!("packet_bytes: {PACKET_BYTES}\n# lldus_per_packet: {LLDUS_PER_PACKET}\n")
            }
            room => format!(
                "packet_bytes: {SHARING_BYTES}\n# lldus_per_packet: {}\n# packing: bytes\n# lldu_payload_bytes: {room}\n",
                SHARING_BYTES.div_ceil(room)
            ),
        };
        let mut text = format!(
            "# tool: world\n# log: packets\n# link: {}\n# rtt_ns: {}\n# {packing}\
             # buffer: {}pkt\n# rate_bps: {RATE}\n# flows: {}\n\
             # run_ends_ns: {}\n\
             flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked,\
             delay_propagation,delay_queue,delay_serialisation,delay_wait\n",
            if self.timeline {
                "timeline"
            } else {
                "synthetic"
            },
            self.rtt,
            self.capacity,
            self.flows,
            self.run_ends,
        );
        for copy in copies {
            let known = |time: &u64| *time <= self.run_ends;
            let service = copy.service.filter(|(start, ..)| known(start));
            let delivered = copy.arrives.filter(known);
            let lost = copy.arrives.is_none() && service.is_some_and(|(_, end, ..)| known(&end));
            let fate = match (copy.dropped, delivered) {
                (true, _) => "queue",
                (_, Some(_)) => "delivered",
                _ if lost => "link",
                _ => "open",
            };
            let (flow, packet) = copy.key;
            let sent = seconds(copy.sent);
            let (start, end) = (service.map(|s| s.0), service.map(|s| s.1));
            let [first, last] = [service.map(|s| s.2), service.map(|s| s.3)]
                .map(|at| at.map_or_else(String::new, |at| at.to_string()));
            let acked = self.acked(arrivals, copy.key).filter(known);
            writeln!(
                text,
                "{flow},{packet},{},{sent},{sent},{},{},{first},{last},{},{fate},{},{}",
                copy.number,
                field(start),
                field(end),
                field(delivered),
                field(acked),
                self.parts(copy, delivered),
            )
            .unwrap();
        }
        writeln!(text, "# end: rows={}", copies.len()).unwrap();
        text
    }
}

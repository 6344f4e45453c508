//! Model of the coupled link: docs/schemes.md, Sec. 3, 4 and 10, as written, slot by slot, with linear searches. It shares
//! no code with the engine.

use std::collections::{BTreeMap, VecDeque};

use crate::{Hold, InOrder};

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) nd: u32,
    pub(super) n: u32,
    pub(super) extra: u32,
    pub(super) interleave: u32,
    pub(super) rounds: Option<u32>,
    pub(super) frame: bool,
    /// Data units per packet.
    pub(super) lldus: u32,
    pub(super) pad: bool,
    /// Whether codewords need more than ND units, as [`more`] says.
    pub(super) needs_more: bool,
}

/// Units that a codeword needs beyond ND if the code is not ideal.
pub(super) fn more(codeword: u64) -> u32 {
    [0, 2, 0, 1][(codeword % 4) as usize]
}

impl Code {
    pub(super) fn text(&self) -> String {
        let rounds = self.rounds.map(|r| format!(",rounds={r}"));
        let rounds = rounds.unwrap_or_default();
        let (nd, n, extra, interleave) = (self.nd, self.n, self.extra, self.interleave);
        if self.frame {
            format!("frame-arq:{nd}/{n}{rounds}")
        } else {
            format!("harq:{nd}/{n},extra={extra}{rounds},interleave={interleave}")
        }
    }

    /// Data units of each codeword of a packet.
    fn codewords(&self) -> VecDeque<u32> {
        let mut left = self.lldus;
        let mut codewords = VecDeque::new();
        while left > 0 {
            let here = left.min(self.nd);
            codewords.push_back(if self.pad { self.nd } else { here });
            left -= here;
        }
        codewords
    }
}

/// Outcome of a packet; times are without propagation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PacketOutcome {
    Dropped,
    /// The trace ended before it was complete or lost.
    Open,
    Served {
        start: u64,
        end: u64,
        arrival: Option<u64>,
    },
}

impl PacketOutcome {
    pub(super) fn with_propagation(self, propagation: u64) -> Self {
        match self {
            Self::Served {
                start,
                end,
                arrival,
            } => Self::Served {
                start,
                end,
                arrival: arrival.map(|at| at + propagation),
            },
            other => other,
        }
    }
}

struct Codeword {
    packet: usize,
    data: u32,
    units: u32,
    /// Units of the first attempt that have been sent.
    sent: u32,
    /// Arrival of each data unit in the first attempt.
    own: Vec<Option<u64>>,
    /// Numbers and arrivals of all units that count towards decoding.
    arrivals: Vec<(u32, u64)>,
    /// Number of the next unit.
    next: u32,
    rounds: u32,
    decoded: bool,
    /// Latest arrival of its LLDUs, once it is decoded.
    arrival: u64,
}

impl Codeword {
    fn on_sent(&mut self, t: u64, d: u64) {
        if d > 0 {
            self.arrivals.push((self.next, t + d));
        }
        self.next += 1;
    }
}

/// Feedback of the link: its delays and its losses.
pub(super) struct Feedback<'a> {
    pub(super) rtt: u64,
    pub(super) back: u64,
    pub(super) timer: u64,
    /// Draws whether the next feedback is lost.
    pub(super) lost: &'a mut dyn FnMut() -> bool,
}

struct Packet {
    flow: u32,
    waiting: VecDeque<u32>,
    sent: Vec<u64>,
    units: usize,
    undecoded: usize,
    arrival: u64,
    lost: Option<u64>,
    /// Codewords that the sender is not yet done with.
    unacknowledged: usize,
    /// Latest time at which it was done with one of the others.
    acknowledged_at: u64,
    /// Time at which the sender learns of the failure.
    lost_known: u64,
}

impl Packet {
    /// Time at which the sender learns that all of it has arrived.
    fn known(&self) -> Option<u64> {
        (self.lost.is_none() && self.unacknowledged == 0).then_some(self.acknowledged_at)
    }

    /// Time at which it leaves the buffer.
    fn left(&self, hold: Hold) -> Option<u64> {
        match (hold, self.lost) {
            (Hold::Acknowledged, None) => self.known(),
            (Hold::Acknowledged, Some(_)) => Some(self.lost_known),
            (Hold::Sent, _) if self.sent.len() == self.units => self.sent.last().copied(),
            (Hold::Sent, lost) => lost,
        }
    }
}

#[derive(Default)]
struct Link {
    packets: Vec<Option<Packet>>,
    codewords: Vec<Codeword>,
    /// Codeword of each unit of the super-block that has not been sent.
    block: VecDeque<usize>,
    /// Repeat queue: ready time, codeword, units left.
    repeats: VecDeque<(u64, usize, u32)>,
    /// Whether some units of the first entry have been sent.
    begun: bool,
}

impl Link {
    fn open(&mut self, code: &Code) {
        let first = self.codewords.len();
        for _ in 0..code.interleave {
            let waiting = self
                .packets
                .iter_mut()
                .enumerate()
                .find_map(|(number, packet)| {
                    let data = packet.as_mut()?.waiting.pop_front()?;
                    Some((number, data))
                });
            let Some((packet, data)) = waiting else { break };
            self.codewords.push(Codeword {
                packet,
                data,
                units: data + code.n - code.nd,
                sent: 0,
                own: Vec::new(),
                arrivals: Vec::new(),
                next: 0,
                rounds: 0,
                decoded: false,
                arrival: 0,
            });
        }
        for row in 0..code.n {
            let has_row = |id: &usize| self.codewords[*id].units > row;
            self.block
                .extend((first..self.codewords.len()).filter(has_row));
        }
    }

    fn judge(&mut self, code: &Code, id: usize, t: u64, feedback: &mut Feedback) {
        let unacknowledged = (feedback.lost)();
        let codeword = &mut self.codewords[id];
        let first_time = !codeword.decoded;
        let last = code.rounds.is_some_and(|rounds| codeword.rounds >= rounds);
        let needed = codeword.data + if code.needs_more { more(id as u64) } else { 0 };
        let mut arrivals: Vec<u64> = codeword.arrivals.iter().map(|(_, at)| *at).collect();
        arrivals.sort_unstable();
        let enough = arrivals.get(needed as usize - 1).copied();
        let data = codeword
            .arrivals
            .iter()
            .filter(|(number, _)| *number < codeword.data);
        // All data units, regardless of the code.
        let complete = (data.clone().count() == codeword.data as usize)
            .then(|| data.map(|(_, at)| *at).max().unwrap());
        let complete = complete.into_iter().chain(enough).min();
        codeword.decoded |= complete.is_some();
        if codeword.decoded && first_time {
            let packet = self.packets[codeword.packet].as_mut().unwrap();
            let complete = complete.unwrap();
            for own in &codeword.own {
                let own = own.filter(|_| !code.frame);
                codeword.arrival = codeword.arrival.max(own.unwrap_or(complete));
            }
            packet.arrival = packet.arrival.max(codeword.arrival);
            packet.undecoded -= 1;
        }
        let after = if unacknowledged {
            feedback.timer
        } else {
            feedback.back
        };
        if codeword.decoded && (!unacknowledged || last) {
            let packet = self.packets[codeword.packet].as_mut().unwrap();
            let acknowledged_at = (t + after).max(codeword.arrival + feedback.rtt);
            packet.unacknowledged -= 1;
            packet.acknowledged_at = packet.acknowledged_at.max(acknowledged_at);
            return;
        }
        if last {
            let packet = self.packets[codeword.packet].as_mut().unwrap();
            packet.lost = Some(t);
            packet.lost_known = t + feedback.back;
            packet.waiting.clear();
            let lost = codeword.packet;
            self.block.retain(|id| self.codewords[*id].packet != lost);
            let goes = |(_, id, _): &(u64, usize, u32)| self.codewords[*id].packet == lost;
            self.begun &= !self.repeats.front().is_some_and(goes);
            self.repeats.retain(|repeat| !goes(repeat));
            return;
        }
        codeword.rounds += 1;
        let missing = u32::try_from(codeword.arrivals.len()).map(|got| needed.checked_sub(got));
        let units = if code.frame {
            codeword.arrivals.clear();
            codeword.next = 0;
            codeword.units
        } else if unacknowledged {
            1 + code.extra
        } else {
            missing.unwrap().unwrap() + code.extra
        };
        let ready = t + after;
        // Sorted by ready time, but an entry with units that have been sent stays at the head.
        let begun = usize::from(self.begun);
        let later = |at: &usize| self.repeats[*at].0 > ready;
        let at = (begun..self.repeats.len()).find(later);
        self.repeats
            .insert(at.unwrap_or(self.repeats.len()), (ready, id, units));
    }

    /// Uses one slot; returns whether it carried a unit.
    fn slot(&mut self, code: &Code, (t, d): (u64, u64), feedback: &mut Feedback) -> bool {
        if let Some((ready, id, left)) = self.repeats.front_mut()
            && *ready <= t
        {
            let id = *id;
            *left -= 1;
            let last = *left == 0;
            self.begun = !last;
            if last {
                self.repeats.pop_front();
            }
            self.codewords[id].on_sent(t, d);
            if last {
                self.judge(code, id, t, feedback);
            }
            return true;
        }
        if self.block.is_empty() {
            self.open(code);
        }
        let Some(id) = self.block.pop_front() else {
            return false;
        };
        let codeword = &mut self.codewords[id];
        self.packets[codeword.packet].as_mut().unwrap().sent.push(t);
        if codeword.sent < codeword.data {
            codeword.own.push((d > 0).then_some(t + d));
        }
        codeword.sent += 1;
        codeword.on_sent(t, d);
        if codeword.sent == codeword.units {
            self.judge(code, id, t, feedback);
        }
        true
    }

    fn enqueue(&mut self, code: &Code, capacity: u64, at: u64, flow: u32, hold: Hold) {
        let held = self.packets.iter().flatten();
        let held = held.filter(|packet| packet.left(hold).is_none_or(|left| left > at));
        let packet = Packet {
            flow,
            waiting: code.codewords(),
            sent: Vec::new(),
            units: code
                .codewords()
                .iter()
                .map(|data| (data + code.n - code.nd) as usize)
                .sum(),
            undecoded: code.codewords().len(),
            arrival: 0,
            lost: None,
            unacknowledged: code.codewords().len(),
            acknowledged_at: 0,
            lost_known: 0,
        };
        let has_space = (held.count() as u64) < capacity;
        self.packets.push(has_space.then_some(packet));
    }
}

/// Reports of the gateway on a packet, in addition to its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reports {
    /// Time at which the gateway learns that it has arrived.
    pub(super) known: Option<u64>,
    /// Time at which it leaves the buffer, if its outcome is reported.
    pub(super) left: Option<u64>,
}

/// Outcome and reports of every packet, and the number of slots used.
pub(super) fn simulate(
    code: &Code,
    slots: &[(u64, u64)],
    mut feedback: Feedback,
    capacity: u64,
    arrivals: &[(u64, u32)],
    in_order: InOrder,
    hold: Hold,
) -> (Vec<PacketOutcome>, Vec<Reports>, u64) {
    let (mut link, mut used, mut arrivals) = (Link::default(), 0, arrivals.iter().peekable());
    for &slot in slots {
        while let Some((at, flow)) = arrivals.next_if(|(at, _)| *at < slot.0) {
            link.enqueue(code, capacity, *at, *flow, hold);
        }
        used += u64::from(link.slot(code, slot, &mut feedback));
    }
    for (at, flow) in arrivals {
        link.enqueue(code, capacity, *at, *flow, hold);
    }
    // In order: the latest arrival so far in its order, and nothing from the first open packet on.
    let mut orders: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    let outcomes = link.packets.iter().map(|packet| {
        let Some(packet) = packet else {
            return PacketOutcome::Dropped;
        };
        let complete = packet.lost.is_none() && packet.undecoded == 0;
        let mut arrival = complete.then_some(packet.arrival);
        if in_order != InOrder::Off {
            let order = if in_order == InOrder::Flow {
                packet.flow
            } else {
                0
            };
            let latest = orders.entry(order).or_insert(Some(0));
            *latest = latest
                .zip(arrival.or(packet.lost))
                .map(|(latest, at)| latest.max(at));
            arrival = arrival.and(*latest);
        }
        if arrival.is_none() && packet.lost.is_none() {
            return PacketOutcome::Open;
        }
        PacketOutcome::Served {
            start: packet.sent[0],
            // A packet that is lost before all its units are sent ends there.
            end: match packet.lost {
                Some(lost) if packet.sent.len() < packet.units => lost,
                _ => *packet.sent.last().unwrap(),
            },
            arrival,
        }
    });
    let outcomes: Vec<PacketOutcome> = outcomes.collect();
    let reports = link.packets.iter().zip(&outcomes).map(|(packet, outcome)| {
        let packet = packet.as_ref();
        let is_reported = matches!(outcome, PacketOutcome::Served { .. });
        Reports {
            known: packet.and_then(Packet::known),
            left: packet
                .filter(|_| is_reported)
                .and_then(|packet| packet.left(hold)),
        }
    });
    let reports = reports.collect();
    (outcomes, reports, used)
}

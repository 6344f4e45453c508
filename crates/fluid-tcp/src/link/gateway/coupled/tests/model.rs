//! The coupled link walked slot by slot, every list searched from its front: tcp.md §1.1 and link-layer.md §3 as they
//! are written, sharing nothing with the machine.

use std::collections::{BTreeMap, VecDeque};

use crate::link::gateway::{Hold, InOrder};

#[derive(Debug, Clone)]
pub(super) struct Code {
    pub(super) nd: u32,
    pub(super) n: u32,
    pub(super) extra: u32,
    pub(super) interleave: u32,
    pub(super) rounds: Option<u32>,
    pub(super) frame: bool,
    /// Units of a packet.
    pub(super) lldus: u32,
    pub(super) pad: bool,
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

    /// Data units of a packet's codewords.
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

/// What becomes of a packet; times without propagation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PacketOutcome {
    Dropped,
    /// The trace ended first.
    Open,
    Served {
        start: u64,
        end: u64,
        arrival: Option<u64>,
    },
}

impl PacketOutcome {
    pub(super) fn travelled(self, propagation: u64) -> Self {
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
    /// Units of the first attempt sent so far.
    sent: u32,
    /// Arrivals of the data units that came through on their own, and of all units that count.
    own: Vec<Option<u64>>,
    arrivals: Vec<u64>,
    rounds: u32,
    decoded: bool,
    /// When its last LLDU is there, once it is decoded.
    arrival: u64,
}

/// The feedback of the link: its way from an attempt's last unit to the repeats, and how that can fail.
pub(super) struct Feedback<'a> {
    pub(super) rtt: u64,
    pub(super) back: u64,
    pub(super) timer: u64,
    /// Whether the next one is lost.
    pub(super) lost: &'a mut dyn FnMut() -> bool,
}

struct Packet {
    flow: usize,
    waiting: VecDeque<u32>,
    sent: Vec<u64>,
    units: usize,
    undecoded: usize,
    arrival: u64,
    lost: Option<u64>,
    /// Codewords the sender is not done with, and when it was with the others.
    unacknowledged: usize,
    acknowledged_at: u64,
    /// When its failure is known to the sender.
    lost_known: u64,
}

impl Packet {
    /// When the sender knows that all of it has arrived.
    fn known(&self) -> Option<u64> {
        (self.lost.is_none() && self.unacknowledged == 0).then_some(self.acknowledged_at)
    }

    /// When it leaves the queue.
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
    /// What is left of the super-block, unit by unit.
    block: VecDeque<usize>,
    /// Ready, codeword, units left.
    repeats: VecDeque<(u64, usize, u32)>,
    /// Whether some of the first of them has been sent.
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
        codeword.decoded |= codeword.arrivals.len() >= codeword.data as usize;
        if codeword.decoded && first_time {
            let packet = self.packets[codeword.packet].as_mut().unwrap();
            let mut arrivals = codeword.arrivals.clone();
            arrivals.sort_unstable();
            let complete = arrivals[codeword.data as usize - 1];
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
        let missing =
            u32::try_from(codeword.arrivals.len()).map(|got| codeword.data.checked_sub(got));
        let units = if code.frame {
            codeword.arrivals.clear();
            codeword.units
        } else if unacknowledged {
            1 + code.extra
        } else {
            missing.unwrap().unwrap() + code.extra
        };
        let ready = t + after;
        // What is ready first goes first, but for a head of which some has been sent.
        let begun = usize::from(self.begun);
        let later = |at: &usize| self.repeats[*at].0 > ready;
        let at = (begun..self.repeats.len()).find(later);
        self.repeats
            .insert(at.unwrap_or(self.repeats.len()), (ready, id, units));
    }

    /// One slot; whether it was used.
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
            if d > 0 {
                self.codewords[id].arrivals.push(t + d);
            }
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
        if d > 0 {
            codeword.arrivals.push(t + d);
        }
        if codeword.sent == codeword.units {
            self.judge(code, id, t, feedback);
        }
        true
    }

    fn enqueue(&mut self, code: &Code, capacity: u64, at: u64, flow: usize, hold: Hold) {
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
        let room = (held.count() as u64) < capacity;
        self.packets.push(room.then_some(packet));
    }
}

/// What the gateway tells of a packet beside its outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Reports {
    /// When it knows that it has arrived.
    pub(super) known: Option<u64>,
    /// When it leaves the queue, where its outcome is told.
    pub(super) left: Option<u64>,
}

/// What becomes of every packet offered, and the slots used.
pub(super) fn simulate(
    code: &Code,
    slots: &[(u64, u64)],
    mut feedback: Feedback,
    capacity: u64,
    arrivals: &[(u64, usize)],
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
    // In order: the running latest of its lane, nothing from the first open packet on.
    let mut lanes: BTreeMap<usize, Option<u64>> = BTreeMap::new();
    let outcomes = link.packets.iter().map(|packet| {
        let Some(packet) = packet else {
            return PacketOutcome::Dropped;
        };
        let whole = packet.lost.is_none() && packet.undecoded == 0;
        let mut arrival = whole.then_some(packet.arrival);
        if in_order != InOrder::Off {
            let lane = if in_order == InOrder::Flow {
                packet.flow
            } else {
                0
            };
            let latest = lanes.entry(lane).or_insert(Some(0));
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
            // A packet that fails before it is sent leaves the queue then.
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
        let is_told = matches!(outcome, PacketOutcome::Served { .. });
        Reports {
            known: packet.and_then(Packet::known),
            left: packet
                .filter(|_| is_told)
                .and_then(|packet| packet.left(hold)),
        }
    });
    let reports = reports.collect();
    (outcomes, reports, used)
}

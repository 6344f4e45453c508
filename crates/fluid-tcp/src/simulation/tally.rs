//! Counters and delay distributions of each flow during a run, and their sums. [`super::metrics`] derives metrics from
//! them.

mod observed;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tmt_core::stats::distribution::{Batch, Distribution};
use tmt_core::types::{Span, Time};

use crate::endpoint::{Ends, Outcome, Times};
use crate::simulation::beside::{Beside, Delays, Met, Side};
use crate::simulation::delay::DelayParts;
use crate::simulation::reordering::{Extents, Reordering};
pub(super) use observed::Observed;

/// Number of delays stored exactly, divided among the flows of a run, and again in its total. Up to this many,
/// percentiles are exact.
const EXACT: usize = 1 << 17;

/// Number of buckets of the histograms used above that, divided among the flows, and again in the total.
const BUCKETS: usize = 1 << 18;

/// Smallest number of delays stored exactly per flow, regardless of the number of flows.
const LEAST_EXACT: usize = 16;

/// Number of buckets with which any spread of delays keeps full precision.
const ENOUGH_BUCKETS: usize = 1 << 15;

/// Distributions of the delay, of the queueing delay, and of the RTT as senders saw it.
#[derive(Debug, Default)]
pub(crate) struct DelayDistributions {
    pub(crate) delay: Distribution,
    pub(crate) queueing: Distribution,
    pub(crate) rtt: Distribution,
}

impl DelayDistributions {
    /// Empty distributions for one of `flows` flows that share the memory.
    pub(crate) fn of(flows: usize) -> Self {
        let flows = flows.max(1);
        let exact = (EXACT / flows).max(LEAST_EXACT);
        let buckets = (BUCKETS / flows).min(ENOUGH_BUCKETS);
        Self {
            delay: Distribution::within(exact, buckets),
            queueing: Distribution::within(exact, buckets),
            rtt: Distribution::within(exact, buckets),
        }
    }

    fn all(&mut self) -> [&mut Distribution; 3] {
        [&mut self.delay, &mut self.queueing, &mut self.rtt]
    }
}

/// Counters of a flow. "Transmissions" are sendings of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    // The first four are counted for every packet, and lie side by side.
    /// Transmissions.
    Sent,
    /// Transmissions that reached the receiver.
    Arrived,
    /// ACKs that the receiver or the proxy sent.
    Acks,
    /// ACKs that reached the sender.
    AcksArrived,
    /// Transmissions after the first of their packet.
    Retransmitted,
    /// Transmissions that the receiver, or a proxy, already had on arrival.
    Spurious,
    /// Transmissions dropped at the gateway, by the queue or by a full proxy.
    Dropped,
    /// Transmissions that the queue marked (ECN).
    Marked,
    /// Transmissions lost on the link.
    Lost,
    /// Transmissions that will not arrive, wherever that was decided.
    Gone,
    /// Transmissions that the link has served, unless they are tallied ahead.
    Served,
    /// Packets that the receiver has in order.
    Delivered,
    /// Packets that the receiver has above a gap.
    AboveGap,
    /// ACKs that the return path lost, and that its queue dropped.
    AcksLost,
    AcksDropped,
    /// ACKs that another has replaced in the queue before the return path.
    AcksFiltered,
    /// Retransmission timeouts of the sender.
    RtoEvents,
    /// Timeouts that F-RTO found to be spurious.
    SpuriousTimeouts,
    /// Fast recoveries entered.
    FastRecoveries,
    /// Payload that was delivered, bytes.
    Payload,
    /// Delivered packets of hosts that are not TCP, whose sizes are their own, and the bytes that reached such hosts.
    OtherPackets,
    OtherBytes,
}

/// Counts of one flow, or sums over several.
#[derive(Debug, Default, Clone)]
#[repr(C)]
pub(super) struct Counts {
    /// Sums of the parts of the delay over the transmissions that arrived, ns, in the order of [`DelayParts::all`].
    parts: [u128; 4],
    values: [u64; Count::OtherBytes as usize + 1],
    /// Number of retransmissions, by their number among those of the same packet, from 0.
    again: Vec<u64>,
    /// Reordered transmissions.
    extents: Extents,
    completion: Option<Span>,
    /// Transmissions to hosts that are not TCP, and those that were dropped or lost; `None` if there are no such hosts.
    datagrams: Option<[u64; 2]>,
    /// Observations of applications; `None` for bulk transfers.
    outcome: Option<Box<Outcome>>,
    /// Counts beside the link; `None` if there are no hops.
    beside: Option<Box<Beside>>,
}

impl Counts {
    fn of(&self, what: Count) -> u64 {
        self.values[what as usize]
    }

    /// Number of retransmissions → number of packets.
    fn retransmissions(&self) -> BTreeMap<u32, u64> {
        // Of the packets sent k times, those that were sent once more.
        let once = self.of(Count::Sent) - self.of(Count::Retransmitted);
        let sent = std::iter::once(once).chain(self.again.iter().copied());
        let more = self.again.iter().copied().chain([0]);
        (0..)
            .zip(sent.zip(more).map(|(sent, more)| sent - more))
            .filter(|(_, packets)| *packets > 0)
            .collect()
    }

    /// Their sums; zero without any. One alone is its own sum.
    fn of_all<'a>(mut each: impl Iterator<Item = &'a Self>) -> Cow<'a, Self> {
        let mut sum = each.next().map_or_else(Cow::default, Cow::Borrowed);
        each.for_each(|other| sum.to_mut().add(other));
        sum
    }

    fn add(&mut self, other: &Self) {
        for (sum, count) in self.values.iter_mut().zip(other.values) {
            *sum += count;
        }
        let length = self.again.len().max(other.again.len());
        self.again.resize(length, 0);
        for (sum, packets) in self.again.iter_mut().zip(&other.again) {
            *sum += packets;
        }
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum += part;
        }
        self.extents = self.extents.and(other.extents);
        let both = self.completion.zip(other.completion);
        self.completion = both.map(|(one, other)| one.max(other));
        self.datagrams = match (self.datagrams, other.datagrams) {
            (Some(one), Some(other)) => Some([one[0] + other[0], one[1] + other[1]]),
            (one, other) => one.or(other),
        };
        self.outcome = match (self.outcome.take(), &other.outcome) {
            (Some(one), Some(other)) => Some(Box::new(one.and(other))),
            (one, other) => one.or_else(|| other.clone()),
        };
        self.beside = match (self.beside.take(), &other.beside) {
            (Some(one), Some(other)) => Some(Box::new(one.and(other))),
            (one, other) => one.or_else(|| other.clone()),
        };
    }
}

/// Number of delays that wait to be added to the distributions of all flows, and limits for one flow.
const WAITING: usize = 1 << 16;
const LEAST_WAITING: usize = 8;
const MOST_WAITING: usize = 64;

/// Counts and delays of one flow during a run.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct FlowTally {
    /// Delays that wait to be added to the distributions, as many at once as there is room for: among many flows, each
    /// distribution is far from the processor.
    queueing: Vec<Span>,
    delay: Vec<Span>,
    rtt: Vec<Span>,
    /// `None` if there can be none.
    reordering: Option<Box<Reordering>>,
    counts: Counts,
    /// Counts of flows on demand that are one with this in the results and closed; `None` without any.
    closed: Option<Box<Counts>>,
    /// Those of a load are shared by its flows.
    distributions: Rc<RefCell<DelayDistributions>>,
    /// Payload delivered at the start and at the end of the time that all flows share.
    shared: [Option<u64>; 2],
    /// Delays of all flows; `None` if there is only one flow.
    total: Option<Rc<RefCell<DelayDistributions>>>,
}

/// Moves the delays that wait to the distribution of a flow and that of all flows.
fn settle(
    waiting: &mut Vec<Span>,
    distribution: &mut Distribution,
    total: Option<&mut Distribution>,
) {
    let batch = Batch::from(std::mem::take(waiting));
    distribution.push_all(&batch);
    if let Some(total) = total {
        total.push_all(&batch);
    }
    *waiting = batch.into_spans();
    waiting.clear();
}

impl FlowTally {
    /// Tallies for the flows of a run, whose network may keep the order of their packets. Their memory is limited and
    /// shared. `sides` says which sides of the link have hops.
    pub(crate) fn all(
        entries: &[usize],
        keeps_order: bool,
        sides: [bool; 2],
    ) -> impl Iterator<Item = Self> + use<> {
        let flows = entries.len();
        let alone = entries.last().map_or(0, |last| last + 1);
        let of_entry = |_| Rc::new(RefCell::new(DelayDistributions::of(alone)));
        let distributions: Vec<_> = (0..alone).map(of_entry).collect();
        let total = (alone > 1).then(|| Rc::new(RefCell::new(DelayDistributions::of(1))));
        let waiting = (WAITING / flows.max(1)).clamp(LEAST_WAITING, MOST_WAITING);
        let entries = Vec::from(entries);
        entries.into_iter().map(move |entry| Self {
            distributions: Rc::clone(&distributions[entry]),
            total: total.clone(),
            shared: [None; 2],
            closed: None,
            counts: Counts {
                beside: Beside::of(sides),
                ..Counts::default()
            },
            queueing: Vec::with_capacity(waiting),
            delay: Vec::with_capacity(waiting),
            rtt: Vec::with_capacity(waiting),
            reordering: (!keeps_order).then(Box::<Reordering>::default),
        })
    }

    /// An empty tally of a flow that is one with this in the results.
    pub(crate) fn another(&self) -> Self {
        let waiting = self.delay.capacity();
        Self {
            distributions: Rc::clone(&self.distributions),
            total: self.total.clone(),
            shared: [None; 2],
            closed: None,
            counts: Counts {
                beside: self
                    .counts
                    .beside
                    .as_deref()
                    .map(|own| Box::new(own.empty())),
                ..Counts::default()
            },
            queueing: Vec::with_capacity(waiting),
            delay: Vec::with_capacity(waiting),
            rtt: Vec::with_capacity(waiting),
            reordering: self.reordering.as_ref().map(|_| Box::default()),
        }
    }

    /// Takes in the counts of such a flow, which has ended.
    pub(crate) fn take_in(&mut self, other: &Self) {
        match &mut self.closed {
            Some(closed) => closed.add(&other.counts),
            closed => *closed = Some(Box::new(other.counts.clone())),
        }
    }

    /// The counts of the flow, and those that it has taken in.
    fn all_counts(&self) -> impl Iterator<Item = &Counts> {
        std::iter::once(&self.counts).chain(self.closed.as_deref())
    }

    /// Whether a transmission, or an ACK without a proxy, may still arrive or be tallied.
    pub(crate) fn is_under_way(&self) -> bool {
        let of = |what| self.counts.of(what);
        let arrived = of(Count::Arrived);
        let beside = self.counts.beside.as_deref();
        let behind = beside.and_then(|beside| beside.on(Side::Far));
        let served = arrived + of(Count::Lost) + behind.map_or(0, |met| met.dropped + met.lost);
        let gone = of(Count::AcksLost) + of(Count::AcksDropped) + of(Count::AcksFiltered);
        of(Count::Sent) != arrived + of(Count::Gone)
            || of(Count::Served) != served
            || of(Count::Acks) != of(Count::AcksArrived) + gone
    }

    #[inline]
    pub(crate) fn count(&mut self, what: Count) {
        self.counts.values[what as usize] += 1;
    }

    /// Adds a number to a count.
    pub(crate) fn add(&mut self, what: Count, number: u64) {
        self.counts.values[what as usize] += number;
    }

    /// Counts a transmission: `ordinal` is its number among all that were sent, `copy` that among those of its packet.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(crate) fn on_sent(&mut self, ordinal: u64, copy: u32) {
        self.count(Count::Sent);
        if let Some(reordering) = &mut self.reordering {
            reordering.on_sent(ordinal);
        }
        if copy > 1 {
            self.on_sent_again(copy);
        }
    }

    #[inline(never)]
    fn on_sent_again(&mut self, copy: u32) {
        self.count(Count::Retransmitted);
        let number = usize::try_from(copy - 2).unwrap_or(usize::MAX);
        let again = &mut self.counts.again;
        if again.len() <= number {
            again.resize(number + 1, 0);
        }
        again[number] += 1;
    }

    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(crate) fn on_service(&mut self, waited: Span) {
        if self.queueing.len() == self.queueing.capacity() {
            self.settle_queueing();
        }
        self.queueing.push(waited);
    }

    #[inline(never)]
    fn settle_queueing(&mut self) {
        let mut total = self.total.as_ref().map(|total| total.borrow_mut());
        let total = total.as_mut().map(|total| &mut total.queueing);
        let own = &mut self.distributions.borrow_mut().queueing;
        settle(&mut self.queueing, own, total);
    }

    /// A sender takes an RTT sample.
    #[inline]
    pub(crate) fn on_rtt(&mut self, rtt: Span) {
        if self.rtt.len() == self.rtt.capacity() {
            self.settle_rtt();
        }
        self.rtt.push(rtt);
    }

    #[inline(never)]
    fn settle_rtt(&mut self) {
        let mut total = self.total.as_ref().map(|total| total.borrow_mut());
        let total = total.as_mut().map(|total| &mut total.rtt);
        let own = &mut self.distributions.borrow_mut().rtt;
        settle(&mut self.rtt, own, total);
    }

    #[inline(never)]
    fn settle_delay(&mut self) {
        let mut total = self.total.as_ref().map(|total| total.borrow_mut());
        let total = total.as_mut().map(|total| &mut total.delay);
        let own = &mut self.distributions.borrow_mut().delay;
        settle(&mut self.delay, own, total);
    }

    /// As the settling of each, when no others follow.
    fn settle_all(&mut self) {
        let mut total = self.total.as_ref().map(|total| total.borrow_mut());
        let mut total = total.iter_mut().flat_map(|total| total.all());
        let mut own = self.distributions.borrow_mut();
        let waiting = [&mut self.delay, &mut self.queueing, &mut self.rtt];
        for (waiting, own) in waiting.into_iter().zip(own.all()) {
            let batch = Batch::from(std::mem::take(waiting));
            if let Some(total) = total.next() {
                total.push_all(&batch);
            }
            own.take_all(batch);
        }
    }

    /// Counts what happens to a transmission beside the link.
    pub(crate) fn count_beside(&mut self, side: Side, what: fn(&mut Met) -> &mut u64) {
        let beside = self.counts.beside.as_mut();
        if let Some(met) = beside.and_then(|beside| beside.count(side)) {
            *what(met) += 1;
        }
    }

    /// A transmission has arrived after these times at the hops beside the link.
    pub(crate) fn on_beside(&mut self, delays: Delays) {
        let Some(beside) = &mut self.counts.beside else {
            return;
        };
        for (side, delay) in Side::ALL.into_iter().zip(delays) {
            if let Some(met) = beside.count(side) {
                met.delay += u128::from(delay.as_nanos());
            }
        }
    }

    /// Transmission `ordinal` will not reach the receiver.
    pub(crate) fn on_gone(&mut self, ordinal: u64) {
        self.count(Count::Gone);
        if let Some(reordering) = &mut self.reordering {
            reordering.on_gone(ordinal);
        }
    }

    /// Transmission `ordinal` reaches the receiver after `delay`, which has these parts.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(crate) fn on_delivered(&mut self, ordinal: u64, delay: Span, parts: &DelayParts) {
        self.count(Count::Arrived);
        if let Some(reordering) = &mut self.reordering {
            reordering.on_arrival(ordinal);
        }
        for (sum, part) in self.counts.parts.iter_mut().zip(parts.all()) {
            *sum += u128::from(part.as_nanos());
        }
        if self.delay.len() == self.delay.capacity() {
            self.settle_delay();
        }
        self.delay.push(delay);
    }

    /// Payload delivered when the time that all flows share begins (0) or ends (1).
    pub(crate) fn set_shared(&mut self, side: usize, payload: u64) {
        self.shared[side].get_or_insert(payload);
    }

    /// Payload delivered in the time that all flows share; `None` if they share none.
    pub(super) fn shared_payload(&self) -> Option<u64> {
        let [begin, end] = self.shared;
        end?.checked_sub(begin?)
    }

    /// Whether its completion is recorded.
    pub(crate) fn is_complete(&self) -> bool {
        self.counts.completion.is_some()
    }

    /// Records the completion time, from the start of the flow. Returns false if it was already known.
    pub(crate) fn complete(&mut self, after: Span) -> bool {
        let first = self.counts.completion.is_none();
        self.counts.completion.get_or_insert(after);
        first
    }

    /// Records what the hosts have counted at the end of a run. `bulk` is the payload of so many packets of a bulk transfer. The
    /// flow may be part of a load or page, and a transfer of a load, which begins in the run or not.
    pub(crate) fn end(
        &mut self,
        ends: &mut Ends,
        end: Time,
        is_part: bool,
        begins: Option<bool>,
        bulk: impl Fn(u64) -> u64,
    ) {
        self.settle_all();
        let reordering = self.reordering.as_deref();
        self.counts.extents = reordering.map_or_else(Extents::default, Reordering::extents);
        let values = &mut self.counts.values;
        let mut set = |what: Count, count| values[what as usize] = count;
        match &*ends {
            Ends::Tcp(tcp) => {
                let (delivered, events) = (tcp.receiver.rcv_nxt(), tcp.sender.events());
                set(Count::Delivered, delivered);
                set(Count::AboveGap, tcp.receiver.out_of_order());
                set(Count::RtoEvents, events.timeouts);
                set(Count::SpuriousTimeouts, events.spurious_timeouts);
                set(Count::FastRecoveries, events.fast_recoveries);
            }
            Ends::Other(other) => {
                let socket = &other.socket;
                set(Count::Delivered, socket.packets);
                set(Count::OtherPackets, socket.packets);
            }
        }
        values[Count::Payload as usize] = ends.delivered(bulk);
        if let Ends::Other(_) = ends {
            let of = |what: Count| values[what as usize];
            let gone = of(Count::Dropped) + of(Count::Lost);
            let gone = gone
                + self
                    .counts
                    .beside
                    .as_ref()
                    .map_or(0, |beside| beside.gone());
            self.counts.datagrams = Some([of(Count::Sent), gone]);
        }
        // A load is never complete: its transfers are.
        let completion = self.counts.completion.take_if(|_| is_part);
        let of_transfer = begins.map(|begins| Outcome {
            transfers: Some(Times {
                begun: u64::from(begins),
                complete: completion.into_iter().collect(),
            }),
            ..Outcome::default()
        });
        self.counts.outcome = ends.outcome(end).or(of_transfer).map(Box::new);
    }
}

#[cfg(test)]
mod tests;

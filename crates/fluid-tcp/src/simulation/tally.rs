//! Counters and delay distributions of each flow during a run, and their sums. [`super::metrics`] derives metrics from
//! them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tmt_core::stats::distribution::{Distribution, Precision, Quantiles};
use tmt_core::stats::ratio;
use tmt_core::types::{Span, Time, to_f64};

use crate::endpoint::{Ends, Heard, Outcome, Times};
use crate::simulation::ack_filter;
use crate::simulation::beside::{Beside, Delays, Met, Side};
use crate::simulation::delay::DelayParts;
use crate::simulation::reordering::{Extents, Reordering};
use crate::simulation::setup::entries;
use crate::simulation::{Flow, Setup};

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
#[derive(Debug)]
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
}

/// Counters of a flow. "Transmissions" are sendings of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    // The first three are counted for every packet, and lie side by side.
    /// Transmissions.
    Sent,
    /// Transmissions that reached the receiver.
    Arrived,
    /// ACKs that the receiver or the proxy sent.
    Acks,
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
    /// What was met beside the link; `None` if there are no hops.
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

    /// Their sums; zero without any.
    fn of_all<'a>(mut each: impl Iterator<Item = &'a Self>) -> Self {
        let first = each.next().cloned().unwrap_or_default();
        each.fold(first, Self::and)
    }

    fn and(mut self, other: &Self) -> Self {
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
        self.outcome = match (self.outcome, &other.outcome) {
            (Some(one), Some(other)) => Some(Box::new(one.and(other))),
            (one, other) => one.or_else(|| other.clone()),
        };
        self.beside = match (self.beside, &other.beside) {
            (Some(one), Some(other)) => Some(Box::new(one.and(other))),
            (one, other) => one.or_else(|| other.clone()),
        };
        self
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
    /// Those of a load are shared by its flows.
    distributions: Rc<RefCell<DelayDistributions>>,
    /// Payload delivered at the begin and at the end of the time that all flows share.
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
    distribution.push_all(waiting);
    if let Some(total) = total {
        total.push_all(waiting);
    }
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

    #[inline]
    pub(crate) fn count(&mut self, what: Count) {
        self.counts.values[what as usize] += 1;
    }

    /// Adds a number to a count.
    pub(crate) fn add(&mut self, what: Count, number: u64) {
        self.counts.values[what as usize] += number;
    }

    /// Counts a transmission: `ordinal` is its number among all that were sent, `copy` that among those of its packet.
    #[inline]
    pub(crate) fn on_sent(&mut self, ordinal: u64, copy: u32) {
        self.count(Count::Sent);
        if let Some(reordering) = &mut self.reordering {
            reordering.on_sent(ordinal);
        }
        if copy > 1 {
            self.on_sent_again(copy);
        }
    }

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

    /// Records the completion time, from the start of the flow. Returns false if it was already known.
    pub(crate) fn complete(&mut self, after: Span) -> bool {
        let first = self.counts.completion.is_none();
        self.counts.completion.get_or_insert(after);
        first
    }

    /// Records what the hosts have counted at the end of a run. `bulk` is the payload of so many packets of a bulk transfer.
    /// One of a transfer that `is_part` of a load.
    pub(crate) fn end(
        &mut self,
        ends: &mut Ends,
        end: Time,
        begins: Option<bool>,
        bulk: impl Fn(u64) -> u64,
    ) {
        self.settle_queueing();
        self.settle_delay();
        self.settle_rtt();
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
        let of_transfer = begins.map(|begins| Outcome {
            transfers: Some(Times {
                begun: u64::from(begins),
                complete: self.counts.completion.take().into_iter().collect(),
            }),
            ..Outcome::default()
        });
        self.counts.outcome = ends.outcome(end).or(of_transfer).map(Box::new);
    }
}

/// Order statistics of the delay and of the queueing delay, with their precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayStatistics {
    pub(super) delay: Quantiles,
    pub(super) delay_precision: Precision,
    pub(super) queueing: Quantiles,
    pub(super) queueing_precision: Precision,
    pub(super) rtt: Quantiles,
}

impl From<&DelayDistributions> for DelayStatistics {
    fn from(distributions: &DelayDistributions) -> Self {
        Self {
            delay: distributions.delay.quantiles(Span::ZERO),
            delay_precision: distributions.delay.precision(),
            queueing: distributions.queueing.quantiles(Span::ZERO),
            queueing_precision: distributions.queueing.precision(),
            rtt: distributions.rtt.quantiles(Span::ZERO),
        }
    }
}

/// Time in which a flow was active, from the begin of the run: from its start to its last delivery if it is complete, else
/// to the end of the run.
fn own_time(flow: &Flow, duration: Span, counts: &Counts) -> (Span, Span) {
    let complete = counts
        .completion
        .map(|after| flow.start.saturating_add(after));
    (flow.start.min(duration), complete.unwrap_or(duration))
}

/// Everything observed of one flow, or of all flows together. Metrics are computed from it.
#[derive(Debug)]
pub(super) struct Observed<'a> {
    setup: &'a Setup,
    /// Packets that the link could have carried during the run; `None` if unknown.
    capacity_packets: Option<f64>,
    counts: Counts,
    /// Time from the first start to the last end of the flows; `None` if there are none.
    time: Option<(Span, Span)>,
    pub(super) delays: DelayStatistics,
}

impl<'a> Observed<'a> {
    /// Observations of each flow and of all flows together, for a run of length `duration` over a link that could have
    /// carried `capacity_packets`.
    pub(super) fn all(
        setup: &'a Setup,
        duration: Span,
        capacity_packets: Option<f64>,
        tallies: &[&FlowTally],
    ) -> (Vec<Self>, Self) {
        let observed = |counts, time, delays| Self {
            setup,
            capacity_packets,
            counts,
            time,
            delays,
        };
        let entries = entries(&setup.flows);
        let flows = tallies.iter().zip(&setup.flows);
        let numbered: Vec<_> = entries.iter().zip(flows).collect();
        let flows: Vec<Self> = numbered
            .chunk_by(|one, other| one.0 == other.0)
            .map(|parts| {
                let counts = Counts::of_all(parts.iter().map(|(_, (tally, _))| &tally.counts));
                let times = parts.iter();
                let times = times.map(|(_, (tally, flow))| own_time(flow, duration, &tally.counts));
                let (_, (first, _)) = &parts[0];
                observed(
                    counts,
                    times.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))),
                    DelayStatistics::from(&*first.distributions.borrow()),
                )
            })
            .collect();
        let counts = Counts::of_all(tallies.iter().map(|tally| &tally.counts));
        let shared = tallies.first().and_then(|tally| tally.total.as_ref());
        let delays = match (shared, flows.first()) {
            (Some(distributions), _) => DelayStatistics::from(&*distributions.borrow()),
            (None, Some(only)) => only.delays,
            (None, None) => DelayStatistics::from(&DelayDistributions::of(1)),
        };
        let times = flows.iter().filter_map(|flow| flow.time);
        let time = times.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let total = observed(counts, time, delays);
        (flows, total)
    }

    pub(super) fn count(&self, what: Count) -> u64 {
        self.counts.of(what)
    }

    /// Rate of the payload in order over the own time, bit/s; `None` if no time passed.
    pub(super) fn payload_rate(&self) -> Option<f64> {
        self.rate(self.count(Count::Payload))
    }

    /// Rate of the whole packets that the receiver has over the own time, bit/s; `None` if no time passed.
    pub(super) fn packet_rate(&self) -> Option<f64> {
        let usual = self.count(Count::Delivered) - self.count(Count::OtherPackets);
        let packets = usual + self.count(Count::AboveGap);
        let bytes = packets.saturating_mul(self.setup.packet.0);
        self.rate(bytes.saturating_add(self.count(Count::OtherBytes)))
    }

    /// Rate of `bytes` over the own time, bit/s; `None` if no time passed.
    fn rate(&self, bytes: u64) -> Option<f64> {
        let (begins, ends) = self.time?;
        let time = ends.saturating_sub(begins);
        (!time.is_zero()).then(|| 8.0 * to_f64(bytes) / time.as_secs_f64())
    }

    /// Packets in order, of the usual size or as many bytes, as a share of what the link could have carried; `None` if that is
    /// unknown or nothing.
    pub(super) fn link_share(&self) -> Option<f64> {
        let capacity = self.capacity_packets.filter(|capacity| *capacity > 0.0)?;
        let usual = self.count(Count::Delivered) - self.count(Count::OtherPackets);
        let others = to_f64(self.count(Count::OtherBytes)) / to_f64(self.setup.packet.0.max(1));
        Some((to_f64(usual) + others) / capacity)
    }

    /// Reordered transmissions.
    pub(super) fn extents(&self) -> Extents {
        self.counts.extents
    }

    /// Number of retransmissions → number of packets.
    pub(super) fn retransmissions(&self) -> BTreeMap<u32, u64> {
        self.counts.retransmissions()
    }

    /// Share of the packets that were sent more than once; `None` if nothing was sent.
    pub(super) fn retransmission_share(&self) -> Option<f64> {
        let packets = self.count(Count::Sent) - self.count(Count::Retransmitted);
        ratio(self.counts.again.first().copied().unwrap_or(0), packets)
    }

    /// Largest number of retransmissions of a packet.
    pub(super) fn max_retransmissions(&self) -> u32 {
        let most = self.counts.again.iter().rposition(|packets| *packets > 0);
        most.map_or(0, |most| u32::try_from(most + 1).unwrap_or(u32::MAX))
    }

    /// Mean of part `index` of the delay ([`DelayParts::all`]) in seconds, rounded to ns like the mean delay.
    pub(super) fn mean_part(&self, index: usize) -> Option<f64> {
        // What is measured as propagation includes the hops beside the link.
        let beside = self.counts.beside.as_deref().filter(|_| index == 0);
        let beside = beside.map_or(0, Beside::delay);
        self.mean_of(self.counts.parts[index].saturating_sub(beside))
    }

    /// Mean over the transmissions that arrived of a sum of times in ns: in seconds, rounded to ns.
    fn mean_of(&self, sum: u128) -> Option<f64> {
        let transmissions = u128::from(self.count(Count::Arrived));
        let nanos = (sum + transmissions / 2).checked_div(transmissions)?;
        Span::from_nanos(u64::try_from(nanos).ok()?).map(Span::as_secs_f64)
    }

    /// ACKs that others have replaced; `None` without a filter.
    pub(super) fn acks_filtered(&self) -> Option<u64> {
        let filters = ack_filter::rule(&self.setup.ack_filter).is_some();
        filters.then(|| self.count(Count::AcksFiltered))
    }

    /// A count on a side of the link; `None` if it has no hops.
    pub(super) fn met(&self, side: Side, count: fn(&Met) -> u64) -> Option<u64> {
        self.counts.beside.as_ref()?.on(side).map(count)
    }

    /// Mean time at the hops of a side over the transmissions that arrived, s; `None` if it has no hops.
    pub(super) fn mean_beside(&self, side: Side) -> Option<f64> {
        let met = self.counts.beside.as_ref()?.on(side)?;
        self.mean_of(met.delay)
    }

    /// Share of the transmissions to hosts that are not TCP which were dropped or lost; `None` without any.
    pub(super) fn datagram_loss(&self) -> Option<f64> {
        let [sent, gone] = self.counts.datagrams?;
        ratio(gone, sent)
    }

    /// A value of what the applications observed.
    pub(super) fn application<T>(&self, value: impl Fn(&Outcome) -> Option<T>) -> Option<T> {
        self.counts.outcome.as_deref().and_then(value)
    }

    /// Number of requests, pages or transfers that are complete; `None` without an application that makes them.
    pub(super) fn complete(&self, of: impl Fn(&Outcome) -> Option<&Times>) -> Option<u64> {
        let times = of(self.counts.outcome.as_deref()?)?;
        Some(times.complete.len() as u64)
    }

    /// Number of requests, pages or transfers that began; `None` without an application that makes them.
    pub(super) fn begun(&self, of: impl Fn(&Outcome) -> Option<&Times>) -> Option<u64> {
        of(self.counts.outcome.as_deref()?).map(|times| times.begun)
    }

    /// Order statistics of times that applications measured; `None` if there are none.
    pub(super) fn times(&self, of: impl Fn(&Outcome) -> Option<&Times>) -> Option<Quantiles> {
        let times = &of(self.counts.outcome.as_deref()?)?.complete;
        let mut distribution = Distribution::within(times.len().max(1), 1);
        distribution.push_all(times);
        (!times.is_empty()).then(|| distribution.quantiles(Span::ZERO))
    }

    /// A value of what the listeners of calls heard.
    pub(super) fn call<T>(&self, value: impl Fn(&Heard) -> Option<T>) -> Option<T> {
        self.application(|outcome| outcome.voice.as_ref().and_then(&value))
    }

    /// Rate of the payload that applications supplied over the own time, bit/s; `None` without any.
    pub(super) fn offered_rate(&self) -> Option<f64> {
        self.rate(self.application(|outcome| outcome.offered)?.0)
    }

    /// Time from the start of the flow to the in-order delivery of its last packet, s; `None` if it is not complete.
    pub(super) fn completion(&self) -> Option<f64> {
        self.counts.completion.map(Span::as_secs_f64)
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Bytes;

    use super::*;
    use crate::congestion::Algorithm;
    use crate::endpoint::Profile;

    #[test]
    fn a_packet_counts_once_by_its_last_retransmission() {
        let mut tally = FlowTally::all(&[0], false, [false; 2]).next().unwrap();
        for (ordinal, copy) in (0..).zip([1, 1, 1, 2, 2, 3]) {
            tally.on_sent(ordinal, copy);
        }
        // Three packets, sent once, twice and three times.
        let packets = BTreeMap::from([(0, 1), (1, 1), (2, 1)]);
        assert_eq!(tally.counts.retransmissions(), packets);
    }

    #[test]
    fn the_total_is_complete_when_the_last_flow_is() {
        let mut tallies = FlowTally::all(&[0, 1], false, [false; 2]);
        let flow = || Flow::new(Algorithm::default(), Profile::Rfc.endpoint());
        let setup = Setup::new(vec![flow(), flow()], Span::ZERO, Span::ZERO);
        let (mut one, mut other) = (tallies.next().unwrap(), tallies.next().unwrap());
        let completion = |flows: &[&FlowTally]| {
            let (_, total) = Observed::all(&setup, Span::ZERO, None, flows);
            total.completion()
        };
        one.complete(Span::from_secs(3));
        assert_eq!(completion(&[&one, &other]), None);
        assert_eq!(completion(&[&other, &one]), None);
        other.complete(Span::from_secs(2));
        assert_eq!(completion(&[&one, &other]), Some(3.0));
        assert_eq!(completion(&[]), None);
    }

    /// A flow that starts after `start` seconds and delivers `packets` packets, the last of them `completes` seconds
    /// after the begin of the run.
    fn transferred(flow: Flow, packets: u64, completes: Option<u32>) -> (Flow, FlowTally) {
        let mut tally = FlowTally::all(&[0], false, [false; 2]).next().unwrap();
        tally.counts.values[Count::Delivered as usize] = packets;
        tally.counts.values[Count::Payload as usize] = flow.payload_of(packets, Bytes(1500));
        tally.counts.completion =
            completes.map(|at| Span::from_secs(at).saturating_sub(flow.start));
        (flow, tally)
    }

    #[test]
    fn rates_are_over_the_time_of_each_flow_and_shares_over_the_run() {
        let flow = |start: u32| {
            let flow = Flow::new(Algorithm::default(), Profile::Rfc.endpoint());
            flow.starting(Span::from_secs(start))
        };
        let sized = |start, bytes| flow(start).of_bytes(Bytes(bytes), Bytes(1500)).unwrap();
        let (flows, tallies): (Vec<Flow>, Vec<FlowTally>) = [
            // Endless, from 10 s to the end at 30 s: 2000 packets of 1460 B.
            transferred(flow(10), 2000, None),
            // 100 kB in 69 packets, from 4 s to 8 s.
            transferred(sized(4, 100_000), 69, Some(8)),
            // Not complete: to the end of the run. All its packets are full.
            transferred(sized(20, 100_000), 50, None),
            // Begins after the run.
            transferred(flow(31), 0, None),
        ]
        .into_iter()
        .unzip();
        let setup = Setup::new(flows, Span::ZERO, Span::ZERO);
        let tallies: Vec<&FlowTally> = tallies.iter().collect();
        let (mut flows, total) = Observed::all(&setup, Span::from_secs(30), Some(4238.0), &tallies);
        let payload: Vec<_> = flows.iter().map(Observed::payload_rate).collect();
        let expected = [1_168_000.0, 200_000.0, 58_400.0];
        assert_eq!(payload[..3], expected.map(Some));
        assert_eq!(payload[3], None);
        // Packets above a gap count in the throughput only.
        flows[2].counts.values[Count::AboveGap as usize] = 5;
        let packets: Vec<_> = flows.iter().map(Observed::packet_rate).collect();
        assert_eq!(packets[..3], [1_200_000.0, 207_000.0, 66_000.0].map(Some));
        // 2 920 000 + 100 000 + 73 000 B from 4 s to 30 s.
        let rate = total.payload_rate().unwrap();
        assert!((rate - 8.0 * 3_093_000.0 / 26.0).abs() < 1e-6, "{rate}");
        let shares: f64 = flows.iter().filter_map(Observed::link_share).sum();
        assert!((shares - 0.5).abs() < 1e-12, "{shares}");
        assert_eq!(total.link_share(), Some(0.5));
    }
}

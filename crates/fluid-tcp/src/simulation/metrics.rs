//! What a run reports (tcp.md §5, names of §7).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use serde::Serialize;
use tmt_core::stats::distribution::{Distribution, Precision};
use tmt_core::stats::ratio;
use tmt_core::types::{Span, Time, to_f64};

use crate::endpoint::sender::Sender;
use crate::link::Usage;
use crate::simulation::Setup;
use crate::simulation::delay::DelayParts;

/// Delays kept one by one, over all flows of a run and again in its total; of as many as that a run's statistics are
/// exact.
const EXACT: usize = 1 << 17;

/// Buckets of the histograms behind them, over all flows of a run and again in its total.
const BUCKETS: usize = 1 << 18;

/// Fewest delays of a flow kept one by one, however many flows there are.
const LEAST_EXACT: usize = 16;

/// Buckets in which no spread of delays costs precision.
const ENOUGH_BUCKETS: usize = 1 << 15;

/// Delays of packets and their parts.
#[derive(Debug)]
struct Waits {
    delay: Distribution,
    queueing: Distribution,
}

impl Waits {
    /// For one flow of so many that share the memory.
    fn of(flows: usize) -> Self {
        let flows = flows.max(1);
        let (exact, buckets) = (
            (EXACT / flows).max(LEAST_EXACT),
            (BUCKETS / flows).min(ENOUGH_BUCKETS),
        );
        Self {
            delay: Distribution::within(exact, buckets),
            queueing: Distribution::within(exact, buckets),
        }
    }
}

/// The tallies of a run's flows: they share memory that does not grow with the run.
#[derive(Debug)]
pub(crate) struct Tallies {
    flows: usize,
    /// Over all flows; none where there is one, which is the total itself.
    total: Option<Rc<RefCell<Waits>>>,
}

impl Tallies {
    pub(crate) fn new(flows: usize) -> Self {
        Self {
            flows,
            total: (flows > 1).then(|| Rc::new(RefCell::new(Waits::of(1)))),
        }
    }

    /// The tally of one flow.
    pub(crate) fn flow(&self) -> FlowTally {
        FlowTally {
            waits: Waits::of(self.flows),
            total: self.total.clone(),
            counts: Counts::default(),
        }
    }
}

/// What is counted of a flow.
#[derive(Debug, Default)]
struct Counts {
    sent: u64,
    retransmitted: u64,
    dropped: u64,
    marked: u64,
    acks: u64,
    acks_lost: u64,
    lost: u64,
    arrived: u64,
    spurious: u64,
    /// Packets by the number of times they were sent again.
    retransmissions: Vec<u64>,
    parts: PartSums,
    completion: Option<Span>,
}

/// Counts of one flow while a run goes on.
#[derive(Debug)]
pub(crate) struct FlowTally {
    counts: Counts,
    waits: Waits,
    total: Option<Rc<RefCell<Waits>>>,
}

impl Default for FlowTally {
    fn default() -> Self {
        Tallies::new(1).flow()
    }
}

impl FlowTally {
    pub(crate) fn on_sent(&mut self, copy: u32) {
        let counts = &mut self.counts;
        counts.sent += 1;
        let again = usize::try_from(copy - 1).unwrap_or(usize::MAX);
        if counts.retransmissions.len() <= again {
            counts.retransmissions.resize(again + 1, 0);
        }
        counts.retransmissions[again] += 1;
        if let Some(before) = again.checked_sub(1) {
            counts.retransmitted += 1;
            counts.retransmissions[before] -= 1;
        }
    }

    pub(crate) fn on_dropped(&mut self) {
        self.counts.dropped += 1;
    }

    /// A proxy had it already.
    pub(crate) fn on_duplicate(&mut self) {
        self.counts.spurious += 1;
    }

    pub(crate) fn on_service(&mut self, waited: Span) {
        self.waits.queueing.push(waited);
        if let Some(total) = &self.total {
            total.borrow_mut().queueing.push(waited);
        }
    }

    pub(crate) fn on_ack(&mut self, lost: bool) {
        self.counts.acks += 1;
        self.counts.acks_lost += u64::from(lost);
    }

    pub(crate) fn on_marked(&mut self) {
        self.counts.marked += 1;
    }

    pub(crate) fn on_lost(&mut self) {
        self.counts.lost += 1;
    }

    pub(crate) fn on_delivered(&mut self, parts: &DelayParts, duplicate: bool) {
        self.counts.arrived += 1;
        self.counts.spurious += u64::from(duplicate);
        self.counts.parts.add(parts);
        let delay = parts.total();
        self.waits.delay.push(delay);
        if let Some(total) = &self.total {
            total.borrow_mut().delay.push(delay);
        }
    }

    /// Notes when the last packet was there; false if that was known.
    pub(crate) fn complete(&mut self, after: Span) -> bool {
        let first = self.counts.completion.is_none();
        self.counts.completion.get_or_insert(after);
        first
    }
}

/// The metrics of one flow, or of all together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Metrics {
    /// Bits of all packets that reached the receiver, duplicates included, per second of the run.
    pub throughput_bps: Option<f64>,
    /// Bits of whole packets delivered in order, per second of the run.
    pub goodput_bps: Option<f64>,
    /// `goodput_bps` / the link's rate.
    pub normalised_goodput: Option<f64>,
    /// Copies of packets sent.
    pub packets_sent: u64,
    /// Copies that were not the first.
    pub packets_retransmitted: u64,
    /// Copies that the receiver had already.
    pub packets_spurious: u64,
    /// Copies dropped at the queue: it was full, or CoDel dropped them.
    pub packets_dropped: u64,
    /// Copies that the queue marked (ECN).
    pub packets_marked: u64,
    /// Copies lost on the link.
    pub packets_lost: u64,
    /// Packets delivered in order.
    pub packets_delivered: u64,
    /// Acknowledgements that the receiver sent.
    pub acks_sent: u64,
    /// Those of them that the return path lost.
    pub acks_lost: u64,
    /// Retransmission timeouts.
    pub rto_events: u64,
    /// Those of them that F-RTO found to have been needless.
    pub spurious_timeouts: u64,
    /// Fast recoveries.
    pub fast_recoveries: u64,
    /// Share of the packets that were sent more than once.
    pub retransmission_probability: Option<f64>,
    /// Times the packet that was sent most was sent again.
    pub max_retransmissions: u32,
    /// Packets by the number of times they were sent again.
    pub retransmissions: BTreeMap<u32, u64>,
    /// Delay of delivered copies, sender to receiver.
    #[serde(flatten)]
    pub delay: Delays,
    /// What that delay is made of, on average.
    #[serde(flatten)]
    pub delay_parts: DelayPartMeans,
    /// Time of served copies from the queue's end to the link.
    #[serde(flatten)]
    pub queueing_delay: QueueingDelays,
    /// How far the percentiles of the delay may be off.
    pub delay_percentiles: Precision,
    /// How far those of the queueing delay may be off.
    pub queueing_delay_percentiles: Precision,
    /// From the flow's start to the in-order delivery of its last packet; of the last flow for all together.
    pub completion_time_s: Option<f64>,
}

/// Order statistics under the names of tcp.md §7.
macro_rules! delays {
    ($(#[$doc:meta])* $name:ident: $min:ident $mean:ident $p50:ident $p85:ident $p95:ident $p99:ident $max:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Serialize)]
        #[expect(missing_docs, reason = "the names say it: the order statistic, in seconds")]
        pub struct $name {
            pub $min: Option<f64>,
            pub $mean: Option<f64>,
            pub $p50: Option<f64>,
            pub $p85: Option<f64>,
            pub $p95: Option<f64>,
            pub $p99: Option<f64>,
            pub $max: Option<f64>,
        }

        impl From<&Distribution> for $name {
            fn from(sketch: &Distribution) -> Self {
                let q = sketch.quantiles(Span::ZERO);
                Self { $min: q.min, $mean: q.mean, $p50: q.p50, $p85: q.p85, $p95: q.p95, $p99: q.p99, $max: q.max }
            }
        }
    };
}

delays! {
    /// Packet delay, s.
    Delays: delay_min_s delay_mean_s delay_p50_s delay_p85_s delay_p95_s delay_p99_s delay_max_s
}
delays! {
    /// Queueing delay, s.
    QueueingDelays: queueing_delay_min_s queueing_delay_mean_s queueing_delay_p50_s queueing_delay_p85_s
        queueing_delay_p95_s queueing_delay_p99_s queueing_delay_max_s
}

/// Mean of each part of the delay of delivered copies, s; they add up to the mean delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct DelayPartMeans {
    /// At the speed of light.
    pub delay_propagation_mean_s: Option<f64>,
    /// In the queue, until the first bit or LLDU goes out. (Of delivered copies; `queueing_delay_mean_s` is of all
    /// that were served.)
    pub delay_queue_mean_s: Option<f64>,
    /// From the first bit or LLDU to the last.
    pub delay_serialisation_mean_s: Option<f64>,
    /// Decoding and waiting for what ARQ or FEC repairs.
    pub delay_wait_mean_s: Option<f64>,
}

/// The parts of the delays of many copies, ns.
#[derive(Debug, Default)]
struct PartSums {
    propagation: u128,
    queue: u128,
    serialisation: u128,
    wait: u128,
}

impl PartSums {
    fn add(&mut self, parts: &DelayParts) {
        self.propagation += u128::from(parts.propagation.as_nanos());
        self.queue += u128::from(parts.queue.as_nanos());
        self.serialisation += u128::from(parts.serialisation.as_nanos());
        self.wait += u128::from(parts.wait.as_nanos());
    }

    fn merge(&mut self, other: &Self) {
        self.propagation += other.propagation;
        self.queue += other.queue;
        self.serialisation += other.serialisation;
        self.wait += other.wait;
    }

    /// The means over `copies` of them, rounded to whole nanoseconds as that of the delay is.
    fn means(&self, copies: u64) -> DelayPartMeans {
        let mean = |sum: u128| {
            let copies = u128::from(copies);
            let nanos = (sum + copies / 2).checked_div(copies)?;
            Span::from_nanos(u64::try_from(nanos).ok()?).map(Span::as_secs_f64)
        };
        DelayPartMeans {
            delay_propagation_mean_s: mean(self.propagation),
            delay_queue_mean_s: mean(self.queue),
            delay_serialisation_mean_s: mean(self.serialisation),
            delay_wait_mean_s: mean(self.wait),
        }
    }
}

/// What a run gives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// Length of the run, s.
    pub duration_s: f64,
    /// One a flow.
    pub flows: Vec<Metrics>,
    /// All flows together.
    pub total: Total,
}

/// All flows together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Total {
    /// Sums, and order statistics over all packets.
    #[serde(flatten)]
    pub metrics: Metrics,
    /// Share of the link's capacity used, lost packets included.
    pub link_utilisation: Option<f64>,
    /// Jain's index of the flows' goodput.
    pub jain_index: Option<f64>,
    /// LLDUs the packets took, on a timeline; slots used, repeats included, on a coupled link.
    pub lldus_used: Option<u64>,
    /// LLDUs used and delivered, by the attempts they took.
    pub link_attempts: BTreeMap<u32, u64>,
    /// Packets the link served.
    pub packets_served: u64,
}

impl RunReport {
    pub(crate) fn new<'a>(
        setup: &Setup,
        end: Time,
        usage: Usage,
        flows: impl Iterator<Item = (&'a FlowTally, u64, &'a Sender)>,
    ) -> Self {
        let duration = end.since(setup.begin);
        let mut sum = Sum::default();
        let mut total: Option<Delayed> = None;
        let flows: Vec<Metrics> = flows
            .map(|(tally, delivered, sender)| {
                let (rto_events, fast_recoveries) = (sender.rto_events(), sender.fast_recoveries());
                let flow = Sum {
                    delivered,
                    rto_events,
                    spurious_timeouts: sender.spurious_timeouts(),
                    fast_recoveries,
                    ..Sum::default()
                };
                sum.add(&tally.counts, &flow);
                let delayed = Delayed::from(&tally.waits);
                total.get_or_insert_with(|| {
                    let all = tally.total.as_ref();
                    all.map_or(delayed, |all| Delayed::from(&*all.borrow()))
                });
                metrics(setup, duration, &tally.counts, delayed, &flow)
            })
            .collect();
        let total = total.unwrap_or_else(|| Delayed::from(&Waits::of(1)));
        let goodputs: Vec<f64> = flows.iter().filter_map(|flow| flow.goodput_bps).collect();
        let all_done = flows.iter().all(|flow| flow.completion_time_s.is_some());
        let mut metrics = metrics(setup, duration, &sum.counts, total, &sum);
        metrics.completion_time_s = metrics.completion_time_s.filter(|_| all_done);
        let total = Total {
            link_utilisation: usage.utilisation,
            jain_index: jain_index(&goodputs),
            lldus_used: usage.lldus_used,
            link_attempts: usage.attempts,
            packets_served: usage.packets_served,
            metrics,
        };
        Self {
            duration_s: duration.as_secs_f64(),
            flows,
            total,
        }
    }
}

/// Order statistics of a flow's delays, or of all flows'.
#[derive(Debug, Clone, Copy)]
struct Delayed {
    delay: Delays,
    queueing: QueueingDelays,
    precisions: [Precision; 2],
}

impl From<&Waits> for Delayed {
    fn from(waits: &Waits) -> Self {
        Self {
            delay: (&waits.delay).into(),
            queueing: (&waits.queueing).into(),
            precisions: [waits.delay.precision(), waits.queueing.precision()],
        }
    }
}

/// Counts over all flows, or those of one that its ends keep.
#[derive(Debug, Default)]
struct Sum {
    counts: Counts,
    delivered: u64,
    rto_events: u64,
    spurious_timeouts: u64,
    fast_recoveries: u64,
}

impl Sum {
    fn add(&mut self, counts: &Counts, flow: &Self) {
        let sum = &mut self.counts;
        sum.sent += counts.sent;
        sum.retransmitted += counts.retransmitted;
        sum.dropped += counts.dropped;
        sum.marked += counts.marked;
        sum.acks += counts.acks;
        sum.acks_lost += counts.acks_lost;
        sum.lost += counts.lost;
        sum.arrived += counts.arrived;
        sum.spurious += counts.spurious;
        if sum.retransmissions.len() < counts.retransmissions.len() {
            sum.retransmissions.resize(counts.retransmissions.len(), 0);
        }
        for (sum, packets) in sum.retransmissions.iter_mut().zip(&counts.retransmissions) {
            *sum += packets;
        }
        sum.parts.merge(&counts.parts);
        sum.completion = sum.completion.max(counts.completion);
        self.delivered += flow.delivered;
        self.rto_events += flow.rto_events;
        self.spurious_timeouts += flow.spurious_timeouts;
        self.fast_recoveries += flow.fast_recoveries;
    }
}

fn metrics(
    setup: &Setup,
    duration: Span,
    counts: &Counts,
    delayed: Delayed,
    ends: &Sum,
) -> Metrics {
    let packet_bits = to_f64(setup.packet.0) * 8.0;
    let seconds = duration.as_secs_f64();
    let rate =
        |packets: u64| (!duration.is_zero()).then(|| to_f64(packets) * packet_bits / seconds);
    let goodput_bps = rate(ends.delivered);
    let retransmissions: BTreeMap<u32, u64> = (0..)
        .zip(counts.retransmissions.iter().copied())
        .filter(|(_, packets)| *packets > 0)
        .collect();
    let packets: u64 = retransmissions.values().sum();
    let once = retransmissions.get(&0).copied().unwrap_or(0);
    Metrics {
        throughput_bps: rate(counts.arrived),
        goodput_bps,
        normalised_goodput: goodput_bps
            .zip(setup.link_rate_bps)
            .map(|(goodput, rate)| goodput / rate),
        packets_sent: counts.sent,
        packets_retransmitted: counts.retransmitted,
        packets_spurious: counts.spurious,
        packets_dropped: counts.dropped,
        packets_marked: counts.marked,
        acks_sent: counts.acks,
        acks_lost: counts.acks_lost,
        packets_lost: counts.lost,
        packets_delivered: ends.delivered,
        rto_events: ends.rto_events,
        spurious_timeouts: ends.spurious_timeouts,
        fast_recoveries: ends.fast_recoveries,
        retransmission_probability: ratio(packets - once, packets),
        max_retransmissions: retransmissions.keys().last().copied().unwrap_or(0),
        retransmissions,
        delay: delayed.delay,
        delay_parts: counts.parts.means(counts.arrived),
        queueing_delay: delayed.queueing,
        delay_percentiles: delayed.precisions[0],
        queueing_delay_percentiles: delayed.precisions[1],
        completion_time_s: counts.completion.map(Span::as_secs_f64),
    }
}

/// (Σx)² / (n Σx²): 1 where all have the same, 1/n where one has it all.
fn jain_index(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (to_f64(values.len() as u64) * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_one_for_equals_and_one_over_n_for_one_that_takes_all() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(jain_index(&[0.0]), None);
    }

    #[test]
    fn a_packet_counts_once_by_its_last_retransmission() {
        let mut tally = FlowTally::default();
        for copy in [1, 1, 1, 2, 2, 3] {
            tally.on_sent(copy);
        }
        // Three packets: one sent once, one twice, one three times.
        assert_eq!(tally.counts.retransmissions, [1, 1, 1]);
    }
}

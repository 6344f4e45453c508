//! Counters and delay distributions of each flow during a run, and their sums. [`super::metrics`] derives metrics from
//! them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tmt_core::stats::distribution::{Distribution, Precision, Quantiles};
use tmt_core::types::{Span, to_f64};

use crate::endpoint::sender::Sender;
use crate::simulation::Setup;
use crate::simulation::delay::DelayParts;

/// Number of delays stored exactly, divided among the flows of a run, and again in its total. Up to this many,
/// percentiles are exact.
const EXACT: usize = 1 << 17;

/// Number of buckets of the histograms used above that, divided among the flows, and again in the total.
const BUCKETS: usize = 1 << 18;

/// Smallest number of delays stored exactly per flow, whatever the number of flows.
const LEAST_EXACT: usize = 16;

/// Number of buckets with which any spread of delays keeps full precision.
const ENOUGH_BUCKETS: usize = 1 << 15;

/// Distributions of the delay and of the queueing delay.
#[derive(Debug)]
pub(crate) struct DelayDistributions {
    pub(crate) delay: Distribution,
    pub(crate) queueing: Distribution,
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
        }
    }
}

/// Counters of a flow. "Transmissions" are sendings of packets.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    /// Transmissions.
    Sent,
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
    /// Transmissions that reached the receiver.
    Arrived,
    /// Packets that the receiver has in order.
    Delivered,
    /// ACKs that the receiver or the proxy sent.
    Acks,
    /// ACKs that the return path lost.
    AcksLost,
    /// Retransmission timeouts of the sender.
    RtoEvents,
    /// Timeouts that F-RTO found to be spurious.
    SpuriousTimeouts,
    /// Fast recoveries entered.
    FastRecoveries,
}

/// Counts of one flow, or sums over several.
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    values: [u64; Count::FastRecoveries as usize + 1],
    /// Number of packets, by number of retransmissions.
    retransmissions: Vec<u64>,
    /// Sums of the parts of the delay over the transmissions that arrived, ns, in the order of [`DelayParts::all`].
    parts: [u128; 4],
    completion: Option<Span>,
}

impl Counts {
    fn and(mut self, other: &Self) -> Self {
        for (sum, count) in self.values.iter_mut().zip(other.values) {
            *sum += count;
        }
        let length = self.retransmissions.len().max(other.retransmissions.len());
        self.retransmissions.resize(length, 0);
        for (sum, packets) in self.retransmissions.iter_mut().zip(&other.retransmissions) {
            *sum += packets;
        }
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            *sum += part;
        }
        let both = self.completion.zip(other.completion);
        self.completion = both.map(|(one, other)| one.max(other));
        self
    }
}

/// Counts and delays of one flow during a run.
#[derive(Debug)]
pub(crate) struct FlowTally {
    counts: Counts,
    distributions: DelayDistributions,
    /// Delays of all flows; `None` if there is only one flow.
    total: Option<Rc<RefCell<DelayDistributions>>>,
}

impl FlowTally {
    /// Tallies for the flows of a run. Their memory is limited and shared.
    pub(crate) fn all(flows: usize) -> impl Iterator<Item = Self> {
        let total = (flows > 1).then(|| Rc::new(RefCell::new(DelayDistributions::of(1))));
        (0..flows).map(move |_| Self {
            distributions: DelayDistributions::of(flows),
            total: total.clone(),
            counts: Counts::default(),
        })
    }

    pub(crate) fn count(&mut self, what: Count) {
        self.counts.values[what as usize] += 1;
    }

    pub(crate) fn on_sent(&mut self, copy: u32) {
        self.count(Count::Sent);
        let again = usize::try_from(copy - 1).unwrap_or(usize::MAX);
        let retransmissions = &mut self.counts.retransmissions;
        if retransmissions.len() <= again {
            retransmissions.resize(again + 1, 0);
        }
        retransmissions[again] += 1;
        if let Some(before) = again.checked_sub(1) {
            retransmissions[before] -= 1;
            self.count(Count::Retransmitted);
        }
    }

    pub(crate) fn on_service(&mut self, waited: Span) {
        self.distributions.queueing.push(waited);
        if let Some(total) = &self.total {
            total.borrow_mut().queueing.push(waited);
        }
    }

    pub(crate) fn on_delivered(&mut self, parts: &DelayParts) {
        self.count(Count::Arrived);
        for (sum, part) in self.counts.parts.iter_mut().zip(parts.all()) {
            *sum += u128::from(part.as_nanos());
        }
        let delay = parts.total();
        self.distributions.delay.push(delay);
        if let Some(total) = &self.total {
            total.borrow_mut().delay.push(delay);
        }
    }

    /// Records the completion time, from the start of the flow. Returns false if it was already known.
    pub(crate) fn complete(&mut self, after: Span) -> bool {
        let first = self.counts.completion.is_none();
        self.counts.completion.get_or_insert(after);
        first
    }

    /// Records the counts of sender and receiver at the end of a run.
    pub(crate) fn end(&mut self, delivered: u64, sender: &Sender) {
        for (what, count) in [
            (Count::Delivered, delivered),
            (Count::RtoEvents, sender.events().timeouts),
            (Count::SpuriousTimeouts, sender.events().spurious_timeouts),
            (Count::FastRecoveries, sender.events().fast_recoveries),
        ] {
            self.counts.values[what as usize] = count;
        }
    }
}

/// Order statistics of the delay and of the queueing delay, with their precision.
#[derive(Debug, Clone, Copy)]
pub(super) struct DelayStatistics {
    pub(super) delay: Quantiles,
    pub(super) delay_precision: Precision,
    pub(super) queueing: Quantiles,
    pub(super) queueing_precision: Precision,
}

impl From<&DelayDistributions> for DelayStatistics {
    fn from(distributions: &DelayDistributions) -> Self {
        Self {
            delay: distributions.delay.quantiles(Span::ZERO),
            delay_precision: distributions.delay.precision(),
            queueing: distributions.queueing.quantiles(Span::ZERO),
            queueing_precision: distributions.queueing.precision(),
        }
    }
}

/// Everything observed of one flow, or of all flows together. Metrics are computed from it.
#[derive(Debug)]
pub(super) struct Observed<'a> {
    setup: &'a Setup,
    duration: Span,
    counts: Counts,
    pub(super) delays: DelayStatistics,
}

impl<'a> Observed<'a> {
    /// Observations of each flow and of all flows together, for a run of length `duration`.
    pub(super) fn all(
        setup: &'a Setup,
        duration: Span,
        tallies: &[&FlowTally],
    ) -> (Vec<Self>, Self) {
        let observed = |counts, delays| Self {
            setup,
            duration,
            counts,
            delays,
        };
        let flows: Vec<Self> = tallies
            .iter()
            .map(|tally| {
                observed(
                    tally.counts.clone(),
                    DelayStatistics::from(&tally.distributions),
                )
            })
            .collect();
        let each = tallies.iter().map(|tally| tally.counts.clone());
        let sum = each.reduce(|sum, counts| sum.and(&counts));
        let shared = tallies.first().and_then(|tally| tally.total.as_ref());
        let delays = match (shared, flows.first()) {
            (Some(distributions), _) => DelayStatistics::from(&*distributions.borrow()),
            (None, Some(only)) => only.delays,
            (None, None) => DelayStatistics::from(&DelayDistributions::of(1)),
        };
        let counts = sum.unwrap_or_default();
        let total = observed(counts, delays);
        (flows, total)
    }

    pub(super) fn count(&self, what: Count) -> u64 {
        self.counts.values[what as usize]
    }

    /// Rate of the packets of this counter, bit/s; `None` if the run has no length.
    pub(super) fn rate(&self, packets: Count) -> Option<f64> {
        let packet_bits = to_f64(self.setup.packet.0) * 8.0;
        let seconds = self.duration.as_secs_f64();
        let bits = to_f64(self.count(packets)) * packet_bits;
        (!self.duration.is_zero()).then(|| bits / seconds)
    }

    /// [`Self::rate`] divided by the rate of the link; `None` if that is unknown.
    pub(super) fn normalised(&self, packets: Count) -> Option<f64> {
        Some(self.rate(packets)? / self.setup.link_rate_bps?)
    }

    /// Number of retransmissions → number of packets.
    pub(super) fn retransmissions(&self) -> BTreeMap<u32, u64> {
        (0..)
            .zip(self.counts.retransmissions.iter().copied())
            .filter(|(_, packets)| *packets > 0)
            .collect()
    }

    /// Mean of part `index` of the delay ([`DelayParts::all`]) in seconds, rounded to ns like the mean delay.
    pub(super) fn mean_part(&self, index: usize) -> Option<f64> {
        let transmissions = u128::from(self.count(Count::Arrived));
        let nanos = (self.counts.parts[index] + transmissions / 2).checked_div(transmissions)?;
        Span::from_nanos(u64::try_from(nanos).ok()?).map(Span::as_secs_f64)
    }

    /// Time from the start of the flow to the in-order delivery of its last packet, s; `None` if it is not complete.
    pub(super) fn completion(&self) -> Option<f64> {
        self.counts.completion.map(Span::as_secs_f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_counts_once_by_its_last_retransmission() {
        let mut tally = FlowTally::all(1).next().unwrap();
        for copy in [1, 1, 1, 2, 2, 3] {
            tally.on_sent(copy);
        }
        // Three packets, sent once, twice and three times.
        assert_eq!(tally.counts.retransmissions, [1, 1, 1]);
    }

    #[test]
    fn the_total_is_complete_when_the_last_flow_is() {
        let mut tallies = FlowTally::all(2);
        let setup = Setup::new(Vec::new(), Span::ZERO, Span::ZERO);
        let (mut one, mut other) = (tallies.next().unwrap(), tallies.next().unwrap());
        let completion = |flows: &[&FlowTally]| {
            let (_, total) = Observed::all(&setup, Span::ZERO, flows);
            total.completion()
        };
        one.complete(Span::from_secs(3));
        assert_eq!(completion(&[&one, &other]), None);
        assert_eq!(completion(&[&other, &one]), None);
        other.complete(Span::from_secs(2));
        assert_eq!(completion(&[&one, &other]), Some(3.0));
        assert_eq!(completion(&[]), None);
    }
}

//! What is counted of each flow while a run goes on, and how that adds up.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use tmt_core::stats::distribution::{Distribution, Precision, Quantiles};
use tmt_core::types::{Span, to_f64};

use crate::endpoint::sender::Sender;
use crate::simulation::Setup;
use crate::simulation::delay::DelayParts;

/// Number of delays stored exactly over all flows of a run, and again in its total; up to this many, percentiles are
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
struct DelayDistributions {
    delay: Distribution,
    queueing: Distribution,
}

impl DelayDistributions {
    /// For one of `flows` flows that share the memory.
    fn of(flows: usize) -> Self {
        let flows = flows.max(1);
        let exact = (EXACT / flows).max(LEAST_EXACT);
        let buckets = (BUCKETS / flows).min(ENOUGH_BUCKETS);
        Self {
            delay: Distribution::within(exact, buckets),
            queueing: Distribution::within(exact, buckets),
        }
    }
}

/// What is counted one by one.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Count {
    /// Copies sent.
    Sent,
    /// Copies sent that were not the first.
    Retransmitted,
    /// Copies that the receiver, or a proxy, had already.
    Spurious,
    /// Copies dropped at the queue, or without room at a proxy.
    Dropped,
    /// Copies that the queue marked.
    Marked,
    /// Copies lost on the link.
    Lost,
    /// Copies that reached the receiver.
    Arrived,
    /// Packets delivered in order.
    Delivered,
    /// Acknowledgements sent.
    Acks,
    /// Acknowledgements that the return path lost.
    AcksLost,
    /// Retransmission timeouts.
    RtoEvents,
    /// Timeouts found needless.
    SpuriousTimeouts,
    /// Fast recoveries.
    FastRecoveries,
}

/// Counts of one flow, or of several together.
#[derive(Debug, Default, Clone)]
pub(super) struct Counts {
    values: [u64; Count::FastRecoveries as usize + 1],
    /// Packets by the number of times they were sent again.
    retransmissions: Vec<u64>,
    /// Sums of the parts of the delays of what arrived, ns, in the order of [`DelayParts::all`].
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

/// Counts of one flow while a run goes on.
#[derive(Debug)]
pub(crate) struct FlowTally {
    counts: Counts,
    distributions: DelayDistributions,
    /// Over all flows; none where there is one, which is the total itself.
    total: Option<Rc<RefCell<DelayDistributions>>>,
}

impl FlowTally {
    /// The tallies of a run's flows: they share memory that does not grow with the run.
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

    /// Notes when the last packet was there; false if that was known.
    pub(crate) fn complete(&mut self, after: Span) -> bool {
        let first = self.counts.completion.is_none();
        self.counts.completion.get_or_insert(after);
        first
    }

    /// Notes at the end of a run what the flow's ends have counted.
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

/// Order statistics of delays.
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

/// What was observed of one flow, or of all together: what metrics are made of.
#[derive(Debug)]
pub(super) struct Observed<'a> {
    setup: &'a Setup,
    duration: Span,
    counts: Counts,
    pub(super) delays: DelayStatistics,
}

impl<'a> Observed<'a> {
    /// Each flow, and all of them together, of a run of this length.
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

    /// As many packets in bits, per second of the run.
    pub(super) fn rate(&self, packets: Count) -> Option<f64> {
        let packet_bits = to_f64(self.setup.packet.0) * 8.0;
        let seconds = self.duration.as_secs_f64();
        let bits = to_f64(self.count(packets)) * packet_bits;
        (!self.duration.is_zero()).then(|| bits / seconds)
    }

    /// `rate` over the link's.
    pub(super) fn normalised(&self, packets: Count) -> Option<f64> {
        Some(self.rate(packets)? / self.setup.link_rate_bps?)
    }

    /// Packets by the number of times they were sent again.
    pub(super) fn retransmissions(&self) -> BTreeMap<u32, u64> {
        (0..)
            .zip(self.counts.retransmissions.iter().copied())
            .filter(|(_, packets)| *packets > 0)
            .collect()
    }

    /// Mean of a part of the delay ([`DelayParts::all`]), s, rounded to whole nanoseconds as that of the delay is.
    pub(super) fn mean_part(&self, index: usize) -> Option<f64> {
        let copies = u128::from(self.count(Count::Arrived));
        let nanos = (self.counts.parts[index] + copies / 2).checked_div(copies)?;
        Span::from_nanos(u64::try_from(nanos).ok()?).map(Span::as_secs_f64)
    }

    /// From the flow's start to the in-order delivery of its last packet, s.
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
        // Three packets: one sent once, one twice, one three times.
        assert_eq!(tally.counts.retransmissions, [1, 1, 1]);
    }

    #[test]
    fn all_flows_are_complete_when_the_last_one_is() {
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

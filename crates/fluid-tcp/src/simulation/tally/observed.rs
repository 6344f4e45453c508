//! Observations of one flow, or of all flows together, at the end of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tmt_core::stats::distribution::{Distribution, Precision, Quantiles};
use tmt_core::stats::ratio;
use tmt_core::types::{Span, to_f64};

use super::{Count, Counts, DelayDistributions, FlowTally};
use crate::endpoint::{Heard, Outcome, Times};
use crate::simulation::ack_filter;
use crate::simulation::beside::{Beside, Met, Side};
use crate::simulation::reordering::Extents;
use crate::simulation::setup::entries;
use crate::simulation::{Flow, Setup};

/// Order statistics of the delay and of the queueing delay, with their precision.
#[derive(Debug, Clone, Copy)]
pub(in crate::simulation) struct DelayStatistics {
    pub(in crate::simulation) delay: Quantiles,
    pub(in crate::simulation) delay_precision: Precision,
    pub(in crate::simulation) queueing: Quantiles,
    pub(in crate::simulation) queueing_precision: Precision,
    pub(in crate::simulation) rtt: Quantiles,
}

impl From<DelayDistributions> for DelayStatistics {
    fn from(distributions: DelayDistributions) -> Self {
        Self {
            delay_precision: distributions.delay.precision(),
            delay: distributions.delay.into_quantiles(Span::ZERO),
            queueing_precision: distributions.queueing.precision(),
            queueing: distributions.queueing.into_quantiles(Span::ZERO),
            rtt: distributions.rtt.into_quantiles(Span::ZERO),
        }
    }
}

/// Time in which a flow was active, from the start of the run: from its start to its last delivery if it is complete, else
/// to the end of the run.
fn own_time(flow: &Flow, duration: Span, counts: &Counts) -> (Span, Span) {
    let complete = counts
        .completion
        .map(|after| flow.start.saturating_add(after));
    (flow.start.min(duration), complete.unwrap_or(duration))
}

/// Everything observed of one flow, or of all flows together. Metrics are computed from it.
#[derive(Debug)]
pub(in crate::simulation) struct Observed<'a> {
    setup: &'a Setup,
    /// Packets that the link could have carried during the run; `None` if unknown.
    capacity_packets: Option<f64>,
    pub(super) counts: Cow<'a, Counts>,
    /// Time from the first start to the last end of the flows; `None` if there are none.
    time: Option<(Span, Span)>,
    pub(in crate::simulation) delays: DelayStatistics,
}

impl<'a> Observed<'a> {
    /// Observations of each flow and of all flows together, for a run of length `duration` over a link that could have
    /// carried `capacity_packets`. The delays of the tallies are then gone.
    pub(in crate::simulation) fn all(
        setup: &'a Setup,
        duration: Span,
        capacity_packets: Option<f64>,
        tallies: &[&'a FlowTally],
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
                let counts =
                    Counts::of_all(parts.iter().flat_map(|(_, (tally, _))| tally.all_counts()));
                let times = parts.iter();
                let times = times.map(|(_, (tally, flow))| own_time(flow, duration, &tally.counts));
                let (_, (first, _)) = &parts[0];
                observed(
                    counts,
                    times.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1))),
                    DelayStatistics::from(first.distributions.take()),
                )
            })
            .collect();
        let mut counts = Counts::of_all(tallies.iter().flat_map(|tally| tally.all_counts()));
        let shared = tallies.first().and_then(|tally| tally.total.as_ref());
        let delays = match (shared, flows.first()) {
            (Some(distributions), _) => DelayStatistics::from(distributions.take()),
            (None, Some(only)) => only.delays,
            (None, None) => DelayStatistics::from(DelayDistributions::of(1)),
        };
        // Beside flows that take what they get, a sum over the others is not what all offer.
        let offers = |flow: &Self| flow.application(|outcome| outcome.offered).is_some();
        if counts.outcome.is_some()
            && !flows.iter().all(offers)
            && let Some(outcome) = &mut counts.to_mut().outcome
        {
            outcome.offered = None;
        }
        let times = flows.iter().filter_map(|flow| flow.time);
        let time = times.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let total = observed(counts, time, delays);
        (flows, total)
    }

    pub(in crate::simulation) fn count(&self, what: Count) -> u64 {
        self.counts.of(what)
    }

    /// Rate of the payload in order over the own time, bit/s; `None` if no time passed.
    pub(in crate::simulation) fn payload_rate(&self) -> Option<f64> {
        self.rate(self.count(Count::Payload))
    }

    /// Rate of the whole packets that the receiver has over the own time, bit/s; `None` if no time passed.
    pub(in crate::simulation) fn packet_rate(&self) -> Option<f64> {
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
    pub(in crate::simulation) fn link_share(&self) -> Option<f64> {
        let capacity = self.capacity_packets.filter(|capacity| *capacity > 0.0)?;
        let usual = self.count(Count::Delivered) - self.count(Count::OtherPackets);
        let others = to_f64(self.count(Count::OtherBytes)) / to_f64(self.setup.packet.0.max(1));
        Some((to_f64(usual) + others) / capacity)
    }

    /// Reordered transmissions.
    pub(in crate::simulation) fn extents(&self) -> Extents {
        self.counts.extents
    }

    /// Number of retransmissions → number of packets.
    pub(in crate::simulation) fn retransmissions(&self) -> BTreeMap<u32, u64> {
        self.counts.retransmissions()
    }

    /// Share of the packets that were sent more than once; `None` if nothing was sent.
    pub(in crate::simulation) fn retransmission_share(&self) -> Option<f64> {
        let packets = self.count(Count::Sent) - self.count(Count::Retransmitted);
        ratio(self.counts.again.first().copied().unwrap_or(0), packets)
    }

    /// Largest number of retransmissions of a packet.
    pub(in crate::simulation) fn max_retransmissions(&self) -> u32 {
        let most = self.counts.again.iter().rposition(|packets| *packets > 0);
        most.map_or(0, |most| u32::try_from(most + 1).unwrap_or(u32::MAX))
    }

    /// Mean of part `index` of the delay ([`DelayParts::all`]) in seconds, rounded to ns like the mean delay.
    ///
    /// [`DelayParts::all`]: crate::simulation::delay::DelayParts::all
    pub(in crate::simulation) fn mean_part(&self, index: usize) -> Option<f64> {
        // The measured propagation includes the hops beside the link.
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
    pub(in crate::simulation) fn acks_filtered(&self) -> Option<u64> {
        let filters = ack_filter::rule(&self.setup.ack_filter).is_some();
        filters.then(|| self.count(Count::AcksFiltered))
    }

    /// A count on a side of the link; `None` if it has no hops.
    pub(in crate::simulation) fn met(&self, side: Side, count: fn(&Met) -> u64) -> Option<u64> {
        self.counts.beside.as_ref()?.on(side).map(count)
    }

    /// Mean time at the hops of a side over the transmissions that arrived, s; `None` if it has no hops.
    pub(in crate::simulation) fn mean_beside(&self, side: Side) -> Option<f64> {
        let met = self.counts.beside.as_ref()?.on(side)?;
        self.mean_of(met.delay)
    }

    /// Share of the transmissions to hosts that are not TCP which were dropped or lost; `None` without any.
    pub(in crate::simulation) fn datagram_loss(&self) -> Option<f64> {
        let [sent, gone] = self.counts.datagrams?;
        ratio(gone, sent)
    }

    /// A value of what the applications observed.
    pub(in crate::simulation) fn application<T>(
        &self,
        value: impl Fn(&Outcome) -> Option<T>,
    ) -> Option<T> {
        self.counts.outcome.as_deref().and_then(value)
    }

    /// Number of requests, pages or transfers that are complete; `None` without an application that makes them.
    pub(in crate::simulation) fn complete(
        &self,
        of: fn(&Outcome) -> Option<&Times>,
    ) -> Option<u64> {
        let times = of(self.counts.outcome.as_deref()?)?;
        Some(times.complete.len() as u64)
    }

    /// Number of requests, pages or transfers that began; `None` without an application that makes them.
    pub(in crate::simulation) fn begun(&self, of: fn(&Outcome) -> Option<&Times>) -> Option<u64> {
        of(self.counts.outcome.as_deref()?).map(|times| times.begun)
    }

    /// A statistic of times that applications measured; `None` if there are none.
    pub(in crate::simulation) fn times(
        &self,
        of: fn(&Outcome) -> Option<&Times>,
        statistic: fn(Quantiles) -> Option<f64>,
    ) -> Option<f64> {
        let times = &of(self.counts.outcome.as_deref()?)?.complete;
        let mut distribution = Distribution::within(times.len().max(1), 1);
        distribution.extend(times, |time| *time);
        statistic(distribution.quantiles(Span::ZERO)).filter(|_| !times.is_empty())
    }

    /// A value of what the listeners of calls heard.
    pub(in crate::simulation) fn call<T>(&self, value: impl Fn(&Heard) -> Option<T>) -> Option<T> {
        self.application(|outcome| outcome.voice.as_ref().and_then(&value))
    }

    /// Rate of the payload that applications supplied over the own time, bit/s; `None` without any.
    pub(in crate::simulation) fn offered_rate(&self) -> Option<f64> {
        self.rate(self.application(|outcome| outcome.offered)?.0)
    }

    /// Time from the start of the flow to the in-order delivery of its last packet, s; `None` if it is not complete.
    pub(in crate::simulation) fn completion(&self) -> Option<f64> {
        self.counts.completion.map(Span::as_secs_f64)
    }
}

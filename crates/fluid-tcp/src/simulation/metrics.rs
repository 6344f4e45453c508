//! What a run reports (tcp.md §5, names of §7). A new metric is one line of `metrics!`: JSON, the table, means over
//! runs and comparisons of links follow from it.

use std::collections::BTreeMap;

use serde::Serialize;
use tmt_core::stats::distribution::Precision;
use tmt_core::stats::ratio;
use tmt_core::types::{Time, to_f64};

use crate::link::Usage;
use crate::simulation::Setup;
use crate::simulation::tally::{Count, FlowTally, Observed};

/// A metric of `T`, as JSON and tables have it.
#[derive(Debug)]
pub struct Metric<T> {
    /// Its name in JSON; ends in its unit where it has one.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Its value; `None` where it has none, or is not a number.
    pub value: fn(&T) -> Option<f64>,
    /// Its row in the table; `None` where the table leaves it out.
    pub row: Option<Row>,
}

/// A row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// The place among the rows.
    pub place: u32,
    /// What is written in front of the value, with the unit shown.
    pub label: &'static str,
    /// How the value is shown.
    pub show: Show,
}

/// How a value is shown in a table; one that is missing is a dash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// A whole number.
    Count,
    /// A thousandth of it, with three decimals.
    Kilo,
    /// A thousand times it, with three decimals.
    Milli,
    /// With so many decimals.
    Decimals(usize),
}

impl Show {
    /// The value as text.
    #[must_use]
    pub fn text(self, value: Option<f64>) -> String {
        let Some(value) = value else {
            return "-".to_owned();
        };
        let (value, decimals) = match self {
            Self::Count => (value, 0),
            Self::Kilo => (value / 1e3, 3),
            Self::Milli => (value * 1e3, 3),
            Self::Decimals(decimals) => (value, decimals),
        };
        format!("{value:.decimals$}")
    }
}

/// A value as a number, if JSON has it as one.
fn number(value: impl Serialize) -> Option<f64> {
    serde_json::to_value(value).ok()?.as_f64()
}

/// A struct of metrics, made from one expression each, and the list of them. In the order of JSON: what it is, its name
/// and type, how it is made, and where it stands in the table.
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $struct:ident from $source:ident: $from:ty $(, flattening $(#[doc = $inner_doc:literal])* $inner:ident: $Inner:ty)?;
        $(
            $(#[doc = $doc:literal])+
            $name:ident: $type:ty = $made:expr $(, $place:literal $label:literal $show:expr)?;
        )+
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct $struct {
            $($(#[doc = $inner_doc])* #[serde(flatten)] pub $inner: $Inner,)?
            $($(#[doc = $doc])+ pub $name: $type,)+
        }

        impl $struct {
            /// All of them, in the order of JSON.
            pub const ALL: &'static [Metric<Self>] = &[$(
                Metric {
                    name: stringify!($name),
                    about: concat!($($doc),+).trim_ascii_start(),
                    value: |metrics| number(&metrics.$name),
                    row: metrics!(row $($place $label $show)?),
                },
            )+];

            fn new($source: $from $(, $inner: $Inner)?) -> Self {
                Self {
                    $($name: $made,)+
                    $($inner,)?
                }
            }

            /// Those of the table, in its order: labels, how to show them, and where to find them.
            #[must_use]
            pub fn rows() -> Vec<(Row, fn(&Self) -> Option<f64>)> {
                let rows = Self::ALL.iter().filter_map(|metric| Some((metric.row?, metric.value)));
                let mut rows: Vec<_> = rows.collect();
                rows.sort_by_key(|(row, _)| row.place);
                rows
            }
        }
    };
    (row) => { None };
    (row $place:literal $label:literal $show:expr) => {
        Some(Row { place: $place, label: $label, show: $show })
    };
}

metrics! {
    /// The metrics of one flow, or of all together.
    Metrics from o: &Observed<'_>;

    /// Bits of all packets that reached the receiver, duplicates included, per second of the run.
    throughput_bps: Option<f64> = o.rate(Count::Arrived), 2 "throughput kbps" Show::Kilo;
    /// Bits of whole packets delivered in order, per second of the run.
    goodput_bps: Option<f64> = o.rate(Count::Delivered), 1 "goodput kbps" Show::Kilo;
    /// `goodput_bps` / the link's rate.
    normalised_goodput: Option<f64> = o.normalised(Count::Delivered), 3 "normalised goodput" Show::Decimals(6);
    /// Copies of packets sent.
    packets_sent: u64 = o.count(Count::Sent), 4 "packets sent" Show::Count;
    /// Copies that were not the first.
    packets_retransmitted: u64 = o.count(Count::Retransmitted), 6 "packets retransmitted" Show::Count;
    /// Copies that the receiver had already.
    packets_spurious: u64 = o.count(Count::Spurious), 7 "packets spurious" Show::Count;
    /// Copies dropped at the queue: it was full, or the queue's discipline dropped them.
    packets_dropped: u64 = o.count(Count::Dropped), 8 "packets dropped at the queue" Show::Count;
    /// Copies that the queue marked (ECN).
    packets_marked: u64 = o.count(Count::Marked), 10 "packets marked at the queue" Show::Count;
    /// Copies lost on the link.
    packets_lost: u64 = o.count(Count::Lost), 9 "packets lost on the link" Show::Count;
    /// Packets delivered in order.
    packets_delivered: u64 = o.count(Count::Delivered), 5 "packets delivered" Show::Count;
    /// Acknowledgements that the receiver sent.
    acks_sent: u64 = o.count(Count::Acks), 11 "ACKs sent" Show::Count;
    /// Those of them that the return path lost.
    acks_lost: u64 = o.count(Count::AcksLost), 12 "ACKs lost" Show::Count;
    /// Retransmission timeouts.
    rto_events: u64 = o.count(Count::RtoEvents), 13 "RTO events" Show::Count;
    /// Those of them that F-RTO found to have been needless.
    spurious_timeouts: u64 = o.count(Count::SpuriousTimeouts), 14 "RTO events that were spurious" Show::Count;
    /// Fast recoveries.
    fast_recoveries: u64 = o.count(Count::FastRecoveries), 15 "fast recoveries" Show::Count;
    /// Share of the packets that were sent more than once.
    retransmission_probability: Option<f64> = retransmission_share(&o.retransmissions()),
        16 "retransmission probability" Show::Decimals(6);
    /// Times the packet that was sent most was sent again.
    max_retransmissions: u32 = o.retransmissions().keys().last().copied().unwrap_or(0),
        17 "max retransmissions" Show::Count;
    /// Packets by the number of times they were sent again.
    retransmissions: BTreeMap<u32, u64> = o.retransmissions();
    /// Smallest delay of a delivered copy, sender to receiver.
    delay_min_s: Option<f64> = o.delays.delay.min, 18 "delay min ms" Show::Milli;
    /// Mean of that delay.
    delay_mean_s: Option<f64> = o.delays.delay.mean, 19 "delay mean ms" Show::Milli;
    /// Its median.
    delay_p50_s: Option<f64> = o.delays.delay.p50, 20 "delay p50 ms" Show::Milli;
    /// Its 85th percentile.
    delay_p85_s: Option<f64> = o.delays.delay.p85, 21 "delay p85 ms" Show::Milli;
    /// Its 95th percentile.
    delay_p95_s: Option<f64> = o.delays.delay.p95, 22 "delay p95 ms" Show::Milli;
    /// Its 99th percentile.
    delay_p99_s: Option<f64> = o.delays.delay.p99, 23 "delay p99 ms" Show::Milli;
    /// Largest delay.
    delay_max_s: Option<f64> = o.delays.delay.max, 24 "delay max ms" Show::Milli;
    /// Mean part of the delay at the speed of light; the four parts add up to the mean delay.
    delay_propagation_mean_s: Option<f64> = o.mean_part(0), 25 "delay in propagation, mean ms" Show::Milli;
    /// Mean part in the queue, until the first bit or LLDU goes out. (Of delivered copies; `queueing_delay_mean_s` is of
    /// all that were served.)
    delay_queue_mean_s: Option<f64> = o.mean_part(1), 26 "delay in the queue, mean ms" Show::Milli;
    /// Mean part from the first bit or LLDU to the last.
    delay_serialisation_mean_s: Option<f64> = o.mean_part(2), 27 "delay in serialisation, mean ms" Show::Milli;
    /// Mean part for decoding and waiting for what ARQ or FEC repairs.
    delay_wait_mean_s: Option<f64> = o.mean_part(3), 28 "delay in decoding and ARQ/FEC, mean ms" Show::Milli;
    /// Smallest time of a served copy from the queue's end to the link.
    queueing_delay_min_s: Option<f64> = o.delays.queueing.min;
    /// Mean of that time.
    queueing_delay_mean_s: Option<f64> = o.delays.queueing.mean, 29 "queueing delay mean ms" Show::Milli;
    /// Its median.
    queueing_delay_p50_s: Option<f64> = o.delays.queueing.p50;
    /// Its 85th percentile.
    queueing_delay_p85_s: Option<f64> = o.delays.queueing.p85;
    /// Its 95th percentile.
    queueing_delay_p95_s: Option<f64> = o.delays.queueing.p95, 30 "queueing delay p95 ms" Show::Milli;
    /// Its 99th percentile.
    queueing_delay_p99_s: Option<f64> = o.delays.queueing.p99;
    /// Largest of these times.
    queueing_delay_max_s: Option<f64> = o.delays.queueing.max, 31 "queueing delay max ms" Show::Milli;
    /// How far the percentiles of the delay may be off.
    delay_percentiles: Precision = o.delays.delay_precision;
    /// How far those of the queueing delay may be off.
    queueing_delay_percentiles: Precision = o.delays.queueing_precision;
    /// From the flow's start to the in-order delivery of its last packet; of the last flow for all together.
    completion_time_s: Option<f64> = o.completion(), 32 "completion time s" Show::Decimals(6);
}

metrics! {
    /// All flows together, and the link.
    Total from source: TotalSource<'_>, flattening /** Sums, and order statistics over all packets. */ metrics: Metrics;

    /// Share of the link's capacity used, lost packets included.
    link_utilisation: Option<f64> = source.usage.utilisation, 1 "link utilisation" Show::Decimals(6);
    /// Jain's index of the flows' goodput.
    jain_index: Option<f64> =
        jain_index(source.flows.iter().filter_map(|flow| flow.goodput_bps)), 2 "Jain's index" Show::Decimals(4);
    /// LLDUs the packets took, on a timeline; slots used, repeats included, on a coupled link.
    lldus_used: Option<u64> = source.usage.lldus_used;
    /// LLDUs used and delivered, by the attempts they took.
    link_attempts: BTreeMap<u32, u64> = source.usage.attempts;
    /// Packets the link served.
    packets_served: u64 = source.usage.packets_served;
    /// IP bytes handed to the link / (slots used × LLDU bytes); null where the timeline tells no slots. Only a plan knows
    /// the slots.
    mean_coding_ratio: Option<f64> = None, 3 "mean coding ratio" Show::Decimals(4);
}

/// What the metrics of all flows together are made of, beside their sums.
struct TotalSource<'a> {
    usage: Usage,
    flows: &'a [Metrics],
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

impl RunReport {
    pub(crate) fn new(setup: &Setup, end: Time, usage: Usage, tallies: &[&FlowTally]) -> Self {
        let duration = end.since(setup.begin);
        let (flows, total) = Observed::all(setup, duration, tallies);
        let flows: Vec<Metrics> = flows.iter().map(Metrics::new).collect();
        let source = TotalSource {
            usage,
            flows: &flows,
        };
        Self {
            duration_s: duration.as_secs_f64(),
            total: Total::new(source, Metrics::new(&total)),
            flows,
        }
    }
}

impl Total {
    /// The numbers among the metrics by name, those of all flows included.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let metrics = Metrics::ALL
            .iter()
            .map(|m| (m.name, (m.value)(&self.metrics)));
        let others = Self::ALL.iter().map(|m| (m.name, (m.value)(self)));
        let all = metrics.chain(others);
        all.filter_map(|(name, value)| Some((name, value?)))
    }
}

/// The share of packets that were sent more than once.
fn retransmission_share(retransmissions: &BTreeMap<u32, u64>) -> Option<f64> {
    let packets: u64 = retransmissions.values().sum();
    let once = retransmissions.get(&0).copied().unwrap_or(0);
    ratio(packets - once, packets)
}

/// (Σx)² / (n Σx²) of the flows' goodput: 1 where all have the same, 1/n where one has it all.
fn jain_index(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (to_f64(values.len() as u64) * squares))
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::*;

    #[test]
    fn jains_index_is_one_for_equals_and_one_over_n_for_one_that_takes_all() {
        let index = |values: &[f64]| jain_index(values.iter().copied());
        assert_eq!(index(&[3.0, 3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(index(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(index(&[0.0]), None);
    }

    /// Against serde: every field is listed under its name, with its value.
    #[test]
    fn the_list_of_metrics_is_what_json_has() {
        let setup = Setup::new(Vec::new(), Span::ZERO, Span::ZERO);
        let report = RunReport::new(&setup, Time::ZERO, Usage::default(), &[]);
        let json = serde_json::to_value(&report.total).unwrap();
        let json = json.as_object().unwrap();
        let (metrics, total) = (Metrics::ALL.iter(), Total::ALL.iter());
        let names = metrics.map(|m| m.name).chain(total.map(|m| m.name));
        assert_eq!(names.clone().count(), json.len());
        for name in names {
            let listed = report.total.numbers().find(|(known, _)| *known == name);
            let number = listed.map(|(_, number)| number);
            assert_eq!(json[name].as_f64(), number, "{name}");
        }
    }

    #[test]
    fn rows_have_places_of_their_own_and_a_unit_in_label_and_name() {
        let rows = Metrics::rows();
        assert!(
            rows.windows(2)
                .all(|pair| pair[0].0.place < pair[1].0.place)
        );
        for metric in Metrics::ALL {
            if let Some(Row { label, show, .. }) = metric.row {
                assert_eq!(show == Show::Milli, label.ends_with(" ms"), "{label}");
                assert_eq!(show == Show::Kilo, label.ends_with(" kbps"), "{label}");
                let in_seconds =
                    label.ends_with('s') && (label.ends_with(" ms") || label.ends_with(" s"));
                assert_eq!(in_seconds, metric.name.ends_with("_s"), "{label}");
            }
        }
    }
}

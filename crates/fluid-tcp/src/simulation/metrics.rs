//! Metrics of a run (docs/metrics.md). To add one, add a line to `metrics!`; JSON, the table, means over runs and
//! comparisons of links follow from it.

use std::collections::BTreeMap;

use serde::Serialize;
use tmt_core::stats::distribution::{Distribution, Precision, Quantiles};
use tmt_core::stats::ratio;
use tmt_core::stats::runs::serialize_histogram;
pub use tmt_core::types::Show;
use tmt_core::types::{Bytes, Span, Time, to_f64};

use crate::endpoint::{Outcome, Times};
use crate::simulation::Setup;
use crate::simulation::beside::{Side, SideUse};
use crate::simulation::tally::{Count, FlowTally, Observed};
use tmt_link::Usage;

/// Description of a metric of `T`, for JSON and tables.
#[derive(Debug)]
pub struct Metric<T> {
    /// Name in JSON. It ends in the unit, if there is one.
    pub name: &'static str,
    /// Definition in one or two sentences.
    pub about: &'static str,
    /// Type of the value in JSON.
    pub kind: Kind,
    /// Whether the value can be null.
    pub nullable: bool,
    /// Value; `None` if it is null or not a number.
    pub value: fn(&T) -> Option<f64>,
    /// Row of the table; `None` if it is not in the table.
    pub row: Option<Row>,
    /// Whether it is one of an application, of a path beside the link or of several flows. JSON and table have it only where it applies.
    pub is_optional: bool,
}

impl<T> Metric<T> {
    /// Unit of the value; empty for a ratio, a map or a text.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        const SUFFIXES: [(&str, &str); 3] =
            [("_bps", "bit/s"), ("_packets", "packets"), ("_s", "s")];
        const COUNTED: [(&str, &str); 10] = [
            ("requests_", "requests"),
            ("pages_", "pages"),
            ("transfers_", "transfers"),
            ("packets_", "packets"),
            ("acks_", "ACKs"),
            ("lldus_", "LLDUs"),
            ("rto_events", "count"),
            ("spurious_timeouts", "count"),
            ("fast_recoveries", "count"),
            ("max_retransmissions", "count"),
        ];
        let ends = SUFFIXES.iter().find(|(end, _)| self.name.ends_with(end));
        let counts = || {
            COUNTED
                .iter()
                .find(|(start, _)| self.name.starts_with(start))
        };
        ends.or_else(counts).map_or("", |(_, unit)| *unit)
    }
}

/// Type of the value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Whole number, 0 or above.
    Count,
    /// Real number.
    Real,
    /// Numbers of things by a whole number.
    Histogram,
    /// Words.
    Text,
}

/// Rust type of a metric.
trait Typed {
    const KIND: Kind;
    const NULLABLE: bool = false;
}

impl Typed for u32 {
    const KIND: Kind = Kind::Count;
}

impl Typed for u64 {
    const KIND: Kind = Kind::Count;
}

impl Typed for f64 {
    const KIND: Kind = Kind::Real;
}

impl Typed for BTreeMap<u32, u64> {
    const KIND: Kind = Kind::Histogram;
}

impl Typed for Precision {
    const KIND: Kind = Kind::Text;
}

impl<T: Typed> Typed for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
}

/// Row of the table for people.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// Position among the rows, from 1.
    pub place: u32,
    /// Label, with the unit of the value as displayed.
    pub label: &'static str,
    /// How the table for people shows the value.
    pub show: Show,
}

/// Value as a number, if it is one in JSON.
fn number(value: impl Serialize) -> Option<f64> {
    serde_json::to_value(value).ok()?.as_f64()
}

/// Defines a struct of metrics and the list of their descriptions. A line has the definition, name and type, the
/// expression that computes the metric, and optionally position, label and format in the table. The order is that of
/// JSON.
macro_rules! metrics {
    (
        $(#[$attribute:meta])*
        $struct:ident from $source:ident: $from:ty $(, flattening $(#[doc = $inner_doc:literal])* $inner:ident: $Inner:ty)?;
        $(
            $(#[doc = $doc:literal])+
            $(#[serde($($serde:tt)*)])?
            $(#[of $part:ident])?
            $name:ident: $type:ty = $made:expr $(, $place:literal $label:literal $show:expr)?;
        )+
    ) => {
        $(#[$attribute])*
        #[derive(Debug, Clone, PartialEq, Serialize)]
        pub struct $struct {
            $($(#[doc = $inner_doc])* #[serde(flatten)] pub $inner: $Inner,)?
            $($(#[doc = $doc])+ $(#[serde($($serde)*)])? pub $name: $type,)+
        }

        impl $struct {
            /// Descriptions of all metrics of this struct, in the order of JSON.
            pub const ALL: &'static [Metric<Self>] = &[$(
                Metric {
                    name: stringify!($name),
                    about: concat!($($doc),+).trim_ascii_start(),
                    kind: <$type as Typed>::KIND,
                    nullable: <$type as Typed>::NULLABLE,
                    value: |metrics| number(&metrics.$name),
                    row: metrics!(row $($place $label $show)?),
                    is_optional: metrics!(is $($part)?),
                },
            )+];

            fn new($source: $from $(, $inner: $Inner)?) -> Self {
                Self {
                    $($name: $made,)+
                    $($inner,)?
                }
            }

            /// Rows of the table in order, each with its metric.
            #[must_use]
            pub fn rows() -> Vec<(Row, &'static Metric<Self>)> {
                let rows = Self::ALL.iter().filter_map(|metric| Some((metric.row?, metric)));
                let mut rows: Vec<_> = rows.collect();
                rows.sort_by_key(|(row, _)| row.place);
                rows
            }
        }
    };
    (is) => { false };
    (is application) => { true };
    (is path) => { true };
    (is flows) => { true };
    (row) => { None };
    (row $place:literal $label:literal $show:expr) => {
        Some(Row { place: $place, label: $label, show: $show })
    };
}

/// Requests, pages or transfers, and a statistic of their times.
type Done = fn(&Outcome) -> Option<&Times>;
type Statistic = fn(Quantiles) -> Option<f64>;

const RESPONSES: Done = |outcome| outcome.responses.as_ref();
const PAGES: Done = |outcome| outcome.pages.as_ref();
const TRANSFERS: Done = |outcome| outcome.transfers.as_ref();
const MEAN: Statistic = |times| times.mean;
const P50: Statistic = |times| times.p50;
const P95: Statistic = |times| times.p95;

metrics! {
    /// Metrics of one flow, or of all flows together.
    Metrics from o: &Observed<'_>;

    /// Application payload (packets less their headers) delivered in order, each byte once, over the flow's own time:
    /// from its start to its last delivery if it is complete, else to the end of the run. Total: all bytes from the
    /// first start to the last end.
    goodput_bps: Option<f64> = o.payload_rate(), 1 "goodput kbps" Show::Kilo;
    /// Whole packets that the receiver has, each once, over the same time. At the end of a run it may have packets above
    /// a gap, which are not delivered yet.
    throughput_bps: Option<f64> = o.packet_rate(), 2 "throughput kbps" Show::Kilo;
    /// Packets delivered in order, each once, over the packets that all slots of the physical link could have carried
    /// during the run. The same denominator for every flow and every scheme. Null if the slots are unknown.
    link_share: Option<f64> = o.link_share(), 3 "share of the link" Show::Decimals(6);
    /// Transmissions of packets.
    packets_sent: u64 = o.count(Count::Sent), 4 "packets sent" Show::Count;
    /// Transmissions after the first of their packet.
    packets_retransmitted: u64 = o.count(Count::Retransmitted), 6 "retransmissions" Show::Count;
    /// Transmissions that the receiver, or the proxy, already had on arrival.
    packets_spurious: u64 = o.count(Count::Spurious), 7 "spurious retransmissions" Show::Count;
    /// Transmissions dropped at the gateway because the buffer was full, or by the queue discipline.
    packets_dropped: u64 = o.count(Count::Dropped), 8 "packets dropped at the queue" Show::Count;
    /// Transmissions that the queue marked (ECN).
    packets_marked: u64 = o.count(Count::Marked), 10 "packets marked at the queue" Show::Count;
    /// Transmissions that reached the receiver, duplicates included.
    packets_arrived: u64 = o.count(Count::Arrived);
    /// Transmissions lost on the link.
    packets_lost: u64 = o.count(Count::Lost), 9 "packets lost on the link" Show::Count;
    /// Packets that the receiver has in order at the end.
    packets_delivered: u64 = o.count(Count::Delivered), 5 "packets delivered" Show::Count;
    /// ACKs that the receiver or the proxy sent.
    acks_sent: u64 = o.count(Count::Acks), 11 "ACKs sent" Show::Count;
    /// ACKs that the return path lost.
    acks_lost: u64 = o.count(Count::AcksLost), 12 "ACKs lost" Show::Count;
    /// ACKs that the full queue of the return path dropped.
    acks_dropped: u64 = o.count(Count::AcksDropped), 13 "ACKs dropped" Show::Count;
    /// Retransmission timeouts.
    rto_events: u64 = o.count(Count::RtoEvents), 14 "RTOs" Show::Count;
    /// Retransmission timeouts that F-RTO found to be spurious.
    spurious_timeouts: u64 = o.count(Count::SpuriousTimeouts), 15 "spurious RTOs" Show::Count;
    /// Fast recoveries entered.
    fast_recoveries: u64 = o.count(Count::FastRecoveries), 16 "fast recoveries" Show::Count;
    /// Share of the packets that were sent more than once.
    retransmission_probability: Option<f64> = o.retransmission_share(),
        17 "retransmission probability" Show::Decimals(6);
    /// Largest number of retransmissions of a packet.
    max_retransmissions: u32 = o.max_retransmissions(),
        18 "max retransmissions" Show::Count;
    /// Number of retransmissions → number of packets.
    #[serde(serialize_with = "serialize_histogram")]
    retransmissions: BTreeMap<u32, u64> = o.retransmissions();
    /// Smallest delay from sending to arrival at the receiver, over all transmissions that arrived.
    delay_min_s: Option<f64> = o.delays.delay.min, 19 "delay min ms" Show::Milli;
    /// Mean of the delay.
    delay_mean_s: Option<f64> = o.delays.delay.mean, 20 "delay mean ms" Show::Milli;
    /// Median of the delay.
    delay_p50_s: Option<f64> = o.delays.delay.p50, 21 "delay p50 ms" Show::Milli;
    /// 85th percentile of the delay.
    delay_p85_s: Option<f64> = o.delays.delay.p85, 22 "delay p85 ms" Show::Milli;
    /// 95th percentile of the delay.
    delay_p95_s: Option<f64> = o.delays.delay.p95, 23 "delay p95 ms" Show::Milli;
    /// 99th percentile of the delay.
    delay_p99_s: Option<f64> = o.delays.delay.p99, 24 "delay p99 ms" Show::Milli;
    /// Largest delay.
    delay_max_s: Option<f64> = o.delays.delay.max, 25 "delay max ms" Show::Milli;
    /// Propagation, mean over the transmissions that arrived. The four parts add up to the mean delay.
    delay_propagation_mean_s: Option<f64> = o.mean_part(0), 26 "propagation delay mean ms" Show::Milli;
    /// Time in the queue until the first bit, LLDU or slot is sent, mean over the transmissions that arrived.
    /// `queueing_delay_mean_s` is over all that were served.
    delay_queue_mean_s: Option<f64> = o.mean_part(1), 27 "queue delay (delivered) mean ms" Show::Milli;
    /// Time from the first to the last bit, LLDU or slot, mean over the transmissions that arrived.
    delay_serialisation_mean_s: Option<f64> = o.mean_part(2), 28 "serialisation delay mean ms" Show::Milli;
    /// Time for decoding, repeats and FEC, and for order, mean over the transmissions that arrived.
    delay_wait_mean_s: Option<f64> = o.mean_part(3), 29 "link-layer delay mean ms" Show::Milli;
    /// Smallest queueing delay: arrival at the gateway to start of service, over all transmissions served.
    queueing_delay_min_s: Option<f64> = o.delays.queueing.min;
    /// Mean of the queueing delay.
    queueing_delay_mean_s: Option<f64> = o.delays.queueing.mean, 30 "queue delay (served) mean ms" Show::Milli;
    /// Median of the queueing delay.
    queueing_delay_p50_s: Option<f64> = o.delays.queueing.p50;
    /// 85th percentile of the queueing delay.
    queueing_delay_p85_s: Option<f64> = o.delays.queueing.p85;
    /// 95th percentile of the queueing delay.
    queueing_delay_p95_s: Option<f64> = o.delays.queueing.p95, 31 "queue delay (served) p95 ms" Show::Milli;
    /// 99th percentile of the queueing delay.
    queueing_delay_p99_s: Option<f64> = o.delays.queueing.p99;
    /// Largest queueing delay.
    queueing_delay_max_s: Option<f64> = o.delays.queueing.max, 32 "queue delay (served) max ms" Show::Milli;
    /// Precision of the percentiles of the delay.
    delay_percentiles: Precision = o.delays.delay_precision;
    /// Precision of the percentiles of the queueing delay.
    queueing_delay_percentiles: Precision = o.delays.queueing_precision;
    /// Median of the RTT samples that the sender took.
    rtt_p50_s: Option<f64> = o.delays.rtt.p50, 33 "RTT p50 ms" Show::Milli;
    /// 95th percentile of the RTT samples.
    rtt_p95_s: Option<f64> = o.delays.rtt.p95, 34 "RTT p95 ms" Show::Milli;
    /// Largest RTT sample.
    rtt_max_s: Option<f64> = o.delays.rtt.max, 35 "RTT max ms" Show::Milli;
    /// Time from the start of the flow to the in-order delivery of its last packet. In the total, the largest of the flows.
    completion_time_s: Option<f64> = o.completion(), 36 "completion time s" Show::Decimals(6);
    /// Share of the transmissions that arrived at the receiver after one that was sent later (RFC 4737, Sec. 4.1).
    reordered_share: Option<f64> = ratio(o.extents().count, o.count(Count::Arrived)),
        37 "reordered packets / arrived" Show::Decimals(6);
    /// Mean extent of the reordered transmissions: arrivals since the first one that was sent later (RFC 4737, Sec. 4.2.2).
    reordering_extent_mean_packets: Option<f64> = o.extents().mean(), 38 "reordering extent mean packets" Show::Decimals(3);
    /// Largest extent; 0 if nothing was reordered.
    reordering_extent_max_packets: u64 = o.extents().max, 39 "reordering extent max packets" Show::Count;
    /// Payload that the application supplied over the flow's own time. Null if that follows the network, as in a bulk
    /// transfer. Total: sum over the flows, over the time of all; null if one of them has none.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    offered_bps: Option<f64> = o.offered_rate(), 40 "offered kbps" Show::Kilo;
    /// Datagrams that were dropped at the queue or lost on the link, over those that were sent.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    datagram_loss_ratio: Option<f64> = o.datagram_loss(), 41 "datagrams lost / sent" Show::Decimals(6);
    /// Interarrival jitter of the datagrams at the end of the run (RFC 3550, Sec. 6.4.1). Total: mean over the flows.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    jitter_s: Option<f64> = o.application(|outcome| outcome.jitter_s.value()), 42 "jitter ms" Show::Milli;
    /// Largest value of the interarrival jitter.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    jitter_max_s: Option<f64> = o.application(|outcome| outcome.jitter_max_s), 43 "jitter max ms" Show::Milli;
    /// Delay of a call from mouth to ear: packetisation, look-ahead of the codec, network and playout buffer. Total: mean
    /// over the calls.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    mouth_to_ear_delay_s: Option<f64> = o.call(|heard| heard.delay_s.value()), 44 "mouth-to-ear delay ms" Show::Milli;
    /// Datagrams of a call that arrived after the time to play them, over those that were due until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    late_ratio: Option<f64> = o.call(|heard| ratio(heard.late, heard.due)), 45 "datagrams late / due" Show::Decimals(6);
    /// Datagrams of a call that were not played, because they were late or never arrived, over those that were due.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    voice_loss_ratio: Option<f64> = o.call(|heard| ratio(heard.missing, heard.due)),
        46 "datagrams not played / due" Show::Decimals(6);
    /// Mean length of the runs of datagrams that were not played, over that of random ones, within 1 and 8 (ITU-T G.107).
    /// Total: mean over the calls.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    burst_ratio: Option<f64> = o.call(|heard| heard.burst_ratio.value()), 47 "burst ratio" Show::Decimals(3);
    /// Rating of a call by the E-model, R (ITU-T G.107). Total: mean over the calls.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    voice_rating: Option<f64> = o.call(|heard| heard.rating.value()), 48 "rating R" Show::Decimals(2);
    /// Mean opinion score of a call by the E-model (ITU-T G.107, Annex B), 1 to 4.5. Total: mean over the calls.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    mos: Option<f64> = o.call(|heard| heard.mos.value()), 49 "MOS" Show::Decimals(2);
    /// Requests that have been sent until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    requests_sent: Option<u64> = o.begun(RESPONSES), 50 "requests sent" Show::Count;
    /// Requests that have been answered.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    requests_answered: Option<u64> = o.complete(RESPONSES), 51 "requests answered" Show::Count;
    /// Mean time from a request to the last byte of its answer.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    response_time_mean_s: Option<f64> = o.times(RESPONSES, MEAN),
        52 "response time mean s" Show::Decimals(6);
    /// Median of the response time.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    response_time_p50_s: Option<f64> = o.times(RESPONSES, P50),
        53 "response time p50 s" Show::Decimals(6);
    /// 95th percentile of the response time.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    response_time_p95_s: Option<f64> = o.times(RESPONSES, P95),
        54 "response time p95 s" Show::Decimals(6);
    /// Pages that have been requested until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    pages_begun: Option<u64> = o.begun(PAGES), 55 "pages begun" Show::Count;
    /// Pages that have been loaded.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    pages_loaded: Option<u64> = o.complete(PAGES), 56 "pages loaded" Show::Count;
    /// Mean page load time: from the request of a page to the last byte of its last object.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    page_time_mean_s: Option<f64> = o.times(PAGES, MEAN),
        57 "page time mean s" Show::Decimals(6);
    /// Median of the page load time.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    page_time_p50_s: Option<f64> = o.times(PAGES, P50),
        58 "page time p50 s" Show::Decimals(6);
    /// 95th percentile of the page load time.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    page_time_p95_s: Option<f64> = o.times(PAGES, P95),
        59 "page time p95 s" Show::Decimals(6);
    /// Transfers of a load that have begun until the end of the run.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    transfers_begun: Option<u64> = o.begun(TRANSFERS), 60 "transfers begun" Show::Count;
    /// Transfers of a load that are complete.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    transfers_complete: Option<u64> = o.complete(TRANSFERS), 61 "transfers complete" Show::Count;
    /// Mean time of these transfers, from the start of each to its last byte.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    transfer_time_mean_s: Option<f64> = o.times(TRANSFERS, MEAN),
        62 "transfer time mean s" Show::Decimals(6);
    /// Median of the time of these transfers.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    transfer_time_p50_s: Option<f64> = o.times(TRANSFERS, P50),
        63 "transfer time p50 s" Show::Decimals(6);
    /// 95th percentile of the time of these transfers.
    #[serde(skip_serializing_if = "Option::is_none")] #[of application]
    transfer_time_p95_s: Option<f64> = o.times(TRANSFERS, P95),
        64 "transfer time p95 s" Show::Decimals(6);
    /// ACKs that a newer one has replaced before the return path. Absent without a filter.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    acks_filtered: Option<u64> = o.acks_filtered(), 79 "ACKs filtered" Show::Count;
    /// Transmissions that the queue of the terrestrial path, between the senders and the gateway, dropped. Absent if that path is only a delay, as all of its
    /// metrics.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    packets_dropped_terrestrial: Option<u64> = o.met(Side::Terrestrial, |met| met.dropped),
        80 "packets dropped, terrestrial path" Show::Count;
    /// Transmissions that were lost on the terrestrial path.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    packets_lost_terrestrial: Option<u64> = o.met(Side::Terrestrial, |met| met.lost),
        81 "packets lost, terrestrial path" Show::Count;
    /// Transmissions that the queue of the terrestrial path marked (ECN).
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    packets_marked_terrestrial: Option<u64> = o.met(Side::Terrestrial, |met| met.marked),
        82 "packets marked, terrestrial path" Show::Count;
    /// Time at the hops of the terrestrial path, queueing and serialisation, mean over the transmissions that arrived. It adds up to
    /// the mean delay with the four parts.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    delay_terrestrial_mean_s: Option<f64> = o.mean_beside(Side::Terrestrial), 83 "terrestrial path delay mean ms" Show::Milli;
    /// Transmissions that the queue of the far path, behind the link, dropped. Absent if that path is only a delay, as all of its
    /// metrics.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    packets_dropped_far: Option<u64> = o.met(Side::Far, |met| met.dropped),
        84 "packets dropped, far path" Show::Count;
    /// Transmissions that were lost on the far path.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    packets_lost_far: Option<u64> = o.met(Side::Far, |met| met.lost),
        85 "packets lost, far path" Show::Count;
    /// Transmissions that the queue of the far path marked (ECN).
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    packets_marked_far: Option<u64> = o.met(Side::Far, |met| met.marked),
        86 "packets marked, far path" Show::Count;
    /// Time at the hops of the far path, queueing and serialisation, mean over the transmissions that arrived. It adds up to
    /// the mean delay with the four parts.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    delay_far_mean_s: Option<f64> = o.mean_beside(Side::Far), 87 "far path delay mean ms" Show::Milli;
}

metrics! {
    /// Metrics of all flows together and of the link.
    Total from source: TotalSource<'_>, flattening /** Sums, and order statistics over all packets. */ metrics: Metrics;

    /// Share of the LLDUs, slots or time of the link that was used, by lost packets too. Of a timeline, only its data LLDUs
    /// count; on a coupled link, all slots, repeats and repair units included.
    link_utilisation: Option<f64> = source.link.usage.utilisation, 65 "link utilisation" Show::Decimals(6);
    /// Jain's fairness index of the goodputs of the bulk flows over the time that all of them share: from the last start to the
    /// first completion, else to the end of the run. Flows that an application limits do not count. Null if they share no time, and for
    /// a single one beside others.
    jain_index: Option<f64> = source.shared.and_then(|shared| jain_index(shared.into_iter())),
        66 "Jain's fairness index (bulk)" Show::Decimals(4);
    /// Time from the last start of a bulk flow to the end of the first window of ten round trips, at least 100 ms, in which the bulk flows have fair
    /// shares: an index of 1/(1 + 0.1²) or more. Absent if there is no such window before the first completion, and with fewer than two bulk flows.
    #[serde(skip_serializing_if = "Option::is_none")] #[of flows]
    convergence_time_s: Option<f64> = source.converged.map(Span::as_secs_f64), 77 "convergence time s" Show::Decimals(3);
    /// LLDUs that packets took on a timeline; slots used on a coupled link, repair units and repeats included.
    lldus_used: Option<u64> = source.link.usage.lldus_used;
    /// Attempts → LLDUs that were used and delivered.
    #[serde(serialize_with = "serialize_histogram")]
    link_attempts: BTreeMap<u32, u64> = source.link.usage.attempts.clone();
    /// Packets whose service has begun.
    packets_served: u64 = source.link.packets_served;
    /// Packets · packet size / (slots used · LLDU size). Set by the plan, which knows the slots; null for a timeline
    /// without an end line.
    mean_coding_ratio: Option<f64> = None, 67 "mean coding ratio" Show::Decimals(4);
    /// Share of the time, LLDUs or assigned capacity of the return path that ACKs used. Null if it has no limit.
    return_utilisation: Option<f64> = source.link.back.as_ref().and_then(|(usage, _)| usage.utilisation),
        68 "return path utilisation" Show::Decimals(6);
    /// 95th percentile of the time that ACKs waited for their service on the return path. Null as above.
    ack_queueing_delay_p95_s: Option<f64> = source.link.waited(|waits| waits.percentiles([95])[0]),
        69 "ACK queue delay p95 ms" Show::Milli;
    /// Longest of these times.
    ack_queueing_delay_max_s: Option<f64> = source.link.waited(Distribution::max),
        70 "ACK queue delay max ms" Show::Milli;
    /// Share of the time or LLDUs of the terrestrial path that packets used. Absent if it has neither a rate nor a
    /// trace, as its next two metrics.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    terrestrial_utilisation: Option<f64> = source.link.beside(Side::Terrestrial, |side| side.usage.utilisation),
        71 "terrestrial path utilisation" Show::Decimals(6);
    /// 95th percentile of the time that packets waited for their service on the terrestrial path.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    terrestrial_queueing_delay_p95_s: Option<f64> = source.link.waited_beside(Side::Terrestrial, |waits| waits.percentiles([95])[0]),
        72 "terrestrial path queue delay p95 ms" Show::Milli;
    /// Longest of these times.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    terrestrial_queueing_delay_max_s: Option<f64> = source.link.waited_beside(Side::Terrestrial, Distribution::max),
        73 "terrestrial path queue delay max ms" Show::Milli;
    /// Share of the time or LLDUs of the far path that packets used. Absent if it has neither a rate nor a
    /// trace, as its next two metrics.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    far_utilisation: Option<f64> = source.link.beside(Side::Far, |side| side.usage.utilisation),
        74 "far path utilisation" Show::Decimals(6);
    /// 95th percentile of the time that packets waited for their service on the far path.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    far_queueing_delay_p95_s: Option<f64> = source.link.waited_beside(Side::Far, |waits| waits.percentiles([95])[0]),
        75 "far path queue delay p95 ms" Show::Milli;
    /// Longest of these times.
    #[serde(skip_serializing_if = "Option::is_none")] #[of path]
    far_queueing_delay_max_s: Option<f64> = source.link.waited_beside(Side::Far, Distribution::max),
        76 "far path queue delay max ms" Show::Milli;
}

/// Input of the metrics of the total, in addition to the sums over the flows.
struct TotalSource<'a> {
    link: LinkUse<'a>,
    /// Payload of each bulk flow in the time that all of them share; `None` if they share none, or there is nothing to compare.
    shared: Option<Vec<f64>>,
    /// Time that the bulk flows took to converge to fair shares.
    converged: Option<Span>,
}

/// Use of the links by a run.
#[derive(Debug, Default)]
pub(crate) struct LinkUse<'a> {
    pub(crate) usage: Usage,
    /// Packets whose service has begun.
    pub(crate) packets_served: u64,
    /// Use of the return path and times that ACKs waited there; `None` if ACKs meet nothing on it.
    pub(crate) back: Option<(Usage, &'a Distribution)>,
    /// Use of the paths beside the link; `None` of one without hops.
    pub(crate) sides: [Option<SideUse<'a>>; 2],
}

impl LinkUse<'_> {
    /// A value of the use of a side; `None` if it has no hops.
    fn beside<T>(&self, side: Side, value: impl Fn(&SideUse<'_>) -> Option<T>) -> Option<T> {
        self.sides[side as usize].as_ref().and_then(value)
    }

    /// A statistic of the times that packets waited on a side, s; `None` unless the side is one where they can.
    fn waited_beside(&self, side: Side, of: impl Fn(&Distribution) -> Option<Span>) -> Option<f64> {
        let waits = self.beside(side, |it| it.usage.utilisation.and_then(|_| of(it.waits)));
        waits.map(Span::as_secs_f64)
    }

    /// A statistic of the times that ACKs waited, s; `None` unless the return path is one where they can.
    fn waited(&self, of: impl Fn(&Distribution) -> Option<Span>) -> Option<f64> {
        let (usage, waits) = self.back.as_ref()?;
        usage
            .utilisation
            .and_then(|_| of(waits))
            .map(Span::as_secs_f64)
    }
}

/// Results of a run.
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::Endpoint;
/// use fluid_tcp::simulation::metrics::Metrics;
/// use fluid_tcp::simulation::{Flow, Setup, probe::NoProbe, run};
/// use tmt_core::{BitRate, Span};
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default());
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(10));
/// let link = setup.synthetic_link(BitRate(1_000_000), None).ok_or("no such link")?;
/// let report = run(&setup, link, &mut NoProbe)?;
/// // By field, by name as JSON has it, and as rows of a table.
/// assert!(report.total.metrics.goodput_bps > Some(700_000.0));
/// assert!(report.total.numbers().any(|(name, _)| name == "goodput_bps"));
/// let (row, metric) = Metrics::rows()[0];
/// println!("{}: {}", row.label, row.show.text((metric.value)(&report.flows[0])));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunReport {
    /// Length of the run from its start to its end, s.
    pub duration_s: f64,
    /// Metrics of each flow, in the order of the flows.
    pub flows: Vec<Metrics>,
    /// Metrics of all flows together and of the link.
    pub total: Total,
}

impl RunReport {
    /// The results of a run with this use of its links, and with this time to fair shares, if they were reached.
    pub(crate) fn new(
        setup: &Setup,
        end: Time,
        link: LinkUse<'_>,
        tallies: &[&FlowTally],
        converged: Option<Span>,
    ) -> Self {
        let duration = end.since(setup.begin);
        let capacity = link.usage.capacity_packets;
        let (flows, total) = Observed::all(setup, duration, capacity, tallies);
        let flows: Vec<Metrics> = flows.iter().map(Metrics::new).collect();
        let greedy = setup.flows.iter().zip(tallies);
        let greedy = greedy.filter(|(flow, _)| flow.is_greedy());
        let shared = greedy.map(|(_, tally)| tally.shared_payload().map(to_f64));
        let shared: Option<Vec<f64>> = shared.collect();
        let source = TotalSource {
            link,
            shared: shared.filter(|shared| shared.len() > 1 || setup.flow_count() == 1),
            converged,
        };
        Self {
            duration_s: duration.as_secs_f64(),
            total: Total::new(source, Metrics::new(&total)),
            flows,
        }
    }
}

impl RunReport {
    /// Rate of `packets` whole packets of size `packet` over the whole run, bit/s; `None` if the run has no length.
    ///
    /// Papers, closed forms, ns-2 and ns-3 count like this. `goodput_bps` counts payload over the time of the flow.
    #[must_use]
    pub fn whole_packet_rate_bps(&self, packets: u64, packet: Bytes) -> Option<f64> {
        let bits = to_f64(packets) * (to_f64(packet.0) * 8.0);
        (self.duration_s > 0.0).then(|| bits / self.duration_s)
    }
}

impl Metrics {
    /// All numeric metrics that are not null, by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let all = Self::ALL.iter().map(|m| (m.name, (m.value)(self)));
        all.filter_map(|(name, value)| Some((name, value?)))
    }
}

impl Total {
    /// All numeric metrics that are not null, by name, including those of [`Metrics`].
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let others = Self::ALL.iter().map(|m| (m.name, (m.value)(self)));
        let others = others.filter_map(|(name, value)| Some((name, value?)));
        self.metrics.numbers().chain(others)
    }
}

/// Jain's index (Σx)² / (n Σx²): 1 if all values are equal, 1/n if all but one are zero.
fn jain_index(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (to_f64(values.len() as u64) * squares))
}

#[cfg(test)]
mod tests;

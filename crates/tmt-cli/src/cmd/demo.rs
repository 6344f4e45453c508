//! `tmt demo`: a scenario of CLIFT 2014, Sec. V, on a synthetic channel, next to Table I of that paper.

use std::collections::BTreeMap;

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup, run_timeline};
use rayon::prelude::*;
use serde::Serialize;
use serde_json::json;
use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Channel, ChannelSpec, GilbertElliott, Start};
use tmt_core::scheme::SchemeSpec;
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::stats::{LinkSummary, LlduTally, SlotTally, ratio};
use tmt_core::types::{BitRate, Bytes, EndLine, Slot, Span, to_f64};
use tmt_link::queue::Buffer;
use tmt_link::timeline::{Builder, Trace};
use tmt_study::figures::{self, Part};

use crate::exit::{Failure, Outcome};
use crate::output::document::Document;
use crate::table::{Show, Table, number, print};

/// Flags of `tmt demo`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  tmt demo\n  tmt demo --json")]
pub(crate) struct Args {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

// The scenario of CLIFT 2014, Sec. V.A. All but the channel is as published.
const RATE: BitRate = BitRate(2_300_000);
const LLDU: Bytes = Bytes(33);
const LLDU_HEADER: Bytes = Bytes(1);
const RTT: Span = Span::from_millis(500);
const INTERLEAVER_MICROS: u64 = 35_500;
const DURATION: Span = Span::from_secs(400);
const PACKET: Bytes = Bytes(500);
const WINDOW: u64 = 64;
const SCHEMES: [&str; 3] = ["arq", "harq:10/12", "harq:10/15"];

/// A substitute for the published channel, a land-mobile-satellite trace that is not public: a fade of 0.4 s about
/// every eleven seconds, in which one unit in five is erased.
///
/// The erasure ratio of 0.7 % is from the row "1 retransmission" of ARQ in Table I. The length of the fades is chosen so
/// that the goodput of ARQ is near the published one. Nothing else is fitted.
const CHANNEL: GilbertElliott = GilbertElliott {
    alpha: 0.999_99,
    beta: 0.999_7,
    pg: 0.0,
    pb: 0.2,
    start: Start::Stationary,
};
const SEED: u64 = 1;

/// Results of one scheme.
#[derive(Debug, Serialize)]
struct Chain {
    scheme: &'static str,
    link: LinkSummary,
    tcp: RunReport,
    mean_coding_ratio: Option<f64>,
    bandwidth_used: Option<f64>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let slots = slots()?;
    let chains: Vec<Chain> = SCHEMES
        .par_iter()
        .map(|scheme| chain(scheme, &slots))
        .collect::<Outcome<_>>()?;
    let params = json!({
        "rate_bps": RATE.0,
        "lldu_bytes": LLDU.0,
        "lldu_header_bytes": LLDU_HEADER.0,
        "rtt_ns": RTT.as_nanos(),
        "decode_delay_ns": INTERLEAVER_MICROS * 1_000,
        "duration_ns": DURATION.as_nanos(),
        "packet_bytes": PACKET.0,
        "rwnd_packets": WINDOW,
        "channel": ChannelSpec::GilbertElliott(CHANNEL).to_string(),
        "seed": SEED,
    });
    let document = Document::new("tmt.demo/1", params, chains);
    let printed = printed()?;
    print(None, args.json, &document, |chains| text(chains, &printed))
}

/// The PHY trace: slots of constant rate with the erasures of the channel.
fn slots() -> Outcome<Vec<Slot>> {
    let decode_delay = Span::from_nanos(INTERLEAVER_MICROS * 1_000).unwrap_or(Span::MAX);
    let link = ConstantRate::new(RATE, LLDU, DURATION, decode_delay)
        .ok_or_else(|| Failure::failed("the constants of the demo describe no link"))?;
    let mut channel = Channel::new(ChannelSpec::GilbertElliott(CHANNEL), SEED);
    Ok(link
        .map(|slot| {
            if channel.erases() {
                Slot::erased(slot.tx_time())
            } else {
                slot
            }
        })
        .collect())
}

/// Runs one scheme: trace, timeline, TCP.
fn chain(scheme: &'static str, slots: &[Slot]) -> Outcome<Chain> {
    let spec: SchemeSpec = scheme.parse().map_err(Failure::failed)?;
    let mut runner = SchemeRunner::new(spec, RTT, Span::ZERO);
    let mut lldus = Vec::new();
    let mut timeline = Builder::default();
    runner
        .push_slots(slots, &mut lldus)
        .map_err(Failure::failed)?;
    let end = runner.finish(&mut lldus);
    timeline.lldus(&lldus);
    let (mut before, mut after) = (SlotTally::default(), LlduTally::default());
    before.slots(slots);
    after.lldus(&lldus);
    let link = LinkSummary::new(
        runner.scheme(),
        RTT,
        Span::ZERO,
        runner.unit_counts(),
        &before,
        &after,
    );
    let tcp = tcp(timeline.finish(), &end)?;
    let lldus_used = to_f64(tcp.total.lldus_used.unwrap_or(0));
    let slots_used = lldus_used * ratio(end.slots, end.rows).unwrap_or(0.0);
    let carried = to_f64(tcp.total.packets_served) * to_f64(PACKET.0);
    let bits = slots_used * to_f64(LLDU.0) * 8.0;
    Ok(Chain {
        scheme,
        link,
        mean_coding_ratio: (bits > 0.0).then(|| carried * 8.0 / bits),
        bandwidth_used: Some(bits / tcp.duration_s / to_f64(RATE.0)),
        tcp,
    })
}

fn tcp(timeline: Trace, end: &EndLine) -> Outcome<RunReport> {
    let endpoint = Endpoint {
        rwnd: WINDOW,
        ..Profile::Ns2.endpoint()
    };
    let algorithm: Algorithm = "newreno".parse().map_err(Failure::failed)?;
    let lldus = PACKET.0.div_ceil(LLDU.0 - LLDU_HEADER.0);
    let flow = Flow::new(algorithm, endpoint);
    let setup = Setup {
        packet: PACKET,
        // The window limits the sender, not the queue.
        buffer: Buffer::Packets(WINDOW),
        end: end.usable_until,
        ..Setup::new(vec![flow], RTT, Span::ZERO)
    };
    let link = setup
        .timeline_link(timeline.into(), lldus)
        .ok_or_else(|| Failure::failed("the timeline of the demo is too short for a packet"))?;
    run_timeline(&setup, link, &mut NoProbe).map_err(Failure::failed)
}

/// Rows of CLIFT 2014, Table I, in the order of the quantities of the figure clift-table1, which has the printed values.
const ROWS: [&str; 13] = [
    "bandwidth used %",
    "goodput kbps",
    "mean coding ratio %",
    "packet delay min ms",
    "packet delay mean ms",
    "packet delay max ms",
    "link retransmissions 0 %",
    "link retransmissions 1 %",
    "link retransmissions 2 %",
    "link retransmissions 3 %",
    "TCP retransmissions 0 %",
    "TCP retransmissions 1 %",
    "TCP retransmissions 2 %",
];

/// The printed values for [`ROWS`], by scheme.
fn printed() -> Outcome<Vec<[String; 3]>> {
    let figure = figures::figure("clift-table1").map_err(Failure::failed)?;
    let rows = figure
        .parts
        .first()
        .map(Part::published)
        .unwrap_or_default();
    let text =
        |value: &Option<f64>| value.map_or_else(|| "-".to_owned(), |value| value.to_string());
    let rows = rows.iter().map(|(_, values)| {
        let mut texts = values.iter().map(text);
        std::array::from_fn(|_| texts.next().unwrap_or_default())
    });
    Ok(rows.collect())
}

/// Row of [`ROWS`] with the goodput.
const GOODPUT: usize = 1;

impl Chain {
    /// Simulated values for [`ROWS`].
    fn cells(&self) -> [String; ROWS.len()] {
        let metrics = &self.tcp.total.metrics;
        // The paper counts whole packets.
        let goodput = self
            .tcp
            .whole_packet_rate_bps(metrics.packets_delivered, PACKET);
        let (attempts, again) = (&self.link.attempts, &metrics.retransmissions);
        [
            Show::Percent(1).text(self.bandwidth_used),
            number(goodput.map(|bps| bps / 1e3), 0),
            Show::Percent(1).text(self.mean_coding_ratio),
            delay(metrics.delay_min_s),
            delay(metrics.delay_mean_s),
            delay(metrics.delay_max_s),
            // The first attempt is not a repeat.
            Show::Percent(4).text(share(attempts, 1)),
            Show::Percent(4).text(share(attempts, 2)),
            Show::Percent(4).text(share(attempts, 3)),
            Show::Percent(4).text(share(attempts, 4)),
            Show::Percent(2).text(share(again, 0)),
            Show::Percent(2).text(share(again, 1)),
            Show::Percent(2).text(share(again, 2)),
        ]
    }
}

fn delay(seconds: Option<f64>) -> String {
    number(seconds.map(|seconds| seconds * 1e3), 0)
}

/// Share of `times` in all counts.
fn share(counts: &BTreeMap<u32, u64>, times: u32) -> Option<f64> {
    let count = counts.get(&times).copied().unwrap_or(0);
    ratio(count, counts.values().sum())
}

fn text(chains: &[Chain], printed: &[[String; 3]]) -> String {
    let ours: Vec<_> = chains.iter().map(Chain::cells).collect();
    let mut table = Table::of(ROWS.into_iter().zip(printed).enumerate())
        .words("", |(_, (name, _))| *name)
        .grouped(2);
    for (place, (scheme, ours)) in SCHEMES.into_iter().zip(&ours).enumerate() {
        let (_, code) = scheme.split_once(':').unwrap_or(("", scheme));
        table = table
            .plain(format!("{code}\npaper"), |(_, (_, paper))| {
                paper[place].as_str()
            })
            .plain(format!("{code}\ntmt"), |(row, _)| ours[*row].as_str());
    }
    let erased = chains
        .first()
        .and_then(|chain| chain.link.erasure_ratio)
        .unwrap_or(0.0)
        * 100.0;
    // Deviations of the goodput from the published one, %.
    let goodput = printed.get(GOODPUT).into_iter().flatten().zip(&ours);
    let off = goodput.map(|(paper, ours)| {
        let (paper, ours): (Option<f64>, Option<f64>) =
            (paper.parse().ok(), ours[GOODPUT].parse().ok());
        let off = paper
            .zip(ours)
            .map(|(paper, ours)| (ours / paper - 1.0) * 100.0);
        off.map_or_else(|| "-".to_owned(), |off| format!("{off:+.0} %"))
    });
    let off: Vec<String> = off.collect();
    let off = off.join(", ");
    format!(
        "PHY trace -> reliability scheme -> timeline -> TCP: a scenario of CLIFT 2014,
Sec. V, with the published values of Table I beside those of tmt. Columns: ARQ,
HARQ 10/12 and HARQ 10/15.

{table}
Fitted: the channel. The land-mobile-satellite trace of the paper is not public;
the erasure ratio and the fade length of a two-state channel were chosen after
the ARQ columns. The HARQ columns of tmt are predictions.
Match: bandwidth used, mean coding ratio, minimum delay, shares of packets and
LLDUs by number of retransmissions.
Differ: goodput by {off} (it depends on the times of the erasures),
mean delay, and maximum delay: the published maxima are shorter than one repeat,
which takes more than 750 ms at an RTT of 500 ms, though the same table lists
LLDUs that were sent up to four times. 500 B in 16 LLDUs of 33 B is a coding
ratio of 94.7 %, times 10/12 and 10/15 78.9 and 63.1 %; the published values
seem rounded.

Settings: {RATE}, RTT {RTT}, LLDU {LLDU}, interleaver 35.5ms, {DURATION},
NewReno with SACK, {PACKET} packets, window {WINDOW}, queue of the whole window,
hosts as in ns-2 (--profile ns2). Channel: Gilbert-Elliott with
{CHANNEL}, seed {SEED}: {erased:.2} % of the slots erased.
"
    )
}

//! Long flows with random losses against the closed forms of their window laws (docs/validity.md, Sec. 3).

use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::{NoProbe, Probe, SenderEvent};
use fluid_tcp::simulation::{Flow, Setup};
use test_support::depth;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::math::num::pow;
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};
use tmt_link::queue::Buffer;

use crate::run;

/// A link so fast that no queue builds up: one packet per 0.6 ms.
const RATE: BitRate = BitRate(20_000_000);
const RTT: Span = Span::from_millis(500);

/// A single long flow on a link.
struct Case {
    rate: BitRate,
    rtt: Span,
    p: f64,
    seconds: u32,
    endpoint: Endpoint,
}

impl Case {
    fn new(p: f64) -> Self {
        Self {
            rate: RATE,
            rtt: RTT,
            p,
            seconds: 30_000,
            endpoint: Endpoint {
                delayed_ack: 1,
                ..Profile::Rfc.endpoint()
            },
        }
    }

    fn run(&self, cc: &str, probe: &mut dyn Probe) -> RunReport {
        let flow = Flow::new(cc.parse().unwrap(), self.endpoint);
        let setup = Setup {
            buffer: Buffer::Packets(5000),
            ..Setup::new(vec![flow], self.rtt, Span::from_secs(self.seconds))
        };
        let channel = Channel::new(ChannelSpec::Bernoulli { p: self.p }, 1);
        let link = setup.synthetic_link(self.rate, Some(channel.into()));
        run(&setup, link.unwrap(), probe).unwrap()
    }

    /// Goodput, packets/s.
    fn goodput(&self, cc: &str) -> f64 {
        let report = self.run(cc, &mut NoProbe);
        let packets = report.total.metrics.packets_delivered;
        report.whole_packet_rate_bps(packets, Bytes(1500)).unwrap() / 12_000.0
    }
}

/// Mean window of a long flow in segments: delivered packets per round trip.
fn mean_window(cc: &str, p: f64) -> f64 {
    Case::new(p).goodput(cc) * (RTT.as_secs_f64() + 0.0006)
}

#[test]
fn newreno_follows_the_inverse_square_root_of_loss() {
    // Growth of one segment per round trip, halving at random losses: mean window 1.31 / sqrt(p) (Ott, Kemperman and
    // Mathis 1996; 1.22 for equally spaced losses). The simulator may be slightly below, because the window does not
    // grow during recovery.
    for p in [1e-3, 3e-3] {
        let ratio = mean_window("newreno", p) / (1.31 / p.sqrt());
        assert!(
            (0.88..1.02).contains(&ratio),
            "p = {p}: {ratio:.3} of the closed form"
        );
    }
}

#[test]
fn cubic_follows_its_response_function() {
    // RFC 9438, Sec. 5.1, eq. (5), for equally spaced losses: W = (C (3 + β) / (4 (1 − β)))^¼ (RTT / p)^¾. Random
    // spacing raises the mean of a concave law, for Reno by 7 %, here by more.
    for (beta, p) in [(0.7, 1e-2), (0.7, 3e-3), (0.8, 3e-3)] {
        let factor = 0.4f64 * (3.0 + beta) / (4.0 * (1.0 - beta));
        let expected = factor.sqrt().sqrt()
            * tmt_core::math::num::powi(RTT.as_secs_f64() / p, 3)
                .sqrt()
                .sqrt();
        let ratio = mean_window(&format!("cubic:beta={beta}"), p) / expected;
        assert!(
            (1.0..1.18).contains(&ratio),
            "β = {beta}, p = {p}: {ratio:.3} of the closed form"
        );
    }
}

#[test]
fn hybla_is_newreno_if_the_rtt_is_at_most_rtt0() {
    for delayed_ack in [1, 2] {
        let mut case = Case::new(1e-3);
        case.rtt = Span::from_millis(20);
        case.seconds = 500;
        case.endpoint.delayed_ack = delayed_ack;
        let (hybla, newreno) = (case.goodput("hybla"), case.goodput("newreno"));
        assert!((hybla - newreno).abs() < 1e-9, "{hybla} for {newreno}");
    }
}

#[test]
fn the_throughput_of_hybla_does_not_depend_on_the_rtt() {
    // Caini 2004: at the same loss the throughput is that of NewReno at RTT0 = 25 ms. Only the recoveries, in which the
    // window does not grow, depend on the RTT: at 600 ms they take a tenth of the time between losses at 1e-5. The
    // receiver's window of 20 000 sets the first threshold.
    let case = |rtt: u32, p: f64, seconds: u32| {
        let mut case = Case::new(p);
        case.rate = BitRate(10_000_000_000);
        case.rtt = Span::from_millis(rtt);
        case.seconds = seconds;
        case.endpoint.rwnd = 20_000;
        case
    };
    let seconds = depth(300, 800);
    let reference = case(25, 1e-4, seconds).goodput("newreno");
    for rtt in [50, 100, 200] {
        let case = case(rtt, 1e-4, seconds);
        let ratio = case.goodput("hybla") / reference;
        assert!((0.8..1.15).contains(&ratio), "{rtt} ms: {ratio:.3}");
        // NewReno falls as the round trip grows.
        let newreno = case.goodput("newreno") / reference * f64::from(rtt) / 25.0;
        assert!((0.85..1.15).contains(&newreno), "{rtt} ms: {newreno:.3}");
    }
    let seconds = depth(250, 700);
    let reference = case(25, 1e-5, seconds).goodput("newreno");
    let ratio = case(600, 1e-5, seconds).goodput("hybla") / reference;
    assert!((0.75..1.25).contains(&ratio), "600 ms: {ratio:.3}");
}

/// Probe that records the state of the sender at each event, and the queue.
#[derive(Default)]
struct Watched(Vec<(Snapshot, u64)>);

impl Probe for Watched {
    fn on_sender(
        &mut self,
        _now: Time,
        _flow: usize,
        _moment: SenderEvent,
        sender: &Snapshot,
        queue: u64,
        _delivered: u64,
    ) {
        self.0.push((*sender, queue));
    }
}

#[test]
fn westwood_reduces_to_the_bandwidth_times_the_smallest_rtt() {
    // 200 packets/s and 505 ms: 101 segments, although the queue held hundreds when packets were lost. The queue is
    // never empty, so the estimate is the rate of the link, apart from a remainder of the first slow start.
    let mut case = Case::new(2e-4);
    case.rate = BitRate(2_400_000);
    case.seconds = 2000;
    let mut watched = Watched::default();
    case.run("westwood", &mut watched);
    let cuts: Vec<f64> = watched
        .0
        .windows(2)
        .filter(|pair| pair[1].0.ssthresh != pair[0].0.ssthresh)
        .map(|pair| pair[1].0.ssthresh.unwrap())
        .skip(2)
        .collect();
    assert!(cuts.len() > 30, "{cuts:?}");
    for cut in &cuts {
        assert!((90.0..=101.5).contains(cut), "{cuts:?}");
    }
}

#[test]
fn vegas_keeps_alpha_to_beta_packets_in_the_queue() {
    // 200 packets/s and 105 ms, so 21 segments; one packet is always in service.
    for (cc, alpha, beta) in [("vegas", 2, 4), ("vegas:alpha=6,beta=8", 6, 8)] {
        for delayed_ack in [1, 2] {
            let mut case = Case::new(0.0);
            case.rate = BitRate(2_400_000);
            case.rtt = Span::from_millis(100);
            case.seconds = 100;
            case.endpoint.delayed_ack = delayed_ack;
            let mut watched = Watched::default();
            case.run(cc, &mut watched);
            let settled = &watched.0[watched.0.len() / 2..];
            let queue = settled.iter().map(|(_, queue)| *queue);
            let (least, most) = (queue.clone().min().unwrap(), queue.max().unwrap());
            // The packet in service adds to those that wait, and delayed ACKs release pairs.
            let slack = u64::from(delayed_ack) + 1;
            assert!(
                least + slack >= alpha && most <= beta + slack,
                "{cc}, {delayed_ack}: {least} to {most}"
            );
            for (sender, _) in settled {
                let backlog = sender.cwnd - 21.0;
                let (alpha, beta) = (to_f64(alpha), to_f64(beta));
                assert!((alpha - 0.5..=beta + 1.5).contains(&backlog), "{sender:?}");
            }
        }
    }
}

#[test]
fn compound_is_newreno_at_small_windows_and_follows_its_response_function_at_large_ones() {
    // Below 8^(4/3) = 16 segments there is no delay part: α win^k ≤ 1.
    let ratio = mean_window("compound", 1e-1) / mean_window("newreno", 1e-1);
    assert!((0.97..1.03).contains(&ratio), "{ratio:.3}");
    // Without a queue, the two parts grow by 1 + (α W^k − 1) = α W^k per round trip. From W/2 to W, with equally
    // spaced losses, that is 1/p = W^(2−k) (1 − 2^(k−2)) / (α (2 − k)) packets in
    // W^(1−k) (1 − 2^(k−1)) / (α (1 − k)) round trips. Random spacing raises the mean, as for NewReno by 7 %.
    let (alpha, k) = (0.125, 0.75);
    for p in [1e-3, 1e-4] {
        let most = pow(
            alpha * (2.0 - k) / (p * (1.0 - pow(2.0, k - 2.0))),
            1.0 / (2.0 - k),
        );
        let rounds = pow(most, 1.0 - k) * (1.0 - pow(2.0, k - 1.0)) / (alpha * (1.0 - k));
        let case = Case {
            seconds: 10_000,
            ..Case::new(p)
        };
        let ratio = case.goodput("compound") * 0.5006 / (1.0 / p / rounds);
        assert!(
            (0.92..1.12).contains(&ratio),
            "p = {p}: {ratio:.3} of the closed form"
        );
    }
}

#[test]
fn a_fixed_window_is_sent_every_round_trip() {
    let mut case = Case::new(0.0);
    case.seconds = 1000;
    let window = case.goodput("fixed:80") * 0.5006;
    assert!((79.9..=80.1).contains(&window), "{window}");
    // With losses, at most that.
    case.p = 0.05;
    let window = case.goodput("fixed:80") * 0.5006;
    assert!((20.0..80.0 * 0.95).contains(&window), "{window}");
}

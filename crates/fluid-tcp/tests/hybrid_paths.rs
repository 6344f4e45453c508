//! TCP over a coupled link against the findings and closed forms of Barakat 2004 and Zhu 2006 (docs/validity.md, Sec. 5).

use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::model::MODELS;
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::replications::{Estimate, estimate};
use fluid_tcp::simulation::{Flow, Path, Setup, SplitWindow};
use test_support::depth;
use tmt_core::types::{BitRate, Bytes, Span, to_f64};
use tmt_link::queue::Buffer;
use tmt_link::timeline::GeneratedSlots;
use tmt_link::{CoupledLink, Hold, InOrder, Segmentation};

use crate::run;

/// A link of generated slots, the path before it, and the load.
#[derive(Debug, Clone)]
struct Case {
    rate: u64,
    lldu: u64,
    lldus: u32,
    channel: String,
    scheme: String,
    rtt: u32,
    terrestrial: u32,
    split: Option<SplitWindow>,
    buffer: u64,
    in_order: InOrder,
    hold: Hold,
    cc: &'static str,
    endpoint: Endpoint,
    flows: u32,
    seconds: u32,
}

/// Barakat 2004, Sec. 3: 2 Mbit/s, units of 25 B, K = 10, X = 6, NewReno with delayed ACKs.
fn barakat(connections: u32, delay: u32, loss: f64, sent: u32, persistency: u32) -> Case {
    Case {
        rate: 2_000_000,
        lldu: 25,
        lldus: 60,
        channel: format!("bernoulli:{loss}"),
        scheme: match persistency {
            0 => format!("fec:10/{sent}"),
            _ => format!("frame-arq:10/{sent},rounds={persistency}"),
        },
        rtt: 2 * delay,
        terrestrial: 80,
        split: None,
        buffer: 500,
        in_order: InOrder::Link,
        hold: Hold::Sent,
        cc: "newreno",
        endpoint: Endpoint {
            delayed_ack: 2,
            rwnd: 2_000,
            ..Profile::Ns2.endpoint()
        },
        flows: connections,
        seconds: depth(100, 200),
    }
}

/// Zhu 2006, Sec. III-C: 1 Mbit/s, segments of 500 B, one per link-layer packet, unlimited ARQ, Reno.
fn zhu(terrestrial: u32, satellite: u32, buffer: u64, loss: f64) -> Case {
    Case {
        rate: 1_000_000,
        lldu: 500,
        lldus: 1,
        channel: format!("bernoulli:{loss}"),
        scheme: "arq".to_owned(),
        rtt: satellite,
        terrestrial,
        split: None,
        buffer,
        in_order: InOrder::Flow,
        hold: Hold::Acknowledged,
        cc: "reno",
        endpoint: Endpoint {
            sack: false,
            ..Profile::Ns2.endpoint()
        },
        flows: 1,
        seconds: depth(250, 500),
    }
}

impl Case {
    fn split(self, window: SplitWindow) -> Self {
        Self {
            split: Some(window),
            ..self
        }
    }

    fn run(&self, seed: u64) -> RunReport {
        let millis = |millis| Span::from_millis(millis);
        let duration = Span::from_secs(self.seconds);
        let flow = Flow::new(self.cc.parse().unwrap(), self.endpoint);
        let flow = |index| flow.clone().starting(millis(110 * index));
        let flows = (0..self.flows).map(flow).collect();
        let setup = Setup {
            packet: self.packet(),
            buffer: Buffer::Packets(self.buffer),
            path: Path {
                terrestrial_rtt: millis(self.terrestrial),
                split: self.split,
                ..Path::default()
            },
            ..Setup::new(flows, millis(self.rtt), duration)
        };
        let channel = self.channel.parse().unwrap();
        let slots =
            GeneratedSlots::new(BitRate(self.rate), Bytes(self.lldu), duration, channel).unwrap();
        let (trace, scheme) = (slots.trace(seed), self.scheme.parse().unwrap());
        let packets = Segmentation::whole(setup.packet, self.lldus.into());
        let link = CoupledLink {
            in_order: self.in_order,
            hold: self.hold,
            ..CoupledLink::new(trace, scheme, packets)
        };
        run(&setup, link, &mut NoProbe).unwrap()
    }

    /// Size of a packet.
    fn packet(&self) -> Bytes {
        Bytes(self.lldu * u64::from(self.lldus))
    }

    /// Rate of the packets that arrive, bit/s.
    fn throughput(&self, seed: u64) -> f64 {
        let report = self.run(seed);
        let arrived = report.total.metrics.packets_arrived;
        report
            .whole_packet_rate_bps(arrived, self.packet())
            .unwrap()
    }

    /// Throughput in percent of the rate of the link, over three seeds.
    fn percent(&self) -> Estimate {
        let throughput = |seed| 100.0 * self.throughput(seed) / to_f64(self.rate);
        estimate(&[1, 2, 3].map(throughput)).unwrap()
    }

    fn mean(&self) -> f64 {
        self.percent().mean
    }
}

/// Result of a model of Barakat 2004 or Zhu 2006.
fn theory(model: &str, keys: &str, result: &str) -> f64 {
    let model = MODELS.iter().find(|known| known.name == model).unwrap();
    let pairs = keys.split(' ').filter_map(|pair| pair.split_once('='));
    let arguments = model.arguments(pairs).unwrap();
    model.evaluate(&arguments).unwrap().get(result).unwrap()
}

#[test]
fn with_fec_alone_one_repair_unit_is_best_on_the_short_link() {
    // Barakat 2004, Sec. 3.2.1: N = 11 for D = 20 ms, then a decay as K/N.
    let at = |sent| barakat(10, 20, 0.01, sent, 0).mean();
    let found: Vec<f64> = (10..=14).map(at).collect();
    let best = (0..found.len()).max_by(|a, b| found[*a].total_cmp(&found[*b]));
    assert_eq!(best, Some(1), "{found:?}");
    for (index, sent) in [(2, 12.0), (3, 13.0), (4, 14.0)] {
        let ratio = found[index] / (100.0 * 10.0 / sent);
        assert!((0.985..=1.001).contains(&ratio), "N = {sent}: {ratio}");
    }
}

#[test]
fn throughput_does_not_fall_with_the_number_of_rounds() {
    // Barakat 2004, Sec. 3.2.2; by more than the confidence interval.
    for (connections, delay) in [(1, 20), (10, 100), (10, 200)] {
        let found: Vec<Estimate> = (0..=5)
            .map(|delta| barakat(connections, delay, 0.01, 10, delta).percent())
            .collect();
        for pair in found.windows(2) {
            let interval = pair[0].ci95.unwrap() + pair[1].ci95.unwrap();
            assert!(
                pair[1].mean >= pair[0].mean - interval,
                "{connections} {delay}: {found:?}"
            );
        }
        assert!(found[5].mean > 2.0 * found[0].mean);
    }
}

#[test]
fn in_order_delivery_is_better_than_out_of_order_delivery() {
    // Barakat 2004, Fig. 4: packets out of order look like losses.
    for (delay, rounds, factor) in [(200, 3, 2.0), (100, 2, 1.2)] {
        let ordered = barakat(10, delay, 0.01, 10, rounds);
        let unordered = Case {
            in_order: InOrder::Off,
            ..ordered.clone()
        };
        let (ordered, unordered) = (ordered.mean(), unordered.mean());
        assert!(
            ordered > factor * unordered,
            "{ordered} in order, {unordered} out of it"
        );
    }
}

#[test]
fn a_hybrid_needs_at_most_one_repair_unit() {
    // Barakat 2004, Fig. 5 and 6: at most N = K + 1 at p = 0.01, N = K at p = 0.001.
    for (loss, most) in [(0.01, 11), (0.001, 10)] {
        let found: Vec<f64> = (10..=13)
            .map(|sent| barakat(10, 200, loss, sent, 5).mean())
            .collect();
        let best = (10..=13).max_by(|a, b| found[*a - 10].total_cmp(&found[*b - 10]));
        assert!(best.unwrap() <= most, "p = {loss}: {found:?}");
    }
}

#[test]
fn saturation_does_not_depend_on_delay_or_connections() {
    // (1 - p)^10 = 90.4 % for p = 0.01 without FEC. The runs are long, so the first slow start does not matter.
    for (connections, delay, seconds) in [(1, 20, 300), (10, 20, 300), (10, 200, 600)] {
        let case = Case {
            seconds,
            ..barakat(connections, delay, 0.01, 10, 8)
        };
        let found = case.throughput(1) / 2e4;
        assert!(
            (found - 90.44).abs() < 1.0,
            "{connections} {delay}: {found}"
        );
    }
}

#[test]
fn the_hybrid_model_holds_at_low_load() {
    for (delay, seconds) in depth([(20, 200), (100, 700)], [(20, 500), (100, 2_000)]) {
        let case = Case {
            seconds,
            ..barakat(1, delay, 0.01, 10, 2)
        };
        let keys = format!("C=1 D={} p=0.01 N=10 delta=2", f64::from(delay) / 1e3);
        let theory = theory("barakat", &keys, "percent");
        let found = case.percent();
        let allowed = 0.1 * theory + found.ci95.unwrap();
        assert!(
            (found.mean - theory).abs() < allowed,
            "D = {delay} ms: {found:?}, theory {theory}"
        );
    }
}

#[test]
fn split_throughput_agrees_with_its_equation() {
    // (50) for T2 a multiple of T1 or far below it, where rounds of T1 and the link's acknowledgements are in phase.
    for (satellite, buffer, loss) in [
        (10, 20, 0.1),
        (10, 100, 0.1),
        (500, 20, 0.1),
        (500, 50, 0.1),
        (500, 100, 0.1),
        (500, 50, 0.3),
        (100, 50, 0.2),
    ] {
        let found = zhu(100, satellite, buffer, loss)
            .split(SplitWindow::Share)
            .mean()
            / 100.0;
        let keys = format!(
            "B={buffer} T1=0.1 T2={} p={loss}",
            f64::from(satellite) / 1e3
        );
        let ratio = found / theory("split", &keys, "norm");
        assert!(
            (0.93..1.06).contains(&ratio),
            "T2 = {satellite} ms, B = {buffer}, p = {loss}: {ratio}"
        );
    }
}

#[test]
fn split_throughput_without_a_terrestrial_path_is_that_of_a_window_over_the_link() {
    // (54): free space is advertised immediately, so the buffer is a window over the link.
    for (buffer, loss) in [(20, 0.0), (50, 0.0), (50, 0.2), (400, 0.2)] {
        let found = zhu(0, 500, buffer, loss).split(SplitWindow::Whole).mean() / 100.0;
        let expected = theory("split", &format!("B={buffer} T1=0 T2=0.5 p={loss}"), "norm");
        let ratio = found / expected;
        assert!(
            (0.94..1.01).contains(&ratio),
            "B = {buffer}, p = {loss}: {ratio}"
        );
    }
}

#[test]
fn flows_with_a_shared_advertised_window_lose_little_in_a_small_buffer() {
    // Zhu 2006, Sec. V-D: about no throughput for a buffer of 30 packets and 10 connections. If the proxy advertises a
    // share of the free space to each flow, hardly any packet is dropped. If it advertises all of it to each flow, ten
    // flows fill it at once, and packets are dropped.
    let share = Case {
        flows: 10,
        ..zhu(100, 100, 30, 0.1)
    }
    .split(SplitWindow::Share);
    let whole = Case {
        flows: 10,
        ..zhu(100, 100, 30, 0.1)
    }
    .split(SplitWindow::Whole);
    let (share, whole) = (share.run(1), whole.run(1));
    let dropped = |report: &RunReport| report.total.metrics.packets_dropped;
    assert!(dropped(&share) < 100 && dropped(&whole) > 100 * dropped(&share).max(1));
    let goodput = |report: &RunReport| report.total.metrics.goodput_bps.unwrap();
    assert!(goodput(&share) > 3e5 && goodput(&whole) > 3e5);
}

#[test]
fn end_to_end_throughput_agrees_with_its_equation_without_a_standing_queue() {
    // (39): T1 = 100 ms; B = 50 is at most about twice the bandwidth-delay product.
    for (satellite, loss) in [(100, 0.1), (200, 0.1), (500, 0.1), (300, 0.3), (500, 0.3)] {
        let found = zhu(100, satellite, 50, loss).percent();
        let keys = format!("B=50 T1=0.1 T2={} p={loss}", f64::from(satellite) / 1e3);
        let theory = 100.0 * theory("zhu", &keys, "norm");
        let allowed = 0.1 * theory + found.ci95.unwrap();
        assert!(
            (found.mean - theory).abs() < allowed,
            "T2 = {satellite} ms, p = {loss}: {found:?}, {theory}"
        );
    }
}

#[test]
fn end_to_end_throughput_is_at_least_that_of_its_equation_with_a_standing_queue() {
    // (39) is made of upper bounds of the time per window, so it is far too low if the queue keeps the link busy.
    for (terrestrial, satellite, buffer, loss) in [
        (0, 100, 50, 0.1),
        (100, 100, 100, 0.1),
        (100, 100, 100, 0.3),
        (500, 100, 50, 0.3),
    ] {
        let found = zhu(terrestrial, satellite, buffer, loss).percent();
        let (t1, t2) = (f64::from(terrestrial) / 1e3, f64::from(satellite) / 1e3);
        let theory = 100.0
            * theory(
                "zhu",
                &format!("B={buffer} T1={t1} T2={t2} p={loss}"),
                "norm",
            );
        assert!(
            found.mean + found.ci95.unwrap() > 0.95 * theory,
            "{buffer} {loss}: {found:?}, {theory}"
        );
    }
}

#[test]
fn without_losses_throughput_follows_from_window_and_bandwidth_delay_product() {
    // Windows grow from 26 to 51 segments, one per round trip; the bandwidth-delay product is 125. The throughput is the
    // mean window over it (Zhu 2006, eq. (26)).
    let found = zhu(0, 500, 50, 0.0).mean() / 100.0;
    let expected = 38.5 / 125.0;
    assert!(
        (0.95..1.01).contains(&(found / expected)),
        "{found}, expected {expected}"
    );
    // With a bandwidth-delay product of 25 they keep the link busy.
    let found = zhu(0, 100, 50, 0.0).mean();
    assert!(found > 99.0, "{found}");
}

#[test]
fn splitting_is_better_on_a_long_link_and_worse_after_a_long_terrestrial_path_with_a_small_buffer()
{
    // Zhu 2006, Fig. 13: T2 well above T1; alpha = 10 with beta / (1 + 2 alpha) = 0.2.
    let long = zhu(20, 500, 50, 0.1);
    let (whole_way, split) = (long.mean(), long.split(SplitWindow::Share).mean());
    assert!(
        split > 1.5 * whole_way,
        "{split} split, {whole_way} end to end"
    );
    let near = zhu(1_111, 100, 105, 0.1);
    let (whole_way, split) = (near.mean(), near.split(SplitWindow::Share).mean());
    assert!(
        whole_way > 1.5 * split,
        "{split} split, {whole_way} end to end"
    );
}

#[test]
fn more_connections_help_end_to_end_more_than_splitting() {
    // Zhu 2006, Fig. 16.
    let at = |flows| Case {
        flows,
        ..zhu(100, 100, 30, 0.1)
    };
    let (one, ten) = (at(1).mean(), at(10).mean());
    assert!(ten > 2.0 * one, "{one} and {ten} end to end");
    let split = |flows| at(flows).split(SplitWindow::Share).mean();
    let (one, ten) = (split(1), split(10));
    assert!(ten < 1.3 * one, "{one} and {ten} split");
}

#[test]
fn fading_costs_end_to_end_more_than_splitting() {
    // Zhu 2006, Fig. 15: both are below their bounds, splitting close to it.
    let keys = "B=50 T1=0.1 T2=0.1 p=0.1 X=0.1 m=0.02";
    let fading = Case {
        channel: "fading:m=20ms,X=0.1".to_owned(),
        ..zhu(100, 100, 50, 0.1)
    };
    let whole_way = fading.mean() / 100.0 / theory("fading", keys, "e2e_upper_norm");
    let split = fading.split(SplitWindow::Share).mean()
        / 100.0
        / theory("fading", keys, "split_upper_norm");
    assert!(
        whole_way < 0.95 && split < 1.01 && split > 0.93,
        "{whole_way} and {split} of the bounds"
    );
}

//! Comparison with ns-2 at the same settings (fixtures/reference/peers/goodput.csv; docs/validity.md, Sec. 4).

use std::collections::BTreeMap;

use crate::run;

use fluid_tcp::congestion::{Algorithm, NEWRENO};
use fluid_tcp::endpoint::rtt::RtoSettings;
use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::types::{BitRate, Bytes, Span, to_f64};
use tmt_link::queue::Buffer;

/// Published means by (set, simulator, variant, loss, quantity).
fn published() -> BTreeMap<[String; 5], f64> {
    let table = include_str!("../../../fixtures/reference/peers/goodput.csv");
    table
        .lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split(',').collect();
            let [set, simulator, variant, loss, _seeds, quantity, mean, ..] = fields[..] else {
                panic!("{line}")
            };
            let key = [set, simulator, variant, loss, quantity].map(str::to_owned);
            (key, mean.parse().unwrap())
        })
        .collect()
}

fn simulate(setup: &Setup, rate: BitRate, p: f64, seed: u64) -> RunReport {
    let channel = Channel::new(ChannelSpec::Bernoulli { p }, seed);
    let link = setup.synthetic_link(rate, Some(channel.into()));
    run(setup, link.unwrap(), &mut NoProbe).unwrap()
}

/// Set A: `--rate 0.8Mbps --packet 1000B --rtt 490ms --buffer 40pkt --profile ns2 --sack off
/// --delayed-ack 2 --delayed-ack-timer 100ms --min-rto 1s --rto-tick 100ms --limited-transmit off --iw 1`.
fn set_a(cc: &str, p: f64, duration: Span, seeds: u64) -> f64 {
    let rate = BitRate(800_000);
    let profile = Profile::Ns2.endpoint();
    let endpoint = Endpoint {
        sack: false,
        delayed_ack: 2,
        delayed_ack_timer: Span::from_millis(100),
        rto: RtoSettings {
            min: Span::from_secs(1),
            tick: Span::from_millis(100),
            ..profile.rto
        },
        limited_transmit: false,
        initial_window: 1,
        ..profile
    };
    let setup = Setup {
        packet: Bytes(1000),
        buffer: Buffer::Packets(40),
        ..Setup::new(
            vec![Flow::new(cc.parse().unwrap(), endpoint)],
            Span::from_millis(490),
            duration,
        )
    };
    let goodputs = (1..=seeds).map(|seed| {
        simulate(&setup, rate, p, seed)
            .total
            .metrics
            .link_share
            .unwrap()
    });
    goodputs.sum::<f64>() / to_f64(seeds)
}

/// Checks the mean of runs against the published one, to a relative `tolerance`.
fn compare_set_a(variant: &str, loss: &str, duration: Span, seeds: u64, tolerance: f64) {
    let key = ["A", "ns-2", variant, loss, "normalised_goodput"].map(str::to_owned);
    let expected = published()[&key];
    let cc = variant.to_lowercase();
    let ours = set_a(&cc, loss.parse().unwrap(), duration, seeds);
    let deviation = ours / expected - 1.0;
    assert!(
        deviation.abs() <= tolerance,
        "{variant}, q = {loss}: {ours:.5} for {expected:.5}, {:+.2} %",
        deviation * 100.0
    );
}

#[test]
fn newreno_with_hardly_any_losses_is_within_five_percent_of_ns2() {
    compare_set_a("Newreno", "1e-05", Span::from_secs(20_000), 1, 0.05);
}

#[test]
fn newreno_at_one_loss_in_ten_thousand_is_within_five_percent_of_ns2() {
    compare_set_a("Newreno", "0.0001", Span::from_secs(20_000), 2, 0.05);
}

#[test]
fn newreno_at_one_loss_in_a_thousand_is_within_five_percent_of_ns2() {
    compare_set_a("Newreno", "0.001", Span::from_secs(20_000), 4, 0.05);
}

#[test]
fn newreno_at_one_loss_in_a_hundred_is_within_five_percent_of_ns2() {
    compare_set_a("Newreno", "0.01", Span::from_secs(20_000), 4, 0.05);
}

#[test]
fn newreno_at_one_loss_in_ten_is_within_fifteen_percent_of_ns2() {
    compare_set_a("Newreno", "0.1", Span::from_secs(20_000), 4, 0.15);
}

#[test]
fn reno_is_within_five_percent_of_ns2_and_fifteen_at_one_loss_in_ten() {
    for (loss, seeds, tolerance) in [
        ("1e-05", 1, 0.05),
        ("0.0001", 2, 0.05),
        ("0.001", 4, 0.05),
        ("0.01", 4, 0.05),
        ("0.1", 4, 0.15),
    ] {
        compare_set_a("Reno", loss, Span::from_secs(20_000), seeds, tolerance);
    }
}

/// Set D: 2 Mbit/s, RTT 480 ms, buffer 500 packets, window 2000, delayed ACKs, starts within 5 s, 2000 s.
fn set_d(flows: u64) -> RunReport {
    let endpoint = Endpoint {
        delayed_ack: 2,
        rwnd: 2000,
        ..Profile::Ns2.endpoint()
    };
    let start = |n| Span::from_millis(500).checked_mul(n).unwrap();
    let flow = Flow::new(Algorithm::new(&NEWRENO, []).unwrap(), endpoint);
    let flows = (0..flows).map(|n| flow.clone().starting(start(n)));
    let setup = Setup {
        buffer: Buffer::Packets(500),
        ..Setup::new(
            flows.collect(),
            Span::from_millis(480),
            Span::from_secs(2000),
        )
    };
    simulate(&setup, BitRate(2_000_000), 0.0, 1)
}

#[test]
fn the_utilisation_of_a_link_without_losses_is_that_of_ns2_for_one_flow_and_for_ten() {
    for flows in [1, 10] {
        let variant = format!("Newreno x{flows}");
        let key = ["D", "ns-2", &variant, "0.0", "link_utilisation"].map(str::to_owned);
        let expected = published()[&key];
        let ours = set_d(flows).total.link_utilisation.unwrap();
        assert!(
            (ours / expected - 1.0).abs() <= 0.02,
            "{flows} flows: {ours} for {expected}"
        );
    }
}

#[test]
fn goodput_never_exceeds_the_link_and_falls_with_loss() {
    let goodputs: Vec<f64> = [0.0, 1e-3, 1e-2, 1e-1, 1.0]
        .iter()
        .map(|p| set_a("newreno", *p, Span::from_secs(2_000), 1))
        .collect();
    assert!(
        goodputs.windows(2).all(|pair| pair[0] > pair[1]),
        "{goodputs:?}"
    );
    assert!(
        goodputs[0] <= 1.0 && goodputs[4].abs() < f64::EPSILON,
        "{goodputs:?}"
    );
}

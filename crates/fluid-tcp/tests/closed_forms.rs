//! Long flows with random losses against the closed forms of their window laws.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use fluid_tcp::endpoint::{Endpoint, Profile};
use fluid_tcp::link::SyntheticLink;
use fluid_tcp::probe::NoProbe;
use fluid_tcp::simulation::{Flow, Setup, run};
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::units::{BitRate, Bytes, Span, Time};

/// A link so fast that nothing ever queues: one packet in 0.6 ms.
const RATE: BitRate = BitRate(20_000_000);
const RTT: Span = Span::from_millis(500);

/// Mean window of a long flow, segments: delivered packets a round trip.
fn mean_window(cc: &str, p: f64) -> f64 {
    let endpoint = Endpoint {
        delayed_ack: 1,
        ..Profile::Rfc.endpoint()
    };
    let setup = Setup {
        flows: vec![Flow {
            algorithm: cc.parse().unwrap(),
            endpoint,
            start: Span::ZERO,
            packets: None,
        }],
        packet: Bytes(1500),
        rtt: RTT,
        buffer: 5000,
        begin: Time::ZERO,
        end: Time::ZERO.checked_add(Span::from_secs(30_000)).unwrap(),
        link_rate_bps: None,
    };
    let channel = Channel::new(ChannelSpec::Bernoulli { p }, 1);
    let link =
        SyntheticLink::new(RATE, setup.packet, RTT.half(), Some(channel), Time::ZERO).unwrap();
    let goodput = run(&setup, link, &mut NoProbe)
        .total
        .metrics
        .goodput_bps
        .unwrap();
    goodput / 12_000.0 * (RTT.as_secs_f64() + 0.0006)
}

#[test]
fn newreno_follows_the_inverse_square_root_of_loss() {
    // Additive increase of one segment a round trip, halving at losses that come at random:
    // mean window 1.31 / sqrt(p) (Ott, Kemperman and Mathis 1996; 1.22 where losses are equally spaced).
    // Ours may be a little below: a round trip of each recovery passes without growth.
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
    // RFC 9438 §5.1 equation (5), for losses equally spaced: W = (C (3 + β) / (4 (1 − β)))^¼ (RTT / p)^¾.
    // Random spacing raises the mean of a concave law, for Reno by 7 %, here by more.
    for (beta, p) in [(0.7, 1e-2), (0.7, 3e-3), (0.8, 3e-3)] {
        let factor = 0.4f64 * (3.0 + beta) / (4.0 * (1.0 - beta));
        let expected =
            factor.sqrt().sqrt() * tmt_core::num::powi(RTT.as_secs_f64() / p, 3).sqrt().sqrt();
        let ratio = mean_window(&format!("cubic:beta={beta}"), p) / expected;
        assert!(
            (1.0..1.18).contains(&ratio),
            "β = {beta}, p = {p}: {ratio:.3} of the closed form"
        );
    }
}

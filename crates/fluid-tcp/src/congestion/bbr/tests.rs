//! Behaviour that the draft describes, on a path of constant rate.

use super::super::Algorithm;
use super::path::Path;
use super::*;
use tmt_core::types::Span;

fn bbr() -> Bbr {
    let preset: Algorithm = "bbr".parse().unwrap();
    Bbr::new(&Connection::default(), preset.values())
}

fn path(rate: f64, buffer: f64) -> Path<Bbr> {
    Path::new(bbr(), rate, buffer)
}

/// A path on which the pipe has been filled and drained.
fn settled(rate: f64, buffer: f64) -> Path<Bbr> {
    let mut path = path(rate, buffer);
    path.run(4.0, |_| {});
    assert!(path.cc.in_probe_bw(), "{:?}", path.cc.state);
    path
}

#[test]
fn startup_about_doubles_the_rate_every_round() {
    // Sec. 5.3.1.1: at least doubled every round, with the smallest gain that does so.
    let mut path = path(20_000.0, 1e9);
    let (mut seen, mut rounds) = (Vec::new(), 0);
    path.run(3.0, |path| {
        if path.cc.base.rounds.count != rounds && path.cc.state == State::Startup {
            rounds = path.cc.base.rounds.count;
            seen.push(path.cc.base.max_bw.get());
        }
    });
    let growing: Vec<f64> = seen.windows(2).map(|pair| pair[1] / pair[0]).collect();
    assert!(growing.len() >= 8, "{seen:?}");
    for growth in &growing[3..8] {
        assert!((1.7..2.2).contains(growth), "{growing:?}");
    }
}

#[test]
fn startup_ends_on_a_plateau_and_drain_at_one_bdp() {
    let mut path = path(1000.0, 1e9);
    let (mut most, mut drained) = (0.0f64, None);
    path.run(5.0, |path| match path.cc.state {
        State::Startup | State::Drain => most = most.max(path.pipe()),
        State::ProbeRtt => {}
        _ => {
            drained.get_or_insert((path.pipe(), path.cc.base.full.reached));
        }
    });
    // Sec. 5.3.1.1: the window gain of 2 bounds the queue to one BDP.
    assert!((150.0..215.0).contains(&most), "{most}");
    let (pipe, full) = drained.unwrap();
    assert!((95.0..=103.0).contains(&pipe) && full, "{pipe}");
}

#[test]
fn startup_ends_when_six_ranges_and_more_than_two_percent_are_lost_in_recovery() {
    // The rate stays far below that of the link, so only losses can end Startup.
    for (every, leaves) in [(20, true), (70, false)] {
        let mut path = path(50_000.0, 1e9);
        path.loses = if every == 20 {
            |packet| packet > 600 && packet % 20 == 0
        } else {
            |packet| packet > 600 && packet % 70 == 0
        };
        let mut left = None;
        path.run(0.9, |path| {
            if path.cc.state != State::Startup {
                left.get_or_insert((path.cc.bounds.inflight_longterm, path.cc.base.max_bw.get()));
            }
        });
        assert_eq!(left.is_some(), leaves, "one in {every}");
        if let Some((longterm, bw)) = left {
            // The volume delivered in a round, or the BDP, and far from the link's 5000.
            assert!(
                longterm >= 0.1 * bw - 1.0 && longterm < 3000.0,
                "{longterm} {bw}"
            );
        }
    }
}

/// Returns each state with its duration in seconds and its pacing gain.
fn phases(path: &mut Path<Bbr>, until: f64) -> Vec<(State, f64, f64)> {
    let (mut seen, mut now) = (Vec::new(), (path.cc.state, path.seconds(), 0.0));
    path.run(until, |path| {
        if path.cc.state != now.0 {
            seen.push((now.0, path.seconds() - now.1, now.2));
            now = (path.cc.state, path.seconds(), 0.0);
        }
        now.2 = path.cc.pacing_gain();
    });
    seen
}

#[test]
fn the_cycle_goes_down_cruises_refills_and_probes_up() {
    let mut path = settled(1000.0, 1e9);
    let seen = phases(&mut path, 60.0);
    let (mut cycles, mut waited) = (0, 0.0);
    for pair in seen[1..].windows(2) {
        let (state, lasted, gain) = pair[0];
        let (next, expected) = match state {
            State::Down => (State::Cruise, 0.9),
            State::Cruise => (State::Refill, 1.0),
            State::Refill => (State::Up, 1.0),
            State::Up => (State::Down, 1.25),
            State::ProbeRtt => (State::Cruise, 1.0),
            _ => panic!("{state:?} once the pipe is full"),
        };
        assert!(
            next == pair[1].0 || pair[1].0 == State::ProbeRtt,
            "{pair:?}"
        );
        assert!((gain - expected).abs() < 1e-12, "{pair:?}");
        if pair[1].0 == State::ProbeRtt {
            waited = 0.0;
            continue;
        }
        match state {
            // One packet-timed round.
            State::Refill => assert!((0.1..0.25).contains(&lasted), "{pair:?}"),
            // Three rounds without growth, a little more as the queue lengthens them.
            State::Up => assert!((0.3..0.8).contains(&lasted), "{pair:?}"),
            State::Down | State::ProbeRtt => {
                waited = if state == State::Down { lasted } else { 0.0 }
            }
            // Sec. 5.3.3.5: two to three seconds from Down to Refill.
            _ => {
                let wait = waited + lasted;
                assert!((2.0..3.01).contains(&wait), "{pair:?}");
                cycles += 1;
            }
        }
    }
    assert!(cycles >= 8, "{seen:?}");
}

#[test]
fn a_small_pipe_is_probed_as_often_as_reno_would() {
    // Sec. 5.3.3.5.2: after as many rounds as the BDP has segments; here ten, of 100 ms.
    let mut path = settled(100.0, 1e9);
    let cruises = phases(&mut path, 40.0);
    let mut waits = Vec::new();
    for pair in cruises.windows(2) {
        if pair[0].0 == State::Down && pair[1].0 == State::Cruise {
            waits.push(pair[0].1 + pair[1].1);
        }
    }
    waits.pop();
    let mean = waits.iter().sum::<f64>() / to_f64(waits.len() as u64);
    assert!(waits.len() > 5 && (0.7..1.5).contains(&mean), "{waits:?}");
}

#[test]
fn probe_rtt_halves_what_is_in_flight_every_five_seconds() {
    let mut path = settled(1000.0, 1e9);
    let (mut times, mut smallest) = (Vec::new(), f64::INFINITY);
    let mut probing = false;
    path.run(40.0, |path| {
        let probes = path.cc.state == State::ProbeRtt;
        if probes && !probing {
            times.push((path.seconds(), 0.0));
        }
        if probes {
            smallest = smallest.min(path.pipe());
            let last = times.last_mut().unwrap();
            last.1 = path.seconds() - last.0;
        }
        probing = probes;
    });
    assert!(times.len() >= 6, "{times:?}");
    for pair in times.windows(2) {
        // Five seconds from the end of one ProbeRTT to the start of the next.
        let gap = pair[1].0 - pair[0].0 - pair[0].1;
        assert!((5.0..5.2).contains(&gap), "{times:?}");
        // Until half the BDP is in flight, then 200 ms and a round.
        assert!((0.2..0.55).contains(&pair[0].1), "{times:?}");
    }
    assert!((45.0..=52.0).contains(&smallest), "{smallest}");
}

#[test]
fn a_cycle_that_probe_rtt_cuts_short_forgets_no_bandwidth() {
    // From Down to Refill 2 to 3 s pass (Sec. 5.3.3.5.3); Refill, Up and the round after Up take five rounds, but
    // ProbeRTT comes after 5 s (Sec. 5.3.4.1). The first round after it is application-limited (Sec. 5.3.4.3), so the
    // filter does not advance (Sec. 5.3.3.6). The rate falls by less than half, which leaves min_rtt as it is.
    for (rtt, bw) in [(100, 700.0), (600, 1000.0)] {
        let mut path = path(1000.0, 1e9);
        path.rtt = Span::from_millis(rtt);
        path.run(30.0, |_| {});
        path.rate = 700.0;
        path.run(120.0, |_| {});
        let max_bw = path.cc.base.max_bw.get();
        assert!((max_bw / bw - 1.0).abs() < 0.02, "{rtt} ms: {max_bw}");
    }
}

#[test]
fn cwnd_is_at_least_four_segments_on_a_path_that_holds_fewer() {
    let mut path = path(5.0, 1e9);
    path.run(60.0, |path| assert!(path.cc.cwnd() >= 4.0));
    assert!(
        path.cc.cwnd() <= 12.0 && path.delivered > 270,
        "{:?}",
        path.cc
    );
}

/// A control in Up with a BDP of 100 segments: 1000 segments per second and 100 ms.
fn probing() -> Bbr {
    let mut cc = bbr();
    cc.base.full.reached = true;
    cc.state = State::Up;
    cc.probe.bw_probe_samples = true;
    cc.base.max_bw.update(0, BW_CYCLES, 1000.0);
    let rtt = Some(Span::from_millis(100));
    cc.min_rtt.on_ack(
        &AckEvent {
            rtt,
            ..AckEvent::default()
        },
        5.0,
    );
    cc.base.cwnd = 200.0;
    cc
}

fn lost(lost: u64, in_flight_at_send: u64) -> LostPacket {
    LostPacket {
        packet: 7,
        in_flight_at_send,
        lost,
        app_limited: false,
        total_delivered: 0,
    }
}

#[test]
fn a_probe_that_loses_more_than_two_percent_sets_the_long_term_volume() {
    let mut cc = probing();
    // 3 of 150: exactly 2 %, not more.
    cc.on_lost(&lost(3, 150));
    assert!(cc.bounds.inflight_longterm.is_infinite());
    // 4 of 150: Sec. 5.5.10.2, 149 + (0.02 · 149 − 3)/0.98.
    cc.on_lost(&lost(4, 150));
    let expected = 149.0 + (0.02 * 149.0 - 3.0) / 0.98;
    assert!((cc.bounds.inflight_longterm - expected).abs() < 1e-9);
    assert_eq!(cc.state, State::Down);
    // Only once per probe.
    cc.on_lost(&lost(50, 60));
    assert!((cc.bounds.inflight_longterm - expected).abs() < 1e-9);
}

#[test]
fn the_long_term_volume_falls_by_beta_at_most() {
    let mut cc = probing();
    cc.on_lost(&lost(10, 20));
    // min(bdp, cwnd) = 100 segments.
    assert!((cc.bounds.inflight_longterm - 70.0).abs() < 1e-9);
    // 15 % of it is left to other flows.
    assert!((cc.inflight_with_headroom() - 59.5).abs() < 1e-9);
    cc.state = State::Cruise;
    cc.bound_cwnd();
    assert!((cc.cwnd() - 59.5).abs() < 1e-9);
}

#[test]
fn a_lossy_round_outside_a_probe_cuts_rate_and_volume_at_most_by_beta() {
    for (delivers, bw, inflight) in [(0.0, 700.0, 140.0), (0.9, 900.0, 180.0)] {
        let mut cc = probing();
        cc.state = State::Cruise;
        cc.on_lost(&lost(1, 100));
        cc.signals.bw_latest = delivers * 1000.0;
        cc.signals.inflight_latest = delivers * 200.0;
        cc.signals.loss_round_start = true;
        cc.update_congestion_signals();
        assert!((cc.bounds.bw_shortterm - bw).abs() < 1e-9, "{cc:?}");
        assert!((cc.bounds.inflight_shortterm - inflight).abs() < 1e-9);
        // Without another loss the bounds stay.
        cc.update_congestion_signals();
        assert!((cc.bw() - bw).abs() < 1e-9);
    }
}

#[test]
fn the_long_term_volume_grows_by_one_two_four_segments_per_round() {
    // Sec. 5.3.3.4: while the volume limits the sender.
    let mut cc = probing();
    cc.bounds.inflight_longterm = 100.0;
    cc.base.cwnd = 100.0;
    cc.cwnd_limited = (true, true);
    cc.raise_inflight_longterm_slope();
    for round in 0..4 {
        let before = cc.bounds.inflight_longterm;
        let acks = tmt_core::math::num::floor_u64(cc.base.cwnd);
        for ack in 1..=acks {
            cc.base.rounds.round_start = ack == acks;
            cc.probe_inflight_longterm_upward(1);
            cc.base.cwnd = cc.bounds.inflight_longterm;
        }
        let grown = cc.bounds.inflight_longterm - before;
        let expected = f64::from(1u32 << round);
        assert!((grown - expected).abs() <= 1.0, "{round}: {grown}");
    }
}

#[test]
fn a_shallow_queue_is_learnt_and_losses_become_rare() {
    // A queue of a quarter of the BDP.
    let mut path = settled(1000.0, 25.0);
    path.run(10.0, |_| {});
    let (delivered, lost, from) = (path.delivered, path.lost, path.seconds());
    path.run(60.0, |_| {});
    assert!(path.cc.bounds.inflight_longterm < 135.0, "{:?}", path.cc);
    let rate = to_f64(path.delivered - delivered) / (path.seconds() - from);
    let share = to_f64(path.lost - lost) / to_f64(path.delivered - delivered);
    assert!(rate > 900.0 && share < 0.01, "{rate} {share}");
}

#[test]
fn one_percent_of_random_losses_is_tolerated_and_five_percent_is_not() {
    // Sec. 5.3.3.5.3: between probes, each round lowers the rate by the share lost. Over 2 to 3 s, 1 % at an RTT of
    // 100 ms gives a mean factor of 0.99^12, starting from 0.9, the pacing gain of Down. The BDP is 1000 segments, so
    // that a round seldom loses 2 % by chance. More than 2 % would stop the probes, as 5 % does.
    let share = |loses| {
        let mut path = path(10_000.0, 2000.0);
        path.loses = loses;
        path.run(30.0, |_| {});
        to_f64(path.delivered) / path.seconds() / path.rate
    };
    let one = share(|packet| draw::draw(packet, Time::ZERO) < 0.01);
    let five = share(|packet| draw::draw(packet, Time::ZERO) < 0.05);
    assert!(one > 0.8 && five < 0.4, "{one} {five}");
}

#[test]
fn the_end_of_a_recovery_restores_the_window_and_a_timeout_starts_from_one_segment() {
    let mut cc = probing();
    let event = |cause| CongestionEvent {
        now: Time::ZERO,
        in_flight: 150.0,
        cause,
    };
    cc.on_congestion(&event(Cause::FastRetransmit));
    assert!(
        (cc.cwnd() - 200.0).abs() < 1e-12,
        "a loss alone does not cut the window"
    );
    cc.on_congestion(&event(Cause::Timeout));
    assert!((cc.cwnd() - 1.0).abs() < 1e-12);
    cc.on_recovered(Time::ZERO);
    assert!((cc.cwnd() - 200.0).abs() < 1e-12);
}

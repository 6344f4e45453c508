//! Behaviour that the draft describes, on a path of constant rate.

use super::super::Algorithm;
use super::super::bbr::path::Path;
use super::*;
use tmt_core::types::Bytes;

fn bbr1() -> Bbr1 {
    let preset: Algorithm = "bbr1".parse().unwrap();
    Bbr1::new(&Connection::default(), preset.values())
}

/// At a host whose payload of a segment is 1448 B.
fn linux() -> Bbr1 {
    let connection = Connection {
        payload: Bytes(1448),
        implementation: Implementation::LINUX,
        ..Connection::default()
    };
    let preset: Algorithm = "bbr1".parse().unwrap();
    Bbr1::new(&connection, preset.values())
}

fn path(rate: f64, buffer: f64) -> Path<Bbr1> {
    Path::new(bbr1(), rate, buffer)
}

/// A path on which the pipe has been filled and drained.
fn settled(rate: f64, buffer: f64) -> Path<Bbr1> {
    let mut path = path(rate, buffer);
    path.run(5.0, |_| {});
    assert_eq!(path.cc.mode, Mode::ProbeBw);
    path
}

#[test]
fn startup_doubles_the_rate_every_round() {
    // 20000 segments per second: from 10 segments it takes seven doublings to get near.
    let mut path = path(20_000.0, 1e9);
    let (mut seen, mut rounds) = (Vec::new(), 0);
    path.run(3.0, |path| {
        if path.cc.base.rounds.count != rounds && path.cc.mode == Mode::Startup {
            rounds = path.cc.base.rounds.count;
            seen.push(path.cc.base.max_bw.get());
        }
    });
    let growing: Vec<f64> = seen.windows(2).map(|pair| pair[1] / pair[0]).collect();
    // The initial window is one burst; from the third round on, rates are those of pacing.
    assert!(growing.len() >= 8, "{seen:?}");
    for growth in &growing[3..8] {
        assert!((1.8..2.2).contains(growth), "{growing:?}");
    }
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more_bandwidth() {
    let mut path = path(1000.0, 1e9);
    let (mut plateau, mut left) = (None, None);
    path.run(5.0, |path| {
        let rounds = path.cc.base.rounds.count;
        if path.cc.base.max_bw.get() > 999.0 / 1.25 {
            plateau.get_or_insert(rounds);
        }
        if path.cc.mode != Mode::Startup {
            left.get_or_insert(rounds);
        }
    });
    // The plateau is reached within a round; then three more follow.
    let rounds = left.unwrap() - plateau.unwrap();
    assert!((3..=5).contains(&rounds), "{rounds}");
}

#[test]
fn drain_ends_with_one_bdp_in_flight() {
    let mut path = path(1000.0, 1e9);
    let (mut most, mut drained) = (0.0f64, None);
    path.run(5.0, |path| match path.cc.mode {
        Mode::Startup | Mode::Drain => most = most.max(path.pipe()),
        Mode::ProbeBw => {
            drained.get_or_insert((path.pipe(), path.queue()));
        }
        Mode::ProbeRtt => {}
    });
    let (pipe, queue) = drained.unwrap();
    // The BDP is 100 segments; the quantization budget adds up to 3 + 1.
    assert!(most > 200.0, "Startup queues: {most}");
    assert!(
        (95.0..=106.0).contains(&pipe) && queue < 8.0,
        "{pipe} {queue}"
    );
}

#[test]
fn the_cycle_is_a_probe_a_drain_and_six_rounds_of_cruising() {
    let mut path = settled(1000.0, 1e9);
    let (mut phases, mut now) = (Vec::new(), (path.cc.phase, path.seconds()));
    path.run(9.0, |path| {
        if path.cc.phase != now.0 {
            phases.push((now.0, path.cc.pacing_gain(), path.seconds() - now.1));
            now = (path.cc.phase, path.seconds());
        }
    });
    assert!(phases.len() > 24, "{phases:?}");
    for pair in phases[1..].windows(2) {
        assert_eq!(pair[1].0, (pair[0].0 + 1) % 8);
        let gain = [0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.25][pair[0].0];
        assert!((pair[0].1 - gain).abs() < 1e-12);
        // Draining may end early; all other phases last one RTT of 101 ms.
        let lasts = pair[1].2;
        let least = if pair[1].0 == 1 { 0.05 } else { 0.1 };
        assert!((least..0.13).contains(&lasts), "{pair:?}");
    }
}

#[test]
fn a_steady_flow_fills_the_link_with_a_short_queue() {
    let mut path = settled(1000.0, 1e9);
    let (before, from) = (path.delivered, path.seconds());
    let (mut most, mut sum, mut count) = (0.0f64, 0.0, 0.0);
    path.run(9.0, |path| {
        most = most.max(path.queue());
        sum += path.queue();
        count += 1.0;
    });
    let rate = to_f64(path.delivered - before) / (path.seconds() - from);
    assert!(rate > 980.0, "{rate}");
    assert!(
        most < 0.35 * path.bdp() && sum / count < 8.0,
        "{most} {}",
        sum / count
    );
}

#[test]
fn probe_rtt_begins_when_min_rtt_is_ten_seconds_old() {
    let mut path = settled(1000.0, 1e9);
    // The path gets longer, so that no RTT is as short as min_rtt again.
    path.rtt = Span::from_millis(120);
    let began = path.cc.min_rtt_at;
    let (mut entered, mut left, mut smallest) = (None, None, f64::INFINITY);
    path.run(30.0, |path| {
        if path.cc.mode == Mode::ProbeRtt {
            entered.get_or_insert((
                path.seconds(),
                path.now.since(path.cc.min_rtt_at.min(began)),
            ));
            smallest = smallest.min(path.pipe());
            assert!(path.cc.cwnd() <= 4.0);
        } else if entered.is_some() {
            left.get_or_insert((path.seconds(), path.cc.min_rtt, path.cc.cwnd()));
        }
    });
    let ((entered, age), (left, min_rtt, cwnd)) = (entered.unwrap(), left.unwrap());
    let age = age.as_secs_f64();
    assert!((10.0..10.5).contains(&age), "{age}");
    // One RTT until at most 4 segments are in flight, then 200 ms that include a round.
    assert!((0.3..0.6).contains(&(left - entered)), "{entered} {left}");
    assert!((3.0..=4.0).contains(&smallest));
    assert!((120..=122).contains(&(min_rtt.unwrap().as_nanos() / 1_000_000)));
    assert!(cwnd > 150.0, "the window is restored: {cwnd}");
}

#[test]
fn a_flow_behind_a_standing_queue_enters_probe_rtt_every_ten_seconds() {
    // No RTT is as short as the first again, as if another flow kept a queue.
    let mut path = settled(1000.0, 1e9);
    path.rtt = Span::from_millis(101);
    let mut times = Vec::new();
    let mut probing = false;
    path.run(60.0, |path| {
        // The queue of the other flow returns after every probe.
        let probes = path.cc.mode == Mode::ProbeRtt;
        if probes && !probing {
            times.push(path.seconds());
        }
        if !probes && probing {
            let longer = path.rtt.as_nanos() + 1_000_000;
            path.rtt = Span::from_nanos(longer).unwrap();
        }
        probing = probes;
    });
    assert!(times.len() >= 4, "{times:?}");
    for pair in times.windows(2) {
        assert!((9.9..11.0).contains(&(pair[1] - pair[0])), "{times:?}");
    }
}

#[test]
fn cwnd_is_at_least_four_segments_on_a_path_that_holds_fewer() {
    // The BDP is half a segment: cwnd stays at least 4, and the queue short.
    let mut path = path(5.0, 1e9);
    path.run(60.0, |path| assert!(path.cc.cwnd() >= 4.0));
    assert!(
        path.cc.cwnd() <= 12.0 && path.delivered > 280,
        "{:?}",
        path.cc
    );
}

#[test]
fn a_recovery_conserves_packets_for_one_round_and_then_restores_the_window() {
    let mut path = settled(1000.0, 1e9);
    path.loses = |packet| packet == 5000 || packet == 5001;
    let (mut conserving, mut before, mut rounds) = (0, 0.0, (0, 0));
    let mut after = None;
    path.run(9.0, |path| {
        if path.cc.base.in_recovery {
            if path.cc.packet_conservation {
                conserving += 1;
                assert!(path.cc.cwnd() <= path.pipe() + 2.0, "{:?}", path.cc);
            }
            rounds.1 = path.cc.base.rounds.count;
        } else if path.recoveries == 0 {
            before = path.cc.cwnd();
            rounds.0 = path.cc.base.rounds.count;
        } else {
            after.get_or_insert(path.cc.cwnd());
        }
    });
    assert!(path.recoveries == 1 && conserving > 50, "{conserving}");
    assert!(rounds.1 - rounds.0 <= 2, "{rounds:?}");
    assert!((after.unwrap() - before).abs() < 6.0, "{before} {after:?}");
}

#[test]
fn one_percent_of_random_losses_hardly_lowers_the_rate() {
    let mut path = path(1000.0, 200.0);
    path.loses = |packet| super::super::bbr::draw::draw(packet, Time::ZERO) < 0.01;
    path.run(60.0, |_| {});
    let rate = to_f64(path.delivered) / path.seconds();
    assert!(rate > 930.0, "{rate}");
}

#[test]
fn a_timeout_starts_from_one_segment_and_keeps_the_model() {
    let mut path = settled(1000.0, 1e9);
    let (bw, window) = (path.cc.bw(), path.cc.cwnd());
    let event = CongestionEvent {
        now: path.now,
        in_flight: window,
        cause: Cause::Timeout,
    };
    path.cc.on_congestion(&event);
    assert!((path.cc.cwnd() - 1.0).abs() < 1e-12);
    assert!((path.cc.bw() - bw).abs() < 1e-12);
    path.cc.on_recovered(path.now);
    assert!((path.cc.cwnd() - window).abs() < 1e-12);
}

#[test]
fn application_limited_samples_do_not_lower_the_bandwidth() {
    let mut path = settled(1000.0, 1e9);
    let bw = path.cc.bw();
    // Bursts: the application is idle for all but 20 ms of each second.
    for second in 6..30u32 {
        path.silent_until = Time::ZERO.checked_add(Span::from_secs(second)).unwrap();
        path.run(f64::from(second) + 0.02, |_| {});
    }
    assert!(path.cc.bw() > 0.95 * bw, "{} of {bw}", path.cc.bw());
}

#[test]
fn probe_bw_begins_in_any_phase_but_the_drain() {
    let mut cc = bbr1();
    let mut seen = [0; 8];
    for entry in 0..700 {
        cc.enter_probe_bw(Time::from_nanos(entry * 1_000_003).unwrap());
        seen[cc.phase] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(
        seen.iter()
            .filter(|count| (60..140).contains(*count))
            .count()
            == 7,
        "{seen:?}"
    );
}

#[test]
fn without_jitter_min_rtt_expires_only_if_an_equal_rtt_does_not_renew_it() {
    for (renews_by_equal, expected) in [(true, 0..=0), (false, 4..=5)] {
        let mut path = path(1000.0, 1e9);
        path.cc.renews_by_equal = renews_by_equal;
        let (mut probes, mut probing) = (0, false);
        path.run(60.0, |path| {
            let now = path.cc.mode == Mode::ProbeRtt;
            probes += i32::from(now && !probing);
            probing = now;
        });
        assert!(expected.contains(&probes), "{probes}");
    }
}

#[test]
fn a_quantum_is_a_millisecond_from_one_or_two_segments_to_64_kib() {
    // Pacing rate in bytes per second; `bbr_tso_segs_goal` for a payload of 1448 B.
    for (rate, segments, budget) in [
        (149_000.0, 1.0, 102.0),
        (151_000.0, 2.0, 104.0),
        (10e6, 6.0, 116.0),
        (125e6, 45.0, 234.0),
        (1e12, 45.0, 234.0),
    ] {
        let mut cc = linux();
        cc.base.pacing_rate = rate / 1448.0;
        assert!((cc.quantum() - segments).abs() < 1e-12, "{rate}");
        // 98 segments and three quanta, rounded up to an even number.
        assert!((cc.with_quanta(98.0) - budget).abs() < 1e-12, "{rate}");
    }
    assert!((bbr1().with_quanta(98.0) - 102.0).abs() < 1e-12);
}

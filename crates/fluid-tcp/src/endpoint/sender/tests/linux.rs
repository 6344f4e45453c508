//! Mechanisms of the `linux` profile, one by one.

use super::*;
use crate::congestion::Growth;
use crate::endpoint::LossDetection;

/// A sender of the `linux` profile with this control and initial window, and an endless source.
fn linux(cc: &str, initial_window: u32, change: impl FnOnce(&mut Endpoint)) -> Sender {
    let mut endpoint = Endpoint {
        initial_window,
        ..Profile::Linux.endpoint()
    };
    change(&mut endpoint);
    let algorithm: Algorithm = cc.parse().unwrap();
    let control = crate::congestion::start(&algorithm, &endpoint.connection(Bytes(1500)));
    Sender::new(endpoint, control, None)
}

fn millis(span: Option<Span>) -> u64 {
    span.unwrap().as_nanos() / 1_000_000
}

#[test]
fn one_ack_gives_no_order_of_what_it_reports() {
    // With delayed ACKs the first ACK after a gap acknowledges one packet and reports another in a SACK block.
    let mut sender = linux("newreno", 10, |_| {});
    drain(&mut sender, at(0));
    sender.on_ack(at(400), &ack(1, &[(2, 3)]));
    sender.on_ack(at(401), &ack(1, &[(2, 4)]));
    // Three SACKed packets suffice, as no reordering was seen.
    sender.on_ack(at(402), &ack(1, &[(2, 5)]));
    assert_eq!(drain(&mut sender, at(402))[0], (1, 2));
}

#[test]
fn rtt_samples_come_from_packets_newly_reported_in_sack_blocks() {
    for (sampling, expected) in [(RttSampling::PerSack, 450), (RttSampling::PerAck, 400)] {
        let mut sender = linux("newreno", 10, |endpoint| endpoint.rtt_sampling = sampling);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(1, &[]));
        sender.on_ack(at(800), &ack(1, &[(2, 3)]));
        // 7/8 · 400 + 1/8 · 800.
        assert_eq!(millis(sender.snapshot().srtt), expected);
        // A block that is known reports nothing new.
        sender.on_ack(at(900), &ack(1, &[(2, 3)]));
        assert_eq!(millis(sender.snapshot().srtt), expected);
    }
}

#[test]
fn the_echo_of_a_retransmission_gives_an_rtt_sample() {
    for (timestamps, expected) in [(true, 450), (false, 400)] {
        let mut sender = linux("newreno", 4, |endpoint| endpoint.timestamps = timestamps);
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(0, &[(1, 4)]));
        assert_eq!(drain(&mut sender, at(400))[0], (0, 2));
        // The retransmission alone is new, and left at 400 ms.
        let echo = at(400);
        sender.on_ack(
            at(1200),
            &Ack {
                echo,
                ..ack(4, &[])
            },
        );
        assert_eq!(millis(sender.snapshot().srtt), expected);
    }
}

#[test]
fn a_packet_sacked_that_left_before_the_last_retransmission_restarts_the_timer() {
    for (restart, restarted) in [(TimerRestart::Sacked, true), (TimerRestart::Acked, false)] {
        let mut sender = linux("newreno", 20, |endpoint| {
            endpoint.timer_restart = restart;
            endpoint.rtt_sampling = RttSampling::PerAck;
        });
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(1, &[]));
        drain(&mut sender, at(400));
        // RFC 6298: 400 + 4 · 200 ms. It runs from the retransmission of packet 1.
        sender.on_ack(at(410), &ack(1, &[(2, 5)]));
        assert_eq!(drain(&mut sender, at(410))[0], (1, 2));
        assert_eq!(sender.deadline(), Some(at(1610)));
        // These left at 0 ms, before the retransmission.
        sender.on_ack(at(450), &ack(1, &[(2, 18)]));
        let due = if restarted { at(1650) } else { at(1610) };
        assert_eq!(sender.deadline(), Some(due));
        // Packets sent after the retransmission do not restart the timer.
        let new = drain(&mut sender, at(450)).last().unwrap().0;
        assert!(new >= 22, "{new}");
        sender.on_ack(at(850), &ack(1, &[(new, new + 1), (2, 18)]));
        assert_eq!(sender.deadline(), Some(due));
    }
}

#[test]
fn windows_are_cut_from_cwnd_and_not_again_by_timeouts_without_progress() {
    let mut sender = linux("newreno", 20, |endpoint| endpoint.rwnd = 8);
    assert_eq!(drain(&mut sender, at(0)).len(), 8);
    sender.on_ack(at(400), &ack(0, &[(1, 4)]));
    // Half of cwnd, not of the eight packets in flight.
    assert_eq!(sender.snapshot().ssthresh, Some(10.0));
    let due = sender.deadline().unwrap();
    sender.on_timer(due);
    assert_eq!(sender.snapshot().ssthresh, Some(10.0));
    assert!((sender.snapshot().cwnd - 1.0).abs() < 1e-12);
    drain(&mut sender, due);
    let due = sender.deadline().unwrap();
    sender.on_timer(due);
    assert_eq!(
        (sender.events().timeouts, sender.snapshot().ssthresh),
        (2, Some(10.0))
    );
}

#[test]
fn the_ack_that_ends_a_recovery_grows_the_window_and_may_begin_the_next() {
    let recovering = |growth| {
        let mut sender = linux("newreno", 10, |endpoint| {
            endpoint.congestion.growth = growth;
            endpoint.undo_recovery = false;
            endpoint.loss_detection = LossDetection::DupAcks;
        });
        drain(&mut sender, at(0));
        sender.on_ack(at(400), &ack(0, &[(1, 4)]));
        drain(&mut sender, at(400));
        sender.on_ack(at(410), &ack(0, &[(1, 10)]));
        drain(&mut sender, at(410));
        sender
    };
    let mut sender = recovering(Growth::Segments);
    let before = sender.snapshot().cwnd;
    sender.on_ack(at(800), &ack(10, &[]));
    let grown = sender.snapshot().cwnd;
    // One packet is new: Reno counts it towards the next segment.
    assert!((grown - before).abs() < 1e-12, "{before} {grown}");
    // The next recovery begins with the ACK that ends the first.
    for (growth, expected) in [(Growth::Segments, 2), (Growth::Acks, 1)] {
        let mut sender = recovering(growth);
        let sent = sender.snd_nxt;
        assert!(sent >= 14, "{sent}");
        sender.on_ack(at(800), &ack(10, &[(11, 14)]));
        assert_eq!(sender.events().fast_recoveries, expected);
    }
}

#[test]
fn a_control_with_a_window_of_its_own_waits_with_its_retransmission() {
    for (force, expected) in [(true, 1), (false, 0)] {
        let mut sender = linux("fixed:4", 4, |endpoint| {
            endpoint.force_retransmit = force;
            endpoint.recovery = Recovery::Prr9937;
        });
        sender.cc_controls_recovery = true;
        sender.limited_transmits = 0;
        drain(&mut sender, at(0));
        // Three new packets have left for those SACKed, so that four are in the network besides the lost one.
        for end in 2..5 {
            sender.on_ack(at(400), &ack(0, &[(1, end)]));
            if end < 4 {
                drain(&mut sender, at(400));
            } else {
                break;
            }
        }
        sender.pipe = 4;
        let again = drain(&mut sender, at(400))
            .iter()
            .filter(|(_, copy)| *copy == 2)
            .count();
        assert_eq!(again, expected);
    }
}

#[test]
fn a_sender_that_waits_for_the_receivers_window_is_not_limited_by_its_application() {
    let mut sender = linux("bbr1", 10, |endpoint| endpoint.rwnd = 4);
    for _ in 0..4 {
        let now = sender.pacing_release().unwrap_or(at(0));
        drain(&mut sender, now);
    }
    assert_eq!(sender.snapshot().in_flight, 4);
    sender.on_ack(at(400), &ack(2, &[]));
    drain(&mut sender, at(400));
    let rates = sender.rates.as_ref().unwrap();
    assert!(!rates.is_app_limited());
}

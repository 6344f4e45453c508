//! One test per rule of the sender, with the section of its RFC, and a property test over networks that lose, delay,
//! duplicate and reorder packets.

mod linux;

use proptest::prelude::*;
use tmt_core::math::num::floor_u64;
use tmt_core::types::Bytes;

use super::*;
use crate::congestion::Algorithm;
use crate::endpoint::receiver::{Receiver, Rwnd, Segment};
use crate::endpoint::{CutFrom, Profile, Recovery, RttSampling, TimerRestart};
use crate::simulation::event::{Line, Schedule};

pub(super) fn endpoint(sack: bool, recovery: Recovery, initial_window: u32) -> Endpoint {
    Endpoint {
        sack,
        recovery,
        initial_window,
        delayed_ack: 1,
        ..Profile::Rfc.endpoint()
    }
}

pub(super) fn sender(endpoint: Endpoint, total: Option<u64>) -> Sender {
    let algorithm: Algorithm = "newreno".parse().unwrap();
    Sender::new(
        endpoint,
        crate::congestion::start(&algorithm, &endpoint.connection(Bytes(1500))),
        total,
    )
}

pub(super) fn at(millis: u32) -> Time {
    Time::ZERO.checked_add(Span::from_millis(millis)).unwrap()
}

/// Everything that the sender sends `now`: packet and copy.
pub(super) fn drain(sender: &mut Sender, now: Time) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| sender.next_packet(now))
        .map(|t| (t.packet, t.copy))
        .collect()
}

pub(super) fn ack(next: u64, blocks: &[(u64, u64)]) -> Ack {
    let mut ack = Ack {
        next,
        ..Ack::default()
    };
    ack.blocks[..blocks.len()].copy_from_slice(blocks);
    ack
}

#[test]
fn the_initial_window_is_sent_at_once() {
    let mut sender = sender(endpoint(true, Recovery::Prr, 4), None);
    assert_eq!(drain(&mut sender, at(0)), [(0, 1), (1, 1), (2, 1), (3, 1)]);
    assert_eq!(sender.deadline(), Some(at(1000)));
}

#[test]
fn the_advertised_window_limits_what_is_outstanding_and_cwnd_only_with_window_validation() {
    for window_validation in [false, true] {
        let endpoint = Endpoint {
            rwnd: 3,
            window_validation,
            ..endpoint(true, Recovery::Prr, 10)
        };
        let mut sender = sender(endpoint, None);
        assert_eq!(drain(&mut sender, at(0)).len(), 3);
        sender.on_ack(at(500), &ack(1, &[]));
        assert_eq!(drain(&mut sender, at(500)), [(3, 1)]);
        let expected = if window_validation { 10.0 } else { 11.0 };
        assert!((sender.snapshot().cwnd - expected).abs() < 1e-12);
    }
}

#[test]
fn acks_of_a_flight_that_filled_the_window_grow_it_although_the_application_has_nothing_more() {
    // As Linux 6.18 did with an object of 35 segments: 10 and 20 fill the window, 5 do not, and all 35 count (benches/replay/pages).
    let endpoint = Endpoint {
        window_validation: true,
        ..endpoint(true, Recovery::Prr, 10)
    };
    let mut sender = sender(endpoint, Some(35));
    let deliver = |sender: &mut Sender, packets: std::ops::RangeInclusive<u64>, millis| {
        for next in packets {
            sender.on_ack(at(millis), &ack(next, &[]));
            drain(sender, at(millis));
        }
        sender.snapshot().cwnd
    };
    drain(&mut sender, at(0));
    assert!((deliver(&mut sender, 1..=10, 100) - 20.0).abs() < 1e-12);
    assert!((deliver(&mut sender, 11..=30, 200) - 40.0).abs() < 1e-12);
    assert!((deliver(&mut sender, 31..=35, 300) - 45.0).abs() < 1e-12);
    // The next object does not fill the window.
    sender.supply(70);
    assert_eq!(drain(&mut sender, at(400)).len(), 35);
    assert!((deliver(&mut sender, 36..=70, 500) - 45.0).abs() < 1e-12);
}

#[test]
fn acks_of_a_flight_that_filled_the_window_grow_it_although_the_receiver_allows_no_more() {
    let endpoint = Endpoint {
        window_validation: true,
        rwnd: 15,
        ..endpoint(true, Recovery::Prr, 10)
    };
    let mut sender = sender(endpoint, None);
    drain(&mut sender, at(0));
    let grown = [1..=5, 6..=20, 21..=40].map(|packets| {
        for next in packets {
            sender.on_ack(at(100), &ack(next, &[]));
            drain(&mut sender, at(100));
        }
        floor_u64(sender.snapshot().cwnd)
    });
    // Packets 0 to 19 are sent while cwnd is at most the receiver's 15; their ACKs grow it, later ones do not.
    assert_eq!(grown, [15, 30, 30]);
}

#[test]
fn an_object_that_fills_the_window_to_the_packet_grows_it_in_congestion_avoidance() {
    let endpoint = Endpoint {
        window_validation: true,
        ..endpoint(true, Recovery::Prr, 10)
    };
    // 10 packets fill the window, 9 do not.
    let grown = [9, 10].map(|packets| {
        let mut sender = sender(endpoint, Some(packets));
        sender.cut(at(0), 20.0, Cause::FastRetransmit);
        let before = sender.snapshot();
        assert!(before.cwnd >= before.ssthresh.unwrap());
        drain(&mut sender, at(0));
        for next in 1..=packets {
            sender.on_ack(at(100), &ack(next, &[]));
            drain(&mut sender, at(100));
        }
        sender.snapshot().cwnd > before.cwnd
    });
    assert_eq!(grown, [false, true]);
}

#[test]
fn limited_transmit_sends_one_new_packet_on_each_of_the_first_two_duplicate_acks() {
    // RFC 3042, Sec. 2.
    for sack in [true, false] {
        for on in [true, false] {
            let mut sender = sender(
                Endpoint {
                    limited_transmit: on,
                    ..endpoint(sack, Recovery::Halving, 5)
                },
                None,
            );
            drain(&mut sender, at(0));
            let mut sent = Vec::new();
            for end in [3, 4] {
                sender.on_ack(at(500), &ack(0, &[(2, end)]));
                sent.push(drain(&mut sender, at(500)).len());
            }
            assert_eq!(sent, if on { [1, 1] } else { [0, 0] }, "sack {sack}");
        }
    }
}

#[test]
fn the_third_sacked_packet_above_a_gap_starts_recovery_and_halves_the_window() {
    // RFC 6675, Sec. 5, step 4; RFC 5681, eq. (4).
    let mut sender = sender(
        Endpoint {
            limited_transmit: false,
            ..endpoint(true, Recovery::Halving, 10)
        },
        None,
    );
    drain(&mut sender, at(0));
    for end in [2, 3] {
        sender.on_ack(at(500), &ack(0, &[(1, end)]));
        assert_eq!(drain(&mut sender, at(500)), []);
    }
    sender.on_ack(at(500), &ack(0, &[(1, 4)]));
    assert_eq!(drain(&mut sender, at(500)), [(0, 2)]);
    assert_eq!(
        (sender.snapshot().cwnd, sender.events().fast_recoveries),
        (5.0, 1)
    );
    // pipe is 7 now and falls with every packet SACKed; below 5 new data may be sent.
    for (end, expected) in [(5, 0), (6, 0), (7, 1), (8, 1)] {
        sender.on_ack(at(501), &ack(0, &[(1, end)]));
        assert_eq!(drain(&mut sender, at(501)).len(), expected, "{end}");
    }
}

#[test]
fn losses_of_half_a_window_are_one_recovery() {
    for recovery in [Recovery::Halving, Recovery::Prr] {
        let mut sender = sender(endpoint(true, recovery, 20), None);
        drain(&mut sender, at(0));
        for end in 11..=20 {
            sender.on_ack(at(500), &ack(0, &[(10, end)]));
            drain(&mut sender, at(500));
        }
        for next in 1..=10 {
            sender.on_ack(at(1000), &ack(next, &[]));
            drain(&mut sender, at(1000));
        }
        assert_eq!(sender.events().fast_recoveries, 1, "{recovery:?}");
        assert!(
            (sender.snapshot().ssthresh.unwrap() - 10.0).abs() < 1e-9,
            "{recovery:?}"
        );
    }
}

#[test]
fn without_sack_a_partial_ack_retransmits_the_next_gap_and_a_full_ack_ends_recovery() {
    // RFC 6582, Sec. 3.2: packets 0 and 4 of 10 are lost.
    let mut sender = sender(
        Endpoint {
            limited_transmit: false,
            ..endpoint(false, Recovery::Halving, 10)
        },
        Some(10),
    );
    drain(&mut sender, at(0));
    for _ in 0..2 {
        sender.on_ack(at(500), &ack(0, &[]));
        assert_eq!(drain(&mut sender, at(500)), []);
    }
    sender.on_ack(at(500), &ack(0, &[]));
    assert_eq!(drain(&mut sender, at(500)), [(0, 2)]);
    for _ in 0..5 {
        sender.on_ack(at(501), &ack(0, &[]));
    }
    sender.on_ack(at(1000), &ack(4, &[]));
    assert_eq!(drain(&mut sender, at(1000)), [(4, 2)]);
    sender.on_ack(at(1500), &ack(10, &[]));
    assert!(sender.is_done());
    assert_eq!(
        (sender.snapshot().cwnd, sender.events().fast_recoveries),
        (5.0, 1)
    );
    assert_eq!(sender.deadline(), None);
}

#[test]
fn without_sack_reno_ends_a_recovery_with_the_first_partial_ack() {
    // RFC 5681, Sec. 3.2, step 6: packets 0 and 4 of 12 are lost. NewReno retransmits 4 at once; Reno waits for three
    // more duplicate ACKs, which cut the window a second time.
    let endpoint = Endpoint {
        limited_transmit: false,
        ..endpoint(false, Recovery::Halving, 12)
    };
    let algorithm: Algorithm = "reno".parse().unwrap();
    let mut sender = Sender::new(
        endpoint,
        crate::congestion::start(&algorithm, &endpoint.connection(Bytes(1500))),
        None,
    );
    drain(&mut sender, at(0));
    for _ in 0..10 {
        sender.on_ack(at(500), &ack(0, &[]));
        drain(&mut sender, at(500));
    }
    assert!((sender.snapshot().cwnd - 6.0).abs() < 1e-12);
    sender.on_ack(at(1000), &ack(4, &[]));
    assert_eq!(sender.phase, Phase::Open);
    assert!(drain(&mut sender, at(1000)).iter().all(|sent| sent.1 == 1));
    for _ in 0..3 {
        sender.on_ack(at(1010), &ack(4, &[]));
    }
    assert_eq!(drain(&mut sender, at(1010))[0], (4, 2));
    assert_eq!(
        (sender.snapshot().cwnd, sender.events().fast_recoveries),
        (3.0, 2)
    );
}

#[test]
fn without_sack_a_timeout_goes_back_to_snd_una_with_one_packet() {
    // RFC 5681, Sec. 3.1, RFC 6298, Sec. 5.4 to 5.6.
    let mut sender = sender(endpoint(false, Recovery::Halving, 8), None);
    drain(&mut sender, at(0));
    assert_eq!(sender.on_timer(at(999)), TimerOutcome::Nothing);
    assert_eq!(sender.on_timer(at(1000)), TimerOutcome::Timeout);
    assert_eq!(drain(&mut sender, at(1000)), [(0, 2)]);
    assert_eq!(sender.deadline(), Some(at(3000)));
    assert_eq!(
        (sender.snapshot().cwnd, sender.snapshot().ssthresh),
        (1.0, Some(4.0))
    );
    // Packets 1 to 7 had arrived: the ACK jumps and nothing more is retransmitted.
    sender.on_ack(at(1500), &ack(8, &[]));
    assert_eq!(drain(&mut sender, at(1500)), [(8, 1), (9, 1)]);
}

#[test]
fn without_sack_duplicate_acks_of_packets_sent_before_a_timeout_start_no_recovery() {
    // RFC 6582, Sec. 3.2, step 2, and Sec. 4: the variable `recover`.
    let mut sender = sender(endpoint(false, Recovery::Halving, 8), None);
    drain(&mut sender, at(0));
    sender.on_timer(at(1000));
    drain(&mut sender, at(1000));
    sender.on_ack(at(1500), &ack(8, &[]));
    drain(&mut sender, at(1500));
    for _ in 0..5 {
        sender.on_ack(at(1600), &ack(8, &[]));
        drain(&mut sender, at(1600));
    }
    assert_eq!(sender.events().fast_recoveries, 0);
}

#[test]
fn without_sack_the_duplicate_acks_of_a_spurious_recovery_start_no_further_one() {
    // RFC 6582, Sec. 3.2, step 2. Packets 0 to 3 arrive after the other sixteen: nothing is lost.
    let endpoint = Endpoint {
        limited_transmit: false,
        ..endpoint(false, Recovery::Halving, 20)
    };
    let mut sender = sender(endpoint, None);
    drain(&mut sender, at(0));
    let mut again = Vec::new();
    for _ in 0..16 {
        sender.on_ack(at(500), &ack(0, &[]));
        again.extend(
            drain(&mut sender, at(500))
                .into_iter()
                .filter(|(_, copy)| *copy > 1),
        );
    }
    assert_eq!((again.len(), sender.events().fast_recoveries), (1, 1));
    // The late packets arrive and everything is acknowledged; retransmissions cause duplicate ACKs.
    sender.on_ack(at(600), &ack(20, &[]));
    drain(&mut sender, at(600));
    let snd_una = sender.snd_una();
    for _ in 0..8 {
        sender.on_ack(at(1100), &ack(snd_una, &[]));
        drain(&mut sender, at(1100));
    }
    assert_eq!(sender.events().fast_recoveries, 1);
}

#[test]
fn a_repeated_timeout_keeps_ssthresh_unless_the_profile_cuts_from_the_window() {
    // RFC 5681, Sec. 3.1, second to last paragraph; ns-2 halves the window of one segment again.
    for (cut_from, expected) in [(CutFrom::Flight, 8.0), (CutFrom::Window, 2.0)] {
        for sack in [true, false] {
            let endpoint = Endpoint {
                cut_from,
                ..endpoint(sack, Recovery::Halving, 16)
            };
            let mut sender = sender(endpoint, None);
            drain(&mut sender, at(0));
            for now in [1000, 3000] {
                assert_eq!(sender.on_timer(at(now)), TimerOutcome::Timeout);
                drain(&mut sender, at(now));
            }
            let snapshot = sender.snapshot();
            assert_eq!(
                (snapshot.cwnd, snapshot.ssthresh),
                (1.0, Some(expected)),
                "sack {sack}"
            );
        }
    }
}

#[test]
fn a_retransmitted_packet_gives_no_rtt_sample() {
    // Karn, RFC 6298, Sec. 3.
    for rtt_sampling in [RttSampling::PerAck, RttSampling::PerWindow] {
        let endpoint = Endpoint {
            rtt_sampling,
            ..endpoint(true, Recovery::Prr, 1)
        };
        let mut sender = sender(endpoint, None);
        drain(&mut sender, at(0));
        sender.on_timer(at(1000));
        drain(&mut sender, at(1000));
        sender.on_ack(at(1400), &ack(1, &[]));
        assert_eq!(sender.snapshot().srtt, None);
        // So the back-off remains until a packet that was sent once is acknowledged.
        assert_eq!(sender.snapshot().rto, Span::from_secs(2));
        drain(&mut sender, at(1400));
        sender.on_ack(at(1900), &ack(2, &[]));
        assert_eq!(sender.snapshot().srtt, Some(Span::from_millis(500)));
    }
}

#[test]
fn a_source_without_packets_sends_nothing() {
    let mut sender = sender(endpoint(true, Recovery::Prr, 10), Some(0));
    assert_eq!(drain(&mut sender, at(0)), []);
    assert!(sender.is_done());
    assert_eq!(sender.deadline(), None);
}

#[test]
fn a_packet_that_arrives_while_pacing_delays_its_retransmission_is_not_retransmitted() {
    let endpoint = Endpoint {
        pacing: true,
        ..endpoint(true, Recovery::Halving, 10)
    };
    let mut sender = sender(endpoint, Some(12));
    drain(&mut sender, at(0));
    sender.on_ack(at(500), &ack(1, &[]));
    // 2 windows of 11 per RTT: one packet, and the next 22.7 ms later.
    assert_eq!(drain(&mut sender, at(500)), [(10, 1)]);
    sender.on_ack(at(501), &ack(1, &[(2, 5)]));
    assert_eq!(
        (drain(&mut sender, at(501)), sender.events().fast_recoveries),
        (vec![], 1)
    );
    // The late packet arrives, and all others with it.
    sender.on_ack(at(502), &ack(11, &[]));
    let release = sender.pacing_release().unwrap();
    assert_eq!(drain(&mut sender, release), [(11, 1)]);
    sender.on_ack(at(1200), &ack(12, &[]));
    assert_eq!(drain(&mut sender, at(2000)), []);
}

#[test]
fn a_mark_and_a_loss_in_one_round_trip_cut_the_window_once_and_the_sender_sends_cwr() {
    // RFC 3168, Sec. 6.1.2.
    let endpoint = Endpoint {
        ecn: true,
        ..endpoint(true, Recovery::Halving, 10)
    };
    let mut sender = sender(endpoint, None);
    drain(&mut sender, at(0));
    let mut echo = ack(1, &[]);
    echo.ece = true;
    sender.on_ack(at(500), &echo);
    // An ACK with ECE does not grow the window, and a second one does not cut it.
    assert!(
        (sender.snapshot().cwnd - 4.5).abs() < 1e-12,
        "{:?}",
        sender.snapshot()
    );
    echo.next = 2;
    sender.on_ack(at(501), &echo);
    assert!((sender.snapshot().cwnd - 4.5).abs() < 1e-12);
    sender.on_ack(at(502), &ack(2, &[(3, 6)]));
    assert!((sender.snapshot().cwnd - 4.5).abs() < 1e-12);
    assert_eq!(sender.events().fast_recoveries, 1);
    assert_eq!(drain(&mut sender, at(502))[0], (2, 2));
    sender.on_ack(at(1000), &ack(10, &[]));
    let first = sender.next_packet(at(1000)).unwrap();
    let second = sender.next_packet(at(1000)).unwrap();
    assert_eq!([first.cwr, second.cwr], [true, false]);
}

/// A packet or ACK in transit.
#[derive(Debug, Clone, Copy)]
enum Flight {
    Segment(Segment),
    Ack(Ack),
}

impl Default for Flight {
    fn default() -> Self {
        Self::Segment(Segment::default())
    }
}

/// Everything in transit, in the order of arrival.
#[derive(Debug, Default)]
struct Flights {
    schedule: Schedule<1>,
    line: Line<Flight>,
}

impl Flights {
    fn schedule(&mut self, at: Time, flight: Flight) {
        *self.schedule.schedule(0, &mut self.line, at) = flight;
    }

    fn pop_until(&mut self, until: Time) -> Option<(Time, Flight)> {
        let (at, _) = self.schedule.first(until)?;
        Some((at, *self.schedule.take(0, &mut self.line)))
    }
}

/// Recomputes the counters that the sender maintains incrementally.
fn check(sender: &Sender) {
    let all = || sender.outstanding.entries(sender.snd_una..sender.snd_nxt);
    let pipe: u64 = all().map(|(_, entry)| entry.in_pipe()).sum();
    assert_eq!(sender.pipe, pipe, "pipe");
    assert_eq!(sender.window, floor_u64(sender.cc.cwnd()), "window");
    let sacked = all().filter(|(_, entry)| entry.sacked).count() as u64;
    assert_eq!(sender.sacked_count, sacked, "sacked");
    for (number, entry) in all() {
        assert_eq!(
            entry.sacked,
            sender.sacked.contains(number),
            "packet {number}"
        );
        assert!(
            !(entry.sacked && entry.lost),
            "packet {number} is both lost and SACKed"
        );
    }
    let snapshot = sender.snapshot();
    assert!(
        snapshot.cwnd >= 1.0 && snapshot.cwnd.is_finite(),
        "{snapshot:?}"
    );
    assert!(
        snapshot.ssthresh.is_none_or(|ssthresh| ssthresh >= 2.0),
        "{snapshot:?}"
    );
    assert!(
        sender.snd_nxt - sender.snd_una <= sender.endpoint.rwnd,
        "{snapshot:?}"
    );
    assert!(
        sender.is_done() || sender.snd_una == sender.snd_nxt || sender.deadline().is_some(),
        "no timer"
    );
}

/// Every congestion control, some with options.
const CONTROLLERS: &[&str] = &[
    "reno",
    "newreno",
    "newreno:hystart=on",
    "cubic",
    "cubic:hystart=on",
    "compound",
    "hybla",
    "hybla:estimate=on",
    "westwood",
    "vegas",
    "bbr1",
    "bbr",
    "fixed:20",
];

proptest! {
    /// Under any loss, delay, duplication and reordering, every transfer ends, the counters are consistent, the window is not cut
    /// twice at the same `snd_una`, and a sender that processes usual ACKs like any other has the same state.
    #[test]
    fn every_transfer_ends_with_consistent_counters(
        sack: bool,
        recovery in proptest::sample::select(vec![Recovery::Halving, Recovery::Prr, Recovery::Prr9937]),
        limited_transmit: bool,
        rtt_sampling in proptest::sample::select(vec![RttSampling::PerWindow, RttSampling::PerAck, RttSampling::PerSack]),
        cut_from in proptest::sample::select(vec![CutFrom::Flight, CutFrom::Window, CutFrom::Cwnd]),
        like_linux in (any::<bool>(), any::<bool>(), any::<bool>(), 1u64..80),
        profile in proptest::sample::select(vec![Profile::Rfc, Profile::Ns2, Profile::Linux]),
        delayed_ack in 1u32..4,
        initial_window in 1u32..12,
        rwnd in prop_oneof![1u64..20, Just(1 << 30)],
        window_validation: bool,
        cc in proptest::sample::select(CONTROLLERS),
        modern in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        total in 1u64..120,
        events in proptest::collection::vec((0u8..100, 0u32..400, 0u8..100), 1..200),
        loss in 0u8..40,
        keeps_order: bool,
    ) {
        // BBR needs SACK.
        let sack = sack || cc.starts_with("bbr");
        let endpoint = Endpoint {
            sack,
            recovery: if sack { recovery } else { Recovery::Halving },
            limited_transmit,
            rtt_sampling,
            timestamps: like_linux.0,
            timer_restart: if like_linux.1 { TimerRestart::Sacked } else { TimerRestart::Acked },
            force_retransmit: like_linux.2,
            quick_while_growing: like_linux.2,
            first_rwnd: like_linux.3,
            cut_from,
            delayed_ack,
            initial_window,
            rwnd,
            window_validation,
            loss_detection: if modern.0 && sack { LossDetection::Rack } else { LossDetection::DupAcks },
            tail_loss_probe: modern.1,
            f_rto: modern.2 && sack,
            ecn: modern.3,
            pacing: modern.4,
            quick_acks: if modern.1 { 16 } else { 0 },
            ..profile.endpoint()
        };
        let algorithm: Algorithm = cc.parse().unwrap();
        let sender = || Sender::new(endpoint, crate::congestion::start(&algorithm, &endpoint.connection(Bytes(1500))), Some(total));
        let (mut sender, mut thorough) = (sender(), sender());
        (thorough.takes_plain_acks, thorough.quiet) = (false, false);
        let mut receiver = Receiver::new(endpoint);
        if let Some(window) = receiver.first_window() {
            sender.set_send_limit(window);
            thorough.set_send_limit(window);
        }
        let mut flights = Flights::default();
        let mut fates = events.iter().cycle();
        let mut now = Time::ZERO;
        let mut steps = 0u32;
        let (mut cuts, mut cut_at) = (0, None);
        while !sender.is_done() {
            steps += 1;
            prop_assert!(steps < 100_000, "no end in sight: {:?}", sender);
            loop {
                let sent = sender.next_packet(now);
                prop_assert_eq!(sent, thorough.next_packet(now));
                let Some(sent) = sent else { break };
                check(&sender);
                let (lost, late, twice) = fates.next().unwrap();
                // After a while the network stops losing packets, so that the transfer can end.
                if *lost >= loss || steps > 20_000 {
                    let late = if keeps_order { 0 } else { *late };
                    let arrives = now.saturating_add(Span::from_millis(200 + late));
                    let packet = Segment { number: sent.packet, sent: now, marked: modern.3 && *twice > 90, cwr: sent.cwr };
                    flights.schedule(arrives, Flight::Segment(packet));
                    if *twice < 5 {
                        flights.schedule(arrives.saturating_add(Span::from_millis(50)), Flight::Segment(packet));
                    }
                }
            }
            if sender.events().fast_recoveries > cuts {
                cuts = sender.events().fast_recoveries;
                prop_assert_ne!(cut_at, Some(sender.snd_una), "cut twice at {}", sender.snd_una);
                cut_at = Some(sender.snd_una);
            }
            let timers = [sender.deadline(), sender.pacing_release(), receiver.deadline()];
            let timer = timers.into_iter().flatten().min().unwrap_or(Time::MAX);
            if let Some((at, flight)) = flights.pop_until(timer) {
                now = at;
                let answer = match flight {
                    Flight::Segment(packet) => {
                        let answer = receiver.on_packet(now, packet).ack;
                        receiver.on_read(now, || sender.srtt());
                        answer
                    }
                    Flight::Ack(ack) => {
                        sender.on_ack(now, &ack);
                        thorough.on_ack(now, &ack);
                        None
                    }
                };
                schedule_ack(&mut flights, now, answer);
            } else {
                now = timer;
                sender.on_timer(now);
                thorough.on_timer(now);
                let answer = receiver.on_timer(now);
                schedule_ack(&mut flights, now, answer);
            }
            check(&sender);
            if steps < 300 {
                prop_assert_eq!(state(&sender), state(&thorough));
            }
        }
        prop_assert_eq!(state(&sender), state(&thorough));
        prop_assert_eq!(receiver.rcv_nxt(), total);
        prop_assert_eq!(sender.deadline(), None);
    }
}

/// Everything that a sender knows, however it processes usual ACKs.
fn state(sender: &Sender) -> String {
    let plain = "takes_plain_acks: true, quiet: true";
    let no = "takes_plain_acks: false, quiet: false";
    let mut state = format!("{sender:?}").replace(plain, no);
    // A quiet sender does not list what it sends; what counts is what may still be lost.
    if let (Some(from), Some(to)) = (state.find(", order: ["), state.find(" }), rates: ")) {
        state.replace_range(from..to, &format!(" {:?}", sender.transmissions()));
    }
    state.replace("takes_plain_acks: true, quiet: false", no)
}

fn schedule_ack(flights: &mut Flights, now: Time, ack: Option<Ack>) {
    if let Some(ack) = ack {
        flights.schedule(now.saturating_add(Span::from_millis(100)), Flight::Ack(ack));
    }
}

#[test]
fn a_reopened_window_retransmits_the_first_missing_packet_once() {
    for sack in [false, true] {
        let mut sender = sender(endpoint(sack, Recovery::Halving, 4), None);
        sender.set_send_limit(4);
        assert_eq!(drain(&mut sender, at(0)).len(), 4);
        // Packets 1 to 3 are refused, each with an ACK that advertises no window: nothing to send.
        sender.on_ack(
            at(10),
            &Ack {
                rwnd: Some(Rwnd::new(0)),
                ..ack(1, &[])
            },
        );
        let update = |rwnd| Ack {
            rwnd: Some(Rwnd::new(rwnd)),
            window_update: true,
            reopens: true,
            ..ack(1, &[])
        };
        for _ in 0..3 {
            sender.on_ack(at(10), &update(0));
            assert_eq!(drain(&mut sender, at(10)), []);
        }
        // The window opens again, and two ACKs report it.
        sender.on_ack(at(20), &update(1));
        assert_eq!(drain(&mut sender, at(20)), [(1, 2)], "sack {sack}");
        sender.on_ack(at(20), &update(1));
        assert_eq!(drain(&mut sender, at(20)), []);
    }
}

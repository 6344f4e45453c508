//! Lost feedback compared with closed forms.

use tmt_core::scheme::SchemeSpec;

use super::*;

/// Slots used and outcomes for `packets` packets of one codeword that are all queued at the start.
fn used(
    scheme: &str,
    erasure: f64,
    loss: f64,
    packets: u64,
    slots: u64,
) -> (u64, Vec<(u64, u64, u64)>) {
    let slots = erased_slots(&format!("bernoulli:{erasure}"), 5, slots);
    let spec: SchemeSpec = scheme.parse().unwrap();
    let link = CoupledLink {
        lost_feedback: Some(LostFeedback {
            probability: loss,
            timer: span(250_000_000),
            seed: 11,
        }),
        ..link(&slots, scheme, spec.data_units())
    };
    let mut queue = gateway(
        &link,
        span(100_000_000),
        u64::MAX,
        (Time::ZERO, Time::MAX),
        Reporting::default(),
    )
    .unwrap();
    for ordinal in 0..packets {
        queue.push(Time::ZERO, packet(ordinal, 0, Time::ZERO));
    }
    let mut outcomes = Vec::new();
    let end = time(slots.last().unwrap().0);
    for now in [Time::ZERO, end] {
        while let Some(fate) = queue.poll(now) {
            let Event::Served(packet, service) = fate else {
                panic!("{fate:?}")
            };
            let arrival = service.arrival.map_or(0, Time::as_nanos);
            outcomes.push((packet.id, service.end.as_nanos(), arrival));
        }
    }
    (queue.usage(end).lldus_used.unwrap(), outcomes)
}

/// Until the first success an attempt is repeated whether its feedback is lost or not: 1/(1 − e) units. Each further
/// feedback lost in a row costs one unit more: p/(1 − p).
#[test]
fn arq_sends_one_more_unit_each_time_feedback_is_lost_after_a_success() {
    let packets = 40_000;
    for (e, p) in [(0.2, 0.3), (0.05, 0.5), (0.4, 0.0), (0.0, 0.25)] {
        let (used, outcomes) = used("arq", e, p, packets, 200_000);
        assert_eq!(outcomes.len() as u64, packets);
        let expected = (1.0 - e * p) / ((1.0 - e) * (1.0 - p));
        let mean = to_f64(used) / to_f64(packets);
        assert!((mean / expected - 1.0).abs() < 0.02, "{mean} {expected}");
    }
}

/// Without any feedback every round is used: one unit and the extra units each, or the frame.
#[test]
fn without_any_feedback_every_round_is_used_and_changes_no_delivery() {
    for (scheme, units) in [
        ("none", 1),
        ("fec:3/4", 4),
        ("arq:rounds=2", 3),
        ("harq:3/4,extra=1,rounds=2", 4 + 2 * 2),
        ("harq:3/4,rounds=3,interleave=5", 4 + 3),
        ("frame-arq:3/4,rounds=2", 12),
    ] {
        let (used, outcomes) = used(scheme, 0.0, 1.0, 1000, 20_000);
        assert_eq!(used, 1000 * units, "{scheme}");
        assert_eq!(outcomes.len(), 1000, "{scheme}");
        // Decoding takes 36 to 40 ms, propagation 50 ms.
        for (_, end, arrival) in outcomes {
            assert!(arrival <= end + 90_000_000 + 5 * 112_820, "{scheme}");
        }
    }
}

#[test]
fn the_timer_repeats_if_a_negative_acknowledgement_is_lost() {
    // One unit, erased twice; all feedback is lost.
    let slots: Vec<(u64, u64)> = (0..9)
        .map(|k| (k * 100_000_000, u64::from(k > 4)))
        .collect();
    let link = CoupledLink {
        lost_feedback: Some(LostFeedback {
            probability: 1.0,
            timer: span(210_000_000),
            seed: 1,
        }),
        ..link(&slots, "arq:rounds=2", 1)
    };
    let mut queue = gateway(
        &link,
        span(100_000_000),
        9,
        (Time::ZERO, Time::MAX),
        Reporting::default(),
    )
    .unwrap();
    queue.push(Time::ZERO, packet(0, 0, Time::ZERO));
    let mut reports = Vec::new();
    while let Some(due) = queue
        .poll(Time::ZERO)
        .is_none()
        .then(|| queue.due())
        .flatten()
    {
        if let Some(Event::Served(_, service)) = queue.poll(due) {
            reports.push((due, service.arrival));
        }
    }
    // Slots 0, 3 and 6: the third is received.
    assert_eq!(reports, [(time(600_000_000), Some(time(650_000_001)))]);
    assert_eq!(queue.usage(time(800_000_000)).lldus_used, Some(3));
}

//! Names and parameters, and one property that drives every controller with whatever may happen.

use proptest::prelude::*;

use super::*;

#[test]
fn parameters_left_out_take_their_values_and_all_are_shown() {
    let shown = |text: &str| {
        text.parse::<Algorithm>()
            .map(|algorithm| algorithm.to_string())
    };
    assert_eq!(shown("newreno").unwrap(), "newreno");
    assert_eq!(shown("cubic").unwrap(), "cubic:beta=0.7,c=0.4");
    assert_eq!(shown("cubic:c=1,beta=0.8").unwrap(), "cubic:beta=0.8,c=1");
    assert_eq!(
        shown("hybla:estimate=on").unwrap(),
        "hybla:rtt0=25,estimate=on"
    );
    assert_eq!(shown("fixed:20").unwrap(), "fixed:20");
    assert_eq!(shown("fixed:W=20").unwrap(), "fixed:20");
}

#[test]
fn what_is_no_controller_is_refused() {
    for text in [
        "",
        "tahoe",
        "newreno:x=1",
        "newreno:1",
        "cubic:beta",
        "cubic:beta=2",
        "cubic:beta=nan",
        "cubic:beta=0.5,beta=0.5",
        "cubic:",
        "hybla:estimate",
        "hybla:estimate=1",
        "fixed",
        "fixed:",
        "fixed:0",
        "fixed:inf",
        "fixed:20,30",
    ] {
        assert!(text.parse::<Algorithm>().is_err(), "{text}");
    }
}

#[test]
fn what_is_shown_is_read_again_as_the_same() {
    for entry in &REGISTRY {
        let parameters = entry.parameters.iter().map(|p| p.value).collect();
        let algorithm = Algorithm { entry, parameters };
        assert_eq!(algorithm.to_string().parse::<Algorithm>(), Ok(algorithm));
    }
}

/// A controller with parameters anywhere in their domains, each at one of its ends now and then.
fn algorithms() -> impl Strategy<Value = Algorithm> {
    let places = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    let places = proptest::collection::vec(places, 8);
    (0..REGISTRY.len(), any::<bool>(), places).prop_map(|(index, preset, places)| {
        let entry = &REGISTRY[index];
        let parameters = entry.parameters.iter().zip(places);
        let parameters = parameters
            .map(|(parameter, place): (_, f64)| match parameter.domain {
                Domain::Number(..) | Domain::Switch if preset => parameter.value,
                Domain::Number(least, most) | Domain::Bare(least, most) => {
                    (least + place * (most - least)).clamp(least, most)
                }
                Domain::Switch => place.round(),
            })
            .collect();
        Algorithm { entry, parameters }
    })
}

/// What may happen next, and how often.
#[derive(Debug, Clone)]
enum Step {
    /// So many acknowledgements, this far apart, of so many segments; in a recovery they are only seen.
    Acks {
        count: u8,
        apart: u64,
        acked: u64,
        rtt: Option<u64>,
        recovery: bool,
    },
    /// Duplicates.
    Duplicates(u8),
    /// A cut, with this share of the window in flight.
    Cut(Cause, f64),
    /// Nothing for so long, ns.
    Idle(u64),
}

fn steps() -> impl Strategy<Value = Step> {
    let rtt = proptest::option::weighted(
        0.8,
        prop_oneof![0u64..10, 0u64..2_000_000_000, 0u64..1 << 50],
    );
    let causes = prop_oneof![
        Just(Cause::FastRetransmit),
        Just(Cause::Timeout),
        Just(Cause::RepeatedTimeout)
    ];
    prop_oneof![
        4 => (1u8..200, prop_oneof![Just(0u64), 0u64..50_000_000], 1u64..4, rtt, any::<bool>()).prop_map(
            |(count, apart, acked, rtt, recovery)| Step::Acks { count, apart, acked, rtt, recovery }
        ),
        1 => (1u8..40).prop_map(Step::Duplicates),
        2 => (causes, 0.0..1.0f64).prop_map(|(cause, share)| Step::Cut(cause, share)),
        1 => (0u64..1 << 52).prop_map(Step::Idle),
    ]
}

proptest! {
    /// Windows stay numbers of at least one segment, thresholds of at least two; observing moves nothing,
    /// and no loss makes a window grow, but up to the two segments that RFC 5681 leaves in any case.
    #[test]
    fn whatever_happens_a_window_is_a_window(
        algorithm in algorithms(),
        initial_window in 1u32..100,
        steps in proptest::collection::vec(steps(), 1..60),
    ) {
        let mut cc = algorithm.start(f64::from(initial_window));
        let (mut now, mut round) = (Time::ZERO, 0);
        for step in &steps {
            let before = cc.cwnd();
            match *step {
                Step::Acks { count, apart, acked, rtt, recovery } => {
                    round += 1;
                    for _ in 0..count {
                        now = now.saturating_add(Span::from_nanos(apart).unwrap());
                        let rtt = rtt.and_then(Span::from_nanos);
                        let in_flight = crate::num::whole(cc.cwnd());
                        let ack = AckEvent { now, acked, delivered: acked, in_flight, round, rtt, srtt: rtt, ..AckEvent::default() };
                        let (window, threshold) = (cc.cwnd(), cc.ssthresh());
                        cc.observe(&ack);
                        prop_assert!(cc.cwnd().to_bits() == window.to_bits() && cc.ssthresh() == threshold);
                        if !recovery {
                            cc.on_ack(&ack);
                        }
                    }
                }
                Step::Duplicates(count) => (0..count).for_each(|_| {
                    cc.observe(&AckEvent { now, delivered: 1, in_flight: 5, round, ..AckEvent::default() });
                }),
                Step::Cut(cause, share) => {
                    cc.on_congestion(&CongestionEvent { now, in_flight: before * share, cause });
                    prop_assert!(cc.cwnd() <= before.max(LEAST_SSTHRESH), "{cc:?} from {before}");
                }
                Step::Idle(length) => now = now.saturating_add(Span::from_nanos(length).unwrap()),
            }
            prop_assert!(cc.cwnd() >= 1.0 && cc.cwnd().is_finite(), "{cc:?}");
            let threshold = cc.ssthresh();
            prop_assert!(threshold.is_none_or(|t| t >= LEAST_SSTHRESH && t.is_finite()), "{cc:?}");
        }
    }
}

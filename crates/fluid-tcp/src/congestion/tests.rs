//! Names and parameters, and a property test that drives every congestion control with random events.

use proptest::prelude::*;
use tmt_core::types::to_f64;

use super::*;
use tmt_core::named::{Kind, Value};

#[test]
fn omitted_parameters_take_their_defaults_and_all_but_default_switches_are_shown() {
    let shown = |text: &str| {
        text.parse::<Algorithm>()
            .map(|algorithm| algorithm.to_string())
    };
    assert_eq!(shown("newreno").unwrap(), "newreno");
    assert_eq!(shown("reno:hystart=on").unwrap(), "reno:hystart=on");
    assert_eq!(shown("cubic").unwrap(), "cubic:beta=0.7,c=0.4");
    assert_eq!(shown("cubic:c=1,beta=0.8").unwrap(), "cubic:beta=0.8,c=1");
    assert_eq!(
        shown("hybla:estimate=on").unwrap(),
        "hybla:rtt0=25,estimate=on"
    );
    assert_eq!(
        shown("bbr:loss-thresh=0.05").unwrap(),
        "bbr:loss-thresh=0.05,beta=0.7,headroom=0.15,probe-rtt=5"
    );
    assert_eq!(
        shown("bbr1:policer=off").unwrap(),
        "bbr1:cwnd-gain=2,probe-rtt=10,policer=off"
    );
    assert_eq!(shown("hybla:estimate=off").unwrap(), "hybla:rtt0=25");
    assert_eq!(shown("bbr1").unwrap(), "bbr1:cwnd-gain=2,probe-rtt=10");
    assert_eq!(shown("fixed:20").unwrap(), "fixed:20");
    assert_eq!(shown("newreno:hystart=off").unwrap(), "newreno");
    assert_eq!(
        shown("cubic:hystart=classic").unwrap(),
        "cubic:beta=0.7,c=0.4,hystart=classic"
    );
    let error = shown("cubic:hystart=classy").unwrap_err().to_string();
    assert!(
        error.contains("expected profile, off, on, rfc9406 or classic"),
        "{error}"
    );
    assert_eq!(shown("fixed:W=20").unwrap(), "fixed:20");
}

#[test]
fn an_unknown_control_or_a_bad_parameter_is_an_error() {
    for text in [
        "",
        "tahoe",
        "newreno:x=1",
        "newreno:1",
        "newreno:hystart=profile",
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
        "bbr1:policer=0",
        "bbr:beta=1",
        "bbr:loss-thresh=0",
        "bbr2",
    ] {
        assert!(text.parse::<Algorithm>().is_err(), "{text}");
    }
}

#[test]
fn a_control_is_displayed_as_text_that_parses_to_the_same_control() {
    for entry in ENTRIES {
        for text in entry.examples {
            let algorithm: Algorithm = text.parse().unwrap();
            let shown = algorithm.to_string();
            let in_parentheses = match shown.split_once(':') {
                Some((name, parameters)) => format!("{name}({parameters})"),
                None => shown.clone(),
            };
            for text in [shown, in_parentheses] {
                assert_eq!(text.parse().as_ref(), Ok(&algorithm));
            }
        }
        for parameter in entry.parameters.iter().filter(|p| p.default.is_some()) {
            let uses = |text: &&str| text.contains(&format!("{}=", parameter.name));
            assert!(entry.examples.iter().any(uses), "{}", parameter.name);
        }
    }
}

/// A control with random parameters of their domains, including both ends.
fn algorithms() -> impl Strategy<Value = Algorithm> {
    let places = prop_oneof![Just(0.0), Just(1.0), 0.0..1.0];
    let places = proptest::collection::vec(places, 8);
    (0..ENTRIES.len(), any::<bool>(), places).prop_map(|(index, preset, places)| {
        let entry = ENTRIES[index];
        let parameters = entry.parameters.iter().zip(places);
        let given: Vec<String> = parameters
            .filter(|(parameter, _)| !preset || parameter.default.is_none())
            .map(|(parameter, place): (_, f64)| {
                let value = match (parameter.kind, &parameter.default) {
                    (Kind::Switch, _) => Value::Switch(place.round() > 0.5),
                    (Kind::Words(words), _) => {
                        let last = to_f64(words.len() as u64) - 1.0;
                        let index = tmt_core::math::num::floor_u64((place * last).round());
                        Value::Word(words[usize::try_from(index).unwrap()])
                    }
                    (Kind::Number(least, most), _) => {
                        Value::Number((least + place * (most - least)).clamp(least, most))
                    }
                    (_, default) => default.clone().unwrap(),
                };
                format!("{}={value}", parameter.name)
            })
            .collect();
        let separator = if given.is_empty() { "" } else { ":" };
        let text = format!("{}{separator}{}", entry.name, given.join(","));
        text.parse().unwrap()
    })
}

fn implementations() -> impl Strategy<Value = Implementation> {
    let growth = prop_oneof![Just(Growth::Acks), Just(Growth::Segments)];
    let cubic = prop_oneof![Just(CubicForm::Rfc9438), Just(CubicForm::Linux)];
    let (off, plus) = (HystartForm::Off, HystartForm::Rfc9406);
    let hystart = prop_oneof![Just(off), Just(plus), Just(HystartForm::Classic)];
    let bbr_min_rtt = prop_oneof![Just(MinRttRenewal::Equal), Just(MinRttRenewal::Smaller)];
    let bbr_quantum = prop_oneof![Just(Quantum::Segment), Just(Quantum::Tso)];
    (growth, cubic, hystart, bbr_min_rtt, bbr_quantum).prop_map(
        |(growth, cubic, hystart, bbr_min_rtt, bbr_quantum)| Implementation {
            growth,
            cubic,
            hystart,
            bbr_min_rtt,
            bbr_quantum,
        },
    )
}

/// One random step of the connection.
#[derive(Debug, Clone)]
enum Step {
    /// `count` ACKs, `spacing` ns apart, each of `acked` segments. In recovery only controls that set their window
    /// there grow on them.
    AckPhase {
        count: u8,
        spacing: u64,
        acked: u64,
        rtt: Option<u64>,
        recovery: bool,
        sampled: Sampled,
    },
    /// This many duplicate ACKs.
    Duplicates(u8),
    /// A congestion signal, with this share of the window in flight.
    Cut(Cause, f64),
    /// The end of a recovery.
    Recovered,
    /// This many packets are marked lost by time.
    Overdue(u8),
    /// Idle for this many ns, then possibly a restart with nothing in flight.
    Idle(u64, bool),
}

/// Rates and losses that ACKs report.
#[derive(Debug, Clone, Copy)]
struct Sampled {
    /// Interval of the rate sample, ns, and the share of all deliveries within it; `None` without a sample.
    rate: Option<(u64, f64)>,
    app_limited: bool,
    /// Packets newly marked lost per ACK.
    lost: u64,
    /// Segments in the network after each ACK, and when a packet was sent.
    pipe: u64,
}

fn sampled() -> impl Strategy<Value = Sampled> {
    let interval = prop_oneof![1u64..10, 1u64..2_000_000_000, 1u64..1 << 50];
    let rate = proptest::option::weighted(0.9, (interval, 0.0..1.0f64));
    let lost = prop_oneof![3 => Just(0u64), 1 => 0u64..5];
    let pipe = prop_oneof![0u64..8, 0u64..1000];
    (rate, any::<bool>(), lost, pipe).prop_map(|(rate, app_limited, lost, pipe)| Sampled {
        rate,
        app_limited,
        lost,
        pipe,
    })
}

/// Counters of the sender from which events are made.
#[derive(Debug, Default)]
struct SenderCounters {
    delivered: u64,
    lost: u64,
}

impl SenderCounters {
    fn lose(&mut self, cc: &mut dyn CongestionControl, count: u64, in_flight: u64) {
        for _ in 0..count {
            self.lost += 1;
            cc.on_lost(&LostPacket {
                // Every third lost packet follows a gap.
                packet: self.lost + self.lost / 3,
                in_flight_at_send: in_flight.max(1),
                lost: count,
                app_limited: self.lost.is_multiple_of(7),
                total_delivered: self.delivered,
            });
        }
    }

    fn rate(&mut self, acked: u64, sampled: Sampled) -> Option<RateSample> {
        self.delivered += acked;
        let (interval, share) = sampled.rate?;
        let prior = tmt_core::math::num::floor_u64(share * to_f64(self.delivered - acked));
        Some(RateSample {
            delivered: self.delivered - prior,
            interval: Span::from_nanos(interval).unwrap(),
            prior_delivered: prior,
            total_delivered: self.delivered,
            app_limited: sampled.app_limited,
            lost: sampled.lost,
            in_flight_at_send: sampled.pipe + 1,
            rtt: None,
        })
    }
}

fn steps() -> impl Strategy<Value = Step> {
    let rtt = proptest::option::weighted(
        0.8,
        prop_oneof![0u64..10, 0u64..2_000_000_000, 0u64..1 << 50],
    );
    let causes = prop_oneof![
        Just(Cause::FastRetransmit),
        Just(Cause::Timeout),
        Just(Cause::RepeatedTimeout),
        Just(Cause::Ecn)
    ];
    prop_oneof![
        4 => (1u8..200, prop_oneof![Just(0u64), 0u64..50_000_000], 1u64..4, rtt, any::<bool>(), sampled()).prop_map(
            |(count, spacing, acked, rtt, recovery, sampled)| Step::AckPhase { count, spacing, acked, rtt, recovery, sampled }
        ),
        1 => (1u8..40).prop_map(Step::Duplicates),
        2 => (causes, 0.0..1.0f64).prop_map(|(cause, share)| Step::Cut(cause, share)),
        1 => Just(Step::Recovered),
        1 => (1u8..40).prop_map(Step::Overdue),
        1 => (0u64..1 << 52, any::<bool>()).prop_map(|(length, restarts)| Step::Idle(length, restarts)),
    ]
}

proptest! {
    /// cwnd stays finite and at least 1, ssthresh finite and at least 2. `observe` changes nothing. No loss grows the
    /// window, except to the 2 segments that RFC 5681 allows as a minimum.
    #[test]
    fn windows_stay_valid_under_random_events(
        algorithm in algorithms(),
        initial_window in 1u32..100,
        implementation in implementations(),
        pacing in any::<bool>(),
        steps in proptest::collection::vec(steps(), 1..60),
    ) {
        let connection = Connection { initial_window, pacing, implementation, ..Connection::default() };
        let mut cc = start(&algorithm, &connection);
        let (mut now, mut round, mut counters) = (Time::ZERO, 0, SenderCounters::default());
        for step in &steps {
            let before = cc.cwnd();
            match *step {
                Step::AckPhase { count, spacing, acked, rtt, recovery, sampled } => {
                    round += 1;
                    for _ in 0..count {
                        now = now.saturating_add(Span::from_nanos(spacing).unwrap());
                        let rtt = rtt.and_then(Span::from_nanos);
                        let in_flight = tmt_core::math::num::floor_u64(cc.cwnd());
                        counters.lose(cc.as_mut(), sampled.lost, sampled.pipe);
                        let rate = counters.rate(acked, sampled).filter(|_| cc.needs_rate_samples());
                        let (lost, pipe) = (sampled.lost, sampled.pipe);
                        let ack = AckEvent { now, acked, delivered: acked, in_flight, round, rtt, srtt: rtt, lost, pipe, rate, ece: false };
                        let (window, threshold) = (cc.cwnd(), cc.ssthresh());
                        cc.observe(&ack);
                        prop_assert!(cc.cwnd().to_bits() == window.to_bits() && cc.ssthresh() == threshold);
                        if !recovery || cc.controls_recovery_window() {
                            cc.on_ack(&ack);
                        }
                    }
                }
                Step::Duplicates(count) => (0..count).for_each(|_| {
                    cc.observe(&AckEvent { now, delivered: 1, in_flight: 5, round, ..AckEvent::default() });
                }),
                Step::Cut(cause, share) => {
                    cc.on_congestion(&CongestionEvent { now, in_flight: before * share, cause });
                    prop_assert!(cc.cwnd() <= before.max(MIN_SSTHRESH), "{cc:?} from {before}");
                }
                Step::Recovered => cc.on_recovered(now),
                Step::Overdue(count) => {
                    counters.lose(cc.as_mut(), u64::from(count), u64::from(count));
                    prop_assert!(cc.cwnd() <= before.max(MIN_SSTHRESH), "{cc:?} from {before}");
                }
                Step::Idle(length, restarts) => {
                    now = now.saturating_add(Span::from_nanos(length).unwrap());
                    if restarts {
                        cc.on_restart(now);
                    }
                }
            }
            prop_assert!(cc.cwnd() >= 1.0 && cc.cwnd().is_finite(), "{cc:?}");
            let rate = cc.pacing_rate();
            prop_assert!(rate.is_none_or(|rate| rate > 0.0 && rate.is_finite()), "{cc:?}");
            let threshold = cc.ssthresh();
            prop_assert!(threshold.is_none_or(|t| t >= MIN_SSTHRESH && t.is_finite()), "{cc:?}");
        }
    }
}

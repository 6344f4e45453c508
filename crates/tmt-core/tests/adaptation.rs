//! How a link with adaptive coding and modulation chooses (docs/acm.md, Sec. 2 and 3), with times and rates by hand.

use tmt_core::channel::synth::ConstantRate;
use tmt_core::radio::{Acm, Adapted, AdaptedLink, LandMobile, Series};
use tmt_core::{BitRate, Bytes, Slot, Span, Time};

const LLDU: Bytes = Bytes(33);

fn millis(time: u32) -> Time {
    Time::ZERO.saturating_add(Span::from_millis(time))
}

fn acm(text: &str) -> Acm {
    Acm::read(text, Span::from_millis(500), |name| Err(name.to_owned())).unwrap()
}

/// A link with all slots for one user, over points of time in ms and Es/N0 in dB.
fn adapted(acm_text: &str, duration: Span, points: &[(u32, f64)]) -> Adapted {
    adapted_on("es-n0=6dB", 1, acm_text, duration, points)
}

fn adapted_on(
    channel: &str,
    every: u64,
    acm_text: &str,
    duration: Span,
    points: &[(u32, f64)],
) -> Adapted {
    let channel: LandMobile = channel.parse().unwrap();
    let points = points.iter().map(|&(time, db)| (millis(time), db));
    let series = Series::new(points.collect()).unwrap();
    let link = AdaptedLink {
        rate: BitRate(1_000_000),
        every,
        lldu: LLDU,
        duration,
    };
    Adapted::new(link, &channel, Some(&series), acm(acm_text), 1).unwrap()
}

fn slots(adapted: &Adapted) -> Vec<Slot> {
    let mut slots = Vec::new();
    adapted.begin().piece(0, 1 << 20, &mut slots);
    assert_eq!(slots.len() as u64, adapted.slots());
    slots
}

/// 0 dB for a second, then 10 dB.
const STEP: [(u32, f64); 4] = [(0, 0.0), (1000, 0.0), (1001, 10.0), (2000, 10.0)];

/// Slots of 100 us up to 7.2 dB, and of 25 us from there on. Neither is lost at 0 dB.
const TWO: &str =
    "modcods:low;0.5;-2;dvb-s2:qpsk-1/4&high;2;7.2;dvb-s2:qpsk-1/4,symbol-rate=5280000,margin=0dB";

/// Start of the first slot of the faster one.
fn change(slots: &[Slot]) -> Time {
    let fast = Span::from_micros(25);
    let first = slots.iter().find(|slot| slot.decode_delay() == fast);
    first.unwrap().tx_time()
}

#[test]
fn the_mean_is_that_of_the_samples_of_the_average() {
    for delay in [0, 30] {
        // Of the last 10 samples of 1 ms, five of 10 dB: 10 log10(5.5) = 7.40 dB. Four give 6.63 dB; five of eleven 7.07 dB.
        for (average, after) in [(10, 1005), (0, 1001)] {
            let text = format!("{TWO},delay={delay}ms,average={average}ms,period=1ms");
            let found = slots(&adapted(&text, Span::from_secs(2), &STEP));
            assert_eq!(change(&found), millis(after + delay), "{text}");
        }
    }
}

#[test]
fn a_mean_near_the_start_takes_only_what_is_after_it() {
    // 11 samples of 0 dB, then 10 dB: of the first 21 samples 10 log10(111/21) = 7.23 dB, of the first 20 7.03 dB.
    let early = [(0, 0.0), (10, 0.0), (11, 10.0), (2000, 10.0)];
    let text = format!("{TWO},delay=0s,average=1s,period=1ms");
    let found = slots(&adapted(&text, Span::from_secs(2), &early));
    assert_eq!(change(&found), millis(20));
}

#[test]
fn a_table_may_have_its_lowest_threshold_anywhere() {
    let text = "modcods:one;0.5;3;dvb-s2:qpsk-1/4&two;1;-2;dvb-s2:qpsk-1/4&three;2;8;dvb-s2:qpsk-1/4,margin=0dB,delay=0s";
    let modcods = acm(text).modcods;
    assert_eq!(modcods.lowest(), 1);
    // A threshold is reached by itself.
    for (db, best) in [
        (-2.001, None),
        (-2.0, Some(1)),
        (3.0, Some(1)),
        (7.999, Some(1)),
        (8.0, Some(2)),
    ] {
        assert_eq!(modcods.best(db), best, "{db}");
    }
    for (db, used, outage) in [(-5.0, 1, 1.0), (1.0, 1, 0.0), (4.0, 1, 0.0), (9.0, 2, 0.0)] {
        let constant = [(0, db), (1000, db)];
        let adapted = adapted(text, Span::from_secs(1), &constant);
        let shares: Vec<f64> = adapted.uses().iter().map(|used| used.time_share).collect();
        let expected = [0, 1, 2].map(|at| f64::from(u8::from(at == used)));
        assert_eq!(shares, expected, "{db}");
        assert!((adapted.outage() - outage).abs() < 1e-12, "{db}");
    }
}

#[test]
fn an_outage_is_a_decision_without_enough_for_any_modcod() {
    let fade = [(0, -10.0), (1000, -10.0), (1001, 10.0), (2000, 10.0)];
    for hysteresis in ["0dB", "30dB"] {
        let text = format!("{TWO},delay=0s,period=10ms,hysteresis={hysteresis}");
        let adapted = adapted(&text, Span::from_secs(2), &fade);
        // The decisions at 0, 10, … 1000 ms, of 200.
        assert!((adapted.outage() - 101.0 / 200.0).abs() < 1e-12);
    }
}

#[test]
fn a_word_is_spread_over_its_time_on_air() {
    // On air for 100 ms, a tenth of it good.
    let text = "modcods:one;1;-2;dvb-s2:qpsk-1/4,symbol-rate=2640";
    let fade = [(0, 20.0), (10, 20.0), (11, -30.0), (100, -30.0)];
    for interleaver in ["0s", "5ms"] {
        let channel = format!("es-n0=6dB,interleaver={interleaver}");
        let adapted = adapted_on(&channel, 1, text, Span::from_millis(100), &fade);
        let found = slots(&adapted);
        assert!(found.len() == 1 && found[0].is_erased(), "{interleaver}");
    }
}

#[test]
fn the_mean_rate_is_rounded_to_the_nearest_bit() {
    let (mut up, mut down) = (0, 0);
    for duration in 1900..1930 {
        let text = format!("{TWO},delay=0s,period=1ms");
        let adapted = adapted(&text, Span::from_millis(duration), &STEP);
        let end = u128::from(duration) * 1_000_000;
        let change = u128::from(change(&slots(&adapted)).as_nanos());
        let bits = change * 2_640_000 + (end - change) * 10_560_000;
        let rounds_up = bits % end * 2 >= end;
        (up, down) = (up + u32::from(rounds_up), down + u32::from(!rounds_up));
        let expected = bits / end + u128::from(rounds_up);
        assert_eq!(u128::from(adapted.mean_rate().0), expected, "{duration}");
    }
    assert!(up > 5 && down > 5, "{up} {down}");
}

#[test]
fn users_share_the_symbols_of_the_link() {
    // 3.945 million symbols of 0.988858 bit in ten shares; a slot is on air for its time on the whole link.
    let text = "dvb-s2:qpsk-1/2,symbol-rate=3945000";
    let constant = [(0, 9.0), (1000, 9.0)];
    let adapted = adapted_on("es-n0=6dB", 10, text, Span::from_secs(1), &constant);
    assert_eq!(adapted.mean_rate(), BitRate(390_104));
    // 264 bits at 3.90104 Mbps.
    assert_eq!(
        slots(&adapted)[0].decode_delay(),
        Span::from_nanos(67_674).unwrap()
    );
}

#[test]
fn a_choice_that_is_taken_back_between_two_slots_changes_nothing() {
    let text = "modcods:low;0.5;-2;dvb-s2:qpsk-1/4&high;1;5;dvb-s2:qpsk-1/4,symbol-rate=2641,margin=0dB,delay=0s,period=1ms";
    // A dip between the slots at 99.96 and 199.92 ms.
    let dip = [
        (0, 10.0),
        (149, 10.0),
        (150, 0.0),
        (155, 0.0),
        (156, 10.0),
        (1000, 10.0),
    ];
    let adapted = adapted(text, Span::from_secs(3), &dip);
    let on_air = Span::from_nanos(99_962_136).unwrap();
    let expected = ConstantRate::new(BitRate(2641), LLDU, Span::from_secs(3), on_air).unwrap();
    assert!(slots(&adapted).into_iter().eq(expected));
    assert_eq!(adapted.changes(), 0);
}

#[test]
fn no_slot_starts_at_the_end_of_the_trace() {
    // Slot 3 starts at 301140.7 ns, which is 301141 in whole ns.
    let text = "modcods:one;1;-2;dvb-s2:qpsk-1/4,symbol-rate=2630000";
    for (nanos, count) in [(301_140, 3), (301_141, 3), (301_142, 4)] {
        let duration = Span::from_nanos(nanos).unwrap();
        let adapted = adapted(text, duration, &[(0, 9.0), (1000, 9.0)]);
        assert_eq!(slots(&adapted).len(), count, "{nanos}");
    }
}

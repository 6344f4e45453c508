use test_support::depth;

use super::*;
use crate::coding::simulation::Decision;
use crate::coding::spec::Interleaver;
use crate::math::num::powi;
use crate::model::block::reed_solomon;
use crate::model::conv::{decibels, ratio, uncoded_ber};
use crate::types::to_f64;

fn spec(text: &str) -> CodeSpec {
    text.parse().unwrap()
}

/// Until this many events of a kind.
fn settings(ecn0_db: f64, event: Event, events: u64) -> Settings {
    Settings {
        event,
        events,
        ..Settings::at(ecn0_db)
    }
}

fn run(text: &str, settings: &Settings) -> Measurement {
    measure(&spec(text), settings).unwrap()
}

/// As [`settings`], with an ideal interleaver.
fn ideal(ecn0_db: f64, event: Event, events: u64) -> Settings {
    let mut settings = settings(ecn0_db, event, events);
    settings.link.interleaver = Interleaver::Ideal;
    settings
}

#[test]
fn without_a_code_bits_are_as_wrong_as_the_formula_says() {
    for ecn0_db in [-3.0, 2.0, 6.0, 8.0] {
        let measured = run("uncoded", &settings(ecn0_db, Event::Bursts, 3000));
        let expected = uncoded_ber(ratio(ecn0_db));
        let rate = measured.decoded.rate();
        assert!(rate.holds(expected), "{ecn0_db}: {rate:?}, {expected}");
        assert_eq!(measured.decoded.bursts, measured.decoded.wrong);
        assert_eq!(measured.information, measured.decoded);
        assert!(!measured.is_bounded);
    }
}

#[test]
fn segments_without_a_code_are_those_of_the_closed_form() {
    let code = spec("uncoded");
    let measured = measure(&code, &settings(8.5, Event::Segments, 400)).unwrap();
    let expected = code.closed_form(1115).errors_at(8.5).segment;
    assert!(measured.segments.rate().holds(expected), "{expected}");
}

/// Equation (16), with the symbol error rate of the channel.
#[test]
fn reed_solomon_blocks_fail_as_often_as_the_closed_form_says() {
    for (text, n, k, ecn0_db) in [
        ("rs:255/223", 255, 223, 5.0),
        ("rs:255/223", 255, 223, 5.5),
        ("rs:239/223", 239, 223, 6.5),
        ("rs:60/48", 60, 48, 5.5),
    ] {
        let measured = run(text, &settings(ecn0_db, Event::Codewords, 400));
        let symbol = 1.0 - powi(1.0 - uncoded_ber(ratio(ecn0_db)), 8);
        assert!(measured.symbols.rate().holds(symbol), "{text}");
        let rate = measured.codewords.rate();
        let expected = reed_solomon(n, k, symbol);
        assert!(rate.holds(expected), "{text}: {rate:?}, {expected}");
    }
}

/// Equation (16) after a Viterbi decoder and an ideal interleaver, with the symbol error rate as measured.
#[test]
#[ignore = "ten seconds in a release build: .ci/long codes runs it"]
fn an_ideal_interleaver_makes_symbol_errors_independent() {
    let settings = ideal(-1.1, Event::Codewords, 400);
    let measured = run("conv:1/2+rs:255/223", &settings);
    let symbol = measured.symbols.rate().value;
    let (rate, expected) = (measured.codewords.rate(), reed_solomon(255, 223, symbol));
    assert!(rate.holds(expected), "{rate:?}, {expected}");
    // A burst has no six right bits in a row, so that it touches each symbol from its first to its last wrong bit. Equation (17)
    // takes all its bits as wrong, and so touches fewer.
    let (bits, per_bit) = (measured.decoded, 1.0 / to_f64(measured.decoded.bits));
    let touched = |length: u64| to_f64(length + 7 * bits.bursts) * per_bit;
    assert!(
        (touched(bits.span) / symbol - 1.0).abs() < 0.01,
        "{symbol} {bits:?}"
    );
    assert!((0.6..0.9).contains(&(touched(bits.wrong) / symbol)));
}

#[test]
fn an_erasure_code_fails_as_often_as_the_closed_form_says() {
    for (text, ecn0_db) in [("erasure:48/64x23", 6.7), ("erasure:12/16x92", 7.5)] {
        let code = spec(text);
        let measured = measure(&code, &settings(ecn0_db, Event::Segments, 300)).unwrap();
        let rate = measured.segments.rate();
        let expected = code.closed_form(1104).errors_at(ecn0_db).segment;
        assert!(rate.holds(expected), "{text}: {rate:?}, {expected}");
        assert_eq!(measured.segments, measured.codewords);
    }
}

#[test]
fn a_short_code_miscorrects_one_word_in_six() {
    // Nearly all words have more errors than the code corrects.
    let measured = run("rs:255/249", &settings(1.0, Event::Codewords, 4000));
    let undetected = measured.codewords.undetected_rate();
    // The share of words that are within 3 errors of a codeword, by counting them.
    let words = (0..=3).map(|errors| {
        let places = (0..errors).fold(1.0, |places, at| {
            places * (255.0 - f64::from(at)) / (f64::from(at) + 1.0)
        });
        places * powi(255.0, u64::try_from(errors).unwrap())
    });
    let expected = words.sum::<f64>() / powi(256.0, 6);
    assert!(undetected.holds(expected), "{undetected:?}, {expected}");
}

#[test]
fn a_checksum_misses_one_wrong_block_in_65536() {
    let mut settings = settings(-6.0, Event::Segments, u64::MAX);
    settings.most_bits = 10_000_000;
    let measured = run("erasure:48/64x23", &settings);
    let rate = measured.symbols.undetected_rate();
    assert!(rate.holds(1.0 / 65536.0), "{rate:?}");
    assert!(measured.is_bounded && measured.symbols.failures > 70_000);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    for (text, ecn0_db, interleaver) in [
        ("conv:3/4", 2.5, Interleaver::None),
        ("rs:255/223", 5.0, Interleaver::None),
        ("conv:7/8+rs:239/223", 3.0, Interleaver::Block(5)),
        ("conv:1/2+erasure:48/64x23", -1.5, Interleaver::Block(3)),
    ] {
        let mut settings = settings(ecn0_db, Event::Segments, 30);
        settings.link.interleaver = interleaver;
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| run(text, &settings))
        };
        let one = on(1);
        assert!(one.segments.failed() >= 30 && one.chunks > 1, "{text}");
        for threads in [2, 3] {
            assert_eq!(on(threads), one, "{text}");
        }
    }
}

#[test]
fn the_bound_on_bits_ends_a_measurement_without_errors() {
    let mut settings = Settings::at(15.0);
    settings.most_bits = 1_000_000;
    let measured = run("conv:1/2", &settings);
    assert!(measured.is_bounded);
    assert_eq!(measured.decoded.wrong, 0);
    let bits = to_f64(measured.decoded.bits);
    assert!((1e6..1.1e6).contains(&bits));
    assert!((measured.decoded.rate().high * bits - 2.995_732).abs() < 1e-6);
}

#[test]
fn every_code_interleaver_and_receiver_decodes_a_strong_signal() {
    for code in [
        "uncoded",
        "conv:5/6",
        "rs:40/30",
        "erasure:5/7x10",
        "conv:2/3+rs:255/223",
        "conv:7/8+erasure:24/32x46",
    ] {
        for interleaver in [
            Interleaver::None,
            Interleaver::Ideal,
            Interleaver::Block(1),
            Interleaver::Block(7),
        ] {
            let decisions = [Decision::Hard, Decision::Quantised, Decision::Unquantised];
            // Unquantised decisions are the slowest, and decode as the quantised ones.
            for decision in &decisions[..depth(2, 3)] {
                let decision = *decision;
                if interleaver == Interleaver::Ideal && decision != Decision::Hard {
                    // Its chunks are long.
                    continue;
                }
                let mut settings = Settings::at(14.0);
                settings.most_bits = 1;
                settings.link.interleaver = interleaver;
                settings.link.decision = decision;
                let measured = run(code, &settings);
                assert_eq!(
                    measured.information.wrong, 0,
                    "{code} {interleaver} {decision}"
                );
                assert_eq!(measured.segments.failed(), 0);
                assert!(measured.segments.all > 0);
            }
        }
    }
}

#[test]
fn an_interleaver_spreads_bursts_over_codewords() {
    let failed = |interleaver| {
        let mut settings = settings(3.6, Event::Codewords, u64::MAX);
        settings.most_bits = 1_000_000;
        settings.link.interleaver = interleaver;
        let measured = run("conv:7/8+rs:255/239", &settings);
        measured.codewords.rate().value
    };
    let (none, some, ideal) = (
        failed(Interleaver::None),
        failed(Interleaver::Block(8)),
        failed(Interleaver::Ideal),
    );
    assert!(
        none > 1.1 * some && none > 1.1 * ideal,
        "{none} {some} {ideal}"
    );
}

/// Soft decisions gain about 2 dB over hard ones (Heller and Jacobs, IEEE Trans. Commun. Technol., 1971).
#[test]
fn hard_decisions_cost_about_two_decibels() {
    let ber = |ebn0_db: f64, decision| {
        let mut settings = settings(ebn0_db + decibels(0.5), Event::Bursts, 100);
        settings.link.decision = decision;
        run("conv:1/2", &settings).decoded.rate().value
    };
    let soft = ber(3.0, Decision::Quantised);
    assert!((2e-4..6e-4).contains(&soft), "{soft}");
    assert!(ber(4.7, Decision::Hard) > soft && ber(5.4, Decision::Hard) < soft);
}

#[test]
fn outcomes_are_those_of_the_measurement() {
    for (text, ecn0_db) in [
        ("rs:255/223", 5.0),
        ("conv:1/2", 0.0),
        ("conv:3/4+erasure:48/64x23", 1.6),
    ] {
        let mut settings = settings(ecn0_db, Event::Segments, u64::MAX);
        settings.most_bits = 500_000;
        let measured = run(text, &settings);
        let tally = if measured.codewords.all > 0 {
            measured.codewords
        } else {
            measured.segments
        };
        let count = usize::try_from(tally.all).unwrap();
        let list: Vec<Outcome> = outcomes(&spec(text), &settings.link, count)
            .unwrap()
            .collect();
        assert_eq!(list.len(), count);
        let failed = list.iter().filter(|outcome| **outcome != Outcome::Decoded);
        assert_eq!(failed.count() as u64, tally.failed(), "{text}");
        assert!(tally.failed() > 0 && tally.failed() < tally.all);
        let few: Vec<Outcome> = outcomes(&spec(text), &settings.link, 5).unwrap().collect();
        assert_eq!(few, list[..5]);
    }
}

#[test]
fn points_and_seeds_have_noise_of_their_own() {
    let wrong = |seed, point| {
        let mut settings = settings(0.0, Event::Bursts, 1);
        settings.link.seed = seed;
        settings.link.point = point;
        run("uncoded", &settings).decoded.wrong
    };
    assert_ne!(wrong(1, 0), wrong(2, 0));
    assert_ne!(wrong(1, 0), wrong(1, 1));
}

#[test]
fn settings_out_of_range_are_refused() {
    let refused = |change: &dyn Fn(&mut Link)| {
        let mut link = Link::at(3.0);
        change(&mut link);
        let error = Simulation::new(&spec("rs:255/223"), &link).unwrap_err();
        error.to_string()
    };
    assert!(refused(&|link| link.ecn0_db = f64::NAN).contains("-100 to 100 dB"));
    assert!(refused(&|link| link.segment_bytes = Some(0)).contains("1 to 1048576 bytes"));
    assert!(refused(&|link| link.interleaver = Interleaver::Block(0)).contains("block:DEPTH"));
    let mut link = Link::at(3.0);
    link.interleaver = Interleaver::Block(1024);
    let error = Simulation::new(&spec("erasure:127/255x4096"), &link).unwrap_err();
    assert!(error.to_string().contains("67108864 bytes"), "{error}");
    let code = CodeSpec {
        inner: None,
        outer: Some(crate::coding::spec::Outer::ReedSolomon { n: 300, k: 200 }),
    };
    assert!(Simulation::new(&code, &Link::at(3.0)).is_err());
}

#[test]
fn a_curve_has_the_rates_of_its_points_and_pools_those_that_rise() {
    let code = spec("rs:15/11");
    let settings = settings(0.0, Event::Codewords, 50);
    let db = [6.0, 7.0, 8.0];
    let points = curve(&code, &settings, &db, |_| {}).unwrap();
    for (point, es_n0_db) in points.iter().zip(db) {
        let mut alone = settings;
        // A symbol of QPSK has two channel bits.
        alone.link.ecn0_db = es_n0_db - decibels(2.0);
        let words = measure(&code, &alone).unwrap().codewords;
        assert_eq!((point.es_n0_db, point.words), (es_n0_db, words));
        assert!(words.failed() >= 50);
    }
    assert!(points.is_sorted_by(|one, next| one.rate > next.rate));

    // Without an outer code, segments.
    let uncoded = spec("uncoded");
    let found = curve(&uncoded, &settings, &[11.0], |_| {}).unwrap();
    let mut alone = Settings {
        event: Event::Segments,
        ..settings
    };
    alone.link.ecn0_db = 11.0 - decibels(2.0);
    let segments = measure(&uncoded, &alone).unwrap().segments;
    assert_eq!((found[0].words, found[0].is_bounded), (segments, false));

    assert!(curve(&uncoded, &settings, &[7.0, 6.0], |_| {}).is_err());
    let few = Settings {
        most_bits: 1,
        ..settings
    };
    assert!(curve(&uncoded, &few, &[20.0], |_| {}).unwrap()[0].is_bounded);
}

proptest::proptest! {
    /// The fit against the maximum of minimal means: max over ends at or before, of min over begins (Barlow et al. 1972).
    #[test]
    fn pooled_rates_do_not_rise_and_are_the_best_fit(counts in proptest::collection::vec((0_u64..50, 1_u64..50), 1..12)) {
        let tally = |&(failed, more): &(u64, u64)| Tally { all: failed + more, failures: failed, undetected: 0 };
        let words: Vec<Tally> = counts.iter().map(tally).collect();
        let mut points: Vec<CurvePoint> = words
            .iter()
            .map(|&words| CurvePoint { es_n0_db: 0.0, words, is_bounded: false, rate: f64::NAN })
            .collect();
        pool(&mut points);
        let mean = |from: usize, to: usize| {
            let of = &words[from..=to];
            let sum = |count: fn(&Tally) -> u64| to_f64(of.iter().map(count).sum());
            sum(Tally::failed) / sum(|tally| tally.all)
        };
        for (place, point) in points.iter().enumerate() {
            let least_of_begin = |to: usize| (0..=place).map(|from| mean(from, to)).fold(f64::INFINITY, f64::min);
            let expected = (place..words.len()).map(least_of_begin).fold(f64::NEG_INFINITY, f64::max);
            proptest::prop_assert!((point.rate - expected).abs() < 1e-12, "{place}: {} {expected}", point.rate);
        }
    }
}

/// What a stop waits for is the work between two questions: a frame of the inner code, a word of the outer one, or 4096 wrong bits,
/// however long a chunk is.
#[test]
fn a_stop_ends_a_chunk_at_its_next_word_or_frame() {
    use std::sync::atomic::{AtomicU64, Ordering};

    static ASKED: AtomicU64 = AtomicU64::new(0);
    static BEFORE: AtomicU64 = AtomicU64::new(u64::MAX);
    let stopped =
        Stopped::when(|| ASKED.fetch_add(1, Ordering::Relaxed) >= BEFORE.load(Ordering::Relaxed));
    let counted = |before: u64, work: &dyn Fn() -> bool| {
        ASKED.store(0, Ordering::Relaxed);
        BEFORE.store(before, Ordering::Relaxed);
        (work(), ASKED.load(Ordering::Relaxed))
    };
    for (text, interleaver, word_bytes) in [
        ("conv:1/2", Interleaver::None, 1115),
        ("conv:3/4+rs:239/223", Interleaver::Ideal, 239),
        ("rs:255/223", Interleaver::Block(1024), 255),
        ("erasure:8/12x4096", Interleaver::Block(64), 12 * 4100),
    ] {
        let code = spec(text);
        let mut settings = settings(0.0, Event::Segments, 10);
        settings.link.interleaver = interleaver;
        settings.stopped = stopped;
        let simulation = Simulation::new(&code, &settings.link).unwrap();
        let words = simulation.outcomes_per_chunk();
        let frames = words * word_bytes / 4096;
        let (whole, asked) = counted(u64::MAX, &|| simulation.chunk_unless(0, stopped).is_some());
        assert!(
            whole && asked >= 2 * words + frames,
            "{text}: {asked} of {words}"
        );
        for before in [0, 1, words / 2, words + frames / 2, asked - 1] {
            let (whole, until) = counted(before, &|| simulation.chunk_unless(0, stopped).is_some());
            assert!(
                !whole && until <= before + 2,
                "{text}: {until} after {before}"
            );
        }
        // Chunks that others have begun end at their next question, too; those of the same round at their first.
        let in_flight = 4 * u64::try_from(rayon::current_num_threads()).unwrap();
        let (is_stopped, until) = counted(asked + 3, &|| {
            measure(&code, &settings) == Err(MeasureError::Stopped)
        });
        assert!(
            is_stopped && until <= asked + 3 + in_flight,
            "{text}: {until} of {asked}"
        );
        let unstopped = Settings {
            stopped: Stopped::NEVER,
            ..settings
        };
        let (is_alike, _) = counted(u64::MAX, &|| {
            measure(&code, &settings) == measure(&code, &unstopped)
        });
        assert!(is_alike, "{text}");
    }
}

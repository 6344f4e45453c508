//! Which words are lost.

use proptest::prelude::*;
use test_support::depth;

use super::*;
use crate::math::normal::upper_tail;
use crate::types::named::{Kind, ParseError};

/// Mean error rate of words of 0.1 ms and its standard error. Each word is met by another seed, far from the start, so that
/// all are independent: as many words in one drive share their visits to deep shadow.
fn rate(text: &str, seeds: u32) -> (f64, f64) {
    let channel = channel(text);
    let from = Time::ZERO.saturating_add(Span::from_secs(100));
    let (mut sum, mut squares) = (0.0, 0.0);
    for seed in 0..seeds {
        let mut words = channel.begin(u64::from(seed), 0);
        let rate = words.error_rate(from, Span::from_micros(100));
        sum += rate;
        squares += rate * rate;
    }
    let count = f64::from(seeds);
    let mean = sum / count;
    (mean, ((squares / count - mean * mean) / count).sqrt())
}

/// `published` is of one run of 20 000 s, whose own relative error is about `error`.
fn assert_rate(text: &str, seeds: u32, published: f64, error: f64) {
    let (found, own) = rate(text, seeds);
    let theirs = error * published;
    assert!(
        (found - published).abs() < 4.0 * own.hypot(theirs),
        "{text}: {found} with a standard error of {own}, published {published} with {theirs}"
    );
}

#[test]
fn words_are_lost_as_often_as_published() {
    for (text, published) in [
        ("es-n0=2dB", 0.292),
        ("es-n0=5dB", 0.108),
        ("es-n0=5dB,interleaver=36ms", 0.059),
        ("es-n0=5dB,interleaver=36ms,environment=heavy-tree", 0.881),
        (
            "es-n0=5dB,interleaver=36ms,environment=p681:suburban,elevation=30deg",
            0.183,
        ),
        (
            "es-n0=5dB,interleaver=36ms,environment=p681:urban,elevation=45deg",
            0.249,
        ),
    ] {
        assert_rate(text, depth(1000, 3000), published, 0.03);
    }
}

#[test]
#[ignore = "40 000 seeds for each row: .ci/long runs it"]
fn words_are_lost_as_often_as_published_under_many_seeds() {
    for (code, interleaver, rates) in [
        (
            "turbo:264-1/3",
            "0s",
            &[
                (2, 0.292),
                (5, 0.108),
                (8, 0.0521),
                (11, 0.0289),
                (14, 0.0160),
            ][..],
        ),
        (
            "turbo:264-1/3",
            "36ms",
            &[
                (2, 0.241),
                (5, 0.059),
                (8, 0.0449),
                (11, 0.0203),
                (14, 0.0023),
            ][..],
        ),
        (
            "turbo:264-1/2",
            "0s",
            &[(5, 0.234), (8, 0.091), (11, 0.046), (14, 0.0257)][..],
        ),
        (
            "turbo:264-1/2",
            "36ms",
            &[(5, 0.186), (8, 0.058), (11, 0.0447), (14, 0.0211)][..],
        ),
        (
            "turbo:6144-1/3",
            "36ms",
            &[(5, 0.0558), (8, 0.0425), (11, 0.0227)][..],
        ),
    ] {
        for (db, published) in rates {
            let text = format!("es-n0={db}dB,code={code},interleaver={interleaver}");
            assert_rate(&text, 40_000, *published, 0.04);
        }
    }
    // Of ten words that were decoded in error.
    let long = "es-n0=14dB,code=turbo:6144-1/3,interleaver=36ms";
    assert_rate(long, 40_000, 0.0025, 0.32);
    for (environment, rates) in [
        ("intermediate-tree", [(5, 0.415), (8, 0.212), (14, 0.0008)]),
        ("heavy-tree", [(5, 0.881), (8, 0.440), (14, 0.0015)]),
        (
            "p681:suburban,elevation=30deg",
            [(5, 0.183), (8, 0.117), (14, 0.0085)],
        ),
        (
            "p681:suburban,elevation=45deg",
            [(5, 0.0219), (8, 0.0113), (14, 0.0001)],
        ),
        (
            "p681:urban,elevation=45deg",
            [(5, 0.249), (8, 0.214), (14, 0.069)],
        ),
        (
            "p681:village,elevation=45deg",
            [(5, 0.120), (8, 0.073), (14, 0.0052)],
        ),
    ] {
        for (db, published) in rates {
            let text = format!("es-n0={db}dB,environment={environment},interleaver=36ms");
            assert_rate(&text, 40_000, published, 0.06);
        }
    }
}

/// The method of the contract word by word, with the samples joined by straight lines and integrated in small parts.
#[test]
fn the_error_rate_is_that_of_the_mean_information() {
    for (interleaver, on_air_us) in [("36ms", 100), ("36ms", 5400), ("0s", 100), ("0s", 5400)] {
        let channel = channel(&format!(
            "es-n0=3dB,implementation-loss=0.5dB,interleaver={interleaver}"
        ));
        let gain: Vec<f64> = channel
            .fade(7, 0)
            .over_time(0)
            .map(|(_, db)| db)
            .take(4200)
            .collect();
        let step_s = channel.step().as_secs_f64();
        let information = |db: f64| 1.0 - mutual_information::qpsk(from_db(db - 0.5));
        let curve: ErrorCurve = "turbo:264-1/3".parse().unwrap();
        let mut running = channel.begin(7, 0);
        let mut between = 0;
        for word in 0..200u32 {
            let from_s = f64::from(word) * 0.01 + 0.000_123;
            let window_s = if interleaver == "0s" {
                f64::from(on_air_us) * 1e-6
            } else {
                0.036
            };
            let parts = 400;
            let mean = (0..parts)
                .map(|part| {
                    let place =
                        (from_s + window_s * (f64::from(part) + 0.5) / f64::from(parts)) / step_s;
                    let at = usize::try_from(crate::math::num::floor_u64(place)).unwrap();
                    let (left, right) = (information(gain[at]), information(gain[at + 1]));
                    left + (right - left) * (place - place.floor())
                })
                .sum::<f64>()
                / f64::from(parts);
            let (mut low, mut high) = (-30.0, 30.0);
            for _ in 0..60 {
                let middle = f64::midpoint(low, high);
                if 1.0 - mutual_information::qpsk(from_db(middle)) < mean {
                    low = middle;
                } else {
                    high = middle;
                }
            }
            let expected = curve.rate(low);
            let from = Time::from_nanos(u64::from(word) * 10_000_000 + 123_000).unwrap();
            let found = running.error_rate(from, Span::from_micros(on_air_us));
            between += u32::from((0.01..0.99).contains(&expected));
            assert!(
                (found - expected).abs() < 2e-3 + 0.01 * expected,
                "{word} {found} {expected}"
            );
        }
        assert!(between > 10, "{interleaver}: {between} words tell nothing");
    }
}

#[test]
fn words_are_lost_at_the_error_rate_of_their_own_window() {
    for (interleaver, on_air_ms) in [("36ms", 0), ("36ms", 20), ("0s", 20), ("5ms", 20)] {
        let channel = channel(&format!("es-n0=3dB,interleaver={interleaver}"));
        let on_air = Span::from_millis(on_air_ms);
        let mut words = slots(0, 20_000, Span::from_millis(3));
        channel.begin(3, 0).erase(0, on_air, &mut words);
        let mut running = channel.begin(3, 0);
        let (mut lost, mut expected, mut variance) = (0.0, 0.0, 0.0);
        let mut certain = 0;
        for word in &words {
            let rate = running.error_rate(word.tx_time(), on_air);
            if !(1e-7..=1.0 - 1e-7).contains(&rate) {
                certain += 1;
                assert_eq!(
                    word.is_erased(),
                    rate > 0.5,
                    "{interleaver} {word:?} {rate}"
                );
            }
            lost += f64::from(u8::from(word.is_erased()));
            expected += rate;
            variance += rate * (1.0 - rate);
        }
        assert!(
            certain > 1000,
            "{interleaver}: {certain} words tell nothing"
        );
        assert!(
            (lost - expected).abs() < 5.0 * variance.sqrt(),
            "{lost} {expected}"
        );
    }
}

#[test]
fn without_fading_the_error_rate_is_that_of_the_curve() {
    let time = |secs| Time::ZERO.saturating_add(Span::from_secs(secs));
    for (code, interleaver) in [
        ("turbo:264-1/3", 0),
        ("turbo:6144-1/3", 36),
        ("turbo:264-3/4", 36),
        ("dvb-s2:qpsk-1/2", 0),
        ("dvb-s2:8psk-3/4", 36),
        ("dvb-s2:32apsk-9/10", 36),
        ("lte:512-0.30", 36),
    ] {
        let curve: ErrorCurve = code.parse().unwrap();
        for rate in [0.99, 0.5, 0.01, 1e-4] {
            let db = curve.threshold_db(rate).unwrap();
            let mut parameters = LandMobile::new(0.0, curve.clone());
            parameters.interleaver = Span::from_millis(interleaver);
            parameters.implementation_loss_db = 1.5;
            let series = Series::new(vec![(time(0), db + 1.5), (time(9), db + 1.5)]).unwrap();
            let channel = RadioChannel::of_series(series, &parameters).unwrap();
            let found = channel
                .begin(1, 0)
                .error_rate(time(3), Span::from_micros(100));
            assert!((found / rate - 1.0).abs() < 0.06, "{code} {rate} {found}");
        }
    }
}

#[test]
fn variation_of_words_widens_the_curve() {
    let time = |secs| Time::ZERO.saturating_add(Span::from_secs(secs));
    // A normal distribution added to a normal one.
    let (t, s) = (-1.454, 0.095);
    for (variation_db, offset_db) in [
        (0.05, 0.1),
        (1.28, -1.0),
        (1.28, 0.0),
        (1.28, 2.5),
        (3.0, 6.0),
    ] {
        let mut parameters = LandMobile::new(0.0, "turbo:6144-1/3".parse().unwrap());
        parameters.word_variation_db = variation_db;
        let series = Series::new(vec![(time(0), t + offset_db), (time(9), t + offset_db)]).unwrap();
        let channel = RadioChannel::of_series(series, &parameters).unwrap();
        let found = channel
            .begin(1, 0)
            .error_rate(time(3), Span::from_micros(100));
        let expected = upper_tail(offset_db / (variation_db * variation_db + s * s).sqrt());
        assert!(
            (found / expected - 1.0).abs() < 0.02,
            "{variation_db} {offset_db} {found} {expected}"
        );
    }
}

#[test]
fn a_fade_that_is_written_and_read_again_loses_the_same_words() {
    let text = "es-n0=6dB,interleaver=36ms";
    let parameters: LandMobile = text.parse().unwrap();
    let modelled = RadioChannel::new(&parameters).unwrap();
    let mut table = String::from("time_s,es_n0_db\n");
    for (time, db) in modelled.fade(4, 0).over_time(0).take(60_000) {
        let nanos = time.as_nanos();
        table += &format!(
            "{}.{:09},{db}\n",
            nanos / 1_000_000_000,
            nanos % 1_000_000_000
        );
    }
    let fade = FadeFile::read(&table, FadeOptions::default()).unwrap();
    let series = fade.series(0.0).unwrap();
    assert_eq!(series.step(), modelled.step());
    let measured = RadioChannel::of_series(series, &parameters).unwrap();
    let lost = |channel: &RadioChannel| {
        let mut slots = slots(0, 100_000, Span::from_micros(300));
        channel
            .begin(4, 0)
            .erase(0, Span::from_micros(100), &mut slots);
        slots
    };
    assert!(lost(&modelled) == lost(&measured));
    assert!(lost(&modelled).iter().any(Slot::is_erased));
}

#[test]
fn seeds_and_lanes_differ_and_erased_slots_remain() {
    let channel = channel("es-n0=0dB");
    let lost = |seed, lane| {
        let mut slots = slots(0, 3000, Span::from_millis(3));
        slots[17] = Slot::erased(slots[17].tx_time());
        channel
            .begin(seed, lane)
            .erase(0, Span::from_micros(100), &mut slots);
        assert!(slots[17].is_erased());
        slots
    };
    let all = [lost(1, 0), lost(2, 0), lost(1, 1)];
    for (at, one) in all.iter().enumerate() {
        assert!(!all[..at].contains(one));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn words_in_any_order_and_pieces_of_any_size_are_lost_alike(
        seed: u64,
        text in prop::sample::select(&[
            "es-n0=2dB,interleaver=36ms",
            "es-n0=2dB",
            "es-n0=4dB,environment=p681:urban,interleaver=2s,cross-fade=1",
            "es-n0=3dB,speed=200km/h,carrier=5GHz,interleaver=1ms",
        ][..]),
        every_us in prop_oneof![1u32..200, 1000u32..4000],
        on_air_us in 0u32..7000,
        pieces in prop::collection::vec((0u64..3000, 1u64..400), 1..8),
    ) {
        let (every, on_air) = (Span::from_micros(every_us), Span::from_micros(on_air_us));
        let channel = channel(text);
        let mut all = slots(0, 3400, every);
        channel.begin(seed, 0).erase(0, on_air, &mut all);
        let mut running = channel.begin(seed, 0);
        for (from, len) in pieces {
            let mut piece = slots(from, from + len, every);
            running.erase(from, on_air, &mut piece);
            let from = usize::try_from(from).unwrap();
            prop_assert!(piece[..] == all[from..from + piece.len()]);
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    for (text, part) in [
        ("", "expected one of these parameters"),
        ("es-n0=6", "dB"),
        ("es-n0=6m", "dB"),
        ("es-n0=nandB", "dB"),
        ("es-n0=99dB", "found 'es-n0=99dB', expected a ratio"),
        ("es-n0=6dB,speed=0km/h", "above 0"),
        ("es-n0=6dB,speed=60", "a speed in km/h or m/s, above 0"),
        ("es-n0=6dB,speed=-3m/s", "above 0"),
        ("es-n0=6dB,spede=60km/h", "did you mean 'speed'"),
        ("es-n0=6dB,environment=suburb", "did you mean 'suburban'"),
        ("es-n0=6dB,elevation=60deg", "known for 40 degrees only"),
        (
            "es-n0=6dB,environment=p681:urban,deep-shadow=0",
            "above 0 for p681",
        ),
        ("es-n0=6dB,samples-per-doppler=9", "from 10"),
        ("es-n0=6dB,code=turbo", "unknown code"),
        ("es-n0=6dB,interleaver=2h", "to 60s"),
        ("es-n0=6dB,code=points:1/0.5|2/0", "known from 1 to 2 dB"),
        (
            "es-n0=6dB,carrier=100GHz,speed=2000km/h,samples-per-doppler=1000",
            "samples of the fading",
        ),
    ] {
        let error = text.parse::<LandMobile>().unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    }
}

#[test]
fn a_number_without_its_unit_is_refused_with_the_range() {
    for parameter in PARAMETERS {
        let Kind::Quantity(quantity) = parameter.kind else {
            continue;
        };
        let wrong_unit = if quantity.units[0].0.is_empty() {
            "0dB"
        } else {
            "0"
        };
        for text in [wrong_unit, "-1", "x", ""] {
            let error = parameter.kind.read(text).unwrap_err();
            assert_eq!(error, ParseError::mismatch(text, quantity.expected));
        }
    }
}

#[test]
fn parameters_print_as_they_are_read() {
    let short: LandMobile = "es-n0=6dB,interleaver=36ms".parse().unwrap();
    let printed = short.to_string();
    assert_eq!(printed.parse::<LandMobile>().unwrap(), short);
    for parameter in PARAMETERS {
        assert!(printed.contains(&format!("{}=", parameter.name)));
        if parameter.default.is_some() && parameter.name != "interleaver" {
            assert!(
                printed.contains(&format!("{}={}", parameter.name, parameter.default_text())),
                "{printed}"
            );
        }
    }
}

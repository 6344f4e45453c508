use proptest::prelude::*;

use strum::IntoEnumIterator as _;

use super::*;
use crate::model::conv::decibels;

fn run(model: &crate::model::Model, text: &str) -> Result<crate::model::Outcome, String> {
    let pairs = text.split_whitespace().filter_map(|p| p.split_once('='));
    let arguments = model.arguments(pairs).map_err(|error| error.to_string())?;
    model
        .evaluate(&arguments)
        .map_err(|error| error.to_string())
}

fn required(text: &str, name: &str) -> f64 {
    run(&REQUIRED, text).unwrap().get(name).unwrap()
}

#[test]
fn figure_3_an_erasure_code_against_none() {
    // Celandroni 2006, Fig. 3: SER 1e-4, 48 + 16 blocks of 23 B against 1104 B without a code.
    let coded = |name: &str| required("scheme=erasure n=64 k=48", name);
    let none = required("scheme=uncoded bits=8832", "ecn0_db");
    let channel = ratio(none - coded("ecn0_db"));
    assert!((channel - 2.86).abs() < 0.5e-2 && (channel * coded("rate") - 1.83).abs() < 0.5e-2);
}

#[test]
fn figure_3_the_redundancy_that_needs_least() {
    let needs = |bytes: u64, k: u64, r: u64| {
        let n = k + r;
        let text = format!("scheme=erasure block_bytes={bytes} k={k} n={n}");
        required(&text, "ebn0_db")
    };
    for (bytes, k, best) in [(23, 48, 15), (46, 24, 8), (92, 12, 4)] {
        let least = (1..=k).min_by(|a, b| needs(bytes, k, *a).total_cmp(&needs(bytes, k, *b)));
        assert_eq!(least, Some(best), "{bytes}");
    }
}

#[test]
fn every_scheme_is_its_relation() {
    let get = |text: &str, name: &str| run(&MODEL, text).unwrap().get(name).unwrap();
    let ber = get("scheme=conv rate=3/4 ebn0_db=4.49", "ber");
    let ebl = get("scheme=conv rate=3/4 ebn0_db=4.49", "ebl");
    let same = |text: &str, expected: f64| {
        let found = get(text, "ser");
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{text}: {found} {expected}"
        );
    };
    same(
        "scheme=conv rate=3/4 ebn0_db=4.49",
        1.0 - pow(1.0 - ber / ebl, 8920.0),
    );
    let span = get("scheme=conv rate=3/4 ebn0_db=4.49 ebl=span", "ebl");
    same(
        "scheme=conv rate=3/4 ebn0_db=4.49 ebl=span",
        1.0 - pow(1.0 - ber / span, 8920.0),
    );
    let ecn0 = "ecn0_db=3";
    let plain = get(&format!("scheme=uncoded {ecn0}"), "ber");
    same(&format!("scheme=rs n=287 k=223 {ecn0}"), {
        let symbol = 1.0 - pow(1.0 - plain, 8.0);
        1.0 - pow(1.0 - reed_solomon(287, 223, symbol), 5.0)
    });
    let ecn0 = format!("ecn0_db={}", 4.49 + decibels(0.75));
    same(&format!("scheme=rsconv rate=3/4 k=251 {ecn0}"), {
        let symbol = ber * (ebl + 7.0) / ebl;
        1.0 - pow(1.0 - reed_solomon(255, 251, symbol), 5.0)
    });
    same(&format!("scheme=erconv rate=3/4 n=50 k=48 {ecn0}"), {
        binomial_tail(50, 1.0 - pow(1.0 - ber / ebl, 216.0), 2)
    });
}

#[test]
fn the_energy_required_gives_the_target() {
    for scheme in [
        "uncoded",
        "conv",
        "rs",
        "erasure",
        "rsconv",
        "rsconv interleaver=none",
        "erconv",
    ] {
        for target in [1e-300, 1e-12, 1e-4, 0.5, 0.999] {
            let text = format!("scheme={scheme} target={target}");
            let needed = required(&text, "ecn0_db");
            let outcome = run(&MODEL, &format!("scheme={scheme} ecn0_db={needed:?}"));
            let found = outcome.unwrap().get("ser").unwrap();
            assert!((found / target - 1.0).abs() < 1e-9, "{text}: {found}");
        }
    }
}

proptest! {
    #[test]
    fn more_signal_is_never_worse(decibels in -5.0..14.0f64, more in 0.0..3.0f64, place in 0..7usize) {
        let schemes = ["uncoded", "conv", "rs", "erasure", "rsconv", "erconv", "rsconv interleaver=none"];
        let scheme = schemes[place];
        for rate in Rate::iter() {
            let at = |decibels: f64| {
                let text = format!("scheme={scheme} rate={} ecn0_db={decibels}", rate.name());
                run(&MODEL, &text).unwrap().get("ser").unwrap()
            };
            prop_assert!(at(decibels + more) <= at(decibels) * (1.0 + 1e-9));
        }
    }

    #[test]
    fn more_redundancy_is_never_worse_on_the_same_channel(r in 0u64..100, decibels in 2.0..10.0f64) {
        let code = |n| Code {
            inner: None,
            outer: Outer::Erasure { n, k: 48, bytes: 23.0, overhead: 32.0 },
            burst: Burst::Errors,
            interleaver: Interleaver::Ideal,
        };
        let (less, more) = (code(48 + r), code(49 + r));
        prop_assert!(more.rate() < less.rate());
        prop_assert!(more.errors_at(decibels).segment <= less.errors_at(decibels).segment * (1.0 + 1e-9));
    }
}

#[test]
fn figure_2_an_ideal_interleaver_gains_about_1_db() {
    // Celandroni 2006, Sec. IV.B, "in a wide range of SER values"; bursts as the paper measures them.
    let gain = |more: &str| {
        let text = format!("scheme=rsconv {more}");
        required(&format!("{text} interleaver=none"), "ecn0_db") - required(&text, "ecn0_db")
    };
    for rate in ["2/3", "3/4", "5/6"] {
        for target in ["1e-3", "1e-4", "1e-5"] {
            let found = gain(&format!("rate={rate} target={target} ebl=span"));
            assert!((0.6..1.4).contains(&found), "{rate} {target}: {found}");
            // Bursts that count wrong bits alone are shorter, and so is the gain.
            let shorter = gain(&format!("rate={rate} target={target} ebl=errors"));
            assert!(
                (0.3..found).contains(&shorter),
                "{rate} {target}: {shorter}"
            );
        }
    }
}

#[test]
fn blocks_without_interleaver_have_a_limit() {
    let text = "scheme=rsconv m=16 n=1026 k=1000 ecn0_db=3";
    assert!(run(&MODEL, text).is_ok());
    assert!(run(&MODEL, &format!("{text} interleaver=none")).is_err());
    // Without a convolutional code there is nothing to interleave.
    assert!(
        run(
            &MODEL,
            "scheme=rs m=16 n=1026 k=1000 ecn0_db=3 interleaver=none"
        )
        .is_ok()
    );
}

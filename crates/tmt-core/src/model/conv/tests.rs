use proptest::prelude::*;

use strum::IntoEnumIterator as _;

use super::*;

/// Puncturing patterns, rows of 171 and 133: docs/models.md, Sec. 4.1.
const PATTERNS: [(&str, &str); 5] = [
    ("1", "1"),
    ("10", "11"),
    ("101", "110"),
    ("10101", "11010"),
    ("1000101", "1111010"),
];

/// Paths that leave the all-zero path, up to their first return, by weight: number, wrong bits, length.
///
/// For each phase of the pattern, step by step over the 64 states, each with its paths by weight.
fn enumerated(rate: usize, heaviest: usize) -> Vec<[u64; 3]> {
    let (x, y) = PATTERNS[rate];
    let (x, y) = (x.as_bytes(), y.as_bytes());
    let mut found = vec![[0; 3]; heaviest + 1];
    for phase in 0..x.len() {
        let mut paths = vec![vec![[0u64; 2]; heaviest + 1]; 64];
        for step in 0.. {
            let at = (phase + step) % x.len();
            let mut next = vec![vec![[0u64; 2]; heaviest + 1]; 64];
            let mut advance =
                |state: usize, bit: usize, weight: usize, [count, wrong]: [u64; 2]| {
                    // The register with the newest bit first, as the octal generators are written.
                    let register = bit << 6 | state;
                    let odd = |generator: usize| (register & generator).count_ones() as usize & 1;
                    let sent = |row: &[u8]| usize::from(row[at] == b'1');
                    let weight = weight + odd(0o171) * sent(x) + odd(0o133) * sent(y);
                    if weight > heaviest {
                        return;
                    }
                    let wrong = wrong + count * bit as u64;
                    let state = register >> 1;
                    if state == 0 {
                        let length = step as u64 + 1 - 6;
                        let totals = &mut found[weight];
                        *totals = [
                            totals[0] + count,
                            totals[1] + wrong,
                            totals[2] + count * length,
                        ];
                    } else {
                        let paths = &mut next[state][weight];
                        *paths = [paths[0] + count, paths[1] + wrong];
                    }
                };
            if step == 0 {
                advance(0, 1, 0, [1, 0]);
            } else {
                for (state, weights) in paths.iter().enumerate() {
                    for (weight, paths) in weights.iter().enumerate().filter(|(_, p)| p[0] > 0) {
                        advance(state, 0, weight, *paths);
                        advance(state, 1, weight, *paths);
                    }
                }
            }
            if next.iter().flatten().all(|[count, _]| *count == 0) {
                break;
            }
            paths = next;
        }
    }
    found
}

#[test]
fn the_spectra_are_those_of_the_generators_and_patterns() {
    for (place, rate) in Rate::iter().enumerate() {
        let spectrum = rate.code().1;
        let heaviest = usize::try_from(crate::math::num::floor_u64(spectrum[8].0)).unwrap();
        let found = enumerated(place, heaviest);
        let found: Vec<(usize, [u64; 3])> = found
            .into_iter()
            .enumerate()
            .filter(|(_, totals)| totals[0] > 0)
            .collect();
        assert_eq!(found.len(), 9, "{}", rate.name());
        for ((weight, [a, c, l]), term) in found.into_iter().zip(spectrum) {
            let whole = |x: f64| crate::math::num::floor_u64(x);
            let table = (whole(term.0), whole(term.1), whole(term.2), whole(term.3));
            assert_eq!((weight as u64, a, c, l), table, "{}", rate.name());
        }
        let (x, y) = PATTERNS[place];
        let sent = x.bytes().chain(y.bytes()).filter(|bit| *bit == b'1');
        let sent = f64::from(u32::try_from(sent.count()).unwrap());
        assert!((rate.period() / sent - rate.value()).abs() < 1e-15);
    }
}

#[test]
fn the_bound_at_the_printed_points() {
    // Reference values: Eb/N0, union bound, errors per event, span. Rounded values of Eb/N0: 6.9e-4 "at 3 dB" is that
    // of Ec/N0 = 0 dB, Eb/N0 = 3.01 dB (3 dB sharp gives 7.2e-4), and 9.3e-5 belongs to 4.489 dB.
    for (rate, ebn0, ber, digit, errors, span) in [
        (Rate::Half, 2.0, 3.8e-2, 1e-3, 11.5, 20.3),
        (Rate::Half, 3.010_3, 6.9e-4, 1e-5, 6.7, 11.3),
        (Rate::Half, 4.0, 1.87e-5, 1e-7, 4.4, 7.0),
        (Rate::ThreeQuarters, 4.489, 9.3e-5, 1e-6, 7.7, 12.6),
        (Rate::SevenEighths, 5.0, 4.1e-4, 1e-5, 14.5, 26.5),
        (Rate::SevenEighths, 6.0, 1.1e-5, 1e-6, f64::NAN, f64::NAN),
    ] {
        let found = viterbi(rate, ratio(ebn0) * rate.value());
        assert!(
            (found.ber_union - ber).abs() <= 0.5 * digit,
            "{ebn0}: {found:?}"
        );
        assert!(
            errors.is_nan() || (found.errors_per_event - errors).abs() <= 0.051,
            "{found:?}"
        );
        assert!(
            span.is_nan() || (found.span - span).abs() <= 0.051,
            "{found:?}"
        );
        assert!((found.errors_per_event * found.event_rate / found.ber_union - 1.0).abs() < 1e-12);
    }
}

#[test]
fn at_high_energy_only_paths_of_smallest_weight_matter() {
    for decibels in [25.0, 30.0, 60.0] {
        let found = viterbi(Rate::Half, ratio(decibels));
        assert!((found.errors_per_event - 36.0 / 11.0).abs() < 1e-9);
        assert!((found.span - 5.0).abs() < 1e-9 && found.ber() < 1e-200);
    }
    // Without signal every path is as likely as the right one.
    let none = viterbi(Rate::Half, 0.0);
    assert!((none.ber() - 0.5).abs() < f64::EPSILON && none.ber_union > 1e7);
    assert!((uncoded_ber(0.0) - 0.5).abs() < f64::EPSILON);
}

#[test]
fn exactly_one_energy_is_required() {
    let run = |text: &str| MODEL.run(text);
    assert!(run("").unwrap_err().to_string().contains("is missing"));
    assert!(
        run("ebn0_db=3 ecn0_db=1")
            .unwrap_err()
            .to_string()
            .contains("give one")
    );
    let (given, derived) = (
        run("ebn0_db=3").unwrap(),
        run("ecn0_db=-0.010299956639811952").unwrap(),
    );
    assert!((given.get("ber").unwrap() / derived.get("ber").unwrap() - 1.0).abs() < 1e-12);
    assert!((derived.get("ebn0_db").unwrap() - 3.0).abs() < 1e-12);
    assert!(
        run("ebn0_db=2").unwrap().remarks().len() == 1
            && run("ebn0_db=4").unwrap().remarks().is_empty()
    );
    for extreme in ["ebn0_db=1e300", "ecn0_db=-1e300"] {
        assert!((0.0..=0.5).contains(&run(extreme).unwrap().get("ber").unwrap()));
    }
}

proptest! {
    #[test]
    fn more_signal_is_never_worse(decibels in -10.0..15.0f64, more in 0.0..5.0f64) {
        for rate in Rate::iter() {
            let (low, high) = (viterbi(rate, ratio(decibels)), viterbi(rate, ratio(decibels + more)));
            prop_assert!(high.ber_union <= low.ber_union);
            prop_assert!(high.errors_per_event <= low.errors_per_event * (1.0 + 1e-12));
            prop_assert!(high.span * (1.0 + 1e-12) > high.errors_per_event);
        }
    }
}

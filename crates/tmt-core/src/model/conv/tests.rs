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
fn without_signal_every_path_is_as_likely_as_the_right_one() {
    let none = viterbi(Rate::Half, 0.0);
    assert!((none.ber() - 0.5).abs() < f64::EPSILON && none.ber_union > 1e7);
    assert!((uncoded_ber(0.0) - 0.5).abs() < f64::EPSILON);
}

#[test]
fn either_energy_gives_the_same_error_rate() {
    let ber = |text: &str| MODEL.run(text).unwrap().get("ber").unwrap();
    let derived = ber("ecn0_db=-0.010299956639811952");
    assert!((ber("ebn0_db=3") / derived - 1.0).abs() < 1e-12);
}

proptest! {
    #[test]
    fn more_signal_is_never_worse(decibels in -10.0..15.0f64, more in 0.0..5.0f64) {
        for rate in Rate::iter() {
            let (low, high) = (viterbi(rate, ratio(decibels)), viterbi(rate, ratio(decibels + more)));
            prop_assert!(high.ber_union <= low.ber_union);
            prop_assert!(high.errors_per_event <= low.errors_per_event * (1.0 + 1e-12));
            prop_assert!(high.span * (1.0 + 1e-12) > high.errors_per_event);
            prop_assert!((low.errors_per_event * low.event_rate / low.ber_union - 1.0).abs() < 1e-12);
        }
    }
}

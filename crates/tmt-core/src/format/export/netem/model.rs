//! Model of netem for tests: it takes delays from a table; its losses are in `machine.rs`.

use super::machine::Netem;
use crate::math::rng::{Stream, Uniform};

/// Numbers of 32 bits.
pub(super) fn draws(seed: u64) -> impl FnMut() -> u32 {
    let (mut uniform, mut at) = (Uniform::new(seed, Stream::FlowStart), 0);
    move || {
        at += 1;
        (uniform.at(at) * 4_294_967_296.0) as u32
    }
}

/// tc: a time, in ns.
pub(super) fn tc_nanos(text: &str) -> i64 {
    let micros: f64 = text.strip_suffix("us").unwrap().parse().unwrap();
    (micros * 1000.0).round() as i64
}

/// The entries of a table, as tc reads them.
pub(super) fn read_table(text: &str) -> Vec<i16> {
    let lines = text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let words = lines.flat_map(str::split_ascii_whitespace);
    words.map(|word| word.parse().unwrap()).collect()
}

/// The delay of a packet that draws `entry`, ns: the jitter in whole units of 8192 and the rest apart, that rounded.
pub(super) fn delay(middle: i64, jitter: i64, entry: i16) -> i64 {
    let entry = i64::from(entry);
    let rest = (jitter % 8192) * entry;
    let half = if rest >= 0 { 4096 } else { -4096 };
    (rest + half) / 8192 + (jitter / 8192) * entry + middle
}

#[test]
fn a_model_of_one_parameter_never_loses_two_in_a_row() {
    // p / (1 + p), and never two in a row, since r is 100 %.
    let (mut netem, mut draw) = (Netem::new(&["gemodel", "10%"]), draws(3));
    let lost: Vec<bool> = (0..1_000_000).map(|_| netem.loses(&mut draw)).collect();
    assert!(!lost.windows(2).any(|two| two[0] && two[1]));
    let rate = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
    assert!((rate - 0.1 / 1.1).abs() < 0.001, "{rate}");
}

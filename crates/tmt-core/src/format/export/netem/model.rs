//! What netem does with a line, for tests: its state machines with their order of draws and transitions, and how it takes a
//! delay from a table. Written from their description (man page of tc-netem; states and draws of `sch_netem.c`).

use crate::math::rng::{Stream, Uniform};

/// Numbers of 32 bits.
pub(super) struct Draws(Uniform, u64);

impl Draws {
    pub(super) fn new(seed: u64) -> Self {
        Self(Uniform::new(seed, Stream::FlowStart), 0)
    }

    fn next(&mut self) -> u32 {
        self.1 += 1;
        (self.0.at(self.1) * 4_294_967_296.0) as u32
    }
}

/// tc: a percentage as a share of 2^32 − 1.
fn share(text: &str) -> u32 {
    let percent: f64 = text.strip_suffix('%').unwrap().parse().unwrap();
    (percent / 100.0 * f64::from(u32::MAX)).round_ties_even() as u32
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

/// A loss model with its state.
pub(super) enum Netem {
    Random {
        loss: u32,
    },
    /// `h` is the share of packets that pass in the bad state.
    TwoStates {
        p: u32,
        r: u32,
        h: u32,
        k1: u32,
        is_bad: bool,
    },
    FourStates {
        p13: u32,
        p31: u32,
        p32: u32,
        p23: u32,
        p14: u32,
        state: u8,
    },
}

impl Netem {
    /// Reads the words after `loss`.
    pub(super) fn new(words: &[&str]) -> Self {
        let at = |place: usize, preset: u32| words.get(place).map_or(preset, |word| share(word));
        match words[0] {
            "random" => Self::Random {
                loss: share(words[1]),
            },
            // Without r, 1-h and 1-k: r = 100 %, all are lost in the bad state, none in the good one.
            "gemodel" => Self::TwoStates {
                p: share(words[1]),
                r: at(2, u32::MAX),
                h: u32::MAX - at(3, u32::MAX),
                k1: at(4, 0),
                is_bad: false,
            },
            "state" => Self::FourStates {
                p13: share(words[1]),
                p31: at(2, u32::MAX - share(words[1])),
                p32: at(3, 0),
                p23: at(4, u32::MAX),
                p14: at(5, 0),
                state: 1,
            },
            other => panic!("{other}"),
        }
    }

    /// Whether the next packet is lost.
    pub(super) fn loses(&mut self, draws: &mut Draws) -> bool {
        match self {
            Self::Random { loss } => *loss > 0 && *loss >= draws.next(),
            Self::TwoStates {
                p,
                r,
                h,
                k1,
                is_bad,
            } => {
                // The state changes first; the loss is that of the state before.
                let was_bad = *is_bad;
                let change = draws.next();
                if was_bad {
                    *is_bad = change >= *r;
                    draws.next() > *h
                } else {
                    *is_bad = change < *p;
                    draws.next() < *k1
                }
            }
            Self::FourStates {
                p13,
                p31,
                p32,
                p23,
                p14,
                state,
            } => {
                let draw = draws.next();
                *state = match *state {
                    1 if draw < *p14 => 4,
                    1 if *p14 < draw && draw < p13.wrapping_add(*p14) => 3,
                    2 if draw < *p23 => 3,
                    2 => 2,
                    3 if draw < *p32 => 2,
                    3 if *p32 < draw && draw < p31.wrapping_add(*p32) => 1,
                    3 => 3,
                    // From 4 always, and from 1 otherwise.
                    _ => 1,
                };
                matches!(*state, 3 | 4)
            }
        }
    }
}

#[test]
fn a_model_of_one_parameter_never_loses_two_in_a_row() {
    // p / (1 + p), and never two in a row, since r is 100 %.
    let (mut netem, mut draws) = (Netem::new(&["gemodel", "10%"]), Draws::new(3));
    let lost: Vec<bool> = (0..1_000_000).map(|_| netem.loses(&mut draws)).collect();
    assert!(!lost.windows(2).any(|two| two[0] && two[1]));
    let rate = lost.iter().filter(|lost| **lost).count() as f64 / lost.len() as f64;
    assert!((rate - 0.1 / 1.1).abs() < 0.001, "{rate}");
}

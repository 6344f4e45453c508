//! The losses of netem, for tests: its state machines with their order of draws and transitions, and how tc reads their
//! parameters. Written from their description (man page of tc-netem; states and draws of `sch_netem.c`).
//!
//! tmt-fit tests its lines by this file, too, so it uses nothing of a crate.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "probabilities and counts of a test are small"
)]

/// tc: a percentage as a share of 2^32 − 1.
fn share(text: &str) -> u32 {
    let percent: f64 = text.strip_suffix('%').unwrap().parse().unwrap();
    (percent / 100.0 * f64::from(u32::MAX)).round_ties_even() as u32
}

/// A loss model with its state.
pub(crate) enum Netem {
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
    pub(crate) fn new(words: &[&str]) -> Self {
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

    /// Whether the next packet is lost; `draw` gives numbers of 32 bits.
    pub(crate) fn loses(&mut self, draw: &mut impl FnMut() -> u32) -> bool {
        match self {
            Self::Random { loss } => *loss > 0 && *loss >= draw(),
            Self::TwoStates {
                p,
                r,
                h,
                k1,
                is_bad,
            } => {
                // The state changes first; the loss is that of the state before.
                let was_bad = *is_bad;
                let change = draw();
                if was_bad {
                    *is_bad = change >= *r;
                    draw() > *h
                } else {
                    *is_bad = change < *p;
                    draw() < *k1
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
                let drawn = draw();
                *state = match *state {
                    1 if drawn < *p14 => 4,
                    1 if *p14 < drawn && drawn < p13.wrapping_add(*p14) => 3,
                    2 if drawn < *p23 => 3,
                    2 => 2,
                    3 if drawn < *p32 => 2,
                    3 if *p32 < drawn && drawn < p31.wrapping_add(*p32) => 1,
                    3 => 3,
                    // From 4 always, and from 1 otherwise.
                    _ => 1,
                };
                matches!(*state, 3 | 4)
            }
        }
    }
}

/// Blocks of packets whose figures give the spread of those of the whole.
const BLOCKS: usize = 200;

/// Distances at which two packets are both lost.
const LAGS: [usize; 6] = [1, 2, 3, 5, 10, 20];

/// Figures that give the loss ratio and the mean burst, the first ones of `figures`.
pub(crate) const MEANS: usize = 2;

/// Shares of packets: lost, lost after one that is not, lost as another one before, and lost alone.
fn figures(lost: &[bool]) -> Vec<f64> {
    let share = |is_so: &dyn Fn(usize) -> bool| {
        let packets = LAGS[LAGS.len() - 1]..lost.len() - 1;
        let count = packets.clone().filter(|at| is_so(*at)).count();
        count as f64 / packets.len() as f64
    };
    let mut all = vec![
        share(&|at| lost[at]),
        share(&|at| lost[at] && !lost[at - 1]),
    ];
    all.extend(LAGS.map(|lag| share(&|at| lost[at] && lost[at - lag])));
    all.push(share(&|at| lost[at] && !lost[at - 1] && !lost[at + 1]));
    all
}

/// The first of `count` figures in which two processes differ by more than 4.5 standard errors, with both values.
pub(crate) fn differ(one: &[bool], other: &[bool], count: usize) -> Option<(usize, f64, f64)> {
    let estimates = |lost: &[bool]| -> Vec<(f64, f64)> {
        let blocks: Vec<Vec<f64>> = lost.chunks(lost.len() / BLOCKS).map(figures).collect();
        let n = blocks.len() as f64;
        let of = |figure: usize| {
            let values = blocks.iter().map(|block| block[figure]);
            let mean = values.clone().sum::<f64>() / n;
            let squares: f64 = values.map(|value| (value - mean) * (value - mean)).sum();
            (mean, squares / (n - 1.0) / n)
        };
        (0..blocks[0].len()).map(of).collect()
    };
    let both = estimates(one).into_iter().zip(estimates(other)).take(count);
    both.enumerate().find_map(|(figure, (one, other))| {
        let apart = (one.0 - other.0).abs();
        (apart > 4.5 * (one.1 + other.1).sqrt()).then_some((figure, one.0, other.0))
    })
}

//! How often, for how long and in which state the gain is below a level.

use super::*;
use crate::types::to_f64;

/// Speed of the terminal in all runs, m/s.
const SPEED_M_S: f64 = 60.0 / 3.6;

/// Gain of a channel over time, dB, and the state of each sample.
pub(super) struct Run {
    step_s: f64,
    pub(super) gain_db: Vec<f64>,
    state: Vec<usize>,
    /// State and length of each sojourn, m.
    sojourns_m: Vec<(usize, f64)>,
}

impl Run {
    pub(super) fn new(text: &str, seconds: u32, seed: u64) -> Self {
        let channel = channel(&format!("es-n0=0dB,{text}"));
        let step_s = channel.step().as_secs_f64();
        let samples = crate::math::num::floor_u64(f64::from(seconds) / step_s);
        let gain = channel.fade(seed, 0).over_time(0).map(|(_, db)| db);
        let gain_db: Vec<f64> = gain.take(usize::try_from(samples).unwrap()).collect();
        let mut state = vec![0; gain_db.len()];
        let step_m = SPEED_M_S * step_s;
        let mut sojourns_m = Vec::new();
        channel.fade(seed, 0).sojourns(0, samples, |sojourn| {
            let sample =
                |m: f64| usize::try_from(crate::math::num::floor_u64((m / step_m).ceil())).unwrap();
            let (from, to) = (sample(sojourn.start_m), sample(sojourn.end_m));
            let len = state.len();
            state[from.min(len)..to.min(len)].fill(sojourn.state);
            sojourns_m.push((sojourn.state, sojourn.end_m - sojourn.start_m));
        });
        Self {
            step_s,
            gain_db,
            state,
            sojourns_m,
        }
    }

    /// Distance between samples, m.
    pub(super) fn step_m(&self) -> f64 {
        SPEED_M_S * self.step_s
    }

    /// State and length of each whole sojourn, m.
    pub(super) fn sojourns_m(&self) -> &[(usize, f64)] {
        let last = self.sojourns_m.len().saturating_sub(1);
        &self.sojourns_m[1..last]
    }

    pub(super) fn share(&self, is: impl Fn(usize, f64) -> bool) -> f64 {
        let pairs = self.state.iter().zip(&self.gain_db);
        let count = pairs.filter(|(state, db)| is(**state, **db)).count();
        to_f64(count as u64) / to_f64(self.gain_db.len() as u64)
    }

    fn below(&self, level_db: f64) -> f64 {
        self.share(|_, db| db < level_db)
    }

    /// Level below which the share `p` of the gain is, dB.
    fn level_db(&self, p: f64) -> f64 {
        let mut sorted = self.gain_db.clone();
        sorted.sort_by(f64::total_cmp);
        let at = crate::math::num::floor_u64(p * to_f64(sorted.len() as u64));
        sorted[usize::try_from(at).unwrap()]
    }

    /// Lengths of the fades below a level, samples.
    fn fades(&self, level_db: f64) -> Vec<usize> {
        let mut lengths = Vec::new();
        let mut before = false;
        for db in &self.gain_db {
            let below = *db < level_db;
            if below && !before {
                lengths.push(0);
            }
            if let Some(length) = lengths.last_mut().filter(|_| below) {
                *length += 1;
            }
            before = below;
        }
        lengths
    }

    /// Level-crossing rate, 1/s, and average fade duration, s.
    fn crossings(&self, level_db: f64) -> (f64, f64) {
        let fades = self.fades(level_db);
        let count = to_f64(fades.len() as u64);
        let total = to_f64(fades.iter().sum::<usize>() as u64) * self.step_s;
        (
            count / (to_f64(self.gain_db.len() as u64) * self.step_s),
            total / count,
        )
    }
}

/// Deviation allowed of a share of the time that mostly falls to deep shadow, relative: three standard errors of the number
/// of visits, one every 10 s, whose lengths vary as much as they are long.
fn three_errors(seconds: u32) -> f64 {
    3.0 * (2.0 * 10.0 / f64::from(seconds)).sqrt()
}

fn suburban(seconds: u32, seed: u64) {
    let run = Run::new("environment=suburban", seconds, seed);
    let wide = three_errors(seconds);
    for (state, share) in [0.5475, 0.3893, 0.0632].into_iter().enumerate() {
        let found = run.share(|other, _| other == state);
        let tolerance = if state == 2 { wide * share } else { wide * 0.2 };
        assert!((found - share).abs() < tolerance, "{state} {found}");
    }
    let power =
        run.gain_db.iter().map(|db| from_db(*db)).sum::<f64>() / to_f64(run.gain_db.len() as u64);
    assert!(
        (to_db(power) + 1.75).abs() < 0.06f64.max(wide * 0.5),
        "{}",
        to_db(power)
    );

    for (p, level_db, tolerance) in [
        (0.01, -17.7, 0.3 + 10.0 * wide),
        (0.05, -9.64, 0.3 + 4.0 * wide),
        (0.10, -6.69, 0.1 + 1.5 * wide),
        (0.50, -1.88, 0.1 + 0.5 * wide),
        (0.90, 0.56, 0.1 + 0.2 * wide),
        (0.99, 1.99, 0.1 + 0.1 * wide),
    ] {
        let found = run.level_db(p);
        assert!(
            (found - level_db).abs() < tolerance,
            "{p} {found} {level_db}"
        );
    }
    for (level_db, below, rate, duration_ms) in [
        (0.0, 0.825, 46.5, 17.7),
        (-3.0, 0.340, 54.3, 6.27),
        (-5.0, 0.168, 32.8, 5.15),
        (-10.0, 0.0466, 9.4, 4.98),
        (-15.0, 0.0175, 6.0, 2.86),
        (-20.0, 0.0060, 3.9, 1.53),
    ] {
        let (found_rate, found_s) = run.crossings(level_db);
        let share = run.below(level_db);
        // Deep levels are met in deep shadow alone, the others in all states.
        let tolerance = 0.03 + if level_db < -6.0 { wide } else { wide * 0.3 };
        assert!(
            (share / below - 1.0).abs() < tolerance,
            "{level_db} {share} {below}"
        );
        assert!(
            (found_rate / rate - 1.0).abs() < tolerance,
            "{level_db} {found_rate} {rate}"
        );
        assert!(
            (found_s * 1e3 / duration_ms - 1.0).abs() < tolerance,
            "{level_db} {found_s} {duration_ms}"
        );
        // Rate times duration is the share, regardless of the run.
        assert!(
            (found_rate * found_s / share - 1.0).abs() < 1e-9,
            "{level_db}"
        );
    }
    for (state, level_db, below) in [
        (0, -3.0, 0.114),
        (0, -5.0, 0.018),
        (0, -7.0, 0.0024),
        (1, -3.0, 0.56),
        (1, -5.0, 0.262),
        (1, -10.0, 0.0228),
        (2, -5.0, 0.908),
        (2, -10.0, 0.598),
        (2, -15.0, 0.261),
        (2, -20.0, 0.091),
    ] {
        let of_state = run.share(|other, _| other == state);
        let found = run.share(|other, db| other == state && db < level_db) / of_state;
        // 37 s of deep shadow in 600 s are some 360 correlation lengths.
        let tolerance = 0.05 + if state == 2 { wide * 0.4 } else { wide * 0.2 };
        assert!(
            (found / below - 1.0).abs() < tolerance,
            "{state} {level_db} {found} {below}"
        );
    }
}

#[test]
fn suburban_has_the_published_levels() {
    suburban(800, 1);
}

#[test]
#[ignore = "20 000 s of fading: .ci/long runs it"]
fn suburban_has_the_published_levels_over_a_long_time() {
    suburban(20_000, 2);
}

/// Levels exceeded by all but 1, 5, 10 and 50 %; shares below −5 and −10 dB; crossings of these.
type Levels = ([f64; 4], [f64; 2], [f64; 2]);

#[test]
#[ignore = "20 000 s of fading for each environment: .ci/long runs it"]
fn other_environments_have_the_published_levels() {
    let sets: [(&str, Levels); 7] = [
        (
            "open",
            ([-3.0, -2.2, -1.75, -0.29], [0.0, 0.0], [0.02, 0.0]),
        ),
        (
            "intermediate-tree",
            ([-24.0, -16.9, -13.7, -4.1], [0.453, 0.211], [32.1, 45.4]),
        ),
        (
            "heavy-tree",
            ([-27.8, -20.7, -17.6, -9.4], [0.848, 0.450], [49.5, 100.0]),
        ),
        (
            "p681:suburban,elevation=30deg",
            ([-20.5, -13.7, -10.3, -1.21], [0.217, 0.106], [14.9, 14.5]),
        ),
        (
            "p681:suburban,elevation=45deg",
            ([-10.1, -4.2, -3.3, -1.01], [0.0332, 0.0102], [4.6, 1.8]),
        ),
        (
            "p681:urban,elevation=45deg",
            ([-26.0, -18.6, -14.9, -2.4], [0.302, 0.193], [18.4, 13.4]),
        ),
        (
            "p681:village,elevation=45deg",
            ([-18.6, -11.5, -7.5, -1.55], [0.149, 0.067], [12.0, 9.4]),
        ),
    ];
    for (name, (levels_db, below, rates)) in sets {
        let p681 = name.starts_with("p681");
        let run = Run::new(&format!("environment={name}"), 20_000, 3);
        for (p, level_db) in [0.01, 0.05, 0.1, 0.5].into_iter().zip(levels_db) {
            let found = run.level_db(p);
            // The published runs have errors of their own, and place transitions otherwise.
            let tolerance = if p681 { 1.0 } else { 0.4 };
            assert!(
                (found - level_db).abs() < tolerance,
                "{name} {p} {found} {level_db}"
            );
        }
        for ((level_db, below), rate) in [-5.0, -10.0].into_iter().zip(below).zip(rates) {
            let (found_rate, _) = run.crossings(level_db);
            let found = run.below(level_db);
            let relative = if p681 { 0.2 } else { 0.06 };
            assert!(
                (found - below).abs() < relative * below + 2e-4,
                "{name} {level_db} {found} {below}"
            );
            assert!(
                (found_rate - rate).abs() < relative * rate + 0.05,
                "{name} {level_db} {found_rate} {rate}"
            );
        }
    }
}

//! The two-state model with parameters of the user against its closed forms: shares, sojourns, and the power in each state.

use super::levels::Run;
use super::*;
use crate::math::normal::density;
use crate::math::num::{exp, ln};
use crate::radio::environment::Surroundings;
use crate::types::to_f64;

const RICE_FACTOR_DB: f64 = 6.0;
const BAD_MEAN_DB: f64 = -11.0;
const BAD_DEVIATION_DB: f64 = 3.0;
const GOOD_M: f64 = 24.0;
const BAD_M: f64 = 16.0;

fn text(correlation_m: f64) -> String {
    format!(
        "environment=lutz:rice-factor={RICE_FACTOR_DB}dB/bad-mean={BAD_MEAN_DB}dB/bad-deviation={BAD_DEVIATION_DB}dB\
         /good={GOOD_M}m/bad={BAD_M}m/correlation={correlation_m}m"
    )
}

/// Probability that the power of a Rician signal, with the direct part at 1, is below `power`: a mean over a Poisson number
/// of gamma distributions.
fn rice_below(power: f64) -> f64 {
    let c = from_db(RICE_FACTOR_DB);
    let x = c * power;
    // Of the Poisson number k; of the sum of x^j/j! up to k, times e^-x.
    let (mut weight, mut term) = (exp(-c), exp(-x));
    let (mut sum, mut probability) = (term, 0.0);
    for k in 0..200 {
        probability += weight * (1.0 - sum);
        let next = f64::from(k + 1);
        weight *= c / next;
        term *= x / next;
        sum += term;
    }
    probability
}

/// Probability that the power of a Rayleigh signal of log-normal mean power is below `power`, by the trapezoidal rule.
fn suzuki_below(power: f64) -> f64 {
    let step = 0.01;
    let node = |at: i32| {
        let z = step * f64::from(at);
        let mean = from_db(BAD_MEAN_DB + BAD_DEVIATION_DB * z);
        density(z) * (1.0 - exp(-power / mean))
    };
    (-900..=900).map(node).sum::<f64>() * step
}

#[test]
fn the_closed_forms_are_those_of_limiting_cases() {
    // Far out both are 0 and 1. At the power of the direct part: (1 − e^(−2c) I0(2c))/2.
    assert!(rice_below(0.0).abs() < 1e-12 && (rice_below(20.0) - 1.0).abs() < 1e-9);
    assert!(
        (rice_below(1.0) - 0.428_107_6).abs() < 1e-6,
        "{}",
        rice_below(1.0)
    );
    // At small powers P = s · E[1/mean], E = exp(v²/2)/median with v = deviation · ln(10)/10.
    let v = BAD_DEVIATION_DB * ln(10.0) / 10.0;
    let slope = exp(v * v / 2.0) / from_db(BAD_MEAN_DB);
    assert!((suzuki_below(1e-6) / (1e-6 * slope) - 1.0).abs() < 1e-3);
}

/// Many short sojourns and a short correlation: 800 s at 60 km/h are 330 of each state, and 4000 correlation lengths of the bad
/// state's 5300 m.
#[test]
fn shares_sojourns_and_powers_are_those_of_the_model() {
    let run = Run::new(&text(1.3), 800, 4);
    let share = run.share(|state, _| state == 1);
    // Standard error of the share .010, of a mean length 5.5 %.
    assert!((share - 0.4).abs() < 0.03, "{share}");
    let lengths = run.sojourns_m();
    for (state, mean_m) in [GOOD_M, BAD_M].into_iter().enumerate() {
        let of_state: Vec<f64> = lengths
            .iter()
            .filter(|(known, _)| *known == state)
            .map(|(_, length_m)| *length_m)
            .collect();
        let count = to_f64(of_state.len() as u64);
        let mean = of_state.iter().sum::<f64>() / count;
        let error = 3.5 / count.sqrt();
        assert!((mean / mean_m - 1.0).abs() < error, "{state} {mean}");
        // An exponential length is beyond its mean with probability 1/e.
        let longer = of_state.iter().filter(|length| **length > mean_m).count();
        let longer = to_f64(longer as u64) / count;
        assert!((longer - exp(-1.0)).abs() < 0.5 * error, "{state} {longer}");
    }
    let below = |state: usize, db: f64| {
        run.share(|known, gain_db| known == state && gain_db < db)
            / run.share(|known, _| known == state)
    };
    for db in [-12.0, -6.0, -3.0, -1.0, 0.0, 1.0, 3.0] {
        let (found, expected) = (below(0, db), rice_below(from_db(db)));
        let tolerance = 0.006 + 0.05 * expected.min(1.0 - expected);
        assert!(
            (found - expected).abs() < tolerance,
            "good {db} {found} {expected}"
        );
    }
    for db in [-30.0, -24.0, -18.0, -14.0, -11.0, -8.0, -5.0, -2.0] {
        let (found, expected) = (below(1, db), suzuki_below(from_db(db)));
        let tolerance = 0.003 + 0.05 * expected.min(1.0 - expected);
        assert!(
            (found - expected).abs() < tolerance,
            "bad {db} {found} {expected}"
        );
    }
}

/// The deviation is that of a mean which goes on over the correlation distance, not of each sample.
#[test]
fn the_power_of_the_bad_state_varies_over_the_correlation_distance() {
    // Multipath changes within centimetres: means over 1 m, which are 10 m apart, show the log-normal part.
    let spread = |correlation_m: f64| {
        let text = text(correlation_m).replace("good=24m/bad=16m", "good=0.1m/bad=1000000m");
        let run = Run::new(
            &text.replace("bad-deviation=3dB", "bad-deviation=8dB"),
            1200,
            5,
        );
        let per_m = 1.0 / run.step_m();
        let samples = |m: f64| usize::try_from(crate::math::num::floor_u64(m * per_m)).unwrap();
        let windows: Vec<f64> = run
            .gain_db
            .chunks_exact(samples(10.0))
            .map(|chunk| {
                let near = &chunk[..samples(1.0)];
                let power: f64 = near.iter().map(|db| from_db(*db)).sum();
                to_db(power / to_f64(near.len() as u64))
            })
            .collect();
        let changes = windows
            .windows(2)
            .map(|pair| (pair[1] - pair[0]) * (pair[1] - pair[0]));
        changes.sum::<f64>() / to_f64(windows.len() as u64 - 1)
    };
    // Mean square of the change between means over 1 m that are 10 m apart, of a process with this correlation. That of the
    // multipath's own mean is the same in both.
    let expected = |correlation_m: f64| {
        let window = 1.0 / correlation_m;
        let variance = 2.0 * (window - 1.0 + exp(-window));
        let covariance = exp(-10.0 * window) * (exp(window) - 1.0) * (1.0 - exp(-window));
        128.0 * (variance - covariance) / (window * window)
    };
    let [near, far] = [50.0, 5.0].map(spread);
    let expected = expected(5.0) - expected(50.0);
    assert!(
        ((far - near) / expected - 1.0).abs() < 0.12,
        "{near} {far} {expected}"
    );
}

#[test]
fn the_parameters_print_as_they_are_read_and_are_checked() {
    let channel = |more: &str| format!("es-n0=6dB,{}{more}", text(1.3)).parse::<LandMobile>();
    let read = channel("").unwrap();
    assert_eq!(read.to_string().parse::<LandMobile>().unwrap(), read);
    assert!(channel(",deep-shadow=2").is_ok());
    for (more, words) in [
        (
            ",cross-fade=0",
            "'cross-fade=0': found an environment lutz:…",
        ),
        (
            ",elevation=70deg",
            "'elevation=70deg': found an environment lutz:…",
        ),
        (",deep-shadow=0", "above 0 for p681:… and lutz:…"),
    ] {
        let error = channel(more).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let mut built = read.clone();
    if let Surroundings::Lutz(lutz) = &mut built.environment {
        lutz.bad_m = 0.0;
    }
    let error = RadioChannel::new(&built).unwrap_err().to_string();
    assert!(error.contains("bad=0m"), "{error}");
    let error = "es-n0=6dB,environment=lutz:good=1m".parse::<LandMobile>();
    let error = error.unwrap_err().to_string();
    assert!(error.contains("found no rice-factor"), "{error}");
    // An error curve has to reach 10 dB above the mean power of the bad state, which may be far above 0 dB.
    let curve = |deviation: &str| {
        let text = text(1.3).replace("bad-deviation=3dB", deviation);
        format!("es-n0=6dB,code=points:-3/1|17/0.001,{text}").parse::<LandMobile>()
    };
    assert!(curve("bad-deviation=3dB").is_ok());
    let error = curve("bad-deviation=10dB").unwrap_err().to_string();
    assert!(error.contains("reaches Es/N0 above that"), "{error}");
}

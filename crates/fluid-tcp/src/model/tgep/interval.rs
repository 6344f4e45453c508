//! Independent tests until the mean has the requested precision (Celandroni 2006, end of Sec. II.A).

use tmt_core::model::ModelError;
use tmt_core::types::to_f64;

use super::course::Course;
use super::law::Cycle;

/// Number of independent tests. Their length is adapted, not their number. Student's law then has a closed form, and
/// the interval is checked only a few times, which preserves its confidence level.
pub(super) const TESTS: usize = 21;

/// Limit of the cycles of all tests: a few seconds.
const MOST: f64 = 1e8;

/// Sums over the cycles of a test.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub(super) segments: f64,
    pub(super) time: f64,
    pub(super) cycles: f64,
    pub(super) congested: f64,
}

impl Sums {
    fn add(&mut self, cycle: Cycle) {
        self.segments += cycle.segments;
        self.time += cycle.time;
        self.cycles += 1.0;
        self.congested += f64::from(u8::from(cycle.congested));
    }

    /// Goodput over μ.
    pub(super) fn goodput(&self) -> f64 {
        self.segments / self.time
    }
}

/// Requested precision and lengths of the tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Precision {
    /// Largest allowed half-width over the mean.
    pub(super) relative: f64,
    /// Confidence level, in [0, 1).
    pub(super) level: f64,
    /// Cycles of the warm-up of each test.
    pub(super) warm_up: f64,
    /// Cycles of each test between its warm-up and the first check.
    pub(super) first: f64,
}

/// A mean with its confidence interval.
#[derive(Debug, Clone)]
pub(super) struct Estimate {
    pub(super) mean: f64,
    pub(super) half_width: f64,
    pub(super) sums: Vec<Sums>,
}

/// Runs the tests until the half-width t · s / √k is small enough.
///
/// # Errors
/// The limit of the cycles does not suffice.
pub(super) fn estimate(
    courses: &mut [Course],
    precision: Precision,
) -> Result<Estimate, ModelError> {
    let student = student(precision.level);
    let count = to_f64(courses.len() as u64);
    if precision.warm_up * count > MOST {
        return Err(ModelError::refused(format!(
            "windows of this size need {:.0} cycles until they are stationary, above the limit of {MOST:e} cycles",
            precision.warm_up * count
        )));
    }
    for course in courses.iter_mut() {
        for _ in 0..tmt_core::math::num::floor_u64(precision.warm_up) {
            course.next();
        }
        course.begin();
    }
    let mut sums = vec![Sums::default(); courses.len()];
    // An event that does not occur in n cycles has a share below 5/n, at 99 %. At least this many are drawn.
    let least = 5.0 / precision.relative / count;
    let first = precision.first.max(precision.warm_up / 3.0);
    // Enough to estimate whether the interval can be reached.
    let mut more = first.min(MOST / count);
    let mut drawn = precision.warm_up.floor() * count;
    loop {
        for (course, sums) in courses.iter_mut().zip(&mut sums) {
            for _ in 0..tmt_core::math::num::floor_u64(more) {
                drawn += 1.0;
                sums.add(course.next());
                if drawn > MOST {
                    return Err(out_of_reach(precision, 0.0, 1.0, 1.0));
                }
            }
        }
        let (mean, deviation) = moments(&sums);
        let half_width = student * deviation / count.sqrt();
        let cycles = sums[0].cycles;
        let near = mean > 0.0 && half_width <= precision.relative * mean;
        if near && cycles >= least {
            return Ok(Estimate {
                mean,
                half_width,
                sums,
            });
        }
        // The half-width falls with the root of the length; a little more, so that the next check is the last.
        let missing = half_width / (precision.relative * mean);
        let factor = missing * missing;
        // Cycles that the limit still allows.
        let remaining = (MOST / drawn - 1.0) * cycles;
        let needed = factor.max(least / cycles) * drawn;
        let hopeless = mean > 0.0 && cycles * count > 1e4 && needed > 2.0 * MOST;
        if remaining < 1.0 || hopeless {
            let missing = missing.max((least / cycles).sqrt());
            return Err(out_of_reach(precision, mean, missing, drawn));
        }
        // A mean of 0 gives no factor.
        let factor = if mean > 0.0 { factor * 1.1 } else { 8.0 };
        let longer = cycles * (factor.clamp(1.3, 8.0) - 1.0);
        more = longer.max(least - cycles).min(remaining);
    }
}

fn out_of_reach(precision: Precision, mean: f64, missing: f64, drawn: f64) -> ModelError {
    let why = if mean > 0.0 {
        let reachable = precision.relative * missing * (drawn / MOST).sqrt();
        format!("about ci={:.1e} is possible", 1.2 * reachable)
    } else {
        "the cycles are too costly to draw, or every segment is lost".to_owned()
    };
    ModelError::refused(format!(
        "ci={} at level={} is out of reach within the limit of {MOST:e} cycles: {why}",
        precision.relative, precision.level
    ))
}

/// Mean and standard deviation of the goodput of the tests.
fn moments(sums: &[Sums]) -> (f64, f64) {
    let count = to_f64(sums.len() as u64);
    let mean = sums.iter().map(Sums::goodput).sum::<f64>() / count;
    let squares = sums.iter().map(|sums| sums.goodput() - mean);
    let variance = squares.map(|x| x * x).sum::<f64>() / (count - 1.0);
    (mean, variance.sqrt())
}

/// The t with P(|Student| ≤ t) = `level` for 20 degrees of freedom.
///
/// For an even number of degrees of freedom the law is a finite sum with square roots only, so all platforms stop at the
/// same cycle.
pub(super) fn student(level: f64) -> f64 {
    const FREEDOM: f64 = 20.0;
    let inside = |t: f64| {
        let square = FREEDOM + t * t;
        let cosine = FREEDOM / square;
        let (mut term, mut sum) = (1.0, 0.0);
        for j in 1..=10u32 {
            sum += term;
            let j = f64::from(j);
            term *= (2.0 * j - 1.0) / (2.0 * j) * cosine;
        }
        t / square.sqrt() * sum
    };
    let (mut low, mut high) = (0.0, 1e3);
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if inside(middle) < level {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF as _, StudentsT};

    use super::*;

    #[test]
    fn the_factor_is_students() {
        // Printed tables for 20 degrees of freedom: 2.845 at 99 %, 2.086 at 95 %, 1.325 at 80 %.
        for (level, printed) in [(0.99, 2.845), (0.95, 2.086), (0.8, 1.325)] {
            assert!((student(level) - printed).abs() < 0.5e-3, "{level}");
        }
        assert_eq!(TESTS, 21);
        let law = StudentsT::new(0.0, 1.0, 20.0).unwrap();
        for level in [0.1, 0.5, 0.9, 0.99, 0.9999, 0.999_999] {
            let ours = 2.0 * law.cdf(student(level)) - 1.0;
            assert!((ours / level - 1.0).abs() < 1e-9, "{level}: {ours}");
        }
    }
}

//! The stationary law of one connection, to which the Monte-Carlo simulation converges for N = 1.
//!
//! With x = w², a cycle of n segments ends at y = min(x + 2 n / b, w_max²), and the next begins at y/4. The law of x is
//! iterated on a lattice of y; the influence of the start falls to 1/4 in each step. The number of segments until the
//! loss is memoryless. One sweep therefore gives the probability that a cycle passes y, and the means of segments and
//! time are sums over the points passed.

use tmt_core::math::num::{expm1, log1p};

use super::law::Law;

/// Minimum and maximum number of points of the lattice.
const FEWEST: f64 = 4096.0;
const MOST: f64 = 32768.0;
/// Number of sweeps: 4^-25 is 1e-15.
const SWEEPS: usize = 25;

struct Lattice {
    /// Length of a step in x.
    step: f64,
    /// Segments of a stride.
    segments: f64,
    /// Steps in a stride.
    stride: usize,
    /// Probability that no segment of a stride is lost.
    pass: f64,
    /// Probability that a segment of the stride and all before it arrive, averaged over the stride.
    mean_pass: f64,
    /// Mean position of a loss in the stride, in steps.
    depth: f64,
    points: usize,
    /// Value of x at which link and buffer are full, w_max².
    top: f64,
}

/// Goodput over μ of one connection; `law.loss` above 0 and below 1, `law.connections` 1.
pub(super) fn goodput(law: &Law) -> f64 {
    let lattice = Lattice::new(law);
    let mut start = vec![0.0; lattice.points + 2];
    let end = lattice.x(lattice.points - 1).min(lattice.top);
    lattice.put(&mut start, 0.25 * end, 1.0);
    let mut passed = vec![0.0; lattice.points];
    for _ in 0..SWEEPS {
        lattice.sweep(&start, &mut passed);
        start = lattice.cut(&passed);
    }
    lattice.sweep(&start, &mut passed);
    let (mut segments, mut time, mut full) = (0.0, 0.0, 0.0);
    for (at, passed) in passed.iter().enumerate() {
        let low = lattice.x(at);
        let (high, through, congested) = lattice.stride_from(at, low);
        let share = (high - low) * law.per_ack / 2.0;
        let weight = passed * through;
        segments += weight * share;
        time += weight * law.passage(low, high);
        full += passed * congested;
    }
    time += full + (1.0 - full) * law.resend;
    segments / time
}

impl Law {
    /// Time from x = `low` to `high`, in 1/μ: (5) below the bandwidth-delay product, (9) above it.
    fn passage(&self, low: f64, high: f64) -> f64 {
        let bdp = self.bdp * self.bdp;
        let (turn, begin) = (high.min(bdp), low.max(bdp));
        let first = if low < turn {
            self.per_ack * self.bdp * (turn - low) / (turn.sqrt() + low.sqrt())
        } else {
            0.0
        };
        first + (high - begin).max(0.0) * self.per_ack / 2.0
    }
}

impl Lattice {
    fn new(law: &Law) -> Self {
        let unit = 2.0 / law.per_ack;
        let top = law.most * law.most;
        // At most e^-60 of the cycles go further.
        let reach = (top / unit).min(60.0 / law.loss);
        let (segments, stride) = if reach < FEWEST {
            (1.0, tmt_core::math::num::floor_u64((FEWEST / reach).ceil()))
        } else {
            ((reach / MOST).max(1.0), 1)
        };
        let step = unit * segments / tmt_core::types::to_f64(stride);
        let log = log1p(-law.loss);
        let fail = -expm1(segments * log);
        // Σ_{m=1}^{M} (1 − q)^m / M.
        let mean_pass = (1.0 - law.loss) * fail / (law.loss * segments);
        // M q is below 60/32768 if M is above 1: two terms of the mean of n given n < M.
        let middle = (segments - 1.0) / 2.0 - law.loss * (segments * segments - 1.0) / 12.0;
        let points = tmt_core::math::num::floor_u64(reach * unit / step) + 1;
        Self {
            step,
            segments,
            stride: usize::try_from(stride).unwrap_or(1),
            pass: 1.0 - fail,
            mean_pass,
            depth: (middle / segments).max(0.0),
            points: usize::try_from(points).unwrap_or(1).max(1),
            top,
        }
    }

    fn x(&self, at: usize) -> f64 {
        self.step * tmt_core::types::to_f64(at as u64)
    }

    /// The end of a stride from this point, the probability that no segment of it is lost, and whether link and buffer
    /// are then full.
    fn stride_from(&self, at: usize, low: f64) -> (f64, f64, f64) {
        let full = self.step * tmt_core::types::to_f64(self.stride as u64);
        if at.saturating_add(self.stride) < self.points {
            return (low + full, self.mean_pass, 0.0);
        }
        let part = ((self.top - low) / full).clamp(0.0, 1.0);
        // At the top no segment is left.
        let pass = if part > 1e-9 {
            1.0 - (1.0 - self.pass) * if self.segments > 1.0 { part } else { 1.0 }
        } else {
            1.0
        };
        (low + part * full, pass, pass)
    }

    /// Adds `mass` at x, divided between its two neighbours so that the mean of x does not change.
    fn put(&self, mass: &mut [f64], x: f64, share: f64) {
        let place = (x / self.step).min(tmt_core::types::to_f64(self.points as u64));
        let at = usize::try_from(tmt_core::math::num::floor_u64(place)).unwrap_or(0);
        let right = place - tmt_core::types::to_f64(at as u64);
        mass[at] += share * (1.0 - right);
        mass[at + 1] += share * right;
    }

    /// Probability that a cycle passes each point, given the law `start` of its start.
    fn sweep(&self, start: &[f64], passed: &mut [f64]) {
        for at in 0..passed.len() {
            let before = if at >= self.stride {
                passed[at - self.stride] * self.pass
            } else {
                0.0
            };
            passed[at] = start[at] + before;
        }
    }

    /// Law of the start of the next cycle: windows are halved, x is quartered.
    fn cut(&self, passed: &[f64]) -> Vec<f64> {
        let mut start = vec![0.0; passed.len() + 2];
        let (mut top, mut lost) = (0.0, 0.0);
        for (at, passed) in passed.iter().enumerate() {
            let low = self.x(at);
            let stop = if at.saturating_add(self.stride) < self.points {
                passed * (1.0 - self.pass)
            } else {
                let (_, _, congested) = self.stride_from(at, low);
                top += passed * congested;
                passed * (1.0 - congested)
            };
            // The share `depth` of the losses at this point is moved one step further.
            let here = stop * (1.0 - self.depth) + lost;
            lost = stop * self.depth;
            let quarter = at / 4;
            let right = [0.0, 0.25, 0.5, 0.75][at % 4];
            start[quarter] += here * (1.0 - right);
            start[quarter + 1] += here * right;
        }
        self.put(&mut start, 0.25 * self.top, top + lost);
        start
    }
}

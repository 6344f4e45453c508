//! `zhu`: throughput of one TCP connection end to end over selective-repeat ARQ with in-order delivery.

mod interface;

use tmt_core::math::num::{ln, ln_gamma};

use super::path::Path;

pub(super) use interface::{MODEL, remarks};

/// Case of (40): windows at which the satellite link is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// β ≥ 1 + ρ: the link is full at every window.
    Full = 1,
    /// 1 < β < 1 + ρ: the link is full at large windows only.
    Partly = 2,
    /// β ≤ 1: the link is never full.
    Never = 3,
}

/// Results for a path end to end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndToEnd {
    /// 𝒯: transfer time of the largest window without T1, in units of T2 (29); infinite for T2 = 0 and for p = 1.
    pub tcal: f64,
    /// ρ: its share of the total transfer time, 0 to 1 (37).
    pub rho: f64,
    /// Largest window, segments (36).
    pub w_max: f64,
    /// Which of the three cases of eq. (40) holds, by β and ρ.
    pub case: Case,
    /// Coefficients A1, A2, A3 of (40).
    pub a: [f64; 3],
    /// λ/μ (39): throughput over the rate of the link, at most 1 − r.
    pub norm: f64,
    /// λ/(μ(1−r)): throughput over the capacity of the link with repeats, 0 to 1 (Z6).
    pub efficiency: f64,
    /// λ/μ by the sum (38) over whole windows.
    pub direct: f64,
}

impl Path {
    /// Evaluates (36) to (40); `None` if times are negative, which happens only with very few segments.
    ///
    /// Computed in seconds times 1 − r, so that the limits T2 = 0, p = 1 and T1 = 0 need no special cases.
    #[must_use]
    pub fn end_to_end(&self) -> Option<EndToEnd> {
        let through = self.loss.no;
        // (1−r) T2 𝒯: (29) is (20) without T1 for windows of B or more.
        let occupancy = self.occupancy(self.buffer);
        if self.in_order_trips(self.in_flight(self.buffer)) <= 0.0 {
            return None;
        }
        let rho = occupancy / (through * self.terrestrial + occupancy);
        let w_max = 2.0 * (self.buffer + 1.0) / (1.0 + rho);
        let (case, a) = self.case(rho);
        // The bracket of (39) times T2. For T2 = 0 only its third term remains.
        let bracket = if self.satellite > 0.0 {
            let log = |x: f64| {
                if self.reordering > 0.0 {
                    self.reordering * ln(x)
                } else {
                    0.0
                }
            };
            let flight = log(self.buffer.min(self.bdp()));
            self.satellite * (a[0] * flight + a[1] * through / 4.0 + a[2] + log(self.pieces / 2.0))
        } else {
            self.buffer / self.rate * waiting(rho)
        };
        let bracket = self.terrestrial * through + bracket;
        let efficiency = 1.5 * self.buffer / self.rate / (1.0 + rho) / bracket;
        if bracket <= 0.0 {
            return None;
        }
        Some(EndToEnd {
            tcal: occupancy / (through * self.satellite),
            rho,
            w_max,
            case,
            a,
            norm: efficiency * through,
            efficiency,
            direct: self.direct(w_max) * through,
        })
    }

    /// The case of (40) and its coefficients.
    fn case(&self, rho: f64) -> (Case, [f64; 3]) {
        let (beta, top) = (self.beta(), 1.0 + rho);
        let least = self.buffer / top;
        let factorials = |of: f64| {
            if self.reordering > 0.0 {
                self.reordering / least * (ln_gamma(of) - ln_gamma(least))
            } else {
                0.0
            }
        };
        if beta >= top {
            (Case::Full, [1.0, 1.0, beta * waiting(rho)])
        } else if beta > 1.0 {
            let a2 = 2.0 - top / (2.0 * beta) - beta / (2.0 * top);
            let a3 = 2.0 * beta - 1.0 + top / (2.0 * beta) - beta * top / 2.0;
            let a = [2.0 - top / beta, a2, a3 + factorials(self.bdp())];
            (Case::Partly, a)
        } else {
            let a = [
                1.0 - rho,
                beta * waiting(rho),
                1.0 + factorials(self.buffer),
            ];
            (Case::Never, a)
        }
    }

    /// λ/(μ(1−r)) by (38) over whole windows from m = round(w_max/2), ties to even, to 2m: Σ w over Σ E τ(w).
    ///
    /// (20) is linear in w up to B and constant above, with a logarithm up to μ T2. The sum is therefore three arithmetic
    /// series and a factorial.
    #[must_use]
    pub fn direct(&self, w_max: f64) -> f64 {
        let least = (w_max / 2.0).round_ties_even().max(1.0);
        let windows = least + 1.0;
        let full = self.buffer.min(self.bdp());
        let flight = capped(least, full);
        let queue = if self.buffer > self.bdp() {
            capped(least, self.buffer) - flight
        } else {
            0.0
        };
        let mut trips = windows;
        if full > 0.0 && self.reordering > 0.0 {
            let below = windows_up_to(least, full);
            let logs = if below > 0.0 {
                ln_gamma(least + below) - ln_gamma(least)
            } else {
                0.0
            };
            let rest = (windows - below) * ln(full);
            trips += self.reordering * (logs + rest + windows * ln(self.pieces / 2.0));
        }
        let time = windows * self.terrestrial * self.loss.no
            + queue / self.rate
            + self.loss.no * flight / (4.0 * self.rate)
            + self.satellite * trips;
        1.5 * least * windows / (self.rate * time)
    }

    /// (52): λ/μ for T1 ≪ T2 and B > 2μT2.
    #[must_use]
    pub fn long_satellite(&self) -> f64 {
        let (bdp, through) = (self.bdp(), self.loss.no);
        let order = self.reordering * ln(bdp * self.pieces / 2.0);
        let buffer = 0.75 * self.buffer;
        buffer * through / (buffer + bdp * (order + through / 4.0))
    }

    /// (53): λ/μ for T1 ≪ T2 and a large x = μ T2, for which the buffer must grow as x ln x.
    #[must_use]
    pub fn long_satellite_large(&self) -> f64 {
        let bdp = self.bdp();
        let order = 4.0 / 3.0 * self.reordering * bdp * ln(bdp);
        self.buffer * self.loss.no / (self.buffer + order)
    }
}

/// (1 + ρ − ρ²/2)/(1 + ρ): mean share of B that is queued or in flight while the window grows from w_max/2.
fn waiting(rho: f64) -> f64 {
    (1.0 + rho - rho * rho / 2.0) / (1.0 + rho)
}

/// Number of whole windows from `least` to 2 `least` that are at most `cap`.
fn windows_up_to(least: f64, cap: f64) -> f64 {
    (cap.floor().min(2.0 * least) - least + 1.0).max(0.0)
}

/// Σ min(w, `cap`) over whole w from `least` to 2 `least`.
fn capped(least: f64, cap: f64) -> f64 {
    let below = windows_up_to(least, cap);
    let series = below * (2.0 * least + below - 1.0) / 2.0;
    let rest = least + 1.0 - below;
    if rest > 0.0 {
        series + rest * cap
    } else {
        series
    }
}

#[cfg(test)]
mod tests;

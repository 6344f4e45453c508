//! The Gilbert–Elliott channel in closed form: erasures in n consecutive LLDUs (docs/models.md, Sec. 2).

mod matrix_power;

use super::ModelError;
use crate::math::num::{expm1, log1p, powi};

/// Probabilities below this are taken as 0. It is far below what affects a sum, and far above subnormal numbers, which are
/// slow.
const NOTHING: f64 = 1e-300;

/// A probability so small that values conditional on it equal their limits in double precision.
const RARE: f64 = 1e-100;

/// A stationary Gilbert–Elliott channel, one LLDU per step (Kuhn 2015, Sec. 3.3).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Chain {
    /// P(stay in good).
    alpha: f64,
    /// P(stay in bad).
    beta: f64,
    /// P(bad next | good now) = 1 − alpha, stored to keep its precision.
    to_bad: f64,
    /// P(good next | bad now) = 1 − beta, stored to keep its precision.
    to_good: f64,
    /// Correlation of consecutive states, rho.
    rho: f64,
    /// Erasure probability in the good state.
    pg: f64,
    /// Erasure probability in the bad state.
    pb: f64,
    /// Share of LLDUs sent in the bad state.
    p_bad: f64,
    /// Share of LLDUs sent in the good state.
    p_good: f64,
}

impl Chain {
    /// The channel with these probabilities of staying in the good state (`alpha`) and in the bad state (`beta`), and of
    /// erasure in each (`pg`, `pb`); all in [0, 1].
    ///
    /// # Errors
    /// alpha = beta = 1: the state never changes, so there is no stationary distribution.
    pub fn new(alpha: f64, beta: f64, pg: f64, pb: f64) -> Result<Self, ModelError> {
        Self::of([alpha, 1.0 - alpha], [beta, 1.0 - beta], [pg, pb])
    }

    /// As [`Self::new`], with the probabilities of staying and of leaving given separately to keep their precision.
    fn of(
        [alpha, to_bad]: [f64; 2],
        [beta, to_good]: [f64; 2],
        [pg, pb]: [f64; 2],
    ) -> Result<Self, ModelError> {
        let either = to_bad + to_good;
        if either > 0.0 {
            Ok(Self {
                alpha,
                beta,
                to_bad,
                to_good,
                rho: alpha - to_good,
                pg,
                pb,
                p_bad: to_bad / either,
                p_good: to_good / either,
            })
        } else {
            Err(ModelError::refused(
                "alpha = beta = 1 never changes the state: the channel has no stationary distribution, and p_bad is 0/0",
            ))
        }
    }

    /// Independent erasures with probability `p`, as a channel without memory.
    ///
    /// # Errors
    /// Never for a probability.
    pub fn memoryless(p: f64) -> Result<Self, ModelError> {
        Self::of([1.0 - p, p], [p, 1.0 - p], [0.0, 1.0])
    }

    /// The channel between LLDUs that are `depth` apart (Kuhn 2015, eq. (4), with K2).
    #[must_use]
    pub fn interleaved(self, depth: u64) -> Self {
        if depth <= 1 {
            return self;
        }
        let forgotten = self.forgotten(depth);
        let kept = powi(self.rho(), depth);
        Self {
            alpha: self.p_good + kept * self.p_bad,
            beta: self.p_bad + kept * self.p_good,
            rho: kept,
            to_bad: self.p_bad * forgotten,
            to_good: self.p_good * forgotten,
            ..self
        }
    }

    /// 1 − rho^depth without cancellation.
    fn forgotten(&self, depth: u64) -> f64 {
        let either = self.to_bad + self.to_good;
        if either < 1.0 {
            -expm1(crate::types::to_f64(depth) * log1p(-either))
        } else {
            1.0 - powi(1.0 - either, depth)
        }
    }

    /// Share of LLDUs sent in the bad state (Kuhn 2015, eq. (3)).
    #[must_use]
    pub fn p_bad(&self) -> f64 {
        self.p_bad
    }

    /// Probability that an LLDU is erased.
    #[must_use]
    pub fn erasure_probability(&self) -> f64 {
        self.p_good * self.pg + self.p_bad * self.pb
    }

    /// Probability of staying in the good state from one LLDU to the next.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Probability of staying in the bad state from one LLDU to the next.
    #[must_use]
    pub fn beta(&self) -> f64 {
        self.beta
    }

    /// Correlation of consecutive states, alpha + beta − 1.
    #[must_use]
    pub fn rho(&self) -> f64 {
        self.rho
    }

    /// Mean run in the bad state, LLDUs; infinite for beta = 1.
    #[must_use]
    pub fn mean_bad_run(&self) -> f64 {
        1.0 / self.to_good
    }

    /// Mean run in the good state, LLDUs; infinite for alpha = 1.
    #[must_use]
    pub fn mean_good_run(&self) -> f64 {
        1.0 / self.to_bad
    }

    /// A channel with erasures that replaces one without: so close to it that values conditional on an erasure equal their
    /// limits in double precision.
    pub(super) fn nearly(self) -> Self {
        if self.erasure_probability() > 0.0 {
            return self;
        }
        let pb = if self.pb > 0.0 { self.pb } else { RARE };
        let to_bad = if self.to_bad > 0.0 { self.to_bad } else { RARE };
        let good = [1.0 - to_bad, to_bad];
        Self::of(good, [self.beta, self.to_good], [self.pg, pb]).unwrap_or(self)
    }

    /// Probability of erasure in each state, good first.
    #[cfg(test)]
    pub(super) fn erasing(&self) -> [f64; 2] {
        [self.pg, self.pb]
    }

    /// Stationary probabilities of the states, good first.
    pub(super) fn stationary(&self) -> [f64; 2] {
        [self.p_good, self.p_bad]
    }
}

/// A measure over (erasures so far, state of the next LLDU), for counts up to a largest one.
#[derive(Debug, Clone)]
pub(super) struct Measure {
    chain: Chain,
    /// Weights of the states, good first. Index 0 is always 0; index i + 1 is that of i erasures.
    weights: Vec<[f64; 2]>,
    /// Entries in use.
    live: usize,
}

impl Measure {
    /// A measure without erasures so far, with these weights of the state of the next LLDU.
    pub(super) fn new(chain: Chain, most: usize, start: [f64; 2]) -> Self {
        let mut weights = vec![[0.0; 2]; most + 2];
        weights[1] = start;
        Self {
            chain,
            weights,
            live: 2,
        }
    }

    /// A measure without erasures so far, with the state in its stationary distribution.
    pub(super) fn stationary(chain: Chain, most: usize) -> Self {
        Self::new(chain, most, chain.stationary())
    }

    /// Adds one LLDU.
    pub(super) fn step(&mut self) {
        let either = |p: f64| [1.0 - p, p];
        self.step_with([either(self.chain.pg), either(self.chain.pb)]);
    }

    /// The measure after one more LLDU, restricted to the case that it is erased.
    pub(super) fn erased(&self) -> Self {
        let certain = |p: f64| [0.0, p];
        let mut next = self.clone();
        next.step_with([certain(self.chain.pg), certain(self.chain.pb)]);
        next
    }

    /// Adds one LLDU with these weights of being received and of being erased, for the good state first.
    fn step_with(&mut self, [good, bad]: [[f64; 2]; 2]) {
        let Chain {
            alpha,
            beta,
            to_good,
            to_bad,
            ..
        } = self.chain;
        // Transition weights to the good and to the bad state, by previous state and erasure.
        let to_good = [
            good[0] * alpha,
            good[1] * alpha,
            bad[0] * to_good,
            bad[1] * to_good,
        ];
        let to_bad = [
            good[0] * to_bad,
            good[1] * to_bad,
            bad[0] * beta,
            bad[1] * beta,
        ];
        self.live = (self.live + 1).min(self.weights.len());
        // In descending order, so that entries are read before they are overwritten.
        for place in (1..self.live).rev() {
            let ([g0, b0], [g1, b1]) = (self.weights[place], self.weights[place - 1]);
            let reach = |to: [f64; 4]| g0 * to[0] + g1 * to[1] + b0 * to[2] + b1 * to[3];
            self.weights[place] = [reach(to_good), reach(to_bad)];
        }
        self.forget_nothing();
    }

    /// The measure after `lldus` more LLDUs.
    pub(super) fn after(mut self, lldus: usize) -> Self {
        if matrix_power::is_cheaper(lldus, self.weights.len() - 2) {
            return matrix_power::advance(&self, lldus);
        }
        for _ in 0..lldus {
            self.step();
        }
        self
    }

    /// Drops the largest counts whose weight is negligible.
    fn forget_nothing(&mut self) {
        while self.live > 2 && self.at(self.live - 2) < NOTHING {
            self.live -= 1;
            self.weights[self.live] = [0.0; 2];
        }
    }

    /// Weights of the states with `count` erasures, good first.
    pub(super) fn states(&self, count: usize) -> [f64; 2] {
        self.weights.get(count + 1).copied().unwrap_or_default()
    }

    /// Total weight of `count` erasures.
    pub(super) fn at(&self, count: usize) -> f64 {
        let [good, bad] = self.states(count);
        good + bad
    }

    /// Total weight of at most `count` erasures.
    pub(super) fn up_to(&self, count: usize) -> f64 {
        let weights = &self.weights[1..self.live.min(count.saturating_add(2))];
        let [good, bad] =
            [0, 1].map(|state| weights.iter().map(|weight| weight[state]).sum::<f64>());
        good + bad
    }

    /// Number of counts in use: one more than the largest one with a weight.
    pub(super) fn counts(&self) -> usize {
        self.live - 1
    }

    /// Adds the weights of another measure times `factor`.
    pub(super) fn add(&mut self, other: &Self, factor: f64) {
        self.live = self.live.max(other.live);
        for (own, other) in self.weights.iter_mut().zip(&other.weights[..other.live]) {
            own[0] += factor * other[0];
            own[1] += factor * other[1];
        }
    }
}

/// P(m, n) for m = 0 … `most`: the probability of m erasures in `n` consecutive LLDUs (Kuhn 2015,
/// Sec. 3.4).
#[must_use]
pub fn erasures(chain: Chain, n: usize, most: usize) -> Vec<f64> {
    let most = most.min(n);
    let measure = Measure::stationary(chain, most).after(n);
    (0..=most).map(|count| measure.at(count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P(m, n) as the sum over all sequences of states and erasures.
    fn by_force(chain: Chain, n: u32) -> Vec<f64> {
        let mut law = vec![0.0; n as usize + 1];
        let stay = [chain.alpha(), chain.beta()];
        for states in 0..1u32 << n {
            let state = |k: u32| (states >> k & 1) as usize;
            let mut path = chain.stationary()[state(0)];
            for k in 1..n {
                let same = stay[state(k - 1)];
                path *= if state(k) == state(k - 1) {
                    same
                } else {
                    1.0 - same
                };
            }
            for erased in 0..1u32 << n {
                let chance = |k: u32| {
                    let p = chain.erasing()[state(k)];
                    if erased >> k & 1 == 1 { p } else { 1.0 - p }
                };
                law[erased.count_ones() as usize] += path * (0..n).map(chance).product::<f64>();
            }
        }
        law
    }

    #[test]
    fn the_recursion_is_the_sum_over_all_sequences() {
        for (alpha, beta, pg, pb) in [
            (0.99, 0.8, 0.0, 1.0),
            (0.9, 0.3, 0.1, 0.7),
            (0.2, 0.1, 0.05, 0.9),
            (0.5, 0.5, 0.0, 1.0),
            (0.0, 1.0, 0.0, 1.0),
            (1.0, 0.0, 0.3, 1.0),
        ] {
            let chain = Chain::new(alpha, beta, pg, pb).unwrap();
            let law = erasures(chain, 6, 6);
            for (found, expected) in law.iter().zip(by_force(chain, 6)) {
                assert!((found - expected).abs() < 3e-15, "{chain:?}: {law:?}");
            }
        }
    }

    #[test]
    fn interleaving_equals_depth_steps_of_the_channel() {
        for (alpha, beta) in [(0.98, 0.9), (0.3, 0.2), (0.99, 0.8), (1.0, 0.4)] {
            let chain = Chain::new(alpha, beta, 0.0, 1.0).unwrap();
            // P(good after 5 steps | good now), by steps.
            let mut good = 1.0;
            for _ in 0..5 {
                good = good * alpha + (1.0 - good) * (1.0 - beta);
            }
            let apart = chain.interleaved(5);
            assert!((apart.alpha() - good).abs() < 1e-15);
            assert!((apart.p_bad() - chain.p_bad()).abs() < 1e-16);
            assert!((apart.rho() - powi(chain.rho(), 5)).abs() < 1e-15);
            assert_eq!(chain.interleaved(1), chain);
        }
        // The small correlation keeps its precision although alpha and beta have lost it.
        let apart = Chain::new(0.99, 0.3, 0.0, 1.0).unwrap().interleaved(47);
        assert!((apart.rho() / powi(0.29, 47) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn matrix_powers_are_as_good_as_stepping() {
        for (alpha, beta, pg, pb, n, most) in [
            (0.99, 0.8, 0.0, 1.0, 1000, 10),
            (0.9, 0.3, 0.1, 0.7, 777, 40),
            (0.999_999, 0.2, 0.0, 0.5, 4096, 3),
            (0.2, 0.1, 0.0, 1.0, 100, 0),
        ] {
            let chain = Chain::new(alpha, beta, pg, pb).unwrap();
            assert!(matrix_power::is_cheaper(n, most));
            let mut measure = Measure::stationary(chain, most);
            for _ in 0..n {
                measure.step();
            }
            for (found, count) in erasures(chain, n, most).iter().zip(0..) {
                let stepped = measure.at(count);
                assert!(
                    (found - stepped).abs() <= 1e-12 * stepped,
                    "{count}: {found:e} {stepped:e}"
                );
            }
        }
    }

    #[test]
    fn rare_erasures_keep_their_precision() {
        let chain = Chain::memoryless(1e-9).unwrap();
        let law = erasures(chain, 12, 12);
        // C(12, 3) p^3 (1 − p)^9.
        let expected = 220.0 * 1e-27 * (1.0 - 9e-9);
        assert!((law[3] / expected - 1.0).abs() < 1e-14);
        let total: f64 = erasures(Chain::new(0.999, 0.7, 0.0, 1.0).unwrap(), 1000, 1000)
            .iter()
            .sum();
        assert!((total - 1.0).abs() < 1e-12);
    }
}

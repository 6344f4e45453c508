//! A random linear code over a field of q elements: ND received units decode a codeword only if their equations are
//! independent, and e more fail to help with a probability of about q^-(e+1).

use tmt_core::math::num::ln;
use tmt_core::math::rng::Uniform;
use tmt_core::scheme::engine::{Attempt, Code, ReceivedUnit, Verdict};

#[derive(Debug, Clone)]
pub(crate) struct Linear {
    q: f64,
    random: Uniform,
}

impl Linear {
    pub(crate) fn new(q: f64, seed: u64) -> Self {
        let random = Uniform::named(seed, "linear", 0);
        Self { q, random }
    }

    /// Units beyond ND that the codeword needs: at least n with probability q^-n.
    fn overhead(&self, codeword: u64) -> u32 {
        let drawn = 1.0 - self.random.clone().at(codeword);
        let mut overhead = 0;
        while f64::from(overhead + 1) * ln(self.q) <= -ln(drawn) {
            overhead += 1;
        }
        overhead
    }
}

impl Code for Linear {
    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict {
        let needed = attempt.data_units + self.overhead(attempt.codeword);
        match received.get(needed as usize - 1) {
            Some(last) => Verdict::Decoded(last.arrival),
            None => Verdict::Missing(needed - u32::try_from(received.len()).unwrap_or(needed)),
        }
    }
}

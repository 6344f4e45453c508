use tmt_core::math::rng::Uniform;
use tmt_core::scheme::engine::{Attempt, Code, ReceivedUnit, Verdict};

/// A random linear code over GF(2): ND + k units fail to decode with probability 2^-(k + 1).
#[derive(Debug, Clone)]
pub(crate) struct RandomLinear {
    pub(crate) seed: u64,
}

impl Code for RandomLinear {
    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict {
        let needed = attempt.data_units + overhead(self.seed, attempt.codeword);
        match received.get(needed as usize - 1) {
            Some(last) => Verdict::Decoded(last.arrival),
            None => Verdict::Missing(needed - u32::try_from(received.len()).unwrap()),
        }
    }
}

/// Units that a codeword needs beyond ND.
pub(crate) fn overhead(seed: u64, codeword: u64) -> u32 {
    let mut number = Uniform::named(seed, "random-linear", 0).at(codeword);
    let mut units = 0;
    while number < 0.5 && units < 32 {
        number *= 2.0;
        units += 1;
    }
    units
}

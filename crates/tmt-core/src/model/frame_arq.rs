//! `frame-arq`: a codeword is repeated as a whole, without combining (docs/models.md, Sec. 3.4; Barakat 2004, Sec. 2).

use super::arq::RTT;
use super::chain::Measure;
use super::fec::{self, Code, ND, NR, TP, of};
use super::ge::{self, ALPHA, BETA, DEPTH, PB, PG};

use crate::math::num::{floor_u64, pow};
use crate::types::to_f64;

keys! {
    R: Count(0, 1 << 32), "R" | "r" | "rounds", "largest number of rounds; unlimited if omitted";
}

/// A frame that is sent until it is decoded or given up. The channel is independent between attempts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameArq {
    /// P(an attempt fails): more than NR erasures among N.
    pub fail: f64,
    /// P(all attempts fail, so that the frame is given up).
    pub given_up: f64,
    /// Mean number of attempts per frame.
    pub attempts: f64,
    /// Mean failed attempts of a frame that is delivered.
    pub in_vain: f64,
    /// Mean LLDUs of an attempt that decodes, up to the ND-th received one.
    pub until_enough: f64,
}

impl FrameArq {
    /// Evaluates frames of `code` with at most `rounds` rounds; `None` is unlimited.
    #[must_use]
    pub fn new(code: &Code, rounds: Option<f64>) -> Self {
        let block = code.block();
        let fail = block.fail;
        let given_up = rounds.map_or(0.0, |rounds| pow(fail, rounds + 1.0));
        let through = block.decode;
        // Of frames delivered, P(k failed attempts) = fail^k / Σ fail^i, i = 0 … R.
        let (attempts, in_vain) = match rounds {
            None => (1.0 / through, fail / through),
            Some(rounds) => {
                let (sum, weighted) = geometric(fail, floor_u64(rounds) + 1);
                (sum, weighted / sum)
            }
        };
        // The ND-th LLDU has not been received within n LLDUs if more than n − ND of them are erased.
        let mut census = Measure::stationary(code.chain, code.repair).after(code.data);
        let mut early = 0.0;
        for erasures in 0..code.repair {
            early += census.up_to(erasures);
            census.step();
        }
        Self {
            fail,
            given_up,
            attempts,
            in_vain,
            until_enough: of(code.units()) - if through > 0.0 { early / through } else { 0.0 },
        }
    }
}

/// Σ x^k and Σ k x^k for k = 0 … terms − 1, by repeated doubling, with positive terms only.
fn geometric(x: f64, terms: u64) -> (f64, f64) {
    let (mut sum, mut weighted, mut power, mut done) = (0.0, 0.0, 1.0, 0);
    for bit in (0..u64::BITS - terms.leading_zeros()).rev() {
        // Doubles the number of terms.
        weighted += power * (weighted + to_f64(done) * sum);
        sum += power * sum;
        power *= power;
        done *= 2;
        if terms >> bit & 1 == 1 {
            sum += power;
            weighted += power * to_f64(done);
            power *= x;
            done += 1;
        }
    }
    (sum, weighted)
}

closed_form! {
    /// `tmt model frame-arq`.
    pub static MODEL: "frame-arq",
        "Frame ARQ: efficiency, residual loss and delay of codewords that are repeated as a whole";
    source: "Barakat 2004, Sec. 2 (frames of K out of N units); docs/schemes.md, Sec. 2 to 5";
    notes: [
        "The channel is independent between attempts, which are one RTT apart. Only LLDUs of one attempt count, and a \
         frame is delivered as a whole or not at all",
        "An attempt is sent without gaps: waiting for a free slot is ignored",
        ge::STAYING,
    ];
    example: "nd=10 nr=2 R=3 alpha=0.99 beta=0.8";
    keys: [ND, NR, R, RTT, TP, ALPHA, BETA, PG, PB, DEPTH];
    answer(arguments) {
        let code = fec::code(arguments)?;
        let rounds = arguments.maybe(&R);
        let (rtt, tp) = (arguments.number(&RTT), arguments.number(&TP));
        let spacing = tp * to_f64(arguments.count(&DEPTH));
        let frame = FrameArq::new(&code, rounds);
        let through = code.block().decode;
        let (data, units) = (of(code.data), of(code.units()));
        let again = rtt + (units - 1.0) * spacing;
        let within = (frame.until_enough - f64::midpoint(data, 1.0)) * spacing;
        let late = if again > 0.0 {
            frame.in_vain * again
        } else {
            0.0
        };
        let delivers = through > 0.0;
    }
    results {
        "p_decode" = through, "P(an attempt decodes)";
        "p_fail" = frame.fail, "P(an attempt does not decode)";
        "eta" = data / units * through, "data LLDUs delivered / LLDUs sent";
        "residual_loss" = if rounds.is_none() && !delivers { 1.0 } else { frame.given_up },
            "data LLDUs lost / data LLDUs sent";
        "mean_attempts" = frame.attempts, "mean attempts per frame";
        "delay" = delivers.then_some(rtt / 2.0 + late + within),
            "mean delay of a delivered LLDU, until the ND-th received LLDU of its attempt, s";
    }
    remarks {
        if !delivers => "no attempt decodes: delay has no value";
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::chain::Chain;

    fn code(p: f64, data: usize, repair: usize) -> Code {
        Code {
            chain: Chain::memoryless(p).unwrap(),
            data,
            repair,
        }
    }

    #[test]
    fn a_frame_of_one_is_arq() {
        for p in [0.0, 1e-9, 0.1, 0.6] {
            let frame = FrameArq::new(&code(p, 1, 0), None);
            assert!((frame.attempts * (1.0 - p) - 1.0).abs() < 1e-14);
            assert!((frame.in_vain - p / (1.0 - p)).abs() < 1e-14);
            assert!((frame.until_enough - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn the_place_of_the_last_needed_is_negative_binomial() {
        // P(the third of three received is the n-th) = C(n − 1, 2) (1 − p)^3 p^(n − 3), cut at n = 5.
        let p: f64 = 0.3;
        let frame = FrameArq::new(&code(p, 3, 2), None);
        let weights = [1.0, 3.0 * p, 6.0 * p * p];
        let mean =
            (3.0 * weights[0] + 4.0 * weights[1] + 5.0 * weights[2]) / weights.iter().sum::<f64>();
        assert!((frame.until_enough - mean).abs() < 1e-14);
    }

    #[test]
    fn a_frame_that_never_decodes_uses_all_rounds() {
        let frame = FrameArq::new(&code(1.0, 4, 1), Some(5.0));
        assert!((frame.attempts - 6.0).abs() < 1e-14);
        assert!((frame.given_up - 1.0).abs() < 1e-14);
    }

    proptest! {
        #[test]
        fn attempts_are_the_sum_of_their_probabilities(p in 0.0..0.9f64, data in 1usize..9, repair in 0usize..5, rounds in 0u32..9) {
            let code = code(p, data, repair);
            let frame = FrameArq::new(&code, Some(f64::from(rounds)));
            let (mut attempts, mut vain, mut delivered) = (0.0, 0.0, 0.0);
            let mut reached = 1.0;
            for k in 0..=rounds {
                attempts += reached;
                vain += f64::from(k) * reached * (1.0 - frame.fail);
                delivered += reached * (1.0 - frame.fail);
                reached *= frame.fail;
            }
            prop_assert!((frame.attempts - attempts).abs() < 1e-9 * attempts);
            prop_assert!((frame.in_vain - vain / delivered).abs() < 1e-9 * (1.0 + vain / delivered));
            prop_assert!((frame.given_up - reached).abs() < 1e-12);
        }
    }
}

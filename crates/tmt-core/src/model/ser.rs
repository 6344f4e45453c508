//! Segment error rates of the code types of papers/003 (section III; models.md §3.5), and what they need.

mod descriptor;
mod required;
#[cfg(test)]
mod tests;

pub use required::required_ecn0_db;

use strum::{EnumString, VariantNames};

use super::block::{reed_solomon, symbol_error};
use super::conv::{Rate, ratio, uncoded_ber, viterbi};
use super::tail::binomial_tail;
use crate::math::num::at_least_one;
use crate::types::to_f64;

pub(super) use descriptor::{MODEL, REQUIRED};

/// What counts as the length of an error burst behind the Viterbi decoder, ebL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Burst {
    /// Wrong bits of a burst: p/ebL is the rate of bursts.
    Errors,
    /// Bits from the first to the last wrong one, the paper's wording: it understates that rate (C7).
    Span,
}

/// What stands around the convolutional code, or alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outer {
    /// Nothing: a segment of so many bits.
    None {
        /// Bits of a segment.
        bits: f64,
    },
    /// Reed-Solomon blocks.
    ReedSolomon {
        /// Symbols of a block.
        n: u64,
        /// Data symbols of a block, at most n.
        k: u64,
        /// Bits of a symbol.
        m: f64,
        /// Blocks of a segment.
        blocks: f64,
    },
    /// An erasure code over blocks that are lost whole.
    Erasure {
        /// Blocks of a segment.
        n: u64,
        /// Blocks of data, at most n.
        k: u64,
        /// Data bytes of a block.
        bytes: f64,
        /// Bits that a block has besides: check sum, number, flags.
        overhead: f64,
    },
}

/// A code, as a segment meets it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// The convolutional code next to the channel, where there is one.
    pub inner: Option<Rate>,
    /// What is around it.
    pub outer: Outer,
    /// How the length of its bursts is told.
    pub burst: Burst,
}

/// What comes of a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Bit error rate behind the convolutional code, or on the channel where there is none.
    pub ber: f64,
    /// ebL, 1 where there is no convolutional code.
    pub burst: f64,
    /// Segment error rate.
    pub segment: f64,
}

impl Code {
    /// Information bits a channel bit: the product of the codes' rates, an erasure block's overhead included.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let inner = self.inner.map_or(1.0, Rate::value);
        let outer = match self.outer {
            Outer::None { .. } => 1.0,
            Outer::ReedSolomon { n, k, .. } => to_f64(k) / to_f64(n),
            Outer::Erasure {
                n,
                k,
                bytes,
                overhead,
            } => to_f64(k) / to_f64(n) * (8.0 * bytes) / (8.0 * bytes + overhead),
        };
        inner * outer
    }

    /// Errors at `ec_n0`, energy of a channel bit over noise density, linear.
    #[must_use]
    pub fn errors(&self, ec_n0: f64) -> Errors {
        let (ber, burst) = match self.inner {
            None => (uncoded_ber(ec_n0), 1.0),
            Some(rate) => {
                let decoded = viterbi(rate, ec_n0);
                let burst = match self.burst {
                    Burst::Errors => decoded.errors_per_event,
                    Burst::Span => decoded.span,
                };
                (decoded.ber(), burst)
            }
        };
        Errors {
            ber,
            burst,
            segment: self.segment(ber, burst),
        }
    }

    /// The same at an energy in dB.
    #[must_use]
    pub fn errors_at(&self, ecn0_db: f64) -> Errors {
        self.errors(ratio(ecn0_db))
    }

    /// Segment error rate for bit errors at rate `ber` that come in bursts of `burst`.
    fn segment(&self, ber: f64, burst: f64) -> f64 {
        match self.outer {
            // A segment is lost when a burst begins in it; without a code every wrong bit is one.
            Outer::None { bits } => at_least_one(ber / burst, bits),
            Outer::ReedSolomon { n, k, m, blocks } => {
                let symbol = match self.inner {
                    None => at_least_one(ber, m),
                    Some(_) => symbol_error(ber, burst, m),
                };
                at_least_one(reed_solomon(n, k, symbol), blocks)
            }
            Outer::Erasure {
                n,
                k,
                bytes,
                overhead,
            } => {
                let block = at_least_one(ber / burst, 8.0 * bytes + overhead);
                binomial_tail(n, block, n - k)
            }
        }
    }
}

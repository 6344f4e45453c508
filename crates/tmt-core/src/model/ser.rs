//! `ser` and `ser-required`: segment error rates under a code, and the signal they need (Celandroni 2006, Sec. III;
//! docs/models.md, Sec. 4.3 and 4.4).

mod bursts;
mod descriptor;
pub mod keys;
mod required;
#[cfg(test)]
mod tests;

pub use bursts::LONGEST;
pub use required::required_ecn0_db;

use strum::{EnumString, VariantNames};

use super::block::{correctable, reed_solomon, symbol_error};
use super::conv::{Rate, ratio, uncoded_ber, viterbi};
use super::tail::binomial_tail;
use crate::math::num::{at_least_one, pow};
use crate::types::to_f64;

use bursts::Bursts;
pub(super) use descriptor::{MODEL, REQUIRED};

/// Definition of the length ebL of an error burst after the Viterbi decoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Burst {
    /// Wrong bits of a burst, so that p/ebL is the rate of bursts.
    Errors,
    /// Bits from the first to the last wrong one, as worded in Celandroni 2006, which understates that rate (C7).
    Span,
}

/// Interleaver of the symbols between a Reed–Solomon code and a convolutional one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Interleaver {
    /// Wrong symbols are independent.
    Ideal,
    /// Wrong symbols come in the bursts of the Viterbi decoder.
    None,
}

/// Outer code, around a convolutional code or alone.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outer {
    /// No outer code.
    None {
        /// Bits per segment.
        bits: f64,
    },
    /// Reed–Solomon code RS(n, k).
    ReedSolomon {
        /// Symbols per block; at most [`LONGEST`] without interleaver, where the time grows with the square.
        n: u64,
        /// Data symbols per block, at most n.
        k: u64,
        /// Bits per symbol, a whole number.
        m: f64,
        /// Blocks per segment.
        blocks: f64,
    },
    /// An erasure code over blocks; a block with a wrong bit is lost.
    Erasure {
        /// Blocks per segment.
        n: u64,
        /// Data blocks per segment, at most n.
        k: u64,
        /// Data bytes per block.
        bytes: f64,
        /// Further bits per block: checksum, number, flags.
        overhead: f64,
    },
}

/// A code for segments: an optional convolutional code and an outer code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Code {
    /// Convolutional code next to the channel; `None` without one.
    pub inner: Option<Rate>,
    /// Outer code, which corrects what the inner code leaves.
    pub outer: Outer,
    /// Definition of the burst length.
    pub burst: Burst,
    /// Interleaver of Reed–Solomon symbols; without meaning for other codes.
    pub interleaver: Interleaver,
}

/// Error rates of a segment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Errors {
    /// Bit error rate after the convolutional code, or on the channel without such a code.
    pub ber: f64,
    /// Burst length ebL, bits; 1 without a convolutional code.
    pub burst: f64,
    /// Segment error rate, in [0, 1].
    pub segment: f64,
}

impl Code {
    /// Information bits per channel bit: the product of the code rates, with the overhead of erasure blocks.
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

    /// Whether such a code exists: a Reed–Solomon code of m bits per symbol has at most 2^m + 1 symbols, extended.
    #[must_use]
    pub fn exists(&self) -> bool {
        match self.outer {
            Outer::ReedSolomon { n, m, .. } => to_f64(n) <= pow(2.0, m) + 1.0,
            _ => true,
        }
    }

    /// Data bits of a segment.
    #[must_use]
    pub fn segment_bits(&self) -> f64 {
        match self.outer {
            Outer::None { bits } => bits,
            Outer::ReedSolomon { k, m, blocks, .. } => to_f64(k) * m * blocks,
            Outer::Erasure { k, bytes, .. } => to_f64(k) * 8.0 * bytes,
        }
    }

    /// Error rates at `ec_n0`, the energy per channel bit over noise density, linear.
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

    /// Error rates at an Ec/N0 in dB.
    #[must_use]
    pub fn errors_at(&self, ecn0_db: f64) -> Errors {
        self.errors(ratio(ecn0_db))
    }

    /// Segment error rate for a bit error rate `ber` in bursts of length `burst`.
    fn segment(&self, ber: f64, burst: f64) -> f64 {
        match self.outer {
            // A segment is lost if a burst starts in it; without a code every wrong bit is a burst.
            Outer::None { bits } => at_least_one(ber / burst, bits),
            Outer::ReedSolomon { n, k, m, blocks } => {
                let block = match (self.inner, self.interleaver) {
                    (None, _) => reed_solomon(n, k, at_least_one(ber, m)),
                    (Some(_), Interleaver::Ideal) => {
                        reed_solomon(n, k, symbol_error(ber, burst, m))
                    }
                    (Some(_), Interleaver::None) if ber <= 0.0 => 0.0,
                    (Some(_), Interleaver::None) => {
                        Bursts::decoded(ber, burst).tail(n, m, correctable(n, k))
                    }
                };
                at_least_one(block, blocks)
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

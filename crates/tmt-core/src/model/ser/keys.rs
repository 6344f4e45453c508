//! Keys of a code, which all models with codes have.

use strum::VariantNames as _;

use super::bursts::LONGEST;
use super::{Burst, Code, Interleaver, Outer};
use crate::model::block::{self, MOST};
use crate::model::{Arguments, Key, ModelError};
use crate::types::to_f64;

pub use crate::model::conv::RATE;

keys! {
    pub SCHEME: Word(&["uncoded", "conv", "rs", "erasure", "rsconv", "erconv"]), "scheme" = "uncoded",
        "code: none, convolutional, Reed-Solomon, erasure, or one of the last two around a convolutional one";
    pub N: Count(1, MOST), "n",
        "symbols per Reed-Solomon block [default: 255], or blocks of an erasure code [default: 64]";
    pub K: Count(1, MOST), "k", "data symbols [default: 223], or data blocks [default: 48]";
    pub M: Count(1, 16), "m" = 8, "bits per Reed-Solomon symbol";
    pub BLOCKS: Count(1, 1_000_000_000), "blocks" = 5, "Reed-Solomon blocks per segment (1115 bytes in Celandroni 2006)";
    pub BITS: Positive, "bits" = 8920.0, "bits per segment without outer code (1115 bytes; 8832 for 1104 bytes)";
    pub BYTES: Positive, "block_bytes" = 23.0, "data bytes per erasure block (23, 46, 92 in Celandroni 2006)";
    pub OVERHEAD: NonNegative, "overhead_bits" = 32.0, "further bits per erasure block: checksum, number, flags";
    pub EBL: Word(Burst::VARIANTS), "ebl" = "errors",
        "burst length: wrong bits, or bits from the first to the last wrong one (C7)";
    pub INTERLEAVER: Word(Interleaver::VARIANTS), "interleaver" = "ideal",
        "Reed-Solomon around a convolutional code: ideal, or none, where wrong symbols come in bursts";
}

/// Symbols or blocks of a codeword, and those with data, of the arguments or else these.
pub(crate) fn sizes(arguments: &Arguments, n: u64, k: u64) -> Result<(u64, u64), ModelError> {
    let size = |key: &Key, preset| {
        arguments
            .maybe(key)
            .map_or(preset, crate::math::num::floor_u64)
    };
    let (n, k) = (size(&N, n), size(&K, k));
    block::check(n, k).map(|()| (n, k))
}

/// The code of the arguments.
///
/// # Errors
/// More data than symbols, or a block that is too long for a computation without interleaver.
pub fn code(arguments: &Arguments) -> Result<Code, ModelError> {
    let scheme = arguments.word(&SCHEME);
    let inner = matches!(scheme, "conv" | "rsconv" | "erconv");
    let interleaver = arguments.choice(&INTERLEAVER);
    let sizes = |n, k| sizes(arguments, n, k);
    let outer = match scheme {
        "rs" | "rsconv" => {
            let (n, k) = sizes(255, 223)?;
            if inner && interleaver == Interleaver::None && n > LONGEST {
                return Err(ModelError::refused(format!(
                    "interleaver=none: n={n} symbols are too many; at most {LONGEST}"
                )));
            }
            Outer::ReedSolomon {
                n,
                k,
                m: to_f64(arguments.count(&M)),
                blocks: to_f64(arguments.count(&BLOCKS)),
            }
        }
        "erasure" | "erconv" => {
            let (n, k) = sizes(64, 48)?;
            Outer::Erasure {
                n,
                k,
                bytes: arguments.number(&BYTES),
                overhead: arguments.number(&OVERHEAD),
            }
        }
        _ => Outer::None {
            bits: arguments.number(&BITS),
        },
    };
    Ok(Code {
        inner: inner.then(|| arguments.choice(&RATE)),
        outer,
        burst: arguments.choice(&EBL),
        interleaver,
    })
}

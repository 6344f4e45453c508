//! Keys and descriptions of `ser` and `ser-required`.

use strum::VariantNames as _;

use super::{Burst, Code, Outer, required_ecn0_db};
use crate::model::block::{self, MOST};
use crate::model::conv::{EBN0, ECN0, LOOSE, RATE, decibels, energies};
use crate::model::{Arguments, Key, ModelError, Outcome};
use crate::types::to_f64;

keys! {
    pub(crate) SCHEME: Word(&["uncoded", "conv", "rs", "erasure", "rsconv", "erconv"]), "scheme" = "uncoded",
        "code: none, convolutional, Reed-Solomon, erasure, or one of the last two around a convolutional one";
    pub(crate) N: Count(1, MOST), "n",
        "symbols per Reed-Solomon block [default: 255], or blocks of an erasure code [default: 64]";
    pub(crate) K: Count(1, MOST), "k", "data symbols [default: 223], or data blocks [default: 48]";
    M: Count(1, 16), "m" = 8, "bits per Reed-Solomon symbol";
    BLOCKS: Count(1, 1_000_000_000), "blocks" = 5, "Reed-Solomon blocks per segment (1115 bytes in Celandroni 2006)";
    BITS: Positive, "bits" = 8920.0, "bits per segment without outer code (1115 bytes; 8832 for 1104 bytes)";
    pub(crate) BYTES: Positive, "block_bytes" = 23.0, "data bytes per erasure block (23, 46, 92 in Celandroni 2006)";
    OVERHEAD: NonNegative, "overhead_bits" = 32.0, "further bits per erasure block: checksum, number, flags";
    EBL: Word(Burst::VARIANTS), "ebl" = "errors",
        "burst length: wrong bits, or bits from the first to the last wrong one (C7)";
    TARGET: Probability, "target" | "ser" = 1e-4, "required segment error rate, below 1";
}

const SOURCE: &str = "Celandroni 2006, Sec. III, eq. (16), (17) and the relations for SER; docs/models.md, Sec. 4.3, 4.4";
const NOTES: [&str; 5] = [
    "BPSK or QPSK in white noise; after the Viterbi decoder the union bound of model conv",
    "Reed-Solomon alone: independent bit errors. Around a convolutional code: ideal symbol interleaver, eq. (17)",
    "Erasure codes: a block is lost if any of its bits is wrong; up to n - k lost blocks are recovered; no interleaver",
    "C7: p/ebL must be the rate of bursts, so ebL is the number of wrong bits of a burst; the paper uses the length of \
     the burst, which understates the rate",
    "C8, C9: in the paper's generator of bursts, needed only without interleaver, the mean distance is ebL/p and its \
     distribution P(D=v) = p_d (1-p_d)^(v-K+1), v = K-1, K, …",
];

closed_form! {
    /// `tmt model ser`.
    pub(in crate::model) static MODEL: "ser", "Segment error rate in white noise under a code";
    source: SOURCE;
    notes: NOTES;
    example: "scheme=rsconv rate=7/8 ebn0_db=4.5";
    keys: [SCHEME, RATE, N, K, M, BLOCKS, BITS, BYTES, OVERHEAD, ECN0, EBN0, EBL];
    answer(arguments) {
        let code = code(arguments)?;
        let (channel, information) = energies(arguments, code.rate())?;
        let errors = code.errors_at(channel);
    }
    results {
        "rate" = code.rate(), "information bits per channel bit, all codes together";
        "ecn0_db" = channel, "Ec/N0, dB";
        "ebn0_db" = information, "Eb/N0, dB";
        "ber" = errors.ber, "bit error rate on the channel, or after the convolutional code";
        "ebl" = errors.burst, "length of an error burst, bits";
        "ser" = errors.segment, "segment error rate";
    }
    and remarked(&code, channel);
}

closed_form! {
    /// `tmt model ser-required`.
    pub(in crate::model) static REQUIRED: "ser-required", "Signal strength needed for a segment error rate under a code";
    source: SOURCE;
    notes: NOTES;
    example: "scheme=erasure target=1e-4";
    keys: [TARGET, SCHEME, RATE, N, K, M, BLOCKS, BITS, BYTES, OVERHEAD, EBL];
    answer(arguments) {
        let code = code(arguments)?;
        let channel = required_ecn0_db(&code, arguments.number(&TARGET))?;
    }
    results {
        "ecn0_db" = channel, "Ec/N0, dB";
        "ebn0_db" = channel - decibels(code.rate()), "Eb/N0, dB";
        "rate" = code.rate(), "information bits per channel bit, all codes together";
    }
    and remarked(&code, channel);
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
fn code(arguments: &Arguments) -> Result<Code, ModelError> {
    let scheme = arguments.word(&SCHEME);
    let inner = matches!(scheme, "conv" | "rsconv" | "erconv");
    let sizes = |n, k| sizes(arguments, n, k);
    let outer = match scheme {
        "rs" | "rsconv" => {
            let (n, k) = sizes(255, 223)?;
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
    })
}

/// Adds remarks on a code at an Ec/N0.
fn remarked(outcome: Outcome, code: &Code, ecn0_db: f64) -> Outcome {
    let loose = code.inner.is_some() && code.errors_at(ecn0_db).ber > 1e-3;
    let long = match code.outer {
        // A code over 2^m values may be extended to 2^m + 1 symbols.
        Outer::ReedSolomon { n, m, .. } => to_f64(n) > crate::math::num::pow(2.0, m) + 1.0,
        _ => false,
    };
    outcome.remark_if(loose, LOOSE).remark_if(
        long,
        "no Reed-Solomon code of n symbols exists with m bits per symbol: eq. (16) is used formally",
    )
}

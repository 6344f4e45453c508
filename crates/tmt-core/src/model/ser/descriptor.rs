//! Codes by their keys.

use strum::VariantNames as _;

use super::{Burst, Code, Outer, required_ecn0_db};
use crate::model::block::{self, MOST};
use crate::model::conv::{EBN0, ECN0, LOOSE, RATE, decibels, energies};
use crate::model::{Arguments, Key, ModelError, Outcome};
use crate::types::to_f64;

keys! {
    SCHEME: Word(&["uncoded", "conv", "rs", "erasure", "rsconv", "erconv"]), "scheme" = "uncoded",
        "code: none, convolutional, Reed-Solomon, erasure, or one of these two around a convolutional one";
    N: Count(1, MOST), "n",
        "symbols of a Reed-Solomon block (the paper's 255 when left out), blocks of an erasure code (64)";
    K: Count(1, MOST), "k", "those of data (the paper's 223, and 48)";
    M: Count(1, 16), "m" = 8, "bits of a Reed-Solomon symbol";
    BLOCKS: Count(1, 1_000_000_000), "blocks" = 5, "Reed-Solomon blocks of a segment (the paper's 1115 bytes)";
    BITS: Positive, "bits" = 8920.0, "bits of a segment without outer code (1115 bytes; 8832 for 1104)";
    BYTES: Positive, "block_bytes" = 23.0, "data bytes of an erasure block (the paper's 23, 46, 92)";
    OVERHEAD: NonNegative, "overhead_bits" = 32.0, "bits of an erasure block besides";
    EBL: Word(Burst::VARIANTS), "ebl" = "errors",
        "burst length: wrong bits, or bits from the first to the last wrong one (the paper's wording, C7)";
    TARGET: Probability, "target" | "ser" = 1e-4, "segment error rate that is wanted, below 1";
}

const SOURCE: &str =
    "Celandroni 2006 (papers/003), section III, eq (16)-(17) and the relations for SER";
const NOTES: [&str; 5] = [
    "BPSK or QPSK in white noise; behind the Viterbi decoder the union bound of model conv",
    "Reed-Solomon alone: independent bits. Around a convolutional code: ideal symbol interleaver, (17)",
    "Erasure codes: a block is lost when any of its bits is wrong; n - k lost blocks are recovered; no interleaver",
    "C7: p/ebL must be the rate of bursts, so that ebL is the number of wrong bits of a burst; the paper takes the \
     bursts' whole length, which understates it",
    "C8, C9: of the paper's generator of bursts, needed only without interleaver, the mean distance is ebL/p and the \
     law P(D=v) = p_d (1-p_d)^(v-K+1) from v = K-1 on",
];

closed_form! {
    /// The model's face.
    pub(in crate::model) static MODEL: "ser", "How often a segment is lost in white noise under a code";
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
        "rate" = code.rate(), "information bits a channel bit, all codes together";
        "ecn0_db" = channel, "Ec/N0, dB";
        "ebn0_db" = information, "Eb/N0, dB";
        "ber" = errors.ber, "bit error rate on the channel, or behind the convolutional code";
        "ebl" = errors.burst, "length of a burst of errors, bits";
        "ser" = errors.segment, "segment error rate";
    }
    and remarked(&code, channel);
}

closed_form! {
    /// The other model's face.
    pub(in crate::model) static REQUIRED: "ser-required", "The signal that a segment error rate needs under a code";
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
        "rate" = code.rate(), "information bits a channel bit, all codes together";
    }
    and remarked(&code, channel);
}

/// The code that the arguments say.
fn code(arguments: &Arguments) -> Result<Code, ModelError> {
    let scheme = arguments.word(&SCHEME);
    let inner = matches!(scheme, "conv" | "rsconv" | "erconv");
    let sizes = |n: u64, k: u64| {
        let size = |key: &Key, preset| {
            arguments
                .maybe(key)
                .map_or(preset, crate::math::num::floor_u64)
        };
        let (n, k) = (size(&N, n), size(&K, k));
        block::check(n, k).map(|()| (n, k))
    };
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

/// What is to be said of a code at an energy.
fn remarked(outcome: Outcome, code: &Code, ecn0_db: f64) -> Outcome {
    let loose = code.inner.is_some() && code.errors_at(ecn0_db).ber > 1e-3;
    let long = match code.outer {
        // A code over 2^m values may be extended to 2^m + 1 symbols.
        Outer::ReedSolomon { n, m, .. } => to_f64(n) > crate::math::num::pow(2.0, m) + 1.0,
        _ => false,
    };
    outcome.remark_if(loose, LOOSE).remark_if(
        long,
        "there is no Reed-Solomon code of n symbols with so few bits a symbol: (16) is used formally",
    )
}

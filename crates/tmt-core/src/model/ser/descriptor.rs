//! Keys and descriptions of `ser` and `ser-required`.

use super::keys::{BITS, BLOCKS, BYTES, EBL, INTERLEAVER, K, M, N, OVERHEAD, RATE, SCHEME, code};
use super::{Code, required_ecn0_db};
use crate::model::Outcome;
use crate::model::conv::{EBN0, ECN0, LOOSE, decibels, energies};

keys! {
    TARGET: Probability, "target" | "ser" = 1e-4, "required segment error rate, below 1";
}

const SOURCE: &str = "Celandroni 2006, Sec. III, eq. (16), (17) and the relations for SER; docs/models.md, Sec. 4.3, 4.4";
const NOTES: [&str; 6] = [
    "BPSK or QPSK in white noise; after the Viterbi decoder the union bound of model conv",
    "Reed-Solomon alone: independent bit errors. Around a convolutional code: ideal symbol interleaver, eq. (17), or none",
    "interleaver=none: bursts of ebL wrong bits on average, gaps of K - 1 right bits or more, both geometric; the law of the \
     wrong symbols of a block is exact for them",
    "Erasure codes: a block is lost if any of its bits is wrong; up to n - k lost blocks are recovered; no interleaver",
    "C7: p/ebL must be the rate of bursts, so ebL is the number of wrong bits of a burst; the paper uses the length of \
     the burst, which understates the rate",
    "C8, C9: in the paper's generator of bursts, for interleaver=none, the mean distance is ebL/p and its \
     distribution P(D=v) = p_d (1-p_d)^(v-K+1), v = K-1, K, …",
];

closed_form! {
    /// `tmt model ser`.
    pub(in crate::model) static MODEL: "ser", "Segment error rate in white noise under a code";
    source: SOURCE;
    notes: NOTES;
    example: "scheme=rsconv rate=7/8 ebn0_db=4.5";
    keys: [SCHEME, RATE, N, K, M, BLOCKS, BITS, BYTES, OVERHEAD, ECN0, EBN0, EBL, INTERLEAVER];
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
    keys: [TARGET, SCHEME, RATE, N, K, M, BLOCKS, BITS, BYTES, OVERHEAD, EBL, INTERLEAVER];
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

/// Adds remarks on a code at an Ec/N0.
fn remarked(outcome: Outcome, code: &Code, ecn0_db: f64) -> Outcome {
    let loose = code.inner.is_some() && code.errors_at(ecn0_db).ber > 1e-3;
    outcome.remark_if(loose, LOOSE).remark_if(
        !code.exists(),
        "no Reed-Solomon code of n symbols exists with m bits per symbol: eq. (16) is used formally",
    )
}

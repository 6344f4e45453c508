//! `code-goodput`: one code and modulation; `envelope` is the best of them.

use tmt_core::model::linkbudget::Carrier;
use tmt_core::model::ser::keys::{
    BITS, BLOCKS, BYTES, EBL, INTERLEAVER, K, M, N, OVERHEAD, RATE, SCHEME, code,
};
use tmt_core::{closed_form, keys};

use super::super::congestion::{B, BETA, TAU};
use super::super::relation15::T0;
use super::codes::named;
use super::{CN0, CONNECTIONS, LINKS, RHO, SYMBOLS, TG, read, with_code};

keys! {
    MODULATION: Word(&["bpsk", "qpsk"]), "modulation" = "qpsk", "bits per symbol: 1 (BPSK) or 2 (QPSK)";
}

closed_form! {
    /// `tmt model code-goodput` (docs/models.md, Sec. 4.7).
    pub(crate) static MODEL: "code-goodput", "TCP goodput with one code and modulation at a C/N0";
    source: "Celandroni 2006, Sec. IV, Fig. 4; docs/models.md, Sec. 4.7";
    notes: [
        "Long-lived connections; envelope is the highest result over BPSK, QPSK and the codes of a family",
        "A segment has bits (uncoded, conv), k m blocks (rs, rsconv) or 8 k block_bytes (erasure, erconv) bits of data",
        "Codes as in ser, TCP as in envelope",
    ];
    example: "cn0_db=68 scheme=rsconv rate=3/4 interleaver=none tg=hybrid";
    keys: [
        CN0, MODULATION, SCHEME, RATE, N, K, M, BLOCKS, BITS, BYTES, OVERHEAD, EBL, INTERLEAVER, SYMBOLS, RHO, TAU, BETA, B,
        TG, T0, CONNECTIONS, LINKS,
    ];
    answer(arguments) {
        let (carrier, path) = read(arguments)?;
        let bits = if arguments.word(&MODULATION) == "bpsk" { 1.0 } else { 2.0 };
        let carrier = Carrier { bits, ..carrier };
        let code = code(arguments)?;
        let found = with_code(&code, &carrier, &path)?;
    }
    results {
        "code" = named(&code.outer, code.inner), "the code";
        "goodput" = found.bits(), "goodput of all connections, bit/s";
        "info_rate" = found.rate, "information rate, bit/s";
        "ser" = found.segment, "segment error rate";
        "Tg" = found.norm, "goodput over the information rate";
        "ecn0_db" = carrier.ecn0_db(), "Ec/N0, dB";
        "ebn0_db" = carrier.ebn0_db(code.rate()), "Eb/N0, dB";
    }
    remarks {
        if !code.exists() => "no Reed-Solomon code of n symbols exists with m bits per symbol: eq. (16) is used formally";
        if found.segment >= 1.0 => "every segment is lost";
    }
}

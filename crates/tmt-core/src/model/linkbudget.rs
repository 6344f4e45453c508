//! `linkbudget`: bit rates of a carrier and energies of its bits (Celandroni 2006, eq. (18), (19); docs/models.md,
//! Sec. 4.5).

use super::conv::decibels;

/// A carrier, or the assigned part of one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Carrier {
    /// Carrier power over noise density C/N0, dBHz.
    pub cn0_db: f64,
    /// Bits per symbol, η = log2 M: 1 for BPSK, 2 for QPSK.
    pub bits: f64,
    /// Symbol rate of the carrier B, symbols/s.
    pub symbols: f64,
    /// Assigned share of the carrier ρ, in [0, 1].
    pub part: f64,
}

impl Carrier {
    /// Channel bit rate R_c = η ρ B, bit/s.
    #[must_use]
    pub fn channel_rate(&self) -> f64 {
        self.bits * self.part * self.symbols
    }

    /// Information bit rate R_i = η c_r ρ B, bit/s, eq. (19).
    #[must_use]
    pub fn information_rate(&self, code_rate: f64) -> f64 {
        code_rate * self.channel_rate()
    }

    /// Energy per channel bit Ec/N0 = C/N0 − 10 lg R_c, dB, eq. (18).
    #[must_use]
    pub fn ecn0_db(&self) -> f64 {
        self.cn0_db - decibels(self.channel_rate())
    }

    /// Energy per information bit Eb/N0 = C/N0 − 10 lg R_i, dB, eq. (18).
    #[must_use]
    pub fn ebn0_db(&self, code_rate: f64) -> f64 {
        self.cn0_db - decibels(self.information_rate(code_rate))
    }
}

keys! {
    CN0: Real, "cn0_db" | "CN0" | "cn0" = 70.0, "carrier power over noise density C/N0, dBHz";
    ETA: Positive, "eta" = 2.0, "bits per symbol: 1 BPSK, 2 QPSK";
    CODE: Probability, "code_rate" = 0.5, "rate of all codes together";
    SYMBOLS: Positive, "symrate" = 2e6, "symbol rate of the carrier, symbols/s";
    RHO: Probability, "rho" = 0.5, "assigned share of the carrier";
}
closed_form! {
    /// `tmt model linkbudget`.
    pub(super) static MODEL: "linkbudget", "Bit rates of a carrier and energies of its bits";
    source: "Celandroni 2006, Sec. III.B, eq. (18), Sec. IV.A, eq. (19); docs/models.md, Sec. 4.5";
    notes: [
        "C11: eq. (19) calls the information bit rate mu; the mu of TCP is that divided by the bits per segment",
        "C12: that one of two codes needs less spectrum for the same information rate only means that its rate is higher; \
         it does not say anything about the segment error rate",
        "If only a share of the carrier is assigned in time, its power is unchanged: as in the paper, the bits of that share \
         have the energy that C/N0 gives a carrier of their rate",
    ];
    example: "cn0_db=70 eta=2 code_rate=0.75";
    keys: [CN0, ETA, CODE, SYMBOLS, RHO];
    answer(arguments) {
        let carrier = Carrier {
            cn0_db: arguments.number(&CN0),
            bits: arguments.number(&ETA),
            symbols: arguments.number(&SYMBOLS),
            part: arguments.number(&RHO),
        };
        let code_rate = arguments.number(&CODE);
    }
    results {
        "info_rate" = carrier.information_rate(code_rate), "information bits/s";
        "channel_rate" = carrier.channel_rate(), "channel bits/s";
        "ebn0_db" = carrier.ebn0_db(code_rate), "Eb/N0, dB";
        "ecn0_db" = carrier.ecn0_db(), "Ec/N0, dB";
    }
}

//! `conv`: bit errors after a Viterbi decoder of the K = 7 code and its punctured rates, by the union bound
//! (docs/models.md, Sec. 4.1; Celandroni 2006, Sec. III.A).

#[cfg(test)]
mod tests;

use strum::{EnumIter, EnumString, IntoStaticStr, VariantNames};

use super::{Arguments, ModelError};
use crate::math::normal::upper_tail;

use crate::math::num::{log10, pow};

/// A rate of the convolutional code with generators (171, 133) octal and constraint length 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumIter, EnumString, IntoStaticStr, VariantNames)]
pub enum Rate {
    /// Rate 1/2, without puncturing.
    #[strum(serialize = "1/2")]
    Half,
    /// Rate 2/3, punctured.
    #[strum(serialize = "2/3")]
    TwoThirds,
    /// Rate 3/4, punctured.
    #[strum(serialize = "3/4")]
    ThreeQuarters,
    /// Rate 5/6, punctured.
    #[strum(serialize = "5/6")]
    FiveSixths,
    /// Rate 7/8, punctured.
    #[strum(serialize = "7/8")]
    SevenEighths,
}

/// A term of the distance spectrum: weight d, number of paths a, wrong information bits c, and bits l from the first to
/// the last wrong one. The last three are summed over the phases of a puncturing period.
type Term = (f64, f64, f64, f64);

/// Enumerated from generators and puncturing patterns, as `tests.rs` repeats. The leading terms agree with the tables of
/// Yasuda et al. (IEEE Trans. Commun., 1984) and of Haccoun and Bégin (1989).
const HALF: [Term; 9] = [
    (10.0, 11.0, 36.0, 55.0),
    (12.0, 38.0, 211.0, 353.0),
    (14.0, 193.0, 1404.0, 2300.0),
    (16.0, 1331.0, 11633.0, 20266.0),
    (18.0, 7275.0, 77433.0, 136_400.0),
    (20.0, 40406.0, 502_690.0, 888_049.0),
    (22.0, 234_969.0, 3_322_763.0, 5_939_251.0),
    (24.0, 1_337_714.0, 21_292_910.0, 38_293_813.0),
    (26.0, 7_594_819.0, 134_365_911.0, 242_538_601.0),
];
const TWO_THIRDS: [Term; 9] = [
    (6.0, 1.0, 3.0, 3.0),
    (7.0, 16.0, 70.0, 105.0),
    (8.0, 48.0, 285.0, 472.0),
    (9.0, 158.0, 1276.0, 2123.0),
    (10.0, 642.0, 6160.0, 10510.0),
    (11.0, 2435.0, 27128.0, 47713.0),
    (12.0, 9174.0, 117_019.0, 208_391.0),
    (13.0, 34701.0, 498_835.0, 896_692.0),
    (14.0, 131_533.0, 2_103_480.0, 3_814_434.0),
];
const THREE_QUARTERS: [Term; 9] = [
    (5.0, 8.0, 42.0, 62.0),
    (6.0, 31.0, 201.0, 332.0),
    (7.0, 160.0, 1492.0, 2539.0),
    (8.0, 892.0, 10469.0, 18210.0),
    (9.0, 4512.0, 62935.0, 111_709.0),
    (10.0, 23297.0, 379_546.0, 682_565.0),
    (11.0, 120_976.0, 2_252_394.0, 4_091_640.0),
    (12.0, 624_304.0, 13_064_540.0, 23_915_458.0),
    (13.0, 3_229_885.0, 75_080_308.0, 138_237_777.0),
];
const FIVE_SIXTHS: [Term; 9] = [
    (4.0, 14.0, 92.0, 150.0),
    (5.0, 69.0, 528.0, 943.0),
    (6.0, 654.0, 8694.0, 16026.0),
    (7.0, 4996.0, 79453.0, 148_926.0),
    (8.0, 39677.0, 791_795.0, 1_501_005.0),
    (9.0, 314_973.0, 7_369_828.0, 14_071_543.0),
    (10.0, 2_503_576.0, 67_809_347.0, 130_192_886.0),
    (11.0, 19_875_546.0, 609_896_348.0, 1_175_796_219.0),
    (12.0, 157_824_160.0, 5_416_272_113.0, 10_476_135_183.0),
];
const SEVEN_EIGHTHS: [Term; 9] = [
    (3.0, 2.0, 9.0, 14.0),
    (4.0, 46.0, 500.0, 895.0),
    (5.0, 499.0, 7437.0, 13495.0),
    (6.0, 5291.0, 105_707.0, 196_733.0),
    (7.0, 56137.0, 1_402_089.0, 2_636_510.0),
    (8.0, 598_557.0, 17_888_043.0, 33_892_854.0),
    (9.0, 6_371_293.0, 221_889_258.0, 422_627_343.0),
    (10.0, 67_889_502.0, 2_699_950_506.0, 5_163_238_268.0),
    (11.0, 723_039_772.0, 32_328_278_848.0, 62_012_961_412.0),
];

impl Rate {
    /// Name of the rate, such as `3/4`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Information bits per puncturing period, P.
    #[must_use]
    pub const fn period(self) -> f64 {
        self.code().0
    }

    /// Information bits per channel bit, r = P/(P + 1).
    #[must_use]
    pub const fn value(self) -> f64 {
        self.period() / (self.period() + 1.0)
    }

    /// Puncturing period and distance spectrum.
    const fn code(self) -> (f64, &'static [Term; 9]) {
        match self {
            Self::Half => (1.0, &HALF),
            Self::TwoThirds => (2.0, &TWO_THIRDS),
            Self::ThreeQuarters => (3.0, &THREE_QUARTERS),
            Self::FiveSixths => (5.0, &FIVE_SIXTHS),
            Self::SevenEighths => (7.0, &SEVEN_EIGHTHS),
        }
    }
}

/// Errors after the decoder.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decoded {
    /// Bit error rate by the union bound, which may exceed 1/2.
    pub ber_union: f64,
    /// Error events per information bit, by the union bound.
    pub event_rate: f64,
    /// Mean wrong bits per event.
    pub errors_per_event: f64,
    /// Mean bits from the first to the last wrong bit of an event.
    pub span: f64,
}

impl Decoded {
    /// Bit error rate: the union bound, at most 1/2.
    #[must_use]
    pub fn ber(&self) -> f64 {
        self.ber_union.min(0.5)
    }
}

/// Bit error rate of uncoded BPSK and QPSK, Q(√(2 Ec/N0)).
///
/// `ec_n0` is the energy per channel bit over noise density, linear, 0 or above.
#[must_use]
pub fn uncoded_ber(ec_n0: f64) -> f64 {
    upper_tail((2.0 * ec_n0).sqrt())
}

/// Errors after a soft-decision Viterbi decoder by the union bound over the nine leading terms:
/// Σ (c_d, a_d, l_d) Q(√(2 d Ec/N0)) / P.
///
/// `ec_n0` as for [`uncoded_ber`]. Accurate below a bit error rate of about 1e-4, an upper bound above it.
#[must_use]
pub fn viterbi(rate: Rate, ec_n0: f64) -> Decoded {
    let (period, spectrum) = rate.code();
    let (mut events, mut wrong, mut span) = (0.0, 0.0, 0.0);
    for &(weight, a, c, l) in spectrum {
        let confused = upper_tail((2.0 * weight * ec_n0).sqrt());
        events += a * confused;
        wrong += c * confused;
        span += l * confused;
    }
    let (ber_union, event_rate) = (wrong / period, events / period);
    if events < f64::MIN_POSITIVE {
        // At this level only paths of the smallest weight matter.
        let &(_, a, c, l) = &spectrum[0];
        (events, wrong, span) = (a, c, l);
    }
    Decoded {
        ber_union,
        event_rate,
        errors_per_event: wrong / events,
        span: span / events,
    }
}

/// The ratio for a value in decibels.
#[must_use]
pub fn ratio(decibels: f64) -> f64 {
    pow(10.0, decibels / 10.0)
}

/// The value in decibels of a ratio; −∞ for 0.
#[must_use]
pub fn decibels(ratio: f64) -> f64 {
    10.0 * log10(ratio)
}

keys! {
    pub RATE: Word(Rate::VARIANTS), "rate" = "1/2", "rate of the convolutional code";
    pub(crate) EBN0: Real, "ebn0_db" | "EbN0" | "ebn0",
        "energy per information bit over noise density Eb/N0, dB; exactly one of ebn0_db and ecn0_db";
    pub(crate) ECN0: Real, "ecn0_db" | "EcN0" | "ecn0", "energy per channel bit over noise density Ec/N0, dB";
}

/// Ec/N0 and Eb/N0, dB, from the one that is given, for a code of this `rate`.
///
/// # Errors
/// Neither is given, or both are.
pub(crate) fn energies(arguments: &Arguments, rate: f64) -> Result<(f64, f64), ModelError> {
    match (arguments.maybe(&ECN0), arguments.maybe(&EBN0)) {
        (Some(channel), None) => Ok((channel, channel - decibels(rate))),
        (None, Some(information)) => Ok((information + decibels(rate), information)),
        (None, None) => Err(ModelError::refused(
            "the signal strength is missing: give ebn0_db or ecn0_db",
        )),
        (Some(_), Some(_)) => Err(ModelError::refused(
            "ebn0_db and ecn0_db cannot be combined: give one of them",
        )),
    }
}

closed_form! {
    /// `tmt model conv`.
    pub(super) static MODEL: "conv",
        "Bit error rate after a Viterbi decoder of the K=7 convolutional code, by the union bound";
    source: "Celandroni 2006, Sec. III.A, with the curves of its reference [14]; docs/models.md, Sec. 4.1";
    notes: [
        "Code (171, 133) octal, K = 7, soft decisions without quantisation, BPSK or QPSK, white noise",
        "Punctured: 2/3 10/11, 3/4 101/110, 5/6 10101/11010, 7/8 1000101/1111010 (row of 171 / row of 133)",
        "Union bound over the nine leading terms of the spectrum: accurate below a bit error rate of about 1e-4",
        "span runs from the first to the last wrong bit of an event, correct bits between them included (C7)",
    ];
    example: "rate=3/4 ebn0_db=4.49";
    keys: [RATE, EBN0, ECN0];
    answer(arguments) {
        let rate: Rate = arguments.choice(&RATE);
        let (channel, information) = energies(arguments, rate.value())?;
        let decoded = viterbi(rate, ratio(channel));
    }
    results {
        "rate" = rate.value(), "information bits per channel bit";
        "ecn0_db" = channel, "Ec/N0, dB";
        "ebn0_db" = information, "Eb/N0, dB";
        "ber" = decoded.ber(), "bit error rate: the union bound, at most 0.5";
        "ber_union" = decoded.ber_union, "the union bound without that limit";
        "event_rate" = decoded.event_rate, "error events per information bit";
        "errors_per_event" = decoded.errors_per_event, "wrong bits per error event";
        "span" = decoded.span, "bits from the first to the last wrong bit of an event";
    }
    remarks {
        if decoded.ber_union > LOOSE_ABOVE => LOOSE;
    }
}

/// Bit error rate above which the union bound is inaccurate.
pub(super) const LOOSE_ABOVE: f64 = 1e-4;
/// Remark above that rate.
pub(super) const LOOSE: &str = "the union bound is loose above a bit error rate of about 1e-4: it is too high \
     (for rate 1/2 by a factor of 2 at 7e-4, of 8 at 4e-2)";

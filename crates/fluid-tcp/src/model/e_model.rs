//! `e-model`: quality of a call from its delay and its losses.
//!
//! Narrowband, with the default values of ITU-T G.107 (06/2015), Table 2, for all that a network does not decide: loudness,
//! noise, sidetone and echo losses. Wideband (G.107.1) is not modelled.

use tmt_core::math::num::{exp, log10, pow};
use tmt_core::{closed_form, keys};

/// Send and receive loudness ratings, dB.
const SLR: f64 = 8.0;
const RLR: f64 = 2.0;
/// Sidetone masking rating, and listener sidetone rating at D-value `DR`, dB.
const STMR: f64 = 15.0;
const LSTR: f64 = STMR + DR;
const DS: f64 = 3.0;
const DR: f64 = 3.0;
/// Talker echo loudness rating, and weighted echo path loss, dB.
const TELR: f64 = 65.0;
const WEPL: f64 = 110.0;
/// Quantisation distortion units.
const QDU: f64 = 1.0;
/// Circuit noise, dBm0p; noise floor, dBmp; room noise at both sides, dB(A).
const NC: f64 = -70.0;
const N_FOR: f64 = -64.0;
const PS: f64 = 35.0;
const PR: f64 = 35.0;
/// Smallest delay that is heard, ms. The sensitivity to delay, sT, is 1.
const LEAST_HEARD_MS: f64 = 100.0;

/// Impairments of a call. The rating is Ro − Is − Id − Ie,eff; the advantage factor A is 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quality {
    /// Rating without delay, codec and loss: Ro − Is.
    pub basic: f64,
    /// Impairment by delay, echoes included: Id.
    pub by_delay: f64,
    /// Impairment by the codec and by loss: Ie,eff.
    pub by_codec: f64,
}

impl Quality {
    /// Quality of a call with this absolute delay from mouth to ear, s, through a codec with Ie and Bpl. `lost` is the
    /// probability of a packet to be lost, 0 to 1, and `burst_ratio` the mean length of bursts of losses over that of
    /// random ones, 1 if they are random (G.107, Sec. 7).
    #[must_use]
    pub fn of(delay_s: f64, ie: f64, bpl: f64, lost: f64, burst_ratio: f64) -> Self {
        let noise = noise();
        let basic = 15.0 - 1.5 * (SLR + noise);
        let delay_ms = 1e3 * delay_s;
        let percent = 100.0 * lost;
        Self {
            basic: basic - simultaneous(basic, noise, delay_ms),
            by_delay: by_delay(basic, noise, delay_ms),
            // G.107, eq. (7-29).
            by_codec: ie + (95.0 - ie) * percent / (percent / burst_ratio + bpl),
        }
    }

    /// The transmission rating factor R, 0 to 100.
    #[must_use]
    pub fn rating(&self) -> f64 {
        (self.basic - self.by_delay - self.by_codec).clamp(0.0, 100.0)
    }

    /// The mean opinion score (G.107, Annex B): 1 to 4.5.
    #[must_use]
    pub fn mos(&self) -> f64 {
        mos(self.rating())
    }
}

/// Mean opinion score of a rating (G.107, eq. (B-4)).
#[must_use]
pub fn mos(rating: f64) -> f64 {
    if rating <= 0.0 {
        1.0
    } else if rating >= 100.0 {
        4.5
    } else {
        // Below a rating of 6.5 the polynomial falls under 1, which is the least score.
        (1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6).max(1.0)
    }
}

fn power(decibels: f64) -> f64 {
    pow(10.0, decibels / 10.0)
}

/// Sum of all noises at 0 dBr, dBm0p: eq. (7-3) to (7-7).
fn noise() -> f64 {
    let olr = SLR + RLR;
    let apart = PS - olr - DS - 14.0;
    let at_send = PS - SLR - DS - 100.0 + 0.004 * apart * apart;
    let effective = PR + 10.0 * log10(1.0 + power(10.0 - LSTR));
    let at_receive = RLR - 121.0 + effective + 0.008 * (effective - 35.0) * (effective - 35.0);
    let floor = N_FOR + RLR;
    10.0 * log10(power(NC) + power(at_send) + power(at_receive) + power(floor))
}

/// Impairments at the same time as the voice, Is: eq. (7-8) to (7-17).
fn simultaneous(basic: f64, noise: f64, delay_ms: f64) -> f64 {
    let olr = SLR + RLR;
    let too_loud = (olr + 0.2 * (64.0 + noise - RLR)) / 8.0;
    let loudness = 20.0 * (pow(1.0 + pow(too_loud, 8.0), 1.0 / 8.0) - too_loud);
    let quantised = 37.0 - 15.0 * log10(QDU);
    let g = 1.07 + 0.258 * quantised + 0.0602 * quantised * quantised;
    let y = (basic - 100.0) / 15.0 + 46.0 / 8.4 - g / 9.0;
    let z = 46.0 / 30.0 - g / 40.0;
    let quantising = 15.0 * log10(1.0 + pow(10.0, y) + pow(10.0, z));
    loudness + sidetone(delay_ms) + quantising
}

/// Impairment by sidetone, Ist: eq. (7-10) and (7-11).
fn sidetone(delay_ms: f64) -> f64 {
    let rating = -10.0 * log10(power(-STMR) + exp(-delay_ms / 4.0) * power(-TELR));
    let root = |from: f64, width: f64, order: f64| {
        let x = pow(((rating - from) / width).abs(), order);
        pow(1.0 + x, 1.0 / order)
    };
    // At these ratings, around 15 dB, the terms of odd order are of positive numbers.
    12.0 * root(13.0, 6.0, 8.0) - 28.0 * root(-1.0, 19.4, 35.0) - 13.0 * root(3.0, 33.0, 13.0)
        + 29.0
}

/// Impairment by delay, Id: talker echo, listener echo, and the delay itself, eq. (7-18) to (7-28). The echo paths have the
/// same delay: T = Ta, Tr = 2 Ta.
fn by_delay(basic: f64, noise: f64, delay_ms: f64) -> f64 {
    let talker = if delay_ms < 1.0 {
        0.0
    } else {
        let ratio = (1.0 + delay_ms / 10.0) / (1.0 + delay_ms / 150.0);
        let loudness = TELR - 40.0 * log10(ratio) + 6.0 * exp(-0.3 * delay_ms * delay_ms);
        let echo = 80.0 + 2.5 * (loudness - 14.0);
        let half = (-1.5 * (noise - RLR) - echo) / 2.0;
        (half + (half * half + 100.0).sqrt() - 1.0) * (1.0 - exp(-delay_ms))
    };
    let echo = 10.5 * (WEPL + 7.0) * pow(2.0 * delay_ms + 1.0, -0.25);
    let half = (basic - echo) / 2.0;
    let listener = half + (half * half + 169.0).sqrt();
    let absolute = if delay_ms <= LEAST_HEARD_MS {
        0.0
    } else {
        let x = log10(delay_ms / LEAST_HEARD_MS) / log10(2.0);
        let root = |x: f64| pow(1.0 + pow(x, 6.0), 1.0 / 6.0);
        25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
    };
    talker + listener + absolute
}

keys! {
    DELAY: NonNegative, "Ta" | "delay" = 0.0, "absolute delay from mouth to ear, s";
    IMPAIRMENT: NonNegative, "Ie" | "ie" = 0.0, "equipment impairment factor of the codec, up to 95";
    ROBUSTNESS: Positive, "Bpl" | "bpl" = 4.3, "packet-loss robustness factor of the codec";
    LOST: Probability, "Ppl" | "ppl" | "loss" = 0.0, "probability that a packet is lost";
    BURSTS: Positive, "BurstR" | "burst_ratio" = 1.0, "mean length of bursts of losses over that of random ones";
}

closed_form! {
    /// `tmt model e-model` (docs/models.md, Sec. 9.1).
    pub static MODEL: "e-model", "Quality of a call from its delay and its losses";
    source: "ITU-T G.107 (06/2015), Sec. 7 and Annex B; Ie and Bpl are in ITU-T G.113, Appendix I";
    notes: [
        "Narrowband; loudness, noise and echo have the default values of G.107, Table 2",
        "Both echo paths have the delay Ta; the advantage factor A is 0",
        "Presets of Ie and Bpl are those of G.711 without concealment of losses",
    ];
    example: "Ta=0.15 Ie=11 Bpl=19 Ppl=0.02";
    keys: [DELAY, IMPAIRMENT, ROBUSTNESS, LOST, BURSTS];
    answer(given) {
        let quality = Quality::of(
            given.number(&DELAY),
            given.number(&IMPAIRMENT),
            given.number(&ROBUSTNESS),
            given.number(&LOST),
            given.number(&BURSTS),
        );
    }
    results {
        "R" = quality.rating(), "transmission rating factor";
        "MOS" = quality.mos(), "mean opinion score, 1 to 4.5";
        "Id" = quality.by_delay, "impairment by delay and echo";
        "Ie_eff" = quality.by_codec, "impairment by codec and losses";
    }
    remarks {
        if quality.rating() < 50.0 => "a rating below 50 is not recommended for any call (G.109)";
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn quality_falls_with_delay_loss_and_bursts(
            delay in 0.0..1.0f64, ie in 0.0..40.0f64, bpl in 1.0..40.0f64, lost in 0.001..0.5f64, bursts in 1.0..8.0f64,
        ) {
            let at = |delay, lost, bursts| {
                let quality = Quality::of(delay, ie, bpl, lost, bursts);
                prop_assert!((0.0..=100.0).contains(&quality.rating()));
                Ok(quality.basic - quality.by_delay - quality.by_codec)
            };
            let base = at(delay, lost, bursts)?;
            prop_assert!(at(delay + 0.01, lost, bursts)? < base);
            prop_assert!(at(delay, lost + 0.01, bursts)? < base);
            prop_assert!(at(delay, lost, bursts + 0.1)? < base);
            prop_assert!((1.0..=4.5).contains(&mos(base)));
        }

        /// Cole and Rosenbluth 2001, eq. (2): Id is about 0.024 d + 0.11 (d − 177.3) H(d − 177.3), with d in ms.
        #[test]
        fn delay_impairs_as_its_published_approximation(delay in 0.01..0.35f64) {
            let ms = 1e3 * delay;
            let approximate = 0.024 * ms + 0.11 * (ms - 177.3).max(0.0);
            let found = Quality::of(delay, 0.0, 4.3, 0.0, 1.0).by_delay;
            prop_assert!((found - approximate).abs() < 2.0, "{delay} s: {found}, {approximate}");
        }
    }

    /// G.107, Annex B: users are satisfied down to these ratings.
    #[test]
    fn scores_are_those_of_the_table_of_annex_b() {
        for (rating, printed) in [
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            assert!(
                (mos(rating) - printed).abs() < 0.01,
                "{rating}: {}",
                mos(rating)
            );
        }
        assert_eq!(
            (mos(-3.0), mos(0.0), mos(100.0), mos(120.0)),
            (1.0, 1.0, 4.5, 4.5)
        );
    }

    /// Bpl is a fit to printed values of Ie at single loss ratios (G.113 (02/2001), Tables I.2 and I.3).
    #[test]
    fn impairments_by_loss_are_near_those_printed_for_single_ratios() {
        let g729a = [
            (0.0, 11.0),
            (1.0, 15.0),
            (2.0, 19.0),
            (3.0, 23.0),
            (4.0, 26.0),
        ];
        let g7231 = [
            (0.0, 15.0),
            (1.0, 19.0),
            (2.0, 24.0),
            (3.0, 27.0),
            (4.0, 32.0),
        ];
        for (ie, bpl, table) in [(11.0, 19.0, g729a), (15.0, 16.1, g7231)] {
            for (percent, printed) in table {
                let found = Quality::of(0.0, ie, bpl, percent / 100.0, 1.0).by_codec;
                assert!(
                    (found - printed).abs() < 1.2,
                    "{ie} {percent} %: {found}, {printed}"
                );
            }
        }
    }
}

//! `fading`: upper bounds for end-to-end and split TCP over a satellite link that fades.

use tmt_core::model::{Key, ModelError};
use tmt_core::{closed_form, keys};

use super::path::{
    BUFFER, LOSS, PIECES, Path, RATE, SATELLITE, SPARSE, TERRESTRIAL, piece_loss, reordering,
};
use super::{Probability, zhu};

/// A channel that alternates between a bad state, in which everything is lost, and a good one without losses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fading {
    /// X: share of time in the bad state.
    pub bad_share: Probability,
    /// m: mean length of the bad state, s; above 0.
    pub mean_bad: f64,
}

impl Fading {
    /// f = X/m: fades per second (55).
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bad_share.yes / self.mean_bad
    }

    /// m (1−X)/X: mean length of the good state, s; infinite for X = 0.
    #[must_use]
    pub fn mean_good(&self) -> f64 {
        self.mean_bad * self.bad_share.no / self.bad_share.yes
    }

    /// Lower bound of the mean delay on the link, E(D) > T2/(1−X) (57), s.
    #[must_use]
    pub fn delay(&self, satellite: f64) -> f64 {
        satellite / self.bad_share.no
    }

    /// The path that bounds both kinds of TCP: r = p = X, and in-order delivery costs nothing (ν = 0).
    #[must_use]
    pub fn bound(&self, path: &Path) -> Path {
        Path {
            loss: self.bad_share,
            reordering: 0.0,
            ..*path
        }
    }

    /// The path with independent segment losses, p = X, as in Fig. 15 next to the bound.
    #[must_use]
    pub fn independent(&self, path: &Path) -> Path {
        let loss = piece_loss(self.bad_share, path.pieces);
        Path {
            loss,
            reordering: reordering(loss),
            ..*path
        }
    }
}

/// Replaces the key `p` of the other models, which is not used here.
const UNUSED: Key = Key {
    about: "loss of a segment; not used, X replaces it",
    ..LOSS
};
keys! {
    SHARE: Probability, "X" | "x" | "bad_share" = 0.1, "share of time in the bad state";
    MEAN: Positive, "m" | "M" | "mean_bad" = 0.01, "mean length of the bad state, s";
}

closed_form! {
    /// `tmt model fading` (docs/models.md, Sec. 7.5).
    pub(super) static MODEL: "fading",
        "Upper bounds for TCP end to end and split over a satellite link that fades";
    source: "Zhu 2006, Sec. V-C, eq. (55) to (57) with (39) and (50); docs/models.md, Sec. 7.5";
    notes: [
        "Two states of exponential length: everything is lost in the bad one, nothing in the good one; segments are lost with p > X, repeats take longer than T2/(1-p) (56)",
        "End to end: (39) with nu = 0, in Tcal and rho too, and r = p = X; split: (50) with p = X",
        "These are bounds: timeouts, which fades make likely, are left out; m affects only f and the mean good time",
        "norms are over mu, efficiencies over mu (1-X) (Z6)",
    ];
    example: "B=100 T2=0.5 X=0.1 m=0.05";
    keys: [BUFFER, RATE, TERRESTRIAL, SATELLITE, UNUSED, PIECES, SHARE, MEAN];
    answer(given) {
        let fading = Fading {
            bad_share: Probability::new(given.number(&SHARE)),
            mean_bad: given.number(&MEAN),
        };
        let path = Path::of(given);
        if path.satellite <= 0.0 {
            return Err(ModelError::refused(
                "T2 = 0: repeats would take no time; set T2 above 0",
            ));
        }
        let (bound, independent) = (fading.bound(&path), fading.independent(&path));
        let refused = || {
            ModelError::refused(
                "(39) is negative: too few segments for this model",
            )
        };
        let found = bound.end_to_end().ok_or_else(refused)?;
        let beside = independent
            .check(path.buffer)
            .ok()
            .and_then(|()| independent.end_to_end());
    }
    results {
        "f" = fading.rate(), "fades per second: X/m";
        "mean_good" = fading.mean_good(), "mean length of the good state, s";
        "delay_lower" = fading.delay(path.satellite), "lower bound of the delay on the link, T2/(1-X), s";
        "e2e_upper_norm" = found.norm, "bound of end-to-end throughput over mu";
        "split_upper_norm" = bound.split_norm(), "bound of split throughput over mu";
        "e2e_upper_efficiency" = found.efficiency, "bound of end-to-end throughput over mu (1-X)";
        "split_upper_efficiency" = bound.split_efficiency(), "bound of split throughput over mu (1-X)";
        "e2e_independent_norm" = beside.as_ref().map(|beside| beside.norm),
            "end-to-end throughput over mu with independent losses, p = X";
    }
    remarks {
        if beside.is_none() =>
            "(39) with independent losses is negative: too few segments, e2e_independent_norm has no value";
        if independent.sparse(path.buffer) => SPARSE;
        if fading.mean_bad > path.satellite && fading.bad_share.yes > 0.0 =>
            "fades last longer than the RTT of the link: repeats fall into them and TCP times out, so the bounds are loose";
    }
    and zhu::remarks(&bound, &found);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::agree;
    use tmt_core::model::Outcome;

    fn gives(arguments: &str) -> Result<Outcome, ModelError> {
        MODEL.run(arguments)
    }

    fn get(arguments: &str, name: &str) -> f64 {
        gives(arguments).unwrap().get(name).unwrap()
    }

    #[test]
    fn bounds_are_the_other_models_with_the_bad_share() {
        for text in [
            "B=50",
            "B=150 X=0.3",
            "B=400 T1=0.3 X=0.01",
            "B=90 T2=0.1 S=4",
        ] {
            let share = get(text, "delay_lower") / if text.contains("T2") { 0.1 } else { 0.5 };
            let loss = 1.0 - 1.0 / share;
            // (39) without the logarithms, written out.
            let of = |name: &str, preset: f64| {
                let found = text
                    .split_whitespace()
                    .find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
                found.map_or(preset, |value| value.parse().unwrap())
            };
            let (b, t1, t2) = (of("B", 50.0), of("T1", 0.1), of("T2", 0.5));
            let beta = b / (250.0 * t2);
            let tcal = if beta > 1.0 {
                beta / (1.0 - loss) + 0.25
            } else {
                beta / 4.0 + 1.0 / (1.0 - loss)
            };
            let rho = t2 * tcal / (t1 + t2 * tcal);
            let top = 1.0 + rho;
            let share = (1.0 + rho - rho * rho / 2.0) / top;
            let (a2, a3) = if beta >= top {
                (1.0, beta * share)
            } else if beta > 1.0 {
                (
                    2.0 - top / (2.0 * beta) - beta / (2.0 * top),
                    2.0 * beta - 1.0 + top / (2.0 * beta) - beta * top / 2.0,
                )
            } else {
                (beta * share, 1.0)
            };
            let norm = 1.5 * beta * (1.0 - loss)
                / top
                / (t1 * (1.0 - loss) / t2 + a2 * (1.0 - loss) / 4.0 + a3);
            agree(get(text, "e2e_upper_norm"), norm, 1e-12);
            assert!(norm > get(text, "e2e_independent_norm"), "{text}");
            let split = f64::min(1.0, beta / (1.0 + 2.0 * t1 * (1.0 - loss) / t2));
            agree(get(text, "split_upper_norm"), split * (1.0 - loss), 1e-12);
        }
        // With independent losses the result is that of zhu with p = X.
        let zhu = zhu::MODEL
            .arguments([("B", "90"), ("p", "0.1"), ("S", "4")])
            .unwrap();
        let zhu = zhu::MODEL.evaluate(&zhu).unwrap().get("norm").unwrap();
        agree(get("B=90 X=0.1 S=4", "e2e_independent_norm"), zhu, 1e-15);
    }

    #[test]
    fn a_channel_drawn_state_by_state_has_these_means() {
        use tmt_core::math::rng::{Stream, Uniform};
        let fading = Fading {
            bad_share: Probability::new(0.2),
            mean_bad: 0.03,
        };
        let mut numbers = Uniform::new(5, Stream::ChannelState);
        let (mut bad, mut good, fades) = (0.0, 0.0, 200_000);
        for i in 0..fades {
            bad -= fading.mean_bad * tmt_core::math::num::ln(1.0 - numbers.at(2 * i));
            good -= fading.mean_good() * tmt_core::math::num::ln(1.0 - numbers.at(2 * i + 1));
        }
        agree(bad / (bad + good), 0.2, 0.01);
        agree(
            tmt_core::types::to_f64(fades) / (bad + good),
            fading.rate(),
            0.01,
        );
    }
}

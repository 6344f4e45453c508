//! `tgep-mix`: TGEP with bursts of losses, CUBIC or Westwood, and short flows, along the conclusion of Celandroni 2006.
//!
//! It is separate from `tgep`, which has the keys of the paper. With the defaults of its further keys it makes the same
//! draws and gives the same bits.

mod course;
mod cubic;
mod shorts;
#[cfg(test)]
mod tests;

use strum::{EnumString, VariantNames};
use tmt_core::model::ModelError;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::interval::TESTS;
use super::law::Law;
use super::{
    B, BETA, CI, FIRST, Goodput, LEVEL, MU, N, Q, RESEND, SEED, TAU, THIN, TgepParameters, UNSEEN,
    check, measure, parameters_of,
};
use course::{Fluid, Single};
pub use shorts::Shorts;

/// Congestion control: growth of the windows and reduction at a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Control {
    /// Growth by a segment per b round trips, halved at a loss, as in the paper.
    Reno,
    /// RFC 9438, for one connection.
    Cubic,
    /// Growth of Reno; after a loss, the window that fills the link without a queue.
    Westwood,
}

/// Arguments of TGEP and of its extensions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// Arguments of TGEP. Its `loss` is the share of segments that are lost, in bursts or not.
    pub base: TgepParameters,
    /// Mean number of segments that are lost together, 1 or more.
    pub burst: f64,
    /// Congestion control of the long flows.
    pub control: Control,
    /// Short flows that share the link.
    pub shorts: Shorts,
}

impl Mix {
    /// Probability e that a burst begins at a segment, given that the previous one was not lost. On average L segments
    /// are lost and (1 − e)/e are not, so a share q is lost if e = q / (L − q (L − 1)).
    #[must_use]
    pub fn event_rate(&self) -> f64 {
        self.base.loss / (self.burst - self.base.loss * (self.burst - 1.0))
    }

    /// Simulates the goodput of the long flows, and the share of the link that the short flows had.
    ///
    /// # Errors
    /// Those of [`super::goodput`], or arguments for which the congestion control has no fluid law.
    pub fn goodput(&self) -> Result<(Goodput, f64), ModelError> {
        let parameters = TgepParameters {
            loss: self.event_rate(),
            ..self.base
        };
        let law = Law::new(
            &parameters.link,
            parameters.loss,
            parameters.resend_round_trip,
        );
        check(&parameters, &law)?;
        self.check(&law)?;
        if law.loss >= 1.0 {
            return Ok((Goodput::exact(&law, 0.0, 0.0), self.shorts.load));
        }
        let alone = self.shorts.load <= 0.0;
        if law.loss <= 0.0 && self.control == Control::Reno && alone {
            let norm = parameters.link.congestion_goodput();
            return Ok((Goodput::exact(&law, norm, 1.0), 0.0));
        }
        let tests = 0..TESTS as u64;
        if self.control == Control::Cubic {
            let mut tests: Vec<Single> = tests.map(|at| Single::new(self, law, at)).collect();
            return Ok((measure(&mut tests, &law, &parameters, FIRST)?, 0.0));
        }
        let mut tests: Vec<Fluid> = tests.map(|at| Fluid::new(self, law, at)).collect();
        // With short flows a cycle has one part per life of a short flow.
        let first = if alone { FIRST } else { 0.1 * FIRST };
        let found = measure(&mut tests, &law, &parameters, first)?;
        let count = to_f64(TESTS as u64);
        let share = tests.iter_mut().map(Fluid::short_share).sum::<f64>() / count;
        Ok((found, share))
    }

    fn check(&self, law: &Law) -> Result<(), ModelError> {
        let (cubic, short) = (self.control == Control::Cubic, self.shorts.load > 0.0);
        let stuck = || law.between(law.bdp, law.most) < 1.0;
        let why = if cubic && law.connections > 1.0 {
            "cc=cubic is for one connection only, because windows of several do not grow equally: use N=1"
        } else if cubic && short {
            "cc=cubic cannot be combined with short flows: use short_load=0"
        } else if cubic && law.most < 4.0 {
            "cc=cubic needs larger windows: link and buffer hold fewer than 4 segments"
        } else if self.control == Control::Westwood && stuck() {
            "cc=westwood keeps the link full, and the buffer has no space for a further segment of each connection: \
             use a larger beta"
        } else if short && law.most * (1.0 - self.shorts.load) < 1.0 {
            "short flows leave less than one segment of the link to the long flows: use a smaller short_load"
        } else {
            return Ok(());
        };
        Err(ModelError::refused(why))
    }
}

keys! {
    BURST: Positive, "burst" = 1.0,
        "mean number of segments lost together, 1 or more; 1: independent losses";
    CC: Word(Control::VARIANTS), "cc" = "reno", "congestion control of the long flows";
    LOAD: NonNegative, "short_load" = 0.0, "share of the link that short flows need, up to 0.9";
    SIZE: Positive, "short_size" = 30.0, "segments of a short flow";
    WINDOW: Positive, "short_window" = 10.0, "initial window of a short flow, segments";
}

closed_form! {
    /// `tmt model tgep-mix` (docs/models.md, Sec. 6.4).
    pub(crate) static MODEL: "tgep-mix",
        "TGEP with bursts of losses, CUBIC or Westwood, and short flows next to the long ones";
    source: "Celandroni 2006, Sec. II, extended along Sec. V; CUBIC after RFC 9438, Westwood after reference [12] of the paper; docs/models.md, Sec. 6.4";
    notes: [
        "With burst=1, cc=reno and short_load=0 it equals tgep, bit by bit",
        "burst: the length of a burst is geometric from 1 (Gilbert-Elliott, everything is lost in the bad state), and a \
         share q of all segments is lost. The segments of a burst belong to connections with probability w_i/w; a \
         connection that loses any is cut once. A burst longer than the windows continues in the next round trip and cuts again",
        "Timeouts are not modelled, so the goodput is an upper figure if burst is not small against the window",
        "cubic: W(t) = C (t - K)^3 + Wmax with C 0.4 and beta 0.7, at least the Reno-friendly window of RFC 9438, without \
         fast convergence (Sec. 4.7: off for a single flow); t continues while segments queue; b has no effect",
        "westwood: after a loss w = min(w, mu T), i.e. the bandwidth estimate has no error",
        "Short flows arrive as a Poisson process, have short_size segments each and grow from short_window by 1 + 1/b per \
         round trip. Their number is drawn again after each life. They take their share of link and buffer first, and have no losses",
        "short_share is the share of the link that short flows had; with norm it stays below 1",
    ];
    example: "q=0.001 burst=4 cc=westwood short_load=0.1 ci=0.02";
    keys: [Q, MU, TAU, BETA, N, B, CI, LEVEL, SEED, RESEND, BURST, CC, LOAD, SIZE, WINDOW];
    answer(arguments) {
        let mix = Mix {
            base: parameters_of(arguments),
            burst: arguments.number(&BURST),
            control: arguments.choice(&CC),
            shorts: Shorts {
                load: arguments.number(&LOAD),
                size: arguments.number(&SIZE),
                first: arguments.number(&WINDOW),
            },
        };
        if mix.burst < 1.0 {
            return Err(ModelError::refused(
                "burst must be 1 or above: a burst has at least one lost segment",
            ));
        }
        if mix.shorts.load > 0.9 {
            return Err(ModelError::refused(
                "short_load must be at most 0.9",
            ));
        }
        if mix.shorts.size.min(mix.shorts.first) < 1.0 {
            return Err(ModelError::refused(
                "short_size and short_window must be 1 or above",
            ));
        }
        let (found, share) = mix.goodput()?;
        let (link, shorts) = (&mix.base.link, &mix.shorts);
        let window = found.norm * link.bdp() / link.connections;
    }
    results {
        "norm" = found.norm, "goodput of all long connections over mu";
        "halfwidth" = found.half_width, "half-width of the confidence interval of norm";
        "per_connection" = found.per_connection.clone(), "goodput of each long connection over mu";
        "congestion_fraction" = found.congestion_fraction, "share of cycles that end by congestion";
        "cycles" = found.cycles, "cycles drawn after the warm-up; 0 if the result is an exact limit";
        "short_share" = share, "share of the link that short flows had";
        "short_active" = shorts.active(link.bdp(), link.per_ack), "mean number of short flows";
        "short_rounds" = shorts.rounds(link.per_ack), "round trips of a short flow";
    }
    remarks {
        if found.is_thin(link) => THIN;
        if found.saw_congestion_alone() => UNSEEN;
        if mix.burst > 1.0 && mix.burst > window / 4.0 =>
            "bursts are not small against the windows: real connections would have timeouts";
        if shorts.load > 0.0 && share < 0.97 * shorts.load =>
            "the number of short flows varies so much that they often need more than the whole link: their share is limited";
    }
}

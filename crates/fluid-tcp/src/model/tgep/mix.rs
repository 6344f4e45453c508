//! What the conclusion of papers/003 leaves open: bursts of losses, other versions of TCP, short flows beside long ones.
//!
//! A model of its own beside `tgep`, so that the paper's has the paper's keys; with every further key at its preset
//! it makes the same draws and gives the same bits.

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
    B, BETA, CI, FIRST, Goodput, LEVEL, MU, N, Q, Question, RESEND, SEED, TAU, THIN, UNSEEN, asked,
    check, measure,
};
use course::{Fluid, Single};
pub use shorts::Shorts;

/// How windows grow and what a loss leaves of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Control {
    /// A segment per b round trips, and half: the paper's.
    Reno,
    /// RFC 9438, one connection.
    Cubic,
    /// Reno's growth; a loss leaves what was delivered in a round trip without queueing.
    Westwood,
}

/// TGEP's question with what goes beyond it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mix {
    /// TGEP's part; its `loss` is the share of segments that are lost.
    pub base: Question,
    /// Mean number of segments that are lost together, 1 or more.
    pub burst: f64,
    /// Version of TCP.
    pub control: Control,
    /// Short flows.
    pub shorts: Shorts,
}

impl Mix {
    /// Chance that a segment begins a burst, behind one that came through: with means of L lost and (1 − e)/e
    /// that come through in turn, q of all are lost at e = q / (L − q (L − 1)).
    #[must_use]
    pub fn event_rate(&self) -> f64 {
        self.base.loss / (self.burst - self.base.loss * (self.burst - 1.0))
    }

    /// Goodput of the long flows, and the share of the link that the short ones had.
    ///
    /// # Errors
    /// As [`super::goodput`]; or the version of TCP has no fluid law for this.
    pub fn goodput(&self) -> Result<(Goodput, f64), ModelError> {
        let question = Question {
            loss: self.event_rate(),
            ..self.base
        };
        let law = Law::new(&question.link, question.loss, question.resend_round_trip);
        check(&question, &law)?;
        self.check(&law)?;
        if law.loss >= 1.0 {
            return Ok((Goodput::exact(&law, 0.0, 0.0), self.shorts.load));
        }
        let alone = self.shorts.load <= 0.0;
        if law.loss <= 0.0 && self.control == Control::Reno && alone {
            let norm = question.link.congestion_goodput();
            return Ok((Goodput::exact(&law, norm, 1.0), 0.0));
        }
        let tests = 0..TESTS as u64;
        if self.control == Control::Cubic {
            let mut tests: Vec<Single> = tests.map(|at| Single::new(self, law, at)).collect();
            return Ok((measure(&mut tests, &law, &question, FIRST)?, 0.0));
        }
        let mut tests: Vec<Fluid> = tests.map(|at| Fluid::new(self, law, at)).collect();
        // With short flows a cycle is as many pieces as they have lives in it.
        let first = if alone { FIRST } else { 0.1 * FIRST };
        let found = measure(&mut tests, &law, &question, first)?;
        let count = to_f64(TESTS as u64);
        let share = tests.iter_mut().map(Fluid::short_share).sum::<f64>() / count;
        Ok((found, share))
    }

    fn check(&self, law: &Law) -> Result<(), ModelError> {
        let (cubic, short) = (self.control == Control::Cubic, self.shorts.load > 0.0);
        let stuck = || law.between(law.pipe, law.most) < 1.0;
        let why = if cubic && law.connections > 1.0 {
            "cc=cubic is a law of one connection: windows that do not grow alike have no sum that does (N=1)"
        } else if cubic && short {
            "cc=cubic has no short flows beside it: its growth is not told in pieces (short_load=0)"
        } else if cubic && law.most < 4.0 {
            "cc=cubic needs windows: link and buffer hold fewer than 4 segments"
        } else if self.control == Control::Westwood && stuck() {
            "cc=westwood keeps the link full, and without room in the buffer for a segment more of each connection no \
             segment comes between two congestions: a larger beta is needed"
        } else if short && law.most * (1.0 - self.shorts.load) < 1.0 {
            "short flows leave less than a segment of the link to the long ones"
        } else {
            return Ok(());
        };
        Err(ModelError::refused(why))
    }
}

keys! {
    BURST: Positive, "burst" = 1.0,
        "mean number of segments that are lost together, 1 or more; 1 for independent losses";
    CC: Word(Control::VARIANTS), "cc" = "reno", "version of TCP";
    LOAD: NonNegative, "short_load" = 0.0, "share of the link that short flows need, up to 0.9";
    SIZE: Positive, "short_size" = 30.0, "segments of a short flow";
    WINDOW: Positive, "short_window" = 10.0, "first window of a short flow, segments";
}

closed_form! {
    /// `tmt model tgep-mix`.
    pub(crate) static MODEL: "tgep-mix",
        "TGEP with bursts of losses, CUBIC or Westwood, and short flows beside the long ones";
    source: "papers/003 §II, extended along its §V; CUBIC after RFC 9438, Westwood after its reference [12]";
    notes: [
        "With burst=1, cc=reno and short_load=0 it is tgep, to the bit",
        "burst: runs of lost segments (Gilbert-Elliott with a bad state that loses all), geometric from 1 on, q of all \
         segments being lost; segments of a run belong to the connections as their windows are, and a connection that \
         loses any is cut once; a run longer than the windows goes on in the next round trip and cuts again",
        "Timeouts are not modelled: a burst that takes a whole window would end in one, so that the goodput is an upper \
         figure where burst is not small against the window",
        "cubic: W(t) = C (t - K)^3 + Wmax with C 0.4 and beta 0.7, the Reno-friendly window as in RFC 9438, without \
         fast convergence (section 4.7: off for a flow alone); t goes on while segments queue; b does not matter to it",
        "westwood: after a loss w = min(w, what the link holds without a queue): a bandwidth estimate without error",
        "Short flows arrive as a Poisson process, all of short_size segments, grow by 1 + 1/b a round trip from \
         short_window on and leave; their number is drawn afresh after each such life. They take their share of link and \
         buffer first, have no losses of their own and cause none but by what they leave to the long flows",
        "short_share is the link's share that they had: goodput of the long flows and it together stay below 1",
    ];
    example: "q=0.001 burst=4 cc=westwood short_load=0.1 ci=0.02";
    keys: [Q, MU, TAU, BETA, N, B, CI, LEVEL, SEED, RESEND, BURST, CC, LOAD, SIZE, WINDOW];
    answer(arguments) {
        let mix = Mix {
            base: asked(arguments),
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
                "a burst is one lost segment or more: burst must be 1 or above",
            ));
        }
        if mix.shorts.load > 0.9 {
            return Err(ModelError::refused(
                "short_load above 0.9 leaves the long flows no link to speak of",
            ));
        }
        if mix.shorts.size.min(mix.shorts.first) < 1.0 {
            return Err(ModelError::refused(
                "a flow and its first window are a segment or more: short_size and short_window must be 1 or above",
            ));
        }
        let (found, share) = mix.goodput()?;
        let (link, shorts) = (&mix.base.link, &mix.shorts);
        let window = found.norm * link.pipe() / link.connections;
    }
    results {
        "norm" = found.norm, "goodput of all long connections over mu";
        "halfwidth" = found.half_width, "half-width of norm's interval at this level";
        "per_connection" = found.per_connection.clone(), "goodput of each of them over mu";
        "congestion_fraction" = found.congestion_fraction, "share of cycles that end by congestion";
        "cycles" = found.cycles, "cycles drawn, warm-up excepted; 0 where the limit is exact";
        "short_share" = share, "share of the link that short flows had";
        "short_active" = shorts.active(link.pipe(), link.per_ack), "short flows under way, mean";
        "short_rounds" = shorts.rounds(link.per_ack), "round trips of a short flow";
    }
    remarks {
        if found.is_thin(link) => THIN;
        if found.saw_congestion_alone() => UNSEEN;
        if mix.burst > 1.0 && mix.burst > window / 4.0 =>
            "bursts are not small against the windows: real connections would run into timeouts";
        if shorts.load > 0.0 && share < 0.97 * shorts.load =>
            "the short flows' number varies so much that they often need more than the whole link: their share is cut";
    }
}

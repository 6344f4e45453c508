//! TCP goodput under random loss on a link with a limit: the fluid Monte-Carlo TGEP (papers/003, section II).

mod interval;
mod law;
pub mod mix;
mod stationary;
#[cfg(test)]
mod tests;
mod windows;

use tmt_core::math::num::ln;
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::model::{Arguments, ModelError};

use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::congestion::{B, BETA, Bottleneck, MU, TAU, THIN};
use interval::{Course, Sums, Wanted};
use law::Law;
use mix::{Control, Mix, Shorts};

/// Cycles of a test before the first look at its mean: a millisecond or two for all.
const FIRST: f64 = 2000.0;

/// Draws of a stream that belong to one test.
const SHARE: u64 = 1 << 40;

/// What a Monte-Carlo is asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// The bottleneck; connections at most 10 000.
    pub link: Bottleneck,
    /// Segment loss rate, in \[0, 1\].
    pub loss: f64,
    /// A random loss costs a round trip over N instead of a segment's time (C6).
    pub resend_round_trip: bool,
    /// Half-width over the mean at which it stops.
    pub relative: f64,
    /// Confidence of the half-width, in \[0, 1).
    pub level: f64,
    /// Seed of the draws.
    pub seed: u64,
}

/// What it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Goodput {
    /// Goodput of all connections over μ.
    pub norm: f64,
    /// Half-width of its interval.
    pub half_width: f64,
    /// Goodput of each connection over μ.
    pub per_connection: Vec<f64>,
    /// Share of the cycles that ended by congestion.
    pub congestion_fraction: f64,
    /// Cycles drawn, without the warm-up; 0 for an exact limit.
    pub cycles: f64,
}
/// Numbers of a stream, one after the other.
#[derive(Debug, Clone)]
struct Draws {
    numbers: Uniform,
    next: u64,
}

impl Draws {
    /// The part of a stream that belongs to a test.
    fn of_test(seed: u64, stream: Stream, index: u64) -> Self {
        Self {
            numbers: Uniform::new(seed, stream),
            next: index * SHARE,
        }
    }

    fn next(&mut self) -> f64 {
        self.next += 1;
        self.numbers.at(self.next - 1)
    }
}

/// Refuses what numbers cannot tell.
fn check(question: &Question, law: &Law) -> Result<(), ModelError> {
    if !(law.most * law.most * law.per_ack).is_finite() {
        return Err(ModelError::refused(
            "the windows that fill link and buffer are beyond what a double can square",
        ));
    }
    if question.level >= 1.0 {
        return Err(ModelError::refused(
            "no finite interval holds the mean for sure: level must be below 1",
        ));
    }
    Ok(())
}

/// The goodput of TGEP.
///
/// # Errors
/// The interval would take too long, or the windows leave what numbers can tell.
pub fn goodput(question: &Question) -> Result<Goodput, ModelError> {
    let mix = Mix {
        base: *question,
        burst: 1.0,
        control: Control::Reno,
        shorts: Shorts::NONE,
    };
    Ok(mix.goodput()?.0)
}

impl Goodput {
    /// A limit that needs no draws: the connections share it.
    fn exact(law: &Law, norm: f64, congestion_fraction: f64) -> Self {
        Self {
            norm,
            half_width: 0.0,
            per_connection: vec![norm / law.connections; law.count()],
            congestion_fraction,
            cycles: 0.0,
        }
    }

    /// Whether the windows are too small for a fluid.
    fn is_thin(&self, link: &Bottleneck) -> bool {
        self.norm * link.pipe() < 10.0 * link.connections
    }

    /// Whether cycles were drawn, but none that a random loss ended.
    fn saw_congestion_alone(&self) -> bool {
        self.cycles > 0.0 && self.congestion_fraction >= 1.0
    }
}

/// What is said of [`Goodput::saw_congestion_alone`].
const UNSEEN: &str = "no random loss fell into the cycles drawn: the half-width does not tell their share, which is below \
     5 over the cycles";

/// Runs the tests until the question's interval is reached.
fn measure<C: Course>(
    tests: &mut [C],
    law: &Law,
    question: &Question,
    first: f64,
) -> Result<Goodput, ModelError> {
    // A random loss takes 1/(2N) of the windows: 2 N ln(ratio) cycles from half the full buffer down to where losses
    // alone would hold them, and 12 N more to forget the start but for e^-6 of it.
    let held = 1.31 * law.connections / (law.per_ack * law.loss).sqrt();
    let warm_up = 20.0 + law.connections * (12.0 + 2.0 * ln(1.0 + law.most / 2.0 / held));
    let wanted = Wanted {
        relative: question.relative,
        level: question.level,
        warm_up: warm_up.ceil(),
        first,
    };
    let estimate = interval::estimate(tests, wanted)?;
    let count = to_f64(tests.len() as u64);
    let mut per_connection = vec![0.0; law.count()];
    for (test, sums) in tests.iter_mut().zip(&estimate.sums) {
        for (mean, sent) in per_connection.iter_mut().zip(test.sent()) {
            *mean += sent / sums.time / count;
        }
    }
    let total = |part: fn(&Sums) -> f64| estimate.sums.iter().map(part).sum::<f64>();
    let cycles = total(|sums| sums.cycles);
    Ok(Goodput {
        norm: estimate.mean,
        half_width: estimate.half_width,
        per_connection,
        congestion_fraction: total(|sums| sums.congested) / cycles,
        cycles,
    })
}

/// The goodput over μ of one connection by TGEP's rules, without drawing: what [`goodput`] converges to for N = 1,
/// to 1e-5 of it. A random loss costs a segment's time. `loss` in \[0, 1\], `link.connections` is taken as 1.
#[must_use]
pub fn stationary_goodput(link: &Bottleneck, loss: f64) -> f64 {
    let link = Bottleneck {
        connections: 1.0,
        ..*link
    };
    if loss <= 0.0 {
        link.congestion_goodput()
    } else if loss >= 1.0 {
        0.0
    } else {
        stationary::goodput(&Law::new(&link, loss, false))
    }
}

keys! {
    Q: Probability, "q" = 0.01, "segment loss rate";
    N: Count(1, 10_000), "N" | "n" | "connections" = 1, "connections that share the link";
    CI: Positive, "ci" = 0.01, "half-width at which it stops, over the mean";
    LEVEL: Probability, "level" = 0.99, "confidence of the half-width, below 1";
    SEED: Count(0, u64::MAX), "seed" = 1, "seed of the draws";
    RESEND: Word(&["mu", "rtt"]), "resend" = "mu",
        "time that a random loss costs: mu for 1/mu (the paper's text), rtt for T/N (C6)";
}

closed_form! {
    /// `tmt model tgep`.
    pub(crate) static MODEL: "tgep",
        "Goodput of long-lived connections under congestion and random loss, by fluid Monte-Carlo";
    source: "papers/003 §II, equations (1) to (12) and the text behind (14); models.md §3.3";
    notes: [
        "Reno without timeouts: windows grow by 1/b a round trip; a random loss halves one window, a full buffer all",
        "Losses are independent: the segments between two of them are geometric",
        "21 independent tests, each after a warm-up, grow until Student's half-width is within ci of their mean",
        "C5: (12) prints dw/(N mu) where the coefficient is b dw/N; the sum over connections does not tell",
        "C6: the text's rule (resend=mu) does not give the printed column of TGEP; a loss that costs T/N \
         (resend=rtt) is within some 2 % of it up to q = 0.01",
        "Below half of the link's rate the paper takes relation15, which knows timeouts",
    ];
    example: "q=0.001 mu=455 b=1 N=5 beta=0.8";
    keys: [Q, MU, TAU, BETA, N, B, CI, LEVEL, SEED, RESEND];
    answer(arguments) {
        let question = asked(arguments);
        let found = goodput(&question)?;
    }
    results {
        "norm" = found.norm, "goodput of all connections over mu";
        "halfwidth" = found.half_width, "half-width of norm's interval at this level";
        "per_connection" = found.per_connection.clone(), "goodput of each connection over mu";
        "congestion_fraction" = found.congestion_fraction, "share of cycles that end by congestion";
        "cycles" = found.cycles, "cycles drawn, warm-up excepted; 0 where the limit is exact";
    }
    remarks {
        if found.is_thin(&question.link) => THIN;
        if found.saw_congestion_alone() => UNSEEN;
    }
}

/// The question that the keys of TGEP say.
fn asked(arguments: &Arguments) -> Question {
    Question {
        link: Bottleneck::of(arguments, arguments.count(&N)),
        loss: arguments.number(&Q),
        resend_round_trip: arguments.word(&RESEND) == "rtt",
        relative: arguments.number(&CI),
        level: arguments.number(&LEVEL),
        seed: arguments.count(&SEED),
    }
}

//! `tgep`: TCP goodput under congestion and random loss, by fluid Monte-Carlo (Celandroni 2006, Sec. II).

mod course;
mod interval;
mod law;
mod stationary;
#[cfg(test)]
mod tests;
mod windows;

use tmt_core::math::num::ln;
use tmt_core::model::{Arguments, ModelError};

use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::congestion::{B, BETA, Bottleneck, MU, TAU, THIN};
use course::Course;
use interval::{Precision, Sums, TESTS};
use law::Law;

/// Cycles of a test before its mean is first checked. All tests together take one or two milliseconds for them.
const FIRST: f64 = 2000.0;

/// Arguments of the Monte-Carlo simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TgepParameters {
    /// The bottleneck, with at most 10 000 connections.
    pub link: Bottleneck,
    /// Segment loss rate, in \[0, 1\].
    pub loss: f64,
    /// Whether a random loss costs T/N instead of 1/μ (C6).
    pub resend_round_trip: bool,
    /// Half-width over the mean at which the simulation stops.
    pub relative: f64,
    /// Confidence level of the half-width, in \[0, 1).
    pub level: f64,
    /// Seed of the random draws.
    pub seed: u64,
}

/// Results of the Monte-Carlo simulation.
#[derive(Debug, Clone, PartialEq)]
pub struct Goodput {
    /// Goodput of all connections over μ, 0 to 1.
    pub norm: f64,
    /// Half-width of the confidence interval of `norm`.
    pub half_width: f64,
    /// Goodput of each connection over μ.
    pub per_connection: Vec<f64>,
    /// Share of the cycles that ended by congestion, 0 to 1.
    pub congestion_fraction: f64,
    /// Number of cycles drawn after the warm-up; 0 if the result is an exact limit.
    pub cycles: f64,
}

/// Refuses arguments that exceed the range of doubles.
fn check(parameters: &TgepParameters, law: &Law) -> Result<(), ModelError> {
    if !(law.most * law.most * law.per_ack).is_finite() {
        return Err(ModelError::refused(
            "mu, tau and beta: the windows that fill link and buffer are larger than a double can square",
        ));
    }
    if parameters.level >= 1.0 {
        return Err(ModelError::refused(
            "level must be below 1: no finite interval contains the mean with certainty",
        ));
    }
    Ok(())
}

/// Simulates the goodput of TGEP.
///
/// # Errors
/// The requested interval would need too many cycles, or the windows exceed the range of doubles.
pub fn goodput(parameters: &TgepParameters) -> Result<Goodput, ModelError> {
    let link = &parameters.link;
    let law = Law::new(link, parameters.loss, parameters.resend_round_trip);
    check(parameters, &law)?;
    if law.loss >= 1.0 {
        return Ok(Goodput::exact(&law, 0.0, 0.0));
    }
    if law.loss <= 0.0 {
        return Ok(Goodput::exact(&law, link.congestion_goodput(), 1.0));
    }
    measure(&law, parameters)
}

impl Goodput {
    /// An exact limit, equally shared by the connections.
    fn exact(law: &Law, norm: f64, congestion_fraction: f64) -> Self {
        Self {
            norm,
            half_width: 0.0,
            per_connection: vec![norm / law.connections; law.count()],
            congestion_fraction,
            cycles: 0.0,
        }
    }

    /// Whether the windows are too small for a fluid model.
    fn is_thin(&self, link: &Bottleneck) -> bool {
        self.norm * link.bdp() < 10.0 * link.connections
    }

    /// Whether cycles were drawn, but none of them ended by a random loss.
    fn saw_congestion_alone(&self) -> bool {
        self.cycles > 0.0 && self.congestion_fraction >= 1.0
    }
}

/// Remark if [`Goodput::saw_congestion_alone`].
const UNSEEN: &str = "no random loss occurred in the cycles drawn: the half-width does not include their effect; their \
     share is below 5/cycles";

/// Runs the tests until the requested interval is reached.
fn measure(law: &Law, parameters: &TgepParameters) -> Result<Goodput, ModelError> {
    let tests = (0..TESTS as u64).map(|index| Course::new(*law, parameters.seed, index));
    let mut tests: Vec<Course> = tests.collect();
    // A random loss reduces the windows by 1/(2N). It takes 2 N ln(ratio) cycles from w_max/2 down to the windows that
    // random losses alone allow, and 12 N more until the influence of the start is e^-6.
    let held = 1.31 * law.connections / (law.per_ack * law.loss).sqrt();
    let warm_up = 20.0 + law.connections * (12.0 + 2.0 * ln(1.0 + law.most / 2.0 / held));
    let precision = Precision {
        relative: parameters.relative,
        level: parameters.level,
        warm_up: warm_up.ceil(),
        first: FIRST,
    };
    let estimate = interval::estimate(&mut tests, precision)?;
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

/// Goodput over μ of one connection by the rules of TGEP, solved instead of drawn.
///
/// [`goodput`] converges to it for N = 1, to 1e-5 relative. A random loss costs 1/μ. `loss` is in \[0, 1\];
/// `link.connections` is taken as 1.
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
    N: Count(1, 10_000), "N" | "n" | "connections" = 1, "connections";
    CI: Positive, "ci" = 0.01, "relative half-width at which the simulation stops";
    LEVEL: Probability, "level" = 0.99, "confidence level of the half-width, below 1";
    SEED: Count(0, u64::MAX), "seed" = 1, "seed";
    RESEND: Word(&["mu", "rtt"]), "resend" = "mu",
        "time that a random loss costs: mu (1/mu, as in the text) or rtt (T/N, C6)";
}

closed_form! {
    /// `tmt model tgep` (docs/models.md, Sec. 6.3).
    pub(crate) static MODEL: "tgep",
        "Goodput of long-lived connections under congestion and random loss, by fluid Monte-Carlo";
    source: "Celandroni 2006, Sec. II, eq. (1) to (12) and the text after (14); docs/models.md, Sec. 6.3";
    notes: [
        "Reno without timeouts: windows grow by 1/b per round trip; a random loss halves one window, a full buffer all",
        "Losses are independent: the number of segments between two losses is geometric",
        "21 independent tests, each after a warm-up, grow until Student's half-width is at most ci times the mean",
        "C5: (12) prints dw/(N mu); the coefficient is b dw/N; the sum over connections does not show it",
        "C6: the rule of the text (resend=mu) does not give the printed column of TGEP; a cost of T/N \
         (resend=rtt) is within about 2 % of it up to q = 0.01",
        "Below half of the link's rate the paper uses relation15, which includes timeouts",
    ];
    example: "q=0.001 mu=455 b=1 N=5 beta=0.8";
    keys: [Q, MU, TAU, BETA, N, B, CI, LEVEL, SEED, RESEND];
    answer(arguments) {
        let parameters = parameters_of(arguments);
        let found = goodput(&parameters)?;
    }
    results {
        "norm" = found.norm, "goodput of all connections over mu";
        "halfwidth" = found.half_width, "half-width of the confidence interval of norm";
        "per_connection" = found.per_connection.clone(), "goodput of each connection over mu";
        "congestion_fraction" = found.congestion_fraction, "share of cycles that end by congestion";
        "cycles" = found.cycles, "cycles drawn after the warm-up; 0 if the result is an exact limit";
    }
    remarks {
        if found.is_thin(&parameters.link) => THIN;
        if found.saw_congestion_alone() => UNSEEN;
    }
}

/// Reads the keys of TGEP.
fn parameters_of(arguments: &Arguments) -> TgepParameters {
    TgepParameters {
        link: Bottleneck::of(arguments, arguments.count(&N)),
        loss: arguments.number(&Q),
        resend_round_trip: arguments.word(&RESEND) == "rtt",
        relative: arguments.number(&CI),
        level: arguments.number(&LEVEL),
        seed: arguments.count(&SEED),
    }
}

//! Erasure processes: Bernoulli and Gilbert–Elliott, for `tmt inject` and for synthetic links.
//!
//! `alpha` and `beta` are the papers' *persistence* probabilities, P(stay in good) and P(stay in
//! bad) (papers/000 §3.3 as corrected by models.md K1), not probabilities of changing the state.

use std::fmt;
use std::str::FromStr;

use crate::math::rng::{Limit, Stream, Uniform};

mod blocks;
mod fading;
mod piece;
pub mod synth;

pub use blocks::Blocks;
pub use fading::{Fades, Fading};
pub use piece::{Chain, ErasurePiece, Erasures};

/// An erasure process, one draw a unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChannelSpec {
    /// Independent erasures.
    Bernoulli {
        /// Probability that a unit is erased.
        p: f64,
    },
    /// Two states, each with its erasure probability.
    GilbertElliott(GilbertElliott),
}

/// Parameters of the two-state channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GilbertElliott {
    /// P(stay in good).
    pub alpha: f64,
    /// P(stay in bad).
    pub beta: f64,
    /// Erasure probability in the good state, 0 in the papers.
    pub pg: f64,
    /// Erasure probability in the bad state, 1 in the papers.
    pub pb: f64,
    /// The state of the first unit.
    pub start: Start,
}

/// Which state the first unit meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Drawn from the stationary law.
    Stationary,
    /// Good.
    Good,
    /// Bad.
    Bad,
}

/// Why a channel's text was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelError(String);

impl fmt::Display for ChannelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ChannelError {}

/// The form of [`GilbertElliott`]'s text.
const FORM: &str =
    "alpha=P(stay in good),beta=P(stay in bad)[,pg=0][,pb=1][,start=stationary|good|bad]";

impl GilbertElliott {
    /// Share of the units that meet the bad state, (1 − alpha) / (2 − alpha − beta) (papers/000 eq 3).
    ///
    /// `None` for alpha = beta = 1, where neither state is ever left.
    #[must_use]
    pub fn p_bad(&self) -> Option<f64> {
        let leaving = (1.0 - self.alpha) + (1.0 - self.beta);
        (leaving > 0.0).then(|| (1.0 - self.alpha) / leaving)
    }

    /// Probability that the first unit meets the bad state.
    fn p_bad_at_start(&self) -> f64 {
        match self.start {
            Start::Stationary => self.p_bad().unwrap_or(0.0),
            Start::Good => 0.0,
            Start::Bad => 1.0,
        }
    }
}

impl FromStr for GilbertElliott {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (mut alpha, mut beta, mut pg, mut pb, mut start) = (None, None, None, None, None);
        for part in text.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| ChannelError(format!("'{part}': expected {FORM}")))?;
            let slot = match key {
                "alpha" => &mut alpha,
                "beta" => &mut beta,
                "pg" => &mut pg,
                "pb" => &mut pb,
                "start" => {
                    let state = match value {
                        "stationary" => Start::Stationary,
                        "good" => Start::Good,
                        "bad" => Start::Bad,
                        _ => {
                            return Err(ChannelError(format!(
                                "'{part}': expected start=stationary|good|bad"
                            )));
                        }
                    };
                    if start.replace(state).is_some() {
                        return Err(ChannelError("'start' stands twice".to_owned()));
                    }
                    continue;
                }
                _ => return Err(ChannelError(format!("'{part}': expected {FORM}"))),
            };
            if slot.replace(probability(value)?).is_some() {
                return Err(ChannelError(format!("'{key}' stands twice")));
            }
        }
        let needed = |value: Option<f64>, key| {
            value.ok_or_else(|| ChannelError(format!("'{key}' is missing: expected {FORM}")))
        };
        let channel = Self {
            alpha: needed(alpha, "alpha")?,
            beta: needed(beta, "beta")?,
            pg: pg.unwrap_or(0.0),
            pb: pb.unwrap_or(1.0),
            start: start.unwrap_or(Start::Stationary),
        };
        if channel.p_bad().is_none() && channel.start == Start::Stationary {
            let text = "alpha=1 and beta=1 never leave a state and have no stationary law: say start=good or start=bad";
            return Err(ChannelError(text.to_owned()));
        }
        Ok(channel)
    }
}

impl fmt::Display for GilbertElliott {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "alpha={},beta={},pg={},pb={}",
            self.alpha, self.beta, self.pg, self.pb
        )?;
        match self.start {
            Start::Stationary => Ok(()),
            Start::Good => f.write_str(",start=good"),
            Start::Bad => f.write_str(",start=bad"),
        }
    }
}

impl FromStr for ChannelSpec {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("bernoulli", p)) => Ok(Self::Bernoulli { p: probability(p)? }),
            Some(("gilbert-elliott", parameters)) => parameters.parse().map(Self::GilbertElliott),
            _ => Err(ChannelError(format!(
                "'{text}': expected bernoulli:P or gilbert-elliott:{FORM}"
            ))),
        }
    }
}

impl fmt::Display for ChannelSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bernoulli { p } => write!(f, "bernoulli:{p}"),
            Self::GilbertElliott(channel) => write!(f, "gilbert-elliott:{channel}"),
        }
    }
}

/// What erases the slots of a link of constant rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum SlotChannel {
    /// A process that goes on with every slot.
    Steps(ChannelSpec),
    /// One that goes on with time.
    Fading(Fading),
}

impl FromStr for SlotChannel {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("fading", parameters)) => parameters.parse().map(Self::Fading),
            Some(("bernoulli" | "gilbert-elliott", _)) => text.parse().map(Self::Steps),
            _ => Err(ChannelError(format!(
                "'{text}': expected bernoulli:P, gilbert-elliott:{FORM} or fading:{}",
                fading::FORM
            ))),
        }
    }
}

impl fmt::Display for SlotChannel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(channel) => write!(f, "{channel}"),
            Self::Fading(fading) => write!(f, "fading:{fading}"),
        }
    }
}

/// Reads a probability.
///
/// # Errors
/// Anything that is no number from 0 to 1.
pub fn probability(text: &str) -> Result<f64, ChannelError> {
    let value = text
        .parse::<f64>()
        .ok()
        .filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| ChannelError(format!("'{text}': expected a probability from 0 to 1")))
}

/// The process at work: unit after unit, erased or not.
#[derive(Debug, Clone)]
pub struct Channel {
    spec: ChannelSpec,
    state: Uniform,
    erasure: Uniform,
    /// Whether the state alone tells what is erased, as in the papers: no second draw then.
    state_decides: bool,
    /// Whether the last unit met the bad state.
    bad: bool,
    /// Index of the next unit.
    next: u64,
}

impl Channel {
    /// The process under `seed`, before its first unit.
    #[must_use]
    pub fn new(spec: ChannelSpec, seed: u64) -> Self {
        Self::on(spec, seed, Stream::ChannelState, Stream::ChannelErasure)
    }

    /// The process of the return path under `seed`: it draws from streams of its own.
    #[must_use]
    pub fn of_return_path(spec: ChannelSpec, seed: u64) -> Self {
        Self::on(spec, seed, Stream::ReturnState, Stream::ReturnErasure)
    }

    /// The process of a link's feedback under `seed`: it draws from streams of its own.
    #[must_use]
    pub fn of_feedback(spec: ChannelSpec, seed: u64) -> Self {
        Self::on(spec, seed, Stream::FeedbackState, Stream::FeedbackErasure)
    }

    fn on(spec: ChannelSpec, seed: u64, state: Stream, erasure: Stream) -> Self {
        let state_decides = match spec {
            ChannelSpec::Bernoulli { p } => Limit::new(p).is_certain(),
            ChannelSpec::GilbertElliott(channel) => {
                Limit::new(channel.pg).is_certain() && Limit::new(channel.pb).is_certain()
            }
        };
        Self {
            spec,
            state: Uniform::new(seed, state),
            erasure: Uniform::new(seed, erasure),
            state_decides,
            bad: false,
            next: 0,
        }
    }

    /// The process under `seed` on the units `from` to `from + len − 1`, for either state in front of
    /// them: pieces can be drawn in any order and at the same time, then [`ErasurePiece::resolve`]d
    /// in theirs.
    #[must_use]
    pub fn piece(spec: ChannelSpec, seed: u64, from: u64, len: usize) -> ErasurePiece {
        piece::draw(spec, seed, from, len)
    }

    /// Whether the next unit is erased.
    pub fn erases(&mut self) -> bool {
        let index = self.next;
        self.next += 1;
        let p = match self.spec {
            ChannelSpec::Bernoulli { p } => p,
            ChannelSpec::GilbertElliott(channel) => {
                let p_bad = match (index, self.bad) {
                    (0, ..) => channel.p_bad_at_start(),
                    (_, true) => channel.beta,
                    (_, false) => 1.0 - channel.alpha,
                };
                self.bad = self.state.at(index) < p_bad;
                if self.bad { channel.pb } else { channel.pg }
            }
        };
        if self.state_decides {
            p > 0.0
        } else {
            self.erasure.at(index) < p
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_read_back() {
        for text in [
            "bernoulli:0.001",
            "gilbert-elliott:alpha=0.99,beta=0.8,pg=0,pb=1",
            "gilbert-elliott:alpha=1,beta=1,pg=0,pb=1,start=bad",
        ] {
            assert_eq!(text.parse::<ChannelSpec>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_channel_is_refused() {
        for text in [
            "bernoulli",
            "bernoulli:2",
            "bernoulli:nan",
            "bernoulli:-0.1",
            "gilbert-elliott:alpha=0.9",
            "gilbert-elliott:alpha=0.9,beta=0.9,gamma=1",
            "gilbert-elliott:alpha=0.9,alpha=0.9,beta=1",
            "gilbert-elliott:alpha=1,beta=1",
            "fading:1",
        ] {
            assert!(text.parse::<ChannelSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_stationary_chain_has_the_papers_erasure_ratio_and_burst_length() {
        // papers/000 eq (3): p = (1 − alpha)/(2 − alpha − beta); mean burst 1/(1 − beta).
        let (alpha, beta) = (0.99, 0.8);
        let mut channel = Channel::new(
            format!("gilbert-elliott:alpha={alpha},beta={beta}")
                .parse()
                .unwrap(),
            3,
        );
        let units = 400_000;
        let (mut erased, mut bursts, mut before) = (0u32, 0u32, false);
        for _ in 0..units {
            let now = channel.erases();
            erased += u32::from(now);
            bursts += u32::from(now && !before);
            before = now;
        }
        let ratio = f64::from(erased) / f64::from(units);
        let burst = f64::from(erased) / f64::from(bursts);
        assert!((ratio - 0.047_619).abs() < 0.003, "{ratio}");
        assert!((burst - 5.0).abs() < 0.2, "{burst}");
    }

    #[test]
    fn certain_and_impossible_erasures_are_just_that() {
        let mut never = Channel::new(ChannelSpec::Bernoulli { p: 0.0 }, 1);
        let mut always = Channel::new(ChannelSpec::Bernoulli { p: 1.0 }, 1);
        assert!((0..1000).all(|_| !never.erases() && always.erases()));
    }
}

//! Erasure processes: Bernoulli and Gilbert–Elliott, for `tmt inject` and for synthetic links.
//!
//! `alpha` and `beta` are the papers' *persistence* probabilities, P(stay in good) and P(stay in
//! bad) (papers/000 §3.3 as corrected by models.md K1), not probabilities of changing the state.

use std::str::FromStr;

use derive_more::Display;

use crate::math::rng::{Limit, Stream, Uniform};

mod bernoulli;
mod blocks;
mod fading;
mod family;
mod gilbert_elliott;
mod piece;
pub mod synth;

pub use blocks::Blocks;
pub use fading::{Fades, Fading};
pub use family::{ChannelError, Family, Key};
pub use gilbert_elliott::{GilbertElliott, Start};
pub use piece::{ChainState, ErasurePiece, Erasures};

/// Every process there is; a new one is a file and a line here.
pub static FAMILIES: &[&Family] = &[
    &bernoulli::FAMILY,
    &gilbert_elliott::FAMILY,
    &fading::FAMILY,
];

/// Texts of all processes, as they are printed, for tests.
pub fn examples() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.examples).copied()
}

/// An erasure process, one draw a unit.
#[derive(Debug, Display, Clone, Copy, PartialEq)]
pub enum ChannelSpec {
    /// Independent erasures.
    #[display("{}:{p}", bernoulli::FAMILY.name)]
    Bernoulli {
        /// Probability that a unit is erased.
        p: f64,
    },
    /// Two states, each with its erasure probability.
    #[display("{}:{_0}", gilbert_elliott::FAMILY.name)]
    GilbertElliott(GilbertElliott),
}

impl FromStr for ChannelSpec {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut families = FAMILIES.to_vec();
        families.retain(|family| family.in_steps);
        match SlotChannel::parse_with(text, &families)? {
            SlotChannel::Steps(spec) => Ok(spec),
            SlotChannel::Fading(_) => {
                let text = format!("'{text}': expected a process that goes on with every unit");
                Err(ChannelError(text))
            }
        }
    }
}

/// What erases the slots of a link of constant rate.
#[derive(Debug, Display, Clone, Copy, PartialEq)]
pub enum SlotChannel {
    /// A process that goes on with every slot.
    Steps(ChannelSpec),
    /// One that goes on with time.
    #[display("{}:{_0}", fading::FAMILY.name)]
    Fading(Fading),
}

impl SlotChannel {
    /// Reads a process of one of these families: [`FAMILIES`], or a caller's own beside or in place of them.
    ///
    /// # Errors
    /// What is wrong with the text, and what is accepted.
    pub fn parse_with(text: &str, families: &[&Family]) -> Result<Self, ChannelError> {
        family::read(text, families)
    }
}

impl FromStr for SlotChannel {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_with(text, FAMILIES)
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
    fn examples_read_back_and_use_every_key() {
        for family in FAMILIES {
            for text in family.examples {
                let (name, parameters) = text.split_once(':').unwrap();
                assert_eq!(name, family.name);
                let read = text.parse::<SlotChannel>().unwrap();
                assert_eq!((family.read)(parameters).unwrap(), read);
                assert_eq!(read.to_string(), *text);
                assert_eq!(text.parse::<ChannelSpec>().is_ok(), family.in_steps);
            }
            for key in family.keys.iter().filter(|_| family.keys.len() > 1) {
                let uses = |text: &&str| text.contains(&format!("{}=", key.name));
                assert!(family.examples.iter().any(uses), "{}", key.name);
            }
        }
        assert_eq!(examples().next(), Some("bernoulli:0.001"));
    }

    #[test]
    fn presets_are_what_is_not_given() {
        let short: ChannelSpec = "gilbert-elliott:beta=0.8,alpha=0.99".parse().unwrap();
        let text = "gilbert-elliott:alpha=0.99,beta=0.8,pg=0,pb=1";
        assert_eq!(short.to_string(), text);
        assert_eq!(
            gilbert_elliott::FAMILY.form(),
            "gilbert-elliott:alpha=P(stay in good),beta=P(stay in bad)[,pg=0][,pb=1][,start=stationary|good|bad]"
        );
        assert_eq!(bernoulli::FAMILY.form(), "bernoulli:P");
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

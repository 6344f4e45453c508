//! `gilbert-elliott`: a two-state Markov channel with an erasure probability per state (Kuhn 2015, Sec. 3.3).

use std::str::FromStr;

use super::family::{Family, Make};
use super::{ChannelError, ChannelSpec, SlotChannel};
use crate::keywords;
use crate::types::named::{Kind, Parameter, Value, Values};

pub(super) static FAMILY: Family = Family {
    name: "gilbert-elliott",
    about: "Two-state Markov channel with an erasure probability per state",
    parameters: &[
        Parameter::required("alpha", Kind::Probability).described(
            "P(stay in good)",
            "probability of staying in the good state, 0 to 1",
        ),
        Parameter::required("beta", Kind::Probability).described(
            "P(stay in bad)",
            "probability of staying in the bad state, 0 to 1",
        ),
        Parameter::preset("pg", Kind::Probability, Value::Number(0.0))
            .described("0", "erasure probability in the good state, 0 to 1"),
        Parameter::preset("pb", Kind::Probability, Value::Number(1.0))
            .described("1", "erasure probability in the bad state, 0 to 1"),
        Parameter::keyword("start", Start::VARIANTS)
            .described("stationary|good|bad", "state at the first unit"),
    ],
    examples: &[
        "gilbert-elliott:alpha=0.99,beta=0.8,pg=0,pb=1",
        "gilbert-elliott:alpha=0.9999,beta=0.999,pg=0.1,pb=0.8",
        "gilbert-elliott:alpha=0.2,beta=0.1,pg=0,pb=1,start=good",
        "gilbert-elliott:alpha=1,beta=1,pg=0,pb=1,start=bad",
    ],
    make: Make {
        in_steps: true,
        ..Make::timed(|values| {
            let channel = GilbertElliott::of(values)?;
            Ok(SlotChannel::Steps(ChannelSpec::GilbertElliott(channel)))
        })
    },
};

/// Parameters of the Gilbert–Elliott channel.
///
/// ```
/// use tmt_core::channel::{Channel, ChannelSpec, GilbertElliott, Start};
///
/// let bursts = GilbertElliott { alpha: 0.99, beta: 0.9, pg: 0.0, pb: 1.0, start: Start::Stationary };
/// assert_eq!(bursts, "alpha=0.99,beta=0.9".parse()?);
/// assert!(bursts.p_bad().is_some_and(|share| (share - 1.0 / 11.0).abs() < 1e-12));
/// let mut channel = Channel::new(ChannelSpec::GilbertElliott(bursts), 1);
/// let erased: Vec<bool> = (0..100).map(|_| channel.erases()).collect();
/// # assert!(erased.len() == 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, derive_more::Display, Clone, Copy, PartialEq)]
#[display("alpha={alpha},beta={beta},pg={pg},pb={pb}{}", start.suffix())]
pub struct GilbertElliott {
    /// Probability of staying in the good state, from one unit to the next.
    pub alpha: f64,
    /// Probability of staying in the bad state, from one unit to the next.
    pub beta: f64,
    /// Erasure probability in the good state; 0 in Kuhn 2015.
    pub pg: f64,
    /// Erasure probability in the bad state; 1 in Kuhn 2015.
    pub pb: f64,
    /// State at the first unit.
    pub start: Start,
}

/// State of the channel at the first unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Drawn from the stationary distribution.
    Stationary,
    /// The good state.
    Good,
    /// The bad state.
    Bad,
}

keywords!(Start {
    Stationary => "stationary",
    Good => "good",
    Bad => "bad",
});

impl Start {
    /// The part of the text for this state; empty for the default.
    fn suffix(self) -> String {
        match self {
            Self::Stationary => String::new(),
            start => format!(",start={start}"),
        }
    }
}

impl GilbertElliott {
    /// Share of units sent in the bad state, (1 − alpha) / (2 − alpha − beta) (Kuhn 2015, eq. (3)).
    ///
    /// `None` for alpha = beta = 1, where the channel never changes its state.
    #[must_use]
    pub fn p_bad(&self) -> Option<f64> {
        let leaving = (1.0 - self.alpha) + (1.0 - self.beta);
        (leaving > 0.0).then(|| (1.0 - self.alpha) / leaving)
    }

    /// Probability that the channel is in the bad state at the first unit.
    pub(super) fn p_bad_at_start(&self) -> f64 {
        match self.start {
            Start::Stationary => self.p_bad().unwrap_or(0.0),
            Start::Good => 0.0,
            Start::Bad => 1.0,
        }
    }
}

impl GilbertElliott {
    fn of(values: &Values) -> Result<Self, ChannelError> {
        let channel = Self {
            alpha: values.number("alpha"),
            beta: values.number("beta"),
            pg: values.number("pg"),
            pb: values.number("pb"),
            start: values.word("start").parse()?,
        };
        if channel.p_bad().is_none() && channel.start == Start::Stationary {
            return Err(ChannelError::Misfit(
                "alpha=1 and beta=1 never change the state, so there is no stationary distribution: add start=good or start=bad"
                    .to_owned(),
            ));
        }
        Ok(channel)
    }
}

impl FromStr for GilbertElliott {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of(&FAMILY.read(Some(text))?)
    }
}

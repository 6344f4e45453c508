//! Erasure processes by name, for `tmt synth`, `tmt inject` and the links of `tmt tcp`.
//!
//! `alpha` and `beta` are the probabilities of staying in the good and in the bad state, not of changing it (Kuhn 2015,
//! Sec. 3.3, with erratum K1 of docs/models.md, Sec. 8.1).

use std::str::FromStr;
use std::sync::Arc;

use derive_more::Display;

use crate::math::rng::{BATCH, Draws, Limit, Stream, Uniform};
use crate::radio::RadioChannel;
use crate::types::named::{self, Choice, Kind, Own, ParseError, Value};
use crate::types::{Bytes, Span};

mod bernoulli;
mod blocks;
mod chain;
mod coded;
mod fading;
mod family;
mod gilbert_elliott;
mod interval;
mod land_mobile;
mod levels;
mod list;
mod losses;
mod markov;
mod outage_list;
mod outages;
mod parameters;
mod piece;
mod process;
mod reconfiguration;
pub mod scenario;
mod semi_markov;
pub mod synth;

pub use blocks::Blocks;
pub use fading::{Fades, Fading};
pub use family::{ChannelError, Content, Family, Make, TableError, names_files, with_files};
pub use gilbert_elliott::{GilbertElliott, Start};
pub use list::unused_positions;
pub use losses::Losses;
pub use piece::{ChainState, ErasurePiece, Erasures};
pub use process::{Erasing, Process, SlotLink, Use};
pub use reconfiguration::Reconfiguration;

/// Registry of the built-in processes. A new one is a file and a line here.
pub static FAMILIES: &[&Family] = &[
    &bernoulli::FAMILY,
    &gilbert_elliott::FAMILY,
    &fading::FAMILY,
    &markov::FAMILY,
    &semi_markov::FAMILY,
    &levels::FAMILY,
    &outages::FAMILY,
    &outage_list::FAMILY,
    &list::FAMILY,
    &land_mobile::FAMILY,
    &coded::FAMILY,
    &reconfiguration::FAMILY,
    &scenario::FAMILY,
];

impl named::Family for Make {
    const KIND: &'static str = "process";
    const ENTRIES: &'static [&'static Family] = FAMILIES;
    const DEFAULT: &'static Family = &reconfiguration::FAMILY;

    fn own() -> &'static Own<Family> {
        static OWN: Own<Family> = Own::new();
        &OWN
    }
}

/// Texts of all built-in processes, as they are printed, for tests.
pub fn examples() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.examples).copied()
}

/// An erasure process that advances with each unit.
#[derive(Debug, Display, Clone, Copy, PartialEq)]
pub enum ChannelSpec {
    /// Independent erasures with a constant probability.
    #[display("{}:{p}", bernoulli::FAMILY.name)]
    Bernoulli {
        /// Probability that a unit is erased, in [0, 1].
        p: f64,
    },
    /// A two-state Markov channel, each state with its erasure probability.
    #[display("{}:{_0}", gilbert_elliott::FAMILY.name)]
    GilbertElliott(GilbertElliott),
}

impl FromStr for ChannelSpec {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut families = FAMILIES.to_vec();
        families.retain(|family| family.make.in_steps);
        match SlotChannel::parse_with(text, &families)? {
            SlotChannel::Steps(spec) => Ok(spec),
            SlotChannel::Timed(_) => Err(ChannelError::value(
                text,
                "a process that advances with each unit, not with time",
            )),
        }
    }
}

/// An erasure process of slots, packets or ACKs. Two are equal if they have the same text.
#[derive(Debug, Display, Clone)]
pub enum SlotChannel {
    /// A process of two states at most that advances with each unit.
    Steps(ChannelSpec),
    /// Any other process, most of them in continuous time.
    Timed(Arc<dyn Process>),
}

impl From<ChannelSpec> for SlotChannel {
    fn from(spec: ChannelSpec) -> Self {
        Self::Steps(spec)
    }
}

impl PartialEq for SlotChannel {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Steps(one), Self::Steps(other)) => one == other,
            (Self::Timed(one), Self::Timed(other)) => one.to_string() == other.to_string(),
            _ => false,
        }
    }
}

impl SlotChannel {
    /// The link to whose slots the process belongs; `None` if it fits any link.
    #[must_use]
    pub fn link(&self) -> Option<&SlotLink> {
        match self {
            Self::Steps(_) => None,
            Self::Timed(process) => process.link(),
        }
    }

    /// Message if units of `lldu` are not those that the process decides about, such as codewords; `None` if they are.
    #[must_use]
    pub fn misfit(&self, lldu: Bytes) -> Option<String> {
        let Self::Timed(process) = self else {
            return None;
        };
        let expected = process.unit_bytes().filter(|expected| *expected != lldu)?;
        Some(format!(
            "found an LLDU of {lldu}, expected {expected}, the data of a slot of {process}"
        ))
    }

    /// The radio channel whose words are the units; `None` if none is behind the process.
    #[must_use]
    pub fn radio(&self) -> Option<&RadioChannel> {
        match self {
            Self::Steps(_) => None,
            Self::Timed(process) => process.radio(),
        }
    }

    /// The process under `seed`, before its first unit.
    #[must_use]
    pub fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        match self {
            Self::Steps(spec) => Box::new(Blocks::new(*spec, seed, used)),
            Self::Timed(process) => process.begin(seed, used),
        }
    }

    /// Probability that a unit that is on air for `on_air` is erased, if there is a closed form for it. That of a
    /// Gilbert–Elliott channel is the mean over all units, regardless of its first state.
    #[must_use]
    pub fn erasure_probability(&self, on_air: Span) -> Option<f64> {
        match self {
            Self::Steps(ChannelSpec::Bernoulli { p }) => Some(*p),
            Self::Steps(ChannelSpec::GilbertElliott(channel)) => {
                let p_bad = channel.p_bad()?;
                Some(p_bad * channel.pb + (1.0 - p_bad) * channel.pg)
            }
            Self::Timed(process) => process.erasure_probability(on_air),
        }
    }

    /// Whether two seeds may differ.
    #[must_use]
    pub fn is_random(&self) -> bool {
        match self {
            Self::Steps(ChannelSpec::Bernoulli { p }) => *p > 0.0 && *p < 1.0,
            Self::Steps(ChannelSpec::GilbertElliott(_)) => true,
            Self::Timed(process) => process.is_random(),
        }
    }

    /// Numbers of the units that are erased, rising, if the process is a list of them.
    #[must_use]
    pub fn positions(&self) -> Option<&[u64]> {
        match self {
            Self::Steps(_) => None,
            Self::Timed(process) => process.positions(),
        }
    }

    /// The text for a line of a message: long content in braces is cut.
    #[must_use]
    pub fn brief(&self) -> String {
        named::brief(&self.to_string())
    }

    /// Reads a process of one of `families`, which may be [`FAMILIES`], a caller's own, or both.
    ///
    /// # Errors
    /// The text is invalid. The error names the part at fault and what is accepted.
    pub fn parse_with(text: &str, families: &[&'static Family]) -> Result<Self, ChannelError> {
        if let Some(p) = bare_probability(text) {
            return Err(ParseError::Mismatch {
                found: text.to_owned(),
                suggestion: format!(" (did you mean 'bernoulli:{p}'?)"),
                expected: "the name of a process before its values".to_owned(),
            }
            .into());
        }
        let choice = Choice::parse_with(text, families)?;
        (choice.entry().make.process)(choice.values())
    }
}

impl FromStr for SlotChannel {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_with(text, FAMILIES)
    }
}

/// Reads a probability, a decimal number in [0, 1].
///
/// # Errors
/// The text is not a number from 0 to 1.
pub fn probability(text: &str) -> Result<f64, ParseError> {
    match Kind::Probability.read(text)? {
        Value::Number(p) => Ok(p),
        _ => Err(ParseError::mismatch(text, Kind::Probability.expected())),
    }
}

/// The probability that a text without a name means, as in `0.01` or `1%`.
fn bare_probability(text: &str) -> Option<f64> {
    let p = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&p).then_some(p)
}

/// A running erasure process, which decides unit by unit.
///
/// ```
/// use tmt_core::channel::{Channel, ChannelSpec};
///
/// let mut channel = Channel::new(ChannelSpec::Bernoulli { p: 0.1 }, 1);
/// let erased = (0..10_000).filter(|_| channel.erases()).count();
/// assert!((900..1100).contains(&erased));
/// ```
#[derive(Debug, Clone)]
pub struct Channel {
    spec: ChannelSpec,
    state: Uniform,
    erasure: Uniform,
    /// Whether the state alone decides what is erased, as in Kuhn 2015, so that there is no second draw.
    state_decides: bool,
    /// Whether the channel was in the bad state for the last unit.
    bad: bool,
    /// Without states: whether each of the next `ahead` units is erased, from the lowest bit on.
    drawn: u64,
    ahead: u32,
    /// Index of the next unit after those.
    next: u64,
}

impl Channel {
    /// The process of a forward link under `seed`, before its first unit.
    #[must_use]
    pub fn new(spec: ChannelSpec, seed: u64) -> Self {
        Self::on(spec, seed, Use::Forward)
    }

    /// The process of the return path under `seed`, which uses its own random streams.
    #[must_use]
    pub fn of_return_path(spec: ChannelSpec, seed: u64) -> Self {
        Self::on(spec, seed, Use::Return)
    }

    /// The process of the feedback of a link under `seed`, which uses its own random streams.
    #[must_use]
    pub fn of_feedback(spec: ChannelSpec, seed: u64) -> Self {
        Self::on(spec, seed, Use::Feedback)
    }

    fn on(spec: ChannelSpec, seed: u64, used: Use) -> Self {
        let state_decides = match spec {
            ChannelSpec::Bernoulli { p } => Limit::new(p).is_certain(),
            ChannelSpec::GilbertElliott(channel) => {
                Limit::new(channel.pg).is_certain() && Limit::new(channel.pb).is_certain()
            }
        };
        Self {
            spec,
            state: used.numbers(seed, Stream::ChannelState),
            erasure: used.numbers(seed, Stream::ChannelErasure),
            state_decides,
            bad: false,
            drawn: 0,
            ahead: 0,
            next: 0,
        }
    }

    /// The process under `seed` for the units `from` … `from + len − 1`, for both states before them.
    ///
    /// Pieces can be drawn in any order and in parallel. They are then resolved in order with [`ErasurePiece::resolve`].
    #[must_use]
    pub fn piece(spec: ChannelSpec, seed: u64, from: u64, len: usize) -> ErasurePiece {
        piece::draw(spec, seed, Use::Forward, from, len)
    }

    /// Draws whether the next unit is erased.
    #[inline]
    pub fn erases(&mut self) -> bool {
        if self.ahead == 0 {
            return self.draws_next();
        }
        self.ahead -= 1;
        let erased = self.drawn & 1 == 1;
        self.drawn >>= 1;
        erased
    }

    /// Draws the next unit, and without states others ahead.
    #[inline(never)]
    fn draws_next(&mut self) -> bool {
        let index = self.next;
        let p = match self.spec {
            ChannelSpec::Bernoulli { p } => {
                self.draw_ahead(index, p);
                self.next += BATCH as u64;
                self.ahead = u64::BITS;
                return self.erases();
            }
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
        self.next += 1;
        if self.state_decides {
            p > 0.0
        } else {
            self.erasure.at(index) < p
        }
    }

    /// Draws the units from `index` on, which is several times as fast as one by one.
    #[inline(never)]
    fn draw_ahead(&mut self, index: u64, p: f64) {
        let limit = Limit::new(p);
        let mut draws = Draws::default();
        if !limit.is_certain() {
            self.erasure.draw(index, &mut draws);
        }
        self.drawn = draws.below(limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_round_trip_and_use_every_key() {
        for family in FAMILIES {
            for text in family.examples {
                let (name, parameters) = text.split_once(':').unwrap();
                assert_eq!(name, family.name);
                let read = text.parse::<SlotChannel>().unwrap();
                let values = family.read(Some(parameters)).unwrap();
                assert_eq!((family.make.process)(&values).unwrap(), read);
                assert_eq!(read.to_string(), *text);
                assert_eq!(text.parse::<ChannelSpec>().is_ok(), family.make.in_steps);
            }
            for key in family.parameters.iter().filter(|key| !key.is_bare) {
                let uses = |text: &&str| text.contains(&format!("{}=", key.name));
                assert!(family.examples.iter().any(uses), "{}", key.name);
            }
        }
        assert_eq!(examples().next(), Some("bernoulli:0.001"));
    }

    #[test]
    fn every_family_refuses_unknown_repeated_and_missing_parameters() {
        let refused = |text: &str| text.parse::<SlotChannel>().unwrap_err().to_string();
        for family in FAMILIES.iter().filter(|family| family.name != "scenario") {
            let (name, example) = family.examples[0].split_once(':').unwrap();
            let form = family.form();
            let unknown = format!("{name}:{example},zzzz=1");
            let expected = format!("found 'zzzz=1', expected one of these parameters: {form}");
            assert_eq!(refused(&unknown), expected);
            let parts: Vec<_> = family.parts(example).collect();
            for (parameter, part, _) in &parts {
                let parameter = parameter.unwrap();
                let expected = format!("expected {} at most once: {form}", parameter.name);
                assert!(refused(&format!("{name}:{example},{part}")).ends_with(&expected));
                let others = parts.iter().filter(|(other, ..)| *other != Some(parameter));
                let others: Vec<&str> = others.map(|(_, part, _)| *part).collect();
                let mark = if others.is_empty() { "" } else { ":" };
                let without = format!("{name}{mark}{}", others.join(",")).parse::<SlotChannel>();
                let missing = format!("found no {}, expected {form}", parameter.name);
                let is_missed = without.is_err_and(|error| error.to_string() == missing);
                assert_eq!(
                    is_missed, parameter.is_required,
                    "{name} {}",
                    parameter.name
                );
            }
        }
    }

    #[test]
    fn parameters_may_stand_in_parentheses() {
        for text in examples() {
            let in_parentheses = format!("{})", text.replacen(':', "(", 1));
            let read: SlotChannel = in_parentheses.parse().unwrap();
            assert_eq!(read.to_string(), text);
        }
    }

    #[test]
    fn omitted_keys_have_their_defaults() {
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
    fn a_long_text_is_cut_between_rows_in_messages() {
        let brief = |text: &str| text.parse::<SlotChannel>().unwrap().brief();
        for text in ["bernoulli:0.1", "list:{0;3;4;1999}"] {
            assert_eq!(brief(text), text);
        }
        let numbers: Vec<String> = (100..200).map(|number: u32| number.to_string()).collect();
        let cut = brief(&format!("list:{{{}}}", numbers.join(";")));
        assert!(cut.starts_with("list:{100;101;"), "{cut}");
        assert!(cut.ends_with(";113;114;…}"), "{cut}");
    }

    #[test]
    fn invalid_channels_are_refused() {
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
    fn a_stationary_chain_has_the_published_erasure_ratio_and_burst_length() {
        // Kuhn 2015, eq. (3): p = (1 − alpha)/(2 − alpha − beta); mean burst 1/(1 − beta).
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
    fn probabilities_0_and_1_are_exact() {
        let mut never = Channel::new(ChannelSpec::Bernoulli { p: 0.0 }, 1);
        let mut always = Channel::new(ChannelSpec::Bernoulli { p: 1.0 }, 1);
        assert!((0..1000).all(|_| !never.erases() && always.erases()));
    }
}

//! Reliability schemes of the link layer and their text form (docs/schemes.md, Sec. 2).
//!
//! Each family of schemes is one file with data only, listed in [`FAMILIES`]: the form of its text, and the rules of the
//! [`engine`] that it uses. The engine does not know which scheme it runs.

pub mod engine;
pub mod runner;

mod arq;
mod fec;
mod frame_arq;
mod harq;
mod none;

use std::str::FromStr;

use strum::IntoStaticStr;

use crate::types::named::{Named, Own, RegisterError, in_parentheses, split, suggestion};

/// Registry of the built-in schemes. A new one is a file and a line here.
pub static FAMILIES: &[&Family] = &[
    &none::FAMILY,
    &fec::FAMILY,
    &arq::FAMILY,
    &harq::FAMILY,
    &frame_arq::FAMILY,
];

/// Families that the program has registered.
static OWN: Own<Family> = Own::new();

/// Registers families of the program, once, beside the built-in ones.
///
/// # Errors
/// [`RegisterError`]: a name that is taken, or a second call.
pub fn register(own: Vec<&'static Family>) -> Result<(), RegisterError> {
    OWN.register(FAMILIES, own)
}

/// All families: the built-in ones, and those that the program has registered.
#[must_use]
pub fn families() -> Vec<&'static Family> {
    OWN.after(FAMILIES)
}

/// Largest codeword N, units.
const MAX_CODEWORD: u32 = 65_535;
/// Largest super-block I·N, units.
const MAX_SUPER_BLOCK: u32 = 1 << 24;
/// Largest NS, units.
const MAX_EXTRA: u32 = 65_535;
/// Largest finite R, rounds.
const MAX_ROUNDS: u32 = u32::MAX - 1;

/// A family of schemes: its text form and the rules it uses. [`SchemeSpec::parse_with`] also reads families that a caller
/// defines.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Name, with which the text starts.
    pub name: &'static str,
    /// Description, one line of help.
    pub about: &'static str,
    /// Whether the text contains `ND/N`. If not, a codeword is 1/1.
    pub codeword: bool,
    /// Options that the family accepts besides `in-order`.
    pub options: &'static [OptionKey],
    /// Limit of rounds if `rounds` is not given.
    pub default_rounds: Rounds,
    /// Which units count towards decoding, and which are sent in a round.
    pub combining: Combining,
    /// Texts that together use every option, for tests.
    pub examples: &'static [&'static str],
}

impl Named for Family {
    fn name(&self) -> &'static str {
        self.name
    }
}

impl Family {
    /// The accepted form of the text, such as `harq:ND/N[,extra=NS][,rounds=R][,interleave=I][,in-order]`.
    #[must_use]
    pub fn form(&self) -> String {
        let mut form = self.name.to_owned();
        if self.codeword {
            form.push_str(":ND/N");
        }
        for option in self.options {
            let mark = if form.contains(':') { ',' } else { ':' };
            let value = option.value();
            form.push_str(&format!("[{mark}{}={value}]", option.name()));
        }
        form + "[,in-order]"
    }

    /// The scheme of this family without options, on single LLDUs.
    fn single(&'static self, text: String) -> SchemeSpec {
        SchemeSpec {
            family: self,
            text,
            data_units: 1,
            units: 1,
            extra: 0,
            rounds: self.default_rounds,
            interleave: 1,
            in_order: false,
        }
    }

    /// Reads a scheme of this family; `rest` is its text after the name.
    fn read(&'static self, rest: &str) -> Result<SchemeSpec, SchemeError> {
        let refuse = |part: &str, reason: &str| SchemeError {
            text: format!("{}{rest}", self.name),
            part: part.to_owned(),
            reason: reason.to_owned(),
            form: self.form(),
        };
        let number = |part: &str, digits: &str, least: u32, most: u32| {
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(refuse(part, "has an invalid number"));
            }
            let value = digits.parse().ok();
            let value = value.filter(|value| (least..=most).contains(value));
            value.ok_or_else(|| refuse(part, &format!("is out of range {least} to {most}")))
        };
        let mut spec = self.single(format!("{}{rest}", self.name));
        let mut parts = split(rest);
        let first = parts.next().and_then(|first| first.strip_prefix(':'));
        let option = match first {
            Some(codeword) if self.codeword => {
                let sizes = codeword.split_once('/');
                let (data_units, units) =
                    sizes.ok_or_else(|| refuse(codeword, "is not a codeword size ND/N"))?;
                spec.data_units = number(codeword, data_units, 1, MAX_CODEWORD)?;
                spec.units = number(codeword, units, 1, MAX_CODEWORD)?;
                if spec.data_units > spec.units {
                    return Err(refuse(codeword, "has ND > N"));
                }
                None
            }
            None if self.codeword => return Err(refuse(self.name, "needs a codeword size ND/N")),
            Some(part @ ("" | "in-order")) => {
                return Err(refuse(part, "is not allowed after ':'"));
            }
            option => option,
        };
        let mut seen = Vec::new();
        for part in option.into_iter().chain(parts) {
            if spec.in_order {
                return Err(refuse(part, "follows 'in-order', which must be last"));
            } else if part == "in-order" {
                spec.in_order = true;
                continue;
            } else if first.is_none() {
                return Err(refuse(part, "is not allowed here"));
            }
            let option = part.split_once('=');
            let (name, value) = option.ok_or_else(|| refuse(part, "is not an option"))?;
            let mut taken = self.options.iter().filter(|key| key.name() == name);
            let key = taken.next().ok_or_else(|| {
                let known = self.options.iter().map(|key| key.name());
                let suggestion = suggestion(name, known);
                refuse(
                    part,
                    &format!("is not an option of {}{suggestion}", self.name),
                )
            })?;
            if seen.contains(&key) {
                return Err(refuse(part, "is given more than once"));
            }
            seen.push(key);
            match key {
                OptionKey::Extra => spec.extra = number(part, value, 0, MAX_EXTRA)?,
                OptionKey::Rounds => {
                    spec.rounds = Rounds::AtMost(number(part, value, 0, MAX_ROUNDS)?);
                }
                OptionKey::Interleave => {
                    spec.interleave = number(part, value, 1, MAX_SUPER_BLOCK)?;
                }
            }
        }
        let super_block = u64::from(spec.interleave) * u64::from(spec.units);
        if super_block > MAX_SUPER_BLOCK.into() {
            let part = format!("interleave={}", spec.interleave);
            let reason = format!("makes a super-block of {super_block} units, above 2^24");
            return Err(refuse(&part, &reason));
        }
        Ok(spec)
    }
}

/// Key of an option in the text of a scheme.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum OptionKey {
    /// NS, extra units in each round.
    Extra,
    /// R, largest number of rounds.
    Rounds,
    /// I, interleaving depth in codewords.
    Interleave,
}

impl OptionKey {
    fn name(self) -> &'static str {
        self.into()
    }

    /// Symbol of the value in a form.
    const fn value(self) -> &'static str {
        match self {
            Self::Extra => "NS",
            Self::Rounds => "R",
            Self::Interleave => "I",
        }
    }
}

/// Limit R of the number of rounds after the first transmission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounds {
    /// At most this many rounds; 0 disables repeats.
    AtMost(u32),
    /// No limit: a codeword is repeated until it is decoded.
    Unlimited,
}

/// Rule by which units of several attempts are combined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Combining {
    /// Units of all attempts count. A round sends the missing units plus NS (ARQ, HARQ-II).
    Incremental,
    /// Units of earlier attempts are discarded. A round sends all N units (frame ARQ).
    Discard,
}

/// A scheme with all its parameters. It displays as the text from which it was read.
///
/// ```
/// use tmt_core::SchemeSpec;
/// use tmt_core::scheme::{OptionKey, Rounds};
///
/// let scheme = SchemeSpec::harq(10, 12)?.with(OptionKey::Rounds, 2)?.with_order();
/// assert_eq!(scheme, "harq:10/12,rounds=2,in-order".parse()?);
/// assert_eq!((scheme.data_units(), scheme.rounds()), (10, Rounds::AtMost(2)));
/// assert!(SchemeSpec::fec(12, 10).is_err()); // more data units than units
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, derive_more::Display, Clone, PartialEq, Eq)]
#[display("{text}")]
pub struct SchemeSpec {
    family: &'static Family,
    text: String,
    data_units: u32,
    units: u32,
    extra: u32,
    rounds: Rounds,
    interleave: u32,
    in_order: bool,
}

impl SchemeSpec {
    /// Reads a scheme of one of `families`, which may be [`FAMILIES`], a caller's own, or both.
    ///
    /// # Errors
    /// The text is invalid. The error names the part at fault and the accepted form.
    pub fn parse_with(text: &str, families: &[&'static Family]) -> Result<Self, SchemeError> {
        if let Some((name, inside)) = in_parentheses(text) {
            let mark = if inside == "in-order" { ',' } else { ':' };
            return Self::parse_with(&format!("{name}{mark}{inside}"), families);
        }
        let (name, rest) = text.split_at(text.find([':', ',']).unwrap_or(text.len()));
        let family = families.iter().find(|family| family.name == name);
        let family = family.ok_or_else(|| SchemeError {
            text: text.to_owned(),
            part: name.to_owned(),
            reason: format!(
                "is not a scheme{}",
                suggestion(name, families.iter().map(|family| family.name))
            ),
            form: format!("one of {}", forms_of(families).join(", ")),
        })?;
        family.read(rest)
    }

    /// `none`: each slot carries one LLDU, without redundancy or repeats.
    #[must_use]
    pub fn none() -> Self {
        none::FAMILY.single(none::FAMILY.name.to_owned())
    }

    /// `fec`: codewords of `units` units, `data_units` of them data; both from 1 to 65 535. Nothing is repeated.
    ///
    /// # Errors
    /// A size is out of range, or `data_units` is larger than `units`.
    pub fn fec(data_units: u32, units: u32) -> Result<Self, SchemeError> {
        fec::FAMILY.read(&format!(":{data_units}/{units}"))
    }

    /// `arq`: each erased LLDU is repeated until it is received.
    #[must_use]
    pub fn arq() -> Self {
        arq::FAMILY.single(arq::FAMILY.name.to_owned())
    }

    /// `harq`: HARQ-II with codewords of this size and no limit of rounds.
    ///
    /// # Errors
    /// As [`Self::fec`].
    pub fn harq(data_units: u32, units: u32) -> Result<Self, SchemeError> {
        harq::FAMILY.read(&format!(":{data_units}/{units}"))
    }

    /// `frame-arq`: codewords of this size that are repeated as a whole, with no limit of rounds.
    ///
    /// # Errors
    /// As [`Self::fec`].
    pub fn frame_arq(data_units: u32, units: u32) -> Result<Self, SchemeError> {
        frame_arq::FAMILY.read(&format!(":{data_units}/{units}"))
    }

    /// The same scheme with a further option.
    ///
    /// # Errors
    /// The family does not accept the option, the option is given already, or the value is out of range.
    pub fn with(&self, option: OptionKey, value: u32) -> Result<Self, SchemeError> {
        let rest = &self.text[self.family.name.len()..];
        let (given, order) = match rest.strip_suffix(",in-order") {
            Some(given) => (given, ",in-order"),
            None => (rest, ""),
        };
        let mark = if given.is_empty() { ':' } else { ',' };
        let name = option.name();
        self.family
            .read(&format!("{given}{mark}{name}={value}{order}"))
    }

    /// Family to which the scheme belongs.
    #[must_use]
    pub fn family(&self) -> &'static Family {
        self.family
    }

    /// Text from which the scheme was read.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Data units of a codeword, ND.
    #[must_use]
    pub fn data_units(&self) -> u32 {
        self.data_units
    }

    /// All units of a codeword, N.
    #[must_use]
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Extra units in each round, NS.
    #[must_use]
    pub fn extra(&self) -> u32 {
        self.extra
    }

    /// Largest number of rounds after the first attempt, R, or no limit.
    #[must_use]
    pub fn rounds(&self) -> Rounds {
        self.rounds
    }

    /// Interleaving depth in codewords, I.
    #[must_use]
    pub fn interleave(&self) -> u32 {
        self.interleave
    }

    /// Rule by which units of several attempts are combined.
    #[must_use]
    pub fn combining(&self) -> Combining {
        self.family.combining
    }

    /// Whether units of earlier attempts are discarded, as in frame ARQ.
    #[must_use]
    pub fn discards(&self) -> bool {
        self.combining() == Combining::Discard
    }

    /// Whether it repeats what was not decoded.
    #[must_use]
    pub fn repeats(&self) -> bool {
        self.rounds() != Rounds::AtMost(0)
    }

    /// Whether LLDUs are delivered in order (docs/schemes.md, Sec. 6).
    #[must_use]
    pub fn in_order(&self) -> bool {
        self.in_order
    }

    /// The same scheme with in-order delivery.
    #[must_use]
    pub fn with_order(mut self) -> Self {
        if !self.in_order {
            self.in_order = true;
            self.text.push_str(",in-order");
        }
        self
    }
}

/// An invalid scheme text: the part at fault, the reason, and the accepted form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("in '{text}': '{part}' {reason}; expected {form}")]
pub struct SchemeError {
    text: String,
    part: String,
    reason: String,
    form: String,
}

fn forms_of(families: &[&Family]) -> Vec<String> {
    families.iter().map(|family| family.form()).collect()
}

/// The accepted forms of all families, one per line of help.
#[must_use]
pub fn forms() -> Vec<String> {
    forms_of(&families())
}

/// Texts of all built-in families that together use every option, for tests.
pub fn examples() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.examples).copied()
}

impl FromStr for SchemeSpec {
    type Err = SchemeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse_with(text, &families())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> SchemeSpec {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn every_specified_form_is_accepted() {
        let harq = parse("harq:10/12,rounds=2,extra=1,interleave=3,in-order");
        assert_eq!(
            (
                harq.data_units(),
                harq.units(),
                harq.extra(),
                harq.interleave()
            ),
            (10, 12, 1, 3)
        );
        assert_eq!((harq.rounds(), harq.in_order()), (Rounds::AtMost(2), true));
        assert_eq!(parse("none").rounds(), Rounds::AtMost(0));
        assert_eq!(parse("fec:10/12,interleave=4").rounds(), Rounds::AtMost(0));
        assert_eq!(parse("arq").rounds(), Rounds::Unlimited);
        assert_eq!(
            parse("arq:rounds=4294967294").rounds(),
            Rounds::AtMost(u32::MAX - 1)
        );
        assert_eq!(parse("frame-arq:10/12").combining(), Combining::Discard);
        for text in [
            "none,in-order",
            "arq,in-order",
            "arq:rounds=0,in-order",
            "fec:1/1,in-order",
            "frame-arq:5/9,rounds=1,in-order",
        ] {
            parse(text);
        }
    }

    #[test]
    fn parameters_may_stand_in_parentheses() {
        for text in [
            "harq:10/12,rounds=2,in-order",
            "arq,in-order",
            "arq:rounds=3",
        ] {
            let in_parentheses = format!("{})", text.replacen([':', ','], "(", 1));
            assert_eq!(parse(&in_parentheses), parse(text));
        }
        for text in [
            "harq(10/12",
            "harq:10/12)",
            "harq((10/12))",
            "harq(10/12)x",
            "harq()",
            "(10/12)",
        ] {
            assert!(text.parse::<SchemeSpec>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_error_names_the_part_at_fault() {
        for (text, part) in [
            ("", ""),
            ("HARQ:10/12", "HARQ"),
            ("harq", "harq"),
            ("harq:", ""),
            ("harq:10", "10"),
            ("harq:12/10", "12/10"),
            ("harq:0/10", "0/10"),
            ("harq:10/65536", "10/65536"),
            ("harq:10/12,rounds=2,rounds=2", "rounds=2"),
            ("harq:10/12,rounds=-1", "rounds=-1"),
            ("harq:10/12,rounds=4294967295", "rounds=4294967295"),
            ("harq:10/12,in-order,rounds=1", "rounds=1"),
            ("harq:10/12,in-order,in-order", "in-order"),
            ("harq:10/12,", ""),
            ("harq:10/12, rounds=1", " rounds=1"),
            ("harq:+10/12", "+10/12"),
            ("fec:10/12,rounds=1", "rounds=1"),
            ("frame-arq:10/12,extra=1", "extra=1"),
            ("frame-arq:10/12,interleave=2", "interleave=2"),
            ("arq:", ""),
            ("arq:in-order", "in-order"),
            ("arq,rounds=1", "rounds=1"),
            ("arq:rounds=1,in-order ", "in-order "),
            ("none:rounds=0", "rounds=0"),
            ("fec:60000/65535,interleave=257", "interleave=257"),
            ("harq:10/12,interleave=0", "interleave=0"),
        ] {
            let error = text.parse::<SchemeSpec>().expect_err(text);
            assert_eq!(error.part, part, "{text}: {error}");
        }
    }

    #[test]
    fn examples_are_valid_and_use_every_option() {
        for family in FAMILIES {
            for option in family.options {
                let option = format!("{}=", option.name());
                let uses = |text: &&str| text.contains(&option);
                assert!(
                    family.examples.iter().any(uses),
                    "{}: {option}",
                    family.name
                );
            }
            for text in family.examples {
                assert_eq!(parse(text).family(), *family, "{text}");
            }
        }
    }

    #[test]
    fn constructors_agree_with_texts() {
        let harq = SchemeSpec::harq(10, 12)
            .and_then(|harq| harq.with_order().with(OptionKey::Extra, 1))
            .and_then(|harq| harq.with(OptionKey::Rounds, 2));
        assert_eq!(harq, "harq:10/12,extra=1,rounds=2,in-order".parse());
        let arq = SchemeSpec::arq().with(OptionKey::Rounds, 3);
        assert_eq!(arq, "arq:rounds=3".parse());
        assert_eq!(Ok(SchemeSpec::arq()), "arq".parse());
        assert_eq!(Ok(SchemeSpec::none()), "none".parse());
        assert_eq!(SchemeSpec::fec(3, 4), "fec:3/4".parse());
        assert!(SchemeSpec::frame_arq(5, 9).is_ok_and(|frame| frame.discards()));
        assert!(SchemeSpec::fec(4, 3).is_err());
        assert!(SchemeSpec::none().with(OptionKey::Extra, 1).is_err());
    }

    #[test]
    fn a_callers_family_is_read_in_addition_to_ours() {
        static TWICE: Family = Family {
            name: "twice",
            about: "Every frame is sent twice at most",
            default_rounds: Rounds::AtMost(1),
            options: &[],
            ..frame_arq::FAMILY
        };
        let families = [FAMILIES, &[&TWICE]].concat();
        let spec = SchemeSpec::parse_with("twice:10/12,in-order", &families).unwrap();
        assert!(spec.discards() && spec.in_order() && spec.rounds() == Rounds::AtMost(1));
        assert!(SchemeSpec::parse_with("arq", &families).is_ok());
        let error = SchemeSpec::parse_with("thrice", &families).unwrap_err();
        assert!(error.to_string().contains("twice:ND/N[,in-order]"));
        assert!("twice:10/12".parse::<SchemeSpec>().is_err());
    }

    #[test]
    fn an_error_shows_the_accepted_form() {
        let error = "harq:10/12,round=2"
            .parse::<SchemeSpec>()
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("'round=2'")
                && error.contains("harq:ND/N[,extra=NS][,rounds=R][,interleave=I][,in-order]"),
            "{error}"
        );
    }
}

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

use crate::types::named::{
    self, Choice, Entry, Kind, Own, Parameter, ParseError, RegisterError, Value, Values,
    in_parentheses, split,
};

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
    Choice::register(own)
}

/// All families: the built-in ones, and those that the program has registered.
#[must_use]
pub fn families() -> Vec<&'static Family> {
    Choice::entries()
}

/// Largest super-block I·N, units.
const MAX_SUPER_BLOCK: u32 = 1 << 24;

/// A family of schemes: its text form and the rules it uses. Its parameters are [`CODEWORD`], without which a codeword is 1/1,
/// and the options [`EXTRA`], [`ROUNDS`] and [`INTERLEAVE`]; every family takes `in-order` besides.
/// [`SchemeSpec::parse_with`] also reads families that a caller defines.
pub type Family = Entry<Rules>;

/// The rules of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rules {
    /// Limit of rounds if `rounds` is not given.
    pub default_rounds: Rounds,
    /// Which units count towards decoding, and which are sent in a round.
    pub combining: Combining,
}

impl Family {
    /// Whether its codewords have a size, which the text gives.
    #[must_use]
    pub fn has_codeword(&self) -> bool {
        self.parameters.contains(&CODEWORD)
    }

    /// Its options besides `in-order`.
    pub fn options(&self) -> impl Iterator<Item = &'static Parameter> {
        self.parameters
            .iter()
            .filter(|parameter| **parameter != CODEWORD)
    }
}

impl named::Family for Rules {
    const KIND: &'static str = "scheme";
    const ENTRIES: &'static [&'static Family] = FAMILIES;
    const DEFAULT: &'static Family = &none::FAMILY;

    fn own() -> &'static Own<Family> {
        &OWN
    }
}

/// ND/N, data units and all units of a codeword.
pub const CODEWORD: Parameter = Parameter::required("codeword", Kind::Fraction(65_535))
    .without_name()
    .described("ND/N", "data units and all units of a codeword");

/// NS, extra units in each round.
pub const EXTRA: Parameter = option("extra", 0, 65_535, "NS", "extra units in each round");

/// R, largest number of rounds.
pub const ROUNDS: Parameter = option("rounds", 0, u32::MAX - 1, "R", "largest number of rounds");

/// I, interleaving depth in codewords.
pub const INTERLEAVE: Parameter = option(
    "interleave",
    1,
    MAX_SUPER_BLOCK,
    "I",
    "interleaving depth in codewords",
);

const fn option(
    name: &'static str,
    least: u32,
    most: u32,
    symbol: &'static str,
    about: &'static str,
) -> Parameter {
    Parameter::optional(name, Kind::Count(least as u64, most as u64), "").described(symbol, about)
}

/// Last part of a text, which asks for delivery in order.
const IN_ORDER: &str = "in-order";

/// The same refusal with [`IN_ORDER`] in the form with which it ends.
fn with_order_in_form(mut error: ParseError) -> ParseError {
    if let ParseError::Mismatch { expected: form, .. } | ParseError::Missing { form, .. } =
        &mut error
    {
        *form = format!("{form}[,{IN_ORDER}]");
    }
    error
}

/// A text without [`IN_ORDER`], and whether it ends with that.
fn without_order(text: &str) -> (&str, bool) {
    let plain = text
        .strip_suffix(IN_ORDER)
        .and_then(|text| text.strip_suffix(','));
    (plain.unwrap_or(text), plain.is_some())
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
/// use tmt_core::scheme::{ROUNDS, Rounds};
///
/// let scheme = SchemeSpec::harq(10, 12)?.with(&ROUNDS, 2)?.with_order();
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
    pub fn parse_with(text: &str, families: &[&'static Family]) -> Result<Self, ParseError> {
        let (plain, in_order) = match in_parentheses(text) {
            Some((name, IN_ORDER)) => (name.to_owned(), true),
            Some((name, inside)) => {
                let (inside, in_order) = without_order(inside);
                (format!("{name}:{inside}"), in_order)
            }
            None => {
                let (plain, in_order) = without_order(text);
                (plain.to_owned(), in_order)
            }
        };
        if split(&plain).skip(1).any(|part| part == IN_ORDER) {
            let expected = "it once, as the last part, after a comma";
            return Err(ParseError::mismatch(IN_ORDER, expected));
        }
        let choice = Choice::parse_with(&plain, families).map_err(with_order_in_form)?;
        let spec = Self::of(choice.entry(), plain, choice.values()).map_err(with_order_in_form)?;
        Ok(if in_order { spec.with_order() } else { spec })
    }

    fn of(family: &'static Family, text: String, values: &Values) -> Result<Self, ParseError> {
        let number = |name| match values.get(name) {
            Some(Value::Count(count)) => u32::try_from(*count).ok(),
            _ => None,
        };
        let (data_units, units) = match values.get(CODEWORD.name) {
            Some(Value::Fraction(data_units, units)) => (*data_units, *units),
            _ => (1, 1),
        };
        let interleave = number(INTERLEAVE.name).unwrap_or(1);
        let super_block = u64::from(interleave) * u64::from(units);
        if super_block > MAX_SUPER_BLOCK.into() {
            return Err(ParseError::mismatch(
                format!("interleave={interleave}"),
                format!(
                    "a super-block of at most 2^24 units, not {super_block}: {}",
                    family.form()
                ),
            ));
        }
        Ok(Self {
            family,
            text,
            data_units,
            units,
            extra: number(EXTRA.name).unwrap_or(0),
            rounds: number(ROUNDS.name).map_or(family.make.default_rounds, Rounds::AtMost),
            interleave,
            in_order: false,
        })
    }

    /// The scheme of a family whose parameters are all optional, without options.
    fn plain(family: &'static Family) -> Self {
        Self {
            family,
            text: family.name.to_owned(),
            data_units: 1,
            units: 1,
            extra: 0,
            rounds: family.make.default_rounds,
            interleave: 1,
            in_order: false,
        }
    }

    fn sized(family: &'static Family, data_units: u32, units: u32) -> Result<Self, ParseError> {
        Self::parse_with(&format!("{}:{data_units}/{units}", family.name), &[family])
    }

    /// `none`: each slot carries one LLDU, without redundancy or repeats.
    #[must_use]
    pub fn none() -> Self {
        Self::plain(&none::FAMILY)
    }

    /// `fec`: codewords of `units` units, `data_units` of them data; both from 1 to 65 535. Nothing is repeated.
    ///
    /// # Errors
    /// A size is out of range, or `data_units` is larger than `units`.
    pub fn fec(data_units: u32, units: u32) -> Result<Self, ParseError> {
        Self::sized(&fec::FAMILY, data_units, units)
    }

    /// `arq`: each erased LLDU is repeated until it is received.
    #[must_use]
    pub fn arq() -> Self {
        Self::plain(&arq::FAMILY)
    }

    /// `harq`: HARQ-II with codewords of this size and no limit of rounds.
    ///
    /// # Errors
    /// As [`Self::fec`].
    pub fn harq(data_units: u32, units: u32) -> Result<Self, ParseError> {
        Self::sized(&harq::FAMILY, data_units, units)
    }

    /// `frame-arq`: codewords of this size that are repeated as a whole, with no limit of rounds.
    ///
    /// # Errors
    /// As [`Self::fec`].
    pub fn frame_arq(data_units: u32, units: u32) -> Result<Self, ParseError> {
        Self::sized(&frame_arq::FAMILY, data_units, units)
    }

    /// The same scheme with a further option of its family, such as [`ROUNDS`].
    ///
    /// # Errors
    /// The family does not accept the option, the option is given already, or the value is out of range.
    pub fn with(&self, option: &Parameter, value: u32) -> Result<Self, ParseError> {
        let (given, _) = without_order(&self.text);
        let mark = if given.contains(':') { ',' } else { ':' };
        let text = format!("{given}{mark}{}={value}", option.name);
        let spec = Self::parse_with(&text, &[self.family])?;
        Ok(if self.in_order {
            spec.with_order()
        } else {
            spec
        })
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
        self.family.make.combining
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
            self.text = format!("{},{IN_ORDER}", self.text);
        }
        self
    }
}

/// The accepted forms of all families, one per line of help.
#[must_use]
pub fn forms() -> Vec<String> {
    let form = |family: &&Family| format!("{}[,{IN_ORDER}]", family.form());
    families().iter().map(form).collect()
}

/// Texts of all built-in families that together use every option, for tests.
pub fn examples() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|family| family.examples).copied()
}

impl FromStr for SchemeSpec {
    type Err = ParseError;

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
            ("harq", "found no codeword"),
            ("harq:", ""),
            ("harq:10", "10"),
            ("harq:12/10", "12/10"),
            ("harq:0/10", "0/10"),
            ("harq:10/65536", "10/65536"),
            ("harq:10/12,rounds=2,rounds=2", "rounds=2"),
            ("harq:10/12,rounds=-1", "rounds=-1"),
            ("harq:10/12,rounds=4294967295", "rounds=4294967295"),
            ("harq:10/12,in-order,rounds=1", "in-order"),
            ("harq:10/12,in-order,in-order", "in-order"),
            ("harq:10/12,", ""),
            ("harq:10/12, rounds=1", " rounds=1"),
            ("harq:+10/12", "+10/12"),
            ("fec:10/12,rounds=1", "rounds=1"),
            ("frame-arq:10/12,extra=1", "extra=1"),
            ("frame-arq:10/12,interleave=2", "interleave=2"),
            ("arq:", ""),
            ("arq:in-order", "in-order"),
            ("arq,rounds=1", "arq,rounds=1"),
            ("arq:rounds=1,in-order ", "in-order "),
            ("none:rounds=0", "rounds=0"),
            ("fec:60000/65535,interleave=257", "interleave=257"),
            ("harq:10/12,interleave=0", "interleave=0"),
        ] {
            let error = text.parse::<SchemeSpec>().expect_err(text);
            let named = [
                format!("found '{part}'"),
                format!("unknown scheme '{part}'"),
            ];
            let error = error.to_string();
            assert!(
                named.iter().any(|named| error.starts_with(named)) || error.starts_with(part),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn examples_are_valid_and_use_every_option() {
        for family in FAMILIES {
            for option in family.options().map(|option| format!("{}=", option.name)) {
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
            .and_then(|harq| harq.with_order().with(&EXTRA, 1))
            .and_then(|harq| harq.with(&ROUNDS, 2));
        assert_eq!(harq, "harq:10/12,extra=1,rounds=2,in-order".parse());
        let arq = SchemeSpec::arq().with(&ROUNDS, 3);
        assert_eq!(arq, "arq:rounds=3".parse());
        assert_eq!(Ok(SchemeSpec::arq()), "arq".parse());
        assert_eq!(Ok(SchemeSpec::none()), "none".parse());
        assert_eq!(SchemeSpec::fec(3, 4), "fec:3/4".parse());
        assert!(SchemeSpec::frame_arq(5, 9).is_ok_and(|frame| frame.discards()));
        assert!(SchemeSpec::fec(4, 3).is_err());
        assert!(SchemeSpec::none().with(&EXTRA, 1).is_err());
    }

    #[test]
    fn a_callers_family_is_read_in_addition_to_ours() {
        static TWICE: Family = Family {
            name: "twice",
            about: "Every frame is sent twice at most",
            parameters: &[CODEWORD],
            examples: &[],
            make: Rules {
                default_rounds: Rounds::AtMost(1),
                combining: Combining::Discard,
            },
        };
        let families = [FAMILIES, &[&TWICE]].concat();
        let spec = SchemeSpec::parse_with("twice:10/12,in-order", &families).unwrap();
        assert!(spec.discards() && spec.in_order() && spec.rounds() == Rounds::AtMost(1));
        assert!(SchemeSpec::parse_with("arq", &families).is_ok());
        let error = SchemeSpec::parse_with("thrice", &families).unwrap_err();
        assert!(error.to_string().contains("frame-arq, twice"));
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

//! Codes and interleavers as text.
//!
//! A code is `uncoded`, `conv:RATE`, `rs:N/K`, `erasure:K/NxBYTES`, or `conv:RATE+` and one of the last two: the inner code,
//! which is next to the channel, first. An interleaver is `none`, `ideal` or `block:DEPTH`.

use std::fmt;
use std::str::FromStr;

use strum::VariantNames as _;

use super::erasure::{ErasureCode, OVERHEAD};
use super::reed_solomon::ReedSolomon;
use crate::model::conv::Rate;
use crate::model::ser;
use crate::types::named::{ParseError, unknown, unknown_of};
use crate::types::to_f64;

/// The accepted forms of a code.
pub(crate) const FORM: &str = "uncoded, conv:RATE, rs:N/K, erasure:K/NxBYTES, conv:RATE+rs:N/K or conv:RATE+erasure:K/NxBYTES";

/// A code: an inner convolutional code, an outer code, or both; neither is uncoded transmission.
///
/// ```
/// use tmt_core::coding::spec::CodeSpec;
///
/// let code: CodeSpec = "conv:3/4+rs:255/223".parse()?;
/// assert_eq!(code.to_string(), "conv:3/4+rs:255/223");
/// assert!((code.rate() - 0.75 * 223.0 / 255.0).abs() < 1e-15);
/// # Ok::<(), tmt_core::named::ParseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodeSpec {
    /// The code next to the channel.
    pub inner: Option<Rate>,
    /// The code that corrects the errors after the inner decoder.
    pub outer: Option<Outer>,
}

/// An outer code. The values are those that [`ReedSolomon::new`] and [`ErasureCode::new`] accept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outer {
    /// RS(n, k) over bytes.
    ReedSolomon {
        /// Symbols of a codeword.
        n: usize,
        /// Data symbols of a codeword.
        k: usize,
    },
    /// An erasure code over blocks.
    Erasure {
        /// Data blocks of a codeword.
        k: usize,
        /// All blocks of a codeword.
        n: usize,
        /// Data bytes of a block.
        bytes: usize,
    },
}

impl CodeSpec {
    /// The same code, if its numbers are those of a code that there is. The other methods take that for granted.
    ///
    /// # Errors
    /// Numbers that the text of the code would not be accepted with.
    pub fn checked(self) -> Result<Self, ParseError> {
        self.to_string().parse()
    }

    /// Information bits per channel bit, without the tails of frames.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.closed_form(self.segment_bytes()).rate()
    }

    /// Bytes of a segment: a codeword of an erasure code, 1104 in Celandroni 2006; else 1115, as there, or with an outer code the
    /// fewest whole codewords that hold them.
    #[must_use]
    pub const fn segment_bytes(&self) -> usize {
        match self.outer {
            Some(Outer::Erasure { k, bytes, .. }) => k * bytes,
            Some(Outer::ReedSolomon { k, .. }) => k * 1115_usize.div_ceil(k),
            None => 1115,
        }
    }

    /// Data bytes of a codeword of the outer code; `None` without one.
    #[must_use]
    pub const fn outer_data_bytes(&self) -> Option<u64> {
        match self.outer {
            None => None,
            Some(Outer::ReedSolomon { k, .. }) => Some(k as u64),
            Some(Outer::Erasure { k, bytes, .. }) => Some(k as u64 * bytes as u64),
        }
    }

    /// The closed form of the same code with segments of this many bytes, bursts measured in wrong bits, and an ideal interleaver. With
    /// an erasure code a segment is always one codeword there.
    #[must_use]
    pub fn closed_form(&self, segment_bytes: usize) -> ser::Code {
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let float = |number: usize| to_f64(count(number));
        ser::Code {
            inner: self.inner,
            outer: match self.outer {
                None => ser::Outer::None {
                    bits: 8.0 * float(segment_bytes),
                },
                Some(Outer::ReedSolomon { n, k }) => ser::Outer::ReedSolomon {
                    n: count(n),
                    k: count(k),
                    m: 8.0,
                    blocks: float(segment_bytes) / float(k),
                },
                Some(Outer::Erasure { k, n, bytes }) => ser::Outer::Erasure {
                    n: count(n),
                    k: count(k),
                    bytes: float(bytes),
                    overhead: 8.0 * float(OVERHEAD),
                },
            },
            burst: ser::Burst::Errors,
            interleaver: ser::Interleaver::Ideal,
        }
    }
}

impl fmt::Display for CodeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.inner, self.outer) {
            (None, None) => f.write_str("uncoded"),
            (Some(rate), None) => write!(f, "conv:{}", rate.name()),
            (None, Some(outer)) => outer.fmt(f),
            (Some(rate), Some(outer)) => write!(f, "conv:{}+{outer}", rate.name()),
        }
    }
}

impl fmt::Display for Outer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReedSolomon { n, k } => write!(f, "rs:{n}/{k}"),
            Self::Erasure { k, n, bytes } => write!(f, "erasure:{k}/{n}x{bytes}"),
        }
    }
}

impl FromStr for CodeSpec {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text == "uncoded" {
            return Ok(Self::default());
        }
        let (inner, outer) = match text.split_once('+') {
            Some((inner, outer)) => (Some(inner), Some(outer)),
            None if text.starts_with("conv:") => (Some(text), None),
            None => (None, Some(text)),
        };
        Ok(Self {
            inner: inner.map(rate).transpose()?,
            outer: outer.map(str::parse).transpose()?,
        })
    }
}

/// The rate of `conv:RATE`.
fn rate(text: &str) -> Result<Rate, ParseError> {
    let name = text
        .strip_prefix("conv:")
        .ok_or_else(|| ParseError::mismatch(text, format!("conv:RATE before '+': {FORM}")))?;
    name.parse().map_err(|_| unknown(name, Rate::VARIANTS))
}

impl FromStr for Outer {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let refused = |form| ParseError::mismatch(text, form);
        let (name, numbers) = text.split_once(':').unwrap_or((text, ""));
        let pair = |text: &str| {
            let (first, second) = text.split_once('/')?;
            Some((number(first)?, number(second)?))
        };
        match name {
            "rs" => {
                let (n, k) = pair(numbers).ok_or_else(|| refused("rs:N/K, such as rs:255/223"))?;
                ReedSolomon::new(n, k)?;
                Ok(Self::ReedSolomon { n, k })
            }
            "erasure" => {
                let parts = numbers.split_once('x');
                let parts = parts.and_then(|(pairs, bytes)| Some((pair(pairs)?, number(bytes)?)));
                let ((k, n), bytes) =
                    parts.ok_or_else(|| refused("erasure:K/NxBYTES, such as erasure:48/64x23"))?;
                ErasureCode::new(n, k, bytes)?;
                Ok(Self::Erasure { k, n, bytes })
            }
            "conv" | "uncoded" => Err(refused(FORM)),
            _ => Err(unknown_of(
                "code",
                name,
                ["uncoded", "conv", "rs", "erasure"],
            )),
        }
    }
}

/// A whole number as its digits without leading zeros, so that each value has one text.
fn number(text: &str) -> Option<usize> {
    let number = text.parse().ok()?;
    (text == usize::to_string(&number)).then_some(number)
}

/// The order in which the symbols of outer codewords are sent: bytes of a Reed–Solomon code, blocks of an erasure code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interleaver {
    /// One codeword after the other.
    #[default]
    None,
    /// A random permutation of the symbols of many codewords, so that symbol errors of a codeword are independent.
    Ideal,
    /// This many codewords (1 to 1024), written one below the other and sent column by column.
    Block(usize),
}

/// Largest depth of an interleaver, codewords.
pub const DEEPEST: usize = 1024;

impl fmt::Display for Interleaver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Ideal => f.write_str("ideal"),
            Self::Block(depth) => write!(f, "block:{depth}"),
        }
    }
}

impl FromStr for Interleaver {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "none" => Ok(Self::None),
            "ideal" => Ok(Self::Ideal),
            _ => {
                let depth = text.strip_prefix("block:").and_then(number);
                let depth = depth.filter(|depth| (1..=DEEPEST).contains(depth));
                depth.map(Self::Block).ok_or_else(|| {
                    ParseError::mismatch(
                        text,
                        format!("none, ideal or block:DEPTH with 1 to {DEEPEST} codewords"),
                    )
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::IntoEnumIterator as _;

    use super::*;

    fn outers() -> impl Strategy<Value = Outer> {
        let numbers = (2usize..=255).prop_flat_map(|n| (Just(n), 1..n, 1usize..=4096));
        (numbers, any::<bool>()).prop_map(|((n, k, bytes), is_erasure)| {
            if is_erasure {
                Outer::Erasure { k, n, bytes }
            } else {
                Outer::ReedSolomon { n, k }
            }
        })
    }

    proptest! {
        #[test]
        fn what_is_displayed_parses_to_the_same(
            inner in proptest::option::of(prop::sample::select(Rate::iter().collect::<Vec<_>>())),
            outer in proptest::option::of(outers()),
        ) {
            let code = CodeSpec { inner, outer };
            prop_assert_eq!(code.to_string().parse(), Ok(code));
            prop_assert!(code.rate() > 0.0 && code.rate() <= 1.0);
        }

        #[test]
        fn a_text_that_is_accepted_is_displayed_as_it_was(
            text in "(conv:|rs:|erasure:|uncoded|1/2|3/4|255/223|48/64|x23|\\+|x|/|0|7|:){1,6}"
        ) {
            if let Ok(code) = text.parse::<CodeSpec>() {
                prop_assert_eq!(code.to_string(), text);
            }
        }
    }

    #[test]
    fn refusals_list_what_there_is() {
        for (text, expected) in [
            ("conv:4/5", "expected 1/2, 2/3, 3/4, 5/6 or 7/8"),
            (
                "convolutional:1/2",
                "expected one of uncoded, conv, rs, erasure",
            ),
            ("", "expected one of uncoded, conv, rs, erasure"),
            ("rs:223/255", "1 <= k < n <= 255"),
            ("rs:0255/223", "such as rs:255/223"),
            ("rs:255", "such as rs:255/223"),
            ("erasure:48/64", "such as erasure:48/64x23"),
            ("erasure:64/48x23", "1 <= k < n <= 255"),
            ("erasure:48/64x0", "1 to 4096 bytes"),
            ("rs:255/223+conv:1/2", "conv:RATE before '+'"),
            ("conv:1/2+conv:1/2", "conv:RATE+rs:N/K"),
            ("conv:1/2+uncoded", "conv:RATE+rs:N/K"),
        ] {
            let error = text.parse::<CodeSpec>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
        for text in ["block:0", "block:1025", "block:", "block:08", "random"] {
            let error = text.parse::<Interleaver>().unwrap_err().to_string();
            assert!(error.contains("none, ideal or block:DEPTH"), "{error}");
        }
    }

    #[test]
    fn interleavers_are_displayed_as_they_are_read() {
        for text in ["none", "ideal", "block:1", "block:5", "block:1024"] {
            let interleaver: Interleaver = text.parse().unwrap();
            assert_eq!(interleaver.to_string(), text);
        }
    }

    #[test]
    fn rates_are_products() {
        for (text, rate) in [
            ("uncoded", 1.0),
            ("conv:7/8", 7.0 / 8.0),
            ("erasure:48/64x23", 0.75 * 184.0 / 216.0),
            ("conv:1/2+erasure:48/64x23", 0.375 * 184.0 / 216.0),
            ("rs:239/223", 223.0 / 239.0),
        ] {
            let code: CodeSpec = text.parse().unwrap();
            assert!((code.rate() - rate).abs() < 1e-15, "{text}");
        }
    }
}

//! The contract's columns in a binary format (link-layer.md §8): how they are found by name, what
//! their values may be, and how they become slots. Arrow and Parquet share every rule through here.

mod append;
mod double;
pub(crate) mod head;

pub(crate) use append::{Column, CountValues, Counts, Times, append};

use crate::format::text::Unit;
use crate::types::{Error, ErrorKind, Lldu, Result, Slot, Span, Time};

/// Names of the columns, in the order in which they are written.
pub(crate) const NAMES: [&str; 3] = ["tx_time", "decode_delay", "attempts"];

/// Longest list of column names that an error shows, characters.
const SHOWN_NAMES: usize = 200;

/// How the columns are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The unit of columns of doubles, where one was given. Whole numbers are nanoseconds, always.
    pub unit: Option<Unit>,
    /// Whether the column `attempts` is read where there is one.
    pub attempts: bool,
}

/// What the next step through a binary format brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Rows.
    Batch,
    /// The end of an input that is whole.
    End,
    /// The end of an input that is cut between two batches: an Arrow stream without its end-of-stream
    /// marker, or a head without an end line. The rows that came are whole.
    Cut,
}

/// A row that can be written: a slot, an LLDU, or whatever a caller keeps in their stead.
pub trait Row {
    /// Whether there is a column `attempts`.
    const HAS_ATTEMPTS: bool;

    /// Transmission time.
    fn tx_time(&self) -> Time;

    /// Decoding delay, zero where it was erased or lost.
    fn decode_delay(&self) -> Span;

    /// Attempts, 1 or more; not asked for where there is no such column.
    fn attempts(&self) -> u32;
}

impl Row for Slot {
    const HAS_ATTEMPTS: bool = false;

    fn tx_time(&self) -> Time {
        Self::tx_time(self)
    }

    fn decode_delay(&self) -> Span {
        Self::decode_delay(self)
    }

    fn attempts(&self) -> u32 {
        1
    }
}

impl Row for Lldu {
    const HAS_ATTEMPTS: bool = true;

    fn tx_time(&self) -> Time {
        self.tx_time
    }

    fn decode_delay(&self) -> Span {
        self.decode_delay
    }

    fn attempts(&self) -> u32 {
        self.attempts
    }
}

/// The type of a column, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Type {
    Int64,
    Float64,
    Uint32,
    /// Anything else, by its name.
    Other(String),
}

impl Type {
    fn name(self) -> String {
        match self {
            Self::Int64 => "int64".to_owned(),
            Self::Float64 => "double".to_owned(),
            Self::Uint32 => "uint32".to_owned(),
            Self::Other(name) => name,
        }
    }
}

/// How the numbers of a column of times are to be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Number {
    /// int64, nanoseconds.
    Integer,
    /// Doubles of this unit.
    Double(Unit),
}

/// Which of a schema's columns are the contract's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    pub(crate) tx_time: (usize, Number),
    pub(crate) decode_delay: (usize, Number),
    pub(crate) attempts: Option<usize>,
}

impl Places {
    /// Finds the columns among all of a schema's, which come in its order.
    ///
    /// # Errors
    /// A column that is missing, stands twice or has another type than the contract says.
    pub(crate) fn find(columns: Vec<(String, Type)>, options: Options) -> Result<Self> {
        let mut found: [Option<(usize, Type)>; 3] = [None, None, None];
        let mut names = String::new();
        for (at, (name, kind)) in columns.into_iter().enumerate() {
            if names.len() < SHOWN_NAMES {
                names.push_str(if at == 0 { "" } else { "," });
                names.extend(name.chars().take(SHOWN_NAMES));
            }
            let Some(which) = NAMES.iter().position(|&known| known == name) else {
                continue;
            };
            if found[which].is_some() {
                return Err(Error::new(ErrorKind::DuplicateColumn { name }));
            }
            found[which] = Some((at, kind));
        }
        let [tx_time, decode_delay, attempts] = found;
        let needed = |place: Option<(usize, Type)>, name| {
            let (at, kind) = place.ok_or_else(|| {
                let found = names.clone();
                Error::new(ErrorKind::MissingColumn { name, found })
            })?;
            Ok::<_, Error>((at, time_numbers(name, kind, options.unit)?))
        };
        Ok(Self {
            tx_time: needed(tx_time, NAMES[0])?,
            decode_delay: needed(decode_delay, NAMES[1])?,
            attempts: match attempts.filter(|_| options.attempts) {
                None => None,
                Some((at, Type::Uint32)) => Some(at),
                Some((_, other)) => {
                    return Err(Error::new(ErrorKind::ColumnType {
                        name: NAMES[2],
                        found: other.name(),
                        expected: "uint32",
                    }));
                }
            },
        })
    }
}

fn time_numbers(name: &'static str, kind: Type, unit: Option<Unit>) -> Result<Number> {
    let refusal = match (kind, unit) {
        (Type::Int64, None | Some(Unit::Nanoseconds)) => return Ok(Number::Integer),
        (Type::Float64, Some(unit)) => return Ok(Number::Double(unit)),
        (Type::Int64, Some(unit)) => ErrorKind::UnitOfIntegers {
            name,
            unit: unit.name(),
        },
        (Type::Float64, None) => ErrorKind::UnitMissing { name },
        (other, _) => ErrorKind::ColumnType {
            name,
            found: other.name(),
            expected: "int64 (ns)",
        },
    };
    Err(Error::new(refusal))
}

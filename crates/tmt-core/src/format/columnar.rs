//! The contract's columns in a binary format (link-layer.md §8): how they are found by name, what
//! their values may be, and how they become slots. Arrow and Parquet share every rule through here.

mod append;
pub(crate) mod cell;
mod double;
pub(crate) mod head;

pub(crate) use append::{Column, CountValues, Counts, Times, append};

use crate::format::unit::Unit;
use crate::types::{EndLine, Error, ErrorKind, Lldu, Metadata, Result, Slot, Span, Time};

/// Names of the columns, in the order in which they are written.
pub(crate) const NAMES: [&str; 3] = ["tx_time", "decode_delay", "attempts"];

/// The columns of rows `R`, in the order in which they are written.
pub(crate) fn columns<R: Row>() -> &'static [cell::Column] {
    const ALL: [cell::Column; 3] = [
        cell::Column::required(NAMES[0], cell::Kind::Time),
        cell::Column::required(NAMES[1], cell::Kind::Time),
        cell::Column::required(NAMES[2], cell::Kind::Small),
    ];
    &ALL[..if R::HAS_ATTEMPTS { 3 } else { 2 }]
}

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

/// Some rows as their format holds them, decoded on any thread.
pub trait Batch: Default + Send + Sync {
    /// Rows that the format claims are in it.
    fn rows(&self) -> u64;

    /// Appends its rows to `slots`, and to `attempts` where that column is there and wanted.
    ///
    /// # Errors
    /// A batch that is damaged; the first row that cannot be, counted from 1 at the batch's first. The rows
    /// in front of it were appended. That no time goes back behind the batch before is the caller's to check.
    fn append(&self, slots: &mut Vec<Slot>, attempts: &mut Vec<u32>) -> Result<()>;
}

/// A trace in a binary format, read batch by batch.
pub trait Source: Send {
    /// The format's name in errors.
    const FORMAT: &'static str;

    /// What it hands out.
    type Batch: Batch;

    /// The head; empty where there is none.
    fn metadata(&self) -> &Metadata;

    /// The end line; whole only once [`Source::next_batch`] has said [`Next::End`].
    fn end(&self) -> Option<EndLine>;

    /// Rows of the batches handed out so far.
    fn rows(&self) -> u64;

    /// Puts the next batch that has rows into `batch`, whose memory is used again.
    ///
    /// # Errors
    /// Damage, an input that ends within a batch; rows behind the end line, or another number of rows than
    /// it tells; what the system says. The batches handed out before are whole.
    fn next_batch(&mut self, batch: &mut Self::Batch) -> Result<Next>;
}

/// What the end of `source` is, which came as `next`, by its head and end line.
///
/// # Errors
/// Another number of rows than the end line tells.
pub(crate) fn finish(source: &impl Source, next: Next) -> Result<Next> {
    match source.end() {
        Some(end) if next == Next::End && end.rows != source.rows() => {
            Err(Error::new(ErrorKind::RowCount {
                told: end.rows,
                read: source.rows(),
            }))
        }
        None if source.metadata().is_head() => Ok(Next::Cut),
        _ => Ok(next),
    }
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

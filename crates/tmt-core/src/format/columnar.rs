//! The columns of a trace in a binary format (docs/trace-format.md, Sec. 6): lookup by name, types, valid values,
//! and conversion to slots. Arrow and Parquet share these rules.

mod append;
mod double;
pub(crate) mod head;
mod source;

pub use source::{Batch, Next, Options, Source, panics_are_contained};
pub(crate) use source::{Item, catch_panics};

use arrow_schema::{DataType, Field, Schema};

use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Lldu, Result, Slot, Span, Time};

/// Column names, in the order in which they are written.
pub(crate) const NAMES: [&str; 3] = ["tx_time", "decode_delay", ATTEMPTS];

const ATTEMPTS: &str = "attempts";

/// The columns of rows of type `R`, in the order in which they are written.
pub(crate) fn fields<R: Row>() -> Vec<Field> {
    let types = [DataType::Int64, DataType::Int64, DataType::UInt32];
    let fields = NAMES.into_iter().zip(types);
    fields
        .take(if R::HAS_ATTEMPTS { 3 } else { 2 })
        .map(|(name, data_type)| Field::new(name, data_type, false))
        .collect()
}

/// Longest list of column names in an error message, characters.
const SHOWN_NAMES: usize = 200;

/// A row that can be written: a slot, an LLDU, or a type of the caller.
pub trait Row {
    /// Whether these rows have a column `attempts`.
    const HAS_ATTEMPTS: bool;

    /// Time at which the slot, or the first transmission of the LLDU, starts.
    fn tx_time(&self) -> Time;

    /// Delay until decoding or delivery, without propagation; zero if erased, lost or censored.
    fn decode_delay(&self) -> Span;

    /// Number of attempts, at least 1. Called only if [`Row::HAS_ATTEMPTS`] is true.
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

/// Indices of the columns to be read in `schema`.
///
/// # Errors
/// A column is missing, occurs more than once or has an unsupported type.
pub(crate) fn projection(schema: &Schema, options: Options) -> Result<Vec<usize>> {
    let mut projection = Vec::new();
    for name in NAMES {
        let fields = schema.fields().iter().enumerate();
        let mut named = fields.filter(|(_, field)| field.name() == name);
        let first = named.next();
        if named.next().is_some() {
            let name = name.to_owned();
            return Err(Error::new(ErrorKind::DuplicateColumn { name }));
        }
        match first {
            Some((at, field)) if name != ATTEMPTS || options.attempts => {
                check_type(name, field.data_type(), options.unit)?;
                projection.push(at);
            }
            None if name != ATTEMPTS => {
                let names: Vec<_> = schema
                    .fields()
                    .iter()
                    .map(|field| &**field.name())
                    .collect();
                let found = names.join(",").chars().take(SHOWN_NAMES).collect();
                return Err(Error::new(ErrorKind::MissingColumn { name, found }));
            }
            _ => {}
        }
    }
    Ok(projection)
}

fn check_type(name: &'static str, found: &DataType, unit: Option<Unit>) -> Result<()> {
    let expected = if name == ATTEMPTS {
        "uint32"
    } else {
        "int64 (ns)"
    };
    Err(Error::new(match (found, unit) {
        (DataType::UInt32, _) if name == ATTEMPTS => return Ok(()),
        (DataType::Int64, None | Some(Unit::Nanoseconds)) | (DataType::Float64, Some(_))
            if name != ATTEMPTS =>
        {
            return Ok(());
        }
        (DataType::Int64, Some(unit)) if name != ATTEMPTS => ErrorKind::UnitOfIntegers {
            name,
            unit: unit.name(),
        },
        (DataType::Float64, None) if name != ATTEMPTS => ErrorKind::UnitMissing { name },
        _ => ErrorKind::ColumnType {
            name,
            found: found.to_string().to_lowercase(),
            expected,
        },
    }))
}

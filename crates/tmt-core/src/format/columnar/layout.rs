//! The columns of a table in a binary format: which are read, their types and units.

use arrow_schema::{DataType, Schema, TimeUnit};

use crate::format::columns::{
    ATTEMPTS, BINARY_NAMES, COLUMNS, Columns, DECODE_DELAY, ERASED, NAMES, Places, TX_TIME,
};
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result};

/// Options for reading the columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// Unit of numbers in columns whose names say none; `None` refuses doubles, and integers of a foreign table.
    pub unit: Option<Unit>,
    /// Whether the column `attempts` is read if there is one.
    pub attempts: bool,
    /// Which columns are read.
    pub columns: Columns,
}

/// Type and unit of a column of times or delays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Integers of this unit; a duration is one.
    Integers(Unit),
    /// Integers of this unit from any zero.
    Timestamps(Unit),
    /// Doubles of this unit.
    Doubles(Unit),
}

/// The columns that are read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Layout {
    /// Places in the table.
    pub(crate) places: Places,
    /// Names by column; `None` if a column is not read.
    pub(super) names: [Option<String>; COLUMNS],
    /// Types of times and delays; `None` without the column.
    pub(super) quantities: [Option<Quantity>; 2],
    /// Whether a null among the delays is an erasure by the rules of a trace, not a missing value.
    pub(super) null_is_erased: bool,
    /// Names of the columns that are not read.
    pub(crate) ignored: Vec<String>,
    /// Whether times are timestamps.
    pub(crate) has_timestamps: bool,
}

impl Layout {
    /// Finds the columns in `schema`.
    ///
    /// # Errors
    /// A column is missing, ambiguous or of an unsupported type, or its unit is unknown.
    pub(crate) fn of(schema: &Schema, options: &Options) -> Result<Self> {
        let names: Vec<&str> = schema
            .fields()
            .iter()
            .map(|field| &**field.name())
            .collect();
        let places = options
            .columns
            .find(&names, options.attempts)
            .map_err(|(kind, _)| Error::new(kind))?;
        let type_of = |column: usize| places.at[column].map(|at| schema.field(at).data_type());
        let mut quantities = [None; 2];
        for column in [TX_TIME, DECODE_DELAY] {
            let of = |data_type| quantity(column, data_type, &places, options.unit);
            quantities[column] = type_of(column).map(of).transpose()?;
        }
        for (column, expected) in [(ATTEMPTS, "integers"), (ERASED, "booleans or integers")] {
            let found = type_of(column);
            let fits = found.is_none_or(|found| {
                found.is_integer()
                    || (column == ERASED && matches!(found, DataType::Boolean | DataType::Float64))
            });
            if let Some(found) = found.filter(|_| !fits) {
                return Err(wrong_type(column, found, expected));
            }
        }
        let delays = places.at[DECODE_DELAY].map(|at| names[at]);
        Ok(Self {
            names: places.at.map(|at| at.map(|at| names[at].to_owned())),
            quantities,
            null_is_erased: delays == Some(BINARY_NAMES[DECODE_DELAY]),
            ignored: places.ignored(&names),
            has_timestamps: matches!(quantities[TX_TIME], Some(Quantity::Timestamps(_))),
            places,
        })
    }

    /// Indices of the columns in the table.
    pub(crate) fn indices(&self) -> Vec<usize> {
        let mut indices: Vec<usize> = self.places.at.into_iter().flatten().collect();
        // A mapping may use one column twice.
        indices.sort_unstable();
        indices.dedup();
        indices
    }
}

/// Type and unit of a column of times or delays.
fn quantity(
    column: usize,
    found: &DataType,
    places: &Places,
    given: Option<Unit>,
) -> Result<Quantity> {
    let name = NAMES[column];
    let unit = || places.unit(column, given).map_err(Error::new);
    Ok(match found {
        DataType::Duration(unit) => Quantity::Integers(unit_of(*unit)),
        DataType::Timestamp(unit, _) if column == TX_TIME => Quantity::Timestamps(unit_of(*unit)),
        DataType::Float64 => {
            let unit = unit()?;
            Quantity::Doubles(unit.ok_or_else(|| Error::new(ErrorKind::UnitMissing { name }))?)
        }
        found if found.is_integer() => {
            let unit = unit()?;
            // The names of a trace without a unit are those of int64 nanoseconds.
            let is_nanos = places.are_known[column] && places.units[column].is_none();
            match unit {
                Some(unit) if is_nanos && unit != Unit::Nanoseconds => {
                    let unit = unit.name();
                    return Err(Error::new(ErrorKind::UnitOfIntegers { name, unit }));
                }
                Some(unit) => Quantity::Integers(unit),
                None if is_nanos => Quantity::Integers(Unit::Nanoseconds),
                None => return Err(Error::new(ErrorKind::UnitMissing { name })),
            }
        }
        found => {
            let expected = if column == TX_TIME {
                "integers, doubles, durations or timestamps"
            } else {
                "integers, doubles or durations"
            };
            return Err(wrong_type(column, found, expected));
        }
    })
}

fn wrong_type(column: usize, found: &DataType, expected: &'static str) -> Error {
    Error::new(ErrorKind::ColumnType {
        name: NAMES[column],
        found: found.to_string().to_lowercase(),
        expected,
    })
}

fn unit_of(unit: TimeUnit) -> Unit {
    match unit {
        TimeUnit::Second => Unit::Seconds,
        TimeUnit::Millisecond => Unit::Milliseconds,
        TimeUnit::Microsecond => Unit::Microseconds,
        TimeUnit::Nanosecond => Unit::Nanoseconds,
    }
}

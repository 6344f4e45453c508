//! The columns of a trace: their names, the units in these names, and the mapping of foreign tables
//! (docs/trace-format.md, Sec. 3). Text, Arrow and Parquet share these rules.

use std::fmt;
use std::str::FromStr;

use crate::format::unit::Unit;
use crate::types::named::{Part, parts};
use crate::types::{BitRate, Bytes, ErrorKind, QuantityError, Slot, Span, Time};

/// Number of columns that a trace can have.
pub(crate) const COLUMNS: usize = 4;

/// Indices of the columns in arrays of them.
pub(crate) const TX_TIME: usize = 0;
pub(crate) const DECODE_DELAY: usize = 1;
pub(crate) const ATTEMPTS: usize = 2;
pub(crate) const ERASED: usize = 3;

/// Names in text, in the order in which columns are written. Messages use them in every format.
pub(crate) const NAMES: [&str; COLUMNS] = ["tx_time", "decode_delay", "attempts", "erased"];

/// Names in Arrow and Parquet, in the order in which columns are written.
pub(crate) const BINARY_NAMES: [&str; 3] = ["tx_time_ns", "decode_delay_ns", NAMES[ATTEMPTS]];

/// End of the names of times in tables other than traces.
pub(crate) const TIME_END: &str = "_s";

/// From this time on, ns, a double of seconds does not tell every ns.
pub(crate) const EXACT_NANOS: u64 = 1 << 52;

/// Keys of a mapping, by column, and that of the interval.
const KEYS: [&str; COLUMNS] = ["tx", "delay", "attempts", "erased"];
const INTERVAL: &str = "interval";

/// Longest list of column names in a message, characters.
const SHOWN_NAMES: usize = 200;

/// Times of the slots of a table that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spacing {
    /// Row i, from 0, is sent at i times this interval, which is above zero.
    Interval(Span),
    /// Slots of `lldu` bytes at a constant rate, rounded down to ns as by `tmt synth`.
    Rate {
        /// Rate of the slots, bit/s, above zero.
        rate: BitRate,
        /// Size of a slot, bytes, above zero.
        lldu: Bytes,
    },
}

impl Spacing {
    /// Time of row `row`, from 0; `None` from 2^63 ns on.
    #[must_use]
    pub fn tx_time(self, row: u64) -> Option<Time> {
        match self {
            Self::Interval(interval) => interval
                .as_nanos()
                .checked_mul(row)
                .and_then(Time::from_nanos),
            Self::Rate { rate, lldu } => rate.time_of_bit(8 * u128::from(lldu.0) * u128::from(row)),
        }
    }
}

/// Which columns of a table are read, for tables that do not use the names of a trace.
///
/// As text: `KEY=COLUMN` pairs separated by commas, with the keys `tx`, `delay`, `erased` and `attempts`. In a text
/// without a header a column is its number, from 1. `delay=DURATION` is one delay for every slot that was received,
/// `interval=DURATION` the time between the rows of a table without times.
///
/// ```
/// use tmt_core::format::{Columns, Options, TraceReader};
///
/// let options = Options {
///     columns: "tx=time_ms,erased=lost,delay=36ms".parse()?,
///     ..Options::default()
/// };
/// let text = "time_ms,lost,snr_db\n0,0,7.5\n1,1,-3\n";
/// let mut trace = TraceReader::new(text.as_bytes(), options)?;
/// let lldus = trace.read_lldus()?;
/// assert_eq!(lldus[1].tx_time.as_nanos(), 1_000_000);
/// assert_eq!((lldus[0].decode_delay.as_nanos(), lldus[1].decode_delay.as_nanos()), (36_000_000, 0));
/// assert_eq!(trace.ignored_columns(), ["snr_db"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Columns {
    names: [Option<String>; COLUMNS],
    delay: Option<Span>,
    /// Times of the slots, for a table without a column of times.
    pub spacing: Option<Spacing>,
}

impl FromStr for Columns {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "pairs such as tx=time,erased=lost with the keys tx, delay, attempts, erased, interval, \
                            each once, and either tx or interval";
        let wrong = || QuantityError::new(text, FORM);
        let mut columns = Self::default();
        let pieces: Vec<Part<'_>> = if text.contains(QUOTE) {
            let mut is_quoted = false;
            let ends = |c: char| {
                is_quoted ^= c == QUOTE;
                c == ',' && !is_quoted
            };
            text.split(ends).map(Part::of).collect()
        } else {
            parts(text).collect()
        };
        for part in pieces {
            let key = part.key.ok_or_else(wrong)?.trim();
            let value = part.value.trim();
            let name = unquoted(value);
            if value.is_empty() || name.as_ref().is_some_and(String::is_empty) {
                return Err(wrong());
            }
            let is_taken = if key == INTERVAL {
                let interval: Span = value.parse()?;
                if interval.is_zero() {
                    return Err(QuantityError::new(value, "an interval above zero"));
                }
                columns
                    .spacing
                    .replace(Spacing::Interval(interval))
                    .is_some()
            } else {
                let at = KEYS
                    .iter()
                    .position(|known| *known == key)
                    .ok_or_else(wrong)?;
                match value.parse::<Span>() {
                    Ok(delay) if at == DECODE_DELAY && name.is_none() => {
                        if delay.is_zero() {
                            return Err(QuantityError::new(
                                value,
                                "a delay above zero, since 0 means erased",
                            ));
                        }
                        columns.delay.replace(delay).is_some() || columns.names[at].is_some()
                    }
                    _ => {
                        let before =
                            columns.names[at].replace(name.unwrap_or_else(|| value.to_owned()));
                        before.is_some() || (at == DECODE_DELAY && columns.delay.is_some())
                    }
                }
            };
            if is_taken {
                return Err(wrong());
            }
        }
        if columns.spacing.is_some() && columns.names[TX_TIME].is_some() {
            return Err(wrong());
        }
        if columns.delay.is_some() && columns.needs_delays() {
            return Err(QuantityError::new(
                text,
                "erased=COLUMN beside one delay of all received slots: nothing else says which were erased",
            ));
        }
        Ok(columns)
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = KEYS.iter().zip(&self.names);
        let names =
            names.filter_map(|(key, name)| Some(format!("{key}={}", quoted(name.as_ref()?))));
        let delay = self
            .delay
            .map(|delay| format!("{}={delay}", KEYS[DECODE_DELAY]));
        let interval = self.spacing.and_then(|spacing| match spacing {
            Spacing::Interval(interval) => Some(format!("{INTERVAL}={interval}")),
            Spacing::Rate { .. } => None,
        });
        let pairs: Vec<String> = names.chain(delay).chain(interval).collect();
        f.write_str(&pairs.join(","))
    }
}

/// Encloses names of columns that have commas.
const QUOTE: char = '"';

/// The name in quotes, where two quotes stand for one of the name. `None` without quotes.
fn unquoted(value: &str) -> Option<String> {
    let name = value.strip_prefix(QUOTE)?.strip_suffix(QUOTE)?;
    Some(name.replace("\"\"", "\""))
}

/// The name, in quotes if it would be read as something else without them.
fn quoted(name: &str) -> String {
    if name.contains([',', QUOTE]) || name.trim() != name || name.parse::<Span>().is_ok() {
        format!("\"{}\"", name.replace(QUOTE, "\"\""))
    } else {
        name.to_owned()
    }
}

/// Where the columns of a table are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Places {
    /// Index of each column in the table, from 0; `None` if it is not read.
    pub(crate) at: [Option<usize>; COLUMNS],
    /// Units of times and delays in their names.
    pub(crate) units: [Option<Unit>; 2],
    /// Whether times and delays have the names of a trace, which imply a unit.
    pub(crate) are_known: [bool; 2],
    /// Index of the column of attempts, whether it is read or not.
    attempts: Option<usize>,
    /// Delay of a slot that was received, if there is no column of delays.
    pub(crate) delay: Span,
    /// Whether somebody has chosen that delay.
    is_delay_given: bool,
}

impl Columns {
    /// Whether the mapping selects a column of times.
    #[must_use]
    pub fn maps_times(&self) -> bool {
        self.names[TX_TIME].is_some()
    }

    /// The columns of a table without times, if `interval`, or `rate` with `lldu`, tell them; otherwise the same columns.
    ///
    /// # Errors
    /// Values of zero or that contradict each other or a column of times; the message names them in backticks.
    pub fn spaced(
        self,
        interval: Option<Span>,
        rate: Option<BitRate>,
        lldu: Option<Bytes>,
    ) -> Result<Self, String> {
        let (names, spacing) = match (interval, rate, lldu) {
            (None, None, _) => return Ok(self),
            (Some(_), Some(_), _) => {
                return Err(
                    "`interval` cannot be combined with `rate`: each of them tells the times"
                        .to_owned(),
                );
            }
            (None, Some(_), None) => {
                return Err("`rate` needs `lldu`, the size of a slot".to_owned());
            }
            (Some(interval), None, _) => ("`interval`", Spacing::Interval(interval)),
            (None, Some(rate), Some(lldu)) => ("`rate` and `lldu`", Spacing::Rate { rate, lldu }),
        };
        let is_zero = match spacing {
            Spacing::Interval(interval) => interval.is_zero(),
            Spacing::Rate { rate, lldu } => rate.0 == 0 || lldu.0 == 0,
        };
        if is_zero {
            return Err(format!("{names}: found 0, expected more than 0"));
        }
        if self.spacing.is_some() || self.maps_times() {
            return Err(format!(
                "{names} cannot be combined with tx or interval in `columns`: the table has times, or it has none"
            ));
        }
        Ok(Self {
            spacing: Some(spacing),
            ..self
        })
    }

    /// Whether a column of delays is needed: there is no other sign of erasures.
    fn needs_delays(&self) -> bool {
        self.names[ERASED].is_none()
    }

    /// Whether a column that the table has is read; `attempts` asks for that one.
    fn reads(&self, column: usize, attempts: bool) -> bool {
        match column {
            TX_TIME => self.spacing.is_none(),
            ATTEMPTS => attempts,
            _ => true,
        }
    }

    /// Refuses `times`, the times of a table, beside an interval or a rate, which would replace them.
    pub(crate) fn refuse_times(&self, times: &str) -> Result<(), ErrorKind> {
        match self.spacing {
            None => Ok(()),
            Some(spacing) => {
                let given = match spacing {
                    Spacing::Interval(_) => "an interval",
                    Spacing::Rate { .. } => "a rate",
                };
                Err(ErrorKind::format(
                    format!("{times} beside {given}"),
                    "either times in the table, or an interval or a rate",
                ))
            }
        }
    }

    /// Finds the columns in a table with these names; `attempts` asks for that column.
    ///
    /// # Errors
    /// A column is missing, or it is ambiguous or not expected, with its index.
    pub(crate) fn find(
        &self,
        names: &[&str],
        attempts: bool,
    ) -> Result<Places, (ErrorKind, Option<usize>)> {
        let mut places = self.none();
        for (column, given) in self.names.iter().enumerate() {
            let (at, unit) = match given {
                Some(name) => {
                    let at = only(names, |other| other == name)?;
                    let missing = || (missing(name, names), None);
                    (Some(at.ok_or_else(missing)?), unit_of(name))
                }
                None if column == ERASED || (column == DECODE_DELAY && self.delay.is_some()) => {
                    (None, None)
                }
                None => {
                    let is_name = |other: &str| is_name_of(other, column);
                    let at = only(names, is_name)?;
                    (at, at.and_then(|at| unit_of(names[at])))
                }
            };
            if column == TX_TIME
                && let Some(at) = at
            {
                let times = format!("the column {}", names[at]);
                self.refuse_times(&times).map_err(|kind| (kind, Some(at)))?;
            }
            let is_needed = match column {
                TX_TIME => true,
                DECODE_DELAY => self.needs_delays(),
                _ => false,
            };
            if column == ATTEMPTS {
                places.attempts = at;
            }
            if !self.reads(column, attempts) {
                continue;
            }
            if at.is_none() && is_needed {
                return Err((missing(NAMES[column], names), None));
            }
            places.at[column] = at;
            if column < 2 {
                places.units[column] = unit;
                places.are_known[column] = at.is_some_and(|at| is_name_of(names[at], column));
            }
        }
        Ok(places)
    }

    /// The columns of a text without a header, where names are numbers from 1.
    ///
    /// # Errors
    /// A name is not a number, or times are not expected.
    pub(crate) fn numbered(&self, attempts: bool) -> Result<Places, ErrorKind> {
        let mut places = self.none();
        places.are_known = [true; 2];
        for (column, name) in self.names.iter().enumerate() {
            let at = match name {
                Some(name) => {
                    let number = name.parse::<usize>().ok();
                    let at = number.and_then(|number| number.checked_sub(1));
                    let wrong = || {
                        ErrorKind::format(
                            format!(
                                "a text without a header, where {} is to be '{name}'",
                                NAMES[column]
                            ),
                            format!(
                                "a header, or the number of the column, such as {}=1",
                                KEYS[column]
                            ),
                        )
                    };
                    Some(at.ok_or_else(wrong)?)
                }
                None if column == TX_TIME => Some(0),
                None if column == DECODE_DELAY && self.needs_delays() => Some(1),
                None => None,
            };
            if column == TX_TIME && name.is_some() {
                self.refuse_times("a column of times")?;
            }
            places.at[column] = at.filter(|_| self.reads(column, attempts));
        }
        Ok(places)
    }

    fn none(&self) -> Places {
        Places {
            at: [None; COLUMNS],
            units: [None; 2],
            are_known: [false; 2],
            attempts: None,
            delay: self.delay.unwrap_or(Slot::UNKNOWN_DELAY),
            is_delay_given: self.delay.is_some(),
        }
    }
}

impl Places {
    /// The names that are not read, of those of a table.
    pub(crate) fn ignored(&self, names: &[&str]) -> Vec<String> {
        let names = names.iter().enumerate();
        names
            .filter(|(index, name)| {
                // Every timeline has attempts, which few commands need. The index of pandas has no name.
                let is_used = self.at.contains(&Some(*index)) || self.attempts == Some(*index);
                !is_used && !name.is_empty()
            })
            .map(|(_, name)| (*name).to_owned())
            .collect()
    }

    /// Whether delays are all the same, because the table has no column of them and none is given.
    pub(crate) fn have_no_delays(&self) -> bool {
        self.at[DECODE_DELAY].is_none() && !self.is_delay_given
    }

    /// The unit of the numbers in the column of times or delays: that of the name or of the options, which must agree.
    ///
    /// # Errors
    /// The options contradict the name.
    pub(crate) fn unit(
        &self,
        column: usize,
        options: Option<Unit>,
    ) -> Result<Option<Unit>, ErrorKind> {
        match (self.units[column], options) {
            (Some(named), Some(unit)) if named != unit => Err(ErrorKind::UnitOfName {
                name: NAMES[column],
                named: named.name(),
                unit: unit.name(),
            }),
            (named, unit) => Ok(named.or(unit)),
        }
    }
}

/// Whether `name` is a name of this column, with or without a unit.
fn is_name_of(name: &str, column: usize) -> bool {
    let rest = name.strip_prefix(NAMES[column]);
    match rest {
        Some("") => true,
        Some(rest) => {
            column < 2
                && rest.starts_with('_')
                && unit_of(rest).is_some()
                && rest.matches('_').count() == 1
        }
        None => false,
    }
}

/// The unit in which a name ends: `_s`, `_ms`, `_us` or `_ns`.
fn unit_of(name: &str) -> Option<Unit> {
    name.rsplit_once('_')?.1.parse().ok()
}

/// Index of the only name that `is` accepts; `None` if absent.
fn only(
    names: &[&str],
    is: impl Fn(&str) -> bool,
) -> Result<Option<usize>, (ErrorKind, Option<usize>)> {
    let mut found = names.iter().enumerate().filter(|(_, name)| is(name));
    let first = found.next();
    match (first, found.next()) {
        (Some((_, first)), Some((at, second))) if first == second => {
            let name = (*first).to_owned();
            Err((ErrorKind::DuplicateColumn { name }, Some(at)))
        }
        (Some((_, first)), Some((at, second))) => {
            let found = format!("the columns {first} and {second}");
            let expected = format!("one of them, chosen by a mapping such as tx={first}");
            Err((ErrorKind::format(found, expected), Some(at)))
        }
        _ => Ok(first.map(|(at, _)| at)),
    }
}

fn missing(name: &str, names: &[&str]) -> ErrorKind {
    let found = names.join(",").chars().take(SHOWN_NAMES).collect();
    let name = name.to_owned();
    ErrorKind::MissingColumn { name, found }
}

/// Whether a field of a text has no value, in the ways that other programs write it.
pub(crate) fn is_missing(field: &[u8]) -> bool {
    const WORDS: [&[u8]; 4] = [b"", b"nan", b"null", b"na"];
    field.len() <= 4 && WORDS.iter().any(|word| field.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_are_taken_as_they_are() {
        for (text, tx, delay) in [
            ("tx=when,delay=late", "when", "late"),
            ("tx=\"time, ns\",delay=\"36ms\"", "time, ns", "36ms"),
            ("tx=\"a \"\"b\"\" = c\",delay=\" d \"", "a \"b\" = c", " d "),
        ] {
            let columns: Columns = text.parse().unwrap();
            assert_eq!(columns.names[TX_TIME].as_deref(), Some(tx), "{text}");
            assert_eq!(
                columns.names[DECODE_DELAY].as_deref(),
                Some(delay),
                "{text}"
            );
            assert_eq!(columns.to_string(), text);
        }
        assert!("tx=\"\"".parse::<Columns>().is_err());
        assert!("tx=a,tx=\"b\"".parse::<Columns>().is_err());
    }
}

//! Sizes and durations that are constant or drawn from a distribution: `100kB`, `exponential(1s)`, `csv(sizes.csv)`.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use tmt_core::math::num::{self, floor_u64};
use tmt_core::named::{
    Entry, Kind, Parameter, ParseError, Rows, TableError, Values, content, head, in_braces,
    unknown_of,
};
use tmt_core::types::{Bytes, Span, to_f64};

/// Unit of the values of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Durations. A number of the law is of ns.
    Span,
    /// Sizes. A number of the law is of bytes.
    Bytes,
}

impl Unit {
    fn read(self, text: &str) -> Result<f64, ParseError> {
        let value = match self {
            Self::Span => Span::from_str(text).map(Span::as_nanos).ok(),
            Self::Bytes => Bytes::from_str(text).map(|bytes| bytes.0).ok(),
        };
        let value = value.filter(|value| *value > 0);
        let value = value.ok_or_else(|| ParseError::mismatch(text, self.expected()))?;
        Ok(to_f64(value))
    }

    /// Kind of value in words, and an example.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Span => ("duration", "1s"),
            Self::Bytes => ("size", "100kB"),
        }
    }

    /// Header of its column in a table.
    const fn header(self) -> &'static str {
        match self {
            Self::Span => "duration_s",
            Self::Bytes => "size_bytes",
        }
    }

    fn expected(self) -> String {
        let (what, example) = self.words();
        let forms: Vec<String> = FORMS.iter().map(|entry| entry.form()).collect();
        format!(
            "a {what} above zero, such as {example}, or a distribution: {}",
            forms.join(", ")
        )
    }
}

/// The form of a law, and its parameters.
type Read = fn(Unit, &Values) -> Result<Form, ParseError>;

#[derive(Debug, Clone, PartialEq)]
enum Form {
    Constant(f64),
    Exponential {
        mean: f64,
    },
    LogNormal {
        median: f64,
        sigma: f64,
    },
    Pareto {
        least: f64,
        shape: f64,
    },
    /// Values of a table, rising, each as likely as the others.
    Table(Arc<[u64]>),
}

/// Name of the distribution that a table is.
const CSV: &str = "csv";

/// Name of its parameter.
const FILE: &str = "file";

/// Distributions by name.
static FORMS: &[&Entry<Read>] = &[
    &Entry {
        name: "exponential",
        about: "exponential with this mean",
        parameters: &[Parameter::required("mean", Kind::Text("a mean")).without_name()],
        examples: &["exponential(mean=1s)"],
        make: |unit, values| {
            Ok(Form::Exponential {
                mean: unit.read(values.text("mean"))?,
            })
        },
    },
    &Entry {
        name: "lognormal",
        about: "lognormal with this median; sigma is the standard deviation of the logarithm",
        parameters: &[
            Parameter::required("median", Kind::Text("a median")),
            Parameter::required("sigma", Kind::Number(0.0, 10.0)),
        ],
        examples: &["lognormal(median=10kB,sigma=1.5)"],
        make: |unit, values| {
            Ok(Form::LogNormal {
                median: unit.read(values.text("median"))?,
                sigma: values.number("sigma"),
            })
        },
    },
    &Entry {
        name: "pareto",
        about: "Pareto from this value on; the mean is infinite up to a shape of 1",
        parameters: &[
            Parameter::required("least", Kind::Text("the smallest value")),
            Parameter::required("shape", Kind::Number(0.0, 1000.0)),
        ],
        examples: &["pareto(least=1kB,shape=1.2)"],
        make: |unit, values| {
            let shape = values.number("shape");
            if shape <= 1.0 {
                return Err(ParseError::mismatch(
                    format!("pareto with shape {shape}, which has no mean"),
                    "a shape above 1",
                ));
            }
            Ok(Form::Pareto {
                least: unit.read(values.text("least"))?,
                shape,
            })
        },
    },
    &Entry {
        name: CSV,
        about: "a value of a table, each as likely as the others",
        parameters: &[Parameter::required(FILE, Kind::Content)
            .without_name()
            .described("FILE", "a column `size_bytes` or `duration_s`")],
        examples: &["csv({size_bytes;1000;20000;20000})"],
        make: |unit, values| {
            let read = Rows::of(values.text(FILE)).and_then(|rows| table(&rows));
            let (of, table) = read.map_err(|error| ParseError::new(error.to_string()))?;
            if of == unit {
                return Ok(Form::Table(table));
            }
            let (found, expected) = (of.header(), unit.header());
            Err(ParseError::mismatch(
                format!("a table of {found}"),
                format!("one of {expected}"),
            ))
        },
    },
];

/// The values of a table with one column, rising, and their unit.
fn table(rows: &Rows<'_>) -> Result<(Unit, Arc<[u64]>), TableError> {
    let units = [Unit::Bytes, Unit::Span];
    let form = units.map(Unit::header).join(" or ");
    let (header, rows) = rows.with_header(&form)?;
    let unit = units
        .into_iter()
        .find(|unit| header.cells == [unit.header()]);
    let unit = unit.ok_or_else(|| {
        let found = header.cells.join(",");
        header.wrong(format!(
            "found '{found}', expected the header {form}, alone"
        ))
    })?;
    let (what, _) = unit.words();
    let values = rows.iter().map(|row| {
        if row.cells.len() > 1 {
            let found = row.cells.len();
            return Err(row.fault(1, format!("found {found} columns, expected one: a {what}")));
        }
        if unit == Unit::Bytes {
            return row.whole(0, "a size in bytes");
        }
        let span = row.seconds(0, "a duration")?;
        if span.is_zero() {
            return Err(row.fault(
                0,
                format!("found '{}', expected a duration above zero", row.cells[0]),
            ));
        }
        Ok(span.as_nanos())
    });
    let mut values: Vec<u64> = values.collect::<Result<_, _>>()?;
    values.sort_unstable();
    Ok((unit, values.into()))
}

/// The text of a law with the content of its file in place of the name, which `read` returns; `None` if it names none.
///
/// # Errors
/// A file that cannot be read, or with the line and column at fault.
pub(crate) fn with_file(
    text: &str,
    read: &mut dyn FnMut(&str) -> Result<String, String>,
) -> Result<Option<String>, String> {
    let (name, rest) = head(text);
    let entry = FORMS.iter().find(|entry| entry.name == name);
    let Some((entry, rest)) = entry.zip(rest) else {
        return Ok(None);
    };
    let mut unnamed = |parameter: &Parameter, value: &str| {
        if !parameter.kind.names_file(value) {
            return Ok(None);
        }
        let missing = || entry.missing(parameter);
        let line = in_braces(value, missing, |text| content(text, table), read)?;
        line.map(Some).map_err(|error| error.to_string())
    };
    let replaced = entry.replaced(rest, &mut unnamed)?;
    Ok(replaced.map(|rest| format!("{name}({rest})")))
}

/// A constant, or a distribution with a finite mean, of positive durations or sizes.
///
/// ```
/// use fluid_tcp::application::{Law, Unit};
///
/// let law = Law::read("exponential(100kB)", Unit::Bytes)?;
/// assert_eq!(law.mean(), 100_000.0);
/// assert_eq!(law.draw(0.5), 69_314); // 100 kB · ln 2
/// assert!(Law::read("pareto(least=1kB,shape=0.9)", Unit::Bytes).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Law {
    form: Form,
    text: String,
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Law {
    /// Reads a law.
    ///
    /// # Errors
    /// Neither a value nor a distribution with a finite mean; the message has found and expected.
    pub fn read(text: &str, unit: Unit) -> Result<Self, ParseError> {
        let form = match head(text) {
            (_, None) if !FORMS.iter().any(|entry| entry.name == text) => {
                Form::Constant(unit.read(text)?)
            }
            (name, rest) => {
                let entry = FORMS.iter().find(|entry| entry.name == name);
                let names = FORMS.iter().map(|entry| entry.name);
                let entry = entry.ok_or_else(|| unknown_of("distribution", name, names))?;
                (entry.make)(unit, &entry.read(rest)?)?
            }
        };
        Ok(Self {
            form,
            text: text.to_owned(),
        })
    }

    /// As [`Self::read`], for pauses: a duration may also be zero.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub(super) fn of_pauses(text: &str) -> Result<Self, ParseError> {
        if Span::from_str(text).is_ok_and(Span::is_zero) {
            return Ok(Self {
                form: Form::Constant(0.0),
                text: text.to_owned(),
            });
        }
        Self::read(text, Unit::Span)
    }

    /// The exponential distribution with this mean.
    pub(super) fn exponential(mean: f64) -> Self {
        Self {
            form: Form::Exponential { mean },
            text: String::new(),
        }
    }

    /// The mean, in ns or bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match self.form {
            Form::Constant(value) => value,
            Form::Exponential { mean } => mean,
            Form::LogNormal { median, sigma } => median * num::exp(sigma * sigma / 2.0),
            Form::Pareto { least, shape } => least * shape / (shape - 1.0),
            Form::Table(ref values) => {
                let sum: f64 = values.iter().copied().map(to_f64).sum();
                sum / to_f64(values.len() as u64)
            }
        }
    }

    /// Mean number of pieces of size `piece` that draws take, with the last one partly filled: mean over the piece, and the mean
    /// of what the last piece lacks, which is below one piece and needs no tail of the distribution.
    pub(super) fn mean_pieces(&self, piece: f64) -> f64 {
        const GRID: u32 = 10_000;
        if let Form::Table(values) = &self.form {
            let pieces = values.iter().map(|value| (to_f64(*value) / piece).ceil());
            return pieces.sum::<f64>() / to_f64(values.len() as u64);
        }
        let lacks = (0..GRID).map(|at| {
            let u = (f64::from(at) + 0.5) / f64::from(GRID);
            let pieces = to_f64(self.draw(u)) / piece;
            pieces.ceil() - pieces
        });
        self.mean() / piece + lacks.sum::<f64>() / f64::from(GRID)
    }

    /// The value at which the distribution function is `u`, which is in [0, 1): a draw, if `u` is uniform. In ns or bytes,
    /// rounded down, at least 1 unless all are zero.
    #[must_use]
    pub fn draw(&self, u: f64) -> u64 {
        let value = match self.form {
            Form::Constant(value) => return floor_u64(value),
            Form::Exponential { mean } => -mean * num::log1p(-u),
            Form::LogNormal { median, sigma } => median * num::exp(sigma * num::normal_quantile(u)),
            Form::Pareto { least, shape } => least * num::pow(1.0 - u, -1.0 / shape),
            Form::Table(ref values) => {
                let place = floor_u64(u * to_f64(values.len() as u64));
                let last = values.len() - 1;
                return values[usize::try_from(place).unwrap_or(last).min(last)];
            }
        };
        floor_u64(value).max(1)
    }

    /// As [`Self::draw`], for durations.
    #[must_use]
    pub fn draw_span(&self, u: f64) -> Span {
        Span::from_nanos(self.draw(u)).unwrap_or(Span::MAX)
    }

    /// Whether draws differ.
    #[must_use]
    pub fn is_random(&self) -> bool {
        match &self.form {
            Form::Constant(_) => false,
            Form::Table(values) => values.first() != values.last(),
            Form::Exponential { .. } | Form::LogNormal { .. } | Form::Pareto { .. } => true,
        }
    }
}

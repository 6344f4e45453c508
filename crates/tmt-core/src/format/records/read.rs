//! Reads tidy tables back: text, plain or compressed, or Parquet.

use std::io::{self, BufRead as _, Read};

use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::{ROW_BYTES, Records, Value};
use crate::format::Bounded;
use crate::format::compression::Decompressor;
use crate::format::form::{FileKind, Format, recognise};
use crate::format::parquet::ColumnBatches;
use crate::types::{Error, Result, to_f64};

/// Bytes that are looked at to recognise the format.
const LOOK: usize = 64;

/// Rows of Parquet decoded at a time.
const BATCH: usize = 1 << 12;

/// The names of all columns, and for each the most rows of a table of which all its values are kept. Of a longer table a column
/// keeps its value if all rows that have one have the same, and no value otherwise.
pub type Kept<'a> = dyn Fn(&[&str]) -> Vec<usize> + 'a;

impl Records {
    /// Reads a table: Parquet, or CSV with a header, plain, gzip or zstd. The format is detected from the content. A column of
    /// text has the narrowest type that all its values fit: truth values, whole numbers, real numbers, text.
    ///
    /// # Errors
    /// A file that is neither, or damaged; with the line, where there is one.
    pub fn read<T: ChunkReader + 'static>(input: T) -> Result<Self> {
        Self::read_rows(input, None, &all)
    }

    /// As [`Self::read`], and passes over the head and the end line that logs have in text. Of the values those that `kept` says. Columns
    /// of other types than ours are left out ([`Self::left_out`]).
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn read_log<T: ChunkReader + 'static>(input: T, kept: &Kept<'_>) -> Result<Self> {
        Self::read_rows(input, Some(b'#'), kept)
    }

    /// Lines that begin with `comment` are no rows.
    fn read_rows<T: ChunkReader + 'static>(
        input: T,
        comment: Option<u8>,
        kept: &Kept<'_>,
    ) -> Result<Self> {
        let mut first = Vec::new();
        input
            .get_read(0)
            .map_err(io::Error::other)?
            .take(LOOK as u64)
            .read_to_end(&mut first)?;
        match recognise(&first) {
            FileKind::Plain(Format::Parquet) => Self::from_parquet(input, kept, comment.is_some()),
            FileKind::Compressed(compression) => Self::from_csv(comment, kept, || {
                let packed = input.get_read(0).map_err(io::Error::other)?;
                Ok(Decompressor::new(compression, packed)?)
            }),
            FileKind::Plain(_) => Self::from_csv(comment, kept, || {
                Ok(input.get_read(0).map_err(io::Error::other)?)
            }),
        }
    }

    /// Reads Parquet; whether columns of other types than ours are left out.
    fn from_parquet<T: ChunkReader + 'static>(
        input: T,
        kept: &Kept<'_>,
        is_lenient: bool,
    ) -> Result<Self> {
        let mut batches = ColumnBatches::new(input, BATCH)?;
        let mut table = Self {
            metadata: batches.pairs().to_vec(),
            ..Self::default()
        };
        let names: Vec<&str> = batches.names().iter().map(String::as_str).collect();
        let stated = usize::try_from(batches.rows()).unwrap_or(usize::MAX);
        let whole: Vec<bool> = kept(&names).iter().map(|most| stated <= *most).collect();
        let places: Vec<usize> = names.iter().map(|name| table.place(name)).collect();
        let mut odd: Vec<(String, String)> = Vec::new();
        while let Some(arrays) = batches.next()? {
            let rows = arrays.first().map_or(0, Array::len);
            for ((array, place), whole) in arrays.iter().zip(&places).zip(&whole) {
                let column = &mut table.columns[*place];
                let first = table.rows;
                for row in (0..rows).filter(|row| !array.is_null(*row)) {
                    if column.is_left() {
                        break;
                    }
                    match value(&column.name, array, row) {
                        Ok(value) if *whole => column.push(first + row, value),
                        Ok(value) => column.push_common(first + row, value),
                        // A column that no reader needs may be of any type.
                        Err(_) if !*whole => column.leave(),
                        Err(_) if is_lenient => {
                            column.leave();
                            odd.push((column.name.clone(), array.data_type().to_string()));
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            table.rows += rows;
            bounded(table.bytes())?;
        }
        table.leave_out(odd);
        Ok(table)
    }

    /// Reads CSV, which `open` opens from its start: once for the types of the columns, and again for their values, so that
    /// no row is kept as text.
    fn from_csv<R: Read>(
        comment: Option<u8>,
        kept: &Kept<'_>,
        open: impl Fn() -> Result<R>,
    ) -> Result<Self> {
        let mut rows = CsvRows::new(open()?, comment)?;
        let names = rows.csv.headers().map_err(|error| refused(&error))?.clone();
        let most = kept(&names.iter().collect::<Vec<_>>());
        let mut looks: Vec<Look> = most.iter().map(|most| Look::new(*most)).collect();
        let mut count = 0;
        while let Some(row) = rows.next()? {
            count += 1;
            bounded(count * ROW_BYTES)?;
            for (look, text) in looks.iter_mut().zip(row) {
                look.at(count, text);
            }
        }
        let mut table = Self::default();
        let places: Vec<usize> = names.iter().map(|name| table.place(name)).collect();
        let kinds: Vec<Option<usize>> = looks.iter().map(|look| look.kind(count)).collect();
        for (place, kind) in places.iter().zip(&kinds) {
            if kind.is_none() {
                table.columns[*place].leave();
            }
        }
        let mut rows = CsvRows::new(open()?, comment)?;
        while let Some(row) = rows.next()? {
            let cells = row.iter().zip(&places).zip(&kinds).zip(&most);
            for (((text, place), kind), most) in
                cells.filter(|(((text, ..), ..), _)| !text.is_empty())
            {
                let Some(value) = kind.and_then(|kind| KINDS[kind](text)) else {
                    continue;
                };
                if count <= *most {
                    table.columns[*place].push(table.rows, value);
                } else {
                    table.columns[*place].push_common(table.rows, value);
                }
            }
            table.rows += 1;
            if table.rows.is_multiple_of(BATCH) {
                bounded(table.bytes())?;
            }
        }
        Ok(table)
    }
}

/// All values of all columns.
fn all(names: &[&str]) -> Vec<usize> {
    vec![usize::MAX; names.len()]
}

/// The texts of a column of CSV seen so far.
struct Look {
    /// Most rows of a table of which all values are kept.
    most: usize,
    /// Which of the [`KINDS`] fit.
    fits: [bool; KINDS.len()],
    /// The first text, if it matters whether all are equal.
    common: Option<String>,
    differ: bool,
}

impl Look {
    fn new(most: usize) -> Self {
        Self {
            most,
            fits: [true; KINDS.len()],
            common: None,
            differ: false,
        }
    }

    /// Looks at the text of the row number `count`.
    fn at(&mut self, count: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        if self.most < usize::MAX && !self.differ {
            match &self.common {
                None => self.common = Some(text.to_owned()),
                Some(common) => self.differ = common != text,
            }
        }
        if count <= self.most || !self.differ {
            for (fits, kind) in self.fits.iter_mut().zip(KINDS) {
                *fits = *fits && kind(text).is_some();
            }
        }
    }

    /// The narrowest kind of the values of a table of `count` rows; `None` if they are not kept.
    fn kind(&self, count: usize) -> Option<usize> {
        let is_kept = count <= self.most || !self.differ;
        let kind = self.fits.iter().position(|fits| *fits);
        kind.filter(|_| is_kept)
    }
}

/// Refuses a table that would fill the memory, by the bytes of its values and of what is kept of each row.
fn bounded(bytes: usize) -> Result<()> {
    const MOST_GIB: usize = 4;
    if bytes <= MOST_GIB << 30 {
        return Ok(());
    }
    let text = format!(
        "found a table whose rows and values take more than {MOST_GIB} GiB, expected a smaller one: keep the columns that are needed, \
        or split it by rows"
    );
    Err(io::Error::new(io::ErrorKind::InvalidData, text).into())
}

/// Readers of values, the narrowest type first. The last takes every text.
const KINDS: [fn(&str) -> Option<Value>; 4] = [
    |text| text.parse().ok().map(Value::Truth),
    |text| text.parse().ok().map(Value::Whole),
    |text| text.parse().ok().map(Value::Real),
    |text| Some(Value::Text(text.to_owned())),
];

/// The rows of a text, one after another.
struct CsvRows<R> {
    csv: csv::Reader<Bounded<io::BufReader<R>>>,
    row: csv::StringRecord,
}

impl<R: Read> CsvRows<R> {
    fn new(input: R, comment: Option<u8>) -> Result<Self> {
        let mut input = io::BufReader::new(input);
        let has_head = input.fill_buf()?.starts_with(b"#");
        // A table without a head may have such rows.
        let comment = comment.filter(|_| has_head);
        let mut csv = csv::ReaderBuilder::new()
            .comment(comment)
            .from_reader(Bounded::new(input));
        csv.headers().map_err(|error| refused(&error))?;
        let row = csv::StringRecord::new();
        Ok(Self { csv, row })
    }

    fn next(&mut self) -> Result<Option<&csv::StringRecord>> {
        self.csv.get_mut().next_row();
        let read = self.csv.read_record(&mut self.row);
        let read = read.map_err(|error| refused(&error))?;
        Ok(read.then_some(&self.row))
    }
}

/// A value of a column of Parquet: integers, floating-point numbers of 32 and 64 bits, text and truth values.
fn value(name: &str, array: &ArrayRef, row: usize) -> Result<Value> {
    macro_rules! whole {
        ($kind:ty) => {
            Value::Whole(i64::from(array.as_primitive::<$kind>().value(row)))
        };
    }
    Ok(match array.data_type() {
        DataType::Boolean => Value::Truth(array.as_boolean().value(row)),
        DataType::Int64 => Value::Whole(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Real(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        DataType::Int8 => whole!(Int8Type),
        DataType::Int16 => whole!(Int16Type),
        DataType::Int32 => whole!(Int32Type),
        DataType::UInt8 => whole!(UInt8Type),
        DataType::UInt16 => whole!(UInt16Type),
        DataType::UInt32 => whole!(UInt32Type),
        DataType::UInt64 => {
            let value = array.as_primitive::<UInt64Type>().value(row);
            i64::try_from(value).map_or_else(|_| Value::Real(to_f64(value)), Value::Whole)
        }
        DataType::Float32 => Value::Real(f64::from(array.as_primitive::<Float32Type>().value(row))),
        DataType::LargeUtf8 => Value::Text(array.as_string::<i64>().value(row).to_owned()),
        DataType::Utf8View => Value::Text(array.as_string_view().value(row).to_owned()),
        other => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!(
                    "column {name}: found values of the type {other}, expected numbers, text or truth values: cast the column, or leave it out"
                ),
            )
            .into());
        }
    })
}

fn refused(error: &csv::Error) -> Error {
    let line = error.position().map(csv::Position::line);
    let text = match line {
        Some(line) => format!("line {line}: {error}"),
        None => error.to_string(),
    };
    io::Error::new(io::ErrorKind::InvalidData, text).into()
}

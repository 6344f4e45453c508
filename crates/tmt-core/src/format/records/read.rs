//! Reads tidy tables back: text, plain or compressed, or Parquet.

use std::io::{self, BufRead as _, Read};

use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::{ROW_BYTES, Records, Value};
use crate::format::Bounded;
use crate::format::compression::Decompressor;
use crate::format::form::{FileKind, Format, recognise};
use crate::format::parquet::ColumnBatches;
use crate::types::{Error, Result};

/// Bytes that are looked at to recognise the format.
const LOOK: usize = 64;

/// Rows of Parquet decoded at a time.
const BATCH: usize = 1 << 12;

impl Records {
    /// Reads a table: Parquet, or CSV with a header, plain, gzip or zstd. The format is detected from the content. A column of
    /// text has the narrowest type that all its values fit: truth values, whole numbers, real numbers, text.
    ///
    /// # Errors
    /// A file that is neither, or damaged; with the line, where there is one.
    pub fn read<T: ChunkReader + 'static>(input: T) -> Result<Self> {
        Self::read_rows(input, None)
    }

    /// As [`Self::read`], and passes over the head and the end line that logs have in text.
    ///
    /// # Errors
    /// Those of [`Self::read`].
    pub fn read_log<T: ChunkReader + 'static>(input: T) -> Result<Self> {
        Self::read_rows(input, Some(b'#'))
    }

    /// Lines that begin with `comment` are no rows.
    fn read_rows<T: ChunkReader + 'static>(input: T, comment: Option<u8>) -> Result<Self> {
        let mut first = Vec::new();
        input
            .get_read(0)
            .map_err(io::Error::other)?
            .take(LOOK as u64)
            .read_to_end(&mut first)?;
        match recognise(&first) {
            FileKind::Plain(Format::Parquet) => Self::from_parquet(input),
            FileKind::Compressed(compression) => Self::from_csv(comment, || {
                let packed = input.get_read(0).map_err(io::Error::other)?;
                Ok(Decompressor::new(compression, packed)?)
            }),
            FileKind::Plain(_) => Self::from_csv(comment, || {
                Ok(input.get_read(0).map_err(io::Error::other)?)
            }),
        }
    }

    fn from_parquet<T: ChunkReader + 'static>(input: T) -> Result<Self> {
        let mut batches = ColumnBatches::new(input, BATCH)?;
        let mut table = Self {
            metadata: batches.pairs().to_vec(),
            ..Self::default()
        };
        for name in batches.names() {
            table.place(name);
        }
        while let Some(columns) = batches.next()? {
            let rows = columns.first().map_or(0, |(_, array)| array.len());
            for row in 0..rows {
                let values = columns.iter().map(|(name, array)| {
                    let value = (!array.is_null(row)).then(|| value(array, row));
                    Ok((name.as_str(), value.transpose()?))
                });
                table.row(values.collect::<Result<Vec<_>>>()?);
            }
            bounded(table.bytes())?;
        }
        Ok(table)
    }

    /// Reads CSV, which `open` opens from its start: once for the types of the columns, and again for their values, so that
    /// no row is kept as text.
    fn from_csv<R: Read>(comment: Option<u8>, open: impl Fn() -> Result<R>) -> Result<Self> {
        let mut rows = CsvRows::new(open()?, comment)?;
        let names = rows.csv.headers().map_err(|error| refused(&error))?.clone();
        let mut fits = vec![[true; KINDS.len()]; names.len()];
        let (mut fields, mut count) = (0, 0);
        while let Some(row) = rows.next()? {
            fields += row.len();
            count += 1;
            bounded(fields * LEAST_FIELD_BYTES + count * ROW_BYTES)?;
            for (fits, text) in fits
                .iter_mut()
                .zip(row)
                .filter(|(_, text)| !text.is_empty())
            {
                for (fits, kind) in fits.iter_mut().zip(KINDS) {
                    *fits = *fits && kind(text).is_some();
                }
            }
        }
        let kind = |fits: &[bool; KINDS.len()]| fits.iter().position(|fits| *fits);
        let kinds: Vec<usize> = fits.iter().filter_map(kind).collect();
        let mut table = Self::default();
        for name in &names {
            table.place(name);
        }
        let mut rows = CsvRows::new(open()?, comment)?;
        while let Some(row) = rows.next()? {
            let cells = names.iter().zip(row).zip(&kinds);
            table.row(cells.map(|((name, text), kind)| {
                let given = Some(text).filter(|text| !text.is_empty());
                (name, given.and_then(KINDS[*kind]))
            }));
            if table.len().is_multiple_of(BATCH) {
                bounded(table.bytes())?;
            }
        }
        Ok(table)
    }
}

/// Least bytes of a value in memory.
const LEAST_FIELD_BYTES: usize = 2;

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

/// A value of a column of Parquet.
fn value(array: &ArrayRef, row: usize) -> Result<Value> {
    Ok(match array.data_type() {
        DataType::Boolean => Value::Truth(array.as_boolean().value(row)),
        DataType::Int64 => Value::Whole(array.as_primitive::<Int64Type>().value(row)),
        DataType::Float64 => Value::Real(array.as_primitive::<Float64Type>().value(row)),
        DataType::Utf8 => Value::Text(array.as_string::<i32>().value(row).to_owned()),
        other => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("found a column of {other}, expected a table that tmt has written"),
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

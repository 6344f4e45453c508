//! Reads tidy tables back: text, plain or compressed, or Parquet.

use std::io::{self, Cursor, Read};

use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::{Records, Value};
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
        let mut first = Vec::new();
        input
            .get_read(0)
            .map_err(io::Error::other)?
            .take(LOOK as u64)
            .read_to_end(&mut first)?;
        match recognise(&first) {
            FileKind::Plain(Format::Parquet) => Self::from_parquet(input),
            FileKind::Compressed(compression) => {
                let packed = input.get_read(0).map_err(io::Error::other)?;
                Self::from_csv(Decompressor::new(compression, packed)?)
            }
            FileKind::Plain(_) => Self::from_csv(input.get_read(0).map_err(io::Error::other)?),
        }
    }

    fn from_parquet<T: ChunkReader + 'static>(input: T) -> Result<Self> {
        let mut batches = ColumnBatches::new(input, BATCH)?;
        let mut table = Self::default();
        for name in batches.names() {
            table.column(name);
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
        }
        Ok(table)
    }

    fn from_csv(input: impl Read) -> Result<Self> {
        let mut text = Vec::new();
        let mut input = input;
        input.read_to_end(&mut text)?;
        let mut reader = csv::Reader::from_reader(Cursor::new(&text));
        let names = reader.headers().map_err(|error| refused(&error))?.clone();
        let mut rows: Vec<csv::StringRecord> = Vec::new();
        for row in reader.records() {
            rows.push(row.map_err(|error| refused(&error))?);
        }
        let kinds: Vec<fn(&str) -> Option<Value>> = (0..names.len())
            .map(|column| {
                let texts: Vec<&str> = rows.iter().filter_map(|row| row.get(column)).collect();
                narrowest(&texts)
            })
            .collect();
        let mut table = Self::default();
        for name in &names {
            table.column(name);
        }
        for row in &rows {
            let cells = names.iter().zip(row.iter()).zip(&kinds);
            table.row(cells.map(|((name, text), kind)| {
                (name, (!text.is_empty()).then(|| kind(text)).flatten())
            }));
        }
        Ok(table)
    }
}

/// The reader of the narrowest type that all `texts` fit.
fn narrowest(texts: &[&str]) -> fn(&str) -> Option<Value> {
    let readers: [fn(&str) -> Option<Value>; 3] = [
        |text| text.parse().ok().map(Value::Truth),
        |text| text.parse().ok().map(Value::Whole),
        |text| text.parse().ok().map(Value::Real),
    ];
    let fits = |reader: &fn(&str) -> Option<Value>| {
        let mut given = texts.iter().filter(|text| !text.is_empty());
        given.all(|text| reader(text).is_some())
    };
    let found = readers.into_iter().find(fits);
    found.unwrap_or(|text| Some(Value::Text(text.to_owned())))
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

//! Reads a table in a Parquet file as canonical text.

use std::io::{self, Read};
use std::sync::Arc;

use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};

use super::corrupt;
use super::open::{Batches, Opened};
use crate::format::columnar::head;
use crate::format::columns::{EXACT_NANOS, TIME_END};
use crate::format::text::encode;
use crate::types::{Error, ErrorKind, Result, to_f64};

/// Rows decoded at a time.
const BATCH: usize = 1 << 13;

/// End of the names of columns whose doubles have all their digits.
const EXACT: &str = "_db";

/// End of the names of times in tables of earlier versions.
const NANOS: &str = "_ns";

/// How the numbers of a column are written.
#[derive(Clone, Copy)]
enum Digits {
    /// Seconds with nine decimals.
    Time,
    /// All that tell a double from others.
    All,
    /// Integers, and doubles with six decimals.
    Usual,
}

/// Reads a flat table as canonical text with head and end line.
///
/// Doubles whose names end in `_s` are times, with nine decimals. Integers and strings are copied, other doubles get six
/// decimals, those in columns whose names end in `_db` all their digits, and nulls become empty fields.
///
/// Earlier versions wrote times as `int64`, with names that end in `_ns`; these names end in `_s` in the text. Before names had
/// units, all `int64` columns were times, and counts unsigned.
pub struct TableText {
    batches: Batches,
    forms: Vec<Digits>,
    end: Option<String>,
    text: Vec<u8>,
    at: usize,
}

impl TableText {
    /// Opens `input` and reads its footer.
    ///
    /// # Errors
    /// A cut or damaged file, a column of an unsupported type, or an I/O error.
    pub fn new<T: ChunkReader + 'static>(input: T) -> Result<Self> {
        let opened = Opened::new(input)?;
        let fields = opened.schema().fields();
        for field in fields {
            check_type(field.name(), field.data_type())?;
        }
        let (metadata, _) = head::read(opened.pairs().filter(|(key, _)| *key != head::END))?;
        let end = opened.pairs().find(|(key, _)| *key == head::END);
        let end = end.map(|(_, value)| format!("# {}: {value}\n", head::END));
        let mut text = Vec::new();
        encode::head(&metadata, &mut text);
        let has_units = |field: &Arc<Field>| {
            [TIME_END, NANOS]
                .iter()
                .any(|unit| field.name().ends_with(unit))
        };
        let is_old = !fields.iter().any(has_units);
        let forms = fields.iter().map(|field| match field.data_type() {
            DataType::Int64 if is_old || field.name().ends_with(NANOS) => Digits::Time,
            DataType::Float64 if field.name().ends_with(TIME_END) => Digits::Time,
            DataType::Float64 if field.name().ends_with(EXACT) => Digits::All,
            _ => Digits::Usual,
        });
        let forms: Vec<Digits> = forms.collect();
        let names = fields.iter().map(|field| {
            let name = field.name();
            match name.strip_suffix(NANOS) {
                Some(stem) => format!("{stem}{TIME_END}"),
                None => name.clone(),
            }
        });
        let names: Vec<String> = names.collect();
        text.extend_from_slice(names.join(",").as_bytes());
        text.push(b'\n');
        let all: Vec<usize> = (0..names.len()).collect();
        Ok(Self {
            forms,
            batches: opened.batches(&all, BATCH)?,
            end,
            text,
            at: 0,
        })
    }

    /// Fills `text` with the next rows or the end line; leaves it empty at the end.
    fn refill(&mut self) -> Result<()> {
        self.text.clear();
        self.at = 0;
        while self.text.is_empty() {
            match self.batches.next()? {
                Some(batch) => append(&batch, &self.forms, &mut self.text)?,
                None => match self.end.take() {
                    Some(end) => self.text.extend_from_slice(end.as_bytes()),
                    None => return Ok(()),
                },
            }
        }
        Ok(())
    }
}

impl Read for TableText {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.text.len() {
            self.refill().map_err(io::Error::other)?;
        }
        let length = buffer.len().min(self.text.len() - self.at);
        buffer[..length].copy_from_slice(&self.text[self.at..self.at + length]);
        self.at += length;
        Ok(length)
    }
}

fn check_type(name: &str, found: &DataType) -> Result<()> {
    match found {
        DataType::Int64
        | DataType::UInt32
        | DataType::UInt64
        | DataType::Float64
        | DataType::Utf8 => Ok(()),
        other => Err(Error::new(ErrorKind::format(
            format!("the column {name} of type {other}"),
            "times and counts as int64, other numbers as double, words as string",
        ))),
    }
}

fn append(batch: &RecordBatch, forms: &[Digits], text: &mut Vec<u8>) -> Result<()> {
    for row in 0..batch.num_rows() {
        for (index, (array, &digits)) in batch.columns().iter().zip(forms).enumerate() {
            if index > 0 {
                text.push(b',');
            }
            if !array.is_null(row) {
                value(array, digits, row, text)?;
            }
        }
        text.push(b'\n');
    }
    Ok(())
}

fn value(array: &ArrayRef, digits: Digits, row: usize, text: &mut Vec<u8>) -> Result<()> {
    match array.data_type() {
        DataType::Int64 => {
            let value = u64::try_from(array.as_primitive::<Int64Type>().value(row));
            let value = value.map_err(|_| corrupt("a negative time or count"))?;
            match digits {
                Digits::Time => encode::seconds(value, text),
                Digits::Usual | Digits::All => encode::whole(value, text),
            }
        }
        DataType::UInt64 => encode::whole(array.as_primitive::<UInt64Type>().value(row), text),
        DataType::UInt32 => {
            encode::whole(array.as_primitive::<UInt32Type>().value(row).into(), text);
        }
        DataType::Float64 => {
            let real = array.as_primitive::<Float64Type>().value(row);
            let digits = match digits {
                Digits::Time if !(0.0..to_f64(EXACT_NANOS)).contains(&(real * 1e9)) => {
                    return Err(corrupt("a time below 0, or of 52 days and more"));
                }
                Digits::Time => format!("{real:.9}"),
                Digits::All => real.to_string(),
                Digits::Usual => format!("{real:.6}"),
            };
            text.extend_from_slice(digits.as_bytes());
        }
        _ => {
            let word = array
                .as_string_opt::<i32>()
                .map_or("", |words| words.value(row));
            if word.contains(['\n', ',', '#']) {
                return Err(corrupt("a word that contains a comma, # or line end"));
            }
            text.extend_from_slice(word.as_bytes());
        }
    }
    Ok(())
}

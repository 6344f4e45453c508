//! Reads a table in a Parquet file as canonical text.

use std::io::{self, Read};

use ::parquet::file::reader::ChunkReader;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

use super::corrupt;
use super::open::{Batches, Opened};
use crate::format::columnar::head;
use crate::format::text::encode;
use crate::types::{Error, ErrorKind, Result};

/// Rows decoded at a time.
const BATCH: usize = 1 << 13;

/// Reads a flat table as canonical text with head and end line.
///
/// `int64` columns are nanoseconds and become seconds. Unsigned integers and strings are copied, doubles get six
/// decimals, and nulls become empty fields.
pub struct TableText {
    batches: Batches,
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
        let names: Vec<&str> = fields.iter().map(|field| field.name().as_str()).collect();
        text.extend_from_slice(names.join(",").as_bytes());
        text.push(b'\n');
        let all: Vec<usize> = (0..names.len()).collect();
        Ok(Self {
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
                Some(batch) => append(&batch, &mut self.text)?,
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
            "times as int64 (ns), numbers as uint64 or double, words as string",
        ))),
    }
}

fn append(batch: &RecordBatch, text: &mut Vec<u8>) -> Result<()> {
    for row in 0..batch.num_rows() {
        for (index, array) in batch.columns().iter().enumerate() {
            if index > 0 {
                text.push(b',');
            }
            if !array.is_null(row) {
                value(array, row, text)?;
            }
        }
        text.push(b'\n');
    }
    Ok(())
}

fn value(array: &ArrayRef, row: usize, text: &mut Vec<u8>) -> Result<()> {
    match array.data_type() {
        DataType::Int64 => {
            let time = u64::try_from(array.as_primitive::<Int64Type>().value(row));
            encode::seconds(time.map_err(|_| corrupt("a negative time"))?, text);
        }
        DataType::UInt64 => encode::whole(array.as_primitive::<UInt64Type>().value(row), text),
        DataType::UInt32 => {
            encode::whole(array.as_primitive::<UInt32Type>().value(row).into(), text);
        }
        DataType::Float64 => {
            let real = array.as_primitive::<Float64Type>().value(row);
            text.extend_from_slice(format!("{real:.6}").as_bytes());
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

//! Writes tidy tables: rows whose columns are known only at run time, as CSV, plain or compressed, or as Parquet
//! (docs/results.md, Sec. 3).
//!
//! Unlike a [`super::table`], such a table has no head and no end line: every reader of CSV opens it, and what the rows
//! have in common is repeated in columns.

mod column;
mod read;

use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Field, Schema};
use serde_json::Map;

use crate::format::compression::Block;
use crate::format::parquet::ColumnFile;
use crate::format::table::TableForm;
use crate::types::{Metadata, to_f64};

pub use column::Column;
pub use read::Kept;

/// Rows per row group of Parquet.
const ROW_GROUP: usize = 1 << 16;

/// Bytes that summaries and pages keep of a row beside its values.
const ROW_BYTES: usize = 40;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Truth,
    Whole,
    Real,
    Text,
}

/// A value of a row.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Value of a column of truth values. In Parquet BOOLEAN.
    Truth(bool),
    /// Value of a column of whole numbers. In Parquet INT64.
    Whole(i64),
    /// Value of a column of real numbers, in text with all their digits; not finite means no value. In Parquet DOUBLE.
    Real(f64),
    /// Value of a column of text. In Parquet UTF8.
    Text(String),
}

impl Value {
    /// The cell of a value of JSON; `None` for null. Arrays and objects are JSON text.
    #[must_use]
    pub fn of_json(value: &serde_json::Value) -> Option<Self> {
        use serde_json::Value as Json;

        Some(match value {
            Json::Null => return None,
            Json::Bool(truth) => Self::Truth(*truth),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(whole), _) => Self::Whole(whole),
                (None, real) => Self::Real(real?),
            },
            Json::String(text) => Self::Text(text.clone()),
            nested => Self::Text(nested.to_string()),
        })
    }

    /// The value as a number; `None` if it is none.
    #[must_use]
    pub fn number(&self) -> Option<f64> {
        self.cell().number()
    }

    /// The value as CSV has it, without quotes.
    #[must_use]
    pub fn text(&self) -> String {
        self.cell().text()
    }

    /// Borrows the value.
    #[must_use]
    pub fn cell(&self) -> Cell<'_> {
        match self {
            Self::Truth(truth) => Cell::Truth(*truth),
            Self::Whole(whole) => Cell::Whole(*whole),
            Self::Real(real) => Cell::Real(*real),
            Self::Text(text) => Cell::Text(text),
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Truth(_) => Kind::Truth,
            Self::Whole(_) => Kind::Whole,
            Self::Real(_) => Kind::Real,
            Self::Text(_) => Kind::Text,
        }
    }
}

/// A value that borrows its text from the table.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell<'a> {
    /// A truth value.
    Truth(bool),
    /// A whole number.
    Whole(i64),
    /// A real number; not finite means no value.
    Real(f64),
    /// A text.
    Text(&'a str),
}

impl Cell<'_> {
    /// The value as a number; `None` if it is none.
    #[must_use]
    pub fn number(self) -> Option<f64> {
        match self {
            Self::Whole(whole) => Some(real(whole)),
            Self::Real(number) => Some(number).filter(|number| number.is_finite()),
            Self::Truth(_) | Self::Text(_) => None,
        }
    }

    /// The value as CSV has it, without quotes.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Truth(truth) => truth.to_string(),
            Self::Whole(whole) => whole.to_string(),
            Self::Real(real) if !real.is_finite() => String::new(),
            Self::Real(real) => real.to_string(),
            Self::Text(text) => text.to_owned(),
        }
    }

    /// An owned copy.
    #[must_use]
    pub fn to_value(self) -> Value {
        match self {
            Self::Truth(truth) => Value::Truth(truth),
            Self::Whole(whole) => Value::Whole(whole),
            Self::Real(real) => Value::Real(real),
            Self::Text(text) => Value::Text(text.to_owned()),
        }
    }
}

/// A tidy table in memory.
///
/// ```
/// use tmt_core::format::records::{Records, Value};
/// use tmt_core::format::table::TableForm;
///
/// let mut table = Records::default();
/// table.row([("loss", None), ("flow", Some(Value::Whole(0))), ("cc", Some(Value::Text("cubic".to_owned())))]);
/// table.row([("loss", Some(Value::Real(0.5))), ("flow", Some(Value::Whole(1)))]);
/// let csv = table.write(Vec::new(), TableForm::Text(None), &[])?;
/// assert_eq!(String::from_utf8(csv)?, "loss,flow,cc\n,0,cubic\n0.5,1,\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Default)]
pub struct Records {
    columns: Vec<Column>,
    /// Places of the columns by name.
    places: HashMap<String, usize>,
    rows: usize,
    /// Key-value pairs of the footer of Parquet that the table was read from.
    metadata: Vec<(String, String)>,
    /// Names of the columns of Parquet that were left out, and the types of their values.
    left_out: Vec<(String, String)>,
}

impl Records {
    /// Appends a row of named values. Unknown names become columns at the right.
    ///
    /// A column takes the widest type of its values: real numbers if some are not whole, text if the types differ
    /// otherwise. A column without any value is one of real numbers.
    pub fn row<'a>(&mut self, values: impl IntoIterator<Item = (&'a str, Option<Value>)>) {
        for (name, value) in values {
            let place = self.place(name);
            if let Some(value) = value {
                self.columns[place].push(self.rows, value);
            }
        }
        self.rows += 1;
    }

    /// The place of a column, which is new at the right if none has this name.
    fn place(&mut self, name: &str) -> usize {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.columns.len();
        self.places.insert(name.to_owned(), place);
        self.columns.push(Column::new(name));
        place
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Names of the columns, from left to right.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(|column| column.name.as_str())
    }

    /// The value of a row, counted from 0, in the column `name`; `None` if absent.
    #[must_use]
    pub fn value(&self, row: usize, name: &str) -> Option<Cell<'_>> {
        self.column(name)?.value(row)
    }

    /// The column `name`; `None` if the table has none of this name. Quicker than [`Self::value`] for many rows.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        Some(&self.columns[*self.places.get(name)?])
    }

    /// Bytes that the values take in memory, and what readers keep of the rows, about.
    fn bytes(&self) -> usize {
        let values: usize = self.columns.iter().map(Column::bytes).sum();
        values + self.rows * ROW_BYTES
    }

    /// The key-value pairs of the footer of Parquet that the table was read from; none of any other table.
    #[must_use]
    pub fn metadata(&self) -> &[(String, String)] {
        &self.metadata
    }

    /// The columns of a foreign table that [`Self::read_log`] has left out, since their values are no numbers, text or truth values: names and
    /// types.
    #[must_use]
    pub fn left_out(&self) -> &[(String, String)] {
        &self.left_out
    }

    /// Removes the columns `names`, and remembers the types of their values.
    fn leave_out(&mut self, names: Vec<(String, String)>) {
        let is_kept = |column: &Column| names.iter().all(|(name, _)| *name != column.name);
        self.columns.retain(is_kept);
        let places = self.columns.iter().enumerate();
        self.places = places
            .map(|(place, column)| (column.name.clone(), place))
            .collect();
        self.left_out = names;
    }

    /// Writes the table and returns the output. `metadata` are key-value pairs of the footer of Parquet; text has none.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn write<W: Write + Send>(
        &self,
        mut output: W,
        form: TableForm,
        metadata: &[(&str, &str)],
    ) -> io::Result<W> {
        match form {
            TableForm::Text(compression) => {
                let mut block = Block::default();
                self.text(&mut block.plain);
                block.pack(compression)?;
                output.write_all(block.bytes())?;
                Ok(output)
            }
            TableForm::Parquet => {
                let mut pairs = Metadata::new();
                for (key, value) in metadata {
                    pairs.push(key, *value);
                }
                let (fields, arrays) = self.arrays();
                let mut file = ColumnFile::new(output, "table", fields, &pairs, ROW_GROUP)?;
                file.batch(arrays)?;
                file.finish(None)
            }
        }
    }

    /// The table as Arrow has it, with the types of Parquet.
    ///
    /// # Errors
    /// None that a table can cause: its columns have equal lengths.
    pub fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let (fields, arrays) = self.arrays();
        let schema = Arc::new(Schema::new(fields));
        let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
        RecordBatch::try_new_with_options(schema, arrays, &options)
    }

    /// The columns and their types as Arrow has them.
    fn arrays(&self) -> (Vec<Field>, Vec<ArrayRef>) {
        let columns = self.columns.iter().map(|column| {
            let array = column.array(self.rows);
            let field = Field::new(&column.name, array.data_type().clone(), true);
            (field, array)
        });
        columns.unzip()
    }

    fn text(&self, out: &mut Vec<u8>) {
        let mut line = |fields: &mut dyn Iterator<Item = String>| {
            let fields: Vec<String> = fields.collect();
            out.extend_from_slice(fields.join(",").as_bytes());
            out.push(b'\n');
        };
        line(&mut self.columns.iter().map(|column| quoted(&column.name)));
        for row in 0..self.rows {
            let text = |column: &Column| column.value(row).map(Cell::text);
            line(
                &mut self
                    .columns
                    .iter()
                    .map(|column| quoted(&text(column).unwrap_or_default())),
            );
        }
    }
}

/// The cells of a row that is a JSON object. Arrays and objects are JSON text.
pub fn cells(row: &Map<String, serde_json::Value>) -> impl Iterator<Item = (&str, Option<Value>)> {
    row.iter()
        .map(|(name, value)| (name.as_str(), Value::of_json(value)))
}

/// A whole number as a double.
fn real(whole: i64) -> f64 {
    to_f64(whole.unsigned_abs()).copysign(if whole < 0 { -1.0 } else { 1.0 })
}

/// A field of CSV, quoted if it has to be (RFC 4180).
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray as _;
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_schema::DataType;
    use bytes::Bytes;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

    use super::*;

    fn table() -> Records {
        let mut table = Records::default();
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        table.row([
            ("never", None),
            ("seed", Some(Value::Whole(-3))),
            ("scheme", text("harq:10/12,rounds=3")),
            ("mixed", Some(Value::Whole(2))),
            ("on", Some(Value::Truth(true))),
        ]);
        table.row([
            ("seed", Some(Value::Whole(4))),
            ("scheme", text("say \"arq\"")),
            ("mixed", Some(Value::Real(0.1))),
            ("on", None),
        ]);
        table.row([
            ("mixed", Some(Value::Real(f64::INFINITY))),
            ("words", text("x")),
        ]);
        table.row([("words", Some(Value::Whole(7)))]);
        table
    }

    #[test]
    fn fields_of_csv_are_quoted_where_they_must_be() {
        let csv = table()
            .write(Vec::new(), TableForm::Text(None), &[])
            .unwrap();
        assert_eq!(
            String::from_utf8(csv).unwrap(),
            "never,seed,scheme,mixed,on,words\n,-3,\"harq:10/12,rounds=3\",2,true,\n,4,\"say \"\"arq\"\"\",0.1,,\n,,,,,x\n,,,,,7\n"
        );
    }

    #[test]
    fn a_table_is_read_back_from_every_form() {
        for form in ["t.csv", "t.csv.gz", "t.csv.zst", "t.parquet"] {
            let form = TableForm::from_file_name(form).unwrap();
            let bytes = table()
                .write(Vec::new(), form, &[("tool", "test 1")])
                .unwrap();
            let read = Records::read(Bytes::from(bytes)).unwrap();
            assert_eq!(read.len(), 4);
            assert!(read.names().eq(table().names()));
            for row in 0..4 {
                for name in table().names() {
                    let (ours, theirs) = (
                        table().value(row, name).map(Cell::text),
                        read.value(row, name).map(Cell::text),
                    );
                    assert_eq!(ours.filter(|text| !text.is_empty()), theirs, "{row} {name}");
                }
            }
            assert_eq!(read.value(0, "seed"), Some(Cell::Whole(-3)));
            assert_eq!(read.value(1, "mixed"), Some(Cell::Real(0.1)));
        }
        let with_head = Bytes::from_static(b"# tool: x, y\na,b\n1,2\n# end: rows=1\n");
        assert!(Records::read(with_head.clone()).is_err());
        let read = Records::read_log(with_head, &|names| vec![usize::MAX; names.len()]).unwrap();
        assert_eq!((read.len(), read.value(0, "b")), (1, Some(Cell::Whole(2))));
        let cut = Bytes::from_static(b"a,b\n1,2\n3\n");
        assert!(
            Records::read(cut)
                .unwrap_err()
                .to_string()
                .contains("line 3")
        );
    }

    /// Of columns that are not kept whole only what all their rows have, with its gaps, whatever the form of the file.
    #[test]
    fn of_a_long_table_a_column_keeps_its_common_value() {
        let mut table = Records::default();
        for row in 0..10_000_i64 {
            let has = row % 1000 > 2;
            table.row([
                ("run", Some(Value::Whole(row))),
                ("rate_bps", has.then_some(Value::Whole(2_000_000))),
                ("goodput_bps", has.then(|| Value::Real(real(row) + 0.5))),
                ("short", Some(Value::Whole(row % 2))),
                ("never", None),
                ("scheme", Some(Value::Text("arq".to_owned()))),
            ]);
        }
        for form in ["t.csv", "t.csv.zst", "t.parquet"] {
            let form = TableForm::from_file_name(form).unwrap();
            let bytes = Bytes::from(table.write(Vec::new(), form, &[]).unwrap());
            for (longest, whole) in [(9_999, false), (10_000, true)] {
                let kept = |names: &[&str]| {
                    let most = |name: &&str| match *name {
                        "run" => usize::MAX,
                        "short" => longest,
                        _ => 0,
                    };
                    names.iter().map(most).collect()
                };
                let read = Records::read_log(bytes.clone(), &kept).unwrap();
                assert!(read.names().eq(table.names()) && read.len() == 10_000);
                for row in [0, 2, 3, 4, 999, 1000, 1003, 9_999] {
                    for name in ["run", "rate_bps", "never", "scheme"] {
                        assert_eq!(
                            read.value(row, name),
                            table.value(row, name),
                            "{row} {name}"
                        );
                    }
                    assert_eq!(read.value(row, "goodput_bps"), None);
                    let short = table.value(row, "short").filter(|_| whole);
                    assert_eq!(read.value(row, "short"), short);
                }
                assert!(read.bytes() < 10_000 * (ROW_BYTES + 50));
            }
        }
    }

    #[test]
    fn foreign_parquet_has_numbers_and_text_of_any_width_or_is_refused_by_column() {
        use arrow_array::{Date32Array, Float32Array, Int16Array, LargeStringArray, UInt32Array};
        let file = |arrays: Vec<(&str, ArrayRef)>| {
            let batch = RecordBatch::try_from_iter(arrays).unwrap();
            let mut out = Vec::new();
            let writer = ::parquet::arrow::ArrowWriter::try_new(&mut out, batch.schema(), None);
            let mut writer = writer.unwrap();
            writer.write(&batch).unwrap();
            writer.close().unwrap();
            Records::read(Bytes::from(out))
        };
        let read = file(vec![
            ("a", Arc::new(Int16Array::from(vec![Some(-3), None]))),
            ("b", Arc::new(UInt32Array::from(vec![u32::MAX, 0]))),
            ("c", Arc::new(Float32Array::from(vec![0.5, 1.5]))),
            ("d", Arc::new(LargeStringArray::from(vec!["x", "y"]))),
        ])
        .unwrap();
        let row = |row| {
            read.names()
                .map(|name| read.value(row, name).map(Cell::to_value))
                .collect::<Vec<_>>()
        };
        let text = |text: &str| Some(Value::Text(text.to_owned()));
        let max = Some(Value::Whole(i64::from(u32::MAX)));
        assert_eq!(
            row(0),
            [
                Some(Value::Whole(-3)),
                max,
                Some(Value::Real(0.5)),
                text("x")
            ]
        );
        assert_eq!(
            row(1),
            [
                None,
                Some(Value::Whole(0)),
                Some(Value::Real(1.5)),
                text("y")
            ]
        );
        let days: ArrayRef = Arc::new(Date32Array::from(vec![1]));
        let error = file(vec![("day", days)]).unwrap_err().to_string();
        assert!(
            error.contains("column day: found values of the type Date32"),
            "{error}"
        );
    }

    #[test]
    fn parquet_has_types_and_nulls() {
        let file = table().write(Vec::new(), TableForm::Parquet, &[("tool", "test 1")]);
        let reader = ParquetRecordBatchReader::try_new(Bytes::from(file.unwrap()), 100).unwrap();
        let batches: Vec<RecordBatch> = reader.map(Result::unwrap).collect();
        let batch = &batches[0];
        assert_eq!((batches.len(), batch.num_rows()), (1, 4));
        let column = |name: &str| batch.column_by_name(name).unwrap();
        assert_eq!(column("never").null_count(), 4);
        assert_eq!(column("never").data_type(), &DataType::Float64);
        let seeds: Vec<Option<i64>> = column("seed").as_primitive::<Int64Type>().iter().collect();
        assert_eq!(seeds, [Some(-3), Some(4), None, None]);
        let mixed = column("mixed").as_primitive::<Float64Type>();
        let mixed: Vec<Option<f64>> = mixed.iter().collect();
        assert_eq!(mixed, [Some(2.0), Some(0.1), None, None]);
        let on: Vec<Option<bool>> = column("on").as_boolean().iter().collect();
        assert_eq!(on, [Some(true), None, None, None]);
        let words: Vec<Option<&str>> = column("words").as_string::<i32>().iter().collect();
        assert_eq!(words, [None, None, Some("x"), Some("7")]);
    }
}

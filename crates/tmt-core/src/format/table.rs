//! Writes tables other than traces: rows of named columns as text, plain or compressed, or as Parquet
//! (docs/trace-format.md, Sec. 9).
//!
//! Head and end line are those of a trace: comment lines in text, key-value pairs of the footer in Parquet. The end line has
//! the number of rows and the CRC-32 of all text before it, in every form of the table. Times are seconds, and their names
//! end in `_s`: with nine decimals in text; in Parquet as doubles, each the one nearest to these decimals.

use std::fmt;
use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Float64Array, Int64Array, StringArray};
use arrow_schema::{DataType, Field};
use flate2::Crc;

use crate::format::columnar::head::END;
use crate::format::columns::{EXACT_NANOS, TIME_END};
use crate::format::compression::Block;
use crate::format::form::{Compression, Form, FormError, Format};
use crate::format::parquet::ColumnFile;
pub use crate::format::parquet::TableText;
use crate::format::text::encode;
use crate::types::{Metadata, to_f64};

/// Bytes of text that are written or compressed at a time.
const BLOCK: usize = 1 << 18;

/// Rows per row group of Parquet: about 10 MB before encoding. The last one may have fewer.
const ROW_GROUP: usize = 1 << 16;

/// Rows of Parquet encoded at a time. The encoder checks after this many rows whether a page is full, unless it is
/// given more of a column without nulls at once.
const BATCH: usize = 1 << 10;

/// Type of the values of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Times or durations, ns: seconds in text and Parquet. In Parquet DOUBLE, below 2^52 ns (52 days).
    Time,
    /// Integers from 0 to 2^63 − 1. In Parquet INT64.
    Count,
    /// Real numbers with six decimals in text. In Parquet DOUBLE.
    Real,
    /// Real numbers with the digits that tell them from all others in text. In Parquet DOUBLE.
    Exact,
    /// Words from a small set. In Parquet UTF8.
    Word,
}

/// Description of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Name of the column; that of a time without its unit.
    pub name: &'static str,
    /// Type of the values of the column, in text and in Parquet.
    pub kind: Kind,
    /// Whether a row may have no value in this column.
    pub optional: bool,
}

impl Column {
    /// A column that has a value in every row.
    #[must_use]
    pub const fn always(name: &'static str, kind: Kind) -> Self {
        Self {
            name,
            kind,
            optional: false,
        }
    }

    /// A column in which a row may have no value.
    #[must_use]
    pub const fn maybe(name: &'static str, kind: Kind) -> Self {
        Self {
            optional: true,
            ..Self::always(name, kind)
        }
    }

    /// The name in text and in Parquet: with the unit of times.
    #[must_use]
    pub fn full_name(&self) -> String {
        let end = if self.kind == Kind::Time {
            TIME_END
        } else {
            ""
        };
        format!("{}{end}", self.name)
    }

    /// Whether `cell` fits this column.
    fn accepts(&self, cell: &Cell) -> bool {
        match (self.kind, cell) {
            (_, Cell::None) => self.optional,
            (Kind::Time, Cell::Time(value)) | (Kind::Count, Cell::Count(value)) => {
                i64::try_from(*value).is_ok()
            }
            (Kind::Real, Cell::Real(_))
            | (Kind::Exact, Cell::Exact(_))
            | (Kind::Word, Cell::Word(_)) => true,
            _ => false,
        }
    }

    fn field(&self) -> Field {
        let data_type = match self.kind {
            Kind::Count => DataType::Int64,
            Kind::Time | Kind::Real | Kind::Exact => DataType::Float64,
            Kind::Word => DataType::Utf8,
        };
        Field::new(self.full_name(), data_type, self.optional)
    }

    /// The values of `cells`, which must fit this column.
    fn array<'a>(&self, cells: impl Iterator<Item = &'a Cell>) -> ArrayRef {
        match self.kind {
            Kind::Count => array_of::<_, Int64Array, _>(cells, |cell| match cell {
                Cell::Count(value) => Some(value.cast_signed()),
                _ => None,
            }),
            Kind::Time => array_of::<_, Float64Array, _>(cells, |cell| match cell {
                Cell::Time(nanos) => Some(to_f64(*nanos) / 1e9),
                _ => None,
            }),
            Kind::Real | Kind::Exact => array_of::<_, Float64Array, _>(cells, |cell| match cell {
                Cell::Real(real) | Cell::Exact(real) => Some(*real),
                _ => None,
            }),
            Kind::Word => array_of::<_, StringArray, _>(cells, |cell| match cell {
                Cell::Word(word) => Some(*word),
                _ => None,
            }),
        }
    }
}

/// The values that `read` finds in `cells`.
pub(super) fn array_of<C, A: Array + FromIterator<Option<T>> + 'static, T>(
    cells: impl Iterator<Item = C>,
    read: fn(C) -> Option<T>,
) -> ArrayRef {
    Arc::new(cells.map(read).collect::<A>())
}

/// A value of a row; its variant must match the [`Kind`] of the column.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cell {
    /// No value: an empty field in text, null in Parquet.
    None,
    /// Value of a column of [`Kind::Time`], ns; at most 2^63 − 1.
    Time(u64),
    /// Value of a column of [`Kind::Count`]; at most 2^63 − 1.
    Count(u64),
    /// Value of a column of [`Kind::Real`].
    Real(f64),
    /// Value of a column of [`Kind::Exact`].
    Exact(f64),
    /// Value of a column of [`Kind::Word`], without commas.
    Word(&'static str),
}

/// The forms in which a table can be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// Text, plain or compressed.
    Text(Option<Compression>),
    /// Parquet file.
    Parquet,
}

impl TableForm {
    /// The form that the extension of a file name selects; text without an extension.
    ///
    /// # Errors
    /// The extension is unknown, or selects a form that is not available for tables.
    pub fn from_file_name(name: &str) -> Result<Self, FormError> {
        let form = Form::named(name, EXTENSIONS)?.unwrap_or_default();
        match form.format {
            Format::Csv => Ok(Self::Text(form.compression)),
            Format::Parquet => Ok(Self::Parquet),
            Format::Arrow | Format::ArrowStream => Err(FormError(format!(
                "{name}: {form} is not available for tables, expected {EXTENSIONS}"
            ))),
        }
    }
}

/// The extensions of tables, for messages.
const EXTENSIONS: &str = ".csv or .txt, also with .gz or .zst, .parquet, or no extension (text)";

/// Destination of the rows.
enum Target<W: Write + Send> {
    Text {
        output: W,
        compression: Option<Compression>,
        block: Block,
    },
    Parquet {
        file: Box<ColumnFile<W>>,
        /// Cells that have not been encoded yet, row by row.
        cells: Vec<Cell>,
    },
}

/// Writes a table row by row, in the memory of a block or row group.
pub struct TableWriter<W: Write + Send> {
    target: Target<W>,
    columns: &'static [Column],
    rows: u64,
    /// Of the text so far, without what waits in the target.
    crc: Crc,
}

impl<W: Write + Send> TableWriter<W> {
    /// A table that starts with `head`.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn new(
        output: W,
        form: TableForm,
        columns: &'static [Column],
        head: &Metadata,
    ) -> io::Result<Self> {
        let mut block = Block::default();
        encode::head(head, &mut block.plain);
        let names: Vec<String> = columns.iter().map(Column::full_name).collect();
        block.plain.extend_from_slice(names.join(",").as_bytes());
        block.plain.push(b'\n');
        let mut crc = Crc::new();
        let target = match form {
            TableForm::Parquet => {
                crc.update(&block.plain);
                let fields = columns.iter().map(Column::field).collect();
                let file = ColumnFile::new(output, "table", fields, head, ROW_GROUP)?;
                Target::Parquet {
                    file: Box::new(file),
                    cells: Vec::new(),
                }
            }
            TableForm::Text(compression) => Target::Text {
                output,
                compression,
                block,
            },
        };
        Ok(Self {
            target,
            columns,
            rows: 0,
            crc,
        })
    }

    /// Writes a row: one cell per column, in the order of the columns.
    ///
    /// # Errors
    /// Cells that do not fit their columns, or I/O errors of the output.
    pub fn row(&mut self, cells: &[Cell]) -> io::Result<()> {
        let mut pairs = self.columns.iter().zip(cells);
        if self.columns.len() != cells.len() || !pairs.all(|(column, cell)| column.accepts(cell)) {
            let found = format!(
                "found cells {cells:?}, expected those of {:?}",
                self.columns
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, found));
        }
        let is_text = matches!(self.target, Target::Text { .. });
        let is_inexact = |cell: &&Cell| matches!(cell, Cell::Time(nanos) if *nanos >= EXACT_NANOS);
        if let Some(Cell::Time(nanos)) = cells.iter().find(is_inexact).filter(|_| !is_text) {
            let found = format!(
                "found a time of {nanos} ns, expected less than {EXACT_NANOS} ns (52 days) in Parquet, whose seconds are doubles; \
                 write this table as text"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidInput, found));
        }
        self.rows += 1;
        let is_full = match &mut self.target {
            Target::Parquet { cells: waiting, .. } => {
                waiting.extend_from_slice(cells);
                waiting.len() == BATCH * cells.len()
            }
            Target::Text { block, .. } => {
                text(cells, &mut block.plain);
                block.plain.len() >= BLOCK
            }
        };
        if is_full { self.drain() } else { Ok(()) }
    }

    /// Writes the remaining rows and the end line, and returns the output.
    ///
    /// # Errors
    /// I/O errors of the output.
    pub fn finish(mut self) -> io::Result<W> {
        self.drain()?;
        let end = format!("rows={} crc32={:08x}", self.rows, self.crc.sum());
        if let Target::Text { block, .. } = &mut self.target {
            let line = format!("# {END}: {end}\n");
            block.plain.extend_from_slice(line.as_bytes());
            self.drain()?;
        }
        match self.target {
            Target::Text { output, .. } => Ok(output),
            Target::Parquet { file, .. } => file.finish(Some(end)),
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Text {
                output,
                compression,
                block,
            } => {
                self.crc.update(&block.plain);
                block.pack(*compression)?;
                output.write_all(block.bytes())?;
                block.plain.clear();
            }
            Target::Parquet { file, cells } => {
                let mut rows = Vec::new();
                cells
                    .chunks(self.columns.len())
                    .for_each(|row| text(row, &mut rows));
                self.crc.update(&rows);
                let columns = self.columns.iter().enumerate();
                let arrays = columns.map(|(at, column)| {
                    column.array(cells.iter().skip(at).step_by(self.columns.len()))
                });
                file.batch(arrays.collect())?;
                cells.clear();
            }
        }
        Ok(())
    }
}

impl<W: Write + Send> fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TableWriter")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}

/// Appends a row as text.
pub(crate) fn text(cells: &[Cell], out: &mut Vec<u8>) {
    for (index, cell) in cells.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match *cell {
            Cell::None => {}
            Cell::Time(nanos) => encode::seconds(nanos, out),
            Cell::Count(count) => encode::whole(count, out),
            Cell::Real(real) => out.extend_from_slice(format!("{real:.6}").as_bytes()),
            Cell::Exact(real) => out.extend_from_slice(format!("{real}").as_bytes()),
            Cell::Word(word) => out.extend_from_slice(word.as_bytes()),
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use bytes::Bytes;
    use proptest::prelude::*;

    use super::*;
    use crate::format::compression::Decompressor;

    const COLUMNS: &[Column] = &[
        Column::always("time", Kind::Time),
        Column::maybe("flow", Kind::Count),
        Column::maybe("cwnd", Kind::Real),
        Column::maybe("fate", Kind::Word),
    ];

    fn head() -> Metadata {
        let mut head = Metadata::new();
        for (key, value) in [
            ("tool", "test 1"),
            ("stage", "one"),
            ("log", "packets"),
            ("stage", "two"),
        ] {
            head.push(key, value);
        }
        head
    }

    fn written(form: TableForm, rows: &[[Cell; 4]]) -> Vec<u8> {
        let mut table = TableWriter::new(Vec::new(), form, COLUMNS, &head()).unwrap();
        for row in rows {
            table.row(row).unwrap();
        }
        table.finish().unwrap()
    }

    fn rows() -> impl Strategy<Value = Vec<[Cell; 4]>> {
        let largest = i64::MAX.unsigned_abs();
        let time = prop_oneof![Just(0), Just(EXACT_NANOS - 1), 0..EXACT_NANOS].prop_map(Cell::Time);
        let count = prop::option::of(prop_oneof![Just(largest), 0u64..100])
            .prop_map(|count| count.map_or(Cell::None, Cell::Count));
        let real = prop::option::of(prop_oneof![Just(0.0), 0.0..1e6])
            .prop_map(|real| real.map_or(Cell::None, Cell::Real));
        let word = prop::option::of(prop::sample::select(vec!["open", "link", "queue"]))
            .prop_map(|word| word.map_or(Cell::None, Cell::Word));
        prop::collection::vec(
            (time, count, real, word).prop_map(|(a, b, c, d)| [a, b, c, d]),
            0..50,
        )
    }

    proptest! {
        #[test]
        fn every_form_reads_back_as_the_same_text(rows in rows()) {
            let text = written(TableForm::Text(None), &rows);
            let packed = [Compression::Gzip, Compression::Zstd]
                .map(|compression| written(TableForm::Text(Some(compression)), &rows));
            let mut unpacked = [Vec::new(), Vec::new()];
            for (at, compression) in [Compression::Gzip, Compression::Zstd].into_iter().enumerate() {
                let mut packed = Decompressor::new(compression, &packed[at][..]).unwrap();
                packed.read_to_end(&mut unpacked[at]).unwrap();
            }
            prop_assert_eq!(&unpacked, &[text.clone(), text.clone()]);
            let mut read = Vec::new();
            let file = Bytes::from(written(TableForm::Parquet, &rows));
            TableText::new(file).unwrap().read_to_end(&mut read).unwrap();
            prop_assert_eq!(String::from_utf8(read).unwrap(), String::from_utf8(text).unwrap());
        }
    }

    #[test]
    fn times_in_parquet_are_the_doubles_that_a_reader_of_the_text_gets() {
        let column = Column::always("time", Kind::Time);
        for nanos in [0, 1, 999_999_999, 86_400_123_456_789, EXACT_NANOS - 1] {
            let mut decimals = Vec::new();
            encode::seconds(nanos, &mut decimals);
            let read: f64 = String::from_utf8(decimals).unwrap().parse().unwrap();
            let array = column.array([Cell::Time(nanos)].iter());
            let array = array.as_any().downcast_ref::<Float64Array>().unwrap();
            assert_eq!(array.value(0).to_bits(), read.to_bits(), "{nanos}");
        }
    }

    #[test]
    fn tables_of_earlier_versions_are_read() {
        for (name, read_as) in [("time_ns", "time_s"), ("time", "time")] {
            let fields = vec![Field::new(name, DataType::Int64, false)];
            let mut file =
                ColumnFile::new(Vec::new(), "table", fields, &head(), ROW_GROUP).unwrap();
            file.batch(vec![Arc::new(Int64Array::from(vec![1, 2_500_000_000]))])
                .unwrap();
            let file = Bytes::from(file.finish(None).unwrap());
            let mut read = String::new();
            TableText::new(file)
                .unwrap()
                .read_to_string(&mut read)
                .unwrap();
            let rows = format!("{read_as}\n0.000000001\n2.500000000\n");
            assert!(read.ends_with(&rows), "{read}");
        }
    }

    #[test]
    fn a_table_has_head_header_rows_and_end_line() {
        let rows = [
            [
                Cell::Time(1_500_000_000),
                Cell::Count(7),
                Cell::Real(2.5),
                Cell::Word("link"),
            ],
            [Cell::Time(2), Cell::None, Cell::None, Cell::None],
        ];
        let text = String::from_utf8(written(TableForm::Text(None), &rows)).unwrap();
        assert_eq!(
            text,
            "# tool: test 1\n# stage: one\n# log: packets\n# stage: two\ntime_s,flow,cwnd,fate\n\
             1.500000000,7,2.500000,link\n0.000000002,,,\n# end: rows=2 crc32=f06664ff\n"
        );
    }

    #[test]
    fn more_rows_than_a_row_group_keep_their_order() {
        let rows: Vec<_> = (0..150_000)
            .map(|row| {
                [
                    Cell::Time(row),
                    Cell::Count(row % 3),
                    Cell::None,
                    Cell::Word("open"),
                ]
            })
            .collect();
        let mut read = String::new();
        let file = Bytes::from(written(TableForm::Parquet, &rows));
        TableText::new(file)
            .unwrap()
            .read_to_string(&mut read)
            .unwrap();
        let text = written(TableForm::Text(None), &rows);
        assert!(read.into_bytes() == text);
    }

    #[test]
    fn cells_must_fit_their_columns() {
        let mut table = TableWriter::new(Vec::new(), TableForm::Parquet, COLUMNS, &head()).unwrap();
        for wrong in [
            &[Cell::None, Cell::None, Cell::None, Cell::None][..],
            &[Cell::Time(1), Cell::Real(1.0), Cell::None, Cell::None],
            &[Cell::Time(1), Cell::Count(1 << 63), Cell::None, Cell::None],
            &[Cell::Time(1 << 63), Cell::None, Cell::None, Cell::None],
            &[Cell::Time(1 << 52), Cell::None, Cell::None, Cell::None],
            &[Cell::Time(1)],
        ] {
            assert_eq!(
                table.row(wrong).unwrap_err().kind(),
                io::ErrorKind::InvalidInput
            );
        }
    }

    #[test]
    fn a_damaged_file_is_an_error_and_no_panic() {
        let rows = [[
            Cell::Time(5),
            Cell::Count(1),
            Cell::Real(1.0),
            Cell::Word("open"),
        ]; 20];
        let file = written(TableForm::Parquet, &rows);
        let whole = written(TableForm::Text(None), &rows);
        for at in 0..file.len() {
            let mut read = Vec::new();
            let cut = Bytes::copy_from_slice(&file[..at]);
            assert!(TableText::new(cut).is_err(), "cut at {at}");
            let mut flipped = file.clone();
            flipped[at] ^= 0x10;
            if let Ok(mut text) = TableText::new(Bytes::from(flipped)) {
                // If the file is still readable, its values may be any.
                let _ = text.read_to_end(&mut read);
                assert!(read.len() < 100 * whole.len(), "flipped at {at}");
            }
        }
    }

    #[test]
    fn the_extension_of_a_file_name_selects_the_form() {
        for (name, form) in [
            ("log.csv", TableForm::Text(None)),
            ("log", TableForm::Text(None)),
            ("-", TableForm::Text(None)),
            ("log.csv.gz", TableForm::Text(Some(Compression::Gzip))),
            ("log.CSV.zst", TableForm::Text(Some(Compression::Zstd))),
            ("a.b/log.parquet", TableForm::Parquet),
        ] {
            assert_eq!(TableForm::from_file_name(name), Ok(form), "{name}");
        }
        assert!(
            ["log.arrow", "log.arrows", "log.json"]
                .into_iter()
                .all(|name| {
                    let refused = TableForm::from_file_name(name).unwrap_err().to_string();
                    refused.contains(".parquet") && refused.starts_with(name)
                })
        );
    }
}

//! A trace, from a table in memory or from a file.

use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;

use arrow_array::ffi_stream::RecordBatchStreamReader;
use arrow_array::{RecordBatch, RecordBatchReader as _};
use arrow_pyarrow::FromPyArrow as _;
use arrow_schema::{ArrowError, SchemaRef};
use fluid_tcp::experiment::{Loaded, with_files};
use pyo3::prelude::*;
use tmt_cli::Host;
use tmt_core::format::import::table_text;
use tmt_core::format::{
    Columns, FIRST_BYTES, FileKind, Format, Options, TraceReader, Unit, reading_notes, recognise,
};
use tmt_core::pipeline::collect;
use tmt_core::types::{BitRate, Bytes, Note, Span};
use tmt_link::timeline::Builder;

use crate::error::Failure;
use crate::work::check;

/// Name of a table in messages.
const TABLE: &str = "the table";

/// A trace as Python passes it.
pub(crate) enum Input {
    /// A stream of batches, and the pairs of the schema's metadata in their order.
    Table(RecordBatchStreamReader, Vec<(String, String)>),
    /// A file.
    File(String),
}

/// A trace that can be read more than once.
pub(crate) enum Held {
    /// The batches of a stream, whose columns are shared, not copied.
    Table {
        schema: SchemaRef,
        batches: Vec<RecordBatch>,
        metadata: Vec<(String, String)>,
    },
    /// A file.
    File(String),
}

impl<'py> FromPyObject<'_, 'py> for Input {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(path) = object.extract::<String>() {
            return Ok(Self::File(path));
        }
        let (stream, metadata): (Bound<'_, PyAny>, _) = object.extract()?;
        let stream = RecordBatchStreamReader::from_pyarrow_bound(&stream)?;
        Ok(Self::Table(stream, metadata))
    }
}

impl Input {
    /// Name of the trace in messages.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Table(..) => TABLE,
            Self::File(path) => path,
        }
    }

    /// The same trace for more than one reader.
    pub(crate) fn hold(self) -> Result<Held, Failure> {
        match self {
            Self::Table(stream, metadata) => {
                let schema = stream.schema();
                let batches: Result<Vec<RecordBatch>, _> = stream.collect();
                let failed = |error| Failure::Data(format!("{TABLE}: {error}"));
                Ok(Held::Table {
                    schema,
                    batches: batches.map_err(failed)?,
                    metadata,
                })
            }
            Self::File(path) => Ok(Held::File(path)),
        }
    }

    /// Opens the trace and reads its head.
    pub(crate) fn open(
        self,
        options: Options,
        host: &Arc<Host>,
    ) -> Result<TraceReader<'static>, Failure> {
        let name = self.name().to_owned();
        let reader = self.reader(options, Arc::clone(host));
        reader.map_err(|error| Failure::input(&name, &error))
    }

    /// Opens the trace and reads its head, for work that `host` can end.
    pub(crate) fn reader(
        self,
        options: Options,
        host: Arc<Host>,
    ) -> tmt_core::Result<TraceReader<'static>> {
        match self {
            Self::Table(stream, metadata) => {
                let schema = stream.schema();
                open_batches(&schema, &metadata, stream, options, host)
            }
            Self::File(path) => {
                let mut file = File::open(&path)?;
                let mut first = Vec::new();
                Read::by_ref(&mut file)
                    .take(FIRST_BYTES as u64)
                    .read_to_end(&mut first)?;
                if recognise(&first) == FileKind::Plain(Format::Parquet) {
                    TraceReader::parquet(file, options)
                } else {
                    let rest = Stoppable { file, host };
                    TraceReader::new(Cursor::new(first).chain(rest), options)
                }
            }
        }
    }

    /// Reads the trace into memory under the name `name`.
    pub(crate) fn load(
        self,
        name: &str,
        options: Options,
        host: &Arc<Host>,
    ) -> Result<Loaded, Failure> {
        load(name, self.open(options, host)?)
    }
}

/// Opens the batches of a table.
fn open_batches<'a>(
    schema: &SchemaRef,
    metadata: &[(String, String)],
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>> + Send + 'a,
    options: Options,
    host: Arc<Host>,
) -> tmt_core::Result<TraceReader<'a>> {
    let pairs = metadata.iter();
    let pairs = pairs.map(|(key, value)| (key.as_str(), value.as_str()));
    let batches = batches.map(move |batch| {
        let stopped = |error: Failure| ArrowError::ExternalError(Box::new(error));
        check(&host).map_err(stopped)?;
        batch
    });
    TraceReader::batches(schema, pairs, batches, options)
}

impl Held {
    /// Reads the trace into memory under the name `name`.
    pub(crate) fn load(
        &self,
        name: &str,
        options: Options,
        host: &Arc<Host>,
    ) -> Result<Loaded, Failure> {
        match self {
            Self::Table {
                schema,
                batches,
                metadata,
            } => {
                let batches = batches.iter().cloned().map(Ok);
                let reader = open_batches(schema, metadata, batches, options, Arc::clone(host));
                load(name, reader.map_err(|error| Failure::input(name, &error))?)
            }
            Self::File(path) => Input::File(path.clone()).load(path, options, host),
        }
    }
}

/// Reads a trace into memory under the name `name`.
fn load(name: &str, mut reader: TraceReader<'_>) -> Result<Loaded, Failure> {
    let mut builder = Builder::default();
    let read = collect(&mut reader, |rows| builder.rows(rows));
    read.map_err(|error| Failure::input(name, &error))?;
    Ok(Loaded {
        rows: builder.finish(),
        head: reader.metadata().clone(),
        end: reader.end().and_then(|end| end.end_line),
        notes: notes(name, &reader),
        name: name.to_owned(),
    })
}

/// A file that ends with an error once the user has pressed Ctrl-C.
struct Stoppable {
    file: File,
    host: Arc<Host>,
}

impl Read for Stoppable {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        check(&self.host).map_err(io::Error::other)?;
        self.file.read(bytes)
    }
}

/// How the trace `name` was read, once it has been read.
pub(crate) fn notes(name: &str, reader: &TraceReader<'_>) -> Vec<Note> {
    let mut notes = reading_notes(name, reader, |key| format!("`{key}`"));
    let head = reader.metadata();
    let has_end = reader
        .end()
        .is_none_or(|end| end.end_line.is_some() || end.cut);
    if head.get("scheme").is_some() && !has_end {
        notes.push(Note::warning(format!(
            "{name} is a timeline without its end line: LLDUs that the end of the trace left open count as lost; `tmt.read` keeps the end line"
        )));
    }
    notes
}

/// How a trace is read.
#[derive(FromPyObject)]
pub(crate) struct Reading {
    #[pyo3(item)]
    unit: Option<String>,
    #[pyo3(item)]
    columns: Option<String>,
    #[pyo3(item)]
    interval: Option<String>,
    #[pyo3(item)]
    rate: Option<String>,
    #[pyo3(item)]
    lldu: Option<String>,
    #[pyo3(item)]
    allow_cut: bool,
}

impl Reading {
    /// Rate and size of the slots, as far as they are given.
    pub(crate) fn link(&self) -> Result<(Option<BitRate>, Option<Bytes>), Failure> {
        let rate = argument("rate", self.rate.as_deref())?;
        Ok((rate, argument("lldu", self.lldu.as_deref())?))
    }

    /// The options of reading; `attempts` asks for that column.
    pub(crate) fn options(&self, attempts: bool) -> Result<Options, Failure> {
        let columns: Option<Columns> = argument("columns", self.columns.as_deref())?;
        let interval: Option<Span> = argument("interval", self.interval.as_deref())?;
        let (rate, lldu) = self.link()?;
        let columns = columns.unwrap_or_default().spaced(interval, rate, lldu);
        let columns = columns.map_err(Failure::Usage)?;
        Ok(Options {
            unit: argument::<Unit>("unit", self.unit.as_deref())?,
            allow_cut: self.allow_cut,
            attempts,
            columns,
            ..Options::default()
        })
    }
}

/// The value of the argument `key`.
pub(crate) fn argument<T: std::str::FromStr<Err: std::fmt::Display>>(
    key: &str,
    text: Option<&str>,
) -> Result<Option<T>, Failure> {
    let read = |text: &str| text.parse::<T>();
    let value = text.map(read).transpose();
    value.map_err(|why| Failure::Usage(format!("`{key}`: {why}")))
}

/// The text of a process or a flow with the content of the files that it names.
pub(crate) fn with_content(key: &str, text: &str) -> Result<Option<String>, Failure> {
    let mut content = |path: &str| {
        let file = File::open(path).map_err(|error| format!("{path}: {error}"))?;
        table_text(path, file)
    };
    let text = with_files(text, &mut content);
    text.map_err(|error| Failure::Data(format!("`{key}`: {error}")))
}

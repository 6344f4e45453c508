//! Inputs of commands.

mod ahead;
pub(crate) mod pipe;
pub(crate) mod process;

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write as _};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tmt_core::format::compression::Decompressor;
use tmt_core::format::import::render_keys;
use tmt_core::format::table::TableText;
use tmt_core::format::{
    self, Columns, FIRST_BYTES, FileKind, Format, Options, TraceReader, Unit, recognise,
};
use tmt_core::types::{BitRate, Bytes, Metadata, Note, Severity, Span};

use crate::exit::{Failure, Outcome, headline, warning};
use crate::host::here;
use crate::progress;
use crate::provenance::TOOL;
pub(crate) use ahead::Ahead;

/// An open input.
pub(crate) struct Input {
    /// Name in messages: `<stdin>`, or the path as typed.
    pub(crate) name: String,
    /// Source of the bytes.
    pub(crate) reader: Box<dyn Read + Send>,
}

/// Flags of every command that reads one trace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TraceArgs {
    /// Trace to read: text, Arrow or Parquet, the first two also as gzip or zstd; the format is detected from the
    /// content [default: stdin, as for `-`]
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<String>,
    #[command(flatten)]
    pub(crate) read: ReadArgs,
}

impl TraceArgs {
    /// Opens the trace and reads its head; `attempts` asks for that column.
    pub(crate) fn open(
        &self,
        command: &str,
        attempts: bool,
    ) -> Outcome<(String, TraceReader<'static>)> {
        self.read.open(command, self.trace.as_deref(), attempts)
    }
}

/// Flags of how traces are read.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ReadArgs {
    /// Unit of the numbers in columns whose names do not end in _s, _ms, _us or _ns; required for doubles in Arrow and
    /// Parquet [default: s in text; ns in integers of Arrow and Parquet]
    #[arg(
        long,
        value_name = "UNIT",
        value_parser = PossibleValuesParser::new(["s", "ms", "us", "ns"]).try_map(|unit| unit.parse::<Unit>())
    )]
    pub(crate) unit: Option<Unit>,
    /// Accept a trace that was cut: a head without an end line, for example from `head -100000 trace`, or a cut stream
    #[arg(long)]
    pub(crate) allow_cut: bool,
    /// Which columns of a foreign table are read, e.g. tx=time,erased=lost: the keys tx, delay, erased (0 or 1) and
    /// attempts select columns by name, or by number in a text without a header; delay=36ms is one delay for all received
    /// slots [default: tx_time, decode_delay, attempts]
    #[arg(long, value_name = "KEY=COLUMN,…")]
    pub(crate) columns: Option<Columns>,
    /// Time between the rows of a table without times
    #[arg(long, value_name = "DURATION", conflicts_with = "rate")]
    pub(crate) interval: Option<Span>,
    /// Rate of the slots of a table without times; needs --lldu
    #[arg(long, requires = "lldu")]
    pub(crate) rate: Option<BitRate>,
    /// Size of an LLDU: for --rate, and for the rate that stats prints [default: from the trace]
    #[arg(long)]
    pub(crate) lldu: Option<Bytes>,
}

impl ReadArgs {
    /// Opens the trace at `path`, or stdin for `None` or `-`, and reads its head; `attempts` asks for that column.
    pub(crate) fn open(
        &self,
        command: &str,
        path: Option<&str>,
        attempts: bool,
    ) -> Outcome<(String, TraceReader<'static>)> {
        open_trace(command, path, self.options(attempts)?)
    }

    /// The options of reading; `attempts` asks for that column.
    pub(crate) fn options(&self, attempts: bool) -> Outcome<Options> {
        Ok(Options {
            unit: self.unit,
            allow_cut: self.allow_cut,
            attempts,
            columns: self.columns()?,
            ..Options::default()
        })
    }

    /// The head of a trace that was read, or a new one of `command` with what the flags say about the link.
    pub(crate) fn head(&self, read: &Metadata, command: &str) -> Outcome<Metadata> {
        let mut head = self.begun(read)?;
        if !read.is_head() {
            head.set("command", command);
        }
        Ok(head)
    }

    /// The same without a command: the stage that follows says what was done.
    pub(crate) fn begun(&self, read: &Metadata) -> Outcome<Metadata> {
        let head = read.begun(TOOL, self.rate, self.lldu);
        head.map_err(|why| Failure::usage(render_keys(&why, flag)))
    }

    /// The columns that are read, with the times of rows that have none.
    fn columns(&self) -> Outcome<Columns> {
        let columns = self.columns.clone().unwrap_or_default();
        let spaced = columns.spaced(self.interval, self.rate, self.lldu);
        spaced.map_err(|why| Failure::usage(render_keys(&why, flag)))
    }
}

/// Opens the trace at `path`, or stdin for `None` or `-`, and reads its head.
pub(crate) fn open_trace(
    command: &str,
    path: Option<&str>,
    options: Options,
) -> Outcome<(String, TraceReader<'static>)> {
    match held_trace(path, options.clone()) {
        Some(held) => held,
        None => read_trace(open(command, path)?, path, options),
    }
}

/// A trace that the program which calls the command has in memory.
pub(crate) fn held_trace(
    path: Option<&str>,
    options: Options,
) -> Option<Outcome<(String, TraceReader<'static>)>> {
    let open = here().host()?.trace(path?)?;
    let name = shown(path).to_owned();
    let read = open(options).map_err(|error| Failure::input(&name, &error));
    Some(read.map(|reader| (name, reader)))
}

/// Reads the head of the trace that `input` holds, from its start; `path` as typed, for formats that need random access.
pub(crate) fn read_trace(
    input: Input,
    path: Option<&str>,
    options: Options,
) -> Outcome<(String, TraceReader<'static>)> {
    let (name, found) = detect(input, path)?;
    let trace = match found {
        Found::Parquet(file) => TraceReader::parquet(file, options),
        Found::Other(_, reader) => TraceReader::new(reader, options),
    };
    let trace = trace.map_err(|error| Failure::input(&name, &error))?;
    Ok((name, trace))
}

/// Opens the table at `path`, or stdin for `None` or `-`, as its canonical text.
pub(crate) fn open_table(command: &str, path: Option<&str>) -> Outcome<Input> {
    let (name, found) = detect(open(command, path)?, path)?;
    let reader: Box<dyn Read + Send> = match found {
        Found::Parquet(file) => {
            let text = TableText::new(file).map_err(|error| Failure::input(&name, &error))?;
            Box::new(text)
        }
        Found::Other(FileKind::Compressed(compression), reader) => {
            let text = Decompressor::new(compression, reader);
            Box::new(text.map_err(|error| Failure::io(&name, &error))?)
        }
        Found::Other(kind @ FileKind::Plain(Format::Arrow | Format::ArrowStream), _) => {
            return Err(Failure::failed(format!(
                "{name}: found {}, expected text, gzip, zstd or Parquet",
                kind.name()
            )));
        }
        Found::Other(_, reader) => reader,
    };
    Ok(Input { name, reader })
}

/// An input of detected format.
enum Found {
    /// Parquet, which needs random access.
    Parquet(File),
    /// Any other format, read sequentially.
    Other(FileKind, Box<dyn Read + Send>),
}

/// Detects the format of an open input from its first bytes.
fn detect(input: Input, path: Option<&str>) -> Outcome<(String, Found)> {
    let Input { name, mut reader } = input;
    let failed = |error: io::Error| Failure::io(&name, &error);
    let mut first = Vec::new();
    (&mut reader)
        .take(FIRST_BYTES as u64)
        .read_to_end(&mut first)
        .map_err(failed)?;
    let kind = recognise(&first);
    let found = if kind != FileKind::Plain(Format::Parquet) {
        Found::Other(kind, Box::new(io::Cursor::new(first).chain(reader)))
    } else if let Some(path) = path.filter(|path| is_file(path)) {
        // Random access shows no progress.
        progress::clear();
        Found::Parquet(File::open(path).map_err(failed)?)
    } else {
        // The index is in the footer, at the end: a pipe has to be stored first.
        let mut file = tempfile::tempfile().map_err(failed)?;
        file.write_all(&first)
            .and_then(|()| io::copy(&mut reader, &mut file))
            .map_err(failed)?;
        Found::Parquet(file)
    };
    Ok((name, found))
}

/// Longest text of a plan, a parameter file or a list of schemes.
pub(crate) const LONGEST_TEXT: Bytes = Bytes(1 << 22);

/// The text of an input, which is refused if it is longer than `longest`.
pub(crate) fn text(Input { name, reader }: Input, longest: Bytes) -> Outcome<String> {
    let mut bytes = Vec::new();
    let read = reader.take(longest.0 + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::io(&name, &error))?;
    if bytes.len() as u64 > longest.0 {
        return Err(Failure::failed(format!(
            "{name}: found more than {longest} of text, expected less"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = before.split(|byte| *byte == b'\n').count();
        Failure::failed(format!(
            "{name}:{line}: found bytes that are not UTF-8, expected text"
        ))
    })
}

/// All bytes of an input.
pub(crate) fn bytes(Input { name, mut reader }: Input) -> Outcome<bytes::Bytes> {
    let mut bytes = Vec::new();
    let read = reader.read_to_end(&mut bytes);
    read.map_err(|error| Failure::io(&name, &error))?;
    Ok(bytes.into())
}

/// The flag of a parameter.
pub(crate) fn flag(key: &str) -> String {
    format!("--{}", key.replace('_', "-"))
}

/// How a trace was read. Call it after reading the whole trace.
pub(crate) fn reading_notes(name: &str, reader: &TraceReader<'_>) -> Vec<Note> {
    format::reading_notes(name, reader, flag)
}

/// Says how a trace was read.
pub(crate) fn note_reading(command: &str, name: &str, reader: &TraceReader<'_>) {
    for Note { severity, text } in reading_notes(name, reader) {
        if let Some(host) = here().host() {
            host.tell(severity, text);
            continue;
        }
        match severity {
            Severity::Warning => warning!(command, "{text}"),
            Severity::Info | Severity::Notice => headline!(command, "{text}"),
        }
    }
}

/// Name of an input in messages.
pub(crate) fn shown(path: Option<&str>) -> &str {
    path.filter(|path| *path != "-").unwrap_or("<stdin>")
}

/// Opens `path`, or stdin for `None` or `-`, with a progress bar on a terminal.
pub(crate) fn open(command: &str, path: Option<&str>) -> Outcome<Input> {
    let name = shown(path).to_owned();
    let reader = open_or(command, path).map_err(|error| Failure::io(&name, &error))?;
    Ok(Input { name, reader })
}

/// As [`open`], with the error of the operating system.
pub(crate) fn open_or(command: &str, path: Option<&str>) -> io::Result<Box<dyn Read + Send>> {
    let here = here();
    if let Some(host) = here.host() {
        let path = path.filter(|path| *path != "-");
        let none = || io::Error::other("found no input, expected a table or the name of a file");
        if let Some(bytes) = host.file(path.ok_or_else(none)?) {
            return Ok(here.watched(Box::new(io::Cursor::new(bytes))));
        }
    }
    if let Some(path) = path.filter(|path| *path != "-") {
        let file = File::open(path)?;
        let known = file.metadata().ok().filter(std::fs::Metadata::is_file);
        return Ok(progress::shown(file, known.map(|known| known.len())));
    }
    let stdin = io::stdin();
    pipe::widen(&stdin);
    if stdin.is_terminal() {
        headline!(
            command,
            "reading from the terminal; end the input with Ctrl-D"
        );
        return Ok(Box::new(stdin));
    }
    Ok(progress::shown(stdin, None))
}

/// Whether `path` is a regular file, which can be read more than once.
pub(crate) fn is_file(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

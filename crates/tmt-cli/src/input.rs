//! Opening what a command reads.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write as _};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tmt_core::format::compression::Decompressor;
use tmt_core::format::table::TableText;
use tmt_core::format::{FIRST_BYTES, FileKind, Format, Options, TraceReader, Unit, recognise};

use crate::exit::{Failure, Outcome, note};
use crate::progress;

/// Something to read, by the name messages give it.
pub(crate) struct Input {
    /// `<stdin>` or the path as typed.
    pub(crate) name: String,
    /// Where the bytes come from.
    pub(crate) reader: Box<dyn Read + Send>,
}

/// Flags of every command that reads a trace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TraceArgs {
    /// The trace: text, Arrow or Parquet, text and Arrow also as gzip or zstd, told by its content;
    /// stdin when left out or `-`
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<String>,
    /// Unit of the numbers of a text input (s when left out) and of doubles in Arrow and Parquet (which
    /// need one). Output is always in seconds, that of Arrow and Parquet in ns
    #[arg(
        long,
        value_name = "UNIT",
        value_parser = PossibleValuesParser::new(["s", "ms", "us", "ns"]).try_map(|unit| unit.parse::<Unit>())
    )]
    pub(crate) unit: Option<Unit>,
    /// Accept a head without its end line, as `head -100000 trace` leaves it, and a cut stream
    #[arg(long)]
    pub(crate) allow_cut: bool,
}

impl TraceArgs {
    /// Opens the trace and reads its head.
    pub(crate) fn open(
        &self,
        command: &str,
        attempts: bool,
    ) -> Outcome<(String, TraceReader<'static>)> {
        let options = Options {
            unit: self.unit,
            allow_cut: self.allow_cut,
            attempts,
            ..Options::default()
        };
        open_trace(command, self.trace.as_deref(), options)
    }
}

/// Opens the trace at `path`, or stdin for none or `-`, and reads its head.
pub(crate) fn open_trace(
    command: &str,
    path: Option<&str>,
    options: Options,
) -> Outcome<(String, TraceReader<'static>)> {
    let (name, found) = recognised(command, path)?;
    let trace = match found {
        Found::Parquet(file) => TraceReader::parquet(file, options),
        Found::Other(_, reader) => TraceReader::new(reader, options),
    };
    let trace = trace.map_err(|error| Failure::input(&name, &error))?;
    Ok((name, trace))
}

/// Opens the table at `path`, or stdin for none or `-`, as the canonical text that it is or would be.
pub(crate) fn open_table(command: &str, path: Option<&str>) -> Outcome<Input> {
    let (name, found) = recognised(command, path)?;
    let reader: Box<dyn Read + Send> = match found {
        Found::Parquet(file) => {
            let text = TableText::new(file).map_err(|error| Failure::input(&name, &error))?;
            Box::new(text)
        }
        Found::Other(FileKind::Compressed(compression), reader) => {
            let text = Decompressor::new(compression, reader);
            Box::new(text.map_err(|error| Failure::io(&name, &error))?)
        }
        Found::Other(kind @ FileKind::Plain(Format::Arrow), _) => {
            return Err(Failure::failed(format!(
                "{name}: found {}, expected text, gzip, zstd or Parquet",
                kind.name()
            )));
        }
        Found::Other(_, reader) => reader,
    };
    Ok(Input { name, reader })
}

/// An input by its first bytes.
enum Found {
    /// What has to be read here and there.
    Parquet(File),
    /// What is read from front to back.
    Other(FileKind, Box<dyn Read + Send>),
}

/// Opens `path`, or stdin for none or `-`, and looks what it is.
fn recognised(command: &str, path: Option<&str>) -> Outcome<(String, Found)> {
    let Input { name, mut reader } = open(command, path)?;
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
        // It is read here and there, of which no bar could tell how far it is.
        progress::clear();
        Found::Parquet(File::open(path).map_err(failed)?)
    } else {
        // Its footer, which says where everything is, stands at the end: a pipe has to be kept to be read.
        let mut file = tempfile::tempfile().map_err(failed)?;
        file.write_all(&first)
            .and_then(|()| io::copy(&mut reader, &mut file))
            .map_err(failed)?;
        Found::Parquet(file)
    };
    Ok((name, found))
}

/// What to say of a trace whose end is missing, where that was allowed; to be asked when all of it was read.
pub(crate) fn cut_note(name: &str, reader: &TraceReader<'_>) -> Option<String> {
    let end = reader.end().filter(|end| end.cut)?;
    Some(if end.end_line.is_none() && reader.metadata().is_head() {
        format!("{name} has no end line: it was cut (--allow-cut)")
    } else {
        format!("{name} was cut (--allow-cut)")
    })
}

/// Says on stderr that a trace's end is missing, where it is.
pub(crate) fn tell_cut(command: &str, name: &str, reader: &TraceReader<'_>) {
    if let Some(words) = cut_note(name, reader) {
        note!(command, "{words}");
    }
}

/// The name of an input as messages have it.
pub(crate) fn shown(path: Option<&str>) -> &str {
    path.filter(|path| *path != "-").unwrap_or("<stdin>")
}

/// Opens `path`, or stdin for none or `-`; on a terminal a bar shows how far it was read.
pub(crate) fn open(command: &str, path: Option<&str>) -> Outcome<Input> {
    let name = shown(path).to_owned();
    let reader = open_or(command, path).map_err(|error| Failure::io(&name, &error))?;
    Ok(Input { name, reader })
}

/// As [`open`], with the system's own error.
pub(crate) fn open_or(command: &str, path: Option<&str>) -> io::Result<Box<dyn Read + Send>> {
    if let Some(path) = path.filter(|path| *path != "-") {
        let file = File::open(path)?;
        let known = file.metadata().ok().filter(std::fs::Metadata::is_file);
        return Ok(progress::shown(file, known.map(|known| known.len())));
    }
    let stdin = io::stdin();
    if stdin.is_terminal() {
        note!(command, "reads from the terminal; end with Ctrl-D");
        return Ok(Box::new(stdin));
    }
    Ok(progress::shown(stdin, None))
}

/// Whether `path` can be read twice.
pub(crate) fn is_file(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

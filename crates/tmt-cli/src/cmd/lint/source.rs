//! The file that `tmt lint` looks at, and what it is by its first bytes.

use std::io::{self, BufRead, BufReader, Cursor, Read};

use tmt_core::format::compression::Decompressor;
use tmt_core::format::import::{FIRST_BYTES, Importer, Importers};
use tmt_core::format::{FileKind, Format, recognise};
use tmt_core::named::Kind;
use tmt_core::named::unknown_of;

use super::Args;
use crate::exit::{Failure, Outcome};
use crate::host::here;
use crate::input;

/// Bytes of the buffer before a decompressor.
const BUFFER: usize = 1 << 16;

/// Times that are seconds since 1970 rather than those of a trace, s: from 1973 on.
const SINCE_1970: f64 = 1e8;

/// Numbers above 0 that are smaller are no delays but something else, such as powers, s.
const LEAST_DELAY: f64 = 0.5e-9;

/// Kind of a file.
pub(super) enum Content {
    /// A trace of this program, or a table like one.
    Trace,
    /// A file of another tool.
    Foreign(&'static Importer),
}

/// The open positional file, if there is one.
pub(super) struct Source {
    name: String,
    pub(super) content: Content,
    plain: Option<Box<dyn Read + Send>>,
    is_text: bool,
}

/// The bytes of a file, without compression.
pub(super) struct Plain {
    pub(super) name: String,
    /// `None` without a positional file.
    pub(super) reader: Option<Box<dyn Read + Send>>,
    pub(super) text: bool,
}

/// The importer of this name.
fn importer(name: &str) -> Outcome<&'static Importer> {
    let importers = Importers::default();
    importers.find(name).ok_or_else(|| {
        let unknown = unknown_of("format", name, importers.names());
        Failure::usage(format!("--from: {unknown}"))
    })
}

impl Source {
    /// Opens the positional file, if the format has one, and decides what it is.
    pub(super) fn new(args: &Args) -> Outcome<Self> {
        let named = args.common.from.as_deref().map(importer).transpose()?;
        let path = args.common.file.as_deref();
        let has_files = args.paths().count() > usize::from(path.is_some());
        if let Some(importer) = named.filter(|_| path.is_none() && has_files) {
            return Ok(Self {
                name: importer.name.to_owned(),
                content: Content::Foreign(importer),
                plain: None,
                is_text: true,
            });
        }
        if let Some(name) =
            path.filter(|path| here().host().is_some_and(|host| host.has_trace(path)))
        {
            return Ok(Self {
                name: name.to_owned(),
                content: Content::Trace,
                plain: None,
                is_text: false,
            });
        }
        let input::Input { name, reader } = input::open("lint", path)?;
        let failed = |error: io::Error| Failure::io(&name, &error);
        let mut reader = BufReader::with_capacity(BUFFER, reader);
        let kind = recognise(reader.fill_buf().map_err(failed)?);
        let mut plain: Box<dyn Read + Send> = match kind {
            FileKind::Compressed(compression) => {
                Box::new(Decompressor::new(compression, reader).map_err(failed)?)
            }
            FileKind::Plain(_) => Box::new(reader),
        };
        let mut first = Vec::new();
        // Of a damaged file what is before the damage; the reader will say the rest.
        let damage = (&mut plain)
            .take(FIRST_BYTES as u64)
            .read_to_end(&mut first)
            .err();
        let is_text = matches!(recognise(&first), FileKind::Plain(Format::Csv));
        let content = match named {
            Some(importer) => Content::Foreign(importer),
            None if !is_text || is_like_a_trace(&first) || reads_a_table(args) => Content::Trace,
            None => guessed(&name, &first)?,
        };
        let after: Box<dyn Read + Send> = match damage {
            Some(error) => Box::new(Broken(Some(error))),
            None => plain,
        };
        Ok(Self {
            name,
            content,
            plain: Some(Box::new(Cursor::new(first).chain(after))),
            is_text,
        })
    }

    /// Name of the file in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn into_plain(self) -> Plain {
        Plain {
            name: self.name,
            reader: self.plain,
            text: self.is_text,
        }
    }
}

/// Fails with the error that ended the first bytes.
struct Broken(Option<io::Error>);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

/// Whether flags say that the file is a table with columns to be read.
fn reads_a_table(args: &Args) -> bool {
    let read = &args.read;
    read.columns.is_some() || read.unit.is_some() || read.rate.is_some()
}

/// Whether a text has a head, the columns of a trace, or lines of two numbers, the first no time of a calendar.
fn is_like_a_trace(first: &[u8]) -> bool {
    let text = String::from_utf8_lossy(first);
    let text = text.trim_start_matches('\u{feff}');
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(comment) = line.strip_prefix('#') {
            if comment
                .trim_start_matches('#')
                .trim_start()
                .starts_with("tool:")
            {
                return true;
            }
            continue;
        }
        let mut fields = line.split([',', ';', '\t']).map(str::trim);
        let time = fields.next().and_then(|time| time.parse::<f64>().ok());
        let delay = fields.next().and_then(|delay| delay.parse::<f64>().ok());
        let is_row = time.is_some_and(|time| time < SINCE_1970)
            && delay.is_some_and(|delay| !(delay > 0.0 && delay < LEAST_DELAY))
            // At most attempts follow; a list of numbers goes on.
            && fields.next().is_none_or(|attempts| !attempts.is_empty())
            && fields.next().is_none();
        return is_row || line.contains("tx_time");
    }
    false
}

/// The only format that recognises the file; a trace if none does.
fn guessed(name: &str, first: &[u8]) -> Outcome<Content> {
    let importers = Importers::default();
    let formats = if first.is_empty() {
        Vec::new()
    } else {
        importers.recognise(first)
    };
    match formats[..] {
        [] => Ok(Content::Trace),
        [only] => importer(only).map(Content::Foreign),
        _ => Err(Failure::usage(format!(
            "by its content {name} could be {}: expected --from with one of them",
            formats.join(" or ")
        ))),
    }
}

/// The key of the file of a format without a positional one that a recognised file is: the losses, or the first.
pub(super) fn key_of_file(importer: &Importer) -> &'static str {
    let keys = importer.keys;
    let input = keys.iter().find(|key| key.kind == Kind::Input);
    let losses = || keys.iter().find(|key| key.name == "loss");
    let first = || keys.iter().find(|key| key.kind == Kind::File);
    let key = input.or_else(losses).or_else(first);
    key.map_or("trace", |key| key.name)
}

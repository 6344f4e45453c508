//! Input files of a conversion, and what their first bytes look like.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal as _, Read};

use tempfile::NamedTempFile;
use tmt_core::ErrorKind;
use tmt_core::format::compression::Decompressor;
use tmt_core::format::import::{self, Files, Given, Importer, Importers};
use tmt_core::format::{FileKind, recognise};
use tmt_core::named::{Kind, Parameter};

use super::typed;
use crate::exit::{Failure, Outcome};
use crate::host::here;
use crate::input::{self, Ahead, is_file};
use crate::output::refuse_shared_files;

/// Bytes of the buffer before a decompressor or a format.
const BUFFER: usize = 1 << 16;

/// Input files of a format, each with its key and its path as typed; `-` is stdin.
pub(super) struct Inputs<'a> {
    pub(super) format: &'static str,
    pub(super) files: Vec<(&'static Parameter, &'a str)>,
    /// Keeps what pipes give, so that they can be read again; `None` if they are read once.
    kept: Option<Vec<(&'static str, NamedTempFile)>>,
}

impl<'a> Inputs<'a> {
    /// The inputs of a format; with `keep` each can be opened more than once.
    pub(super) fn new(importer: &Importer, given: &'a Given, keep: bool) -> Self {
        let path = |key: &'static Parameter| match key.kind {
            Kind::Input => Some((key, given.text(key.name).unwrap_or("-"))),
            Kind::File => Some((key, given.text(key.name)?)),
            _ => None,
        };
        Self {
            format: importer.name,
            files: importer.keys.iter().filter_map(path).collect(),
            kept: keep.then(Vec::new),
        }
    }

    /// The paths of the inputs.
    pub(super) fn paths(&self) -> impl Iterator<Item = &'a str> {
        self.files.iter().map(|(_, path)| *path)
    }

    /// Refuses a file that is an input and the output, and two inputs on stdin.
    pub(super) fn check(&self, output: Option<&str>) -> Outcome {
        refuse_shared_files(self.paths().chain(output))?;
        let stdins = self.files.iter().filter(|(_, path)| *path == "-");
        let stdins: Vec<String> = stdins
            .map(|(key, _)| format!("{} -", typed(key.name)))
            .collect();
        if stdins.len() > 1 {
            let stdins = stdins.join(" and ");
            return Err(Failure::usage(format!(
                "{stdins} cannot both be stdin; name a file"
            )));
        }
        Ok(())
    }

    fn path(&self, key: &str) -> Option<&'a str> {
        let found = self.files.iter().find(|(known, _)| known.name == key);
        found.map(|(_, path)| *path)
    }

    /// Name of the whole input in messages: its file if it has only one, else the format.
    pub(super) fn name(&self) -> &str {
        let input = self.files.iter().find(|(key, _)| key.kind == Kind::Input);
        input.map_or(self.format, |(_, path)| input::shown(Some(path)))
    }

    /// The failure, with the name of the file concerned.
    pub(super) fn failure(&self, error: &tmt_core::Error) -> Failure {
        let path = error.input().and_then(|key| self.path(key));
        let name = path.map_or_else(|| self.name(), |path| input::shown(Some(path)));
        Failure::input(name, error)
    }

    /// Opens the bytes of an input, from those kept if it is a pipe that was read before.
    fn bytes(&mut self, key: &'static str) -> io::Result<Box<dyn Read + Send>> {
        let path = self.path(key);
        let (Some(kept), false) = (&mut self.kept, path.is_some_and(is_file)) else {
            return input::open_or("convert", path);
        };
        if let Some((_, file)) = kept.iter().find(|(known, _)| *known == key) {
            return Ok(Box::new(file.reopen()?));
        }
        let mut file = NamedTempFile::new()?;
        io::copy(&mut input::open_or("convert", path)?, &mut file)?;
        let opened = file.reopen()?;
        kept.push((key, file));
        Ok(Box::new(opened))
    }
}

impl Files for Inputs<'_> {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let mut input = BufReader::with_capacity(BUFFER, self.bytes(key)?);
        let first = input.fill_buf()?;
        if first.is_empty() {
            return Err(io::Error::other(
                tmt_core::Error::from(ErrorKind::EmptyTrace).of_input(key),
            ));
        }
        match recognise(first) {
            FileKind::Compressed(compression) => {
                let plain = Decompressor::new(compression, input)?;
                Ok(Box::new(Ahead::new(plain)?))
            }
            FileKind::Plain(_) => Ok(Box::new(input)),
        }
    }

    fn can_reopen(&self, key: &'static str) -> bool {
        self.path(key).is_some_and(is_file)
    }
}

/// The files that were given for keys of any format, and stdin if there are none and it is no terminal.
fn given_files(given: &Given) -> Vec<String> {
    let keys = Importers::default().keys();
    let files = keys.iter().filter(|(key, _)| key.kind.is_file());
    let paths: Vec<String> = files
        .filter_map(|(key, _)| given.text(key.name).map(str::to_owned))
        .collect();
    if paths.is_empty() {
        vec!["-".to_owned()]
    } else {
        paths
    }
}

/// The first bytes of a file or of stdin, decompressed; empty if there are none, or if it cannot be read.
fn first_bytes(path: &str) -> Vec<u8> {
    let input: Box<dyn Read + Send> = match path {
        "-" if here().host().is_some() || io::stdin().is_terminal() => return Vec::new(),
        "-" => Box::new(io::stdin()),
        path => match File::open(path) {
            Ok(file) if is_file(path) => Box::new(file),
            _ => return Vec::new(),
        },
    };
    let mut input = BufReader::with_capacity(BUFFER, input);
    let kind = input.fill_buf().map(recognise);
    let mut plain: Box<dyn Read + Send> = match kind {
        Ok(FileKind::Compressed(compression)) => match Decompressor::new(compression, input) {
            Ok(plain) => Box::new(plain),
            Err(_) => return Vec::new(),
        },
        _ => Box::new(input),
    };
    let mut first = Vec::new();
    // Of a damaged file the bytes before the damage.
    let _ = (&mut plain)
        .take(import::FIRST_BYTES as u64)
        .read_to_end(&mut first);
    first
}

/// Formats that the inputs look like, as the end of a message; empty if no format recognises them.
pub(super) fn guess(given: &Given) -> String {
    let importers = Importers::default();
    for path in given_files(given) {
        let first = first_bytes(&path);
        let formats = if first.is_empty() {
            Vec::new()
        } else {
            importers.recognise(&first)
        };
        let name = input::shown(Some(&path));
        match formats[..] {
            [] => {}
            [only] => return format!("; by its content {name} looks like {only}: --from {only}"),
            _ => {
                return format!("; by its content {name} could be {}", formats.join(" or "));
            }
        }
    }
    String::new()
}

//! Writing results so that a file is there whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tempfile::{Builder, TempPath};
use tmt_core::format::{FORMS, Form, Format, Row, TraceWriter};
use tmt_core::types::{EndLine, Metadata, Time};

use crate::exit::{Failure, Outcome};

/// Bytes gathered before a write; blocks of rows are larger, and pass by.
const BUFFER: usize = 1 << 16;

/// An output that appears whole: a file under another name until [`Output::finish`], or a stream.
pub(crate) struct Output {
    name: String,
    writer: BufWriter<Box<dyn Write + Send>>,
    temporary: Option<Temporary>,
}

/// A file as it is called now, and its name to be.
type Temporary = (TempPath, PathBuf);

/// Temporary files that a signal must not leave behind.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Takes temporary files away when the program is told to stop (SIGINT, SIGTERM, SIGHUP).
pub(crate) fn clean_up_on_signals() {
    // Without a handler a signal leaves a temporary file; that is no reason not to work.
    let _ = ctrlc::set_handler(|| {
        // A file that is being named right now is waited for, and is then whole.
        for file in temporary().iter() {
            let _ = fs::remove_file(file);
        }
        std::process::exit(STOPPED);
    });
}

/// Exit code of a program that a signal ended, as a shell tells it of SIGINT.
const STOPPED: i32 = 130;

fn temporary() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a path stands for, so that two names of one file are known as such; the file need not exist.
pub(crate) fn identity(path: &str) -> PathBuf {
    let path = behind_links(Path::new(path));
    fs::canonicalize(&path).unwrap_or_else(|_| {
        match (fs::canonicalize(folder_of(&path)), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    })
}

/// Refuses names of regular files that stand for one file; streams may be shared.
pub(crate) fn refuse_twice<'a>(paths: impl IntoIterator<Item = &'a str>) -> Outcome {
    let mut taken = BTreeSet::new();
    for path in paths.into_iter().filter(|path| *path != "-") {
        let is_stream = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        if !is_stream && !taken.insert(identity(path)) {
            return Err(Failure::usage(format!(
                "{path} would be read or written twice"
            )));
        }
    }
    Ok(())
}

/// The path at the end of a chain of symbolic links, whether a file is there or not.
fn behind_links(path: &Path) -> PathBuf {
    const LONGEST_CHAIN: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..LONGEST_CHAIN {
        match fs::read_link(&path) {
            Ok(target) => path = folder_of(&path).join(target),
            Err(_) => break,
        }
    }
    path
}

fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

impl Output {
    /// Opens `path`, or stdout for none or `-`.
    ///
    /// What exists and is no regular file (a pipe, a terminal, `/dev/null`) is written in place, and
    /// so is what the shell has opened (`/dev/stdout`, `/dev/fd/3`).
    pub(crate) fn create(path: Option<&str>) -> Outcome<Self> {
        let name = shown(path).to_owned();
        let opened = match path.filter(|path| !is_stdout(path)) {
            None => Ok((Box::new(io::stdout()) as Box<dyn Write + Send>, None)),
            Some(path) => open(Path::new(path)),
        };
        let (target, temporary) = opened.map_err(|error| Failure::io(&name, &error))?;
        Ok(Self {
            name,
            writer: BufWriter::with_capacity(BUFFER, target),
            temporary,
        })
    }

    /// Puts all that was written where it goes, so that nothing but the naming can still fail.
    pub(crate) fn settle(&mut self) -> Outcome {
        self.flush()
            .map_err(|error| Failure::io(&self.name, &error))
    }

    /// Writes `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome {
        let written = self.writer.write_all(bytes);
        written.map_err(|error| Failure::io(&self.name, &error))
    }

    /// Makes the output final: a file gets its name now.
    pub(crate) fn finish(mut self) -> Outcome {
        self.settle()?;
        let Some((file, path)) = self.temporary else {
            return Ok(());
        };
        // Under the lock, so that a signal finds the file either temporary or named.
        let mut known = temporary();
        known.remove::<Path>(&file);
        let named = file.persist(path);
        named.map_err(|error| Failure::io(&self.name, &error.error))
    }
}

/// Opens what is at `path`; with a file that is not final come its names, as it is called now and to be.
fn open(path: &Path) -> io::Result<(Box<dyn Write + Send>, Option<Temporary>)> {
    let mut inherited = ["/dev/fd", "/dev/stderr", "/proc/self/fd"].iter();
    let existing = fs::metadata(path).ok();
    let is_file = existing.as_ref().is_none_or(fs::Metadata::is_file);
    if !is_file || inherited.any(|place| path.starts_with(place)) {
        let stream = OpenOptions::new().append(true).open(path)?;
        return Ok((Box::new(stream), None));
    }
    // A symbolic link keeps pointing where it points: the file behind it is written.
    let path = behind_links(path);
    if existing.is_some() {
        // A file that may not be written must not be replaced either.
        drop(OpenOptions::new().append(true).open(&path)?);
    }
    let mut builder = Builder::new();
    builder.prefix(".tmt-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let mut known = temporary();
    let file = builder
        .tempfile_in(folder_of(&path))
        .map_err(without_temporary_name)?;
    known.insert(file.path().to_path_buf());
    drop(known);
    let (file, name) = file.into_parts();
    if let Some(existing) = existing {
        file.set_permissions(existing.permissions())?;
    }
    Ok((Box::new(file), Some((name, path))))
}

/// The system's own words, without the name of a file that the user never asked for.
fn without_temporary_name(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((words, _)) => io::Error::new(error.kind(), words),
        None => error,
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

/// Flags of every command that writes one trace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Output file; stdout when left out or `-`
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The flag of every command that writes traces.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FormatArgs {
    /// Format of the output: csv, arrow or parquet, csv and arrow also with .gz or .zst behind; when left
    /// out, what the output's name ends in, else csv
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = PossibleValuesParser::new(FORMS.map(|(name, _)| name)).try_map(|form| form.parse::<Form>())
    )]
    format: Option<Form>,
}

impl FormatArgs {
    /// The form of the output at `path`: the flag's, in the compression that the name asks for where the
    /// flag says none; else that of the name.
    pub(crate) fn of(&self, path: Option<&str>) -> Outcome<Form> {
        let by_name = path.and_then(Form::from_file_name);
        let (Some(flag), Some(name)) = (self.format, by_name) else {
            return Ok(self.format.or(by_name).unwrap_or_default());
        };
        if flag.compression.is_some() {
            return Ok(flag);
        }
        if name.compression.is_some() && flag.format == Format::Parquet {
            return Err(Failure::usage(format!(
                "--format parquet compresses its columns itself: expected a name for --output that asks for no {name}"
            )));
        }
        Ok(Form {
            format: flag.format,
            compression: name.compression,
        })
    }
}

impl OutputArgs {
    /// The output's name as messages have it.
    pub(crate) fn name(&self) -> &str {
        shown(self.output.as_deref())
    }

    /// The form of the output.
    pub(crate) fn form(&self) -> Outcome<Form> {
        self.format.of(self.output.as_deref())
    }

    /// Opens the output for rows, with `head` in front.
    pub(crate) fn create<T: Row>(&self, head: &Metadata) -> Outcome<TraceWriter<T, Output>> {
        writer(self.output.as_deref(), self.form()?, head)
    }
}

/// The output's name as messages have it.
pub(crate) fn shown(path: Option<&str>) -> &str {
    path.filter(|path| !is_stdout(path)).unwrap_or("<stdout>")
}

/// Whether a path stands for the program's own output.
pub(crate) fn is_stdout(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdout")
}

/// Opens `path` for rows in `form`, with `head` in front.
pub(crate) fn writer<T: Row>(
    path: Option<&str>,
    form: Form,
    head: &Metadata,
) -> Outcome<TraceWriter<T, Output>> {
    TraceWriter::new(Output::create(path)?, form, head)
        .map_err(|error| Failure::io(shown(path), &error))
}

/// The end line of a PHY trace of `rows` slots, the last at `last`.
pub(crate) fn end_of_slots(rows: u64, last: Time) -> EndLine {
    EndLine {
        rows,
        slots: rows,
        usable_until: last,
    }
}

/// What `fill` writes as CSV.
pub(crate) fn csv(
    fill: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>,
) -> Outcome<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    fill(&mut writer).map_err(Failure::failed)?;
    let bytes = writer.into_inner();
    bytes.map_err(|error| Failure::failed(error.error()))
}

/// Writes `value` as indented JSON with a line end.
pub(crate) fn json(output: &mut Output, value: &impl serde::Serialize) -> Outcome {
    let mut text = serde_json::to_vec_pretty(value).map_err(Failure::failed)?;
    text.push(b'\n');
    output.write(&text)
}

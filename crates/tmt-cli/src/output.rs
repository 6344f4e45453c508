//! Outputs. A file is written atomically: it appears complete, or not at all.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tempfile::{Builder, TempPath};
use tmt_core::format::table::TableForm;
use tmt_core::format::{FORMS, Form, Format, Row, TraceWriter};
use tmt_core::types::{EndLine, Metadata, Time};

use crate::exit::{Failure, Outcome};

/// Size of the write buffer. Blocks of rows are larger and bypass it.
const BUFFER: usize = 1 << 16;

/// An output: a file with a temporary name until [`Output::finish`], or a stream.
pub(crate) struct Output {
    name: String,
    writer: BufWriter<Box<dyn Write + Send>>,
    temporary: Option<Temporary>,
}

/// Temporary and final path of a file.
type Temporary = (TempPath, PathBuf);

/// Temporary files, to be removed on a signal.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Removes temporary files on SIGINT, SIGTERM and SIGHUP.
pub(crate) fn clean_up_on_signals() {
    // Without a handler a signal leaves temporary files, which is acceptable.
    let _ = ctrlc::set_handler(|| {
        // The lock waits for a file that is being renamed.
        for file in temporary().iter() {
            let _ = fs::remove_file(file);
        }
        std::process::exit(STOPPED);
    });
}

/// Exit code after SIGINT, as shells report it.
const STOPPED: i32 = 130;

fn temporary() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Canonical path, which identifies a file under any of its names. The file need not exist.
pub(crate) fn identity(path: &str) -> PathBuf {
    let path = follow_links(Path::new(path));
    fs::canonicalize(&path).unwrap_or_else(|_| {
        match (fs::canonicalize(folder_of(&path)), path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path,
        }
    })
}

/// Refuses two names of the same regular file. Streams can be shared.
pub(crate) fn refuse_shared_files<'a>(paths: impl IntoIterator<Item = &'a str>) -> Outcome {
    let mut taken = BTreeSet::new();
    for path in paths.into_iter().filter(|path| *path != "-") {
        let is_stream = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file());
        if !is_stream && !taken.insert(identity(path)) {
            return Err(Failure::usage(format!(
                "{path} is given more than once: a file can be only one input or output"
            )));
        }
    }
    Ok(())
}

/// The target of a chain of symbolic links, whether it exists or not.
fn follow_links(path: &Path) -> PathBuf {
    const MAX_LINKS: usize = 40;
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
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
    /// Opens `path`, or stdout for `None` or `-`.
    ///
    /// An existing path that is not a regular file (a pipe, a terminal, `/dev/null`) is written in place, as is one that
    /// the shell has opened (`/dev/stdout`, `/dev/fd/3`).
    pub(crate) fn create(path: Option<&str>) -> Outcome<Self> {
        let name = shown(path).to_owned();
        let opened = match path.filter(|path| !is_stdout(path)) {
            None => Ok((Box::new(io::stdout()) as Box<dyn Write + Send>, None)),
            Some(path) => open(path),
        };
        let (target, temporary) = opened.map_err(|error| {
            let folder = folder_of(Path::new(&name));
            if error.kind() == io::ErrorKind::NotFound && !folder.is_dir() {
                let folder = folder.display();
                return Failure::failed(format!(
                    "{name}: {error}: the directory {folder} does not exist"
                ));
            }
            Failure::io(&name, &error)
        })?;
        Ok(Self {
            name,
            writer: BufWriter::with_capacity(BUFFER, target),
            temporary,
        })
    }

    /// Writes all buffered bytes, so that only the rename can still fail.
    pub(crate) fn settle(&mut self) -> Outcome {
        self.flush()
            .map_err(|error| Failure::io(&self.name, &error))
    }

    /// Writes `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome {
        let written = self.writer.write_all(bytes);
        written.map_err(|error| Failure::io(&self.name, &error))
    }

    /// Completes the output: renames a temporary file to its final path.
    pub(crate) fn finish(mut self) -> Outcome {
        self.settle()?;
        let Some((file, path)) = self.temporary else {
            return Ok(());
        };
        // Under the lock, so that a signal finds the file either temporary or final.
        let mut known = temporary();
        known.remove::<Path>(&file);
        let named = file.persist(path);
        named.map_err(|error| Failure::io(&self.name, &error.error))
    }
}

/// Opens `path` for writing. For a regular file also returns its temporary and final path.
fn open(path: &str) -> io::Result<(Box<dyn Write + Send>, Option<Temporary>)> {
    if is_stream(path) {
        let stream = OpenOptions::new().append(true).open(path)?;
        return Ok((Box::new(stream), None));
    }
    // A symbolic link stays: its target is written.
    let path = follow_links(Path::new(path));
    let existing = fs::metadata(&path).ok();
    if existing.is_some() {
        // A file without write permission must not be replaced.
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

/// The message of the operating system, without the name of the temporary file.
fn without_temporary_name(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((message, _)) => io::Error::new(error.kind(), message),
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
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<String>,
    #[command(flatten)]
    pub(crate) format: FormatArgs,
}

/// The flag of every command that writes traces.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct FormatArgs {
    /// Format of the output: csv, arrow (a file), arrows (a stream) or parquet; csv and arrow also with .gz or .zst
    /// appended. Into a pipe, arrow is a stream [default: by the extension of the output's name; csv without an extension
    /// and for pipes]
    #[arg(
        long,
        value_name = "FORMAT",
        value_parser = PossibleValuesParser::new(FORMS.map(|(name, _)| name)).try_map(|form| form.parse::<Form>())
    )]
    format: Option<Form>,
    /// Write neither the metadata at the start (`# key: value`) nor the end line, for programs that take no comments; later
    /// stages then need flags, and do not notice a cut
    #[arg(long)]
    no_head: bool,
}

impl FormatArgs {
    /// The head that is written: `head`, or none.
    pub(crate) fn head(&self, head: Metadata) -> Metadata {
        if self.no_head { Metadata::new() } else { head }
    }

    /// Format and compression of the output at `path`: those of the flag, else of the name. If the flag has no
    /// compression, that of the name applies.
    pub(crate) fn of(&self, path: Option<&str>) -> Outcome<Form> {
        let is_stream = path.is_none_or(is_stream);
        let by_name = path
            .filter(|path| !is_stdout(path))
            .map(Form::from_file_name);
        let by_name = by_name.unwrap_or(Ok(None));
        let form = match (self.format, by_name) {
            (None, Ok(name)) => name.unwrap_or_default(),
            (None, Err(_)) if is_stream => Form::default(),
            (None, Err(error)) => return Err(Failure::usage(format!("{error}; or give --format"))),
            (Some(flag), Ok(Some(name)))
                if flag.compression.is_none() && name.compression.is_some() =>
            {
                if flag.format == Format::Parquet {
                    return Err(Failure::usage(format!(
                        "--format parquet compresses its columns itself: expected a name for --output without {name}"
                    )));
                }
                flag.compressed(name.compression)
            }
            (Some(flag), _) => flag,
        };
        Ok(if is_stream { form.streamed() } else { form })
    }
}

/// The form of the table at `path`: that of the name, or text for a pipe or device of any name.
pub(crate) fn table_form(path: &str) -> Outcome<TableForm> {
    match TableForm::from_file_name(path) {
        Err(_) if is_stream(path) => Ok(TableForm::Text(None)),
        form => form.map_err(Failure::usage),
    }
}

/// Whether an output is written in place: stdout, a pipe, a device, or what the shell has opened.
fn is_stream(path: &str) -> bool {
    let mut inherited = ["/dev/fd", "/dev/stderr", "/proc/self/fd"].iter();
    is_stdout(path)
        || fs::metadata(path).is_ok_and(|existing| !existing.is_file())
        || inherited.any(|place| Path::new(path).starts_with(place))
}

impl OutputArgs {
    /// Name of the output in messages.
    pub(crate) fn name(&self) -> &str {
        shown(self.output.as_deref())
    }

    /// Format and compression of the output.
    pub(crate) fn form(&self) -> Outcome<Form> {
        self.format.of(self.output.as_deref())
    }

    /// Opens the output for rows after `head`.
    pub(crate) fn create<T: Row>(&self, head: &Metadata) -> Outcome<TraceWriter<T, Output>> {
        let head = self.format.head(head.clone());
        writer(self.output.as_deref(), self.form()?, &head)
    }
}

/// Name of an output in messages.
pub(crate) fn shown(path: Option<&str>) -> &str {
    path.filter(|path| !is_stdout(path)).unwrap_or("<stdout>")
}

/// Whether a path means stdout.
pub(crate) fn is_stdout(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdout")
}

/// Opens `path` for rows in `form` after `head`.
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

/// The bytes of the CSV that `fill` writes.
pub(crate) fn csv(
    fill: impl FnOnce(&mut csv::Writer<Vec<u8>>) -> csv::Result<()>,
) -> Outcome<Vec<u8>> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    fill(&mut writer).map_err(Failure::failed)?;
    let bytes = writer.into_inner();
    bytes.map_err(|error| Failure::failed(error.error()))
}

/// Writes `value` as indented JSON with a final line break.
pub(crate) fn json(output: &mut Output, value: &impl serde::Serialize) -> Outcome {
    let mut text = serde_json::to_vec_pretty(value).map_err(Failure::failed)?;
    text.push(b'\n');
    output.write(&text)
}

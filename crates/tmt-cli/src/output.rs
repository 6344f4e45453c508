//! Writing results so that a file is there whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{Builder, NamedTempFile};
use tmt_core::metadata::{EndLine, Metadata};
use tmt_core::slot::{Lldu, Slot};
use tmt_core::text::encode;
use tmt_core::units::Time;

use crate::exit::{Failure, Outcome};

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 18;

/// An output that appears whole: a file under another name until [`Output::finish`], or a stream.
pub(crate) struct Output {
    name: String,
    target: Target,
}

enum Target {
    Stream(BufWriter<Box<dyn Write + Send>>),
    File {
        writer: BufWriter<NamedTempFile>,
        path: PathBuf,
    },
}

/// Temporary files that a signal must not leave behind.
static TEMPORARY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// Takes temporary files away when the program is told to stop (SIGINT, SIGTERM, SIGHUP).
pub(crate) fn clean_up_on_signals() {
    // Without a handler a signal leaves a temporary file; that is no reason not to work.
    let _ = ctrlc::set_handler(|| {
        // A file that is being named right now is waited for, and is then whole.
        let files = TEMPORARY.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files.iter() {
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
        let Some(path) = path.filter(|path| !matches!(*path, "-" | "/dev/stdout")) else {
            let stdout: Box<dyn Write + Send> = Box::new(io::stdout());
            let target = Target::Stream(BufWriter::with_capacity(BUFFER, stdout));
            return Ok(Self {
                name: "<stdout>".to_owned(),
                target,
            });
        };
        let target = Self::open(Path::new(path)).map_err(|error| Failure::io(path, &error))?;
        Ok(Self {
            name: path.to_owned(),
            target,
        })
    }

    fn open(path: &Path) -> io::Result<Target> {
        let inherited = ["/dev/fd", "/dev/stderr", "/proc/self/fd"]
            .iter()
            .any(|place| path.starts_with(place));
        let existing = fs::metadata(path).ok();
        if inherited
            || existing
                .as_ref()
                .is_some_and(|metadata| !metadata.is_file())
        {
            let file: Box<dyn Write + Send> = Box::new(OpenOptions::new().append(true).open(path)?);
            return Ok(Target::Stream(BufWriter::with_capacity(BUFFER, file)));
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
        if let Some(existing) = existing {
            file.as_file().set_permissions(existing.permissions())?;
        }
        Ok(Target::File {
            writer: BufWriter::with_capacity(BUFFER, file),
            path,
        })
    }

    /// Puts all that was written where it goes, so that nothing but the naming can still fail.
    pub(crate) fn settle(&mut self) -> Outcome {
        self.flush()
            .map_err(|error| Failure::io(&self.name, &error))
    }

    /// Writes `bytes`.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Outcome {
        let written = match &mut self.target {
            Target::Stream(writer) => writer.write_all(bytes),
            Target::File { writer, .. } => writer.write_all(bytes),
        };
        written.map_err(|error| Failure::io(&self.name, &error))
    }

    /// Makes the output final: a file gets its name now.
    pub(crate) fn finish(mut self) -> Outcome {
        self.settle()?;
        let Target::File { writer, path } = self.target else {
            return Ok(());
        };
        let file = writer
            .into_inner()
            .map_err(|error| Failure::io(&self.name, error.error()))?;
        // Under the lock, so that a signal finds the file either temporary or named.
        let mut known = temporary();
        let old = file.path().to_path_buf();
        let named = file.persist(path).map(|_: File| ());
        known.remove(&old);
        named.map_err(|error| Failure::io(&self.name, &error.error))
    }
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
        match &mut self.target {
            Target::Stream(writer) => writer.write(bytes),
            Target::File { writer, .. } => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.target {
            Target::Stream(writer) => writer.flush(),
            Target::File { writer, .. } => writer.flush(),
        }
    }
}

/// A PHY trace on its way out: head, rows, end line.
pub(crate) struct TraceOutput {
    output: Output,
    buffer: Vec<u8>,
    rows: u64,
    last: Time,
}

impl TraceOutput {
    /// Opens `path` and writes the head.
    pub(crate) fn create(path: Option<&str>, head: &Metadata) -> Outcome<Self> {
        let mut buffer = Vec::with_capacity(BUFFER);
        encode::head(head, &mut buffer);
        encode::trace_header(&mut buffer);
        Ok(Self {
            output: Output::create(path)?,
            buffer,
            rows: 0,
            last: Time::ZERO,
        })
    }

    /// Writes one slot.
    pub(crate) fn slot(&mut self, slot: &Slot) -> Outcome {
        encode::slot(slot, &mut self.buffer);
        self.rows += 1;
        self.last = slot.tx_time();
        self.drain_when_full()
    }

    /// Rows written so far.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Writes the end line and makes the output final; `usable_until` where it is before the last slot.
    pub(crate) fn finish(mut self, usable_until: Option<Time>) -> Outcome {
        let usable_until = usable_until.map_or(self.last, |time| time.min(self.last));
        encode::end(
            &EndLine {
                rows: self.rows,
                slots: self.rows,
                usable_until,
            },
            &mut self.buffer,
        );
        self.output.write(&self.buffer)?;
        self.output.finish()
    }

    fn drain_when_full(&mut self) -> Outcome {
        if self.buffer.len() >= BUFFER {
            self.output.write(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

/// A link-layer timeline on its way out; head and end line only where there is a head.
pub(crate) struct TimelineOutput {
    output: Output,
    buffer: Vec<u8>,
    has_head: bool,
}

impl TimelineOutput {
    /// Opens `path` and writes the head, if there is one.
    pub(crate) fn create(path: Option<&str>, head: &Metadata) -> Outcome<Self> {
        let mut buffer = Vec::with_capacity(BUFFER);
        encode::head(head, &mut buffer);
        encode::timeline_header(&mut buffer);
        Ok(Self {
            output: Output::create(path)?,
            buffer,
            has_head: head.is_head(),
        })
    }

    /// Writes LLDUs.
    pub(crate) fn lldus(&mut self, lldus: &[Lldu]) -> Outcome {
        for lldu in lldus {
            encode::lldu(lldu, &mut self.buffer);
            if self.buffer.len() >= BUFFER {
                self.output.write(&self.buffer)?;
                self.buffer.clear();
            }
        }
        Ok(())
    }

    /// Writes the end line where one belongs, and hands the output over to be made final.
    pub(crate) fn end(mut self, end: &EndLine) -> Outcome<Output> {
        if self.has_head {
            encode::end(end, &mut self.buffer);
        }
        self.output.write(&self.buffer)?;
        Ok(self.output)
    }
}

/// Writes `value` as indented JSON with a line end.
pub(crate) fn json(output: &mut Output, value: &impl serde::Serialize) -> Outcome {
    let mut text = serde_json::to_vec_pretty(value).map_err(Failure::failed)?;
    text.push(b'\n');
    output.write(&text)
}

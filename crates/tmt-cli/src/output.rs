//! Writing results so that a file is there whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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

impl Output {
    /// Opens `path`, or stdout for none or `-`.
    ///
    /// What exists and is no regular file (a pipe, a terminal, `/dev/null`) is written in place.
    pub(crate) fn create(path: Option<&str>) -> Outcome<Self> {
        let Some(path) = path.filter(|path| *path != "-") else {
            let stdout: Box<dyn Write + Send> = Box::new(io::stdout());
            return Ok(Self {
                name: "<stdout>".to_owned(),
                target: Target::Stream(BufWriter::with_capacity(BUFFER, stdout)),
            });
        };
        let target = Self::open(Path::new(path)).map_err(|error| Failure::io(path, &error))?;
        Ok(Self {
            name: path.to_owned(),
            target,
        })
    }

    fn open(path: &Path) -> io::Result<Target> {
        let existing = fs::metadata(path).ok();
        if existing
            .as_ref()
            .is_some_and(|metadata| !metadata.is_file())
        {
            let file: Box<dyn Write + Send> = Box::new(OpenOptions::new().write(true).open(path)?);
            return Ok(Target::Stream(BufWriter::with_capacity(BUFFER, file)));
        }
        // A symbolic link keeps pointing where it points: the file behind it is replaced.
        let path = if existing.is_some() {
            fs::canonicalize(path)?
        } else {
            path.to_path_buf()
        };
        if existing.is_some() {
            // A file that may not be written must not be replaced either.
            drop(OpenOptions::new().append(true).open(&path)?);
        }
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let mut builder = Builder::new();
        builder.prefix(".tmt-").suffix(".tmp");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = existing
                .as_ref()
                .map_or(0o666, |metadata| metadata.permissions().mode());
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        let file = builder.tempfile_in(folder)?;
        Ok(Target::File {
            writer: BufWriter::with_capacity(BUFFER, file),
            path,
        })
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
    pub(crate) fn finish(self) -> Outcome {
        let done = match self.target {
            Target::Stream(mut writer) => writer.flush(),
            Target::File { writer, path } => writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)
                .and_then(|file| {
                    file.persist(path)
                        .map(|_: File| ())
                        .map_err(|error| error.error)
                }),
        };
        done.map_err(|error| Failure::io(&self.name, &error))
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

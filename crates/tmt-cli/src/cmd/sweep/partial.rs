//! Finished cells of a sweep that is not complete: `FILE.partial/`, with a line of JSON a record.
//!
//! A killed process leaves whole lines and at most one that is cut, which is not read. Every process writes a file of its own.
//! A line has the checksum of its plan and of itself, so that a line of another plan, or one that was changed, is not believed.
//! The folder holds only files that a sweep makes, none of them a link or a pipe: another one is refused, and left as it is.

mod files;
mod origin;
mod seal;

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tmt_study::{Plan, Record, Records};

use crate::exit::{Failure, Outcome, warning};
use files::{LOCK, RECORDS, open_regular};
use seal::Seal;

/// How often a process looks whether all others have left the folder, and the time between.
const LOOKS: u32 = 20;
const PATIENCE: Duration = Duration::from_millis(500);

/// Part `number` (from 1) of `of` parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(super) number: usize,
    pub(super) of: usize,
}

impl Shard {
    /// Whether it has `cell`.
    pub(super) fn has(self, cell: usize) -> bool {
        cell % self.of == self.number - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/');
        let parts = parts.and_then(|(number, of)| Some((number.parse().ok()?, of.parse().ok()?)));
        let parts = parts.filter(|(number, of)| (1..=*of).contains(number) && *of <= 1_000_000);
        let refuse = || format!("found '{text}', expected K/N with K from 1 to N, such as 3/10");
        let (number, of) = parts.ok_or_else(refuse)?;
        Ok(Self { number, of })
    }
}

/// Part of a sweep that a process works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// All cells, which no other process works on.
    All,
    /// A part of the cells.
    Shard(Shard),
    /// All cells, which processes for parts of them compute.
    Parts(&'static str),
}

impl Part {
    fn name(self) -> String {
        match self {
            Self::All => "sweep".to_owned(),
            Self::Shard(Shard { number, of }) => format!("shard-{number}-of-{of}"),
            Self::Parts(name) => name.to_owned(),
        }
    }
}

/// The folder of a sweep that is not complete, locked.
pub(crate) struct Partial {
    folder: PathBuf,
    part: Part,
    seal: Seal,
    /// The lock of the folder is the first.
    locks: Vec<File>,
    journal: Mutex<Journal>,
}

/// The file of records of this process.
struct Journal {
    file: File,
    path: PathBuf,
    /// Length of all complete lines.
    length: u64,
    has_failed: bool,
}

impl Partial {
    /// Opens or creates the folder beside `path`.
    ///
    /// Whoever works on all cells locks the folder for itself; others share it, and lock their part.
    pub(crate) fn open(path: &str, plan: &Plan, resume: bool, part: Part) -> Outcome<Self> {
        let folder = folder(path);
        // First, because it reads the traces: without one, no folder is left.
        let origin = origin::describe(plan)?;
        let seal = Seal::of(&origin);
        files::vet(&folder)?;
        files::vet(&removed(&folder))?;
        let is_shared = part != Part::All;
        let mut locks = vec![lock_folder(&folder, is_shared)?];
        if is_shared {
            let own = open_lock(&folder.join(format!("{}.{LOCK}", part.name())))?;
            lock(&own, &folder, false)?;
            locks.push(own);
        }
        if !resume && !matches!(part, Part::Shard(_)) {
            let mut records = Records::default();
            Reader::of(None, None).read(&folder, &mut records)?;
            if records.runs() > 0 {
                return Err(Failure::failed(format!(
                    "{}: found {} finished runs of an interrupted sweep; --resume goes on with it, or remove the folder to start afresh",
                    folder.display(),
                    records.runs()
                )));
            }
        }
        origin::check(&folder, &origin)?;
        let (file, name) = create(&folder, &part.name())?;
        Ok(Self {
            folder,
            part,
            seal,
            locks,
            journal: Mutex::new(Journal {
                file,
                path: name,
                length: 0,
                has_failed: false,
            }),
        })
    }

    /// Name of the part that this process works on.
    pub(super) fn part(&self) -> String {
        self.part.name()
    }

    /// The folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The records in the folder that are of this part, of all processes.
    pub(crate) fn records(&self) -> Outcome<Records> {
        let mut records = Records::default();
        self.reader().read(&self.folder, &mut records)?;
        Ok(records)
    }

    /// A reader of the records of this part, which has read none.
    pub(super) fn reader(&self) -> Reader {
        let shard = match self.part {
            Part::Shard(shard) => Some(shard),
            Part::All | Part::Parts(_) => None,
        };
        Reader::of(shard, Some(self.seal.clone()))
    }

    /// Appends a record.
    pub(crate) fn keep(&self, record: &Record) -> Outcome {
        let line = serde_json::to_string(record).map_err(Failure::failed)?;
        let line = self.seal.line(&line).into_bytes();
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if journal.has_failed {
            // Another thread says why.
            return Ok(());
        }
        if let Err(error) = journal.file.write_all(&line) {
            // Nothing may follow a line that is cut.
            journal.has_failed = true;
            let _ = journal.file.set_len(journal.length);
            return Err(Failure::failed(format!(
                "{}: {error}; finished cells are kept, --resume goes on with them",
                journal.path.display()
            )));
        }
        journal.length += line.len() as u64;
        Ok(())
    }

    /// Takes the folder for this process alone. Fails if another process works on a part; one that has just ended its work may
    /// take some seconds to leave.
    pub(super) fn take_alone(&self) -> Outcome {
        let mut looks = if self.part == Part::All { 1 } else { LOOKS };
        loop {
            looks -= 1;
            match lock(&self.locks[0], &self.folder, false) {
                Err(_) if looks > 0 => std::thread::sleep(PATIENCE),
                taken => return taken,
            }
        }
    }

    /// Ends the work of a part, whose records stay.
    pub(super) fn close(self) -> Outcome {
        let journal = self
            .journal
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        journal.file.sync_all().map_err(failure(&journal.path))
    }

    /// Removes the folder of a sweep that has failed, if nothing has finished that --resume could take and no other process
    /// shares it.
    pub(super) fn abandon(self) {
        let is_empty = || self.records().is_ok_and(|records| records.runs() == 0);
        if self.part == Part::All && is_empty() {
            // A failure here leaves the folder, which a later sweep takes.
            let _ = self.remove();
        }
    }

    /// Removes the folder of a complete sweep, with all that a sweep writes there.
    pub(crate) fn remove(self) -> Outcome {
        let removed = removed(&self.folder);
        // Left over from a process that was killed here.
        files::clear(&removed)?;
        // Under another name at once: a sweep that begins now does not see half of the records.
        fs::rename(&self.folder, &removed).map_err(failure(&self.folder))?;
        drop(self.locks);
        drop(self.journal);
        if !files::clear(&removed)? {
            let removed = removed.display();
            warning!("sweep", "{removed} stays: something else is in it");
        }
        Ok(())
    }
}

/// The folder beside the results in `path`.
pub(super) fn folder(path: &str) -> PathBuf {
    PathBuf::from(format!("{path}.partial"))
}

fn failure(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::io(&path.display().to_string(), &error)
}

/// Where a folder is while it is removed.
fn removed(folder: &Path) -> PathBuf {
    let mut removed = folder.to_path_buf().into_os_string();
    removed.push(".removed");
    PathBuf::from(removed)
}

/// Opens or creates a file to lock. On network file systems a shared lock needs reading, another one writing.
fn open_lock(path: &Path) -> Outcome<File> {
    let mut options = OpenOptions::new();
    let options = options.create(true).read(true).append(true);
    open_regular(options, path).map_err(failure(path))
}

/// Creates the folder if absent, and locks it. A sweep that ended meanwhile may have removed the one that was there.
fn lock_folder(folder: &Path, shared: bool) -> Outcome<File> {
    let path = folder.join(LOCK);
    loop {
        fs::create_dir_all(folder).map_err(failure(folder))?;
        let file = match open_lock(&path) {
            Err(_) if !folder.exists() => continue,
            file => file?,
        };
        lock(&file, folder, shared)?;
        if is_at(&file, &path) {
            return Ok(file);
        }
    }
}

/// Whether `path` still names the open `file`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let (own, named) = (file.metadata(), fs::metadata(path));
    own.ok().map(identity) == named.ok().map(identity)
}

/// Whether `path` still names the open `file`, which elsewhere cannot be removed while it is open.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    path.exists()
}

/// Locks `file` of `folder`, shared or alone.
fn lock(file: &File, folder: &Path, shared: bool) -> Outcome {
    let locked = if shared {
        file.try_lock_shared()
    } else {
        file.try_lock()
    };
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(Failure::failed(format!(
            "{}: found another sweep that writes the same file, expected none; wait for it, or choose another --output",
            folder.display()
        ))),
        // A file system without locks cannot tell.
        Err(TryLockError::Error(error)) if lacks_locks(&error) => Ok(()),
        Err(TryLockError::Error(error)) => Err(failure(folder)(error)),
    }
}

/// Whether the file system has no locks: it says so, or no service for them runs (`ENOLCK`).
fn lacks_locks(error: &io::Error) -> bool {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::NOLCK.raw_os_error()) {
        return true;
    }
    error.kind() == io::ErrorKind::Unsupported
}

/// The files of records in `folder`, in order.
fn journals(folder: &Path) -> Outcome<Vec<PathBuf>> {
    let failed = |error: io::Error| Failure::io(&folder.display().to_string(), &error);
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == RECORDS)
        {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Creates the next file of records of `part`.
fn create(folder: &Path, part: &str) -> Outcome<(File, PathBuf)> {
    for number in 1_u64.. {
        let path = folder.join(format!("{part}-{number:04}.{RECORDS}"));
        match OpenOptions::new().create_new(true).append(true).open(&path) {
            Ok(file) => return Ok((file, path)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Failure::io(&path.display().to_string(), &error)),
        }
    }
    Err(Failure::failed("found no free name for finished cells"))
}

/// Reads records as files grow.
#[derive(Debug)]
pub(super) struct Reader {
    /// Only the records of these cells.
    shard: Option<Shard>,
    /// Checksums that the lines must have; `None` to count lines of any plan.
    seal: Option<Seal>,
    /// Length and number of the lines that are read, by file.
    read: BTreeMap<PathBuf, (u64, u64)>,
}

impl Reader {
    fn of(shard: Option<Shard>, seal: Option<Seal>) -> Self {
        let read = BTreeMap::new();
        Self { shard, seal, read }
    }

    /// Adds the records of all complete lines that are new, and returns their number of runs.
    pub(super) fn read(&mut self, folder: &Path, records: &mut Records) -> Outcome<u64> {
        let mut runs = 0;
        for path in journals(folder)? {
            if self.shard.is_some_and(|shard| is_of_another(&path, shard)) {
                continue;
            }
            let name = path.display().to_string();
            let failed = |error: io::Error| Failure::io(&name, &error);
            let mut file = open_regular(OpenOptions::new().read(true), &path).map_err(failed)?;
            let (length, lines) = self.read.entry(path).or_default();
            file.seek(SeekFrom::Start(*length)).map_err(failed)?;
            let mut input = BufReader::new(file);
            let mut line = Vec::new();
            loop {
                line.clear();
                input.read_until(b'\n', &mut line).map_err(failed)?;
                // The last line of a killed process is cut, and its cells run again.
                if line.last() != Some(&b'\n') {
                    break;
                }
                let record = match &self.seal {
                    Some(seal) => seal.check(&line),
                    None => Ok(()),
                };
                let parse = |()| serde_json::from_slice(&line).map_err(|error| error.to_string());
                let record: Record = record.and_then(parse).map_err(|error| {
                    Failure::failed(format!(
                        "{name}:{}: {error}; remove the file to run its cells again",
                        *lines + 1
                    ))
                })?;
                *length += line.len() as u64;
                *lines += 1;
                if self.shard.is_none_or(|shard| shard.has(record.cell)) {
                    runs += record.runs.len() as u64;
                    records.add(record);
                }
            }
        }
        Ok(runs)
    }
}

/// Whether the records in `path` are of another of the shards that `shard` is one of, so that it has none of them.
fn is_of_another(path: &Path, shard: Shard) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let parts: Vec<&str> = name.unwrap_or_default().split('-').collect();
    match parts[..] {
        ["shard", number, "of", of, _] => {
            of == shard.of.to_string() && number != shard.number.to_string()
        }
        _ => false,
    }
}

//! Finished cells of a sweep that is not complete: `FILE.partial/`, with a line of JSON a record.
//!
//! A killed process leaves whole lines and at most one that is cut, which is not read. Every process writes a file of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use flate2::Crc;
use tmt_study::{Plan, Record, Records};

use super::args::Shard;
use crate::exit::{Failure, Outcome};
use crate::provenance::TOOL;

/// File with the plan that the records belong to.
const PLAN: &str = "plan.txt";

/// File that a process locks for as long as it works on the sweep.
const LOCK: &str = "lock";

/// Ending of the files of records.
const RECORDS: &str = "jsonl";

/// The folder of a sweep that is not complete, locked.
pub(super) struct Partial {
    folder: PathBuf,
    /// What this process works on: `sweep`, or `shard-3-of-10`.
    part: String,
    _locks: Vec<File>,
    journal: Mutex<File>,
    name: PathBuf,
}

impl Partial {
    /// Opens or creates the folder beside `path`.
    ///
    /// A sweep locks the folder for itself; parts share it, and lock their part.
    pub(super) fn open(
        path: &str,
        plan: &Plan,
        resume: bool,
        shard: Option<Shard>,
    ) -> Outcome<Self> {
        let folder = PathBuf::from(format!("{path}.partial"));
        let part = shard.map_or_else(
            || "sweep".to_owned(),
            |Shard { number, of }| format!("shard-{number}-of-{of}"),
        );
        let failed = |error: io::Error| Failure::io(&folder.display().to_string(), &error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let mut locks = vec![lock(&folder.join(LOCK), shard.is_some())?];
        if shard.is_some() {
            locks.push(lock(&folder.join(format!("{part}.{LOCK}")), false)?);
        }
        let goes_on = resume || shard.is_some();
        if !goes_on && !journals(&folder)?.is_empty() {
            let found = read(&folder)?.runs();
            if found > 0 {
                return Err(Failure::failed(format!(
                    "{}: found {found} finished runs of an interrupted sweep; --resume goes on with it, or remove the folder to start afresh",
                    folder.display()
                )));
            }
        }
        check_plan(&folder, &describe(plan)?)?;
        let (journal, name) = create(&folder, &part)?;
        Ok(Self {
            folder,
            part,
            _locks: locks,
            journal: Mutex::new(journal),
            name,
        })
    }

    /// What this process works on.
    pub(super) fn part(&self) -> &str {
        &self.part
    }

    /// All records in the folder, of all processes.
    pub(super) fn records(&self) -> Outcome<Records> {
        read(&self.folder)
    }

    /// Appends a record.
    pub(super) fn keep(&self, record: &Record) -> Outcome {
        let mut line = serde_json::to_vec(record).map_err(Failure::failed)?;
        line.push(b'\n');
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.write_all(&line).map_err(|error| {
            Failure::failed(format!(
                "{}: {error}; finished cells are kept, --resume goes on with them",
                self.name.display()
            ))
        })
    }

    /// Ends the work of a part, whose records stay.
    pub(super) fn close(self) -> Outcome {
        let journal = self
            .journal
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        journal
            .sync_all()
            .map_err(|error| Failure::io(&self.name.display().to_string(), &error))
    }

    /// Removes the folder of a complete sweep.
    pub(super) fn remove(self) -> Outcome {
        let failed = |error: io::Error| Failure::io(&self.folder.display().to_string(), &error);
        for entry in fs::read_dir(&self.folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            // The plan goes last: without it the rest would belong to any plan.
            if path.file_name().is_some_and(|name| name != PLAN) && path.is_file() {
                fs::remove_file(path).map_err(failed)?;
            }
        }
        fs::remove_file(self.folder.join(PLAN)).map_err(failed)?;
        // Something else that somebody put there keeps the folder.
        let _ = fs::remove_dir(&self.folder);
        Ok(())
    }
}

/// Locks `path`, shared or alone.
fn lock(path: &Path, shared: bool) -> Outcome<File> {
    let failed = |error: io::Error| Failure::io(&path.display().to_string(), &error);
    let file = OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .map_err(failed)?;
    let locked = if shared {
        file.try_lock_shared()
    } else {
        file.try_lock()
    };
    match locked {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::failed(format!(
            "{}: found another sweep that writes the same file, expected none; wait for it, or choose another --output",
            path.display()
        ))),
        // A file system without locks cannot tell.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
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

/// Reads all complete lines of all files.
fn read(folder: &Path) -> Outcome<Records> {
    let mut records = Records::default();
    for path in journals(folder)? {
        let name = path.display().to_string();
        let failed = |error: io::Error| Failure::io(&name, &error);
        let mut input = BufReader::new(File::open(&path).map_err(failed)?);
        let mut line = Vec::new();
        for number in 1_u64.. {
            line.clear();
            input.read_until(b'\n', &mut line).map_err(failed)?;
            // The last line of a killed process is cut, and its cells run again.
            if line.last() != Some(&b'\n') {
                break;
            }
            let record: Record = serde_json::from_slice(&line).map_err(|error| {
                Failure::failed(format!(
                    "{name}:{number}: {error}; remove the file to run its cells again"
                ))
            })?;
            records.add(record);
        }
    }
    Ok(records)
}

/// The plan, the version and the content of the traces, a line each.
fn describe(plan: &Plan) -> Outcome<String> {
    let mut text = format!("version = {TOOL}\n{}", plan.canonical());
    let traces = plan
        .axes()
        .iter()
        .filter(|axis| axis.name.replace('-', "_").ends_with("trace"));
    let paths: BTreeSet<&String> = traces
        .flat_map(|axis| axis.values.iter().flatten())
        .collect();
    for path in paths {
        let failed = |error: io::Error| Failure::io(path, &error);
        let mut file = File::open(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            return Err(Failure::usage(format!(
                "{path}: found no regular file, expected one: a sweep reads a trace more than once"
            )));
        }
        let (mut crc, mut buffer) = (Crc::new(), vec![0; 1 << 20]);
        loop {
            match file.read(&mut buffer).map_err(failed)? {
                0 => break,
                length => crc.update(&buffer[..length]),
            }
        }
        let _ = writeln!(
            text,
            "content of {path} = {:08x}, {} B",
            crc.sum(),
            crc.amount()
        );
    }
    Ok(text)
}

/// Stores the plan in a new folder, or compares it with that of the folder.
fn check_plan(folder: &Path, plan: &str) -> Outcome {
    let path = folder.join(PLAN);
    let failed = |error: io::Error| Failure::io(&path.display().to_string(), &error);
    let known = match fs::read_to_string(&path) {
        Ok(known) => known,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Several parts may begin at the same time: whichever comes first stores the plan, complete.
            let own = folder.join(format!("{PLAN}.{}", std::process::id()));
            fs::write(&own, plan).map_err(failed)?;
            let linked = fs::hard_link(&own, &path);
            let _ = fs::remove_file(&own);
            match linked {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                // A file system without hard links.
                Err(_) => return fs::write(&path, plan).map_err(failed),
            }
            fs::read_to_string(&path).map_err(failed)?
        }
        Err(error) => return Err(failed(error)),
    };
    if known == plan {
        return Ok(());
    }
    Err(Failure::failed(format!(
        "{}: found another plan, expected the same: {}; use another --output, or remove {} to start afresh",
        path.display(),
        changes(&known, plan),
        folder.display()
    )))
}

/// What differs between two plans.
fn changes(before: &str, now: &str) -> String {
    let lines = |text: &str| -> BTreeMap<String, String> {
        let pairs = text.lines().filter_map(|line| line.split_once(" = "));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    };
    let (before, now) = (lines(before), lines(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut said = Vec::new();
    for name in names {
        match (before.get(name), now.get(name)) {
            (Some(one), Some(other)) if one != other => {
                said.push(format!("{name} was {} and is {}", short(one), short(other)));
            }
            (Some(one), None) => said.push(format!("{name} was {} and is not given", short(one))),
            (None, Some(other)) => {
                said.push(format!("{name} was not given and is {}", short(other)));
            }
            _ => {}
        }
    }
    if said.is_empty() {
        "the order of the axes differs".to_owned()
    } else {
        said.join("; ")
    }
}

/// At most 60 characters of a text.
fn short(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

//! The files of the folder: names that a sweep gives, and nothing else.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

use super::failure;
use crate::exit::{Failure, Outcome};

/// File with the description of the plan that the records belong to.
pub(super) const FILE: &str = "plan.txt";

/// File that a process locks for as long as it works on the sweep.
pub(super) const LOCK: &str = "lock";

/// Ending of the files of records.
pub(super) const RECORDS: &str = "jsonl";

/// Files of engines, apart from logs of tasks.
const OF_ENGINES: [&str; 2] = ["plan.toml", "task.sh"];

/// Whether a sweep gives this name before it has stored its plan.
fn is_early(name: &str) -> bool {
    let number = |text: &str| text.parse::<u32>().is_ok();
    let stored = name
        .strip_prefix(FILE)
        .and_then(|end| end.strip_prefix('.'));
    let part = name
        .strip_suffix(LOCK)
        .and_then(|part| part.strip_suffix('.'));
    name == LOCK || stored.is_some_and(number) || part.is_some_and(is_part)
}

/// Whether a sweep gives this name.
fn is_ours(name: &str) -> bool {
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    let of_part = match ending {
        RECORDS => stem.rsplit_once('-').is_some_and(|(part, number)| {
            is_part(part) && number.len() >= 4 && number.parse::<u64>().is_ok()
        }),
        "log" => is_part(stem),
        _ => false,
    };
    of_part || is_early(name) || name == FILE || OF_ENGINES.contains(&name)
}

/// Whether this is the name of a [`super::Part`].
fn is_part(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let number = |text: &str| text.parse::<u32>().is_ok();
    match parts[..] {
        ["sweep" | "slurm"] => true,
        ["shard", part, "of", of] => number(part) && number(of),
        _ => false,
    }
}

/// Refuses a folder with anything that a sweep does not make. A folder that does not exist has none.
pub(super) fn vet(folder: &Path) -> Outcome {
    let refused = |found: &str| {
        Failure::failed(format!(
            "{}: found {found}, expected only files that a sweep makes; move it away, or use another --output",
            folder.display()
        ))
    };
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failure(folder)(error)),
        Ok(found) if !found.is_dir() => return Err(refused("no directory")),
        Ok(_) => {}
    }
    let has_plan = folder.join(FILE).exists();
    for entry in fs::read_dir(folder).map_err(failure(folder))? {
        let entry = entry.map_err(failure(folder))?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Another sweep may remove it meanwhile.
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file && entry.path().symlink_metadata().is_ok() {
            return Err(refused(&format!("'{name}', which is no regular file")));
        }
        // NFS gives this name to a file that is removed while it is open.
        if name.starts_with(".nfs") {
            continue;
        }
        if !is_ours(&name) {
            return Err(refused(&format!("'{name}'")));
        }
        if !has_plan && !is_early(&name) && !folder.join(FILE).exists() {
            return Err(refused(&format!("'{name}' without a {FILE}")));
        }
    }
    Ok(())
}

/// Removes the files that a sweep makes in `folder`, and the folder. `false` if something else keeps it.
pub(super) fn clear(folder: &Path) -> Outcome<bool> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(true),
        entries => entries.map_err(failure(folder))?,
    };
    let entries: io::Result<Vec<fs::DirEntry>> = entries.collect();
    let mut entries = entries.map_err(failure(folder))?;
    // The plan last, by which the others are known.
    entries.sort_by_key(|entry| entry.file_name() == FILE);
    for entry in entries {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && is_ours(&entry.file_name().to_string_lossy()) {
            fs::remove_file(entry.path()).map_err(failure(&entry.path()))?;
        }
    }
    Ok(fs::remove_dir(folder).is_ok())
}

/// Opens a regular file of the folder. A link is not followed, and a pipe does not block.
pub(super) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        options.custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    let text = "found no regular file, expected one that a sweep has made";
    Err(io::Error::new(io::ErrorKind::InvalidInput, text))
}

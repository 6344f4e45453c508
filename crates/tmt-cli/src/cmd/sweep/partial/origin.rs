//! What a sweep was begun with: its plan, the version, and the content of the traces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use flate2::Crc;
use tmt_study::Plan;

use super::super::refusal;
use crate::exit::{Failure, Outcome};
use crate::provenance::TOOL;

/// File with the description of the plan that the records belong to.
pub(super) const FILE: &str = "plan.txt";

/// The plan, the version and the content of the traces, a line each.
pub(super) fn describe(plan: &Plan) -> Outcome<String> {
    let mut text = format!("version = {TOOL}\n{}", plan.canonical());
    for path in traces(plan)? {
        let failed = |error: io::Error| Failure::io(&path, &error);
        let mut file = File::open(&path).map_err(failed)?;
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

/// The paths of all traces.
fn traces(plan: &Plan) -> Outcome<BTreeSet<String>> {
    let mut paths = BTreeSet::new();
    for axis in plan.axes() {
        if !axis.name.replace('-', "_").ends_with("trace") {
            continue;
        }
        if !axis.values.iter().flatten().any(|path| path.contains('{')) {
            paths.extend(axis.values.iter().flatten().cloned());
            continue;
        }
        // Variables may be in the path.
        for number in 0..plan.cells() {
            let cell = plan.cell(number).map_err(|error| refusal(&error, None))?;
            paths.extend(cell.text(&axis.name));
        }
    }
    Ok(paths)
}

/// Stores the plan in a new folder, or compares it with that of the folder.
pub(super) fn check(folder: &Path, plan: &str) -> Outcome {
    let path = folder.join(FILE);
    let failed = |error: io::Error| Failure::io(&path.display().to_string(), &error);
    let known = match fs::read_to_string(&path) {
        Ok(known) => known,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Several parts may begin at the same time: whichever comes first stores the plan, complete.
            let own = folder.join(format!("{FILE}.{}", std::process::id()));
            let stored = fs::write(&own, plan).and_then(|()| match fs::hard_link(&own, &path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    // A file system without hard links.
                    fs::rename(&own, &path)
                }
                linked => linked,
            });
            let _ = fs::remove_file(&own);
            match stored {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(error)),
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

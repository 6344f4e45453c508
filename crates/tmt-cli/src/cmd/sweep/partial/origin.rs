//! Origin of a sweep: its plan, the version, and the content of the traces.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use flate2::Crc;
use tmt_study::Plan;

use super::super::refusal;
use super::files::{FILE, open_regular};
use crate::exit::{Failure, Outcome};
use crate::provenance::TOOL;

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
    for axis in plan.axes().iter().filter(|axis| axis.is_of_traces()) {
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
    let read = || -> io::Result<String> {
        let mut text = String::new();
        open_regular(OpenOptions::new().read(true), &path)?.read_to_string(&mut text)?;
        Ok(text)
    };
    let known = match read() {
        Ok(known) => known,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Several parts may begin at the same time: whichever comes first stores the plan, complete.
            let own = folder.join(format!("{FILE}.{}", std::process::id()));
            // Left over from a process of this number; it may be a link.
            let _ = fs::remove_file(&own);
            let created = OpenOptions::new().write(true).create_new(true).open(&own);
            let written = created.and_then(|mut file| file.write_all(plan.as_bytes()));
            let stored = written.and_then(|()| match fs::hard_link(&own, &path) {
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
            read().map_err(failed)?
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

/// Differences between two plans.
fn changes(before: &str, now: &str) -> String {
    let lines = |text: &str| -> BTreeMap<String, String> {
        let mut pairs: BTreeMap<String, String> = BTreeMap::new();
        for (name, value) in text.lines().filter_map(|line| line.split_once(" = ")) {
            // Several groups may vary together.
            let all = pairs.entry(name.to_owned()).or_default();
            *all = if all.is_empty() {
                value.to_owned()
            } else {
                format!("{all} {value}")
            };
        }
        pairs
    };
    let (before, now) = (lines(before), lines(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let mut said = Vec::new();
    for name in names {
        match (before.get(name), now.get(name)) {
            (Some(one), Some(other)) if one != other => {
                let shared = one.chars().zip(other.chars());
                let shared = shared.take_while(|(one, other)| one == other).count();
                said.push(format!(
                    "{name} was {} and is {}",
                    short_from(one, shared),
                    short_from(other, shared)
                ));
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
    short_from(text, 0)
}

/// At most 60 characters of a text, with the one at `place` among them.
fn short_from(text: &str, place: usize) -> String {
    /// Characters of a text, and those of them before `place`.
    const MOST: usize = 60;
    const BEFORE: usize = 20;
    let length = text.chars().count();
    let begin = if place < MOST { 0 } else { place - BEFORE };
    let part: String = text.chars().skip(begin).take(MOST).collect();
    let left = if begin > 0 { "…" } else { "" };
    let right = if begin + MOST < length { "…" } else { "" };
    format!("{left}{part}{right}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_changed_is_shown_however_far_in() {
        let plan = |last: &str| {
            let values: Vec<String> = (0..40).map(|value| format!("[\"{value}ms\"]")).collect();
            format!("rtt = [{},[\"{last}\"]]\n", values.join(","))
        };
        let said = changes(&plan("1s"), &plan("2s"));
        assert!(said.contains("[\"1s\"]] and is …"), "{said}");
        assert!(said.ends_with("[\"2s\"]]"), "{said}");
        let zip =
            |second: &str| format!("a = 1\nzip = [\"a\",\"b\"]\nzip = [\"c\",\"{second}\"]\n");
        assert!(changes(&zip("d"), &zip("e")).contains("zip was"));
        assert_eq!(
            changes("a = 1\nb = 2\n", "b = 2\na = 1\n"),
            "the order of the axes differs"
        );
    }
}

//! A look at a file of another tool, through its importer.

use std::io::{self, BufRead, BufReader, Read};

use tmt_core::ErrorKind;
use tmt_core::format::compression::Decompressor;
use tmt_core::format::import::{
    self, Files, Finding, Given, Import, ImportError, Importer, Importers, render_keys,
};
use tmt_core::format::{FileKind, recognise};
use tmt_core::named::{Kind, Rule};
use tmt_core::pipeline::Lint;
use tmt_core::types::{Metadata, Slot};

use super::source::{Source, key_of_file};
use super::{Args, Look};
use crate::cmd::convert::typed;
use crate::exit::{Failure, Outcome};
use crate::input::{self, is_file};

/// Bytes of the buffer before a decompressor or a format.
const BUFFER: usize = 1 << 16;

/// Slots per batch of the checks.
const BATCH: usize = 1 << 14;

/// Stands for the interval of a file without times: nothing that depends on it is reported.
const STAND_IN: &str = "1s";

/// The files of a look, each read once. That of the positional argument is open.
struct Opened<'a> {
    given: &'a Given,
    key: &'static str,
    name: String,
    is_positional: bool,
    /// Whether files are read in one pass only.
    once: bool,
    open: Option<Box<dyn Read + Send>>,
}

impl Files for Opened<'_> {
    fn open(&mut self, key: &'static str) -> io::Result<Box<dyn BufRead + Send>> {
        let plain: Box<dyn Read + Send> = if let Some(open) = self.open.take_if(|_| key == self.key)
        {
            open
        } else {
            let path = self.given.text(key);
            let raw = input::open_or("lint", path)?;
            let mut raw = BufReader::with_capacity(BUFFER, raw);
            match recognise(raw.fill_buf()?) {
                FileKind::Compressed(compression) => Box::new(Decompressor::new(compression, raw)?),
                FileKind::Plain(_) => Box::new(raw),
            }
        };
        let mut input = BufReader::with_capacity(BUFFER, plain);
        if input.fill_buf()?.is_empty() {
            let empty = tmt_core::Error::from(ErrorKind::EmptyTrace).of_input(key);
            return Err(io::Error::other(empty));
        }
        Ok(Box::new(input))
    }

    fn can_reopen(&self, key: &'static str) -> bool {
        let is_positional = self.is_positional && key == self.key;
        !self.once && !is_positional && self.given.text(key).is_some_and(is_file)
    }
}

impl Opened<'_> {
    fn failure(&self, error: &tmt_core::Error) -> Failure {
        let path = error.input().and_then(|key| self.given.text(key));
        Failure::input(path.unwrap_or(&self.name), error)
    }
}

/// Reads a file to its end, or to what cannot be read.
pub(super) fn look(importer: &'static Importer, args: &Args, source: Source) -> Outcome<Look> {
    let mut given = args.given.clone();
    let is_guess = args.common.from.is_none();
    let key = key_of_file(importer);
    let path = args.common.file.as_deref();
    if path.is_some()
        || !importer
            .keys
            .iter()
            .any(|known| given.has(known.name) && known.kind == Kind::File)
    {
        given.set(key, path.unwrap_or("-"));
    }
    refuse_foreign_options(importer, &args.given)?;
    let mut has_times = prepare(importer, &mut given);
    given.be_lenient();
    let plain = source.into_plain();
    let mut files = Opened {
        given: &given.clone(),
        key,
        name: plain.name,
        is_positional: plain.reader.is_some(),
        // Opportunities are read twice for their rate only: in one pass times that fall are found, and not refused.
        once: importer.carries.capacity,
        open: plain.reader,
    };
    let mut import = import::open(importer, &given, &mut files, &mut |_| {});
    let has_interval = importer.keys.iter().any(|key| key.name == "interval");
    let can_retry = has_interval && !given.has("interval") && path.is_some_and(is_file);
    if matches!(import, Err(ImportError::Refused(_) | ImportError::Keys(_))) && can_retry {
        // The refusal is that the file has no times.
        given.set("interval", STAND_IN);
        let again = import::open(importer, &given, &mut files, &mut |_| {});
        if again.is_ok() {
            (import, has_times) = (again, false);
        }
    }
    let import = match import {
        Ok(import) => import,
        Err(refusal @ (ImportError::Refused(_) | ImportError::Keys(_))) => {
            let refusal = refusal.to_string();
            return Err(Failure::usage(render_keys(&refusal, typed)));
        }
        Err(ImportError::Input(error)) => {
            return Ok(Look {
                format: importer.name,
                recognised: is_guess,
                has_times,
                linted: Lint::new().finish(&Metadata::new(), Some(importer.kind), has_times),
                failure: Some(files.failure(&error)),
            });
        }
    };
    Ok(read(importer, import, &files, has_times, is_guess))
}

/// Sets what a look needs no answer for. Returns whether times are known.
fn prepare(importer: &Importer, given: &mut Given) -> bool {
    let mut has_times = true;
    for key in importer.keys {
        let applies = match key.rule {
            Rule::With(other) => given.has(other),
            Rule::Without(other) => !given.has(other),
            Rule::Free | Rule::Required(_) => true,
        };
        // Delays are looked at as they are, in one pass.
        if key.name == "propagation" && applies && !given.has(key.name) {
            given.set(key.name, "0s");
        }
        if !matches!(key.rule, Rule::Required(_)) || given.has(key.name) {
            continue;
        }
        if key.name == "interval" {
            given.set(key.name, STAND_IN);
            has_times = false;
        } else if key.name == "spread" {
            // Where slots are put, not what is in the file: any way serves.
            given.set(key.name, "even");
        }
    }
    has_times
}

/// Refuses options that the format does not have.
fn refuse_foreign_options(importer: &Importer, given: &Given) -> Outcome {
    let is_own = |name: &str| importer.keys.iter().any(|own| own.name == name);
    let keys = Importers::default().keys();
    let foreign = keys
        .iter()
        .find(|(key, _)| given.has(key.name) && !is_own(key.name));
    foreign.map_or(Ok(()), |(key, formats)| {
        Err(Failure::usage(format!(
            "--{} does not apply to {}: it is an option of {}",
            key.name,
            importer.name,
            formats.join(", ")
        )))
    })
}

fn read(
    importer: &Importer,
    mut import: Import,
    files: &Opened<'_>,
    has_times: bool,
    recognised: bool,
) -> Look {
    import.slots.be_lenient();
    let mut lint = Lint::new();
    let mut batch: Vec<Slot> = Vec::with_capacity(BATCH);
    let failure = loop {
        match import.slots.next_slot() {
            Ok(Some(slot)) => batch.push(slot),
            Ok(None) => break None,
            Err(error) => break Some(files.failure(&error)),
        }
        if batch.len() == BATCH {
            lint.slots(&batch);
            batch.clear();
        }
    };
    lint.slots(&batch);
    // Only how the delays were measured counts: nothing of them was removed.
    let mut head = Metadata::new();
    for (key, value) in import.head.iter() {
        if key != "propagation_removed_ns" {
            head.set(key, value);
        }
    }
    let mut linted = lint.finish(&head, Some(importer.kind), has_times);
    linted.add(import.slots.findings().into_iter().map(settled).collect());
    Look {
        format: importer.name,
        recognised,
        has_times,
        linted,
        failure,
    }
}

/// Probes are the kind of the file, not odd in it.
fn settled(finding: Finding) -> Finding {
    if finding.name == "rate-of-probes" {
        finding.harmless()
    } else {
        finding
    }
}

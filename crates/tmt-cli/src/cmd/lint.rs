//! `tmt lint`: what is odd in a trace, or in a file of another tool before its conversion (docs/lint.md).
//!
//! It writes no trace. A row that a conversion would refuse is a finding wherever the reader can go on.

mod args;
mod foreign;
mod show;
mod source;

use serde_json::{Value, json};
use tmt_core::ErrorKind;
use tmt_core::format::Unit;
use tmt_core::format::import::{Importers, Severity};
use tmt_core::pipeline::{LineEnds, Lint, Linted, collect, finding_of};
use tmt_core::types::{Span, TraceKind};

pub(crate) use self::args::{Args, focused};
use self::source::{Content, Plain, Source};
use crate::cmd::convert::typed;
use crate::exit::{Failure, Outcome, headline, note};
use crate::input::{Input, held_trace, note_reading, read_trace};
use crate::output::document::Document;
use crate::output::{Output, refuse_shared_files};
use crate::table::{counted, write};

/// Settings of a look, as given; null if not given. `inputs` says which files were given by flags, and `options` has further
/// options of the format, with an empty value for a switch.
fn params(args: &Args) -> Value {
    let read = &args.read;
    let (mut inputs, mut options) = (Vec::new(), Vec::new());
    for (key, _) in Importers::default().keys() {
        let Some(value) = args.given.text(key.name) else {
            continue;
        };
        match key.kind {
            kind if kind.is_file() => inputs.push(typed(key.name)),
            // These are flags of any trace, too.
            _ if ["interval", "lldu"].contains(&key.name) => {}
            _ => options.push(json!({ "flag": typed(key.name), "value": value })),
        }
    }
    json!({
        "from": args.common.from,
        "unit": read.unit.map(Unit::name),
        "allow_cut": read.allow_cut,
        "columns": read.columns.as_ref().map(ToString::to_string),
        "interval_ns": read.interval.map(Span::as_nanos),
        "rate_bps": read.rate.map(|rate| rate.0),
        "lldu_bytes": read.lldu.map(|lldu| lldu.0),
        "inputs": inputs,
        "options": options,
    })
}

/// A key of a remedy as a flag; a value of one as it is.
fn shown_key(key: &str) -> String {
    let keys = Importers::default().keys();
    if keys.iter().any(|(known, _)| known.name == key) {
        typed(key)
    } else {
        key.to_owned()
    }
}

/// Findings before an error, and the error if there was one.
struct Look {
    format: &'static str,
    recognised: bool,
    has_times: bool,
    linted: Linted,
    failure: Option<Failure>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    refuse_shared_files(args.paths().chain(args.common.output.as_deref()))?;
    let source = Source::new(args)?;
    let look = match source.content {
        Content::Foreign(importer) => {
            if args.common.from.is_none() {
                let format = importer.name;
                headline!(
                    "lint",
                    "{} looks like {format} by its content (--from {format})",
                    source.name()
                );
            }
            foreign::look(importer, args, source)?
        }
        Content::Trace => look(args, source)?,
    };
    print(args, look)
}

/// Reads a trace of this program, or a table like one, to its end.
fn look(args: &Args, source: Source) -> Outcome<Look> {
    let path = args.common.file.as_deref();
    let Plain { name, reader, text } = source.into_plain();
    let reader = reader.unwrap_or_else(|| Box::new(std::io::empty()));
    let (reader, ends): (Box<dyn std::io::Read + Send>, _) = if text {
        let (reader, seen) = LineEnds::new(reader);
        (Box::new(reader), Some(seen))
    } else {
        (reader, None)
    };
    let options = args.read.options(false)?;
    let held = held_trace(path, options.clone()).transpose()?;
    let is_stream = held.is_some();
    let (name, mut reader) = match held {
        Some(held) => held,
        None => read_trace(Input { name, reader }, path, options)?,
    };
    let mut lint = Lint::new();
    let read = collect(&mut reader, |rows| lint.slots(&rows.slots));
    note_reading("lint", &name, &reader);
    let mut linted = lint.finish(reader.metadata(), None, true);
    if let Some(found) = ends.and_then(|seen| seen.finding(&name)) {
        linted.add(vec![found]);
    }
    if let Err(error) = &read {
        // Whoever makes the batches of a host has failed: that says nothing of the trace.
        if is_stream && matches!(error.kind(), ErrorKind::Io(_)) {
            return Err(Failure::input(&name, error));
        }
        linted.cut(finding_of(error));
    }
    Ok(Look {
        format: "tmt",
        recognised: true,
        has_times: true,
        linted,
        failure: read.err().map(|error| Failure::input(&name, &error)),
    })
}

impl Look {
    /// Number of findings that are warnings.
    fn warnings(&self) -> usize {
        let findings = self.linted.findings.iter();
        let warnings = findings.filter(|finding| finding.severity == Severity::Warning);
        warnings.count()
    }

    /// Time from the first to the last slot, s; `None` if times are unknown.
    fn duration_s(&self) -> Option<f64> {
        self.has_times.then(|| self.linted.duration.as_secs_f64())
    }
}

fn print(args: &Args, look: Look) -> Outcome {
    let linted = &look.linted;
    if !look.has_times {
        note!(
            "lint",
            "the file has no send times: without --interval nothing that needs them is checked"
        );
    }
    headline!(
        "lint",
        "{}, {} with a warning, in {}",
        counted(linted.findings.len() as u64, "finding"),
        look.warnings(),
        counted(linted.slots, "slot")
    );
    let results = json!({
        "format": look.format,
        // Whether the content decided it.
        "recognised": look.recognised,
        "kind": linted.kind.map(|kind: TraceKind| kind.to_string()),
        "slots": linted.slots,
        "slots_erased": linted.erased,
        "duration_s": look.duration_s(),
        "findings": show::findings(&linted.findings).objects(),
        // Why the file was not read to its end; null if it was.
        "error": look.failure.as_ref().map(ToString::to_string),
    });
    let document = Document::new("tmt.lint/1", params(args), results);
    let mut output = Output::create(args.common.output.as_deref())?;
    // The exit code does not depend on whether anyone reads the findings to the end.
    let written = write(&mut output, args.common.json, &document, |_| {
        show::text(&look)
    });
    match written.and_then(|()| output.finish()) {
        Ok(()) | Err(Failure::ClosedPipe) => {}
        Err(failure) => return Err(failure),
    }
    match look.failure {
        Some(failure) => Err(failure),
        None if look.linted.has_warnings() => Err(Failure::Odd),
        None => Ok(()),
    }
}

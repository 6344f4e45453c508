//! `tmt apply`: reliability schemes over a PHY trace (link-layer.md §10).

use std::collections::BTreeMap;
use std::num::NonZero;

use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tmt_core::metadata::{EndLine, Metadata};
use tmt_core::scheme::{self, SchemeSpec};
use tmt_core::slot::Lldu;
use tmt_core::summary::{LinkSummary, LlduTally, SlotTally};
use tmt_core::text::Rows;
use tmt_core::units::Span;
use tmt_core::walk::Walk;
use tmt_core::{Error, Position};

use crate::exit::{Failure, Outcome, note, tell};
use crate::input::TraceArgs;
use crate::output::{Output, TimelineOutput, json, refuse_twice};
use crate::provenance;
use crate::quantity::{Origin, Rtt};
use crate::table::{Report, SHOWN_ATTEMPTS, millis, share};

/// Flags of `tmt apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!(
    "Schemes:\n  {}\n\nExample:\n  tmt apply --scheme harq:10/12 < phy.csv > timeline.csv\n  \
     tmt apply --scheme arq --scheme harq:10/12 -o 'out/{{scheme}}.csv' --summary link.json phy.csv",
    scheme::forms().join("\n  ")
))]
pub(crate) struct Args {
    /// The reliability scheme, such as harq:10/12; more than one with `{scheme}` in --output
    #[arg(long = "scheme", value_name = "SCHEME", required = true)]
    schemes: Vec<SchemeSpec>,
    /// Round-trip time of the link; else the metadata's, else 500ms
    #[arg(long)]
    rtt: Option<Span>,
    /// Extra delay of the feedback (0ns when left out), or `interleaver` for the metadata's `interleaver_ns`
    #[arg(long, value_name = "DURATION|interleaver")]
    feedback_delay: Option<Feedback>,
    /// Output file, `{scheme}` standing for the scheme; stdout when left out or `-`
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write no timeline, only the summary
    #[arg(long, conflicts_with = "output")]
    summary_only: bool,
    /// Format of the output
    #[arg(long, value_parser = ["csv"], default_value = "csv")]
    format: String,
    /// Write the summary as JSON, one object a scheme
    #[arg(long, value_name = "FILE")]
    summary: Option<String>,
    /// Schemes walked at the same time; all cores when left out. The output never depends on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    #[command(flatten)]
    trace: TraceArgs,
}

/// What `--feedback-delay` takes.
#[derive(Debug, Clone, Copy)]
enum Feedback {
    Interleaver,
    Of(Span),
}

impl std::str::FromStr for Feedback {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "interleaver" {
            return Ok(Self::Interleaver);
        }
        text.parse()
            .map(Self::Of)
            .map_err(|error| format!("{error}, or 'interleaver'"))
    }
}

/// One scheme at work, with where its timeline goes.
struct Run {
    walk: Walk,
    tally: LlduTally,
    lldus: Vec<Lldu>,
    output: Option<TimelineOutput>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let paths = places(args)?;
    let (name, mut reader) = args.trace.open("apply", false)?;
    let rtt = Rtt::resolve(args.rtt, reader.metadata());
    let feedback_delay = feedback_delay(args, reader.metadata())?;
    note!("apply", "{rtt}, feedback delay {}", feedback_delay.1);
    if let Some(told) = reader
        .metadata()
        .number("feedback_delay_ns")
        .and_then(Span::from_nanos)
        && told != feedback_delay.0
    {
        note!(
            "apply",
            "the metadata says feedback delay {told}, of a scheme applied before"
        );
    }
    if let Some(before) = reader.metadata().get("scheme") {
        note!(
            "apply",
            "the input is a timeline of {before} already; its LLDUs are taken as slots"
        );
    }

    let mut summary_file = args
        .summary
        .as_deref()
        .map(|path| Output::create(Some(path)))
        .transpose()?;
    let mut runs = Vec::new();
    for (scheme, path) in args.schemes.iter().zip(&paths) {
        let head = head(reader.metadata(), scheme, &rtt, feedback_delay.0);
        let output = if args.summary_only {
            None
        } else {
            Some(TimelineOutput::create(Some(path.as_str()), &head)?)
        };
        runs.push(Run {
            walk: Walk::new(scheme.clone(), rtt.value, feedback_delay.0),
            tally: LlduTally::default(),
            lldus: Vec::new(),
            output,
        });
    }
    let pool = pool(args.jobs, runs.len())?;
    let mut rows = Rows::default();
    let (mut before, mut slots) = (SlotTally::default(), 0);
    loop {
        // Rows in front of a faulty one still count: what is written never depends on how it was read.
        let read = reader.next_rows(&mut rows);
        match &pool {
            None => runs
                .iter_mut()
                .try_for_each(|run| run.step(&name, &rows, slots))?,
            Some(pool) => {
                // All outcomes, so that the first one in the order of the schemes is told.
                let step = |run: &mut Run| run.step(&name, &rows, slots);
                let outcomes: Vec<Outcome> =
                    pool.install(|| runs.par_iter_mut().map(step).collect());
                outcomes.into_iter().collect::<Outcome>()?;
            }
        }
        before.slots(&rows.slots);
        slots += rows.slots.len() as u64;
        if !read.map_err(|error| Failure::input(&name, &error))? {
            break;
        }
    }
    let tail = reader.tail();
    if tail.is_some_and(|tail| tail.cut) {
        note!("apply", "{name} has no end line: it was cut (--allow-cut)");
    }
    let told_end = tail.and_then(|tail| tail.end);
    let mut outputs = Vec::new();
    let mut summaries = Vec::new();
    for run in runs {
        let (walk, after, output) = run.finish(told_end)?;
        summaries.push(LinkSummary::new(
            walk.scheme(),
            rtt.value,
            feedback_delay.0,
            walk.units(),
            &before,
            &after,
        ));
        outputs.extend(output);
    }
    if let Some(file) = &mut summary_file {
        json(file, &summaries)?;
    }
    outputs.extend(summary_file);
    // Files get their names only when everything is where it goes.
    outputs.iter_mut().try_for_each(Output::settle)?;
    outputs.into_iter().try_for_each(Output::finish)?;
    tell(format_args!(
        "{}",
        summary_table(&summaries).to_string().trim_end()
    ));
    Ok(())
}

/// Threads for the schemes: no more than there are schemes to walk or cores to walk them; none for one.
fn pool(jobs: Option<u16>, schemes: usize) -> Outcome<Option<ThreadPool>> {
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = jobs.map_or(cores, usize::from).min(schemes).min(cores);
    if threads < 2 {
        return Ok(None);
    }
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map(Some)
        .map_err(Failure::failed)
}

impl Run {
    /// Takes rows, in front of which there were `before` in the input.
    fn step(&mut self, name: &str, rows: &Rows, before: u64) -> Outcome {
        let walked = self.walk.slots(&rows.slots, &mut self.lldus);
        self.drain()?;
        walked.map_err(|(index, kind)| {
            let position = Position {
                line: rows.line(index),
                column: 1,
                row: before + index as u64 + 1,
            };
            Failure::input(name, &Error::at(kind, position))
        })
    }

    fn drain(&mut self) -> Outcome {
        self.tally.lldus(&self.lldus);
        if let Some(output) = &mut self.output {
            output.lldus(&self.lldus)?;
        }
        self.lldus.clear();
        Ok(())
    }

    fn finish(mut self, told: Option<EndLine>) -> Outcome<(Walk, LlduTally, Option<Output>)> {
        let mut end = self.walk.finish(&mut self.lldus);
        self.drain()?;
        if let Some(told) = told {
            end.usable_until = end.usable_until.min(told.usable_until);
        }
        let output = self.output.map(|output| output.end(&end)).transpose()?;
        Ok((self.walk, self.tally, output))
    }
}

/// Where each scheme's timeline goes, when no file would be written twice or read and written.
fn places(args: &Args) -> Outcome<Vec<String>> {
    let paths = output_paths(args)?;
    if args.summary.as_deref() == Some("-")
        && !args.summary_only
        && paths.iter().any(|path| path == "-")
    {
        return Err(Failure::usage(
            "--summary - and the timeline cannot both go to stdout",
        ));
    }
    if args
        .summary
        .as_ref()
        .is_some_and(|summary| summary.contains("{scheme}"))
    {
        return Err(Failure::usage(
            "--summary holds all schemes: {scheme} has no meaning there",
        ));
    }
    let outputs = if args.summary_only {
        &[][..]
    } else {
        &paths[..]
    };
    let files = outputs.iter().chain(&args.summary).chain(&args.trace.trace);
    refuse_twice(files.map(String::as_str))?;
    Ok(paths)
}

/// The output's name for each scheme.
fn output_paths(args: &Args) -> Outcome<Vec<String>> {
    let pattern = args.output.as_deref().unwrap_or("-");
    let paths: Vec<String> = args
        .schemes
        .iter()
        .map(|scheme| pattern.replace("{scheme}", &file_name(scheme)))
        .collect();
    if args.summary_only {
        return Ok(paths);
    }
    let mut taken: BTreeMap<&str, &SchemeSpec> = BTreeMap::new();
    for (path, scheme) in paths.iter().zip(&args.schemes) {
        if let Some(first) = taken.insert(path, scheme) {
            let place = if path == "-" { "stdout" } else { path };
            return Err(Failure::usage(format!(
                "{first} and {scheme} would both be written to {place}: put {{scheme}} into --output"
            )));
        }
    }
    Ok(paths)
}

/// A scheme's text as part of a file name.
fn file_name(scheme: &SchemeSpec) -> String {
    scheme
        .text()
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "._-".contains(c) {
                c
            } else {
                '-'
            }
        })
        .collect()
}

/// The feedback delay and the words that say where it came from.
fn feedback_delay(args: &Args, head: &Metadata) -> Outcome<(Span, String)> {
    match args.feedback_delay {
        None => Ok((
            Span::ZERO,
            "0s (default, as in the papers' equations)".to_owned(),
        )),
        Some(Feedback::Of(span)) => Ok((span, format!("{span} (--feedback-delay)"))),
        Some(Feedback::Interleaver) => match head.interleaver() {
            Some(span) => Ok((span, format!("{span} (interleaver_ns of the metadata)"))),
            None => Err(Failure::failed(
                "--feedback-delay interleaver: found no interleaver_ns in the metadata, expected one (or say a duration)",
            )),
        },
    }
}

/// The head of a timeline: that of the trace, and what this stage adds.
fn head(input: &Metadata, scheme: &SchemeSpec, rtt: &Rtt, feedback_delay: Span) -> Metadata {
    if !input.is_head() {
        return Metadata::new();
    }
    let mut head = input.clone();
    let used = feedback_delay.as_nanos();
    if let Some(told) = head
        .number("feedback_delay_ns")
        .filter(|told| *told != used)
    {
        provenance::overridden(
            &mut head,
            "feedback_delay_ns",
            "--feedback-delay",
            told,
            used,
        );
    }
    head.set("scheme", scheme.text());
    head.set("rtt_ns", rtt.value.as_nanos().to_string());
    head.set("feedback_delay_ns", feedback_delay.as_nanos().to_string());
    if let (Origin::Flag, Some(told)) = (rtt.origin, rtt.overridden) {
        provenance::overridden(
            &mut head,
            "rtt_ns",
            "--rtt",
            told.as_nanos(),
            rtt.value.as_nanos(),
        );
    }
    head.push(
        "stage",
        format!(
            "tmt apply --scheme {scheme} --rtt {} --feedback-delay {feedback_delay}",
            rtt.value
        ),
    );
    head
}

fn summary_table(summaries: &[LinkSummary]) -> Report {
    let mut report = Report::new(
        std::iter::once("").chain(summaries.iter().map(|summary| summary.scheme.as_str())),
    );
    let mut row = |name: &str, value: &dyn Fn(&LinkSummary) -> String| {
        report.row(name, summaries.iter().map(value));
    };
    row("slots", &|s| s.slots.to_string());
    row("  data units", &|s| s.units_data.to_string());
    row("  repair units", &|s| s.units_repair.to_string());
    row("  repeated units", &|s| s.units_repeated.to_string());
    row("slots erased", &|s| s.slots_erased.to_string());
    row("erasure ratio", &|s| share(s.erasure_ratio));
    row("LLDUs delivered", &|s| s.delivered.to_string());
    row("LLDUs lost", &|s| s.lost.to_string());
    row("LLDUs censored", &|s| s.censored.to_string());
    row("efficiency", &|s| share(s.efficiency));
    row("residual loss", &|s| share(s.residual_loss));
    row("delay min ms", &|s| millis(s.delay_s.min));
    row("delay mean ms", &|s| millis(s.delay_s.mean));
    row("delay p50 ms", &|s| millis(s.delay_s.p50));
    row("delay p85 ms", &|s| millis(s.delay_s.p85));
    row("delay p95 ms", &|s| millis(s.delay_s.p95));
    row("delay p99 ms", &|s| millis(s.delay_s.p99));
    row("delay max ms", &|s| millis(s.delay_s.max));
    row("longest burst before", &|s| {
        longest(s.bursts_before.keys().last())
    });
    row("longest burst after", &|s| {
        longest(s.bursts_after.keys().last())
    });
    let most = summaries
        .iter()
        .filter_map(|summary| summary.attempts.keys().last().copied())
        .max()
        .unwrap_or(0);
    for attempts in 1..=most.min(SHOWN_ATTEMPTS) {
        row(&format!("delivered in attempt {attempts}"), &|s| {
            s.attempts.get(&attempts).copied().unwrap_or(0).to_string()
        });
    }
    if most > SHOWN_ATTEMPTS {
        row("delivered later", &|s| {
            s.attempts
                .range(SHOWN_ATTEMPTS + 1..)
                .map(|(_, count)| count)
                .sum::<u64>()
                .to_string()
        });
    }
    report
}

fn longest(length: Option<&u64>) -> String {
    length.map_or_else(|| "-".to_owned(), ToString::to_string)
}

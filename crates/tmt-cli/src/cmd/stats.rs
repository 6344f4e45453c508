//! `tmt stats`: statistics of a trace or timeline.

pub(crate) mod figures;

use std::iter;

use serde::Serialize;
use tmt_core::pipeline::collect;
use tmt_core::stats::{TraceStats, TraceTally, unit_question, wrong_unit};
use tmt_core::types::Span;

use crate::exit::{Failure, Outcome, note, warning};
use crate::input::{TraceArgs, note_reading};
use crate::output::document::{Document, Shape};
use crate::output::{Output, refuse_shared_files, refuse_two_on_stdout};
use crate::table::{Report, write};

use self::figures::figures;

/// Flags of `tmt stats`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt stats --json phy.csv\n  tmt apply --scheme harq:10/12 < phy.csv | tmt stats"
)]
pub(crate) struct Args {
    #[command(flatten)]
    trace: TraceArgs,
    /// RTT of the link, half of which is part of the one-way delay [default: from the trace]
    #[arg(long)]
    rtt: Option<Span>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Write the results to a file too: JSON, or a row in the format of the extension (.csv, .csv.gz, .csv.zst, .parquet)
    #[arg(long, value_name = "FILE")]
    summary: Option<String>,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Settings of the statistics.
#[derive(Debug, Serialize)]
struct Params {
    rtt_ns: Option<u64>,
    lldu_bytes: Option<u64>,
}

pub(crate) fn run(args: &Args) -> Outcome {
    refuse_shared_files(
        args.trace
            .trace
            .iter()
            .chain(&args.output)
            .chain(&args.summary)
            .map(String::as_str),
    )?;
    let summary = args.summary.as_deref();
    refuse_two_on_stdout("--summary", summary, args.output.as_deref())?;
    let shape = summary.map(|path| Shape::of("--summary", path));
    let shape = shape.transpose()?.unwrap_or(Shape::Json);
    let (name, mut reader) = args.trace.open("stats", true)?;
    let mut output = Output::create(args.output.as_deref())?;
    let file = summary.map(|path| Output::create(Some(path)));
    let mut file = file.transpose()?;
    let mut tally = TraceTally::default();
    collect(&mut reader, |rows| tally.slots(&rows.slots, &rows.attempts))
        .map_err(|error| Failure::input(&name, &error))?;
    note_reading("stats", &name, &reader);
    let head = reader.metadata();
    if let (Some(rtt), Some(stored)) = (args.rtt, head.rtt())
        && stored != rtt
    {
        note!(
            "stats",
            "--rtt {rtt} overrides rtt {stored} of the metadata"
        );
    }
    if let (Some(lldu), Some(stored)) = (args.trace.read.lldu, head.lldu_bytes())
        && stored != lldu
    {
        note!(
            "stats",
            "--lldu {lldu} overrides the LLDU of {stored} of the metadata"
        );
    }
    let stats = tally.finish(reader.metadata(), args.rtt, args.trace.read.lldu);
    if let Some(found) = wrong_unit(stats.slot_period_s, stats.decode_delay_s.p50) {
        let question = unit_question("--unit", reader.metadata());
        warning!("stats", "{found}: {question}");
    }
    let params = Params {
        rtt_ns: stats.rtt_ns,
        lldu_bytes: stats.lldu_bytes,
    };
    let document = Document::new("tmt.stats/1", params, stats);
    write(&mut output, args.json, &document, table)?;
    if let Some(file) = &mut file {
        document.summarise(file, shape)?;
    }
    let mut outputs: Vec<Output> = iter::once(output).chain(file).collect();
    outputs.iter_mut().try_for_each(Output::settle)?;
    outputs.into_iter().try_for_each(Output::finish)
}

fn table(stats: &TraceStats) -> String {
    let mut report = Report::new(["", "value"]);
    for (name, value) in figures(stats) {
        report.row(&name, [value.text()]);
    }
    report.to_string()
}

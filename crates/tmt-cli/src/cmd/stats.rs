//! `tmt stats`: statistics of a trace or timeline.

pub(crate) mod figures;
mod rates;
mod resample;
mod segments;

use std::iter;

use serde_json::json;
use tmt_core::pipeline::collect;
use tmt_core::stats::{
    ResampleTally, SegmentSettings, SegmentTally, TraceTally, unit_question, wrong_unit,
};
use tmt_core::types::{Metadata, Span};

use crate::exit::{Failure, Outcome, note, warning};
use crate::input::{TraceArgs, note_reading};
use crate::output::document::{Document, Shape, object};
use crate::output::{Output, refuse_shared_files, refuse_two_on_stdout};
use crate::quantity::whole;
use crate::table::{Table, write};

use self::figures::figures;
use self::rates::{RateArgs, Rates};
use self::resample::{Intervals, ResampleArgs};
use self::segments::SegmentArgs;

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
    #[command(flatten)]
    segments: SegmentArgs,
    #[command(flatten)]
    rate: RateArgs,
    #[command(flatten)]
    resample: ResampleArgs,
    /// Seed of what is drawn: the blocks of --resample, and what chance gives on the grid of --segments [default: 1]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0, u64::MAX))]
    seed: Option<u64>,
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

pub(crate) fn run(args: &Args) -> Outcome {
    refuse_shared_files(
        args.trace
            .trace
            .iter()
            .chain(&args.output)
            .chain(&args.summary)
            .chain(&args.rate.rates)
            .map(String::as_str),
    )?;
    let seed = args.seed.unwrap_or(1);
    let settings = args.segments.settings(seed)?;
    let resampling = args.resample.settings(seed)?;
    let is_random = settings.is_some() || resampling.is_some();
    if args.seed.is_some() && !is_random {
        return Err(Failure::usage(
            "--seed: expected --resample or --segments, nothing else is drawn",
        ));
    }
    let summary = args.summary.as_deref();
    refuse_two_on_stdout("--summary", summary, args.output.as_deref())?;
    let rates_form = args.rate.form(args.output.as_deref())?;
    let shape = summary.map(|path| Shape::of("--summary", path));
    let shape = shape.transpose()?.unwrap_or(Shape::Json);
    let (name, mut reader) = args.trace.open("stats", true)?;
    let mut output = Output::create(args.output.as_deref())?;
    let file = summary.map(|path| Output::create(Some(path)));
    let mut file = file.transpose()?;
    let lldu = args.trace.read.lldu.or(reader.metadata().lldu_bytes());
    let mut rates = args.rate.begin(rates_form, reader.metadata(), lldu)?;
    let shortest_is_known = reader.metadata().get("propagation_removed_ns").is_some();
    let settings = settings.map(|settings| SegmentSettings {
        shortest_is_known,
        ..settings
    });
    let mut segments = settings.map(SegmentTally::new);
    let mut cells = resampling.map(|_| ResampleTally::default());
    let mut tally = TraceTally::default();
    collect(&mut reader, |rows| {
        tally.slots(&rows.slots, &rows.attempts);
        if let Some(segments) = &mut segments {
            segments.slots(&rows.slots);
        }
        if let Some(cells) = &mut cells {
            cells.slots(&rows.slots);
        }
        if let Some(rates) = &mut rates {
            rates.slots(&rows.slots);
        }
    })
    .map_err(|error| Failure::input(&name, &error))?;
    note_reading("stats", &name, &reader);
    let head = reader.metadata();
    note_overrides(args, head);
    let rtt = args.rtt.or(head.rtt());
    let resampled = cells.zip(resampling).map(|(cells, settings)| {
        Intervals::new(settings, cells.finish(&tally, settings, rtt, lldu))
    });
    let mut stats = tally.finish(reader.metadata(), args.rtt, args.trace.read.lldu);
    stats.rates = rates.as_ref().and_then(Rates::figures);
    if let Some(rates) = rates.as_ref().filter(|_| stats.rates.is_none()) {
        rates.warn();
    }
    let kind = reader.metadata().trace_kind();
    if let Some(found) = wrong_unit(kind, stats.slot_period_s, stats.decode_delay_s.p50) {
        let question = unit_question("--unit", reader.metadata());
        warning!("stats", "{found}: {question}");
    }
    let mut params = json!({ "rtt_ns": stats.rtt_ns, "lldu_bytes": stats.lldu_bytes });
    if is_random {
        params["seed"] = json!(seed);
    }
    if let Some(resampled) = &resampled {
        resampled.warn(&stats);
    }
    let segments = segments.map(SegmentTally::finish);
    let mut results = object(&stats)?;
    if let Some(segments) = &segments {
        results.insert("segments".to_owned(), json!(segments));
    }
    if let Some(resampled) = &resampled {
        results.insert("resampled".to_owned(), json!(resampled));
    }
    let document = Document::new("tmt.stats/1", params, results);
    write(&mut output, args.json, &document, |_| {
        let mut text = Table::of(figures(&stats, true))
            .words("", |(name, _)| name.clone())
            .plain("value", |(_, value)| value.text())
            .to_string();
        text += &resampled.map_or_else(String::new, |found| found.table(seed));
        text += &segments.map_or_else(String::new, |found| segments::tables(&found));
        text
    })?;
    if let Some(file) = &mut file {
        document.summarise(file, shape)?;
    }
    let rates = rates.map(Rates::write).transpose()?.flatten();
    let files = file.into_iter().chain(rates);
    let mut outputs: Vec<Output> = iter::once(output).chain(files).collect();
    outputs.iter_mut().try_for_each(Output::settle)?;
    outputs.into_iter().try_for_each(Output::finish)
}

/// Says which values of the metadata flags replace.
fn note_overrides(args: &Args, head: &Metadata) {
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
}

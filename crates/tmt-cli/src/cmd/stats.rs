//! `tmt stats`: statistics of a trace or timeline.

use std::iter;

use serde::Serialize;
use tmt_core::format::text::encode;
use tmt_core::pipeline::collect;
use tmt_core::stats::distribution::Quantiles;
use tmt_core::stats::runs::RunLengths;
use tmt_core::stats::{TraceStats, TraceTally, ratio, unit_question, wrong_unit};
use tmt_core::types::Span;

use crate::exit::{Failure, Outcome, note, warning};
use crate::input::{TraceArgs, note_reading};
use crate::output::document::{Document, Shape};
use crate::output::{Output, refuse_shared_files, refuse_two_on_stdout};
use crate::table::{Report, SHOWN_ATTEMPTS, later, longest, millis, number, share, write};

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
    let mut row = |name: &str, value: String| report.row(name, [value]);
    row("slots", stats.slots.to_string());
    row("first slot s", seconds(stats.first_ns));
    row("last slot s", seconds(stats.last_ns));
    row(
        "slot period, mean us",
        number(stats.slot_period_s.map(|s| s * 1e6), 3),
    );
    row(
        "slot period, max ms",
        millis(Some(stats.longest_slot_period_s)),
    );
    row("slots per second", number(stats.slots_per_s, 3));
    row("rate bps", number(stats.rate_bps, 0));
    row("slots erased", stats.slots_erased.to_string());
    row("erasure ratio", share(stats.erasure_ratio));
    row("P(received after received), alpha", share(stats.alpha));
    row("P(erased after erased), beta", share(stats.beta));
    for (name, lengths) in [("burst", &stats.bursts), ("gap", &stats.gaps)] {
        row(
            &format!("{name}s"),
            lengths.values().sum::<u64>().to_string(),
        );
        row(
            &format!("{name} length, mean"),
            number(mean_length(lengths), 3),
        );
        row(&format!("{name} length, longest"), longest(lengths));
    }
    let delays = [
        ("decoding delay", Some(stats.decode_delay_s)),
        ("one-way delay", stats.delay_s),
    ];
    for (name, delay) in delays {
        let Some(delay) = delay else { continue };
        for (which, quantile) in Quantiles::ALL {
            row(&format!("{name} {which} ms"), millis(quantile(&delay)));
        }
    }
    for (attempts, count) in stats.attempts.range(..=SHOWN_ATTEMPTS) {
        row(
            &format!("received in attempt {attempts}"),
            count.to_string(),
        );
    }
    let later = later(&stats.attempts);
    if later > 0 {
        row("received in later attempts", later.to_string());
    }
    report.to_string()
}

/// A time in seconds as in a trace.
fn seconds(nanos: u64) -> String {
    let mut text = Vec::new();
    encode::seconds(nanos, &mut text);
    String::from_utf8_lossy(&text).into_owned()
}

/// Mean of run lengths.
fn mean_length(lengths: &RunLengths) -> Option<f64> {
    ratio(
        lengths.iter().map(|(length, count)| length * count).sum(),
        lengths.values().sum(),
    )
}

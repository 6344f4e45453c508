//! `tmt apply`: applies reliability schemes to a PHY trace (docs/schemes.md, Sec. 9).

use serde_json::json;
use tmt_core::format::import::render_keys;
use tmt_core::pipeline::{Apply, Lane};
use tmt_core::scheme::{self, SchemeSpec};
use tmt_core::stats::LinkSummary;
use tmt_core::stats::distribution::Quantiles;
use tmt_core::stats::runs::RunLengths;
use tmt_core::types::{Note, Severity, Span};
use tmt_link::apply::{self, FeedbackDelay, Transform};

use crate::exit::{Failure, Outcome, Verbosity, headline, note, print_at, warning};
use crate::input::{TraceArgs, flag, note_reading};
use crate::output::document::{Document, Shape};
use crate::output::{self, FormatArgs, Output, refuse_shared_files};
use crate::quantity::SchemeParser;
use crate::table::{SHOWN_ATTEMPTS, Show, Table, counted, later};

/// Flags of `tmt apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = format!(
    "Schemes:\n  {}\n\nExample:\n  tmt apply --scheme harq:10/12 < phy.csv > timeline.csv\n  \
     tmt apply --scheme arq --scheme harq:10/12 \\\n    \
     -o 'out/{{scheme}}.csv' --summary link.json phy.csv",
    scheme::forms().join("\n  ")
))]
pub(crate) struct Args {
    /// Reliability scheme, e.g. harq:10/12; repeat for more schemes, with `{scheme}` in --output
    #[arg(
        long = "scheme",
        value_name = "SCHEME",
        required = true,
        value_parser = SchemeParser,
        hide_possible_values = true
    )]
    schemes: Vec<SchemeSpec>,
    /// RTT of the link [default: from the trace, else 500ms]
    #[arg(long)]
    rtt: Option<Span>,
    /// Let --rtt replace another RTT in the head of the trace, which is otherwise refused
    #[arg(long)]
    replace_head: bool,
    /// Delay of the feedback beyond the RTT; `decode` uses the median decoding delay, `interleaver` `interleaver_ns` of
    /// the metadata [default: decode, or 0s if all slots are erased]
    #[arg(long, value_name = "DURATION|decode|interleaver")]
    feedback_delay: Option<FeedbackDelay>,
    /// Output file; `{scheme}` is replaced by the scheme [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    /// Write only the summary, no timeline; as a table to stdout unless --summary names a file
    #[arg(long, conflicts_with_all = ["output", "format", "no_head"])]
    summary_only: bool,
    #[command(flatten)]
    format: FormatArgs,
    /// Write the summary to a file: JSON, or a row per scheme in the format of the extension (.csv, .csv.gz, .csv.zst,
    /// .parquet)
    #[arg(long, value_name = "FILE")]
    summary: Option<String>,
    #[command(flatten)]
    trace: TraceArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let paths = output_paths(args)?;
    let shape = args.summary.as_deref();
    let shape = shape.map(|path| Shape::of("--summary", path)).transpose()?;
    let (name, mut reader) = args.trace.open("apply", false)?;
    let transform = Transform::resolve(
        args.schemes.clone(),
        args.rtt,
        args.replace_head,
        args.feedback_delay,
        &mut reader,
    );
    let flagged = |text: &str| render_keys(text, flag);
    let transform = transform.map_err(|error| {
        let told = flagged(&error.to_string());
        match error {
            apply::Error::OtherRtt(_) => Failure::usage(told),
            _ => Failure::failed(told),
        }
    })?;
    for Note { severity, text } in &transform.notes {
        match severity {
            Severity::Warning => warning!("apply", "{}", flagged(text)),
            Severity::Info | Severity::Notice => note!("apply", "{}", flagged(text)),
        }
    }

    let summary_file = args.summary.as_deref();
    let summary_file = summary_file.map(|path| Output::create(Some(path)));
    let mut summary_file = summary_file.transpose()?;
    let begun = args.trace.read.begun(reader.metadata())?;
    let lanes = args.schemes.iter().enumerate().map(|(index, scheme)| {
        let head = transform.head(&begun, scheme);
        let head = args.format.head(head);
        let path = paths.get(index).map(String::as_str);
        let open = |path| output::writer(path, args.format.of(path)?, &head);
        let writer = path.map(|path| open(Some(path))).transpose()?;
        let (rtt, feedback_delay) = (transform.rtt, transform.feedback_delay);
        Ok(Lane::new(scheme.clone(), rtt, feedback_delay, writer))
    });
    let lanes = lanes.collect::<Outcome<Vec<_>>>()?;
    let names: Vec<&str> = paths.iter().map(|path| output::shown(Some(path))).collect();
    let ends = Apply::new(lanes)
        .run(&mut reader)
        .map_err(|error| Failure::stage(&name, &names, &error))?;
    note_reading("apply", &name, &reader);
    let ends = ends.into_iter().map(|end| (end.summary, end.output));
    let (summaries, outputs): (Vec<LinkSummary>, Vec<Option<Output>>) = ends.unzip();
    let params = json!({
        "rtt_ns": transform.rtt.as_nanos(),
        "feedback_delay_ns": transform.feedback_delay.as_nanos(),
    });
    if let (Some(file), Some(shape)) = (&mut summary_file, shape) {
        Document::new("tmt.apply/1", params, &summaries).summarise(file, shape)?;
    }
    let mut outputs: Vec<Output> = outputs.into_iter().flatten().chain(summary_file).collect();
    // Files get their final names only after everything is written.
    outputs.iter_mut().try_for_each(Output::close)?;
    outputs.into_iter().try_for_each(Output::finish)?;
    if let Some(summary) = summaries.first() {
        headline!(
            "apply",
            "{} over {}, {} erased; {}",
            transform.scheme_names(),
            counted(summary.slots, "slot"),
            summary.slots_erased,
            flagged(&transform.settings)
        );
    }
    let table = summary_table(&summaries);
    if args.summary_only && args.summary.is_none() {
        // The table is all that was asked for.
        let mut output = Output::create(None)?;
        output.show(&table)?;
        output.finish()?;
    } else {
        print_at(Verbosity::Verbose, format_args!("{}", table.trim_end()));
    }
    Ok(())
}

/// Output path of each scheme's timeline, none with `--summary-only`. Refuses a file that has two uses.
fn output_paths(args: &Args) -> Outcome<Vec<String>> {
    let pattern = args.output.as_deref().unwrap_or("-");
    let mut paths: Vec<String> = Vec::new();
    for scheme in args.schemes.iter().filter(|_| !args.summary_only) {
        let path = pattern.replace("{scheme}", &file_name(scheme));
        if let Some(first) = paths.iter().position(|taken| *taken == path) {
            let first = &args.schemes[first];
            let place = if path == "-" { "stdout" } else { &path };
            return Err(Failure::usage(format!(
                "{first} and {scheme} would both be written to {place}; put {{scheme}} into --output"
            )));
        }
        paths.push(path);
    }
    let summary = args.summary.as_deref().unwrap_or_default();
    if output::is_stdout(summary) && paths.iter().any(|path| output::is_stdout(path)) {
        return Err(Failure::usage(
            "--summary - and the timeline cannot both go to stdout; name a file for --output or --summary",
        ));
    }
    if summary.contains("{scheme}") {
        return Err(Failure::usage(
            "--summary has all schemes in one file; remove {scheme} from its name",
        ));
    }
    for path in &paths {
        args.format.of(Some(path))?;
    }
    let files = paths.iter().chain(&args.summary).chain(&args.trace.trace);
    refuse_shared_files(files.map(String::as_str))?;
    Ok(paths)
}

/// The scheme as part of a file name.
fn file_name(scheme: &SchemeSpec) -> String {
    let stays = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let text = scheme.text().chars();
    text.map(|c| if stays(c) { c } else { '-' }).collect()
}

fn summary_table(summaries: &[LinkSummary]) -> String {
    let share = Show::Decimals(6);
    let longest = |lengths: &RunLengths| lengths.keys().last().copied();
    let mut table = Table::of(summaries)
        .words("", |s| s.scheme.as_str())
        .plain("slots", |s| s.slots)
        .plain("  data units", |s| s.units_data)
        .plain("  repair units", |s| s.units_repair)
        .plain("  repeated units", |s| s.units_repeated)
        .plain("slots erased", |s| s.slots_erased)
        .number("erasure ratio", share, |s| s.erasure_ratio)
        .plain("LLDUs delivered", |s| s.delivered)
        .plain("LLDUs lost", |s| s.lost)
        .plain("LLDUs censored", |s| s.censored)
        .number("efficiency", share, |s| s.efficiency)
        .number("residual loss", share, |s| s.residual_loss);
    for (which, quantile) in Quantiles::ALL {
        let label = format!("delay {which} ms");
        table = table.number(label, Show::Milli, |s| quantile(&s.delay_s));
    }
    table = table
        .number("reordered LLDUs / delivered", share, |s| s.reordered_share)
        .plain("reordering max LLDUs", |s| s.reordering_max_lldus)
        .number("reordering max ms", Show::Milli, |s| s.reordering_max_s)
        .plain("longest burst, slots", |s| longest(&s.bursts_before))
        .plain("longest burst, LLDUs", |s| longest(&s.bursts_after));
    let attempts = summaries.iter().flat_map(|summary| summary.attempts.keys());
    let most = attempts.max().copied().unwrap_or(0);
    for attempts in 1..=most.min(SHOWN_ATTEMPTS) {
        table = table.plain(format!("delivered in attempt {attempts}"), |s| {
            s.attempts.get(&attempts).copied().unwrap_or(0)
        });
    }
    if most > SHOWN_ATTEMPTS {
        table = table.plain("delivered in later attempts", |s| later(&s.attempts));
    }
    table.transposed().to_string()
}

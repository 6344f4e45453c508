//! `tmt apply`: reliability schemes over a PHY trace (link-layer.md §10).

use tmt_core::pipeline::{Apply, Lane};
use tmt_core::scheme::{self, SchemeSpec};
use tmt_core::stats::LinkSummary;
use tmt_core::types::{Metadata, Span};

use crate::exit::{Failure, Outcome, note, say};
use crate::input::{TraceArgs, tell_cut};
use crate::output::{self, FormatArgs, Output, json, refuse_twice};
use crate::provenance;
use crate::quantity::{Feedback, Rtt};
use crate::table::{QUANTILES, Report, SHOWN_ATTEMPTS, later, longest, millis, share};

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
    #[arg(long, conflicts_with_all = ["output", "format"])]
    summary_only: bool,
    #[command(flatten)]
    format: FormatArgs,
    /// Write the summary as JSON, one object a scheme
    #[arg(long, value_name = "FILE")]
    summary: Option<String>,
    #[command(flatten)]
    trace: TraceArgs,
}

pub(crate) fn run(args: &Args) -> Outcome {
    let paths = places(args)?;
    let (name, mut reader) = args.trace.open("apply", false)?;
    let rtt = Rtt::resolve(args.rtt, reader.metadata());
    let (feedback_delay, origin) = Feedback::resolve(args.feedback_delay, reader.metadata())?;
    note!("apply", "{rtt}, feedback delay {origin}");
    let told = reader.metadata().number("feedback_delay_ns");
    if let Some(told) = told.and_then(Span::from_nanos)
        && told != feedback_delay
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

    let summary_file = args.summary.as_deref();
    let summary_file = summary_file.map(|path| Output::create(Some(path)));
    let mut summary_file = summary_file.transpose()?;
    let lanes = args.schemes.iter().enumerate().map(|(index, scheme)| {
        let head = head(reader.metadata(), scheme, &rtt, feedback_delay);
        let path = paths.get(index).map(String::as_str);
        let open = |path| output::writer(path, args.format.of(path)?, &head);
        let writer = path.map(|path| open(Some(path))).transpose()?;
        Ok(Lane::new(scheme.clone(), rtt.value, feedback_delay, writer))
    });
    let lanes = lanes.collect::<Outcome<Vec<_>>>()?;
    let places: Vec<&str> = paths.iter().map(|path| output::shown(Some(path))).collect();
    let ends = Apply::new(lanes)
        .run(&mut reader)
        .map_err(|error| Failure::stage(&name, &places, &error))?;
    tell_cut("apply", &name, &reader);
    let ends = ends.into_iter().map(|end| (end.summary, end.output));
    let (summaries, outputs): (Vec<LinkSummary>, Vec<Option<Output>>) = ends.unzip();
    if let Some(file) = &mut summary_file {
        json(file, &summaries)?;
    }
    let mut outputs: Vec<Output> = outputs.into_iter().flatten().chain(summary_file).collect();
    // Files get their names only when everything is where it goes.
    outputs.iter_mut().try_for_each(Output::settle)?;
    outputs.into_iter().try_for_each(Output::finish)?;
    let table = summary_table(&summaries).to_string();
    say(format_args!("{}", table.trim_end()));
    Ok(())
}

/// Where each scheme's timeline goes, if it is written, when no file would be written twice or read and written.
fn places(args: &Args) -> Outcome<Vec<String>> {
    let pattern = args.output.as_deref().unwrap_or("-");
    let mut paths: Vec<String> = Vec::new();
    for scheme in args.schemes.iter().filter(|_| !args.summary_only) {
        let path = pattern.replace("{scheme}", &file_name(scheme));
        if let Some(first) = paths.iter().position(|taken| *taken == path) {
            let first = &args.schemes[first];
            let place = if path == "-" { "stdout" } else { &path };
            return Err(Failure::usage(format!(
                "{first} and {scheme} would both be written to {place}: put {{scheme}} into --output"
            )));
        }
        paths.push(path);
    }
    let summary = args.summary.as_deref().unwrap_or_default();
    if output::is_stdout(summary) && paths.iter().any(|path| output::is_stdout(path)) {
        return Err(Failure::usage(
            "--summary - and the timeline cannot both go to stdout",
        ));
    }
    if summary.contains("{scheme}") {
        return Err(Failure::usage(
            "--summary holds all schemes: {scheme} has no meaning there",
        ));
    }
    for path in &paths {
        args.format.of(Some(path))?;
    }
    let files = paths.iter().chain(&args.summary).chain(&args.trace.trace);
    refuse_twice(files.map(String::as_str))?;
    Ok(paths)
}

/// A scheme's text as part of a file name.
fn file_name(scheme: &SchemeSpec) -> String {
    let stays = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    let text = scheme.text().chars();
    text.map(|c| if stays(c) { c } else { '-' }).collect()
}

/// The head of a timeline: that of the trace, and what this stage adds.
fn head(input: &Metadata, scheme: &SchemeSpec, rtt: &Rtt, feedback_delay: Span) -> Metadata {
    if !input.is_head() {
        return Metadata::new();
    }
    let mut head = input.clone();
    let (rtt_ns, delay_ns) = (rtt.value.as_nanos(), feedback_delay.as_nanos());
    let told = head.number("feedback_delay_ns");
    if let Some(told) = told.filter(|told| *told != delay_ns) {
        let flag = "--feedback-delay";
        provenance::overridden(&mut head, "feedback_delay_ns", flag, told, delay_ns);
    }
    head.set("scheme", scheme.text());
    head.set("rtt_ns", rtt_ns.to_string());
    head.set("feedback_delay_ns", delay_ns.to_string());
    if let Some(told) = rtt.overridden {
        provenance::overridden(&mut head, "rtt_ns", "--rtt", told.as_nanos(), rtt_ns);
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
    for (which, quantile) in QUANTILES {
        row(&format!("delay {which} ms"), &|s| {
            millis(quantile(&s.delay_s))
        });
    }
    row("longest burst before", &|s| longest(&s.bursts_before));
    row("longest burst after", &|s| longest(&s.bursts_after));
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
        row("delivered later", &|s| later(&s.attempts).to_string());
    }
    report
}

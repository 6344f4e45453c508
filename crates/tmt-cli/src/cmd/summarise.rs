//! `tmt summarise`: means and intervals of the results of `tmt sweep` (docs/sweeps.md, Sec. 5).

use std::fs::File;

use fluid_tcp::experiment::Parameter;
use fluid_tcp::simulation::metrics::{Metrics, Show, Total};
use serde::Serialize;
use tmt_core::format::records::Records as Table;
use tmt_study::summary::{Group, Summary, summarise};

use crate::exit::{Failure, Outcome, headline, warning};
use crate::output::document::Document;
use crate::output::{Output, json};
use crate::table::Report;

/// Flags of `tmt summarise`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt summarise results.parquet --by scheme,cc\n  \
    tmt summarise results.parquet --by cc --metric goodput_bps,total_jain_index --json"
)]
pub(crate) struct Args {
    /// Table of results: Parquet or CSV
    results: String,
    /// Columns whose values make the groups [default: one group]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    by: Vec<String>,
    /// Columns of which means are taken [default: goodput, delay, completion time, retransmissions]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    metric: Vec<String>,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// What was asked for.
#[derive(Debug, Serialize)]
struct Params<'a> {
    by: &'a [String],
    metrics: &'a [String],
}

pub(crate) fn run(args: &Args) -> Outcome {
    let name = &args.results;
    let file = File::open(name).map_err(|error| Failure::io(name, &error))?;
    let table = Table::read(file).map_err(|error| {
        Failure::failed(format!(
            "{}; expected a table of results, CSV or Parquet, as `tmt sweep -o` writes it",
            error.message_in(name)
        ))
    })?;
    let keys: Vec<String> = args.by.iter().map(|name| column(&table, name)).collect();
    let summary = summarise(&table, &keys, &args.metric);
    let summary = summary.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let mut output = Output::create(args.output.as_deref())?;
    if args.json {
        let params = Params {
            by: &summary.by,
            metrics: &summary.metrics,
        };
        json(
            &mut output,
            &Document::new("tmt.summarise/1", params, &summary.groups),
        )?;
    } else {
        output.write(shown(&summary).as_bytes())?;
    }
    output.finish()?;
    for text in lacking(&summary) {
        warning!("summarise", "{text}");
    }
    let runs: usize = summary.groups.iter().map(|group| group.runs).sum();
    headline!(
        "summarise",
        "{runs} runs in {} groups",
        summary.groups.len()
    );
    Ok(())
}

/// The column that a name means: `rtt` is `rtt_ns`.
fn column(table: &Table, name: &str) -> String {
    let known = |name: &str| table.names().any(|known| known == name);
    let key = name.replace('-', "_");
    let column = column_of(name);
    match [name.to_owned(), key, column]
        .into_iter()
        .find(|name| known(name))
    {
        Some(found) => found,
        None => name.to_owned(),
    }
}

/// Name of the column that has the values of `name`.
pub(super) fn column_of(name: &str) -> String {
    let key = name.replace('-', "_");
    let parameter = Parameter::of(&key);
    parameter.map_or(key, Parameter::column)
}

/// The summary of a table as text.
pub(super) fn text(table: &Table, by: &[String], metrics: &[String]) -> Outcome<String> {
    let summary = summarise(table, by, metrics).map_err(Failure::failed)?;
    Ok(shown(&summary))
}

/// Metrics that some runs lack, whose means would mislead without this.
fn lacking(summary: &Summary) -> Vec<String> {
    let texts = summary.metrics.iter().enumerate().filter_map(|(place, name)| {
        let of = |group: &Group| (group.lacking[place], group.runs);
        let some = |(lacking, runs): &(usize, usize)| *lacking > 0 && lacking < runs;
        let groups: Vec<(usize, usize)> = summary.groups.iter().map(of).filter(some).collect();
        let (lacking, runs) = groups
            .iter()
            .max_by_key(|(lacking, runs)| lacking * 1_000_000 / runs)?;
        Some(format!(
            "{name}: {} runs without it, at worst {lacking} of {runs}: their means are those of the other runs",
            match groups.len() {
                1 => "1 group has".to_owned(),
                count => format!("{count} groups have"),
            }
        ))
    });
    texts.collect()
}

/// Label and format of a metric.
fn label(name: &str) -> (String, Show) {
    let bare = name.strip_prefix("total_").unwrap_or(name);
    let total = if bare == name { "" } else { "total " };
    let rows = Metrics::rows().into_iter().map(|(row, m)| (row, m.name));
    let mut rows = rows.chain(Total::rows().into_iter().map(|(row, m)| (row, m.name)));
    match rows.find(|(_, known)| *known == bare) {
        Some((row, _)) => (format!("{total}{}", row.label), row.show),
        None => (name.to_owned(), Show::Decimals(6)),
    }
}

fn shown(summary: &Summary) -> String {
    let labels: Vec<(String, Show)> = summary.metrics.iter().map(|name| label(name)).collect();
    let by = summary.by.iter().cloned();
    let with_refused = summary.groups.iter().any(|group| group.refused > 0);
    let mut headings: Vec<String> = if summary.by.is_empty() {
        vec![String::new()]
    } else {
        by.collect()
    };
    let keys = headings.len();
    headings.push("cells".to_owned());
    if with_refused {
        headings.push("refused".to_owned());
    }
    headings.push("runs".to_owned());
    let others = headings.len();
    for (label, _) in &labels {
        headings.extend([label.clone(), "± 95 %".to_owned()]);
    }
    let mut report = Report::new(headings).names(others).grouped(2);
    for column in 1..keys {
        report = report.left(column);
    }
    for group in &summary.groups {
        let mut cells: Vec<String> = group.by.iter().skip(1).cloned().collect();
        cells.push(group.cells.to_string());
        if with_refused {
            cells.push(group.refused.to_string());
        }
        cells.push(group.runs.to_string());
        for (mean, (_, show)) in group.means.iter().zip(&labels) {
            let show = match show {
                Show::Count => Show::Decimals(1),
                show => *show,
            };
            cells.push(show.text(mean.map(|mean| mean.mean)));
            cells.push(show.text(mean.and_then(|mean| mean.ci95)));
        }
        report.row(group.by.first().map_or("all", String::as_str), cells);
    }
    report.to_string()
}

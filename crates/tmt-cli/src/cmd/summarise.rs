//! `tmt summarise`: means and intervals of the results of `tmt sweep` (docs/sweeps.md, Sec. 5).

use std::fs::File;

use fluid_tcp::experiment::Parameter;
use fluid_tcp::simulation::metrics::{Metrics, Show, Total};
use serde_json::json;
use tmt_core::format::records::Records;
use tmt_study::summary::{Group, Summary, summarise};

use crate::exit::{Failure, Outcome, headline, warning};
use crate::output::document::Document;
use crate::table::{Table, print};

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

pub(crate) fn run(args: &Args) -> Outcome {
    let name = &args.results;
    let file = File::open(name).map_err(|error| Failure::io(name, &error))?;
    let table = Records::read(file).map_err(|error| {
        Failure::failed(format!(
            "{}; expected a table of results, CSV or Parquet, as `tmt sweep -o` writes it",
            error.message_in(name)
        ))
    })?;
    let keys: Vec<String> = args.by.iter().map(|name| column(&table, name)).collect();
    let summary = summarise(&table, &keys, &args.metric);
    let summary = summary.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let params = json!({ "by": summary.by, "metrics": summary.metrics });
    let document = Document::new("tmt.summarise/1", params, &summary.groups);
    let path = args.output.as_deref();
    print(path, args.json, &document, |_| shown(&summary))?;
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
fn column(table: &Records, name: &str) -> String {
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
pub(super) fn text(table: &Records, by: &[String], metrics: &[String]) -> Outcome<String> {
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
    let mut table = Table::of(&summary.groups);
    if summary.by.is_empty() {
        table = table.words("", |_| "all");
    }
    for (place, name) in summary.by.iter().enumerate() {
        table = table.words(name, |group| group.by[place].as_str());
    }
    table = table.plain("cells", |group| group.cells);
    if summary.groups.iter().any(|group| group.refused > 0) {
        table = table.plain("refused", |group| group.refused);
    }
    table = table.plain("runs", |group| group.runs);
    table = table.names_so_far().grouped(2);
    for (place, name) in summary.metrics.iter().enumerate() {
        let (label, show) = label(name);
        let show = match show {
            Show::Count => Show::Decimals(1),
            show => show,
        };
        table = table
            .number(label, show, |group| Some(group.means[place]?.mean))
            .number("± 95 %", show, |group| group.means[place]?.ci95);
    }
    table.to_string()
}

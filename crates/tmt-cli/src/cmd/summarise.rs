//! `tmt summarise`: means and intervals of the results of `tmt sweep` (docs/sweeps.md, Sec. 5).

use std::fs::File;

use fluid_tcp::experiment::Parameter;
use fluid_tcp::simulation::metrics::{Metrics, Show, Total};
use serde_json::json;
use tmt_core::format::import::render_keys;
use tmt_core::format::records::{Cell, Records};
use tmt_study::conditions::{heading, shown as shown_value};
use tmt_study::summary::{Group, Summary, summarise};

use super::tcp::typed;
use crate::exit::{Failure, Outcome, headline, warning};
use crate::output::document::Document;
use crate::table::{Table, print, wrap};

/// Flags of `tmt summarise`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt summarise results.parquet --by scheme,cc\n  \
    tmt summarise results.parquet --by scheme --against arq,in-order\n  \
    tmt summarise results.parquet --by cc --metric total_goodput_bps,total_jain_index --latex"
)]
pub(crate) struct Args {
    /// Table of results: Parquet or CSV
    results: String,
    /// Columns whose values make the groups [default: one group]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    by: Vec<String>,
    /// Columns of which means are taken [default: goodput, delay, completion time, retransmissions of all flows together]
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    metric: Vec<String>,
    /// Compare the groups with those that have this value, e.g. arq,in-order, or scheme=arq,in-order
    ///
    /// Runs with the same seed and start are pairs; without pairs the difference is that of independent runs, which a
    /// warning says. The p-values are corrected for the number of groups by Holm (1979). Without --by, the groups are
    /// those of all that varies.
    #[arg(long, value_name = "VALUE")]
    against: Option<String>,
    #[command(flatten)]
    form: Form,
    /// Output file [default: stdout, as for `-`]
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
}

/// Form of the summary: a table for a terminal, unless another is chosen.
#[derive(Debug, clap::Args)]
#[group(multiple = false)]
struct Form {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
    /// Print a table in Markdown
    #[arg(long)]
    markdown: bool,
    /// Print a table in LaTeX, for the package booktabs
    #[arg(long)]
    latex: bool,
}

impl Form {
    fn set(&self, summary: &Summary) -> String {
        let table = shown(summary);
        let held = summary.conditions.line();
        let held = |before: &str| match held.as_str() {
            "" => String::new(),
            held => format!("{before}{held}\n"),
        };
        match (self.markdown, self.latex) {
            (true, _) => format!("{}\n{}", held(""), table.markdown()),
            (_, true) => held("% ") + &table.latex(),
            _ => as_text(summary),
        }
    }
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
    let summary = summarise(&table, &keys, &args.metric, args.against.as_deref());
    let summary = summary.map_err(|error| Failure::usage(format!("{name}: {error}")))?;
    let against = summary.against.as_ref();
    let params = json!({
        "by": summary.by,
        "metrics": summary.metrics,
        "against": against.map(|(column, value)| json!({ "column": column, "value": value })),
        "held": summary.conditions.held,
    });
    let document = Document::new("tmt.summarise/2", params, &summary.groups);
    let path = args.output.as_deref();
    print(path, args.form.json, &document, |_| args.form.set(&summary))?;
    warn("summarise", &summary);
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
    match parameter {
        Some(parameter) => parameter.column(),
        None if key == "trace_duration" => "trace_duration_ns".to_owned(),
        None => key,
    }
}

/// The summary of the results of a sweep as text, with its warnings.
pub(super) fn text(table: &Records, by: &[String]) -> Outcome<String> {
    let summary = summarise(table, by, &[], None).map_err(Failure::failed)?;
    warn("sweep", &summary);
    Ok(as_text(&summary))
}

/// The line of what all runs have in common, and the table.
fn as_text(summary: &Summary) -> String {
    match summary.conditions.line().as_str() {
        "" => shown(summary).to_string(),
        held => format!("{}\n\n{}", wrap(held, "  "), shown(summary)),
    }
}

/// Warns of what would mislead.
fn warn(command: &'static str, summary: &Summary) {
    for text in &summary.conditions.warnings {
        warning!(command, "{}", named(text));
    }
    for text in lacking(summary) {
        warning!(command, "{text}");
    }
    let differences = summary
        .groups
        .iter()
        .flat_map(|group| group.differences.iter().flatten());
    let unpaired = differences.filter(|difference| !difference.paired).count();
    if unpaired > 0 {
        warning!(
            command,
            "{unpaired} differences are between runs without common seeds or starts: their intervals are those of independent runs, which are wider"
        );
    }
}

/// `text` with the flags of the parameters in backticks.
pub(crate) fn named(text: &str) -> String {
    render_keys(text, |key| match Parameter::of(key) {
        Some(parameter) if parameter.key == "trace" => "--trace".to_owned(),
        Some(parameter) => typed(parameter.key),
        None if matches!(key, "zip" | "stop" | "model") => format!("--{key}"),
        None => key.to_owned(),
    })
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

/// Label and format of a metric. Unless it is of all flows together, it is the mean over them.
fn label(name: &str) -> (String, Show) {
    let bare = name.strip_prefix("total_").unwrap_or(name);
    if name == "total_retransmission_probability" {
        // Short, so that the usual metrics fit a terminal.
        return ("retransmitted %".to_owned(), Show::Percent(2));
    }
    let rows = Metrics::rows().into_iter().map(|(row, m)| (row, m.name));
    let mut rows = rows.chain(Total::rows().into_iter().map(|(row, m)| (row, m.name)));
    match rows.find(|(_, known)| *known == bare) {
        Some((row, _)) if bare == name => {
            let unit = ["kbps", "ms", "s"].iter().find_map(|unit| {
                let what = row.label.strip_suffix(unit)?.strip_suffix(' ')?;
                Some(format!("{what} per flow {unit}"))
            });
            (
                unit.unwrap_or_else(|| format!("{} per flow", row.label)),
                row.show,
            )
        }
        Some((row, _)) => (row.label.to_owned(), row.show),
        None => (name.to_owned(), Show::Decimals(6)),
    }
}

fn shown(summary: &Summary) -> Table<&Group> {
    let groups = &summary.groups;
    let mut table = Table::of(groups);
    if summary.by.is_empty() {
        table = table.words("", |_| "all");
    }
    for (place, name) in summary.by.iter().enumerate() {
        table = table.words(heading(name), |group| group.labels[place].as_str());
    }
    // A number that all groups share is said once, in the last line.
    if groups
        .iter()
        .any(|group| group.cells != groups[0].cells || group.cells > 1)
    {
        table = table.plain("cells", |group| group.cells);
    }
    if groups.iter().any(|group| group.refused > 0) {
        table = table.plain("refused", |group| group.refused);
    }
    table = table.plain("runs", |group| group.runs).names_so_far();
    for (place, name) in summary.metrics.iter().enumerate() {
        let (label, show) = label(name);
        let show = match show {
            Show::Count => Show::Decimals(1),
            show => show,
        };
        table = table.estimate(label, show, |group| group.means[place]);
        if let Some((column, value)) = &summary.against {
            let value = shown_value(column, Cell::Text(value));
            let difference = |group: &&Group| group.differences[place];
            table = table
                .estimate(format!("less {value}"), show, |group| {
                    Some(difference(group)?.estimate)
                })
                .number("p (Holm)", Show::Significant(2), |group| {
                    difference(group)?.p_value_holm
                });
        }
    }
    table.grouped(if summary.against.is_some() { 3 } else { 1 })
}

//! `tmt tcp --metrics`: name, unit and definition of every metric, from its line in fluid-tcp.

use fluid_tcp::simulation::metrics::{Metric, Metrics, Total};
use serde_json::json;

use super::args::Args;
use crate::exit::Outcome;
use crate::output::document::Document;
use crate::table::{Table, print};

pub(super) fn run(args: &Args) -> Outcome {
    let flows = Metrics::ALL.iter();
    let flows = flows.map(|metric| described(metric, "flows, total"));
    let link = Total::ALL.iter();
    let link = link.map(|metric| described(metric, "total"));
    let table = Table::of(flows.chain(link))
        .words("metric", |(name, ..)| *name)
        .key("name")
        .words("unit", |(_, unit, ..)| *unit)
        .key("unit")
        .value("of", |(.., of, _)| *of)
        .value("definition", |(.., definition)| *definition)
        .wrapped("definition", |(.., of, definition)| match *of {
            "total" => format!("Total only. {definition}"),
            _ => (*definition).to_owned(),
        });
    let document = Document::list("tmt.metrics/1", json!({ "metrics": table.objects() }));
    let path = args.output.as_deref();
    print(path, args.json, &document, |_| table.to_string())
}

/// Unit and definition of a metric, by its name as a result has it: `total_` before it is that of all flows together.
pub(crate) fn explained(name: &str) -> Option<(&'static str, &'static str)> {
    let own = name.strip_prefix("total_").unwrap_or(name);
    let flows = Metrics::ALL.iter().map(|metric| described(metric, ""));
    let link = Total::ALL.iter().map(|metric| described(metric, ""));
    let mut all = flows.chain(link);
    let found = all.find(|(known, ..)| *known == name || *known == own);
    found.map(|(_, unit, _, definition)| (unit, definition))
}

/// Name, unit, where it is reported (for every flow and in the total, or in the total only), and definition. The unit of a
/// ratio, an object or a text is empty.
fn described<T>(
    metric: &Metric<T>,
    of: &'static str,
) -> (&'static str, &'static str, &'static str, &'static str) {
    (metric.name, metric.unit(), of, metric.about)
}

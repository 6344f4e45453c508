//! `tmt tcp --metrics`: name, unit and definition of every metric, from its line in fluid-tcp.

use fluid_tcp::simulation::metrics::{Metric, Metrics, Total};
use serde::Serialize;
use serde_json::{Map, Value};

use super::args::Args;
use crate::exit::Outcome;
use crate::output::document::Document;
use crate::table::{self, Report};

#[derive(Debug, Serialize)]
struct Description {
    name: &'static str,
    /// Empty for a ratio, an object or a text.
    unit: &'static str,
    /// Where it is reported: for every flow and in the total, or in the total only.
    of: &'static str,
    definition: &'static str,
}

impl Description {
    fn new<T>(metric: &Metric<T>, of: &'static str) -> Self {
        Self {
            name: metric.name,
            unit: metric.unit(),
            of,
            definition: metric.about,
        }
    }
}

#[derive(Debug, Serialize)]
struct Definitions {
    metrics: Vec<Description>,
}

pub(super) fn print(args: &Args) -> Outcome {
    let flows = Metrics::ALL.iter();
    let flows = flows.map(|metric| Description::new(metric, "flows, total"));
    let link = Total::ALL.iter();
    let link = link.map(|metric| Description::new(metric, "total"));
    let definitions = Definitions {
        metrics: flows.chain(link).collect(),
    };
    table::print(
        args.output.as_deref(),
        args.json,
        &Document::new("tmt.metrics/1", Map::<String, Value>::new(), definitions),
        text,
    )
}

fn text(definitions: &Definitions) -> String {
    let mut report = Report::new(["metric", "unit", "definition"])
        .left(1)
        .wrapped(2);
    for metric in &definitions.metrics {
        let only = if metric.of == "total" {
            "Total only. "
        } else {
            ""
        };
        let definition = format!("{only}{}", metric.definition);
        report.row(metric.name, [metric.unit, &definition]);
    }
    report.to_string()
}

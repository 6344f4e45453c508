//! The rows of `tmt tcp --results` (docs/results.md, Sec. 3).

use serde::Serialize;
use serde_json::{Map, Value};
use tmt_core::format::records::{self, Records, cells};

use super::plan::{Plan, RunId};
use crate::simulation::metrics::RunReport;

/// Schema of a report of `tmt tcp` as JSON, and of the rows of `--results`.
pub const SCHEMA: &str = "tmt.tcp/1";

impl Plan {
    /// Adds a row per run for all flows together, and one per run and flow. Metrics, then parameters are columns.
    pub fn add_rows<'a>(
        &self,
        runs: impl IntoIterator<Item = (RunId, &'a RunReport)>,
        table: &mut Records,
    ) {
        let mut params = self.params.clone();
        let flows = params.remove("flows");
        let flows: &[Value] = flows
            .as_ref()
            .and_then(Value::as_array)
            .map_or(&[], |flows| flows);
        let none = Map::new();
        // The rows of the total have what all flows have in common, too.
        let first = flows.first().and_then(Value::as_object).unwrap_or(&none);
        let common = first.iter().map(|(name, value)| {
            let is_common = flows.iter().all(|flow| flow.get(name) == Some(value));
            let value = if is_common {
                value.clone()
            } else {
                Value::Null
            };
            (name.clone(), value)
        });
        let common: Map<String, Value> = common.collect();
        for (run, report) in runs {
            let mut row =
                |flow: Option<usize>, metrics: &Map<String, Value>, of_flow: &Map<_, _>| {
                    let scope = if flow.is_some() { "flow" } else { "total" };
                    let whole = |number: u64| i64::try_from(number).ok().map(records::Value::Whole);
                    let offset = run.offset.map(|(_, start)| start.as_secs_f64());
                    let identity = [
                        ("seed", whole(run.seed)),
                        ("offset_s", offset.map(records::Value::Real)),
                        ("scope", Some(records::Value::Text(scope.to_owned()))),
                        ("flow", flow.and_then(|flow| whole(flow as u64))),
                        ("duration_s", Some(records::Value::Real(report.duration_s))),
                    ];
                    let settings = cells(of_flow).chain(cells(&params));
                    table.row(identity.into_iter().chain(cells(metrics)).chain(settings));
                };
            row(None, &object(&report.total), &common);
            for (number, (metrics, flow)) in report.flows.iter().zip(flows).enumerate() {
                let settings = flow.as_object().unwrap_or(&none);
                row(Some(number), &object(metrics), settings);
            }
        }
    }
}

/// Metrics as a JSON object.
fn object(metrics: &impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(metrics) {
        Ok(Value::Object(object)) => object,
        // The keys of metrics are names, so that they are always an object.
        _ => Map::new(),
    }
}

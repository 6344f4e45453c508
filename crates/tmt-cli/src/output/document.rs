//! Reports of commands for programs: JSON documents of one shape, and tidy tables (docs/results.md).

use serde::Serialize;
use serde_json::{Map, Value};
use tmt_core::format::records::{Records, cells};
use tmt_core::format::table::TableForm;

use crate::exit::{Failure, Outcome};
use crate::output::{Output, is_stdout, json, table_form};
use crate::provenance::TOOL;

/// A JSON document. Every command that prints JSON prints one of these.
#[derive(Debug, Serialize)]
pub(crate) struct Document<P, R> {
    tool: &'static str,
    /// Name and version of the schema, `tmt.NAME/VERSION`: docs/schemas/NAME.json.
    schema: &'static str,
    params: P,
    /// The parameter file that repeats a run of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    params_file: Option<String>,
    results: R,
}

impl<P: Serialize, R: Serialize> Document<P, R> {
    pub(crate) fn new(schema: &'static str, params: P, results: R) -> Self {
        Self {
            tool: TOOL,
            schema,
            params,
            params_file: None,
            results,
        }
    }

    /// The same with the parameter file that repeats it.
    pub(crate) fn repeated_by(self, params_file: String) -> Self {
        Self {
            params_file: Some(params_file),
            ..self
        }
    }

    pub(crate) fn results(&self) -> &R {
        &self.results
    }

    /// The document as `--summary` writes it, or a table with one row per object in `results`, which has `params` as
    /// further columns.
    pub(crate) fn summarise(&self, output: &mut Output, shape: Shape) -> Outcome {
        let Shape::Table(form) = shape else {
            return json(output, self);
        };
        let params = object(&self.params)?;
        let results = serde_json::to_value(&self.results).map_err(Failure::failed)?;
        let results = match results {
            Value::Array(rows) => rows,
            only => vec![only],
        };
        let mut table = Records::default();
        for row in results.iter().filter_map(Value::as_object) {
            table.row(cells(row).chain(cells(&params)));
        }
        write(&table, output, form, self.schema, &[])
    }
}

impl<R: Serialize> Document<Map<String, Value>, R> {
    /// A document without parameters: a list of what there is.
    pub(crate) fn list(schema: &'static str, results: R) -> Self {
        Self::new(schema, Map::new(), results)
    }
}

/// `value` as a JSON object; empty if it is none.
pub(crate) fn object(value: &impl Serialize) -> Outcome<Map<String, Value>> {
    match serde_json::to_value(value).map_err(Failure::failed)? {
        Value::Object(object) => Ok(object),
        _ => Ok(Map::new()),
    }
}

/// Writes a tidy table. `asked` are files that repeat it: further pairs of the footer of Parquet, each a string of JSON, since a value
/// has one line.
pub(crate) fn write(
    table: &Records,
    output: &mut Output,
    form: TableForm,
    schema: &'static str,
    asked: &[(&str, &str)],
) -> Outcome {
    let asked: Vec<(&str, String)> = asked
        .iter()
        .map(|(key, file)| (*key, Value::from(*file).to_string()))
        .collect();
    let mut pairs = vec![("tool", TOOL), ("schema", schema)];
    pairs.extend(asked.iter().map(|(key, file)| (*key, file.as_str())));
    let bytes = table.write(Vec::new(), form, &pairs);
    output.write(&bytes.map_err(Failure::failed)?)
}

/// Shape of a file of results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Json,
    Table(TableForm),
}

impl Shape {
    /// The shape that the extension of the path of `flag` selects; JSON without an extension, as in pipes and devices.
    pub(crate) fn of(flag: &str, path: &str) -> Outcome<Self> {
        match extension(path).as_deref() {
            None | Some("json") => Ok(Self::Json),
            Some(_) => table_form(path)
                .map(Self::Table)
                .map_err(|why| Failure::usage(format!("{flag}: {why}; or .json"))),
        }
    }
}

/// Extension of a path in lower case; `None` if it has none or means stdout.
fn extension(path: &str) -> Option<String> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (_, end) = name.rsplit_once('.').filter(|_| !is_stdout(path))?;
    Some(end.to_ascii_lowercase())
}

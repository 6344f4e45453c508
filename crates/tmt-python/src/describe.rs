//! Sources of help, signatures and type stubs of the package: the registries of the libraries.

use fluid_tcp::experiment::{Group, Kind, Parameter};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use tmt_core::scheme;

/// The forms of schemes, each with its description.
#[pyfunction]
pub(crate) fn schemes() -> Vec<String> {
    scheme::forms()
}

/// Schemes that together use every option, for tests.
#[pyfunction]
pub(crate) fn scheme_examples() -> Vec<&'static str> {
    scheme::examples().collect()
}

/// The parameters of `tmt.tcp`, each as a dictionary, in the order of help.
#[pyfunction]
pub(crate) fn parameters(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let groups = Group::ALL.iter();
    let all = groups.flat_map(|group| group.parameters());
    all.map(|parameter| described(py, parameter)).collect()
}

fn described<'py>(py: Python<'py>, parameter: &Parameter) -> PyResult<Bound<'py, PyDict>> {
    let of = PyDict::new(py);
    of.set_item("key", parameter.key)?;
    of.set_item("group", parameter.group.heading())?;
    of.set_item("kind", kind(parameter.kind))?;
    of.set_item("words", parameter.kind.words())?;
    of.set_item("form", parameter.value_name())?;
    of.set_item("help", parameter.help)?;
    of.set_item("detail", parameter.detail)?;
    of.set_item("default", parameter.default_text())?;
    of.set_item("reason", parameter.reason)?;
    of.set_item("needs", parameter.needs)?;
    of.set_item("excludes", parameter.excludes)?;
    Ok(of)
}

/// The kind of a value, for which the package has a type.
fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Duration => "duration",
        Kind::Bytes => "size",
        Kind::Rate => "rate",
        Kind::Count(..) => "count",
        Kind::Probability => "probability",
        Kind::Switch => "switch",
        Kind::Flag => "flag",
        Kind::Keyword(_) => "keyword",
        Kind::Text("FILE", _) => "trace",
        Kind::Text(..) => "text",
        Kind::List(_) => "list",
    }
}

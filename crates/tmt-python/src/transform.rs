//! `tmt.apply`.

use arrow_array::{RecordBatchIterator, RecordBatchReader};
use arrow_pyarrow::IntoPyArrow as _;
use pyo3::prelude::*;
use tmt_core::format::{Batches, TraceCollector};
use tmt_core::pipeline::{Apply, Lane, StageError};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::Span;
use tmt_link::apply::{FeedbackDelay, Transform};

use crate::TOOL;
use crate::error::{Failure, tell};
use crate::input::{Input, Reading, argument, notes};
use crate::work;

/// A table for Python: a reader of its batches, and the pairs of its metadata in their order.
pub(crate) type Table<'py> = (Bound<'py, PyAny>, Vec<(String, String)>);

/// Settings of the link.
#[derive(FromPyObject)]
pub(crate) struct Link {
    #[pyo3(item)]
    rtt: Option<String>,
    #[pyo3(item)]
    feedback_delay: Option<String>,
    #[pyo3(item)]
    replace_head: bool,
}

/// Runs schemes over a PHY trace. Returns the timelines in the order of `schemes`.
#[pyfunction]
pub(crate) fn apply<'py>(
    py: Python<'py>,
    trace: Input,
    schemes: Vec<String>,
    link: Link,
    reading: Reading,
    jobs: Option<usize>,
    watcher: &Bound<'py, PyAny>,
) -> PyResult<Vec<Table<'py>>> {
    let scheme = |text: &String| argument("scheme", Some(text));
    let parsed: Result<Vec<Option<SchemeSpec>>, _> = schemes.iter().map(scheme).collect();
    let schemes: Vec<SchemeSpec> = parsed?.into_iter().flatten().collect();
    let rtt: Option<Span> = argument("rtt", link.rtt.as_deref())?;
    let delay: Option<FeedbackDelay> = argument("feedback_delay", link.feedback_delay.as_deref())?;
    let options = reading.options(false)?;
    let (rate, lldu) = reading.link()?;
    let (tables, told) = work::run(py, jobs, watcher, move |host| {
        let name = trace.name().to_owned();
        let mut reader = trace.open(options, host)?;
        let transform = Transform::resolve(schemes, rtt, link.replace_head, delay, &mut reader)?;
        let begun = reader
            .metadata()
            .begun(TOOL, rate, lldu)
            .map_err(Failure::Usage)?;
        let lanes = transform.schemes.iter().map(|scheme| {
            let head = transform.head(&begun, scheme);
            let (rtt, feedback_delay) = (transform.rtt, transform.feedback_delay);
            Lane::new(
                scheme.clone(),
                rtt,
                feedback_delay,
                Some(TraceCollector::new(&head)),
            )
        });
        let ends = Apply::new(lanes.collect()).run(&mut reader);
        let ends = ends.map_err(|error| failure(&name, error))?;
        let tables: Vec<Batches> = ends.into_iter().filter_map(|end| end.output).collect();
        let told = [transform.notes, notes(&name, &reader)].concat();
        Ok((tables, told))
    })?;
    tell(watcher, &told)?;
    tables
        .into_iter()
        .map(|table| for_python(py, table))
        .collect()
}

/// The failure of a pipeline over the input `name`.
pub(crate) fn failure(name: &str, error: StageError) -> Failure {
    match error {
        StageError::Input(error) => Failure::input(name, &error),
        StageError::Output(_, error) => Failure::file("the result", &error),
    }
}

/// The table for Python. The columns are not copied.
pub(crate) fn for_python(py: Python<'_>, table: Batches) -> PyResult<Table<'_>> {
    let batches = table.batches.into_iter().map(Ok);
    let reader: Box<dyn RecordBatchReader + Send> =
        Box::new(RecordBatchIterator::new(batches, table.schema));
    Ok((reader.into_pyarrow(py)?, table.metadata))
}

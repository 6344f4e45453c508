//! `tmt.read`, and `tmt.plot` of what is read.

pub(crate) mod plot;

use pyo3::prelude::*;
use tmt_core::format::{Batches, Row, Rows, Sink as _, TraceCollector, TraceReader};
use tmt_core::pipeline::collect;
use tmt_core::types::{Lldu, Slot};

use crate::error::{Failure, tell};
use crate::input::{Input, Reading, notes};
use crate::transform::{Table, for_python};
use crate::work;

/// Reads a trace or timeline of any format.
#[pyfunction]
pub(crate) fn read<'py>(
    py: Python<'py>,
    trace: Input,
    reading: Reading,
    jobs: Option<usize>,
    watcher: &Bound<'py, PyAny>,
) -> PyResult<Table<'py>> {
    let options = reading.options(true)?;
    let (table, told) = work::run(py, jobs, watcher, move |host| {
        let name = trace.name().to_owned();
        let mut reader = trace.open(options, host)?;
        let table = whole(&mut reader).map_err(|error| Failure::input(&name, &error))?;
        let told = notes(&name, &reader);
        Ok((table, told))
    })?;
    tell(watcher, &told)?;
    for_python(py, table)
}

/// All rows of `reader`, LLDUs or slots.
pub(crate) fn whole(reader: &mut TraceReader<'_>) -> tmt_core::Result<Batches> {
    let mut is_timeline = false;
    reader.look_ahead(|rows| {
        is_timeline |= !rows.attempts.is_empty();
        !rows.slots.is_empty()
    });
    if is_timeline {
        rows::<Lldu>(reader, |rows, lldus| lldus.extend(rows.lldus()))
    } else {
        rows::<Slot>(reader, |rows, slots| slots.extend_from_slice(&rows.slots))
    }
}

/// All rows of `reader`, which `take` appends batch by batch.
fn rows<T: Row>(
    reader: &mut TraceReader<'_>,
    take: fn(&Rows, &mut Vec<T>),
) -> tmt_core::Result<Batches> {
    let mut collector = TraceCollector::new(reader.metadata());
    let mut taken = Vec::new();
    collect(reader, |rows| {
        taken.clear();
        take(rows, &mut taken);
        rayon::scope(|scope| collector.spawn(&taken, scope));
    })?;
    let end = reader.end().and_then(|end| end.end_line);
    Ok(collector.into_batches(end.as_ref())?)
}

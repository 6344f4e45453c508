//! `tmt.plot`.

use pyo3::prelude::*;
use tmt_plot::chosen::Choice;
use tmt_plot::render::{Size, length, svg};
use tmt_plot::{PlotError, Source, natural};

use crate::error::Failure;
use crate::work;

/// Content and form of a picture.
#[derive(FromPyObject)]
pub(crate) struct Drawing {
    #[pyo3(item)]
    x: Option<String>,
    #[pyo3(item)]
    y: Vec<String>,
    #[pyo3(item)]
    by: Vec<String>,
    #[pyo3(item)]
    log_x: bool,
    #[pyo3(item)]
    log_y: bool,
    #[pyo3(item)]
    title: String,
    #[pyo3(item)]
    width: Option<String>,
    #[pyo3(item)]
    height: Option<String>,
}

/// The picture of the bytes of a table or document as SVG. `name` is that of messages.
#[pyfunction]
pub(crate) fn plot(
    py: Python<'_>,
    bytes: Vec<u8>,
    name: String,
    drawing: Drawing,
    watcher: &Bound<'_, PyAny>,
) -> PyResult<String> {
    work::run(py, None, watcher, move |_| {
        let failure = |error| match error {
            PlotError::Asked(text) => Failure::Usage(format!("{name}: {text}")),
            PlotError::Data(text) => Failure::Data(format!("{name}: {text}")),
            PlotError::Input(error) => Failure::input(&name, &error),
        };
        let pixels = |key: &str, text: Option<String>| {
            let read = text
                .map(|text| length(&text).map_err(|why| format!("`{key}`: found '{text}', {why}")));
            read.transpose().map_err(Failure::Usage)
        };
        let size = Size {
            width: pixels("width", drawing.width)?,
            height: pixels("height", drawing.height)?,
        };
        let source = Source::read(bytes.into()).map_err(failure)?;
        let choice = Choice {
            x: drawing.x,
            y: drawing.y,
            by: drawing.by,
        };
        let mut picture = natural::draw(&source, &choice).map_err(failure)?;
        picture.title = drawing.title;
        picture.make_log(drawing.log_x, drawing.log_y);
        Ok(svg(&picture, size))
    })
}

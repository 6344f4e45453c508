//! Calls commands of `tmt`: what they compute, their defaults and their digits are those of the program.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use tmt_cli::{Argument, CallError, Host};
use tmt_core::format::{Options, TraceReader};

use crate::error::{Failure, tell};
use crate::input::Input;
use crate::read::whole;
use crate::transform::{Table, for_python};
use crate::work;

/// A command with its arguments, and the traces and files that are no files of the disk, by the names that the arguments have
/// for them.
#[derive(FromPyObject)]
pub(crate) struct Call {
    #[pyo3(item)]
    arguments: Vec<String>,
    #[pyo3(item)]
    traces: Vec<(String, Input)>,
    #[pyo3(item)]
    files: Vec<(String, Vec<u8>)>,
    #[pyo3(item)]
    jobs: Option<usize>,
}

/// Output of a command, and why its exit code would be 1 although it has printed its answer.
#[pyfunction]
pub(crate) fn printed<'py>(
    py: Python<'py>,
    call: Call,
    watcher: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, Option<String>)> {
    let (bytes, complaint) = done(py, call, watcher, Ok)?;
    Ok((PyBytes::new(py, &bytes), complaint))
}

/// The trace that a command writes.
#[pyfunction]
pub(crate) fn written<'py>(
    py: Python<'py>,
    call: Call,
    watcher: &Bound<'py, PyAny>,
) -> PyResult<Table<'py>> {
    let (table, _) = done(py, call, watcher, |bytes| {
        let options = Options {
            attempts: true,
            ..Options::default()
        };
        let failed = |error| Failure::input("the result", &error);
        let mut reader = TraceReader::new(std::io::Cursor::new(bytes), options).map_err(failed)?;
        whole(&mut reader).map_err(failed)
    })?;
    for_python(py, table)
}

/// Runs a command, makes `result` of what it prints, and passes on what it says.
fn done<T: Send>(
    py: Python<'_>,
    call: Call,
    watcher: &Bound<'_, PyAny>,
    result: impl FnOnce(Vec<u8>) -> Result<T, Failure> + Send,
) -> PyResult<(T, Option<String>)> {
    let Call {
        arguments,
        traces,
        files,
        jobs,
    } = call;
    let known = arguments.first().map_or("", String::as_str);
    let known = tmt_cli::arguments(known).unwrap_or_default();
    let (ended, notes) = work::run(py, jobs, watcher, |host| {
        hold(host, traces, files);
        let ended = tmt_cli::call(host, arguments).map_err(|error| failure(error, &known));
        let ended = ended.and_then(|answer| Ok((result(answer.printed)?, answer.complaint)));
        Ok((ended, host.take_notes()))
    })?;
    let named = notes.into_iter().map(|mut note| {
        note.text = in_python(&note.text, &known);
        note
    });
    tell(watcher, &named.collect::<Vec<_>>())?;
    let (result, complaint) = ended?;
    Ok((result, complaint.map(|text| in_python(&text, &known))))
}

/// Gives `host` the inputs in memory.
fn hold(host: &Arc<Host>, traces: Vec<(String, Input)>, files: Vec<(String, Vec<u8>)>) {
    for (name, input) in traces {
        let stop = Arc::clone(host);
        host.hold_trace(&name, Box::new(move |options| input.reader(options, stop)));
    }
    for (name, bytes) in files {
        host.hold_file(&name, bytes.into());
    }
}

fn failure(error: CallError, known: &[Argument]) -> Failure {
    match error {
        CallError::Usage(text) => Failure::Usage(in_python(&text, known)),
        CallError::Io(kind, text) => Failure::Io(kind, in_python(&text, known)),
        CallError::Stopped => Failure::Interrupted,
        error => Failure::Data(in_python(&error.to_string(), known)),
    }
}

/// `text` with the names of arguments in place of flags. Text in backticks is a command of the shell, and stays.
fn in_python(text: &str, known: &[Argument]) -> String {
    let parts = text.split('`').enumerate();
    let parts = parts.map(|(number, part)| match number % 2 {
        0 => named(part, known),
        _ => part.to_owned(),
    });
    parts.collect::<Vec<_>>().join("`")
}

/// `text` with the name of an argument, in backticks, in place of each known flag and its placeholder.
fn named(text: &str, known: &[Argument]) -> String {
    let mut parts = text.split("--");
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_of_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let end = part.find(|c| !is_of_name(c)).unwrap_or(part.len());
        let (flag, rest) = part.split_at(end);
        match known.iter().find(|argument| argument.name == flag) {
            Some(argument) => {
                let placeholder = format!(" <{}>", argument.value);
                let rest = rest.strip_prefix(placeholder.as_str()).unwrap_or(rest);
                named += &format!("`{}`{rest}", keyword(&argument.name));
            }
            None => named += &format!("--{part}"),
        }
    }
    named
}

/// Words of Python that no argument can have for a name.
const RESERVED: [&str; 32] = [
    "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del", "elif",
    "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
    "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The keyword of Python for the name of a flag.
fn keyword(name: &str) -> String {
    let end = if RESERVED.contains(&name) { "_" } else { "" };
    name.replace('-', "_") + end
}

/// The arguments of a command, each as a dictionary.
#[pyfunction]
pub(crate) fn arguments<'py>(py: Python<'py>, command: &str) -> PyResult<Vec<Bound<'py, PyDict>>> {
    let all = tmt_cli::arguments(command).unwrap_or_default();
    all.iter()
        .map(|argument| {
            let of = PyDict::new(py);
            of.set_item("key", keyword(&argument.name))?;
            of.set_item("flag", format!("--{}", argument.name))?;
            of.set_item("is_positional", argument.is_positional)?;
            of.set_item("takes_value", argument.takes_value)?;
            of.set_item("repeats", argument.repeats)?;
            of.set_item("form", &argument.value)?;
            of.set_item("words", &argument.words)?;
            of.set_item("help", &argument.help)?;
            Ok(of)
        })
        .collect()
}

/// The closed forms, each with its line of help.
#[pyfunction]
pub(crate) fn models() -> Vec<(&'static str, &'static str)> {
    let all = fluid_tcp::model::all();
    all.map(|model| (model.name, model.about)).collect()
}

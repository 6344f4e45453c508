//! Opening what a command reads.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};

use tmt_core::text::{Options, TraceReader, Unit};

use crate::exit::{Failure, Outcome, note};

/// Something to read, by the name messages give it.
pub(crate) struct Input {
    /// `<stdin>` or the path as typed.
    pub(crate) name: String,
    /// Where the bytes come from.
    pub(crate) reader: Box<dyn Read + Send>,
}

/// Flags of every command that reads a text trace.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct TraceArgs {
    /// The trace; stdin when left out or `-`
    #[arg(value_name = "TRACE")]
    pub(crate) trace: Option<String>,
    /// Unit of the input's numbers: s, ms, us or ns (output is always in seconds)
    #[arg(long, value_name = "UNIT", default_value = "s")]
    pub(crate) unit: Unit,
    /// Accept a head without its end line, as `head -100000 trace` leaves it
    #[arg(long)]
    pub(crate) allow_cut: bool,
}

impl TraceArgs {
    /// How the text is to be read.
    pub(crate) fn options(&self, attempts: bool) -> Options {
        Options {
            unit: self.unit,
            allow_cut: self.allow_cut,
            attempts,
        }
    }

    /// Opens the trace and reads its head.
    pub(crate) fn open(
        &self,
        command: &str,
        attempts: bool,
    ) -> Outcome<(String, TraceReader<Box<dyn Read + Send>>)> {
        let Input { name, reader } = open(command, self.trace.as_deref())?;
        let reader = TraceReader::new(reader, self.options(attempts))
            .map_err(|error| Failure::input(&name, &error))?;
        Ok((name, reader))
    }
}

/// Opens `path`, or stdin for none or `-`.
pub(crate) fn open(command: &str, path: Option<&str>) -> Outcome<Input> {
    match path {
        None | Some("-") => {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                note!(command, "reads from the terminal; end with Ctrl-D");
            }
            Ok(Input {
                name: "<stdin>".to_owned(),
                reader: Box::new(stdin),
            })
        }
        Some(path) => {
            let file = File::open(path).map_err(|error| Failure::io(path, &error))?;
            Ok(Input {
                name: path.to_owned(),
                reader: Box::new(file),
            })
        }
    }
}

/// Whether `path` can be read twice.
pub(crate) fn is_file(path: &str) -> bool {
    path != "-" && std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

//! Why a command failed, and its exit code: 0 done, 1 bad data or I/O, 2 usage.

use std::fmt;
use std::io;
use std::process::ExitCode;

use tmt_core::ErrorKind;
use tmt_core::format::panics_are_contained;
use tmt_core::pipeline::StageError;
use tmt_core::types::Position;

pub(crate) use crate::stderr::{note, say, tell};

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The flags do not make sense together.
    #[error("{0}")]
    Usage(String),
    /// Bad data, or the system refused.
    #[error("{message}")]
    Failed {
        /// File, line and column where they are known, then what was found and expected.
        message: String,
        /// What the user could do about it.
        help: Option<String>,
    },
    /// Nobody reads what is written any more.
    #[error("the reader of a pipe went away")]
    ClosedPipe,
}

/// The result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A refusal of flags.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// A failure with its message.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::Failed {
            message: message.to_string(),
            help: None,
        }
    }

    /// An error of the system about the file `name`.
    pub(crate) fn io(name: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::failed(format!("{name}: {error}"))
        }
    }

    /// Why a pipeline from `input` to `outputs` stopped.
    pub(crate) fn stage(input: &str, outputs: &[&str], error: &StageError) -> Self {
        match error {
            StageError::Input(error) => Self::input(input, error),
            StageError::Output(index, error) => {
                Self::io(outputs.get(*index).unwrap_or(&"<output>"), error)
            }
        }
    }

    /// An error in the input `name`.
    pub(crate) fn input(name: &str, error: &tmt_core::Error) -> Self {
        let Position { line, column, row } = error.position().unwrap_or_default();
        let place = match (line, column, row) {
            (0, _, 0) => String::new(),
            // A binary trace has rows and no lines.
            (0, _, row) => format!(": row {row}"),
            (line, 0, _) => format!(":{line}"),
            (line, column, _) => format!(":{line}:{column}"),
        };
        Self::Failed {
            message: format!("{name}{place}: {}", one_line(&error.to_string())),
            help: help(error.kind()).map(str::to_owned),
        }
    }
}

/// `text` without line breaks and whatever else moves a terminal: names and values in it come from a file.
fn one_line(text: &str) -> String {
    let parts = text.split(char::is_control).map(str::trim);
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join(" ")
}

/// What to do about an error, where there is something to do.
fn help(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Cut { .. } => {
            "the stage in front failed or was cut; with --allow-cut the rows that are there are used"
        }
        // A Parquet file that is cut has lost its footer, and with it everything.
        ErrorKind::CutStream { format, .. } if *format != "Parquet" => {
            "with --allow-cut the whole rows in front of the cut are used"
        }
        ErrorKind::RoundsToZero { .. } | ErrorKind::TooLarge { .. } => {
            "numbers are seconds unless --unit says otherwise"
        }
        ErrorKind::UnitMissing { .. } => "say --unit s, ms, us or ns",
        ErrorKind::UnitOfIntegers { .. } => "leave --unit out, or say --unit ns",
        ErrorKind::MissingColumn { .. } => {
            "a trace has the columns tx_time and decode_delay, in this order where there is no header"
        }
        ErrorKind::OutOfOrder { .. } => "sort the trace by transmission time",
        _ => return None,
    })
}

/// Prints what clap has to say; help and version are not errors.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let _ = error.print();
    ExitCode::from(if error.exit_code() == 0 { 0 } else { 2 })
}

/// Prints why command `name` failed, if it did, and turns it into the exit code.
pub(crate) fn code(name: &str, outcome: Outcome) -> ExitCode {
    let (message, help, code) = match outcome {
        Ok(()) | Err(Failure::ClosedPipe) => return ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            let help = format!("tmt {name} --help shows every flag and an example");
            (message, Some(help), 2)
        }
        Err(Failure::Failed { message, help }) => (message, help, 1),
    };
    tell(format_args!("tmt {name}: {message}"));
    if let Some(help) = help {
        tell(format_args!("help: {help}"));
    }
    ExitCode::from(code)
}

/// Says nothing of a panic that is caught and becomes a refusal, with words of its own.
pub(crate) fn leave_out_contained_panics() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panics_are_contained() {
            told(panic);
        }
    }));
}

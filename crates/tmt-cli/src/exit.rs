//! Why a command failed, and its exit code: 0 done, 1 bad data or I/O, 2 usage.

use std::fmt;
use std::io;
use std::process::ExitCode;

use clap::error::ErrorKind as ClapKind;
use tmt_core::ErrorKind;
use tmt_core::format::panics_are_contained;
use tmt_core::pipeline::StageError;

pub(crate) use crate::stderr::{note, say, tell};

/// Why a command did not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The flags do not make sense together.
    Usage(String),
    /// Bad data, or the system refused.
    Failed {
        /// File, line and column where they are known, then what was found and expected.
        message: String,
        /// What the user could do about it.
        help: Option<String>,
    },
    /// Nobody reads what is written any more.
    ClosedPipe,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed { message, .. } => f.write_str(message),
            Self::ClosedPipe => f.write_str("the reader of a pipe went away"),
        }
    }
}

impl std::error::Error for Failure {}

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
        let mut message = name.to_owned();
        if let Some(position) = error.position() {
            if position.line > 0 {
                message.push_str(&format!(":{}", position.line));
                if position.column > 0 {
                    message.push_str(&format!(":{}", position.column));
                }
            } else if position.row > 0 {
                // A binary trace has rows and no lines.
                message.push_str(&format!(": row {}", position.row));
            }
        }
        message.push_str(&format!(": {}", one_line(&error.to_string())));
        Self::Failed {
            message,
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
    match error.kind() {
        ClapKind::DisplayHelp | ClapKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    }
}

/// Prints why command `name` failed, if it did, and turns it into the exit code.
pub(crate) fn code(name: &str, outcome: Outcome) -> ExitCode {
    match outcome {
        Ok(()) | Err(Failure::ClosedPipe) => ExitCode::SUCCESS,
        Err(Failure::Usage(message)) => {
            tell(format_args!("tmt {name}: {message}"));
            tell(format_args!(
                "help: tmt {name} --help shows every flag and an example"
            ));
            ExitCode::from(2)
        }
        Err(Failure::Failed { message, help }) => {
            tell(format_args!("tmt {name}: {message}"));
            if let Some(help) = help {
                tell(format_args!("help: {help}"));
            }
            ExitCode::FAILURE
        }
    }
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

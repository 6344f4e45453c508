//! Failures of commands and their exit codes: 0 done, 1 bad data or I/O error, 2 usage. Of a comparison: 0 equal, 1 different,
//! 2 any error. Of a look: 1 also if there is a warning.

use std::fmt;
use std::io;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind as UsageKind};
use tmt_core::ErrorKind;
use tmt_core::format::panics_are_contained;
use tmt_core::pipeline::StageError;

use crate::stderr::controls;
pub(crate) use crate::stderr::{Verbosity, headline, note, print_at, print_line, warning};

/// Failure of a command.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// The flags are wrong or contradict each other.
    #[error("{0}")]
    Usage(String),
    /// Bad data, or an error of the operating system.
    #[error("{message}")]
    Failed {
        /// File, line and column if known, then found and expected.
        message: String,
        /// Remedy.
        help: Option<String>,
    },
    /// A file cannot be read or written.
    #[error("{1}")]
    Io(io::ErrorKind, String),
    /// The inputs that the command compares differ: no error, and nothing to say.
    #[error("they differ")]
    Different,
    /// The command looks for what is odd, and found it: no error, and nothing to say.
    #[error("there are warnings")]
    Odd,
    /// As [`Failure::Failed`], of a command whose exit code 1 means something else.
    #[error("{message}")]
    Trouble {
        /// File, line and column if known, then found and expected.
        message: String,
        /// Remedy.
        help: Option<String>,
    },
    /// The exit code of another command, which has said all.
    #[error("exit code {0}")]
    Exit(u8),
    /// The reader of the output pipe has closed it.
    #[error("the reader of the pipe has closed it")]
    ClosedPipe,
}

/// Result of a command.
pub(crate) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure because of flags.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::Usage(message.to_string())
    }

    /// A failure with exit code 1.
    pub(crate) fn failed(message: impl fmt::Display) -> Self {
        Self::Failed {
            message: message.to_string(),
            help: None,
        }
    }

    /// The failure with exit code 2 instead of 1.
    pub(crate) fn into_trouble(self) -> Self {
        match self {
            Self::Failed { message, help } => Self::Trouble { message, help },
            Self::Io(_, message) => Self::Trouble {
                message,
                help: None,
            },
            other => other,
        }
    }

    /// An I/O error of the file `name`.
    pub(crate) fn io(name: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ClosedPipe
        } else {
            Self::Io(error.kind(), format!("{name}: {error}"))
        }
    }

    /// The failure of a pipeline from `input` to `outputs`.
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
        let message = error.message_in(name);
        match error.kind() {
            // Errors of other libraries have no kind.
            ErrorKind::Io(error) if error.kind() != io::ErrorKind::Other => {
                Self::Io(error.kind(), message)
            }
            kind => Self::Failed {
                message,
                help: help(kind).map(str::to_owned),
            },
        }
    }
}

/// Remedy for an error, if there is one.
fn help(kind: &ErrorKind) -> Option<&'static str> {
    Some(match kind {
        ErrorKind::Cut { .. } => {
            "the previous stage failed or the file was cut; --allow-cut uses the rows that are present"
        }
        // A cut Parquet file has lost its footer and cannot be read at all.
        ErrorKind::CutStream { format, .. } if *format != "Parquet" => {
            "--allow-cut uses the complete rows before the cut"
        }
        ErrorKind::RoundsToZero { .. } | ErrorKind::TooLarge { .. } => {
            "numbers are in seconds unless --unit is given"
        }
        ErrorKind::UnitMissing { .. } => "add --unit s, ms, us or ns",
        ErrorKind::UnitOfName { .. } => "omit --unit",
        ErrorKind::UnitOfIntegers { .. } => "omit --unit, or use --unit ns",
        ErrorKind::MissingColumn { found, .. } if matches!(found.as_str(), "0" | "1") => {
            "lines of 0 and 1 are read with --columns erased=1,interval=DURATION (1 means erased); one whole number of ms per line is a mahimahi trace: `tmt convert --from mahimahi`"
        }
        ErrorKind::MissingColumn { found, .. } if found.parse::<u64>().is_ok() => {
            "`tmt convert` makes a PHY trace of it: one whole number per line is a mahimahi trace (`--from mahimahi`) if they never fall, otherwise delays (`--from delay-loss`)"
        }
        ErrorKind::MissingColumn { .. } => {
            "a trace has the columns tx_time and decode_delay, in this order if it has no header; --columns tx=NAME,delay=NAME,erased=NAME reads other names, and `tmt convert` other formats, such as those of mahimahi"
        }
        ErrorKind::EmptyTrace => "the input is empty (did the previous command fail?)",
        ErrorKind::OutOfOrder { .. } => "sort the trace by transmission time",
        _ => return None,
    })
}

/// Prints an error of clap: the flags are wrong.
pub(crate) fn print_usage_error(error: &clap::Error) {
    let given = || std::env::args_os().map(|text| text.to_string_lossy().into_owned());
    let negative = || negative_value(error, given());
    if error.kind() == UsageKind::UnknownArgument
        && let Some(message) = negative()
    {
        print_line(format_args!("error: {message}"));
        return;
    }
    match error.kind() {
        // The reason says all: help would not say more.
        UsageKind::ValueValidation | UsageKind::InvalidValue => {
            let text = error.render().to_string();
            let (reason, _) = text
                .split_once("\n\nFor more information")
                .unwrap_or((&text, ""));
            print_line(format_args!("{}", reason.trim_end()));
        }
        // Typed text may control the terminal; the colours of clap would, too.
        _ if error.to_string().contains(controls) => {
            print_line(format_args!("{}", error.to_string().trim_end()));
        }
        _ => {
            let _ = error.print();
        }
    }
}

/// The message of an error of clap for a program: without usage and hints of the command line.
pub(crate) fn reason(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let reason = text.split("\n\nUsage:").next().unwrap_or(&text);
    let reason = reason.split("\n\nFor more information").next();
    let reason = reason.unwrap_or(&text).trim_start_matches("error: ");
    let words: Vec<&str> = reason.split_whitespace().collect();
    words.join(" ")
}

/// The message for a negative number, which looks like a flag, after one of the arguments `given`.
fn negative_value(error: &clap::Error, given: impl Iterator<Item = String>) -> Option<String> {
    let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
        return None;
    };
    let is_number = |text: &str| {
        let digits = text.strip_prefix('-');
        digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit() || c == '.'))
    };
    let given: Vec<String> = given.collect();
    let place = given
        .iter()
        .position(|text| is_number(text) && text.starts_with(found.as_str()))?;
    let (flag, value) = (given.get(place.checked_sub(1)?)?, &given[place]);
    Some(if flag.starts_with("--") {
        format!("invalid value '{value}' for '{flag}': expected zero or more")
    } else {
        format!("found '{value}', expected a number that is not negative")
    })
}

/// Prints the failure of command `name`, if any, and returns the exit code.
pub(crate) fn code(name: &str, outcome: Outcome) -> ExitCode {
    let (message, help, code) = match outcome {
        Ok(()) | Err(Failure::ClosedPipe) => return ExitCode::SUCCESS,
        Err(Failure::Different | Failure::Odd) => return ExitCode::FAILURE,
        Err(Failure::Exit(code)) => return ExitCode::from(code),
        Err(Failure::Usage(message)) => (message, None, 2),
        Err(Failure::Trouble { message, help }) => (message, help, 2),
        Err(Failure::Failed { message, help }) => (message, help, 1),
        Err(Failure::Io(_, message)) => (message, None, 1),
    };
    print_line(format_args!("tmt {name}: {message}"));
    if let Some(help) = help {
        print_line(format_args!("help: {help}"));
    }
    ExitCode::from(code)
}

/// Suppresses the message of a panic that is caught and becomes an error with its own message.
pub(crate) fn silence_contained_panics() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panics_are_contained() {
            print(panic);
        }
    }));
}

//! Messages of commands: to the program that calls them, or in lines on stderr, kept apart from the progress bar, and the
//! settings of `--quiet` and `--verbose`.
//!
//! Errors and warnings are always printed. A command prints one headline unless `--quiet` is given, and notes only if
//! `--verbose` is.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;
use tmt_core::types::Severity;

use crate::host::here;

/// How much is printed besides errors and warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// One headline per command, and the progress.
    Normal,
    /// All notes as well.
    Verbose,
}

/// The [`Verbosity`] of the program.
static VERBOSITY: AtomicU8 = AtomicU8::new(Verbosity::Normal as u8);

/// Progress bar of the command, if there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Progress bar of the command, if there is one.
pub(crate) fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets how much is printed.
pub(crate) fn set_verbosity(verbosity: Verbosity) {
    VERBOSITY.store(verbosity as u8, Ordering::Relaxed);
}

/// Whether output of this verbosity is printed.
pub(crate) fn shows(verbosity: Verbosity) -> bool {
    VERBOSITY.load(Ordering::Relaxed) >= verbosity as u8
}

/// Prints a line to stderr if output of this verbosity is printed.
pub(crate) fn print_at(verbosity: Verbosity, line: fmt::Arguments<'_>) {
    if shows(verbosity) {
        print_line(line);
    }
}

/// `text` for a terminal, without what controls it: names, values and heads come from files of others. All text that is read by
/// people goes through here; line ends and tabs stay.
pub(crate) fn safe(text: &str) -> Cow<'_, str> {
    if text.contains(controls) {
        Cow::Owned(text.replace(controls, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Whether a character controls the terminal (C0 and C1), or turns the direction of the text around it.
pub(crate) fn controls(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || c.is_control() && !matches!(c, '\n' | '\t')
}

/// Prints a line to stderr. A closed stderr is ignored.
pub(crate) fn print_line(line: fmt::Arguments<'_>) {
    if let Some(host) = here().host() {
        host.tell(Severity::Info, line.to_string());
        return;
    }
    // One write per line: the stages of a pipeline share stderr, and their lines must not mix.
    let line = format!("{}\n", safe(&line.to_string()));
    let write = || {
        let _ = io::stderr().lock().write_all(line.as_bytes());
    };
    match bar().as_ref() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Says something of command `name`: to the program that calls it, with this severity, or on stderr, from this verbosity on.
pub(crate) fn say(
    severity: Severity,
    verbosity: Verbosity,
    name: &dyn fmt::Display,
    text: fmt::Arguments<'_>,
) {
    if let Some(host) = here().host() {
        host.tell(severity, text.to_string());
        return;
    }
    match severity {
        Severity::Warning => print_line(format_args!("tmt {name}: warning: {text}")),
        Severity::Info | Severity::Notice => {
            print_at(verbosity, format_args!("tmt {name}: {text}"));
        }
    }
}

/// Says the headline of command `name`: what it did, with the settings that decide the result. One line.
macro_rules! headline {
    ($name:expr, $($text:tt)*) => {
        $crate::stderr::say(
            tmt_core::types::Severity::Info,
            $crate::stderr::Verbosity::Normal,
            &$name,
            format_args!($($text)*),
        )
    };
}
pub(crate) use headline;

/// Says a note of command `name`, on stderr with `--verbose` only: which value is used and where it comes from.
macro_rules! note {
    ($name:expr, $($text:tt)*) => {
        $crate::stderr::say(
            tmt_core::types::Severity::Info,
            $crate::stderr::Verbosity::Verbose,
            &$name,
            format_args!($($text)*),
        )
    };
}
pub(crate) use note;

/// Says a warning of command `name`, on stderr with `--quiet` too: without it the result would mislead.
macro_rules! warning {
    ($name:expr, $($text:tt)*) => {
        $crate::stderr::say(
            tmt_core::types::Severity::Warning,
            $crate::stderr::Verbosity::Quiet,
            &$name,
            format_args!($($text)*),
        )
    };
}
pub(crate) use warning;

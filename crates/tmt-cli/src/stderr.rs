//! Lines on stderr, kept apart from the progress bar, and the setting of `--quiet`.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

/// Whether only errors are printed.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Progress bar of the command, if there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Progress bar of the command, if there is one.
pub(crate) fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From now on prints errors only.
pub(crate) fn set_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether only errors are printed.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a line to stderr unless `--quiet` is given.
pub(crate) fn print_unless_quiet(line: fmt::Arguments<'_>) {
    if !is_quiet() {
        print_line(line);
    }
}

/// Prints a line to stderr. A closed stderr is ignored.
pub(crate) fn print_line(line: fmt::Arguments<'_>) {
    // One write per line: the stages of a pipeline share stderr, and their lines must not mix.
    let line = format!("{line}\n");
    let write = || {
        let _ = io::stderr().lock().write_all(line.as_bytes());
    };
    match bar().as_ref() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Prints a note of command `name` to stderr.
macro_rules! note {
    ($name:expr, $($text:tt)*) => {
        $crate::stderr::print_unless_quiet(format_args!("tmt {}: {}", $name, format_args!($($text)*)))
    };
}
pub(crate) use note;

/// Prints a warning of command `name` to stderr, with `--quiet` too: without it the result would mislead.
macro_rules! warning {
    ($name:expr, $($text:tt)*) => {
        $crate::stderr::print_line(format_args!("tmt {}: warning: {}", $name, format_args!($($text)*)))
    };
}
pub(crate) use warning;

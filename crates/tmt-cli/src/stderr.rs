//! What stands on stderr beside clap's words: lines, the bar that they must not run into, and whether either is wanted.

use std::fmt;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

/// Whether only errors are told.
static QUIET: AtomicBool = AtomicBool::new(false);

/// The progress bar of this run, while there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// The progress bar of this run, while there is one.
pub(crate) fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// From here on only errors are told.
pub(crate) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether only errors are told.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// One line on stderr, unless only errors are told.
pub(crate) fn say(line: fmt::Arguments<'_>) {
    if !is_quiet() {
        tell(line);
    }
}

/// One line on stderr; a closed stderr is nobody's error.
pub(crate) fn tell(line: fmt::Arguments<'_>) {
    // In one piece: the stages of a chain share a stderr, and their lines must not run into each other.
    let line = format!("{line}\n");
    let write = || {
        let _ = io::stderr().lock().write_all(line.as_bytes());
    };
    match bar().as_ref() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// One line on stderr about what command `name` does.
macro_rules! note {
    ($name:expr, $($text:tt)*) => {
        $crate::stderr::say(format_args!("tmt {}: {}", $name, format_args!($($text)*)))
    };
}
pub(crate) use note;

//! How far a command has come, on a terminal only: bytes read, rate, time left.

use std::io::{self, IsTerminal as _, Read};
use std::sync::{Mutex, MutexGuard, PoisonError};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::exit;

/// The bar of this run, while there is one.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Times a second at which the bar is drawn.
const DRAWN_PER_SECOND: u8 = 5;

fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `input`, whose reading is shown on stderr if that is a terminal and nobody asked for quiet.
///
/// A second input of a run adds to the bar of the first.
pub(crate) fn shown(
    input: impl Read + Send + 'static,
    length: Option<u64>,
) -> Box<dyn Read + Send> {
    if exit::is_quiet() || !io::stderr().is_terminal() {
        return Box::new(input);
    }
    let mut bar = bar();
    let shown = bar.get_or_insert_with(|| {
        let target = ProgressDrawTarget::stderr_with_hz(DRAWN_PER_SECOND);
        ProgressBar::with_draw_target(Some(0), target)
    });
    let known = shown.length().filter(|_| length.is_some());
    match (known, length) {
        (Some(known), Some(length)) => shown.set_length(known + length),
        _ => shown.unset_length(),
    }
    let template = if shown.length().is_some() {
        "{wide_bar} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left"
    } else {
        "{spinner} {bytes}, {bytes_per_sec}"
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        shown.set_style(style);
    }
    Box::new(shown.wrap_read(input))
}

/// Writes to the terminal while the bar is off it.
pub(crate) fn beside(write: impl FnOnce()) {
    match bar().as_ref() {
        Some(bar) => bar.suspend(write),
        None => write(),
    }
}

/// Takes the bar off the terminal for good.
pub(crate) fn clear() {
    if let Some(bar) = bar().take() {
        bar.finish_and_clear();
    }
}

//! Progress bar, only on a terminal: bytes read, rate, time left.

use std::io::{self, IsTerminal as _, Read};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::stderr::{Verbosity, bar, shows};

/// Refresh rate of the bar, per second.
const REFRESH_RATE: u8 = 5;

/// `input` with a progress bar on stderr, if that is a terminal and `--quiet` is off.
///
/// Several inputs of a command share one bar.
pub(crate) fn shown(
    input: impl Read + Send + 'static,
    length: Option<u64>,
) -> Box<dyn Read + Send> {
    if !shows(Verbosity::Normal) || !io::stderr().is_terminal() {
        return Box::new(input);
    }
    let mut bar = bar();
    let shown = bar.get_or_insert_with(|| {
        let target = ProgressDrawTarget::stderr_with_hz(REFRESH_RATE);
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

/// Removes the bar from the terminal.
pub(crate) fn clear() {
    if let Some(bar) = bar().take() {
        bar.finish_and_clear();
    }
}

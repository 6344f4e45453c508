//! How far a command has come, on a terminal only: bytes read, rate, time left.

use std::io::{self, IsTerminal as _, Read};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::stderr::{bar, is_quiet};

/// Times a second at which the bar is drawn.
const DRAWN_PER_SECOND: u8 = 5;

/// `input`, whose reading is shown on stderr if that is a terminal and nobody asked for quiet.
///
/// A second input of a run adds to the bar of the first.
pub(crate) fn shown(
    input: impl Read + Send + 'static,
    length: Option<u64>,
) -> Box<dyn Read + Send> {
    if is_quiet() || !io::stderr().is_terminal() {
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

/// Takes the bar off the terminal for good.
pub(crate) fn clear() {
    if let Some(bar) = bar().take() {
        bar.finish_and_clear();
    }
}

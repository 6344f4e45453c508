//! Progress: for the program that calls a command, or in a bar, only on a terminal: bytes read or work done, rate, time left.

use std::fmt;
use std::io::{self, IsTerminal as _, Read};
use std::time::Duration;

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::host::{Here, here};
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
    let here = here();
    if here.host().is_some() {
        return here.watched(Box::new(input));
    }
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

/// Time before work shows its progress. Work that ends earlier shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress of work that is counted: runs, simulated time, points, slots. The program that calls the command sees it; otherwise it
/// shows as a bar on stderr, if that is a terminal and `--quiet` is off, until it is dropped.
pub(crate) struct Work {
    here: Here,
    progress: Option<ProgressBar>,
}

impl Work {
    /// Begins work of `total` steps, which `unit` names in the plural. Removes the bar of the input, which has been read.
    pub(crate) fn new(total: u64, unit: &'static str) -> Self {
        let here = here();
        if let Some(host) = here.host() {
            host.begin(total, unit);
            let progress = None;
            return Self { here, progress };
        }
        clear();
        if !shows(Verbosity::Normal) || !io::stderr().is_terminal() {
            let progress = None;
            return Self { here, progress };
        }
        let progress = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::hidden());
        let template = format!("{{wide_bar}} {{pos}} of {{len}} {unit}, {{msg}}{{left}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            progress.set_style(style.with_key("left", left));
        }
        *bar() = Some(progress.clone());
        Self {
            here,
            progress: Some(progress),
        }
    }

    /// Whether the progress is shown, so that it is worth observing.
    pub(crate) fn is_shown(&self) -> bool {
        self.progress.is_some() || self.here.host().is_some()
    }

    /// Whether the work shall end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.here.is_stopped()
    }

    /// Counts `steps` more steps as done.
    pub(crate) fn advance(&self, steps: u64) {
        if let Some(host) = self.here.host() {
            host.advance(steps);
        }
        let Some(progress) = &self.progress else {
            return;
        };
        if progress.is_hidden() && progress.elapsed() >= PATIENCE {
            progress.set_draw_target(ProgressDrawTarget::stderr_with_hz(REFRESH_RATE));
        }
        progress.inc(steps);
    }

    /// Names the current part of the work, and keeps the bar alive while it takes long.
    pub(crate) fn name(&self, part: &str) {
        if let Some(progress) = &self.progress {
            progress.set_message(format!("{part}, "));
            progress.set_draw_target(ProgressDrawTarget::stderr_with_hz(REFRESH_RATE));
            progress.enable_steady_tick(PATIENCE);
        }
    }

    /// Calls `write`, which may write to the terminal, without the bar.
    pub(crate) fn pause<R>(&self, write: impl FnOnce() -> R) -> R {
        match &self.progress {
            Some(progress) => progress.suspend(write),
            None => write(),
        }
    }
}

/// The time left, once something is done.
fn left(state: &ProgressState, text: &mut dyn fmt::Write) {
    let _ = match state.pos() {
        0 => write!(text, "time left unknown"),
        _ => write!(text, "{:#} left", HumanDuration(state.eta())),
    };
}

impl Drop for Work {
    fn drop(&mut self) {
        clear();
    }
}

/// Removes the bar from the terminal.
pub(crate) fn clear() {
    if let Some(bar) = bar().take() {
        bar.finish_and_clear();
    }
}

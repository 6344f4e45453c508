//! Whether the times of a trace look as if they had been read in another unit than they are in, and whether repeats can
//! leave as early as a feedback delay says.

use crate::types::{Metadata, Slot, Span, TraceKind};

/// Longest plausible mean time between two rows, s. The slowest links that are measured send several units per second.
const MAX_PERIOD_S: f64 = 1.0;

/// Longest plausible median of the decoding delay, s. Decoding takes milliseconds; repeats and queues under a measured
/// delay add some hundred, in order of delivery up to a few seconds.
const MAX_MEDIAN_DELAY_S: f64 = 5.0;

/// Message on a mean time between rows and a median decoding delay, both in s, if they are implausible; `None` if both may be
/// right. Probes may be as rare as one likes.
///
/// ```
/// use tmt_core::stats::wrong_unit;
/// use tmt_core::types::TraceKind;
///
/// // Slots of 10 ms that take 36 ms to decode, in ms and read as s.
/// let found = wrong_unit(None, Some(10.0), Some(36.0));
/// assert_eq!(found.as_deref(), Some("the mean slot period is 10 s and the median decoding delay 36 s"));
/// assert_eq!(wrong_unit(None, Some(0.010), Some(0.036)), None);
/// assert_eq!(wrong_unit(Some(TraceKind::Probe), Some(10.0), Some(0.036)), None);
/// ```
#[must_use]
pub fn wrong_unit(
    kind: Option<TraceKind>,
    period_s: Option<f64>,
    delay_s: Option<f64>,
) -> Option<String> {
    let is_link = kind != Some(TraceKind::Probe);
    let period = period_s.filter(|period| is_link && *period > MAX_PERIOD_S);
    let delay = delay_s.filter(|delay| *delay > MAX_MEDIAN_DELAY_S);
    match (period, delay) {
        (Some(period), Some(delay)) => Some(format!(
            "the mean slot period is {} s and the median decoding delay {} s",
            short(period),
            short(delay)
        )),
        (Some(period), None) => Some(format!("the mean slot period is {} s", short(period))),
        (None, Some(delay)) => Some(format!("the median decoding delay is {} s", short(delay))),
        (None, None) => None,
    }
}

/// The remedy for times in a wrong unit, as a question that names `flag`. Delays that `tmt convert` has read from a file may
/// have been wrong before.
#[must_use]
pub fn unit_question(flag: &str, head: &Metadata) -> String {
    let has_delays = |text: &str| {
        text.starts_with("tmt convert --from delay-loss") && text.contains(" --propagation ")
    };
    let stages = head.iter().filter(|(key, _)| *key == "stage");
    let or_before = if stages.map(|(_, stage)| stage).any(has_delays) {
        ", or were they when they were converted (--delay-unit of tmt convert)"
    } else {
        ""
    };
    format!("are the times in another unit ({flag}){or_before}?")
}

/// Why a repeat leaves before the receiver can have asked for it; `None` if it can have asked. `repeat` names the repeat.
///
/// The receiver asks once it has decoded, so the median decoding delay must not exceed the feedback delay.
/// [`Slot::UNKNOWN_DELAY`] does not count.
///
/// ```
/// use tmt_core::Span;
/// use tmt_core::stats::early_repeat;
///
/// let early = |delay| early_repeat("a repeat", Some(delay), Span::from_millis(30));
/// let why = early(Span::from_millis(36));
/// assert!(why.is_some_and(|why| why.starts_with("the median decoding delay of 36ms exceeds")));
/// assert_eq!(early(Span::from_millis(30)), None);
/// ```
#[must_use]
pub fn early_repeat(
    repeat: &str,
    decode_delay: Option<Span>,
    feedback_delay: Span,
) -> Option<String> {
    let decode_delay = decode_delay.filter(|delay| *delay > feedback_delay)?;
    (decode_delay > Slot::UNKNOWN_DELAY).then(|| {
        format!(
            "the median decoding delay of {decode_delay} exceeds the feedback delay of {feedback_delay}: {repeat} leaves before the receiver can have asked for it"
        )
    })
}

/// How a text on `--feedback-delay decode` goes on, for a trace with this head: the other value of the flag, if it is
/// enough for the median decoding delay.
#[must_use]
pub fn or_interleaver(head: &Metadata, decode_delay: Option<Span>) -> &'static str {
    match head.interleaver() {
        Some(depth) if Some(depth) < decode_delay => "",
        Some(_) => ", or interleaver",
        None => " (or interleaver, for a trace with interleaver_ns)",
    }
}

/// A time above one second with at most three decimals.
fn short(seconds: f64) -> String {
    let text = format!("{seconds:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_that_stands_for_received_or_is_within_the_feedback_delay_is_not_early() {
        let span = |nanos| Span::from_nanos(nanos).unwrap();
        let early =
            |delay, feedback| early_repeat("a repeat", Some(span(delay)), span(feedback)).is_some();
        assert!(!early(1, 0));
        assert!(early(2, 0));
        assert!(!early(10_000_000, 10_000_000));
        assert!(early(10_000_001, 10_000_000));
        assert_eq!(early_repeat("a repeat", None, Span::ZERO), None);
    }

    #[test]
    fn only_converted_delays_may_have_been_wrong_before() {
        let mut head = Metadata::new();
        let asked = |head: &Metadata| unit_question("--unit", head);
        assert_eq!(asked(&head), "are the times in another unit (--unit)?");
        head.push(
            "stage",
            "tmt convert --from mahimahi --propagation 3ms".to_owned(),
        );
        assert!(!asked(&head).contains("--delay-unit"));
        head.push(
            "stage",
            "tmt convert --from delay-loss --delay-unit us --propagation 3646ms".to_owned(),
        );
        assert!(asked(&head).contains("--delay-unit of tmt convert"));
    }

    #[test]
    fn only_times_above_the_limits_are_implausible() {
        assert_eq!(
            wrong_unit(None, Some(MAX_PERIOD_S), Some(MAX_MEDIAN_DELAY_S)),
            None
        );
        assert_eq!(wrong_unit(None, None, None), None);
        let period = wrong_unit(None, Some(1.5), Some(5.0));
        assert_eq!(period.as_deref(), Some("the mean slot period is 1.5 s"));
        let delay = wrong_unit(None, None, Some(20.0));
        assert_eq!(delay.as_deref(), Some("the median decoding delay is 20 s"));
    }
}

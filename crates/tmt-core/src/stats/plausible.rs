//! Whether the times of a trace look as if they had been read in another unit than they are in.

/// Longest plausible mean time between two rows, s. The slowest links that are measured send several units per second.
pub const MAX_PERIOD_S: f64 = 1.0;

/// Longest plausible median of the decoding delay, s. Decoding takes milliseconds; repeats and queues under a measured
/// delay add some hundred, in order of delivery up to a few seconds.
pub const MAX_MEDIAN_DELAY_S: f64 = 5.0;

/// What is implausible about a mean time between rows and a median decoding delay, both in s; `None` if both may be right.
///
/// ```
/// use tmt_core::stats::wrong_unit;
///
/// // Slots of 10 ms that take 36 ms to decode, in ms and read as s.
/// let found = wrong_unit(Some(10.0), Some(36.0));
/// assert_eq!(found.as_deref(), Some("the mean slot period is 10 s and the median decoding delay 36 s"));
/// assert_eq!(wrong_unit(Some(0.010), Some(0.036)), None);
/// ```
#[must_use]
pub fn wrong_unit(period_s: Option<f64>, delay_s: Option<f64>) -> Option<String> {
    let period = period_s.filter(|period| *period > MAX_PERIOD_S);
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

/// A time above one second with at most three decimals.
fn short(seconds: f64) -> String {
    let text = format!("{seconds:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_times_above_the_limits_are_implausible() {
        assert_eq!(
            wrong_unit(Some(MAX_PERIOD_S), Some(MAX_MEDIAN_DELAY_S)),
            None
        );
        assert_eq!(wrong_unit(None, None), None);
        let period = wrong_unit(Some(1.5), Some(5.0));
        assert_eq!(period.as_deref(), Some("the mean slot period is 1.5 s"));
        let delay = wrong_unit(None, Some(20.0));
        assert_eq!(delay.as_deref(), Some("the median decoding delay is 20 s"));
    }
}

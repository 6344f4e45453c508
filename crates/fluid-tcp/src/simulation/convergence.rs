//! Convergence to a fair share after a join: the δ-fair convergence time of Bansal 2001 (RFC 5166, Sec. 2.4).
//!
//! It is the time after which two flows, one of which begins beside the other, have (1 + δ)/2 and (1 − δ)/2 of what both get, with
//! δ = 0.1. Jain's index of such shares is 1/(1 + δ²), which is the condition here for any number of flows. Shares are those of the
//! payload that is delivered in successive windows from the last start on.

use tmt_core::types::{Span, Time};

/// Length of a window in round trips of the flow with the longest, and its least length.
const ROUND_TRIPS: u64 = 10;
const LEAST: Span = Span::from_millis(100);

/// 1 + δ², in hundredths.
const HUNDREDTHS: u128 = 101;

/// The flows that share a link, window by window.
#[derive(Debug)]
pub(super) struct Convergence {
    window: Span,
    /// Begin of the first window.
    begin: Time,
    /// End of the window that runs; [`Time::MAX`] if there is nothing to wait for.
    pub(super) due: Time,
    /// Payload of each flow at the start of that window, bytes.
    before: Vec<u64>,
    reached: Option<Span>,
}

impl Convergence {
    /// Nothing to wait for yet. The longest round trip of a flow, without queues, takes `round_trip`.
    pub(super) fn new(round_trip: Span) -> Self {
        let window = round_trip.checked_mul(ROUND_TRIPS).unwrap_or(Span::MAX);
        Self {
            window: window.max(LEAST),
            begin: Time::MAX,
            due: Time::MAX,
            before: Vec::new(),
            reached: None,
        }
    }

    /// The last flow begins; all have delivered this payload.
    pub(super) fn begin(&mut self, now: Time, payload: Vec<u64>) {
        if payload.len() > 1 {
            self.begin = now;
            self.due = now.saturating_add(self.window);
            self.before = payload;
        }
    }

    /// Whether a window has ended by `now`.
    pub(super) fn is_due(&self, now: Time) -> bool {
        now >= self.due && self.due < Time::MAX
    }

    /// A window has ended, after which nothing was delivered until `now`; all have delivered this payload. Windows in which nothing was
    /// delivered have no shares.
    pub(super) fn end_windows(&mut self, now: Time, payload: Vec<u64>) {
        let shares = payload.iter().zip(&self.before);
        let shares = shares.map(|(after, before)| u128::from(after.saturating_sub(*before)));
        let (flows, sum, squares) = shares.fold((0, 0, 0), |(flows, sum, squares), share| {
            (flows + 1, sum + share, squares + share * share)
        });
        if sum > 0 && 100 * flows * squares <= HUNDREDTHS * sum * sum {
            self.reached = Some(self.due.since(self.begin));
            return self.stop();
        }
        self.before = payload;
        let idle = now.since(self.due).as_nanos() / self.window.as_nanos();
        let ended = self.window.checked_mul(idle).unwrap_or(Span::MAX);
        let due = self.due.saturating_add(ended);
        self.due = due.saturating_add(self.window);
    }

    /// The flows do not share the link any more.
    pub(super) fn stop(&mut self) {
        self.due = Time::MAX;
    }

    /// From the last start to the end of the first window with fair shares; `None` if there was none.
    pub(super) fn reached(&self) -> Option<Span> {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(windows: &[[u64; 2]]) -> Option<Span> {
        let mut convergence = Convergence::new(Span::from_millis(100));
        let (mut sums, begin) = ([700, 0], Time::ZERO.saturating_add(Span::from_secs(3)));
        convergence.begin(begin, sums.to_vec());
        for payload in windows {
            sums = [sums[0] + payload[0], sums[1] + payload[1]];
            convergence.end_windows(convergence.due, sums.to_vec());
        }
        convergence.reached()
    }

    #[test]
    fn shares_of_55_and_45_percent_are_fair_and_a_little_less_is_not() {
        // Windows of 1 s.
        assert_eq!(after(&[[900, 100], [550, 450]]), Some(Span::from_secs(2)));
        assert_eq!(after(&[[900, 100], [551, 449]]), None);
        assert_eq!(after(&[[0, 0], [450, 550]]), Some(Span::from_secs(2)));
        assert_eq!(after(&[[0, 0], [0, 10]]), None);
    }

    #[test]
    fn a_time_without_deliveries_is_passed_over_at_once() {
        let mut convergence = Convergence::new(Span::from_millis(100));
        let at = |seconds| Time::ZERO.saturating_add(Span::from_secs(seconds));
        convergence.begin(at(3), vec![0, 0]);
        convergence.end_windows(at(10_000_000), vec![900, 100]);
        assert_eq!(convergence.due, at(10_000_001));
        assert!(!convergence.is_due(at(10_000_000)));
        convergence.end_windows(at(10_000_001), vec![1400, 600]);
        assert_eq!(convergence.reached(), Some(Span::from_secs(9_999_998)));
        // Nothing is due at the end of time.
        assert!(!convergence.is_due(Time::MAX));
    }

    #[test]
    fn a_flow_alone_converges_to_nothing() {
        let mut convergence = Convergence::new(Span::ZERO);
        convergence.begin(Time::ZERO, vec![0]);
        assert_eq!((convergence.due, convergence.reached()), (Time::MAX, None));
        convergence.begin(Time::ZERO, vec![0, 0]);
        assert_eq!(convergence.due, Time::ZERO.saturating_add(LEAST));
    }
}

//! ACK aggregation: segments acknowledged at once beyond what the bandwidth explains, because of the link layer or of
//! stretch ACKs (draft-ietf-ccwg-bbr-05, Sec. 5.5.9; `bbr_update_ack_aggregation` in Linux).

use tmt_core::types::{Time, to_f64};

use super::filter::MaxFilter;
use super::rounds::Rounds;

/// Rounds for which `extra_acked` is kept once the pipe has been full (`BBRExtraAckedFilterLen`); 1 before.
const WINDOW: u64 = 10;

/// Estimator of `BBR.extra_acked`.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Aggregation {
    /// Time at which the current interval began.
    since: Option<Time>,
    /// Segments delivered since then.
    acked: f64,
    extra_acked: MaxFilter,
}

impl Aggregation {
    /// Processes an ACK of `delivered` segments, with `bw` segments per second expected. At most `cwnd` counts as
    /// extra.
    pub(in super::super) fn on_ack(
        &mut self,
        (now, delivered): (Time, u64),
        (bw, cwnd): (f64, f64),
        (rounds, filled): (&Rounds, bool),
    ) {
        let since = *self.since.get_or_insert(now);
        let mut expected = bw * now.since(since).as_secs_f64();
        if self.acked <= expected {
            self.restart(now);
            expected = 0.0;
        }
        self.acked += to_f64(delivered);
        let excess = (self.acked - expected).min(cwnd);
        let window = if filled { WINDOW } else { 1 };
        self.extra_acked.update(rounds.count, window, excess);
    }

    /// Begins a new interval at `now`.
    pub(in super::super) fn restart(&mut self, now: Time) {
        self.since = Some(now);
        self.acked = 0.0;
    }

    /// Returns the largest excess within the filter's window, segments.
    pub(in super::super) fn extra_acked(&self) -> f64 {
        self.extra_acked.get()
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::*;

    #[test]
    fn an_ack_of_ten_segments_every_tenth_of_a_second_is_an_excess_of_at_most_ten() {
        let mut aggregation = Aggregation::default();
        let rounds = Rounds::default();
        let mut now = Time::ZERO;
        for _ in 0..20 {
            now = now.saturating_add(Span::from_millis(100));
            aggregation.on_ack((now, 10), (100.0, 1e3), (&rounds, true));
        }
        assert!(
            (aggregation.extra_acked() - 10.0).abs() < 1e-9,
            "{aggregation:?}"
        );
        aggregation.on_ack((now, 30), (100.0, 25.0), (&rounds, true));
        assert!(
            (aggregation.extra_acked() - 25.0).abs() < 1e-9,
            "not more than the window"
        );
    }
}

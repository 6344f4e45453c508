//! NewReno: slow start and congestion avoidance of RFC 5681. The sender implements recovery (RFC 6582, 6675).
//!
//! Deviations: none. Growth is counted per ACK, not per byte (RFC 5681, Sec. 3.1: eq. (3) and
//! "at most SMSS per ACK" in slow start), so delayed ACKs slow it, as in the papers. With `hystart=on` the first slow
//! start follows RFC 9406.

use super::hystart::{HyStart, slow_start};
use super::{AckEvent, CongestionControl, CongestionEvent, Entry, Parameter, Window};

/// NewReno (RFC 6582) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "newreno",
    about: "RFC 5681 with the recovery of RFC 6582 and 6675",
    parameters: &[Parameter::switch("hystart", false)],
    examples: &["newreno", "newreno:hystart=on"],
    make: |initial_window, parameters| {
        Box::new(NewReno::new(initial_window, parameters.is_on("hystart")))
    },
};

#[derive(Debug, Clone)]
pub(super) struct NewReno {
    window: Window,
    hystart: Option<HyStart>,
    /// Whether a fast recovery continues after a partial ACK.
    pub(super) uses_newreno_recovery: bool,
}

impl NewReno {
    pub(super) fn new(initial_window: f64, hystart: bool) -> Self {
        Self {
            window: Window::new(initial_window),
            hystart: hystart.then(HyStart::default),
            uses_newreno_recovery: true,
        }
    }
}

impl CongestionControl for NewReno {
    fn on_ack(&mut self, ack: &AckEvent) {
        if self.window.in_slow_start() {
            slow_start(&mut self.hystart, ack, &mut self.window);
        } else {
            self.window.cwnd += 1.0 / self.window.cwnd;
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        // RFC 5681, eq. (4).
        self.window.cut(event, event.in_flight / 2.0);
    }

    fn window(&self) -> Window {
        self.window
    }

    fn uses_newreno_recovery(&self) -> bool {
        self.uses_newreno_recovery
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Time;

    use super::super::Cause;
    use super::*;

    fn congestion(in_flight: f64, cause: Cause) -> CongestionEvent {
        CongestionEvent {
            now: Time::ZERO,
            in_flight,
            cause,
        }
    }

    #[test]
    fn slow_start_doubles_a_window_a_round() {
        let mut cc = NewReno::new(2.0, false);
        (0..2).for_each(|_| cc.on_ack(&AckEvent::default()));
        assert!((cc.cwnd() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn congestion_avoidance_adds_about_one_segment_a_round() {
        let mut cc = NewReno::new(10.0, false);
        cc.on_congestion(&congestion(20.0, Cause::FastRetransmit));
        (0..10).for_each(|_| cc.on_ack(&AckEvent::default()));
        // Between 1 − 1/(2·10) and 1: the window grows while it is filled.
        assert!((10.9..=11.0).contains(&cc.cwnd()), "{}", cc.cwnd());
    }

    #[test]
    fn a_timeout_starts_from_one_segment_with_half_of_what_was_in_flight_as_threshold() {
        let mut cc = NewReno::new(10.0, false);
        cc.on_congestion(&congestion(20.0, Cause::Timeout));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, Some(10.0)));
        cc.on_congestion(&congestion(1.0, Cause::Timeout));
        assert_eq!(cc.ssthresh(), Some(2.0));
    }
}

//! NewReno: slow start and congestion avoidance of RFC 5681. The sender implements recovery (RFC 6582, 6675).
//!
//! Growth is counted per ACK, not per byte (RFC 5681, Sec. 3.1: eq. (3) and "at most SMSS per ACK" in slow start), so
//! delayed ACKs slow it, as in the papers; or per segment, as in Linux (`growth.rs`, `--growth`). With growth by
//! segments the window is whole, and a cut leaves max(2, cwnd / 2), rounded down (`tcp_reno_ssthresh`). HyStart is off
//! unless `hystart` asks for it: Linux has it only in CUBIC. Deviations: none.

use super::growth::Reno;
use super::hystart::{self, SlowStart};
use super::{
    AckEvent, CongestionControl, CongestionEvent, Connection, Entry, Make, Values, Window,
};

/// NewReno (RFC 6582) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "newreno",
    about: "RFC 5681 with the recovery of RFC 6582 and 6675",
    parameters: &[hystart::PARAMETER_OFF],
    examples: &["newreno", "newreno:hystart=on"],
    make: Make(|connection, parameters| Box::new(NewReno::new(connection, parameters))),
};

#[derive(Debug, Clone)]
pub(super) struct NewReno {
    window: Window,
    reno: Reno,
    slow_start: SlowStart,
    /// Whether a fast recovery continues after a partial ACK.
    pub(super) uses_newreno_recovery: bool,
}

impl NewReno {
    pub(super) fn new(connection: &Connection, parameters: &Values) -> Self {
        Self {
            window: connection.window(),
            reno: Reno::new(connection.implementation.growth),
            slow_start: SlowStart::new(connection, parameters),
            uses_newreno_recovery: true,
        }
    }
}

impl CongestionControl for NewReno {
    fn observe(&mut self, ack: &AckEvent) {
        self.slow_start.observe(ack, &self.window);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let left = self.slow_start.grow(&self.reno, ack, &mut self.window);
        if let Some(count) = left {
            let w = self.window.cwnd;
            self.reno.avoid_congestion(&mut self.window, w, count);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.slow_start.on_congestion(event);
        // RFC 5681, eq. (4).
        let threshold = self.reno.cut(event.in_flight / 2.0);
        self.window.cut(event, threshold);
    }

    fn window(&self) -> Window {
        self.window
    }

    fn on_idle(&mut self, window: Window) {
        self.window = window;
    }

    fn uses_newreno_recovery(&self) -> bool {
        self.uses_newreno_recovery
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{Span, Time};

    use super::super::{Algorithm, Cause, Growth, Implementation};
    use super::*;

    fn newreno(initial_window: u32) -> NewReno {
        started(initial_window, Growth::Acks)
    }

    fn started(initial_window: u32, growth: Growth) -> NewReno {
        let connection = Connection {
            initial_window,
            implementation: Implementation {
                growth,
                ..Implementation::RFC
            },
            ..Connection::default()
        };
        let defaults = Algorithm::with_defaults(&ENTRY);
        NewReno::new(&connection, defaults.values())
    }

    fn congestion(in_flight: f64, cause: Cause) -> CongestionEvent {
        CongestionEvent {
            now: Time::ZERO,
            in_flight,
            cause,
        }
    }

    #[test]
    fn slow_start_doubles_a_window_a_round() {
        let mut cc = newreno(2);
        (0..2).for_each(|_| cc.on_ack(&AckEvent::default()));
        assert!((cc.cwnd() - 4.0).abs() < 1e-12);
    }

    #[test]
    fn congestion_avoidance_adds_about_one_segment_a_round() {
        let mut cc = newreno(10);
        cc.on_congestion(&congestion(20.0, Cause::FastRetransmit));
        (0..10).for_each(|_| cc.on_ack(&AckEvent::default()));
        // Between 1 − 1/(2·10) and 1: the window grows while it is filled.
        assert!((10.9..=11.0).contains(&cc.cwnd()), "{}", cc.cwnd());
    }

    #[test]
    fn a_timeout_starts_from_one_segment_with_half_of_what_was_in_flight_as_threshold() {
        let mut cc = newreno(10);
        cc.on_congestion(&congestion(20.0, Cause::Timeout));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (1.0, Some(10.0)));
        cc.on_congestion(&congestion(1.0, Cause::Timeout));
        assert_eq!(cc.ssthresh(), Some(2.0));
    }

    #[test]
    fn by_segments_windows_are_whole_and_a_cut_leaves_half_rounded_down() {
        // `tcp_reno_ssthresh`: max(cwnd >> 1, 2).
        let mut cc = started(15, Growth::Segments);
        for (in_flight, threshold) in [(15.0, 7.0), (5.0, 2.0), (3.0, 2.0), (1.0, 2.0)] {
            cc.on_congestion(&congestion(in_flight, Cause::FastRetransmit));
            assert_eq!(cc.ssthresh(), Some(threshold));
        }
        let ack = AckEvent {
            acked: 1,
            delivered: 5,
            ..AckEvent::default()
        };
        (0..3).for_each(|_| cc.on_ack(&ack));
        // 5 = 2 · 2 + 1; 1 + 5 = 1 · 4 + 2; 2 + 5 = 1 · 5 + 2.
        assert!((cc.cwnd() - 6.0).abs() < 1e-12, "{}", cc.cwnd());
    }

    #[test]
    fn hystart_is_off_unless_it_is_asked_for() {
        for (text, ends) in [("newreno", false), ("newreno:hystart=classic", true)] {
            let algorithm: Algorithm = text.parse().unwrap();
            let connection = Connection {
                initial_window: 20,
                implementation: Implementation::LINUX,
                ..Connection::default()
            };
            let mut cc = crate::congestion::start(&algorithm, &connection);
            for number in 0..40u32 {
                let rtt = if number < 20 { 100 } else { 200 };
                let ack = AckEvent {
                    now: Time::ZERO.saturating_add(Span::from_millis(10 * number)),
                    acked: 1,
                    delivered: 1,
                    round: u64::from(number / 20),
                    rtt: Some(Span::from_millis(rtt)),
                    ..AckEvent::default()
                };
                cc.observe(&ack);
                cc.on_ack(&ack);
            }
            assert_eq!(cc.ssthresh().is_some(), ends, "{text}");
        }
    }
}

//! Slow start and what ends it before a loss: nothing, HyStart++ (`rfc9406.rs`) or HyStart of Linux (`classic.rs`).

mod classic;
mod rfc9406;

use tmt_core::types::Span;

use super::growth::Reno;
use super::{
    AckEvent, CongestionEvent, Connection, HystartForm, MIN_SSTHRESH, Parameter, Values, Window,
};
use classic::Classic;
use rfc9406::HyStart;

/// The parameter `hystart`, off by default. `on` means `rfc9406`.
pub(super) const PARAMETER_OFF: Parameter =
    Parameter::keyword("hystart", &["off", "on", "rfc9406", "classic"]);

/// The parameter `hystart`, by default the hosts' ([`super::Implementation::hystart`]).
pub(super) const PARAMETER: Parameter =
    Parameter::keyword("hystart", &["profile", "off", "on", "rfc9406", "classic"]);

/// Slow start of a connection.
#[derive(Debug, Clone)]
#[repr(C)]
pub(super) struct SlowStart {
    form: HystartForm,
    hystart: HyStart,
    classic: Classic,
}

impl SlowStart {
    pub(super) fn new(connection: &Connection, parameters: &Values) -> Self {
        Self {
            form: match parameters.word("hystart") {
                "off" => HystartForm::Off,
                "on" | "rfc9406" => HystartForm::Rfc9406,
                "classic" => HystartForm::Classic,
                _ => connection.implementation.hystart,
            },
            hystart: HyStart::default(),
            classic: Classic::new(connection),
        }
    }

    /// Smallest RTT observed; `None` before the first, and after a timeout.
    pub(super) fn delay_min(&self) -> Option<Span> {
        self.classic.delay_min
    }

    /// Whether an ACK outside slow start changes nothing here that is ever read.
    #[inline]
    pub(super) fn has_no_part(&self, window: &Window) -> bool {
        self.form != HystartForm::Classic && !window.in_slow_start()
    }

    /// Measures an ACK.
    pub(super) fn observe(&mut self, ack: &AckEvent, window: &Window) {
        let detects = self.form == HystartForm::Classic && window.in_slow_start();
        self.classic.observe(ack, window.cwnd, detects);
    }

    /// Grows the window on an ACK if it is in slow start, and sets ssthresh if slow start ends. Returns what the ACK
    /// counts for in congestion avoidance; `None` if slow start took it all.
    pub(super) fn grow(&mut self, reno: &Reno, ack: &AckEvent, window: &mut Window) -> Option<u64> {
        if self.classic.takes_exit() {
            window.ssthresh = Some(window.cwnd.max(MIN_SSTHRESH));
        }
        if !window.in_slow_start() {
            return Some(reno.count(ack));
        }
        if self.form == HystartForm::Rfc9406 && window.ssthresh.is_none() {
            match self.hystart.growth(ack) {
                Some(growth) => window.cwnd += growth,
                None => window.ssthresh = Some(window.cwnd.max(MIN_SSTHRESH)),
            }
            return None;
        }
        let left = reno.slow_start(window, reno.count(ack));
        (left > 0).then_some(left)
    }

    /// Discards what Linux's form measured.
    pub(super) fn forget(&mut self) {
        self.classic.on_congestion(true);
    }

    /// Notes a cut. A timeout makes the measurements of Linux's form begin anew (`bictcp_reset`).
    pub(super) fn on_congestion(&mut self, event: &CongestionEvent) {
        self.classic.on_congestion(event.cause.is_timeout());
    }
}

#[cfg(test)]
mod tests {
    use super::super::Algorithm;
    use super::*;

    /// Slow start of a control with these parameters, at a host as in RFCs.
    fn slow_start(text: &str) -> (SlowStart, Reno) {
        let algorithm: Algorithm = text.parse().unwrap();
        let slow_start = SlowStart::new(&Connection::default(), algorithm.values());
        (slow_start, Reno::default())
    }

    #[test]
    fn only_the_first_slow_start_uses_hystart_plus_plus() {
        let (mut slow_start, reno) = slow_start("newreno:hystart=rfc9406");
        let ack = AckEvent {
            acked: 2,
            round: 1,
            rtt: Some(Span::from_millis(100)),
            ..AckEvent::default()
        };
        let mut window = Window {
            cwnd: 10.0,
            ssthresh: Some(20.0),
        };
        slow_start.grow(&reno, &ack, &mut window);
        assert!((window.cwnd - 11.0).abs() < 1e-12);
        window.ssthresh = None;
        slow_start.grow(&reno, &ack, &mut window);
        assert!((window.cwnd - 13.0).abs() < 1e-12 && window.ssthresh.is_none());
    }
}

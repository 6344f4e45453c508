//! Restart of a sender whose application had nothing to send (RFC 5681, Sec. 4.1).
//!
//! The rule applies when the application supplies data and everything sent before is acknowledged, more than an RTO after the last
//! transmission. Named deviations: congestion window validation (RFC 2861, `tcp_cwnd_application_limited`; RFC 7661) of a sender that sends
//! less than its window, without being idle, is not modelled but for the growth ([`Endpoint::window_validation`]).
//!
//! [`Endpoint::window_validation`]: crate::endpoint::Endpoint::window_validation

use tmt_core::math::num::floor_u64;
use tmt_core::types::Time;

use super::Sender;
use crate::congestion::Window;
use crate::endpoint::IdleRestart;

impl IdleRestart {
    /// The window of a sender that was idle for `idle_ns`; `initial` is the initial window.
    fn window(self, mut window: Window, initial: f64, idle_ns: u64, rto_ns: u64) -> Window {
        match self {
            Self::Off => {}
            Self::Rfc5681 => window.cwnd = window.cwnd.min(initial),
            Self::Linux => {
                let mut cwnd = window.cwnd.floor();
                // `tcp_current_ssthresh`.
                let kept = (cwnd / 2.0).floor() + (cwnd / 4.0).floor();
                window.ssthresh = window.ssthresh.map(|ssthresh| ssthresh.max(kept));
                // `tcp_cwnd_restart`: the first RTO has passed.
                let least = initial.min(cwnd);
                let mut left = idle_ns.saturating_sub(rto_ns);
                while left > 0 && cwnd > least {
                    cwnd = (cwnd / 2.0).floor();
                    left = left.saturating_sub(rto_ns);
                }
                window.cwnd = cwnd.max(least);
            }
        }
        window
    }
}

impl Sender {
    /// The application supplies data `now`; the last transmission was at `last_sent`, if there was one.
    pub(crate) fn on_data_after_pause(&mut self, now: Time, last_sent: Option<Time>) {
        let Some(last) = last_sent.filter(|_| self.snd_una == self.snd_nxt) else {
            return;
        };
        let (idle, rto) = (now.since(last), self.rtt.rto());
        // `cong_control` of Linux: a control that paces keeps its model of the path.
        if idle <= rto
            || self.endpoint.idle_restart == IdleRestart::Off
            || self.cc_controls_recovery
        {
            return;
        }
        let initial = f64::from(self.endpoint.initial_window);
        let rule = self.endpoint.idle_restart;
        let window = rule.window(self.cc.window(), initial, idle.as_nanos(), rto.as_nanos());
        self.cc.on_idle(window);
        self.window = floor_u64(self.cc.cwnd());
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Bytes;

    use super::super::tests::{ack, at, drain, endpoint};
    use super::*;
    use crate::congestion::{Algorithm, start};
    use crate::endpoint::{Endpoint, Recovery};

    /// `tcp_cwnd_restart` by hand: cwnd 64, initial window 10, an RTO of 200 ms.
    #[test]
    fn linux_halves_the_window_for_each_rto_of_idle_time() {
        let ms = 1_000_000;
        let window = Window {
            cwnd: 64.0,
            ssthresh: Some(30.0),
        };
        for (idle_ms, cwnd) in [
            (201, 32.0),
            (400, 32.0),
            (401, 16.0),
            (600, 16.0),
            (601, 10.0),
            (100_000, 10.0),
        ] {
            let found = IdleRestart::Linux.window(window, 10.0, idle_ms * ms, 200 * ms);
            assert_eq!(
                (found.cwnd, found.ssthresh),
                (cwnd, Some(48.0)),
                "{idle_ms}"
            );
            let rfc = IdleRestart::Rfc5681.window(window, 10.0, idle_ms * ms, 200 * ms);
            assert_eq!((rfc.cwnd, rfc.ssthresh), (10.0, Some(30.0)));
        }
        // A window below the initial one stays, an odd one is rounded down, and no threshold remains none.
        for (cwnd, kept) in [(4.0, 4.0), (45.7, 22.0), (11.0, 10.0)] {
            let found = IdleRestart::Linux.window(Window::new(cwnd), 10.0, 300 * ms, 200 * ms);
            assert_eq!(found, Window::new(kept));
        }
        assert_eq!(IdleRestart::Off.window(window, 10.0, u64::MAX, ms), window);
    }

    /// A sender with all packets acknowledged, with a window of 24 or more after round trips of 100 ms unless it keeps it, and
    /// the time of its last transmission, ms.
    fn idle(control: &str, rule: IdleRestart) -> (Sender, u32) {
        let endpoint = Endpoint {
            idle_restart: rule,
            ..endpoint(true, Recovery::Prr, 10)
        };
        let algorithm: Algorithm = control.parse().unwrap();
        let control = start(&algorithm, &endpoint.connection(Bytes(1500)));
        let mut sender = Sender::new(endpoint, control, None);
        let mut now = 0;
        loop {
            drain(&mut sender, at(now));
            for next in sender.snd_una() + 1..=sender.snd_nxt() {
                sender.on_ack(at(now + 100), &ack(next, &[]));
            }
            if sender.snapshot().cwnd >= 24.0 || now > 2000 {
                return (sender, now);
            }
            now += 100;
        }
    }

    #[test]
    fn only_an_idle_sender_restarts() {
        let cwnd = |sender: &Sender| sender.snapshot().cwnd.to_bits();
        for control in [
            "reno", "newreno", "cubic", "hybla", "westwood", "vegas", "compound",
        ] {
            let (mut sender, last) = idle(control, IdleRestart::Linux);
            let before = cwnd(&sender);
            let whole = f64::from_bits(before).floor();
            assert!(whole >= 24.0, "{control}: {whole}");
            let rto = u32::try_from(sender.snapshot().rto.as_nanos() / 1_000_000).unwrap();
            sender.on_data_after_pause(at(last + rto), Some(at(last)));
            assert_eq!(cwnd(&sender), before, "{control}");
            sender.on_data_after_pause(at(last + rto + 1), Some(at(last)));
            let halved = (whole / 2.0).floor().max(10.0).to_bits();
            assert_eq!(cwnd(&sender), halved, "{control}");
            // The window is that of the next packets.
            let sent = drain(&mut sender, at(last + rto + 1)).len() as u64;
            assert_eq!(sent, floor_u64(sender.snapshot().cwnd), "{control}");
            // Something is in flight.
            let before = cwnd(&sender);
            sender.on_data_after_pause(at(100_000), Some(at(last)));
            assert_eq!(cwnd(&sender), before, "{control}");
        }
        for (control, rule) in [
            ("reno", IdleRestart::Off),
            ("bbr", IdleRestart::Linux),
            ("fixed:20", IdleRestart::Linux),
        ] {
            let (mut sender, last) = idle(control, rule);
            let before = cwnd(&sender);
            sender.on_data_after_pause(at(60_000), Some(at(last)));
            assert_eq!(cwnd(&sender), before, "{control}");
        }
    }
}

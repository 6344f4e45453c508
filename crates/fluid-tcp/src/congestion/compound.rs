//! Compound TCP, draft-sridharan-tcpm-ctcp-02.
//!
//! The window is cwnd + dwnd. cwnd is Reno's, but that an acknowledgement adds 1/(cwnd + dwnd); dwnd, the part
//! that looks at delay, changes once a round trip, with `diff` segments waiting in queues as in `backlog.rs`:
//! - diff < γ: by α · win^k − 1, if that is positive;
//! - diff ≥ γ: by −ζ · diff, not below 0;
//! - a loss leaves (1 − β) · win − cwnd/2 of it, not below 0, and half of cwnd.
//!
//! α = 1/8, β = 1/2, k = 3/4, γ = 30 segments, ζ = 1 (`alpha`, `beta`, `k`, `gamma`, `zeta`), which the Linux
//! module in ns-2 (`tcp_compound.c`) has, too. In slow start, and after a timeout, there is no dwnd. It begins to
//! grow where α · win^k is above 1, at 16 segments; counted in whole segments, as that module does, at 41.
//!
//! Named deviations: γ is constant, its automatic tuning is left out; a window is cut from what is in flight;
//! dwnd that gives way lowers the threshold with it, so that this is no return to slow start.

use super::backlog::{Backlog, Round};
use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Entry, LEAST_SSTHRESH, Parameter, Values,
    Window,
};
use tmt_core::math::num::pow;

/// Compound TCP as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "compound",
    about: "Compound TCP: a loss-based and a delay-based window",
    parameters: &[
        Parameter::number("alpha", 0.125, 0.0, 10.0),
        Parameter::number("beta", 0.5, 0.1, 0.99),
        Parameter::number("k", 0.75, 0.0, 1.0),
        Parameter::number("gamma", 30.0, 0.0, 1e6),
        Parameter::number("zeta", 1.0, 0.0, 100.0),
    ],
    examples: &[
        "compound",
        "compound:alpha=0.25,beta=0.4,k=0.7,gamma=20,zeta=2",
    ],
    make: |initial_window, parameters| Box::new(Compound::new(initial_window, parameters)),
};

/// More segments than any path holds: where growth stops that the parameters let double every round trip.
const MOST: f64 = 1e12;

#[derive(Debug, Clone, Default)]
struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    gamma: f64,
    zeta: f64,
    /// The part that looks at losses.
    cwnd: f64,
    /// The part that looks at delay.
    dwnd: f64,
    ssthresh: Option<f64>,
    queued: Backlog,
}

impl Compound {
    fn new(initial_window: f64, parameters: &Values) -> Self {
        Self {
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            k: parameters.number("k"),
            gamma: parameters.number("gamma"),
            zeta: parameters.number("zeta"),
            cwnd: initial_window,
            ..Self::default()
        }
    }

    fn win(&self) -> f64 {
        self.cwnd + self.dwnd
    }

    fn end_round(&mut self, round: Round) {
        let Some(diff) = round.backlog(self.win()) else {
            return;
        };
        if diff < self.gamma {
            let more = (self.alpha * pow(self.win(), self.k) - 1.0).max(0.0);
            self.dwnd = (self.dwnd + more).min(MOST);
        } else {
            self.dwnd = (self.dwnd - self.zeta * diff).max(0.0);
            let win = self.win().max(LEAST_SSTHRESH);
            self.ssthresh = self.ssthresh.map(|ssthresh| ssthresh.min(win));
        }
    }
}

impl CongestionControl for Compound {
    fn observe(&mut self, ack: &AckEvent) {
        self.queued.observe(ack);
    }

    fn on_ack(&mut self, _ack: &AckEvent) {
        let ended = self.queued.ended();
        if self.window().in_slow_start() {
            self.cwnd += 1.0;
            return;
        }
        self.cwnd += 1.0 / self.win();
        if let Some(round) = ended {
            self.end_round(round);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.queued.forget();
        let win = event.in_flight;
        let ssthresh = ((1.0 - self.beta) * win).max(LEAST_SSTHRESH);
        if event.cause.restarts() {
            (self.cwnd, self.dwnd) = (1.0, 0.0);
        } else {
            // The two parts make the threshold together; cwnd alone may be more than that only for β > 1/2.
            self.cwnd = (self.cwnd.min(win) / 2.0).max(1.0).min(ssthresh);
            self.dwnd = ssthresh - self.cwnd;
        }
        if event.cause != Cause::RepeatedTimeout {
            self.ssthresh = Some(ssthresh);
        }
    }

    fn window(&self) -> Window {
        Window {
            cwnd: self.win(),
            ssthresh: self.ssthresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{Span, Time};

    use super::super::Algorithm;
    use super::super::backlog::path::rounds;
    use super::*;

    fn compound(cwnd: f64, dwnd: f64) -> Compound {
        let preset: Algorithm = "compound".parse().unwrap();
        Compound {
            dwnd,
            ..Compound::new(cwnd, preset.values())
        }
    }

    fn lose(cc: &mut Compound, cause: Cause) {
        cc.on_congestion(&CongestionEvent {
            now: Time::ZERO,
            in_flight: cc.win(),
            cause,
        });
    }

    #[test]
    fn a_loss_halves_the_window_and_cwnd_and_leaves_dwnd_the_rest() {
        // win = 100: (1 − 1/2) · 100 − 60/2 = 20.
        let mut cc = compound(60.0, 40.0);
        lose(&mut cc, Cause::FastRetransmit);
        assert!(
            (cc.cwnd - 30.0).abs() < 1e-12 && (cc.dwnd - 20.0).abs() < 1e-12,
            "{cc:?}"
        );
        assert!((cc.ssthresh().unwrap() - 50.0).abs() < 1e-12);
        lose(&mut cc, Cause::Timeout);
        assert!(
            (cc.win() - 1.0).abs() < 1e-12 && cc.dwnd.abs() < 1e-12,
            "{cc:?}"
        );
        assert!((cc.ssthresh().unwrap() - 25.0).abs() < 1e-12);
    }

    #[test]
    fn an_empty_path_lets_the_window_grow_by_an_eighth_of_its_three_quarters_power() {
        // 256^¾ = 64: dwnd grows by 64/8 − 1 = 7, cwnd by just below 1.
        let mut cc = compound(512.0, 0.0);
        lose(&mut cc, Cause::FastRetransmit);
        rounds(&mut cc, 1e6, 1..2);
        let (cwnd, dwnd) = (cc.cwnd, cc.dwnd);
        rounds(&mut cc, 1e6, 2..3);
        // Acknowledgements of 257 segments find a window of 264 by then.
        let expected = 0.125 * pow(cwnd + dwnd, 0.75) - 1.0;
        assert!((6.9..7.3).contains(&expected), "{expected}");
        assert!((cc.dwnd - dwnd - expected).abs() < 0.02, "{cc:?}");
        assert!((0.96..=1.0).contains(&(cc.cwnd - cwnd)), "{cc:?}");
    }

    #[test]
    fn the_delay_part_gives_way_when_the_backlog_reaches_gamma_and_leaves_in_the_end() {
        // A path of 200 segments: the two parts fill it and γ = 30 more, then dwnd makes room for cwnd.
        let mut cc = compound(200.0, 0.0);
        lose(&mut cc, Cause::FastRetransmit);
        cc.observe(&AckEvent {
            rtt: Some(Span::from_millis(100)),
            ..AckEvent::default()
        });
        let (mut given_way, mut highest) = (false, 0.0f64);
        for round in 1..400 {
            let (before, win) = (cc.dwnd, cc.win());
            rounds(&mut cc, 200.0, round..round + 1);
            highest = highest.max(if cc.dwnd > 0.0 { cc.win() } else { 0.0 });
            // The round after shows the backlog of this one.
            if win < 215.0 {
                assert!(cc.dwnd >= before - 45.0, "round {round}: {cc:?}");
            }
            given_way |= cc.dwnd < before;
        }
        assert!(given_way && highest < 245.0, "{highest} {cc:?}");
        // One segment a round trip for cwnd alone: long above 230, and no delay part is left.
        assert!(cc.cwnd > 235.0 && cc.dwnd < 1e-12, "{cc:?}");
    }
}

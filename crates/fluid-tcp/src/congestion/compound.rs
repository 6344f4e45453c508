//! Compound TCP, draft-sridharan-tcpm-ctcp-02.
//!
//! The window is win = cwnd + dwnd. cwnd is Reno's, except that an ACK adds 1/(cwnd + dwnd), or that for each segment
//! it delivers if the hosts grow by segments (`--growth`; mainline Linux has no Compound). dwnd is the delay-based
//! part. It changes once per round, with `diff` segments in queues (`backlog.rs`):
//! - diff < γ: by α · win^k − 1, if that is positive;
//! - diff ≥ γ: by −ζ · diff, not below 0;
//! - a loss sets it to (1 − β) · win − cwnd/2, not below 0, and halves cwnd.
//!
//! α = 1/8, β = 1/2, k = 3/4, γ = 30 segments, ζ = 1 (`alpha`, `beta`, `k`, `gamma`, `zeta`), as in the Linux module of
//! ns-2 (`tcp_compound.c`). In slow start, and after a timeout, dwnd is 0. It begins to grow where α · win^k exceeds 1,
//! at 16 segments. That module counts whole segments, so it begins at 41.
//!
//! Named deviations: γ is constant, without automatic tuning; the window is cut from what is in flight; a decrease of
//! dwnd lowers ssthresh with it, so that it does not return to slow start.

use super::backlog::{Backlog, Round};
use super::growth::Reno;
use super::{
    AckEvent, Cause, CongestionControl, CongestionEvent, Connection, Entry, MIN_SSTHRESH, Make,
    Parameter, Values, Window,
};
use tmt_core::math::num::pow;
use tmt_core::types::to_f64;

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
    make: Make(|connection, parameters| Box::new(Compound::new(connection, parameters))),
};

/// Largest dwnd, more segments than any path holds: some parameters let dwnd double every round.
const MAX_DWND: f64 = 1e12;

#[derive(Debug, Clone, Default)]
struct Compound {
    alpha: f64,
    beta: f64,
    k: f64,
    gamma: f64,
    zeta: f64,
    /// Loss-based part, segments.
    cwnd: f64,
    /// Delay-based part, segments.
    dwnd: f64,
    ssthresh: Option<f64>,
    reno: Reno,
    backlog: Backlog,
}

impl Compound {
    fn new(connection: &Connection, parameters: &Values) -> Self {
        Self {
            alpha: parameters.number("alpha"),
            beta: parameters.number("beta"),
            k: parameters.number("k"),
            gamma: parameters.number("gamma"),
            zeta: parameters.number("zeta"),
            cwnd: f64::from(connection.initial_window),
            reno: Reno::new(connection.implementation.growth),
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
            self.dwnd = (self.dwnd + more).min(MAX_DWND);
        } else {
            self.dwnd = (self.dwnd - self.zeta * diff).max(0.0);
            let win = self.win().max(MIN_SSTHRESH);
            self.ssthresh = self.ssthresh.map(|ssthresh| ssthresh.min(win));
        }
    }
}

impl CongestionControl for Compound {
    fn observe(&mut self, ack: &AckEvent) {
        self.backlog.observe(ack);
    }

    fn on_ack(&mut self, ack: &AckEvent) {
        let ended = self.backlog.take_ended_round();
        let mut count = self.reno.count(ack);
        let window = self.window();
        if window.in_slow_start() {
            let grown = self.reno.in_slow_start(&window, count);
            self.cwnd += to_f64(grown);
            count -= grown;
            if count == 0 {
                return;
            }
        }
        self.cwnd += to_f64(count) / self.win();
        if let Some(round) = ended {
            self.end_round(round);
        }
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.backlog.reset_round();
        let win = event.in_flight;
        let ssthresh = ((1.0 - self.beta) * win).max(MIN_SSTHRESH);
        if event.cause.is_timeout() {
            (self.cwnd, self.dwnd) = (1.0, 0.0);
        } else {
            // cwnd + dwnd = ssthresh; cwnd/2 alone exceeds ssthresh only if β > 1/2.
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

    fn on_idle(&mut self, window: Window) {
        // The delay window measures a path that may have changed.
        (self.cwnd, self.dwnd) = (window.cwnd, 0.0);
        self.ssthresh = window.ssthresh;
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::{Span, Time};

    use super::super::backlog::path::rounds;
    use super::super::{Algorithm, Growth};
    use super::*;

    fn compound(cwnd: f64, dwnd: f64) -> Compound {
        let preset: Algorithm = "compound".parse().unwrap();
        Compound {
            cwnd,
            dwnd,
            ..Compound::new(&Connection::default(), preset.values())
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
    fn a_loss_halves_win_and_cwnd_and_dwnd_is_the_rest() {
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
    fn on_an_empty_path_dwnd_grows_by_an_eighth_of_win_to_the_three_quarters_minus_one() {
        // 256^¾ = 64: dwnd grows by 64/8 − 1 = 7, cwnd by just below 1.
        let mut cc = compound(512.0, 0.0);
        lose(&mut cc, Cause::FastRetransmit);
        rounds(&mut cc, 1e6, 1..2);
        let (cwnd, dwnd) = (cc.cwnd, cc.dwnd);
        rounds(&mut cc, 1e6, 2..3);
        // The ACKs of 257 segments arrive at a window of 264.
        let expected = 0.125 * pow(cwnd + dwnd, 0.75) - 1.0;
        assert!((6.9..7.3).contains(&expected), "{expected}");
        assert!((cc.dwnd - dwnd - expected).abs() < 0.02, "{cc:?}");
        assert!((0.96..=1.0).contains(&(cc.cwnd - cwnd)), "{cc:?}");
    }

    #[test]
    fn dwnd_shrinks_when_the_backlog_reaches_gamma_and_ends_at_zero() {
        // A path of 200 segments: win fills it and γ = 30 more, then dwnd shrinks as cwnd grows.
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
            // The next round measures the backlog of this one.
            if win < 215.0 {
                assert!(cc.dwnd >= before - 45.0, "round {round}: {cc:?}");
            }
            given_way |= cc.dwnd < before;
        }
        assert!(given_way && highest < 245.0, "{highest} {cc:?}");
        // cwnd alone grows by one segment per round: it is well above 230, and dwnd is 0.
        assert!(cc.cwnd > 235.0 && cc.dwnd < 1e-12, "{cc:?}");
    }

    #[test]
    fn by_segments_an_ack_counts_for_what_it_delivers() {
        let ack = AckEvent {
            acked: 1,
            delivered: 4,
            ..AckEvent::default()
        };
        let mut cc = Compound {
            reno: Reno::new(Growth::Segments),
            ssthresh: Some(10.0),
            ..compound(8.0, 0.0)
        };
        // Two segments up to ssthresh, and two of ten.
        cc.on_ack(&ack);
        assert!((cc.win() - 10.2).abs() < 1e-12, "{cc:?}");
    }
}

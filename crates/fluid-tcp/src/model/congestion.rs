//! `congestion`: goodput if segments are lost at the full buffer only (Celandroni 2006, eq. (13), (14)).

use tmt_core::model::Arguments;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

/// A bottleneck with its buffer and the long-lived connections that share it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bottleneck {
    /// Rate, segments/s; above 0.
    pub mu: f64,
    /// Propagation delay, both ways, s; 0 or above.
    pub tau: f64,
    /// Buffer over bandwidth-delay product, B/(μ T); 0 or above.
    pub beta: f64,
    /// Number of connections; a whole number, 1 or more.
    pub connections: f64,
    /// Segments per ACK; above 0.
    pub per_ack: f64,
}

impl Bottleneck {
    /// Reads the common keys, for this number of connections.
    pub(super) fn of(arguments: &Arguments, connections: u64) -> Self {
        Self {
            mu: arguments.number(&MU),
            tau: arguments.number(&TAU),
            beta: arguments.number(&BETA),
            connections: to_f64(connections),
            per_ack: arguments.number(&B),
        }
    }

    /// Round-trip time without queueing, T = τ + 1/μ, s (Celandroni 2006, Sec. II.A).
    #[must_use]
    pub fn round_trip(&self) -> f64 {
        self.tau + 1.0 / self.mu
    }

    /// Bandwidth-delay product, μ T = μ τ + 1, segments; at least 1.
    #[must_use]
    pub fn bdp(&self) -> f64 {
        self.mu * self.tau + 1.0
    }

    /// Segments that fill link and buffer, w_max = μ T (1 + β).
    #[must_use]
    pub fn most(&self) -> f64 {
        self.bdp() * (1.0 + self.beta)
    }

    /// Segments from one congestion to the next, n = 3 b w_max² / (8 N) = (1 − q_c)/q_c by eq. (14).
    #[must_use]
    pub fn cycle(&self) -> f64 {
        let most = self.most();
        3.0 * self.per_ack / (8.0 * self.connections) * most * most
    }

    /// Congestions per segment, q_c of eq. (14).
    #[must_use]
    pub fn congestion_rate(&self) -> f64 {
        1.0 / (1.0 + self.cycle())
    }

    /// Share of segments lost by congestion: N of a cycle's n + N, i.e. q_c N / (1 − q_c + N q_c) (C2).
    #[must_use]
    pub fn congestion_loss(&self) -> f64 {
        self.connections / (self.cycle() + self.connections)
    }

    /// Goodput over μ if congestion is the only cause of loss: eq. (13) for β ≤ 1, the relation after (14) for β ≥ 1.
    ///
    /// Both are divided by (μ T)² to avoid overflow. They agree at β = 1.
    #[must_use]
    pub fn congestion_goodput(&self) -> f64 {
        let Self { beta, .. } = *self;
        // Time to send one lost segment of each connection again, relative to the bandwidth-delay product.
        let resend = self.connections / self.bdp() * (self.connections / self.bdp());
        let squared = (1.0 + beta) * (1.0 + beta);
        if beta <= 1.0 {
            let growth = self.per_ack * (1.0 + beta + beta * beta);
            3.0 * self.per_ack * squared / (4.0 * (2.0 * resend + growth))
        } else {
            1.0 / (1.0 + 8.0 * resend / (3.0 * self.per_ack * squared))
        }
    }
}

keys! {
    pub(super) MU: Positive, "mu" | "rate" = 100.0, "bottleneck rate, segments/s";
    pub(super) TAU: NonNegative, "tau" | "latency" = 0.5,
        "propagation both ways, s; the round-trip time without queueing is T = tau + 1/mu";
    pub(super) BETA: NonNegative, "beta" = 0.8, "buffer over bandwidth-delay product, B/(mu T)";
    pub(super) N: Count(1, 1_000_000_000_000), "N" | "n" | "connections" = 1, "connections";
    pub(super) B: Positive, "b" | "per_ack" = 2.0, "segments per ACK";
}

/// Remark for windows that are too small for a fluid model.
pub(super) const THIN: &str = "fewer than 10 segments per connection are in flight: the fluid model needs at least 10 \
     and has no timeouts, so real goodput is lower";

closed_form! {
    /// `tmt model congestion` (docs/models.md, Sec. 6.1).
    pub(crate) static MODEL: "congestion",
        "Goodput of long-lived connections that lose segments at the full buffer only";
    source: "Celandroni 2006, Sec. II.A, eq. (13), (14) and the relation between them; docs/models.md, Sec. 6.1";
    notes: [
        "Reno without timeouts: windows grow by 1/b per round trip, and all halve when the buffer is full",
        "C1: the printed length of the first phase lacks a factor b; (13) has it",
        "C2: q_c of (14) is congestions per segment; each loses N segments, so the loss rate is \
         q_c_segments = N q_c / (1 - q_c + N q_c)",
        "C3: the printed relations before (2) and (8) have dw/dt on both sides; (1/w) da/dt is meant",
    ];
    example: "mu=10 b=1 beta=0.8";
    keys: [MU, TAU, BETA, N, B];
    answer(arguments) {
        let link = Bottleneck::of(arguments, arguments.count(&N));
        let norm = link.congestion_goodput();
        let thin = link.most() < 10.0 * link.connections;
    }
    results {
        "T" = link.round_trip(), "round-trip time without queueing, s";
        "lambda_c" = norm * link.mu, "goodput, segments/s";
        "norm" = norm, "goodput over mu";
        "q_c" = link.congestion_rate(), "congestions per segment";
        "omega_max" = link.most(), "sum of the windows that fills link and buffer, segments";
        "seg_per_cycle" = link.cycle(), "segments from one congestion to the next";
        "q_c_segments" = link.congestion_loss(), "share of segments lost by congestion";
    }
    remarks {
        if thin => THIN;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn link(mu: f64, beta: f64, connections: f64, per_ack: f64) -> Bottleneck {
        Bottleneck {
            mu,
            tau: 0.5,
            beta,
            connections,
            per_ack,
        }
    }

    /// The cycle, segment by segment: windows grow by N/(b w) per segment. The link sends w per round trip until it is
    /// full, then μ per second.
    fn walked(link: &Bottleneck) -> (f64, f64) {
        let (mut window, mut sent, mut time) = (link.most() / 2.0, 0.0, 0.0);
        let step = 1e-3;
        while window < link.most() {
            let rate = (window / link.round_trip()).min(link.mu);
            time += step / rate;
            sent += step;
            window += step * link.connections / (link.per_ack * window);
        }
        time += link.connections / link.mu;
        (sent, sent / time / link.mu)
    }

    #[test]
    fn both_relations_agree_with_a_cycle_in_small_steps() {
        for beta in [0.0, 0.3, 1.0, 1.7] {
            for (connections, per_ack) in [(1.0, 1.0), (3.0, 2.0)] {
                let link = link(60.0, beta, connections, per_ack);
                let (sent, norm) = walked(&link);
                assert!((link.cycle() / sent - 1.0).abs() < 1e-3);
                assert!((link.congestion_goodput() / norm - 1.0).abs() < 1e-4);
            }
        }
    }

    proptest! {
        #[test]
        fn printed_forms_agree(
            mu in 0.1..1e4f64, beta in 0.0..3.0f64, n in 1u64..1000, b in 1u64..4,
        ) {
            let (n, b) = (to_f64(n), to_f64(b));
            let link = link(mu, beta, n, b);
            let square = (mu * link.round_trip()) * (mu * link.round_trip());
            let top = 3.0 * b * (1.0 + beta) * (1.0 + beta) * square;
            let norm = if beta <= 1.0 {
                top / (4.0 * (2.0 * n * n + b * (1.0 + beta + beta * beta) * square))
            } else {
                top / (8.0 * n * n + top)
            };
            prop_assert!((link.congestion_goodput() / norm - 1.0).abs() < 1e-12);
            prop_assert!((link.congestion_rate() * (8.0 * n + top) / (8.0 * n) - 1.0).abs() < 1e-12);
            let q_c = link.congestion_rate();
            let lost = n * q_c / (1.0 - q_c + n * q_c);
            prop_assert!((link.congestion_loss() / lost - 1.0).abs() < 1e-9);
        }

        #[test]
        fn a_larger_buffer_is_never_worse(mu in 1.0..1e4f64, beta in 0.0..3.0f64, more in 0.0..1.0f64) {
            let at = |beta| link(mu, beta, 1.0, 2.0).congestion_goodput();
            prop_assert!(at(beta + more) >= at(beta) * (1.0 - 1e-12));
        }
    }

    #[test]
    fn the_relations_meet_at_beta_1() {
        let (below, above) = (
            link(80.0, 1.0, 4.0, 2.0).congestion_goodput(),
            link(80.0, 1.0f64.next_up(), 4.0, 2.0).congestion_goodput(),
        );
        assert!((below / above - 1.0).abs() < 1e-14);
    }

    #[test]
    fn a_slow_link_still_carries_something() {
        let found = MODEL.run("mu=1e-300 tau=0").unwrap();
        assert!(found.get("norm").unwrap() > 0.0);
    }
}

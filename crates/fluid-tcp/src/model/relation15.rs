//! `relation15`: goodput under random loss if the link never fills (Celandroni 2006, eq. (15)).

use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::congestion::{B, MU, N, TAU};

/// Goodput over μ of one connection whose window is limited by random loss only, eq. (15):
///
/// (1 − q) / ( μ \[ T √(2bq/3) + T0 min(1, 3 √(3bq/8)) q (1 + 32 q²) \] ), T = τ + 1/μ (C4).
///
/// `q` in \[0, 1\], `mu` in segments/s, `tau` and `timeout` (T0) in s. Infinite at q = 0, 0 at q = 1.
#[must_use]
pub fn relation_15(q: f64, mu: f64, tau: f64, timeout: f64, per_ack: f64) -> f64 {
    let halvings = (2.0 * per_ack * q / 3.0).sqrt();
    let timeouts = (3.0 * (3.0 * per_ack * q / 8.0).sqrt()).min(1.0) * q * (1.0 + 32.0 * q * q);
    // μ T = μ τ + 1.
    (1.0 - q) / ((mu * tau + 1.0) * halvings + mu * timeout * timeouts)
}

keys! {
    Q: Probability, "q" = 0.01, "segment loss rate";
    pub(super) T0: NonNegative, "T0" | "t0" | "timeout" = 1.0, "timeout, s";
}

closed_form! {
    /// `tmt model relation15` (docs/models.md, Sec. 6.2).
    pub(crate) static MODEL: "relation15",
        "Goodput of long-lived connections under random loss on a link that never fills";
    source: "Celandroni 2006, Sec. II.B, eq. (15), after Padhye 2000; docs/models.md, Sec. 6.2";
    notes: [
        "C4: (15) prints tau; both tables were computed with T = tau + 1/mu",
        "The link's rate is not a limit here: a result above 1 means that the link would be full; Tg_capped is at most 1",
        "Connections do not affect each other: N of them have N times the goodput of one",
        "The paper uses this relation below half of the link's rate, where timeouts matter, and TGEP above",
    ];
    example: "q=0.001 mu=100 b=2 T0=2";
    keys: [Q, MU, TAU, T0, B, N];
    answer(arguments) {
        let one = relation_15(
            arguments.number(&Q),
            arguments.number(&MU),
            arguments.number(&TAU),
            arguments.number(&T0),
            arguments.number(&B),
        );
        let all = to_f64(arguments.count(&N)) * one;
    }
    results {
        "Tg_one" = one, "goodput of one connection over mu";
        "Tg" = all, "goodput of all connections over mu";
        "Tg_capped" = all.min(1.0), "min(Tg, 1)";
    }
    remarks {
        if all > 1.0 =>
            "(15) does not have the limit of the link: above 1 the link is full, and congestion limits goodput (see model congestion)";
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_crowd_on_a_fast_link_has_a_finite_goodput() {
        let crowd = MODEL.run("N=1e12 q=1e-300 mu=1e300").unwrap();
        assert!(crowd.get("Tg").unwrap().is_finite());
    }

    proptest! {
        #[test]
        fn it_is_the_window_s_root_law_where_losses_are_rare(q in 1e-12..1e-6f64, b in 1u64..4) {
            // √(3/(2bq)) segments per round trip T.
            let b = to_f64(b);
            let law = (3.0 / (2.0 * b * q)).sqrt() / (100.0 * 0.51);
            prop_assert!((relation_15(q, 100.0, 0.5, 1.0, b) / law - 1.0).abs() < 1e-2);
        }

        #[test]
        fn more_loss_is_never_better(q in 0.0..1.0f64, more in 0.0..1.0f64, timeout in 0.0..9.0f64) {
            let at = |q| relation_15(q, 100.0, 0.5, timeout, 2.0);
            prop_assert!(at(q + (1.0 - q) * more) <= at(q));
        }
    }
}

//! `window-time`: time until a TCP window is acknowledged over selective-repeat ARQ with in-order delivery.

use tmt_core::{closed_form, keys};

use super::path::{BUFFER, LOSS, PIECES, Path, RATE, SATELLITE, SPARSE, TERRESTRIAL};
use super::sr_arq::overtakes;

keys! {
    WINDOW: Positive, "w" | "W" | "window" | "cwnd" = 30.0, "window, segments";
}

closed_form! {
    /// `tmt model window-time` (docs/models.md, Sec. 7.2).
    pub(super) static MODEL: "window-time",
        "Mean time until a TCP window is acknowledged over selective-repeat ARQ with in-order delivery";
    source: "Zhu 2006, Sec. III-A, eq. (8), (15), (19), (20); docs/models.md, Sec. 7.2";
    notes: [
        "An upper bound of a mean: a full bandwidth-delay product is in flight before the last segment, and bursts are uniform in length",
        "Losses are independent, repeats are unlimited, feedback is never lost, and TCP acknowledges every segment",
        "(20) omits the +1 of (4); for theta S < 2 its logarithm is negative, which is outside of its domain (Z2)",
    ];
    example: "w=100 B=50 T2=0.5 p=0.1";
    keys: [WINDOW, BUFFER, RATE, TERRESTRIAL, SATELLITE, LOSS, PIECES];
    answer(given) {
        let path = Path::of(given);
        let window = given.number(&WINDOW);
        path.check(window)?;
        let in_flight = path.in_flight(window);
        let in_order = if path.satellite > 0.0 {
            path.satellite * path.in_order_trips(in_flight) / path.loss.no
        } else {
            0.0
        };
        let above = (path.buffer.min(window) - path.bdp()).max(0.0);
        let queue = if above > 0.0 {
            above / (path.rate * path.loss.no)
        } else {
            0.0
        };
    }
    results {
        "tau" = path.window_time(window), "mean transfer time of the window, s";
        "theta" = in_flight, "segments in flight on the link, at most";
        "queueing" = queue + in_flight / (4.0 * path.rate), "part of tau in the buffer, s";
        "in_order" = in_order, "part of tau on the link, until all earlier segments have arrived, s";
        "out_of_order" = overtakes(path.loss, given.count(&PIECES), 1),
            "probability that a segment sent more than T2 later arrives first (15)";
    }
    remarks {
        if path.loss.no <= 0.0 => "every segment is lost: the time is infinite";
        if path.sparse(window) => SPARSE;
        if window > path.buffer + 1.0 && path.terrestrial <= 0.0 =>
            "the window is above B + 1 and T1 = 0: it would overflow the buffer";
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::tests::agree;
    use tmt_core::model::{ModelError, Outcome};

    fn gives(arguments: &str) -> Result<Outcome, ModelError> {
        MODEL.run(arguments)
    }

    fn tau(arguments: &str) -> f64 {
        gives(arguments).unwrap().get("tau").unwrap()
    }

    #[test]
    fn a_window_takes_queueing_and_delivery_in_order() {
        // Footnote 5 of Zhu 2006: μ T2 = 10, p = .5 and min(B, w) above 20.
        let found = gives("mu=10 T2=1 p=0.5 w=30 B=40 T1=0").unwrap();
        let parts = 4.25 + found.get("in_order").unwrap();
        agree(found.get("tau").unwrap(), parts, 1e-14);
    }

    proptest! {
        #[test]
        fn a_window_takes_longer_with_size_buffer_and_loss(
            w in 2.0..500.0f64, buffer in 2.0..500.0f64, p in 0.0..0.9f64, pieces in 1u32..9, t2 in 0.1..1.0f64,
        ) {
            let at = |w: f64, b: f64, p: f64| tau(&format!("w={w} B={b} p={p} S={pieces} T2={t2}"));
            let base = at(w, buffer, p);
            prop_assert!(at(w * 1.1, buffer, p) >= base * (1.0 - 1e-12));
            prop_assert!(at(w, buffer * 1.1, p) >= base * (1.0 - 1e-12));
            prop_assert!(at(w, buffer, p + 0.05) >= base);
        }
    }
}

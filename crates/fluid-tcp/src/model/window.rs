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
    use tmt_core::math::num::ln;

    use super::*;
    use crate::model::tests::{agree, prints};
    use tmt_core::model::{ModelError, Outcome};

    fn gives(arguments: &str) -> Result<Outcome, ModelError> {
        MODEL.run(arguments)
    }

    fn tau(arguments: &str) -> f64 {
        gives(arguments).unwrap().get("tau").unwrap()
    }

    #[test]
    fn footnote_5_of_zhu_2006() {
        // Footnote 5 with μ T2 = 10, p = .5 and min(B, w) above 20: E(D) = 4.322 T2 (printed 4.32); a burst of 2 μ T2
        // instead of μ T2 would add (20 − 10)/(4 · 10) T2 = .25 T2.
        let found = gives("mu=10 T2=1 p=0.5 w=30 B=40 T1=0").unwrap();
        prints(found.get("in_order").unwrap(), 4.322, 3);
        prints(found.get("out_of_order").unwrap(), 0.1667, 4);
        // (19): 20 above the bandwidth-delay product at 5 per second, and a quarter of the product.
        agree(found.get("queueing").unwrap(), 20.0 / 5.0 + 0.25, 1e-14);
        agree(
            found.get("tau").unwrap(),
            4.25 + found.get("in_order").unwrap(),
            1e-14,
        );
    }

    #[test]
    fn every_case_of_the_appendix() {
        // E(1) to E(5) of appendix B by hand, ν ln = (1−r)/ln(1/r) · ln(θ/2).
        let nu = 0.9 / ln(10.0);
        for (text, theta, queue) in [
            ("w=200 B=300 p=0.1", 125.0, 75.0),
            ("w=400 B=300 p=0.1", 125.0, 175.0),
            ("w=100 B=300 p=0.1", 100.0, 0.0),
            ("w=100 B=50 p=0.1", 50.0, 0.0),
            ("w=30 B=50 p=0.1", 30.0, 0.0),
        ] {
            let log = ln(theta / 2.0);
            let expected = 0.1 + queue / 225.0 + theta / 1000.0 + 0.5 / 0.9 * (nu * log + 1.0);
            agree(tau(text), expected, 1e-13);
            agree(gives(text).unwrap().get("theta").unwrap(), theta, 1e-15);
        }
    }

    #[test]
    fn corners_are_answered_or_refused() {
        // Without loss: one round trip and the queue.
        agree(tau("p=0 w=30 B=50"), 0.1 + 30.0 / 1000.0 + 0.5, 1e-14);
        assert!(tau("p=1").is_infinite());
        // T2 = 0: the buffer is sent at the rate of the link.
        agree(tau("T2=0 p=0.5"), 0.1 + 30.0 / 125.0, 1e-14);
        assert!(tau("T2=0 p=1").is_infinite());
        assert!(
            gives("B=0.1 p=0.9")
                .unwrap_err()
                .to_string()
                .contains("negative")
        );
        assert!(gives("w=1.5 p=0.1").unwrap().remarks()[0].contains("logarithm"));
        assert!(gives("w=0").is_err());
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

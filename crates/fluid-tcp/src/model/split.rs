//! `split`: throughput of TCP split by a proxy before a satellite link with selective-repeat ARQ.

use tmt_core::model::ModelError;
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::Probability;
use super::path::{BUFFER, LOSS, Path, RATE, SATELLITE, TERRESTRIAL};

/// A path with a proxy at the gateway, which sends the ACKs and limits the sender by its advertised window.
///
/// Link-layer packets are segments, and T1 and T2 are not both 0.
impl Path {
    /// α = T1 (1−p)/T2: terrestrial RTT over the mean time of a segment on the satellite link.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.terrestrial * self.loss.no / self.satellite
    }

    /// T2 + 2 (1−p) T1, s: time in which one buffer is sent, times 1 − p.
    fn cycle(&self) -> f64 {
        self.satellite + 2.0 * self.loss.no * self.terrestrial
    }

    /// Mean queue, segments (47).
    #[must_use]
    pub fn split_queue(&self) -> f64 {
        if self.cycle() > 0.0 {
            self.buffer * self.satellite / self.cycle()
        } else {
            self.buffer
        }
    }

    /// Segments/s that arrive at the gateway (48), if the link is not full.
    #[must_use]
    pub fn arrivals(&self) -> f64 {
        self.buffer * self.loss.no / self.cycle()
    }

    /// λ/(μ(1−p)) = min(1, β/(1+2α)) (50).
    #[must_use]
    pub fn split_efficiency(&self) -> f64 {
        f64::min(1.0, self.buffer / (self.rate * self.cycle()))
    }

    /// Throughput as a share of the link rate, λ/μ (Zhu 2006, eq. (50) times 1 − p).
    #[must_use]
    pub fn split_norm(&self) -> f64 {
        self.loss.no * self.split_efficiency()
    }
}

keys! {
    CONNECTIONS: Count(1, 1_000_000), "connections" | "N" | "n" = 1, "connections that share the buffer";
}

closed_form! {
    /// `tmt model split` (docs/models.md, Sec. 7.4).
    pub(super) static MODEL: "split",
        "Throughput of TCP split by a proxy before a satellite link with selective-repeat ARQ";
    source: "Zhu 2006, Sec. IV and V-D, eq. (41) to (50), (54), (58); docs/models.md, Sec. 7.4";
    notes: [
        "The terrestrial path is much faster than the satellite link and has no losses; half of the free buffer arrives per T1",
        "Little's law with a mean time of T2/(1-p) per segment on the satellite link; the link's rate is taken into account by min(1, .) only",
        "norm is over mu, efficiency over mu (1-p): divide the norm of zhu by 1-r before you compare (Z6)",
    ];
    example: "B=100 T1=0.1 T2=0.5 p=0.1";
    keys: [BUFFER, RATE, TERRESTRIAL, SATELLITE, LOSS, CONNECTIONS];
    answer(given) {
        let split = Path::losing(given, Probability::new(given.number(&LOSS)), 1.0);
        let nothing = split.loss.no <= 0.0;
        if split.satellite <= 0.0 && (nothing || split.terrestrial <= 0.0) {
            return Err(ModelError::refused(if nothing {
                "T2 = 0 and p = 1: the throughput is not defined"
            } else {
                "T1 = 0 and T2 = 0: the round-trip time would be 0"
            }));
        }
        let share = split.buffer / to_f64(given.count(&CONNECTIONS));
        let full = split.arrivals() > split.rate * split.loss.no;
    }
    results {
        "alpha" = split.alpha(), "T1 (1-p)/T2";
        "beta" = split.beta(), "B/(mu T2)";
        "q_mean" = split.split_queue(), "mean queue, segments";
        "arrival_rate" = split.arrivals(), "segments/s into the buffer, if the link is not full";
        "efficiency" = split.split_efficiency(), "throughput over mu (1-p)";
        "norm" = split.split_norm(), "throughput over mu";
        "throughput" = split.rate * split.split_norm(), "segments/s";
        "feasible" = share >= 4.0, "whether each connection has at least 4 segments of buffer";
    }
    remarks {
        if nothing => "every segment is lost: efficiency is its limit for p to 1";
        if full => "the link is full: q_mean and arrival_rate do not take its rate into account and do not hold";
        if share < 4.0 =>
            "a connection has fewer than 4 segments of buffer: a loss does not cause three duplicate ACKs, and the throughput is about 0 (58)";
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::tests::agree;

    #[test]
    fn the_advertised_window_converges_to_the_mean_queue() {
        // (41) iterated, with a link on which segments stay for T2/(1−p): x = (B − q)/2, q = x/T1 · T2/(1−p).
        let split = Path {
            buffer: 80.0,
            rate: 250.0,
            terrestrial: 0.1,
            satellite: 0.5,
            loss: Probability::new(0.1),
            reordering: 0.0,
            pieces: 1.0,
        };
        let (mut x, mut q) = (1.0, 0.0);
        for _ in 0..2000 {
            let free = split.buffer - q;
            let next = if x < free / 2.0 { free - x } else { free / 2.0 };
            q += 0.05 * (x / split.terrestrial * split.satellite / split.loss.no - q);
            x = 0.5 * (x + next);
        }
        agree(q, split.split_queue(), 1e-6);
        agree(x / split.terrestrial, split.arrivals(), 1e-6);
    }

    proptest! {
        #[test]
        fn the_queue_is_what_arrives_times_how_long_it_stays(
            buffer in 1.0..1e4f64, t1 in 0.0..1.0f64, t2 in 1e-3..1.0f64, p in 0.0..0.99f64,
        ) {
            let split = Path { buffer, rate: 250.0, terrestrial: t1, satellite: t2, loss: Probability::new(p), reordering: 0.0, pieces: 1.0 };
            // (45); the free buffer arrives in two round trips (43).
            agree(split.split_queue(), split.arrivals() * t2 / (1.0 - p), 1e-12);
            prop_assert!((split.buffer - split.split_queue() - 2.0 * t1 * split.arrivals()).abs() < 1e-12 * buffer);
            let beta = buffer / (250.0 * t2);
            agree(split.split_efficiency(), f64::min(1.0, beta / (1.0 + 2.0 * split.alpha())), 1e-12);
        }
    }
}

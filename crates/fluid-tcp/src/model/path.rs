//! The path of Zhu 2006: a terrestrial path, a buffer, and a satellite link with selective-repeat ARQ.

use tmt_core::keys;
use tmt_core::math::num::ln;
use tmt_core::model::{Arguments, ModelError};
use tmt_core::types::to_f64;

use super::Probability;

/// Settings of the path. Windows and the buffer are in TCP segments.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// B: buffer before the satellite link, segments; above 0.
    pub buffer: f64,
    /// μ: rate of the satellite link, segments/s; above 0.
    pub rate: f64,
    /// T1: terrestrial RTT, s; 0 or above.
    pub terrestrial: f64,
    /// T2: RTT of the satellite link, s; 0 or above.
    pub satellite: f64,
    /// r: loss probability of a link-layer packet.
    pub loss: Probability,
    /// ν = (1−r)/ln(1/r), cost of in-order delivery: [`reordering`] of the loss, or 0 if losses are in fades.
    pub reordering: f64,
    /// S: link-layer packets per segment, 1 or more.
    pub pieces: f64,
}

/// r = 1 − (1−p)^(1/S): loss probability of each of the `pieces` link-layer packets of a segment.
#[must_use]
pub fn piece_loss(segment: Probability, pieces: f64) -> Probability {
    segment.not().all(1.0 / pieces).not()
}

/// ν = (1−r)/ln(1/r) (4): 0 for r = 0, 1 for r = 1.
#[must_use]
pub fn reordering(loss: Probability) -> f64 {
    if loss.yes <= 0.0 {
        0.0
    } else if loss.no <= 0.0 {
        1.0
    } else {
        loss.no / -loss.ln()
    }
}

impl Path {
    /// μ T2: bandwidth-delay product of the satellite link, segments.
    #[must_use]
    pub fn bdp(&self) -> f64 {
        self.rate * self.satellite
    }

    /// β = B/(μ T2); infinite for T2 = 0.
    #[must_use]
    pub fn beta(&self) -> f64 {
        self.buffer / self.bdp()
    }

    /// θ = min(B, w, μ T2): segments in flight on the link, at most.
    #[must_use]
    pub fn in_flight(&self, window: f64) -> f64 {
        self.buffer.min(window).min(self.bdp())
    }

    /// (1−r) E(D)/T2 = ν ln(θS/2) + 1 (8); 1 for T2 = 0, where it has no meaning.
    ///
    /// It is below 1 if θS < 2. It is not a delay if it is 0 or below.
    #[must_use]
    pub fn in_order_trips(&self, in_flight: f64) -> f64 {
        if in_flight > 0.0 && self.reordering > 0.0 {
            1.0 + self.reordering * ln(in_flight * self.pieces / 2.0)
        } else {
            1.0
        }
    }

    /// (1−r) (E τ(w) − T1) of (20), s, which is finite even for p = 1.
    #[must_use]
    pub fn occupancy(&self, window: f64) -> f64 {
        let in_flight = self.in_flight(window);
        (self.buffer.min(window) - self.bdp()).max(0.0) / self.rate
            + self.loss.no * in_flight / (4.0 * self.rate)
            + self.satellite * self.in_order_trips(in_flight)
    }

    /// E τ(w): mean transfer time of a window (20), s; infinite for p = 1.
    #[must_use]
    pub fn window_time(&self, window: f64) -> f64 {
        self.terrestrial + self.occupancy(window) / self.loss.no
    }

    /// Reads the path from the arguments.
    pub(super) fn of(given: &Arguments) -> Self {
        let pieces = to_f64(given.count(&PIECES));
        let loss = piece_loss(Probability::new(given.number(&LOSS)), pieces);
        Self::losing(given, loss, pieces)
    }

    /// Reads the path from the arguments, with this loss and number of link-layer packets per segment.
    pub(super) fn losing(given: &Arguments, loss: Probability, pieces: f64) -> Self {
        Self {
            buffer: given.number(&BUFFER),
            rate: given.number(&RATE),
            terrestrial: given.number(&TERRESTRIAL),
            satellite: given.number(&SATELLITE),
            loss,
            reordering: reordering(loss),
            pieces,
        }
    }

    /// Refuses a window for which the delay of in-order delivery would be negative.
    pub(super) fn check(&self, window: f64) -> Result<(), ModelError> {
        let in_flight = self.in_flight(window);
        if self.in_order_trips(in_flight) > 0.0 {
            return Ok(());
        }
        Err(ModelError::refused(format!(
            "theta S = {} link-layer packets in flight: the delay of in-order delivery would be negative; (20) needs theta S > 2 (Z2)",
            in_flight * self.pieces
        )))
    }

    /// Whether the logarithm of (20) is below 0 for this window (Z2).
    pub(super) fn sparse(&self, window: f64) -> bool {
        self.satellite > 0.0 && self.reordering > 0.0 && self.in_flight(window) * self.pieces < 2.0
    }
}

/// Remark if [`Path::sparse`].
pub(super) const SPARSE: &str = "fewer than 2 link-layer packets are in flight: the logarithm in (20) is negative, and times are below the RTT of the link (Z2)";

keys! {
    pub(super) BUFFER: Positive, "B" | "buffer" = 50.0, "buffer before the satellite link, segments";
    pub(super) RATE: Positive, "mu" | "rate" | "link_rate" = 250.0, "rate of the satellite link, segments/s";
    pub(super) TERRESTRIAL: NonNegative, "T1" | "t1" | "terrestrial_rtt" = 0.1, "terrestrial RTT, s";
    pub(super) SATELLITE: NonNegative, "T2" | "t2" | "satellite_rtt" = 0.5, "RTT of the satellite link, s";
    pub(super) LOSS: Probability, "p" | "loss" | "segment_loss" = 0.1, "loss of a segment";
    pub(super) PIECES: Count(1, 1_000_000), "S" | "s" | "pieces" = 1, "link-layer packets per segment";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::agree;

    #[test]
    fn losses_of_link_layer_packets_give_the_loss_of_the_segment() {
        agree(piece_loss(Probability::new(0.1), 1.0).yes, 0.1, 1e-15);
        // (1 − r)^S = 1 − p.
        let loss = piece_loss(Probability::new(0.36), 2.0);
        agree(loss.yes, 0.2, 1e-15);
        agree(loss.no, 0.8, 1e-15);
        agree(piece_loss(Probability::new(1e-12), 4.0).yes, 2.5e-13, 1e-11);
    }

    #[test]
    fn the_cost_of_in_order_delivery_has_its_limits() {
        agree(
            reordering(Probability::new(0.5)),
            0.5 / std::f64::consts::LN_2,
            1e-15,
        );
        assert!(reordering(Probability::new(0.0)).abs() < f64::MIN_POSITIVE);
        agree(reordering(Probability::new(1.0)), 1.0, 1e-15);
        // (1−r)/ln(1/r) = 1 − (1−r)/2 − ….
        let near = Probability { yes: 1.0, no: 1e-9 };
        agree(reordering(near), 1.0 - 0.5e-9, 1e-15);
    }
}

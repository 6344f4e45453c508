//! `pftk`: rate of a long-lived TCP connection from packet loss and round-trip time.

use tmt_core::{closed_form, keys};

/// Round trips per packet: √(2bP/3) + 4 min(1, 3√(3bP/8)) P (1 + 32P²).
///
/// `loss` is P, 0 to 1. `delayed` is b, packets per ACK. The reciprocal is the mean window in packets. The first term
/// is due to the growing window, the second to timeouts of four round trips.
#[must_use]
pub fn round_trips_per_packet(loss: f64, delayed: f64) -> f64 {
    let timeouts = (3.0 * (3.0 * delayed * loss / 8.0).sqrt()).min(1.0);
    (2.0 * delayed * loss / 3.0).sqrt() + 4.0 * timeouts * loss * (1.0 + 32.0 * loss * loss)
}

/// Sending rate of a connection in units/s: S over A times [`round_trips_per_packet`]; infinite without loss.
///
/// `round_trip` is A in s, above 0. `packet` is S in units.
#[must_use]
pub fn sending_rate(loss: f64, round_trip: f64, packet: f64, delayed: f64) -> f64 {
    packet / (round_trip * round_trips_per_packet(loss, delayed))
}

/// Throughput of a connection in units/s: 1 − P times [`sending_rate`] (Barakat 2004, eq. (1)).
#[must_use]
pub fn receiving_rate(loss: f64, round_trip: f64, packet: f64, delayed: f64) -> f64 {
    if loss >= 1.0 {
        return 0.0;
    }
    (1.0 - loss) * sending_rate(loss, round_trip, packet, delayed)
}

keys! {
    LOSS: Probability, "P" | "loss" | "packet_loss" = 0.01, "packet loss probability";
    ROUND_TRIP: Positive, "A" | "a" | "rtt" | "round_trip" = 0.5, "mean round-trip time, s";
    PACKET: Positive, "S" | "s" | "packet" = 60.0, "units per packet";
    DELAYED: Positive, "b" | "delayed_ack" = 2.0, "packets per ACK";
}

closed_form! {
    /// `tmt model pftk` (docs/models.md, Sec. 5.1).
    pub static MODEL: "pftk",
        "Rate of a long-lived TCP connection from packet loss and round-trip time";
    source: "Barakat 2004, Sec. 4.1, eq. (1), after Padhye 2000; docs/models.md, Sec. 5.1";
    notes: [
        "One long-lived connection without a window limit, in congestion avoidance or timeout",
        "A timeout lasts four round trips (T0 = 4A)",
        "Losses are independent of the window; those of one round trip count as one",
    ];
    example: "P=0.01 A=0.5 S=60 b=2";
    keys: [LOSS, ROUND_TRIP, PACKET, DELAYED];
    answer(given) {
        let loss = given.number(&LOSS);
        let (round_trip, packet) = (given.number(&ROUND_TRIP), given.number(&PACKET));
        let delayed = given.number(&DELAYED);
    }
    results {
        "R" = receiving_rate(loss, round_trip, packet, delayed), "throughput, units/s";
        "sending_rate" = sending_rate(loss, round_trip, packet, delayed), "sending rate, units/s: R/(1-P)";
    }
    remarks {
        if loss <= 0.0 => "without loss nothing limits the window in this model: the rate is infinite";
        if round_trips_per_packet(loss, delayed) > 1.0 =>
            "less than one packet per round trip: the connection is in timeouts nearly all the time, and their doubling is modelled by a mean only";
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_rate_falls_with_loss_and_round_trip_time(p in 1e-9..0.9f64, step in 1e-3..0.1f64, a in 1e-3..2.0f64) {
            let rate = receiving_rate(p, a, 60.0, 2.0);
            prop_assert!(receiving_rate(p + step, a, 60.0, 2.0) < rate);
            prop_assert!((receiving_rate(p, 2.0 * a, 60.0, 2.0) / rate - 0.5).abs() < 1e-12);
        }
    }
}

//! `arq`: selective repeat with no limit of rounds (docs/models.md, Sec. 3.2).

keys! {
    P: Probability, "p" = 0.05, "erasure probability of an LLDU";
    pub(super) RTT: NonNegative, "rtt" = 0.5, "RTT of the link, s";
}

/// Efficiency, LLDUs delivered per slot: 1 − p (Kuhn 2015, Sec. 3.5).
#[must_use]
pub fn efficiency(p: f64) -> f64 {
    1.0 - p
}

/// Mean delay of an LLDU, s: RTT/2 + RTT·p/(1 − p) (Kuhn 2015, Sec. 3.5, with K5).
#[must_use]
pub fn delay(p: f64, rtt: f64) -> f64 {
    if rtt > 0.0 {
        rtt / 2.0 + rtt * (p / (1.0 - p))
    } else {
        0.0
    }
}

closed_form! {
    /// Interface of `tmt model arq`: keys, results, source and notes.
    pub static MODEL: "arq", "ARQ with unlimited rounds: efficiency and delay";
    source: "Kuhn 2015, Sec. 3.5; docs/models.md, Sec. 3.2";
    notes: [
        "The channel has no memory over one RTT: bursts are short compared with it",
        "K5: the printed delay has p^(i−1), which charges one RTT to LLDUs that are received at once; \
         Fig. 6b only fits the form used here",
    ];
    example: "p=0.05 rtt=0.5";
    keys: [P, RTT];
    answer(arguments) {
        let (p, rtt) = (arguments.number(&P), arguments.number(&RTT));
    }
    results {
        "eta" = efficiency(p), "LLDUs delivered / LLDUs sent";
        "delay" = delay(p, rtt), "mean delay of an LLDU, propagation included, s";
        "mean_transmissions" = 1.0 / (1.0 - p), "mean transmissions of an LLDU";
    }
    remarks {
        if p >= 1.0 => "p = 1: nothing is delivered, so delay and transmissions are infinite";
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_is_the_sum_of_its_series() {
        for p in [0.0, 1e-9, 0.1, 0.7] {
            let mut series = 0.25;
            for i in 1..400u32 {
                series += crate::math::num::powi(p, u64::from(i)) * (1.0 - p) * f64::from(i) * 0.5;
            }
            assert!((delay(p, 0.5) / series - 1.0).abs() < 1e-12);
        }
    }
}

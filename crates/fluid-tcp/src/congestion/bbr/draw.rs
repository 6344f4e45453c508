//! Random values of BBR, drawn from the connection's own history, since a congestion control has no seed.

use tmt_core::types::Time;

/// Returns a number in [0, 1) that follows from the number of draws and the time; uniform over many draws.
///
/// The mixing function is that of `SplitMix64` (Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", 2014). The seed of a run affects it only through the arrival times of ACKs.
pub(in super::super) fn draw(count: u64, now: Time) -> f64 {
    let mut bits = count
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(now.as_nanos());
    for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb_u64)] {
        bits = (bits ^ (bits >> shift)).wrapping_mul(factor);
    }
    tmt_core::types::to_f64((bits ^ (bits >> 31)) >> 11) / 9_007_199_254_740_992.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_draws_are_uniform_and_repeatable() {
        let draws: Vec<f64> = (0..8000).map(|count| draw(count, Time::ZERO)).collect();
        for eighth in 0..8 {
            let low = f64::from(eighth) / 8.0;
            let within = |draw: &&f64| (low..low + 0.125).contains(*draw);
            let count = draws.iter().filter(within).count();
            // 1000 ± 5 standard deviations.
            assert!((850..1150).contains(&count), "{eighth}: {count}");
        }
        assert!((draw(7, Time::ZERO) - draws[7]).abs() < f64::EPSILON);
    }
}

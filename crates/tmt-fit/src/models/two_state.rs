//! Parts that the models of two states share: their text for other tools, sojourns, and other intervals.

use tmt_core::channel::{ChannelSpec, GilbertElliott, Start};
use tmt_core::math::num;
use tmt_core::types::to_f64;

use super::starts::{Groups, groups, share};
use super::{Rates, percent};
use crate::sequence::{Sequence, block_variance};

/// Changes to the good and to the bad state that are independent have this sum of probabilities.
const NO_MEMORY: &str =
    "alpha + beta ≤ 1: losses do not come in bursts, so no process in continuous time gives them";

/// A two-state channel.
pub(crate) fn channel([alpha, beta, pg, pb]: [f64; 4]) -> GilbertElliott {
    GilbertElliott {
        alpha,
        beta,
        pg,
        pb,
        start: Start::Stationary,
    }
}

/// Its text.
pub(crate) fn process(values: [f64; 4]) -> Result<String, String> {
    let channel = channel(values);
    if channel.p_bad().is_none() {
        return Err("the state never changes".to_owned());
    }
    Ok(ChannelSpec::GilbertElliott(channel).to_string())
}

/// Its parameters as netem takes them.
pub(crate) fn gemodel([alpha, beta, pg, pb]: [f64; 4]) -> String {
    let (p, r) = (percent(1.0 - alpha), percent(1.0 - beta));
    format!("gemodel {p} {r} {} {}", percent(pb), percent(pg))
}

/// Mean sojourns, slots.
pub(crate) fn sojourns([alpha, beta, ..]: [f64; 4]) -> Vec<(&'static str, f64)> {
    vec![("good", 1.0 / (1.0 - alpha)), ("bad", 1.0 / (1.0 - beta))]
}

/// Rates of leaving each state, per slot interval: the generator whose exponential is the matrix of the chain.
///
/// # Errors
/// The chain has no such generator.
pub(crate) fn rates([alpha, beta, ..]: [f64; 4]) -> Rates {
    let (leave, back) = (1.0 - alpha, 1.0 - beta);
    let kept = 1.0 - leave - back;
    if kept <= 0.0 {
        return Err(NO_MEMORY.to_owned());
    }
    // −ln(1 − x)/x, whose limit for x → 0 is 1.
    let x = leave + back;
    let factor = if x > 0.0 { -num::log1p(-x) / x } else { 1.0 };
    Ok(vec![("good", leave * factor), ("bad", back * factor)])
}

/// The parameters for slots that are `ratio` times as far apart.
///
/// # Errors
/// The chain has no generator.
pub(crate) fn at([alpha, beta, pg, pb]: [f64; 4], ratio: f64) -> Result<[f64; 4], String> {
    let rates = rates([alpha, beta, pg, pb])?;
    let [(_, leave), (_, back)] = rates[..] else {
        return Err(NO_MEMORY.to_owned());
    };
    let all = leave + back;
    // Share of the way to the stationary distribution within the interval.
    let way = -num::expm1(-all * ratio);
    let part = |rate: f64| if all > 0.0 { rate / all * way } else { 0.0 };
    Ok([1.0 - part(leave), 1.0 - part(back), pg, pb])
}

/// Starts for states that lose at different rates over many slots, so that no gap tells them apart: by the variance of the
/// losses in blocks, which exceeds that of independent losses by m² times the variance of the states' probabilities.
fn slow_starts(sequence: &Sequence) -> Vec<Vec<f64>> {
    let slots = sequence.slots();
    let p = to_f64(sequence.lost()) / to_f64(slots);
    let blocks = std::iter::successors(Some(4_u64), |block| block.checked_mul(4));
    let blocks = blocks.take_while(|block| block * 20 <= slots);
    let mut starts = Vec::new();
    for block in blocks {
        let m = to_f64(block);
        let (_, Some(variance)) = block_variance(sequence, block) else {
            continue;
        };
        let between = (variance - m * p * (1.0 - p)) / (m * m);
        if between <= 0.0 {
            continue;
        }
        // Shares of the bad state, and sojourns of a few blocks.
        for bad in [0.5, 0.1] {
            let apart = (between / (bad * (1.0 - bad))).sqrt();
            let inside = |p: f64| p.clamp(1e-6, 1.0 - 1e-6);
            let leave = 1.0 / (3.0 * m);
            starts.push(vec![
                (leave * bad / (1.0 - bad)).min(0.5),
                leave,
                inside(p - bad * apart),
                inside(p + (1.0 - bad) * apart),
            ]);
        }
    }
    starts
}

/// Where searches begin, for each way to group the losses: lone losses in the good state, or in bad states of their own.
pub(crate) fn starts(sequence: &Sequence) -> Vec<Vec<f64>> {
    let start = |g: &Groups, own: f64| {
        let (bad, groups) = (g.inside + own * g.alone, g.count + own * g.alone);
        let good = g.outside - own * g.alone;
        vec![
            share(groups, good),
            share(groups, bad),
            share((1.0 - own) * g.alone, good),
            share(g.lost + own * g.alone, bad),
        ]
    };
    let groups = groups(sequence);
    let both = groups.iter().flat_map(|g| [start(g, 0.0), start(g, 1.0)]);
    both.chain(slow_starts(sequence)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_the_interval_twice_is_the_interval() {
        let whole = [0.97, 0.7, 0.001, 0.8];
        let half = at(whole, 0.5).unwrap();
        // The square of the matrix at half the interval.
        let (a, b) = (1.0 - half[0], 1.0 - half[1]);
        assert!((half[0] * half[0] + a * b - whole[0]).abs() < 1e-14);
        assert!((half[1] * half[1] + a * b - whole[1]).abs() < 1e-14);
        let back = at(half, 2.0).unwrap();
        for (one, other) in back.iter().zip(whole) {
            assert!((one - other).abs() < 1e-14);
        }
        assert!(at([0.5, 0.5, 0.0, 1.0], 2.0).is_err());
        let (p, share) = (channel(whole).p_bad(), channel(half).p_bad());
        assert!((p.unwrap() - share.unwrap()).abs() < 1e-14);
    }

    #[test]
    fn the_numbers_of_netem_are_those_of_its_manual() {
        // p, r, 1-h, 1-k: changes of state, and loss in the bad and in the good state.
        assert_eq!(
            gemodel([0.99, 0.833, 0.001, 0.5]),
            "gemodel 1% 16.7% 50% 0.1%"
        );
    }
}

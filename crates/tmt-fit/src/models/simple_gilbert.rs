//! `simple-gilbert`: two states; the bad one loses all slots and the good one none, so that losses show the state.

use super::hidden::{Output, as_they_are};
use super::starts::share;
use super::{Data, Fitted, Model, hidden, two_state};
use crate::chain::{Chain, step};
use tmt_core::types::to_f64;

pub(crate) static MODEL: Model = Model {
    name: "simple-gilbert",
    about: "Two states: the good one loses nothing, the bad one all",
    parameters: &["alpha", "beta"],
    fit,
    process: |_, values| two_state::process(all(values)),
    netem: |values| Ok(two_state::gemodel(all(values))),
    ns3,
    sojourns: |values| two_state::sojourns(all(values)),
    rates: |values| two_state::rates(all(values)),
    at: |values, ratio| two_state::at(all(values), ratio).map(|values| values[..2].to_vec()),
};

/// Choices: to leave the good state, to leave the bad state.
pub(crate) static CHAIN: Chain<2> = Chain {
    choices: 2,
    steps: &[
        step(false, 0, 0, &[(0, false)]),
        step(true, 0, 1, &[(0, true)]),
        step(false, 1, 0, &[(1, true)]),
        step(true, 1, 1, &[(1, false)]),
    ],
};

/// Persistence probabilities, as all models of two states have them.
pub(super) const PERSISTENCE: [Output<2>; 2] = [Output::less("alpha", 0), Output::less("beta", 1)];

fn all(values: &[f64]) -> [f64; 4] {
    [values[0], values[1], 0.0, 1.0]
}

pub(super) fn fit(data: &Data<'_>) -> Fitted {
    let (slots, lost) = data.totals();
    let bursts = to_f64(data.sequence.burst_count());
    let start = vec![share(bursts, slots - lost), share(bursts, lost)];
    hidden::fit(data, &CHAIN, &[start], &PERSISTENCE, as_they_are, None)
}

/// ns-3's bursts may begin anew while one lasts, and a size of 0 ends one. With sizes ⌊X⌋ of an exponential X of mean
/// −1/ln beta, a burst goes on with probability beta whether it begins anew or not, and one begins with probability
/// ErrorRate · beta.
fn ns3(values: &[f64]) -> Result<String, String> {
    let [alpha, beta, ..] = all(values);
    let rate = (1.0 - alpha) / beta;
    if beta <= 0.0 || rate > 1.0 {
        return Err("ns-3's bursts need 1 - alpha ≤ beta".to_owned());
    }
    let mean = -1.0 / tmt_core::math::num::ln(beta);
    Ok(format!(
        "ns3::BurstErrorModel[ErrorRate={rate}|BurstSize=ns3::ExponentialRandomVariable[Mean={mean}]]"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tmt_core::math::num;
    use tmt_core::math::rng::{Stream, Uniform};

    /// The machine of ns-3's `BurstErrorModel::DoCorrupt`.
    #[test]
    fn the_machine_of_ns_3_has_these_probabilities() {
        let (alpha, beta) = (0.97, 0.7);
        let text = ns3(&[alpha, beta]).unwrap();
        let number = |name: &str| -> f64 {
            let (_, rest) = text.split_once(name).unwrap();
            rest.split(['|', ']']).next().unwrap().parse().unwrap()
        };
        let (rate, mean) = (number("ErrorRate="), number("Mean="));
        let (mut counter, mut size) = (0_u64, 0_u64);
        let (mut starts, mut sizes) = (
            Uniform::new(1, Stream::ChannelState),
            Uniform::new(1, Stream::ChannelErasure),
        );
        let mut pairs = [[0_u32; 2]; 2];
        let mut before = false;
        for packet in 0..1_000_000 {
            let now = if starts.at(packet) < rate {
                size = num::floor_u64(-mean * num::log1p(-sizes.at(packet)));
                if size > 0 {
                    counter = 1;
                }
                size > 0
            } else if counter < size {
                counter += 1;
                true
            } else {
                false
            };
            pairs[usize::from(before)][usize::from(now)] += 1;
            before = now;
        }
        let share = |[received, lost]: [u32; 2]| f64::from(lost) / f64::from(received + lost);
        assert!((share(pairs[0]) - (1.0 - alpha)).abs() < 0.001, "{pairs:?}");
        assert!((share(pairs[1]) - beta).abs() < 0.006, "{pairs:?}");
        assert!(ns3(&[0.5, 0.3]).is_err());
    }
}

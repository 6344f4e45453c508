//! The lines for netem, by netem's state machine: it loses as the fitted process does.

#[path = "../../../tmt-core/src/format/export/netem/machine.rs"]
mod machine;

use tmt_core::channel::{Losses, Use};
use tmt_core::math::num;
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::{Span, Time};

use self::machine::{MEANS, Netem, differ};
use crate::{MODELS, Options, Sequence, fit};

/// Packets of a comparison.
const PACKETS: u64 = 1_000_000;

/// Losses of a process of `tmt`.
fn lost(spec: &str, seed: u64, packets: u64) -> Vec<bool> {
    let mut losses = Losses::new(&spec.parse().unwrap(), seed, Use::Forward);
    (0..packets)
        .map(|_| losses.loses(Time::ZERO, Span::ZERO))
        .collect()
}

#[test]
fn netem_loses_as_the_fitted_process_does() {
    let four = "markov:{state,erasure,s1,s2,s3,s4;s1,0,0.985,0,0.01,0.005;s2,0,0,0.5,0.5,0;s3,1,0.25,0.1,0.65,0;s4,1,1,0,0,0}";
    let mut compared = Vec::new();
    for spec in ["gilbert-elliott:alpha=0.98,beta=0.85,pg=0.01,pb=0.6", four] {
        let trace = Sequence::of(lost(spec, 1, 50_000).into_iter());
        for fit in fit(&trace, MODELS, &Options::default()) {
            let Some(netem) = fit.process.netem else {
                continue;
            };
            let words: Vec<&str> = netem.split(' ').collect();
            let (mut machine, mut uniform) =
                (Netem::new(&words), Uniform::new(2, Stream::FlowStart));
            let mut at = 0;
            let mut draw = || {
                at += 1;
                u32::try_from(num::floor_u64(uniform.at(at) * 4_294_967_296.0)).unwrap()
            };
            let of_netem: Vec<bool> = (0..PACKETS).map(|_| machine.loses(&mut draw)).collect();
            let of_tmt = lost(&fit.process.channel.unwrap(), 3, PACKETS);
            let found = differ(&of_netem, &of_tmt, usize::MAX);
            assert_eq!(found, None, "{}: {netem}", fit.model);
            // A line of other probabilities would not pass.
            compared.push((fit.model, of_netem));
        }
    }
    let models = MODELS.len() - 1;
    assert_eq!(compared.len(), 2 * models, "all but semi-markov, for both");
    let of = |name: &str, at: usize| {
        let mut all = compared.iter().filter(|(model, _)| *model == name);
        &all.nth(at).unwrap().1
    };
    let (bernoulli, hidden) = (of("bernoulli", 0), of("gilbert-elliott", 0));
    let (figure, ..) = differ(bernoulli, hidden, usize::MAX).unwrap();
    assert!(figure < MEANS, "independent losses begin more bursts");
}

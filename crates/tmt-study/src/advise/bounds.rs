//! Bounds on a candidate by closed forms: the most that it can deliver per slot, and the least share of LLDUs that wait for
//! a repeat. They are those of docs/models.md, Sec. 3, with the counted law P(m, N) of the channel in place of that of a
//! Gilbert–Elliott channel.

use tmt_core::scheme::{Combining, Rounds, SchemeSpec};
use tmt_core::types::to_f64;

use super::census::Census;

/// Closed forms of one candidate on one channel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    /// Data LLDUs delivered per slot, at most.
    pub(super) efficiency: f64,
    /// Share of data LLDUs that are not there after the first attempt and are repeated without limit; 0 if the scheme gives
    /// up.
    pub(super) waiting: f64,
}

impl Bounds {
    /// The bounds of `scheme` on the channel of `census`.
    ///
    /// HARQ, ARQ and FEC: of the received units of a codeword, x in the first attempt, at most ND deliver something and
    /// max(x, ND) at least are needed for it, so efficiency ≤ (1 − p) ND / E[max(x, ND)]. Without extra units and with
    /// unlimited rounds it is the efficiency of `harq`. FEC: efficiency = (ND/N)(1 − residual loss), exactly. Frame ARQ:
    /// (ND/N) P(an attempt decodes).
    pub(super) fn of(scheme: &SchemeSpec, census: &Census) -> Self {
        let of = |units: u32| to_f64(units.into());
        let (data, units) = (of(scheme.data_units()), of(scheme.units()));
        let repair = (scheme.units() - scheme.data_units()) as usize;
        let received = 1.0 - census.erasure_ratio();
        let law = census.law(scheme.units() as usize, scheme.interleave() as usize);
        let Some(law) = law else {
            // A channel shorter than a codeword says nothing but how much arrives.
            return Self {
                efficiency: received.min(data / units),
                waiting: 0.0,
            };
        };
        let (within, beyond) = law.split_at(repair + 1);
        let decodes: f64 = within.iter().sum();
        // Σ (NR − m) P(m): units received in excess.
        let surplus: f64 = (0..=repair)
            .zip(within)
            .map(|(m, share)| of_size(repair - m) * share)
            .sum();
        let missing: f64 = (repair + 1..)
            .zip(beyond)
            .map(|(m, share)| of_size(m) * share)
            .sum();
        let residual = missing / units;
        let (efficiency, late) = match scheme.combining() {
            Combining::Incremental if scheme.repeats() => {
                (received * data / (data + surplus), residual)
            }
            Combining::Incremental => (data / units * (1.0 - residual), residual),
            Combining::Discard => (data / units * decodes, 1.0 - decodes),
        };
        Self {
            efficiency,
            waiting: if scheme.rounds() == Rounds::Unlimited {
                late
            } else {
                0.0
            },
        }
    }
}

fn of_size(size: usize) -> f64 {
    to_f64(size as u64)
}

#[cfg(test)]
mod tests {
    use fluid_tcp::experiment::{Experiment, InMemory};
    use tmt_core::model::{MODELS, Outcome};
    use tmt_core::types::Span;

    use super::*;

    /// Slots of a channel, 300 s at about 10 000 a second.
    fn census(channel: &str) -> Census {
        let experiment = Experiment {
            channel: Some(channel.parse().unwrap()),
            rate: Some("2.64Mbps".parse().unwrap()),
            duration: Some(Span::from_secs(300)),
            ..Experiment::default()
        };
        let slots = experiment.chain_slots(&InMemory, 3).unwrap();
        Census::default().with(&slots.rows).unwrap()
    }

    fn model(name: &str, arguments: &str) -> Outcome {
        let model = MODELS.iter().find(|model| model.name == name).unwrap();
        model.run(arguments).unwrap()
    }

    #[test]
    fn on_a_gilbert_elliott_channel_they_are_the_closed_forms() {
        let chain = "alpha=0.99 beta=0.8";
        let census = census("gilbert-elliott:alpha=0.99,beta=0.8");
        let near = |ours: f64, theirs: f64, what: &str| {
            assert!(
                (ours / theirs - 1.0).abs() < 0.01,
                "{what}: {ours} {theirs}"
            );
        };
        let bounds = |text: &str| Bounds::of(&text.parse().unwrap(), &census);
        for (nd, n) in [(10, 12), (10, 20), (30, 33)] {
            let code = format!("{chain} nd={nd} nr={}", n - nd);
            let fec = model("fec", &code);
            let ours = bounds(&format!("fec:{nd}/{n}"));
            near(ours.efficiency, fec.get("eta").unwrap(), "fec");
            let harq = model("harq", &format!("{code} R=30"));
            let ours = bounds(&format!("harq:{nd}/{n}"));
            near(ours.efficiency, harq.get("eta").unwrap(), "harq");
            // With rounds and extra units: a bound.
            let few = model("harq", &format!("{code} R=1 ns=1"));
            let ours = bounds(&format!("harq:{nd}/{n},rounds=1,extra=1"));
            assert!(ours.efficiency > 0.99 * few.get("eta").unwrap());
            let frame = model("frame-arq", &code);
            let ours = bounds(&format!("frame-arq:{nd}/{n}"));
            near(ours.efficiency, frame.get("eta").unwrap(), "frame-arq");
            near(ours.waiting, frame.get("p_fail").unwrap(), "waiting");
            let deep = model("fec", &format!("{code} depth=20"));
            let ours = bounds(&format!("fec:{nd}/{n},interleave=20"));
            near(ours.efficiency, deep.get("eta").unwrap(), "interleaved");
        }
        let p = census.erasure_ratio();
        near(
            bounds("arq").efficiency,
            model("arq", &format!("p={p}")).get("eta").unwrap(),
            "arq",
        );
        near(bounds("arq").waiting, p, "waiting");
        assert_eq!(bounds("arq:rounds=1").waiting, 0.0);
    }

    #[test]
    fn a_channel_without_erasures_leaves_the_rate_of_the_code() {
        let census = census("bernoulli:0");
        for (text, efficiency) in [
            ("none", 1.0),
            ("arq", 1.0),
            ("fec:10/20", 0.5),
            ("frame-arq:3/4", 0.75),
        ] {
            let ours = Bounds::of(&text.parse().unwrap(), &census);
            assert!((ours.efficiency - efficiency).abs() < 1e-12, "{text}");
            assert_eq!(ours.waiting, 0.0);
        }
        // Longer than the trace.
        let ours = Bounds::of(&"fec:30000/60000,interleave=200".parse().unwrap(), &census);
        assert!((ours.efficiency - 0.5).abs() < 1e-12);
    }
}

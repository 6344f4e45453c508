//! `semi-markov`: bursts and gaps in turn, each with the lengths that were measured, independent of each other.
//!
//! The histograms are the lengths as measured. At both ends of a segment a run is cut: it counts with the probability that a
//! run is met or left there.

use std::collections::BTreeMap;

use tmt_core::math::num;
use tmt_core::types::to_f64;

use super::{Data, Error, Fitted, Model, NOT_IN_NS3, Parameter};
use crate::law::{Law, Nearby};
use crate::sequence::Sequence;

pub(crate) static MODEL: Model = Model {
    name: "semi-markov",
    about: "Bursts and gaps with the lengths that were measured",
    parameters: &["mean_gap_slots", "mean_burst_slots"],
    fit,
    process: |fitted, _| Ok(process(fitted.law.as_ref())),
    netem: |_| Err("netem has no lengths of runs; give it the losses as a list".to_owned()),
    ns3: |_| Err(NOT_IN_NS3.to_owned()),
    sojourns: |values| vec![("gap", values[0]), ("burst", values[1])],
    rates: |_| Err("sojourns are not exponential, so there are no rates".to_owned()),
    at: |_, _| Err("lengths shorter than the slots of the trace are unknown".to_owned()),
};

/// Lengths of one kind of run with their probabilities.
#[derive(Debug, Clone)]
struct Lengths {
    shares: BTreeMap<u64, f64>,
    /// Probability of at least each length that occurs.
    above: BTreeMap<u64, f64>,
    runs: f64,
    mean: f64,
}

impl Lengths {
    /// The product-limit estimate (Kaplan and Meier 1958) from the runs whose begin is seen; the end of a segment cuts some. The
    /// probability beyond the longest whole run is put on the longest run.
    fn of(sequence: &Sequence, lost: bool) -> Self {
        let mut ended = sequence.whole_lengths(lost);
        let mut seen = ended.clone();
        let mut longest = ended.keys().last().copied().unwrap_or(1);
        for segment in &sequence.segments {
            let last = segment.runs.len().saturating_sub(1);
            for (at, (is_lost, length)) in segment.iter().enumerate() {
                if is_lost != lost || at != 0 && at != last {
                    continue;
                }
                longest = longest.max(length);
                if at > 0 {
                    *seen.entry(length).or_insert(0) += 1;
                }
            }
        }
        // A run that is cut at both ends, or longer than all whose begin is seen, is taken as it is.
        if seen.keys().last().is_none_or(|most| *most < longest) {
            *ended.entry(longest).or_insert(0) += 1;
            *seen.entry(longest).or_insert(0) += 1;
        }
        let runs = to_f64(seen.values().sum());
        let (mut risk, mut left) = (runs, 1.0);
        let mut shares = BTreeMap::new();
        for (length, count) in &seen {
            let ends = ended.get(length).copied().unwrap_or(0);
            if ends > 0 {
                let share = left * to_f64(ends) / risk;
                shares.insert(*length, share);
                left -= share;
            }
            risk -= to_f64(*count);
        }
        if left > 1e-12 {
            *shares.entry(longest).or_insert(0.0) += left;
        }
        let mut above = BTreeMap::new();
        let mut sum = 0.0;
        for (length, share) in shares.iter().rev() {
            sum += share;
            above.insert(*length, sum);
        }
        let mean = shares.iter().map(|(length, share)| to_f64(*length) * share);
        Self {
            mean: mean.sum(),
            shares,
            above,
            runs,
        }
    }

    /// Probability of this length.
    fn exactly(&self, length: u64) -> f64 {
        self.shares.get(&length).copied().unwrap_or(0.0)
    }

    /// Probability of at least this length.
    fn tail(&self, length: u64) -> f64 {
        let next = self.above.range(length..).next();
        next.map_or(0.0, |(_, share)| *share)
    }

    /// Standard error of the mean.
    fn error(&self) -> Result<f64, String> {
        if self.runs < 2.0 {
            return Err("one run only".to_owned());
        }
        let squares = self.shares.iter();
        let squares = squares.map(|(length, share)| {
            let off = to_f64(*length) - self.mean;
            off * off * share
        });
        Ok((squares.sum::<f64>() / (self.runs - 1.0)).sqrt())
    }

    fn text(&self) -> String {
        let entries = self.shares.iter();
        let entries: Vec<String> = entries
            .map(|(length, share)| format!("{length}:{}", share * self.runs))
            .collect();
        format!("histogram {}", entries.join(" "))
    }
}

/// Gaps and bursts in turn.
#[derive(Debug)]
struct Renewal([Lengths; 2]);

fn fit(data: &Data<'_>) -> Fitted {
    let law = Renewal([
        Lengths::of(data.sequence, false),
        Lengths::of(data.sequence, true),
    ]);
    let cycle = law.0[0].mean + law.0[1].mean;
    let mut total = 0.0;
    for segment in &data.sequence.segments {
        let last = segment.runs.len().saturating_sub(1);
        for (at, (lost, length)) in segment.iter().enumerate() {
            let lengths = &law.0[usize::from(lost)];
            let p = match (at == 0, at == last) {
                // A slot at random has this run left with probability P(L ≥ length) / cycle.
                (true, false) => lengths.tail(length) / cycle,
                (true, true) => {
                    let longer = lengths.above.range(length..);
                    let mut left = 0.0;
                    let mut from = length;
                    for (longer, share) in longer {
                        left += to_f64(longer + 1 - from) * share;
                        from = longer + 1;
                    }
                    left / cycle
                }
                (false, true) => lengths.tail(length),
                (false, false) => lengths.exactly(length),
            };
            total += num::ln(p);
        }
    }
    let [gaps, bursts] = &law.0;
    let distinct = gaps.shares.len() + bursts.shares.len();
    let parameters = [("mean_gap_slots", gaps), ("mean_burst_slots", bursts)];
    let parameters = parameters.map(|(name, lengths)| Parameter {
        name,
        value: lengths.mean,
        error: lengths
            .error()
            .map(|standard| Error::normal(lengths.mean, standard)),
    });
    Fitted {
        ln_likelihood: total,
        // Of each kind, the lengths themselves and their frequencies, which add up to 1: both were taken from the trace.
        free: (2 * distinct).saturating_sub(2) as u64,
        parameters: parameters.to_vec(),
        law: Box::new(law),
        near: Nearby::default(),
        converged: true,
        steps: None,
    }
}

fn process(law: &dyn Law) -> String {
    law.lengths().map_or_else(String::new, |[gaps, bursts]| {
        format!(
            "semi-markov:{{state,erasure,sojourn,gap,burst;gap,0,{gaps},0,1;burst,1,{bursts},1,0}}"
        )
    })
}

impl Law for Renewal {
    fn tails(&self, lost: bool) -> Box<dyn Iterator<Item = f64> + '_> {
        let lengths = &self.0[usize::from(lost)];
        Box::new((1..).map(|length| lengths.tail(length)))
    }

    fn loss(&self) -> f64 {
        let [gaps, bursts] = &self.0;
        bursts.mean / (gaps.mean + bursts.mean)
    }

    /// By the renewal equations of the state after the start of a gap and of a burst.
    fn both_lost(&self, most: usize) -> Vec<f64> {
        // State of slot k (0: received, 1: lost) probabilities after the start of each at slot 0.
        let mut lost_after = [Vec::with_capacity(most + 1), Vec::with_capacity(most + 1)];
        let reaching = |lengths: &Lengths, after: &[f64], k: usize, weight: &dyn Fn(u64) -> f64| {
            let within = lengths.shares.range(1..=k as u64);
            let terms = within.map(|(length, _)| {
                let left = usize::try_from(k as u64 - length).unwrap_or(0);
                weight(*length) * after[left]
            });
            terms.sum::<f64>()
        };
        for k in 0..=most {
            for kind in 0..2 {
                let lengths = &self.0[kind];
                let stays = lengths.tail(k as u64 + 1);
                let others = &lost_after[1 - kind];
                // Within the first slot nothing has changed.
                let later = if k == 0 {
                    0.0
                } else {
                    reaching(lengths, others, k, &|length| lengths.exactly(length))
                };
                let value = later + if kind == 1 { stays } else { 0.0 };
                lost_after[kind].push(value);
            }
        }
        let (bursts, p) = (&self.0[1], self.loss());
        // Remainder of the burst at a lost slot taken at random, this one included: r slots with probability P(L ≥ r) / mean.
        let left = (1..=most as u64).map(|r| bursts.tail(r) / bursts.mean);
        let left: Vec<f64> = left.collect();
        let sums: Vec<f64> = left
            .iter()
            .scan(0.0, |sum, share| {
                *sum += share;
                Some(*sum)
            })
            .collect();
        (1..=most)
            .map(|k| {
                let stays = 1.0 - sums[k - 1];
                let moved: f64 = (1..=k).map(|r| left[r - 1] * lost_after[0][k - r]).sum();
                p * (stays + moved)
            })
            .collect()
    }

    fn lengths(&self) -> Option<[String; 2]> {
        let [gaps, bursts] = &self.0;
        Some([gaps.text(), bursts.text()])
    }
}

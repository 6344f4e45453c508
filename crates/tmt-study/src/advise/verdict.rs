//! The answer: which candidate is best, by how much, and which others are worth a look.

use fluid_tcp::experiment::Experiment;
use fluid_tcp::simulation::replications::{Estimate, bootstrap, estimate};
use tmt_core::scheme::SchemeSpec;

use super::census::Census;
use super::evaluation::{LinkFacts, Sample};
use super::objective::Objective;
use super::{AdviceError, Question, Runs};

/// How far a candidate came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It has all runs.
    Evaluated,
    /// The race dropped it after some of the runs: others were better on the same runs.
    Dropped,
    /// Closed forms say that it is worse than a candidate that has all runs; the reason.
    Pruned(String),
    /// It cannot run on this link; the reason, with parameters in backticks.
    Refused(String),
}

/// A candidate and what is known about it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The scheme.
    pub scheme: SchemeSpec,
    /// How far it came.
    pub fate: Fate,
    /// Its runs with their numbers, from 0, in ascending order.
    pub runs: Vec<(u64, Sample)>,
    /// Data LLDUs delivered per slot by the closed forms, at most; `None` if all candidates are evaluated.
    pub efficiency_bound: Option<f64>,
    /// Warnings of its runs, with parameters in backticks.
    pub warnings: Vec<String>,
}

impl Candidate {
    /// Mean and 95 % interval of a number over its runs; `None` if a run does not have it, or without runs.
    #[must_use]
    pub fn estimate(
        &self,
        runs: Runs,
        seed: u64,
        of: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Estimate> {
        let values = self.runs.iter().map(|(_, sample)| of(sample));
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        over(runs, seed, &values)
    }

    /// Number of its runs in which a transfer was not complete.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        let runs = self.runs.iter();
        runs.filter(|(_, sample)| sample.is_incomplete).count()
    }
}

/// How much better the winner is than another candidate, from the differences of their runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean difference, in the unit of the objective; 0 or above.
    pub mean: f64,
    /// Half-width of its 95 % interval; `None` for a single run, or for a number of the whole trace.
    pub ci95: Option<f64>,
}

impl Difference {
    /// Whether the difference exceeds its interval.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.ci95.is_some_and(|half| self.mean > half)
    }
}

/// The answer to a [`Question`].
#[derive(Debug, Clone)]
pub struct Advice {
    /// All candidates, in the order of the question.
    pub candidates: Vec<Candidate>,
    /// Numbers of the candidates that have all runs, the best first.
    pub ranking: Vec<usize>,
    /// Numbers of those of them that no other is as good as in goodput (or page time), p99 delay and efficiency and better in
    /// one, by the objective.
    pub frontier: Vec<usize>,
    /// The winner less each of the ranking, in its order.
    pub differences: Vec<Difference>,
    /// Number of candidates at the top whose difference from the winner does not exceed its interval, the winner included.
    pub alike: usize,
    /// Erasures of the channel; `None` if nothing is pruned.
    pub census: Option<Census>,
    /// The experiment of all candidates, with their starts.
    pub experiment: Experiment,
    /// What the slots of the link say.
    pub link: LinkFacts,
    /// Runs of a candidate that has all.
    pub runs: Runs,
    /// What the best is best at.
    pub objective: Objective,
}

impl Advice {
    /// Ranks the candidates that have all runs.
    pub(super) fn new(
        question: &Question,
        (experiment, link): (Experiment, LinkFacts),
        candidates: Vec<Candidate>,
        census: Option<Census>,
    ) -> Result<Self, AdviceError> {
        let objective = question.objective;
        let (runs, seed) = (question.runs, question.experiment.seed().0);
        let score = |candidate: &Candidate| {
            let mean = candidate.estimate(runs, seed, |sample| objective.of(sample));
            mean.map_or(f64::NEG_INFINITY, |estimate| objective.score(estimate.mean))
        };
        let is_evaluated = |number: &usize| candidates[*number].fate == Fate::Evaluated;
        let all = (0..candidates.len()).filter(is_evaluated);
        let mut ranked: Vec<(usize, f64)> = all.map(|n| (n, score(&candidates[n]))).collect();
        ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let ranking: Vec<usize> = ranked.iter().map(|(number, _)| *number).collect();
        let delivers = |candidate: &Candidate| {
            let mut samples = candidate.runs.iter();
            samples.any(|(_, sample)| sample.goodput_bps.is_some_and(|goodput| goodput > 0.0))
        };
        let best = ranked.first().filter(|(_, score)| score.is_finite());
        let Some((best, _)) = best.filter(|(number, _)| delivers(&candidates[*number])) else {
            return Err(none_delivers(&candidates, objective));
        };
        let values = |number: usize| -> Vec<f64> {
            let samples = candidates[number].runs.iter();
            let values = samples.map(|(_, sample)| objective.of(sample));
            values
                .map(|value| value.map_or(f64::NAN, |value| objective.score(value)))
                .collect()
        };
        let of_best = values(*best);
        let whole = objective == Objective::Efficiency && matches!(runs, Runs::Starts { .. });
        let differences = ranking.iter().map(|number| {
            let other = values(*number);
            let differences = of_best.iter().zip(&other).map(|(best, other)| best - other);
            let differences: Vec<f64> = differences.collect();
            if differences.iter().any(|difference| difference.is_nan()) {
                return Difference {
                    mean: f64::INFINITY,
                    ci95: Some(0.0),
                };
            }
            let estimate = over(runs, seed, &differences);
            Difference {
                mean: estimate.map_or(0.0, |estimate| estimate.mean),
                // The efficiency of a timeline is one number, the same for all runs.
                ci95: estimate
                    .and_then(|estimate| estimate.ci95)
                    .filter(|_| !whole),
            }
        });
        let differences: Vec<Difference> = differences.collect();
        let unclear = differences.iter().skip(1);
        let unclear =
            unclear.take_while(|difference| difference.ci95.is_some() && !difference.is_clear());
        let alike = 1 + unclear.count();
        let points: Vec<(usize, [f64; 3])> = ranking
            .iter()
            .map(|number| {
                let runs = candidates[*number].runs.iter();
                let samples: Vec<Sample> = runs.map(|(_, sample)| *sample).collect();
                (*number, point(&samples, objective))
            })
            .collect();
        let frontier = points
            .iter()
            .filter(|(_, own)| !points.iter().any(|(_, other)| dominates(*other, *own)));
        Ok(Self {
            frontier: frontier.map(|(number, _)| *number).collect(),
            ranking,
            differences,
            alike,
            census,
            experiment,
            link,
            runs,
            objective,
            candidates,
        })
    }

    /// The best candidate.
    #[must_use]
    pub fn winner(&self) -> &Candidate {
        &self.candidates[self.ranking[0]]
    }

    /// Mean and interval of a number over the runs of a candidate; no interval for the efficiency of a timeline, which is one
    /// number.
    #[must_use]
    pub fn estimate(&self, candidate: &Candidate, objective: Objective) -> Option<Estimate> {
        let seed = self.experiment.seed().0;
        let estimate = candidate.estimate(self.runs, seed, |sample| objective.of(sample))?;
        let is_one = objective == Objective::Efficiency && matches!(self.runs, Runs::Starts { .. });
        Some(Estimate {
            ci95: estimate.ci95.filter(|_| !is_one),
            ..estimate
        })
    }
}

/// Mean of `values`, one a run: by the block bootstrap over starts in one trace, by Student's t over seeds.
fn over(runs: Runs, seed: u64, values: &[f64]) -> Option<Estimate> {
    match runs {
        Runs::Starts { .. } => bootstrap(&[values], seed).pop().flatten(),
        Runs::Seeds { .. } => estimate(values),
    }
}

/// Score of the mean of an objective; minus infinity if a sample does not have it, or without samples.
pub(super) fn mean(samples: &[Sample], of: Objective) -> f64 {
    let values: Option<Vec<f64>> = samples.iter().map(|sample| of.of(sample)).collect();
    let mean = values.and_then(|values| estimate(&values));
    mean.map_or(f64::NEG_INFINITY, |estimate| of.score(estimate.mean))
}

/// Means of what the frontier weighs, more is better: goodput or page time, p99 delay, efficiency.
pub(super) fn point(samples: &[Sample], objective: Objective) -> [f64; 3] {
    let rate = match objective {
        Objective::PageTime => Objective::PageTime,
        _ => Objective::Goodput,
    };
    [rate, Objective::P99Delay, Objective::Efficiency].map(|of| mean(samples, of))
}

/// Whether `one` is as good as `other` in everything, and better in something.
fn dominates(one: [f64; 3], other: [f64; 3]) -> bool {
    let pairs = || one.iter().zip(&other);
    pairs().all(|(one, other)| one >= other) && pairs().any(|(one, other)| one > other)
}

fn none_delivers(candidates: &[Candidate], objective: Objective) -> AdviceError {
    let reasons = candidates
        .iter()
        .filter_map(|candidate| match &candidate.fate {
            Fate::Refused(why) => Some(why),
            _ => None,
        });
    let mut reasons: Vec<&String> = reasons.collect();
    let all = reasons.len() == candidates.len();
    reasons.dedup();
    AdviceError::Failed(match (&reasons[..], all) {
        ([only], true) => (*only).clone(),
        ([first, ..], true) => format!(
            "all {} candidates are refused, the first because: {first}",
            candidates.len()
        ),
        _ => format!(
            "found no candidate of {} that delivers anything, expected one to rank by {objective}: the channel loses everything",
            candidates.len()
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(text: &str, goodputs: &[f64], delay: f64) -> Candidate {
        let sample = |goodput: &f64| Sample {
            goodput_bps: Some(*goodput),
            delay_p99_s: Some(delay),
            efficiency: Some(0.5),
            ..Sample::default()
        };
        Candidate {
            scheme: text.parse().unwrap(),
            fate: Fate::Evaluated,
            runs: (0..).zip(goodputs.iter().map(sample)).collect(),
            efficiency_bound: None,
            warnings: Vec::new(),
        }
    }

    fn advice(candidates: Vec<Candidate>) -> Result<Advice, AdviceError> {
        let question = Question {
            experiment: Experiment::default(),
            candidates: Vec::new(),
            objective: Objective::Goodput,
            runs: Runs::Seeds { count: 4 },
            exhaustive: false,
        };
        Advice::new(
            &question,
            (Experiment::default(), LinkFacts::default()),
            candidates,
            None,
        )
    }

    #[test]
    fn differences_are_paired() {
        // Runs differ by far more than candidates do; the pairs do not.
        let base = [100.0, 200.0, 300.0, 400.0];
        let less =
            |by: [f64; 4]| -> Vec<f64> { base.iter().zip(by).map(|(b, by)| b - by).collect() };
        let advice = advice(vec![
            candidate("arq", &less([10.0, 11.0, 9.0, 10.0]), 0.5),
            candidate("none", &base, 1.0),
            candidate("fec:1/2", &less([-9.0, 9.0, -7.0, 8.0]), 2.0),
        ])
        .unwrap();
        assert_eq!(advice.ranking, [1, 2, 0]);
        // Student: s/√4 · t(0.975, 3) = 0.8165/2 · 3.182.
        let clear = advice.differences[2];
        assert!((clear.mean - 10.0).abs() < 1e-12 && clear.is_clear());
        assert!((clear.ci95.unwrap() - 1.2992).abs() < 1e-3);
        assert!(!advice.differences[1].is_clear());
        assert_eq!(advice.alike, 2);
        // fec has less goodput and more delay than none.
        assert_eq!(advice.frontier, [1, 0]);
    }

    #[test]
    fn nothing_delivered_is_no_advice() {
        let nothing = candidate("none", &[0.0, 0.0], 1.0);
        let error = advice(vec![nothing.clone()]).unwrap_err().to_string();
        assert!(error.contains("loses everything"), "{error}");
        let refused = Candidate {
            fate: Fate::Refused("too short".to_owned()),
            runs: Vec::new(),
            ..nothing
        };
        let error = advice(vec![refused.clone(), refused])
            .unwrap_err()
            .to_string();
        assert_eq!(error, "too short");
    }
}

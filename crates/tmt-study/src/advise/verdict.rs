//! The answer: which candidate is best, by how much, and which others are worth a look.

use fluid_tcp::experiment::{Experiment, Params};
use fluid_tcp::simulation::replications::{Estimate, bootstrap, estimate, overlap};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::Span;

use super::census::Census;
use super::evaluation::{Change, LinkFacts, Sample};
use super::objective::Objective;
use super::{AdviceError, Question, Runs};

/// How far a candidate came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is among the best, and ran again on fresh seeds or starts.
    Final,
    /// It has all runs of the race.
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
    /// Its runs with their numbers, in ascending order: on fresh seeds or starts if it is [`Fate::Final`], else those of the race.
    pub runs: Vec<(u64, Sample)>,
    /// The runs of the race of a candidate that ran again.
    pub(super) race: Vec<(u64, Sample)>,
    /// Data LLDUs delivered per slot by the closed forms, at most; `None` if all candidates are evaluated.
    pub efficiency_bound: Option<f64>,
    /// Warnings of its runs, with parameters in backticks.
    pub warnings: Vec<String>,
}

impl Candidate {
    /// A candidate without runs.
    pub(super) fn new(scheme: SchemeSpec) -> Self {
        Self {
            scheme,
            fate: Fate::Dropped,
            runs: Vec::new(),
            race: Vec::new(),
            efficiency_bound: None,
            warnings: Vec::new(),
        }
    }

    /// Mean of the objective over the runs of the race, by which it was chosen to run again; `None` if one lacks it, or without
    /// runs. It is the best of many, so that the best ones are too good.
    #[must_use]
    pub fn race_mean(&self, objective: Objective) -> Option<f64> {
        let runs = if self.race.is_empty() {
            &self.runs
        } else {
            &self.race
        };
        let values = runs.iter().map(|(_, sample)| objective.of(sample));
        let values: Vec<f64> = values.collect::<Option<_>>()?;
        Some(estimate(&values)?.mean)
    }

    pub(super) fn samples(&self) -> Vec<Sample> {
        self.runs.iter().map(|(_, sample)| *sample).collect()
    }

    /// Number of its runs in which a transfer was not complete.
    #[must_use]
    pub fn incomplete(&self) -> usize {
        let runs = self.runs.iter();
        runs.filter(|(_, sample)| sample.is_incomplete).count()
    }
}

/// How runs were taken, which decides their intervals.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sampling {
    pub(super) runs: Runs,
    seed: u64,
    /// Time between two starts, s.
    spacing_s: f64,
}

impl Sampling {
    pub(super) fn of(runs: Runs, experiment: &Experiment) -> Self {
        let seed = experiment.seed().0;
        let over = experiment.offsets.and_then(|offsets| offsets.over);
        let mut sampling = Self {
            runs,
            seed,
            spacing_s: over.map_or(0.0, Span::as_secs_f64),
        };
        if let Runs::Starts { count, .. } = runs {
            sampling.spacing_s /= f64::from(count.max(1));
        }
        sampling
    }

    /// Mean of a number over runs, by the block bootstrap over starts in one trace, by Student's t over seeds; `None` if a run
    /// does not have it, or without runs.
    pub(super) fn estimate(
        &self,
        samples: &[Sample],
        of: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Estimate> {
        let values: Vec<f64> = samples.iter().map(of).collect::<Option<_>>()?;
        match self.runs {
            Runs::Starts { .. } => {
                let starts = (0..).zip(samples);
                let starts = starts
                    .map(|(number, sample)| (f64::from(number) * self.spacing_s, sample.length_s));
                let shared = overlap(&starts.collect::<Vec<_>>());
                bootstrap(&[&values], self.seed, shared).pop()?
            }
            Runs::Seeds { .. } => estimate(&values),
        }
    }

    /// The same; values without variation have no interval, since they say nothing of what they are a sample of.
    pub(super) fn varied(
        &self,
        samples: &[Sample],
        of: impl Fn(&Sample) -> Option<f64>,
    ) -> Option<Estimate> {
        let all = self.estimate(samples, of)?;
        Some(Estimate {
            ci95: all.ci95.filter(|half| *half > 0.0),
            ..all
        })
    }
}

/// How much better the winner is than another candidate, from the differences of their runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Mean difference, in the unit of the objective; below zero if the winner, which other seeds have chosen, has the worse mean.
    pub mean: f64,
    /// Half-width of its 95 % interval; `None` for a single run, or for a number of the whole trace.
    pub ci95: Option<f64>,
}

impl Difference {
    /// Whether the interval excludes zero.
    #[must_use]
    pub fn is_clear(&self) -> bool {
        self.ci95.is_some_and(|half| self.mean > half)
    }
}

/// Results of the best candidates on fresh seeds or starts.
#[derive(Debug, Clone)]
pub struct Finals {
    /// Number of the runs of each.
    pub runs: Runs,
    /// First seed; those of further runs follow.
    pub seed: u64,
    /// The candidate that other fresh seeds have chosen; `None` over starts, and without random numbers.
    pub picked: Option<usize>,
    /// Values of the objective with the question changed.
    pub changed: Vec<Changed>,
    /// Resolved parameters of the runs.
    pub params: Params,
}

/// Values of the objective with the question changed.
#[derive(Debug, Clone)]
pub struct Changed {
    /// The change; `None` for the question as asked.
    pub change: Option<Change>,
    /// Numbers of candidates, each with its estimate; `None` if it cannot run.
    pub values: Vec<(usize, Option<Estimate>)>,
}

/// The answer to a [`Question`].
#[derive(Debug, Clone)]
pub struct Advice {
    /// All candidates: those of the question in its order, then those that were tried around the best.
    pub candidates: Vec<Candidate>,
    /// Numbers of the candidates that ran again: the winner, then the others by their means. The mean of another one may be
    /// better, but not clearly.
    pub ranking: Vec<usize>,
    /// Numbers of those of them that no other is as good as in goodput (or page time), p99 delay and efficiency and better in
    /// one, by the objective.
    pub frontier: Vec<usize>,
    /// The winner less each of the ranking, in its order.
    pub differences: Vec<Difference>,
    /// Erasures of the channel; `None` if nothing is pruned.
    pub census: Option<Census>,
    /// The experiment of the finals, with their starts or first seed.
    pub experiment: Experiment,
    /// Facts about the slots of the link.
    pub link: LinkFacts,
    /// Runs of the finals, and values with the question changed.
    pub finals: Finals,
    /// Objective.
    pub objective: Objective,
}

impl Advice {
    /// Ranks the candidates that ran again.
    pub(super) fn new(
        question: &Question,
        experiment: Experiment,
        link: LinkFacts,
        candidates: Vec<Candidate>,
        (census, finals): (Option<Census>, Finals),
    ) -> Result<Self, AdviceError> {
        let objective = question.objective;
        let score = |number: usize| mean(&candidates[number].samples(), objective);
        let is_final = |number: &usize| candidates[*number].fate == Fate::Final;
        let mut ranked: Vec<(usize, f64)> = (0..candidates.len())
            .filter(is_final)
            .map(|n| (n, score(n)))
            .collect();
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
        let points: Vec<(usize, [f64; 3])> = ranking
            .iter()
            .map(|number| (*number, point(&candidates[*number].samples(), objective)))
            .collect();
        let frontier = points
            .iter()
            .filter(|(_, own)| !points.iter().any(|(_, other)| dominates(*other, *own)));
        let mut advice = Self {
            frontier: frontier.map(|(number, _)| *number).collect(),
            ranking,
            differences: Vec::new(),
            census,
            experiment,
            link,
            finals,
            objective,
            candidates,
        };
        let best = advice.candidates[*best].samples();
        let differences = advice.ranking.iter();
        advice.differences = differences
            .map(|number| advice.difference(&best, &advice.candidates[*number].samples()))
            .collect();
        advice.prefer_picked();
        Ok(advice)
    }

    /// Makes the candidate the winner that other seeds have chosen, unless the best mean is clearly better.
    fn prefer_picked(&mut self) {
        let place = |number: &usize| self.ranking.iter().position(|one| one == number);
        let Some(place) = self.finals.picked.as_ref().and_then(place) else {
            return;
        };
        // Of candidates that are equal, too, the first stays.
        let best_by = &self.differences[place];
        if place == 0 || best_by.is_clear() || best_by.mean <= 0.0 {
            return;
        }
        let picked = self.ranking.remove(place);
        self.ranking.insert(0, picked);
        let best = self.candidates[picked].samples();
        let ranking = self.ranking.iter();
        let others = ranking.map(|number| self.candidates[*number].samples());
        self.differences = others.map(|other| self.difference(&best, &other)).collect();
    }

    fn sampling(&self) -> Sampling {
        Sampling::of(self.finals.runs, &self.experiment)
    }

    /// How much better the winner is, run by run.
    fn difference(&self, best: &[Sample], other: &[Sample]) -> Difference {
        let objective = self.objective;
        let score = |sample: &Sample| objective.of(sample).map(|value| objective.score(value));
        let pairs: Option<Vec<Sample>> = best
            .iter()
            .zip(other)
            .map(|(best, other)| {
                // The field does not matter to the estimate: it holds the difference of the scores.
                Some(Sample {
                    goodput_bps: Some(score(best)? - score(other)?),
                    ..*best
                })
            })
            .collect();
        let Some(pairs) = pairs else {
            return Difference {
                mean: f64::INFINITY,
                ci95: Some(0.0),
            };
        };
        let estimate = self.sampling().estimate(&pairs, |pair| pair.goodput_bps);
        Difference {
            mean: estimate.map_or(0.0, |estimate| estimate.mean),
            ci95: estimate
                .and_then(|estimate| estimate.ci95)
                .filter(|_| !self.is_one(objective)),
        }
    }

    /// Whether an objective is one number for all runs: the efficiency of a timeline.
    fn is_one(&self, objective: Objective) -> bool {
        objective == Objective::Efficiency && matches!(self.finals.runs, Runs::Starts { .. })
    }

    /// The best candidate.
    #[must_use]
    pub fn winner(&self) -> &Candidate {
        &self.candidates[self.ranking[0]]
    }

    /// Numbers of the candidates whose difference from the winner has an interval that contains zero, or is zero; the winner is
    /// the first.
    #[must_use]
    pub fn alike(&self) -> Vec<usize> {
        let ranked = self.ranking.iter().zip(&self.differences).enumerate();
        let alike = ranked.filter(|(place, (_, difference))| *place == 0 || !difference.is_clear());
        alike.map(|(_, (number, _))| *number).collect()
    }

    /// Mean and interval of a number over the fresh runs of a candidate; `None` of one that did not run again. No interval for the
    /// efficiency of a timeline, which is one number.
    #[must_use]
    pub fn estimate(&self, candidate: &Candidate, objective: Objective) -> Option<Estimate> {
        let samples = candidate.samples();
        let is_final = candidate.fate == Fate::Final;
        let estimate = self
            .sampling()
            .estimate(&samples, |sample| objective.of(sample));
        let estimate = estimate.filter(|_| is_final)?;
        Some(Estimate {
            ci95: estimate.ci95.filter(|_| !self.is_one(objective)),
            ..estimate
        })
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
pub(super) fn dominates(one: [f64; 3], other: [f64; 3]) -> bool {
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
            fate: Fate::Final,
            runs: (0..).zip(goodputs.iter().map(sample)).collect(),
            ..Candidate::new(text.parse().unwrap())
        }
    }

    fn advice(candidates: Vec<Candidate>) -> Result<Advice, AdviceError> {
        let runs = Runs::Seeds { count: 4 };
        let question = Question {
            experiment: Experiment::default(),
            candidates: Vec::new(),
            objective: Objective::Goodput,
            runs,
            exhaustive: false,
            refine: false,
            fresh: 4,
        };
        let finals = Finals {
            picked: None,
            runs,
            seed: 1,
            changed: Vec::new(),
            params: Params::new(),
        };
        let experiment = Experiment::default();
        Advice::new(
            &question,
            experiment,
            LinkFacts::default(),
            candidates,
            (None, finals),
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
        assert_eq!(advice.alike(), [1, 2]);
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

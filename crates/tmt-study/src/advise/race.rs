//! The search: scouts, pruning, and a race in which the better half of the candidates gets twice the runs.

use std::collections::BTreeSet;

use fluid_tcp::experiment::{Params, Storage};
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{Span, to_f64};

use super::bounds::Bounds;
use super::candidates::around;
use super::evaluation::{Bench, LinkFacts, Refusal, STRETCHES, Sample};
use super::objective::Objective;
use super::verdict::{Advice, Candidate, Fate, mean, point};
use super::{AdviceError, Question, Runs};

/// Margin by which a candidate must be worse by closed forms to be pruned.
const MARGIN: f64 = 0.1;

/// Share of LLDUs that must wait for a repeat for the 99 % quantile of the delay to have one: twice 1 %.
const WAITING: f64 = 0.02;

/// The race keeps at least this many.
const KEPT: usize = 16;

/// Runs of the first lap, at least.
const FIRST_RUNS: u64 = 2;

/// Part of all runs that the first lap has.
const FIRST_PART: u64 = 8;

/// Round trips of a stretch of the trace, at least.
const ROUND_TRIPS: u64 = 40;

/// Candidates around which others are tried, and how often.
const CENTRES: usize = 2;
const LAPS_OF_REFINEMENT: usize = 2;

/// Most candidates that are tried around others: eight around each.
pub(super) const MOST_AROUND: u64 = 8 * (CENTRES * LAPS_OF_REFINEMENT) as u64;

/// A point is spared by the race unless another is better, or worse by less than this share, in everything.
const NEAR: f64 = 0.01;

/// Answers `question`.
pub(super) fn run(
    question: &Question,
    storage: &dyn Storage,
    threads: usize,
    advanced: &(impl Fn(u64) + Sync),
) -> Result<Advice, AdviceError> {
    let (bench, link) = Bench::new(question, storage, threads)?;
    let new = |scheme: &SchemeSpec| Candidate::new(scheme.clone());
    let mut search = Search {
        question,
        bench,
        candidates: question.candidates.iter().map(new).collect(),
        link,
        params: None,
    };
    let order: Vec<u64> = (0..question.count()).collect();
    let mut alive: Vec<usize> = (0..search.candidates.len()).collect();
    let mut census = None;
    if question.exhaustive || alive.len() <= KEPT {
        search.evaluate(&alive, &order, advanced)?;
    } else {
        let counted = search.bench.census()?;
        let bounds = search.bench.bounds(&question.candidates, &counted)?;
        for (candidate, bounds) in search.candidates.iter_mut().zip(&bounds) {
            candidate.efficiency_bound = Some(bounds.efficiency);
        }
        let scouts = search.scouts(&bounds);
        search.evaluate(&scouts, &order, advanced)?;
        search.prune(&scouts, &bounds);
        census = Some(counted);
        alive.retain(|number| search.is_running(*number));
        match question.runs {
            Runs::Seeds { .. } => search.race_by_seeds(&mut alive, &order, advanced)?,
            Runs::Starts { .. } => search.race_by_stretches(&mut alive, advanced)?,
        }
        alive.extend(
            scouts
                .into_iter()
                .filter(|number| search.is_running(*number)),
        );
        alive.sort_unstable();
        alive.dedup();
        search.evaluate(&alive, &order, advanced)?;
    }
    search.mark_evaluated(&order);
    if question.refine {
        search.refine(&order, advanced)?;
    }
    let finals = search.finals(advanced)?;
    Advice::new(
        question,
        search.bench.experiment().clone(),
        search.link,
        search.candidates,
        (census, finals),
    )
}

/// Numbers of seeds after which the race halves: an eighth of all, a quarter, a half.
fn laps(all: usize) -> impl Iterator<Item = usize> {
    let first = (all as u64 / FIRST_PART).max(FIRST_RUNS);
    let first = usize::try_from(first).unwrap_or(all);
    std::iter::successors(Some(first), |lap| lap.checked_mul(2)).take_while(move |lap| *lap < all)
}

pub(super) struct Search<'a> {
    pub(super) question: &'a Question,
    pub(super) bench: Bench<'a>,
    pub(super) candidates: Vec<Candidate>,
    pub(super) link: LinkFacts,
    /// Resolved parameters of the first candidate that ran.
    pub(super) params: Option<Params>,
}

impl Search<'_> {
    /// Whether a candidate is still in the race.
    fn is_running(&self, number: usize) -> bool {
        self.candidates[number].fate == Fate::Dropped
    }

    /// Adds those of `runs` that the candidates `numbers` do not have.
    pub(super) fn evaluate(
        &mut self,
        numbers: &[usize],
        runs: &[u64],
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<(), AdviceError> {
        // Candidates have the first runs of the same order, so they lack the last ones.
        let has: BTreeSet<usize> = numbers
            .iter()
            .map(|number| self.candidates[*number].runs.len().min(runs.len()))
            .collect();
        for had in has {
            let lacking = &runs[had..];
            let own = numbers.iter().copied();
            let own: Vec<usize> = own
                .filter(|n| self.candidates[*n].runs.len() == had)
                .collect();
            if lacking.is_empty() || own.is_empty() {
                continue;
            }
            let schemes: Vec<_> = own.iter().map(|n| &self.candidates[*n].scheme).collect();
            let outcomes = self.bench.samples(&schemes, lacking, advanced);
            for (number, outcome) in own.into_iter().zip(outcomes) {
                let candidate = &mut self.candidates[number];
                match outcome {
                    Ok(outcome) => {
                        let samples = lacking.iter().copied().zip(outcome.samples);
                        candidate.runs.extend(samples);
                        candidate.runs.sort_by_key(|(run, _)| *run);
                        for warning in outcome.warnings {
                            if !candidate.warnings.contains(&warning) {
                                candidate.warnings.push(warning);
                            }
                        }
                        self.link.rtt = self.link.rtt.or(outcome.rtt);
                        self.params = self.params.take().or(outcome.params);
                    }
                    Err(Refusal::Refused(why)) => {
                        candidate.fate = Fate::Refused(why);
                        candidate.runs.clear();
                    }
                    Err(Refusal::Storage(why)) => return Err(AdviceError::Failed(why)),
                }
            }
        }
        Ok(())
    }

    /// Candidates that have all runs of the race are evaluated.
    fn mark_evaluated(&mut self, order: &[u64]) {
        for candidate in &mut self.candidates {
            if candidate.fate == Fate::Dropped && candidate.runs.len() == order.len() {
                candidate.fate = Fate::Evaluated;
            }
        }
    }

    /// The candidates that have all runs of the race, the best first.
    pub(super) fn ranked(&self) -> Vec<usize> {
        let all = self.candidates.iter().enumerate();
        let all = all.filter(|(_, one)| one.fate == Fate::Evaluated);
        let scored =
            all.map(|(number, one)| (number, mean(&one.samples(), self.question.objective)));
        let mut scored: Vec<(usize, f64)> = scored.collect();
        scored.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        scored.into_iter().map(|(number, _)| number).collect()
    }

    /// Tries candidates between those of the grid around the best, and again around the best of these.
    fn refine(
        &mut self,
        order: &[u64],
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<(), AdviceError> {
        let mut centres: BTreeSet<usize> = BTreeSet::new();
        for _ in 0..LAPS_OF_REFINEMENT {
            let best: Vec<usize> = self.ranked().into_iter().take(CENTRES).collect();
            let mut new = Vec::new();
            for centre in best {
                if !centres.insert(centre) {
                    continue;
                }
                for scheme in around(&self.candidates[centre].scheme) {
                    if !self
                        .candidates
                        .iter()
                        .any(|known| known.scheme.text() == scheme.text())
                    {
                        new.push(self.candidates.len());
                        self.candidates.push(Candidate::new(scheme));
                    }
                }
            }
            self.evaluate(&new, order, advanced)?;
            self.mark_evaluated(order);
        }
        Ok(())
    }

    /// The candidates against which others are pruned: of each family the one with the highest bound, out of order and in
    /// order.
    fn scouts(&self, bounds: &[Bounds]) -> Vec<usize> {
        let mut scouts: Vec<usize> = Vec::new();
        for (number, candidate) in self.candidates.iter().enumerate() {
            let scheme = &candidate.scheme;
            let alike = |other: &&mut usize| {
                let other = &self.candidates[**other].scheme;
                other.family() == scheme.family() && other.in_order() == scheme.in_order()
            };
            match scouts.iter_mut().find(alike) {
                None => scouts.push(number),
                Some(known) if bounds[number].efficiency > bounds[*known].efficiency => {
                    *known = number;
                }
                Some(_) => (),
            }
        }
        scouts
    }

    /// Prunes candidates that closed forms say to be worse than a scout.
    fn prune(&mut self, scouts: &[usize], bounds: &[Bounds]) {
        let objective = self.question.objective;
        let mean = |number: usize, of: &dyn Fn(&Sample) -> Option<f64>| {
            let runs = &self.candidates[number].runs;
            let values = runs.iter().map(|(_, sample)| of(sample));
            let values: Option<Vec<f64>> = values.collect();
            let values = values.filter(|values| !values.is_empty())?;
            Some(values.iter().sum::<f64>() / to_f64(values.len() as u64))
        };
        let scored = scouts.iter().filter_map(|number| {
            let value = mean(*number, &|sample| objective.of(sample))?;
            Some((*number, value))
        });
        let best = scored.max_by(|(_, one), (_, other)| {
            objective.score(*one).total_cmp(&objective.score(*other))
        });
        let Some((best, value)) = best else {
            return;
        };
        let share = mean(best, &|sample| sample.link_share);
        let goodput = mean(best, &|sample| sample.goodput_bps);
        let rival = self.candidates[best].scheme.clone();
        let bytes = self.question.experiment.bytes.map(|bytes| to_f64(bytes.0));
        let rtt = self.link.rtt.map(Span::as_secs_f64);
        for (number, bounds) in bounds.iter().enumerate() {
            if !self.is_running(number) || scouts.contains(&number) {
                continue;
            }
            let least = bounds.efficiency * (1.0 + MARGIN);
            let reason = match objective {
                Objective::Goodput => share.filter(|share| least < *share).map(|share| {
                    format!(
                        "efficiency at most {:.4}: {rival} has {share:.4} of the link as goodput",
                        bounds.efficiency
                    )
                }),
                Objective::Efficiency => (least < value).then(|| {
                    format!(
                        "efficiency at most {:.4}: that of {rival} is {value:.4}",
                        bounds.efficiency
                    )
                }),
                Objective::PageTime => bytes.zip(share.zip(goodput)).and_then(|(bytes, (share, goodput))| {
                    // Goodput if every slot carried data.
                    let capacity = goodput / share;
                    let time = 8.0 * bytes / (capacity * bounds.efficiency);
                    (time > value * (1.0 + MARGIN)).then(|| {
                        format!("page time at least {time:.4} s by its efficiency: that of {rival} is {value:.4} s")
                    })
                }),
                Objective::P99Delay => rtt.and_then(|rtt| {
                    let delay = 1.5 * rtt;
                    let waits = bounds.waiting > WAITING && delay > value * (1.0 + MARGIN);
                    waits.then(|| {
                        format!(
                            "{:.4} of the LLDUs wait for a repeat, so the p99 delay is at least {delay:.4} s: that of {rival} is {value:.4} s",
                            bounds.waiting
                        )
                    })
                }),
            };
            if let Some(reason) = reason {
                self.candidates[number].fate = Fate::Pruned(reason);
            }
        }
    }

    /// Runs the first seeds, more and more of them, and keeps the better half each time.
    fn race_by_seeds(
        &mut self,
        alive: &mut Vec<usize>,
        order: &[u64],
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<(), AdviceError> {
        for lap in laps(order.len()) {
            if alive.len() <= KEPT {
                break;
            }
            self.evaluate(alive, &order[..lap], advanced)?;
            alive.retain(|number| self.is_running(*number));
            let samples = |number: usize| {
                let runs = self.candidates[number].runs.iter();
                runs.take(lap).map(|(_, sample)| *sample).collect()
            };
            *alive = self.better_half(alive, samples);
        }
        Ok(())
    }

    /// Runs stretches of the trace, half of them and then all, and keeps the better half each time.
    fn race_by_stretches(
        &mut self,
        alive: &mut Vec<usize>,
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<(), AdviceError> {
        let rtt = self.link.rtt.unwrap_or(Span::ZERO);
        let trips = rtt.checked_mul(ROUND_TRIPS).unwrap_or(Span::MAX);
        let length = self.bench.length().as_nanos() / (2 * STRETCHES);
        let length = Span::from_nanos(length).unwrap_or(Span::ZERO).max(trips);
        let stretches = self.bench.stretches(length)?;
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); self.candidates.len()];
        let (first, last) = stretches.split_at(stretches.len() / 2);
        for lap in [first, last] {
            if alive.len() <= KEPT || lap.is_empty() {
                break;
            }
            let schemes: Vec<_> = alive.iter().map(|n| &self.candidates[*n].scheme).collect();
            let outcomes = self.bench.heats(&schemes, lap, length, advanced);
            for (number, outcome) in alive.iter().zip(outcomes) {
                match outcome {
                    Ok(outcome) => samples[*number].extend(outcome.samples),
                    Err(Refusal::Refused(why)) => {
                        self.candidates[*number].fate = Fate::Refused(why);
                    }
                    Err(Refusal::Storage(why)) => return Err(AdviceError::Failed(why)),
                }
            }
            alive.retain(|number| self.is_running(*number));
            *alive = self.better_half(alive, |number| samples[number].clone());
        }
        Ok(())
    }

    /// The better half of the candidates `numbers` by these samples, with those that may be on the frontier.
    fn better_half(&self, numbers: &[usize], samples: impl Fn(usize) -> Vec<Sample>) -> Vec<usize> {
        let objective = self.question.objective;
        let known: Vec<(usize, Vec<Sample>)> = numbers.iter().map(|n| (*n, samples(*n))).collect();
        let score = |samples: &[Sample]| mean(samples, objective);
        let mut ranked: Vec<(usize, f64, [f64; 3])> = known
            .iter()
            .map(|(number, samples)| (*number, score(samples), point(samples, objective)))
            .collect();
        ranked.sort_by(|(_, one, _), (_, other, _)| other.total_cmp(one));
        let half = numbers.len().div_ceil(2).max(KEPT);
        let mut kept = Vec::new();
        let mut points: Vec<[f64; 3]> = Vec::new();
        for (place, (number, _, own)) in ranked.into_iter().enumerate() {
            let is_new = !points.iter().any(|known| nearly_as_good(*known, own));
            if is_new {
                points.push(own);
            }
            if place < half || is_new {
                kept.push(number);
            }
        }
        kept.sort_unstable();
        kept
    }
}

/// Whether `one` is as good as `other` in everything, or nearly.
fn nearly_as_good(one: [f64; 3], other: [f64; 3]) -> bool {
    let pairs = one.iter().zip(&other);
    let mut pairs = pairs.map(|(one, other)| one + NEAR * other.abs() >= *other || one >= other);
    pairs.all(|nearly| nearly)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn laps_double() {
        let laps = |all| laps(all).collect::<Vec<_>>();
        assert_eq!(laps(16), [2, 4, 8]);
        assert_eq!(laps(64), [8, 16, 32]);
        assert_eq!(laps(3), [2]);
        assert_eq!((laps(2), laps(1)), (vec![], vec![]));
    }

    #[test]
    fn near_points_spare_only_one() {
        assert!(nearly_as_good([1.0, -1.0, 0.5], [1.005, -0.995, 0.5]));
        assert!(!nearly_as_good([1.0, -1.0, 0.5], [1.02, -1.0, 0.5]));
        assert!(nearly_as_good(
            [f64::NEG_INFINITY; 3],
            [f64::NEG_INFINITY; 3]
        ));
    }
}

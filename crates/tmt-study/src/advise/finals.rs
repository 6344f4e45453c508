//! The best candidates run again on seeds or starts that the race has not seen, and with the question changed.
//!
//! The mean of the winner of a race is too good, since it is the best of many. Its runs on fresh seeds are not, if they have not
//! chosen it either: over a channel some fresh seeds choose the winner among the best, and others give the numbers.

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::experiment::{BufferSize, Experiment};
use fluid_tcp::simulation::replications::{Estimate, estimate};
use tmt_core::channel::SlotChannel;
use tmt_core::scheme::families;

use super::evaluation::{Bench, Change, Refusal, Sample};
use super::race::Search;
use super::verdict::{Changed, Fate, Finals, Sampling, dominates, mean, point};
use super::{AdviceError, Question, Runs};

/// Candidates that run again: the best, and others of the frontier.
const BEST: usize = 5;
const MOST: usize = 12;

/// Runs under a change.
const CHANGED_RUNS: u32 = 32;

/// Seeds are added while the half-width of the winner's interval differs by more than this from what the first half of them let
/// expect, up to this multiple of the least number.
const UNSTABLE: f64 = 0.2;
const MOST_TIMES: u32 = 4;

/// Number of starts of the finals. Only the first of them is one of the `race`: the numbers have no common factor.
fn starts(race: u32, fresh: u32) -> u32 {
    (fresh.max(race) / race.max(1) + 1) * race + 1
}

/// Most runs of the finals, those with the question changed included.
pub(super) fn most_runs(question: &Question) -> u64 {
    let again = match question.runs {
        Runs::Starts { count, .. } => starts(count, question.fresh),
        Runs::Seeds { .. } => question.fresh.saturating_mul(MOST_TIMES + 1),
    };
    let rows = BEST + 2 * families().len();
    let changed = (1 + changes(&question.experiment).len()) * rows;
    MOST as u64 * u64::from(again) + changed as u64 * u64::from(CHANGED_RUNS)
}

impl Search<'_> {
    /// Runs the best candidates again.
    pub(super) fn finals(
        &mut self,
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<Finals, AdviceError> {
        let ranked = self.ranked();
        let chosen = self.finalists(&ranked);
        let seed = self.question.experiment.seed().0;
        let mut picked = None;
        let (runs, seed) = match self.question.runs {
            Runs::Starts { count, duration } => {
                let count = starts(count, self.question.fresh);
                self.bench.set_starts(count)?;
                let all: Vec<u64> = (0..count.into()).collect();
                self.run_again(&chosen, &all, advanced)?;
                (Runs::Starts { count, duration }, seed)
            }
            Runs::Seeds { count } if !self.is_random() => {
                for number in &chosen {
                    self.candidates[*number].fate = Fate::Final;
                }
                (Runs::Seeds { count }, seed)
            }
            Runs::Seeds { count } => {
                let mut fresh = self.question.fresh;
                let first = u64::from(count) + u64::from(fresh);
                let choosing: Vec<u64> = (u64::from(count)..first).collect();
                self.run_again(&chosen, &choosing, advanced)?;
                picked = self.best_of(&chosen);
                for number in &chosen {
                    self.candidates[*number].runs.clear();
                }
                loop {
                    let all: Vec<u64> = (first..first + u64::from(fresh)).collect();
                    self.run_again(&chosen, &all, advanced)?;
                    let most = self.question.fresh.saturating_mul(MOST_TIMES);
                    if fresh >= most || self.is_stable(&chosen) {
                        break;
                    }
                    fresh *= 2;
                }
                let runs = Runs::Seeds { count: fresh };
                (runs, seed.saturating_add(first))
            }
        };
        let changed = self.changed(&ranked, runs, seed, advanced)?;
        if seed != self.question.experiment.seed().0 {
            self.bench.set_seed(seed);
        }
        Ok(Finals {
            runs,
            seed,
            picked,
            changed,
            params: self.params.clone().unwrap_or_default(),
        })
    }

    /// Whether two seeds may give different results.
    fn is_random(&self) -> bool {
        let channel = self.question.experiment.channel.as_ref();
        channel.is_some_and(SlotChannel::is_random)
    }

    /// All if they are few, else the best and those of the frontier.
    fn finalists(&self, ranked: &[usize]) -> Vec<usize> {
        if ranked.len() <= MOST {
            return ranked.to_vec();
        }
        let objective = self.question.objective;
        let point_of = |number: &usize| point(&self.candidates[*number].samples(), objective);
        let points: Vec<[f64; 3]> = ranked.iter().map(point_of).collect();
        let is_on_frontier = |own: &[f64; 3]| !points.iter().any(|other| dominates(*other, *own));
        let numbered = ranked.iter().zip(&points).enumerate();
        let chosen = numbered.filter(|(place, (_, own))| *place < BEST || is_on_frontier(own));
        chosen.map(|(_, (number, _))| *number).take(MOST).collect()
    }

    /// Replaces the runs of candidates by these. Runs that they have stay.
    fn run_again(
        &mut self,
        chosen: &[usize],
        runs: &[u64],
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<(), AdviceError> {
        for number in chosen {
            let candidate = &mut self.candidates[*number];
            if candidate.fate != Fate::Final {
                candidate.fate = Fate::Final;
                candidate.race = std::mem::take(&mut candidate.runs);
            }
        }
        self.evaluate(chosen, runs, advanced)
    }

    /// The one of `chosen` with the best mean; the first of equal ones.
    fn best_of(&self, chosen: &[usize]) -> Option<usize> {
        let score =
            |number: usize| mean(&self.candidates[number].samples(), self.question.objective);
        let scored = chosen.iter().map(|number| (*number, score(*number)));
        let best = scored
            .rev()
            .max_by(|(_, one), (_, other)| one.total_cmp(other));
        best.map(|(number, _)| number)
    }

    /// Whether twice the seeds would give the interval that is to be expected.
    fn is_stable(&self, chosen: &[usize]) -> bool {
        let objective = self.question.objective;
        let half_width = |samples: &[Sample]| {
            let values: Option<Vec<f64>> =
                samples.iter().map(|sample| objective.of(sample)).collect();
            estimate(&values?)?.ci95
        };
        let Some(best) = self.best_of(chosen) else {
            return true;
        };
        let samples = self.candidates[best].samples();
        let (half, all) = (
            half_width(&samples[..samples.len() / 2]),
            half_width(&samples),
        );
        match half.zip(all) {
            Some((half, all)) if half > 0.0 => {
                (all * std::f64::consts::SQRT_2 / half - 1.0).abs() <= UNSTABLE
            }
            Some((_, all)) => all == 0.0,
            None => true,
        }
    }

    /// The finalists, and the best of every other family in order and out of order, with the question changed.
    fn changed(
        &mut self,
        ranked: &[usize],
        runs: Runs,
        seed: u64,
        advanced: &(impl Fn(u64) + Sync),
    ) -> Result<Vec<Changed>, AdviceError> {
        let mut rows: Vec<usize> = Vec::new();
        for number in ranked {
            let kind = |number: usize| {
                let scheme = &self.candidates[number].scheme;
                (scheme.family().name, scheme.in_order())
            };
            let is_new = !rows.iter().any(|known| kind(*known) == kind(*number));
            if is_new || rows.len() < BEST {
                rows.push(*number);
            }
        }
        let (few, first) = match runs {
            Runs::Starts { count, duration } => {
                let count = count.min(CHANGED_RUNS);
                self.bench.set_starts(count)?;
                (Runs::Starts { count, duration }, 0)
            }
            Runs::Seeds { count } => {
                let count = count.min(CHANGED_RUNS);
                (
                    Runs::Seeds { count },
                    seed - self.question.experiment.seed().0,
                )
            }
        };
        let (Runs::Starts { count, .. } | Runs::Seeds { count }) = few;
        let numbers: Vec<u64> = (first..first + u64::from(count)).collect();
        let schemes = rows
            .iter()
            .map(|number| self.candidates[*number].scheme.clone());
        let schemes: Vec<_> = schemes.collect();
        let objective = self.question.objective;
        let sampling = Sampling::of(few, self.bench.experiment());
        let values = |bench: &Bench<'_>| -> Result<Vec<Option<Estimate>>, AdviceError> {
            let schemes: Vec<_> = schemes.iter().collect();
            let outcomes = bench.samples(&schemes, &numbers, advanced).into_iter();
            let values = outcomes.map(|outcome| match outcome {
                Ok(outcome) => Ok(sampling.varied(&outcome.samples, |sample| objective.of(sample))),
                Err(Refusal::Refused(_)) => Ok(None),
                Err(Refusal::Storage(why)) => Err(AdviceError::Failed(why)),
            });
            values.collect()
        };
        let with = |change: Option<Change>, values: Vec<Option<Estimate>>| Changed {
            change,
            values: rows.iter().copied().zip(values).collect(),
        };
        let mut all = vec![with(None, values(&self.bench)?)];
        for change in changes(self.bench.experiment()) {
            if change == Change::TwiceTheLosses
                && !self.is_random()
                && self.question.experiment.channel.is_some()
            {
                continue;
            }
            let done = self.bench.changed(&change, values)??;
            all.push(with(Some(change), done));
        }
        if let Runs::Starts { count, .. } = runs {
            self.bench.set_starts(count)?;
        }
        Ok(all)
    }
}

/// The other queue, the other control, and more losses.
fn changes(experiment: &Experiment) -> Vec<Change> {
    let deep = BufferSize::Bdp(4.0);
    let queue = if experiment.buffer() == deep {
        BufferSize::Bdp(1.0)
    } else {
        deep
    };
    let control = |name: &str| name.parse::<Algorithm>().ok();
    let is_bbr = experiment.cc().entry().name.starts_with("bbr");
    let control = control(if is_bbr { "cubic" } else { "bbr1" });
    let control = control.map(Change::Control);
    std::iter::once(Change::Queue(queue))
        .chain(control)
        .chain([Change::TwiceTheLosses])
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The starts of N runs are k/N of the way, so that a common one needs a common factor.
    #[test]
    fn the_finals_over_a_trace_have_starts_of_their_own() {
        for (race, fresh) in [(16, 64), (64, 64), (4, 8), (1, 1), (12, 1), (17, 64)] {
            let again = starts(race, fresh);
            assert!(again >= fresh && again > race, "{race} {fresh}");
            let shared = (1..again).filter(|k| k * race % again == 0).count();
            assert_eq!(shared, 0, "{race} {fresh}: {again}");
        }
    }
}

//! Events on a grid: whether they keep to one phase of a period, and what chance would give.
//!
//! The phase is unknown, as the zero of a trace is. So the phase with the most events within the tolerance is taken. Chance finds
//! such a phase, too; its count is drawn, by as many independent events, uniform over the period.

use rayon::prelude::*;
use serde::Serialize;

use super::seconds;
use crate::math::rng::{Stream, Uniform};
use crate::types::{Span, to_f64};

/// Parts of the period on both sides of the phase within which an event counts: 0.5 s of 15 s.
const TOLERANCE_PARTS: u64 = 30;

/// Draws of as many events, and fewer if there are many.
const DRAWS: u32 = 999;
const FEW_DRAWS: u32 = 99;
const MANY_EVENTS: usize = 2_000;

/// Events against the grid of one period.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Grid {
    /// Period, s.
    pub period_s: f64,
    /// Distance from the phase up to which an event counts, s.
    pub tolerance_s: f64,
    /// Steps of the delay's level.
    pub steps: GridEvents,
    /// Starts of outages.
    pub outages: GridEvents,
}

/// Events of one kind against a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GridEvents {
    /// Number of events.
    pub events: u64,
    /// Phase with the most events within the tolerance: the time since a multiple of the period, s; null without events.
    pub phase_s: Option<f64>,
    /// Events within the tolerance of that phase.
    pub within: u64,
    /// Their share; null without events.
    pub share: Option<f64>,
    /// Mean of the share that as many events have that are uniform over the period; null without events.
    pub chance_share: Option<f64>,
    /// Probability that those reach the share; null without events.
    pub chance_probability: Option<f64>,
}

impl Grid {
    /// Events at these times, ns, on the grid of a period.
    pub(super) fn new(period: Span, seed: u64, steps: Vec<u64>, outages: Vec<u64>) -> Self {
        let tolerance = period.as_nanos() / TOLERANCE_PARTS;
        let events = |times: Vec<u64>, lane| GridEvents::new(times, period, tolerance, seed, lane);
        Self {
            period_s: period.as_secs_f64(),
            tolerance_s: seconds(tolerance),
            steps: events(steps, 0),
            outages: events(outages, 1),
        }
    }
}

impl GridEvents {
    fn new(times: Vec<u64>, period: Span, tolerance: u64, seed: u64, lane: u32) -> Self {
        let period = period.as_nanos().max(1);
        let mut phases: Vec<u64> = times.into_iter().map(|time| time % period).collect();
        let events = phases.len();
        let width = 2 * tolerance;
        let (most, phase) = densest(&mut phases, period, width);
        let count = to_f64(events as u64);
        let draws = if events > MANY_EVENTS {
            FEW_DRAWS
        } else {
            DRAWS
        };
        // Sums of whole numbers do not depend on the order.
        let (reached, total) = (0..u64::from(draws))
            .into_par_iter()
            .map_init(
                || (Uniform::on_lane(seed, Stream::GridPhase, lane), Vec::new()),
                |(uniform, drawn), draw| {
                    let from = draw * events as u64;
                    let phase = |index| fraction(uniform.at(from + index), period);
                    drawn.clear();
                    drawn.extend((0..events as u64).map(phase));
                    let (by_chance, _) = densest(drawn, period, width);
                    (u64::from(by_chance >= most), by_chance)
                },
            )
            .reduce(|| (0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let some = |value: f64| (events > 0).then_some(value);
        Self {
            events: events as u64,
            phase_s: some(seconds((phase + tolerance) % period)),
            within: most,
            share: some(to_f64(most) / count),
            chance_share: some(to_f64(total) / (f64::from(draws) * count)),
            chance_probability: some(to_f64(reached + 1) / f64::from(draws + 1)),
        }
    }
}

/// A uniform number of [0, 1) as a place in the period.
fn fraction(number: f64, period: u64) -> u64 {
    crate::math::num::floor_u64(number * to_f64(period)).min(period - 1)
}

/// Largest number of phases within an arc of this width, both ends included, and the start of the first such arc.
fn densest(phases: &mut [u64], period: u64, width: u64) -> (u64, u64) {
    phases.sort_unstable();
    let n = phases.len();
    let (mut most, mut begin, mut end) = (0, 0, 0);
    for (start, &phase) in phases.iter().enumerate() {
        // Places from n on are those of the next turn.
        let at = |place: usize| phases[place % n] + if place >= n { period } else { 0 };
        end = end.max(start);
        while end < start + n && at(end) - phase <= width {
            end += 1;
        }
        if end - start > most {
            (most, begin) = (end - start, phase);
        }
    }
    (most as u64, begin)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_densest_arc_is_that_of_a_search_over_all(
            mut phases in prop::collection::vec(0u64..40, 0..12), width in 0u64..39,
        ) {
            let period = 40;
            let within = |begin: u64| phases.iter().filter(|phase| (**phase + period - begin) % period <= width).count() as u64;
            let most = (0..period).map(within).max().unwrap_or(0);
            let copy = phases.clone();
            let (found, begin) = densest(&mut phases, period, width);
            prop_assert_eq!(found, most);
            let at_begin = copy.iter().filter(|phase| (**phase + period - begin) % period <= width).count() as u64;
            prop_assert_eq!(at_begin, found);
        }
    }

    #[test]
    fn events_on_a_grid_are_told_from_events_by_chance() {
        let period = Span::from_secs(15);
        // On the grid at 12 s, up to 0.2 s late.
        let on: Vec<u64> = (0..20)
            .map(|k| (k * 15 + 12) * 1_000_000_000 + k % 3 * 100_000_000)
            .collect();
        let grid = Grid::new(period, 1, on, Vec::new());
        assert_eq!((grid.steps.within, grid.steps.share), (20, Some(1.0)));
        let phase = grid.steps.phase_s.unwrap();
        assert!((phase - 12.1).abs() < 0.5, "{phase}");
        assert_eq!(grid.steps.chance_probability, Some(0.001));
        assert_eq!((grid.outages.events, grid.outages.phase_s), (0, None));
        // By chance: the probability is uniform, so that of 200 sets of events about 20 have less than 0.1.
        let mut small = 0;
        for seed in 0..200 {
            let mut uniform = Uniform::new(seed, Stream::FlowStart);
            let times = (0..20).map(|index| fraction(uniform.at(index), period.as_nanos() * 100));
            let grid = Grid::new(period, 1, times.collect(), Vec::new());
            small += u32::from(grid.steps.chance_probability.unwrap() < 0.1);
        }
        // Ties of whole numbers make it smaller; four standard deviations above.
        assert!((3..37).contains(&small), "{small}");
    }
}

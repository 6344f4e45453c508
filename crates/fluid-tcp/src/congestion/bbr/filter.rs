//! Windowed maximum: the largest value of the last few rounds.

use std::collections::VecDeque;

/// An exact windowed maximum over a virtual time that counts rounds or cycles, with at most one entry per instant.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct MaxFilter {
    /// Values with no larger one after them, the oldest and largest first.
    best: VecDeque<(u64, f64)>,
}

impl MaxFilter {
    /// Adds `value` at `now` and drops values that are `window` or more instants old.
    pub(in super::super) fn update(&mut self, now: u64, window: u64, value: f64) {
        while self.best.back().is_some_and(|&(_, best)| best <= value) {
            self.best.pop_back();
        }
        if self.best.back().is_none_or(|&(at, _)| at != now) {
            self.best.push_back((now, value));
        }
        while self
            .best
            .front()
            .is_some_and(|&(at, _)| at.saturating_add(window) <= now)
        {
            self.best.pop_front();
        }
    }

    /// Returns the largest value as of the last update; 0 before the first.
    pub(in super::super) fn get(&self) -> f64 {
        self.best.front().map_or(0.0, |&(_, best)| best)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_maximum_of_the_values_in_the_window(
            steps in proptest::collection::vec((0u64..3, 0u32..20), 1..80),
            window in 1u64..12,
        ) {
            let mut filter = MaxFilter::default();
            let (mut now, mut all) = (0, Vec::new());
            for (step, value) in steps {
                now += step;
                all.push((now, f64::from(value)));
                filter.update(now, window, f64::from(value));
                let expected = all
                    .iter()
                    .filter(|(at, _)| at + window > now)
                    .map(|(_, value)| *value)
                    .fold(0.0, f64::max);
                prop_assert!((filter.get() - expected).abs() < f64::EPSILON);
                prop_assert!(filter.best.len() as u64 <= window);
            }
        }
    }
}

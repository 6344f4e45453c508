//! Lengths of maximal runs: bursts of losses and the gaps between them.

use std::collections::BTreeMap;

/// Histogram of run lengths, length to count.
pub type RunLengths = BTreeMap<u64, u64>;

/// Counts maximal runs of two kinds of things that follow each other.
#[derive(Debug, Clone, Default)]
pub struct Runs {
    /// Whether the current run is a burst, and its length so far.
    current: Option<(bool, u64)>,
    bursts: RunLengths,
    gaps: RunLengths,
}

impl Runs {
    /// Counts the next thing: part of a burst, or of a gap.
    pub fn push(&mut self, burst: bool) {
        match &mut self.current {
            Some((kind, length)) if *kind == burst => *length += 1,
            _ => {
                self.close();
                self.current = Some((burst, 1));
            }
        }
    }

    /// Ends the last run, which counts too.
    pub fn close(&mut self) {
        if let Some((burst, length)) = self.current.take() {
            let lengths = if burst {
                &mut self.bursts
            } else {
                &mut self.gaps
            };
            *lengths.entry(length).or_insert(0) += 1;
        }
    }

    /// Lengths of the bursts that have ended.
    #[must_use]
    pub fn bursts(&self) -> &RunLengths {
        &self.bursts
    }

    /// Lengths of the gaps that have ended.
    #[must_use]
    pub fn gaps(&self) -> &RunLengths {
        &self.gaps
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_at_both_ends_count() {
        let mut runs = Runs::default();
        for burst in [true, true, false, true, false, false, false] {
            runs.push(burst);
        }
        runs.close();
        assert_eq!(runs.bursts(), &BTreeMap::from([(1, 1), (2, 1)]));
        assert_eq!(runs.gaps(), &BTreeMap::from([(1, 1), (3, 1)]));
    }
}

//! Input of a fit from a trace: the lengths of its runs of received and lost slots, in order.

use std::collections::HashMap;

use tmt_core::stats::runs::RunLengths;
use tmt_core::types::{Stopped, to_f64};

/// Slots that follow each other without a cut: lengths of runs, received and lost in turn.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segment {
    /// Whether the first run is lost.
    pub starts_lost: bool,
    /// Lengths of the runs, slots; each at least 1.
    pub runs: Vec<u64>,
}

impl Segment {
    /// Adds `count` slots of one kind.
    pub fn push(&mut self, lost: bool, count: u64) {
        if count == 0 {
            return;
        }
        if self.runs.is_empty() {
            self.starts_lost = lost;
        }
        let last_lost = self.starts_lost == (self.runs.len() % 2 == 1);
        match self.runs.last_mut() {
            Some(last) if last_lost == lost => *last += count,
            _ => self.runs.push(count),
        }
    }

    /// The runs: whether lost, and length.
    pub fn iter(&self) -> impl Iterator<Item = (bool, u64)> + '_ {
        let first = self.starts_lost;
        let runs = self.runs.iter().enumerate();
        runs.map(move |(at, length)| (first == (at % 2 == 0), *length))
    }
}

/// The slots of a trace, in segments that are independent of each other.
///
/// ```
/// use tmt_fit::Sequence;
///
/// let trace = Sequence::of([false, false, true, false].into_iter());
/// assert_eq!((trace.slots(), trace.lost(), trace.bursts().len()), (4, 1, 1));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequence {
    /// The segments, in order; none is empty.
    pub segments: Vec<Segment>,
}

impl Sequence {
    /// One segment of slots; `true` is lost.
    #[must_use]
    pub fn of(slots: impl Iterator<Item = bool>) -> Self {
        let mut segment = Segment::default();
        slots.for_each(|lost| segment.push(lost, 1));
        Self::from(segment)
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        let runs = self.segments.iter().flat_map(|segment| &segment.runs);
        runs.sum()
    }

    /// Number of lost slots.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.count(true, |length| length)
    }

    fn count(&self, lost: bool, value: fn(u64) -> u64) -> u64 {
        let runs = self.segments.iter().flat_map(Segment::iter);
        let kind = runs.filter(|(is_lost, _)| *is_lost == lost);
        kind.map(|(_, length)| value(length)).sum()
    }

    /// Lengths of bursts.
    #[must_use]
    pub fn bursts(&self) -> RunLengths {
        self.lengths(true)
    }

    /// Lengths of gaps.
    #[must_use]
    pub fn gaps(&self) -> RunLengths {
        self.lengths(false)
    }

    /// Number of bursts.
    #[must_use]
    pub fn burst_count(&self) -> u64 {
        self.count(true, |_| 1)
    }

    fn lengths(&self, lost: bool) -> RunLengths {
        let mut lengths = RunLengths::new();
        for (is_lost, length) in self.segments.iter().flat_map(Segment::iter) {
            if is_lost == lost {
                *lengths.entry(length).or_insert(0) += 1;
            }
        }
        lengths
    }

    /// Lengths of runs that have a run before and one after them, so that they are whole.
    #[must_use]
    pub fn whole_lengths(&self, lost: bool) -> RunLengths {
        let mut lengths = RunLengths::new();
        for segment in &self.segments {
            let inner = segment.runs.len().saturating_sub(2);
            for (is_lost, length) in segment.iter().skip(1).take(inner) {
                if is_lost == lost {
                    *lengths.entry(length).or_insert(0) += 1;
                }
            }
        }
        lengths
    }
}

impl From<Segment> for Sequence {
    fn from(segment: Segment) -> Self {
        let segments = [segment].into_iter().filter(|one| !one.runs.is_empty());
        Self {
            segments: segments.collect(),
        }
    }
}

/// A kind of run: lost or not, and its length.
pub(crate) type Kind = (bool, u64);

/// The same sequence with a number for each kind of run, which likelihoods are computed from.
#[derive(Debug, Clone)]
pub(crate) struct Coded {
    /// Kinds of runs.
    pub(crate) kinds: Vec<Kind>,
    /// Number of runs of each kind.
    pub(crate) counts: Vec<f64>,
    /// The kinds of the runs of each segment.
    pub(crate) segments: Vec<Vec<u32>>,
    /// Slots.
    pub(crate) slots: f64,
    /// Whether the fits shall end, after which no place is likely.
    pub(crate) stopped: Stopped,
}

impl Coded {
    pub(crate) fn new(sequence: &Sequence) -> Self {
        let mut numbers: HashMap<Kind, u32> = HashMap::new();
        let (mut kinds, mut counts) = (Vec::new(), Vec::new());
        let segments = sequence.segments.iter().map(|segment| {
            let code = |kind: Kind| {
                let next = u32::try_from(kinds.len()).unwrap_or(u32::MAX);
                let number = *numbers.entry(kind).or_insert(next);
                if number == next {
                    kinds.push(kind);
                    counts.push(0.0);
                }
                counts[number as usize] += 1.0;
                number
            };
            segment.iter().map(code).collect()
        });
        let segments = segments.collect();
        Self {
            kinds,
            counts,
            segments,
            slots: to_f64(sequence.slots()),
            stopped: Stopped::NEVER,
        }
    }
}

/// Number of whole blocks of this many slots, and the variance of the losses in them.
pub(crate) fn block_variance(sequence: &Sequence, scale: u64) -> (u64, Option<f64>) {
    let (mut blocks, mut sum, mut squares) = (0_u64, 0.0, 0.0);
    for segment in &sequence.segments {
        let (mut filled, mut lost_slots) = (0, 0);
        for (lost, mut length) in segment.iter() {
            while length > 0 {
                // Whole blocks within a run need no loop.
                if filled == 0 && length >= scale {
                    let whole = length / scale;
                    let each = if lost { to_f64(scale) } else { 0.0 };
                    blocks += whole;
                    sum += to_f64(whole) * each;
                    squares += to_f64(whole) * each * each;
                    length %= scale;
                    continue;
                }
                let taken = length.min(scale - filled);
                filled += taken;
                lost_slots += if lost { taken } else { 0 };
                length -= taken;
                if filled == scale {
                    blocks += 1;
                    sum += to_f64(lost_slots);
                    squares += to_f64(lost_slots) * to_f64(lost_slots);
                    (filled, lost_slots) = (0, 0);
                }
            }
        }
    }
    let count = to_f64(blocks);
    let variance = (blocks >= 2).then(|| (squares - sum * sum / count) / (count - 1.0));
    (blocks, variance)
}

impl Coded {
    /// The start of the sequence, at most this many runs.
    pub(crate) fn begin(&self, most: usize) -> Self {
        let mut left = most;
        let mut counts = vec![0.0; self.kinds.len()];
        let mut slots = 0.0;
        let segments = self.segments.iter().map(|segment| {
            let taken = segment.len().min(left);
            left -= taken;
            segment[..taken].to_vec()
        });
        let segments: Vec<Vec<u32>> = segments.filter(|segment| !segment.is_empty()).collect();
        for kind in segments.iter().flatten() {
            counts[*kind as usize] += 1.0;
            slots += to_f64(self.kinds[*kind as usize].1);
        }
        Self {
            kinds: self.kinds.clone(),
            counts,
            segments,
            slots,
            stopped: self.stopped,
        }
    }

    /// Number of runs.
    pub(crate) fn runs(&self) -> usize {
        self.segments.iter().map(Vec::len).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_join_and_segments_do_not() {
        let mut segment = Segment::default();
        for (lost, count) in [(true, 2), (true, 1), (false, 0), (false, 4), (true, 1)] {
            segment.push(lost, count);
        }
        assert_eq!(
            (segment.starts_lost, &segment.runs[..]),
            (true, &[3, 4, 1][..])
        );
        let two = Sequence {
            segments: vec![segment.clone(), segment],
        };
        assert_eq!((two.slots(), two.lost(), two.burst_count()), (16, 8, 4));
        assert_eq!(two.bursts(), RunLengths::from([(1, 2), (3, 2)]));
        assert_eq!(two.whole_lengths(false), RunLengths::from([(4, 2)]));
        assert_eq!(two.whole_lengths(true), RunLengths::new());
        assert_eq!(Coded::new(&two).counts.iter().sum::<f64>(), 6.0);
    }
}

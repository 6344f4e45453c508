//! Median decoding delay of a trace.

use crate::types::Span;

/// Collects the decoding delays of the first [`DecodeDelays::MOST`] received slots of a trace; their median is the
/// typical decoding delay (docs/trace-format.md, Sec. 4).
///
/// ```
/// use tmt_core::Span;
/// use tmt_core::stats::DecodeDelays;
///
/// let mut delays = DecodeDelays::default();
/// // Erased slots, which have a delay of 0, do not count.
/// for millis in [36, 0, 0, 38, 0, 37] {
///     delays.push(Span::from_millis(millis));
/// }
/// assert_eq!(delays.median(), Some(Span::from_millis(37)));
/// ```
#[derive(Debug, Clone, Default)]
pub struct DecodeDelays(Vec<Span>);

impl DecodeDelays {
    /// Largest number of delays.
    pub const MOST: usize = 1 << 16;

    /// Adds the decoding delay of the next slot; 0 means erased.
    pub fn push(&mut self, decode_delay: Span) {
        if !decode_delay.is_zero() && !self.is_full() {
            self.0.push(decode_delay);
        }
    }

    /// Whether further slots do not count.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.0.len() >= Self::MOST
    }

    /// Lower median of the delays; `None` if no slot was received.
    #[must_use]
    pub fn median(mut self) -> Option<Span> {
        let middle = self.0.len().saturating_sub(1) / 2;
        (!self.0.is_empty()).then(|| *self.0.select_nth_unstable(middle).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_lower_one_of_the_first_received_slots() {
        let median = |nanos: &mut dyn Iterator<Item = u64>| {
            let mut delays = DecodeDelays::default();
            nanos.for_each(|nanos| delays.push(Span::from_nanos(nanos).unwrap()));
            delays.median().map(Span::as_nanos)
        };
        assert_eq!(median(&mut [9, 0, 2, 0, 7, 4].into_iter()), Some(4));
        assert_eq!(median(&mut [0, 0].into_iter()), None);
        // 65 536 received slots with 1 … 65 536 ns, each after an erased one; those after them do not count.
        let first = (1..=65_536).flat_map(|nanos| [0, nanos]);
        assert_eq!(median(&mut first.chain([1; 90_000])), Some(32_768));
    }
}

//! The typical decoding delay of a trace.

use crate::stats::distribution::Distribution;
use crate::stats::runs::equal_runs;
use crate::types::{Slot, Span};

/// Number of received slots, from the first, whose decoding delays make the median.
const MEDIAN_SLOTS: u64 = 1 << 16;

/// Number of slots, received or erased, among which they are looked for. It bounds what has to be read ahead.
const MEDIAN_WITHIN: u64 = 1 << 20;

/// Collects the decoding delays of the first 65 536 received slots of a trace, for their median.
///
/// ```
/// use tmt_core::stats::DecodeDelays;
/// use tmt_core::{Slot, Span, Time};
///
/// let slot = |millis| Slot::new(Time::ZERO, Span::from_millis(millis)).ok_or("past 2^63 - 1 ns");
/// let mut delays = DecodeDelays::default();
/// delays.slots(&[slot(36)?, Slot::erased(Time::ZERO), slot(40)?, slot(35)?]);
/// assert_eq!(delays.median(), Some(Span::from_millis(36)));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct DecodeDelays {
    /// Exact: it is made for far more values.
    delays: Distribution,
    slots: u64,
}

impl DecodeDelays {
    /// Adds the next slots, in order.
    pub fn slots(&mut self, slots: &[Slot]) {
        for (delay, run) in equal_runs(slots, Slot::decode_delay) {
            if self.is_full() {
                return;
            }
            self.push_repeated(delay, run.len() as u64);
        }
    }

    /// Adds the next slot, which took `delay` to decode; zero if it was erased.
    #[inline]
    pub fn push(&mut self, delay: Span) {
        if !self.is_full() {
            self.push_repeated(delay, 1);
        }
    }

    /// Adds the next `count` slots; at least one of them counts.
    fn push_repeated(&mut self, delay: Span, count: u64) {
        let mut count = count.min(MEDIAN_WITHIN - self.slots);
        if !delay.is_zero() {
            count = count.min(MEDIAN_SLOTS - self.delays.count());
            self.delays.push_repeated(delay.as_nanos(), count);
        }
        self.slots += count;
    }

    /// Whether later slots do not count.
    #[inline]
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.delays.count() >= MEDIAN_SLOTS || self.slots >= MEDIAN_WITHIN
    }

    /// Lower median of the decoding delays; `None` if no slot was received.
    #[must_use]
    pub fn median(&self) -> Option<Span> {
        let [median] = self.delays.percentiles([50]);
        median
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Time;

    #[test]
    fn only_the_first_received_slots_count() {
        let slot = |nanos| Slot::new(Time::ZERO, Span::from_nanos(nanos).unwrap()).unwrap();
        let mut delays = DecodeDelays::default();
        // Every other slot is erased. 65 536 received ones with delays of 1 … 65 536 ns, then others.
        for nanos in 1..=65_536 {
            assert!(!delays.is_full());
            delays.slots(&[Slot::erased(Time::ZERO), slot(nanos)]);
        }
        assert!(delays.is_full());
        delays.slots(&vec![slot(1); 200_000]);
        assert_eq!(delays.median(), Span::from_nanos(32_768));
    }

    #[test]
    fn a_trace_that_begins_with_erased_slots_is_not_read_to_its_end() {
        let mut delays = DecodeDelays::default();
        delays.slots(&vec![Slot::erased(Time::ZERO); 1 << 20]);
        assert!(delays.is_full());
        assert_eq!(delays.median(), None);
    }
}

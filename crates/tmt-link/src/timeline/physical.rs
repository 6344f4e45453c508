//! Slots of the physical link behind a timeline (docs/metrics.md, Sec. 5). A timeline has a row per data LLDU; slots with
//! repair units and repeats are not in it.

use tmt_core::channel::synth::ConstantRate;
use tmt_core::types::{BitRate, Bytes, EndLine, Span, Time};

use super::Trace;

/// Rows whose times are compared with those of a constant rate.
const COMPARED_ROWS: usize = 10_000;

/// Counts the slots of the physical link during a run.
///
/// ```
/// use tmt_link::timeline::PhysicalSlots;
/// use tmt_core::Time;
/// use tmt_core::types::EndLine;
///
/// // 1000 slots carried 800 data LLDUs.
/// let end = EndLine { rows: 800, slots: 1000, usable_until: Time::MAX };
/// let slots = PhysicalSlots::in_proportion(&end);
/// assert_eq!(slots.within(Time::ZERO, Time::MAX, 80), 100);
/// ```
#[derive(Debug, Clone)]
pub struct PhysicalSlots {
    /// Slots at a constant rate, counted by their times.
    even: Option<ConstantRate>,
    rows: u64,
    slots: u64,
}

impl PhysicalSlots {
    /// Slots in proportion to the LLDUs of a run: as many per LLDU as in the whole trace, which `end` describes.
    #[must_use]
    pub const fn in_proportion(end: &EndLine) -> Self {
        Self {
            even: None,
            rows: end.rows,
            slots: end.slots,
        }
    }

    /// The slots behind `timeline`, whose end line is `end`. If all LLDUs compared are sent at slot times of the constant
    /// `rate` with slots of size `lldu`, slots are counted by these times. This is exact, so that all schemes over a
    /// trace have the same slots. Otherwise they are counted [in proportion](Self::in_proportion).
    #[must_use]
    pub fn of(timeline: &Trace, end: &EndLine, rate: Option<BitRate>, lldu: Option<Bytes>) -> Self {
        let even = rate.zip(lldu).and_then(|(rate, lldu)| {
            let longest = Span::from_nanos(Span::MAX.as_nanos() - 1)?;
            ConstantRate::new(rate, lldu, longest, Span::from_nanos(1)?)
        });
        Self {
            even: even.filter(|slots| is_even(timeline, end, slots)),
            ..Self::in_proportion(end)
        }
    }

    /// Number of slots from `begin` to `end`, both included, in which `rows` LLDUs were sent.
    #[must_use]
    pub fn within(&self, begin: Time, end: Time, rows: u64) -> u64 {
        if let Some(slots) = &self.even {
            return sent_until(slots, end).saturating_sub(slots.sent_before(begin));
        }
        let slots = u128::from(rows) * u128::from(self.slots);
        let slots = slots.checked_div(u128::from(self.rows)).unwrap_or(0);
        u64::try_from(slots).unwrap_or(u64::MAX)
    }
}

/// Number of slots sent up to `time`.
fn sent_until(slots: &ConstantRate, time: Time) -> u64 {
    slots.sent_before(time.saturating_add(Span::from_nanos(1).unwrap_or(Span::ZERO)))
}

/// Whether the LLDUs of the first block and the last LLDU are sent at slot times, and the trace has no gap that would
/// make it longer than its number of slots allows.
fn is_even(timeline: &Trace, end: &EndLine, slots: &ConstantRate) -> bool {
    let is_slot = |time: Time| slots.tx_time(slots.sent_before(time)) == Some(time);
    let (Some(first), Some(last), Some(block)) =
        (timeline.first(), timeline.last(), timeline.block(0))
    else {
        return false;
    };
    let rows = timeline.rows_in(0).min(COMPARED_ROWS);
    let passed = sent_until(slots, last).saturating_sub(slots.sent_before(first));
    is_slot(last) && passed <= end.slots && (0..rows).all(|row| is_slot(block.tx_time(row)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::Builder;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn timeline(times: impl Iterator<Item = u64>) -> Trace {
        let mut builder = Builder::default();
        times.for_each(|nanos| builder.push(at(nanos), Span::from_millis(1), Some(1)));
        builder.finish()
    }

    fn of(times: impl Iterator<Item = u64>, rows: u64, slots: u64) -> PhysicalSlots {
        let end = EndLine {
            rows,
            slots,
            usable_until: Time::MAX,
        };
        let (rate, lldu) = (BitRate(8_000_000), Bytes(1000));
        PhysicalSlots::of(&timeline(times), &end, Some(rate), Some(lldu))
    }

    #[test]
    fn slots_of_a_constant_rate_are_counted_by_their_times_whatever_the_lldus() {
        // A slot each millisecond; every third carries a repeat.
        let times = (0..1000_u64)
            .filter(|slot| slot % 3 != 1)
            .map(|slot| slot * 1_000_000);
        let slots = of(times, 667, 1000);
        for (begin, end, expected) in [
            (0, 999_000_000, 1000),
            (0, 999_999_999, 1000),
            (1, 2_000_000, 2),
            (5_000_000, 5_000_000, 1),
            (5_000_001, 5_999_999, 0),
        ] {
            assert_eq!(slots.within(at(begin), at(end), 7), expected);
        }
    }

    #[test]
    fn slots_at_other_times_are_in_proportion_to_the_lldus() {
        // Off the times of the rate, and with a gap.
        let shifted = of((0..600).map(|slot| slot * 1_000_000 + 7), 600, 1000);
        let gap = of(
            (0..600).map(|slot| (slot + slot / 300 * 500) * 1_000_000),
            600,
            1000,
        );
        for slots in [shifted, gap] {
            assert_eq!(slots.within(at(0), at(9), 300), 500);
            assert_eq!(slots.within(at(0), at(9), 1), 1);
        }
    }
}

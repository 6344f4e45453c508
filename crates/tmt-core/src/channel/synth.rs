//! Error-free slots at a constant rate, into which erasures can be injected.

use crate::types::{BitRate, Bytes, NANOS_PER_SECOND, Slot, Span, Time};

/// The slots of an error-free link: t_j = round(j · 8 · S · 10^9 / rate) (docs/trace-format.md, Sec. 11).
///
/// ```
/// use tmt_core::channel::synth::ConstantRate;
/// use tmt_core::{BitRate, Bytes, Span};
///
/// let (second, delay) = (Span::from_secs(1), Span::from_millis(36));
/// let slots = ConstantRate::new(BitRate(8_000), Bytes(100), second, delay).ok_or("no such link")?;
/// assert_eq!(slots.slots(), 10);
/// let last = slots.last().ok_or("no slot")?;
/// assert_eq!(last.tx_time().to_string(), "0.900000000 s");
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone)]
pub struct ConstantRate {
    rate: BitRate,
    lldu: Bytes,
    decode_delay: Span,
    until: Time,
    next: u64,
}

impl ConstantRate {
    /// Slots of `lldu` bytes at `rate` for `duration`, each decoded after `decode_delay`.
    ///
    /// `None` if the rate, size or delay is zero, or a time is above 2^63 − 1 ns.
    #[must_use]
    pub fn new(rate: BitRate, lldu: Bytes, duration: Span, decode_delay: Span) -> Option<Self> {
        let until = Time::ZERO.checked_add(duration)?;
        until.checked_add(decode_delay)?;
        let positive = rate.0 > 0 && lldu.0 > 0 && !decode_delay.is_zero();
        positive.then_some(Self {
            rate,
            lldu,
            decode_delay,
            until,
            next: 0,
        })
    }

    /// Total number of slots; 2^64 − 1 if there are more.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.sent_before(self.until)
    }

    /// Number of slots that start before `time`; 2^64 − 1 if there are more.
    #[must_use]
    pub fn sent_before(&self, time: Time) -> u64 {
        let rate = u128::from(self.rate.0);
        let end = u128::from(time.min(self.until).as_nanos()) * rate;
        // Slot j starts before that time, ⌊(j · step + rate/2) / rate⌋ < time, if
        // j · step < time · rate − rate/2.
        let slots = end.saturating_sub(rate / 2).div_ceil(self.step());
        u64::try_from(slots).unwrap_or(u64::MAX)
    }

    /// Start of slot `index`, counted from 0; `None` after the end of the trace.
    #[must_use]
    pub fn tx_time(&self, index: u64) -> Option<Time> {
        let bits = u128::from(index) * u128::from(self.lldu.0) * 8;
        let tx_time = self.rate.time_of_bit(bits);
        tx_time.filter(|time| *time < self.until)
    }

    /// Decoding delay of each slot, propagation excluded.
    #[must_use]
    pub const fn decode_delay(&self) -> Span {
        self.decode_delay
    }

    /// Appends up to `len` slots from slot `from` on; fewer if the trace ends before.
    ///
    /// The slots equal those of the iterator, whose position does not matter, and take one division per call.
    pub fn piece(&self, from: u64, len: usize, out: &mut Vec<Slot>) {
        let left = self.slots().saturating_sub(from);
        let len = usize::try_from(left).map_or(len, |left| left.min(len));
        if len == 0 {
            return;
        }
        let rate = self.rate.0;
        let wide = u128::from(rate);
        let begin = u128::from(from) * self.step() + wide / 2;
        let (mut nanos, mut rest) = (low(begin / wide), low(begin % wide));
        let (step, step_rest) = (low(self.step() / wide), low(self.step() % wide));
        // From this remainder on, the next slot is one nanosecond later.
        let carries = rate - step_rest;
        out.extend((0..len).map(|_| {
            let slot = self.slot(nanos);
            let carry = rest >= carries;
            rest = if carry {
                rest - carries
            } else {
                rest + step_rest
            };
            // May overflow after the last slot, where it is not used.
            nanos = nanos.wrapping_add(step).wrapping_add(u64::from(carry));
            slot
        }));
    }

    /// Period of the slots in units of 1/rate ns: 8 · S · 10^9, below 2^97.
    fn step(&self) -> u128 {
        u128::from(self.lldu.0) * 8 * u128::from(NANOS_PER_SECOND)
    }

    /// The slot at `nanos`, which is below `until`: so the fallback is not used, and [`Self::new`] has checked that `until` and the
    /// delay are in range together.
    fn slot(&self, nanos: u64) -> Slot {
        let tx_time = Time::from_nanos(nanos).unwrap_or(Time::MAX);
        Slot::unchecked(tx_time, self.decode_delay)
    }
}

/// The lower 64 bits, which are all bits of times within the trace and of remainders.
#[expect(
    clippy::cast_possible_truncation,
    reason = "longer values belong to slots after the end of the trace and are not used"
)]
const fn low(wide: u128) -> u64 {
    wide as u64
}

impl Iterator for ConstantRate {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let tx_time = self.tx_time(self.next)?;
        self.next += 1;
        Slot::new(tx_time, self.decode_delay)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Integers from 1 on, of every length in bits.
    fn magnitude(bits: u32) -> impl Strategy<Value = u64> {
        (0..bits, any::<u64>()).prop_map(|(bit, any)| 1 << bit | any & ((1 << bit) - 1))
    }

    proptest! {
        #[test]
        fn a_piece_equals_the_slots_of_the_iterator(
            rate in magnitude(64),
            lldu in magnitude(64),
            slots in 0u64..600,
            nearby in -3i64..=3,
            delay in magnitude(40),
            from in 0u64..600,
            len in 0usize..300,
        ) {
            // A duration of about `slots` slots, if that is in range.
            let period = u128::from(lldu) * 8 * 1_000_000_000 / u128::from(rate);
            let duration = u64::try_from(period * u128::from(slots)).unwrap_or(u64::MAX);
            let duration = duration.saturating_add_signed(nearby).min((1 << 62) - 1);
            // Too many slots for the iterator: see the next property.
            prop_assume!(period > 0 || duration < 1000);
            let link = ConstantRate::new(
                BitRate(rate),
                Bytes(lldu),
                Span::from_nanos(duration).unwrap(),
                Span::from_nanos(delay).unwrap(),
            )
            .unwrap();
            let skip = usize::try_from(from).unwrap();
            let expected: Vec<Slot> = link.clone().skip(skip).take(len).collect();
            let mut found = Vec::new();
            link.piece(from, len, &mut found);
            prop_assert_eq!(found, expected);
            if link.slots() < 10_000 {
                prop_assert_eq!(link.slots(), link.clone().count() as u64);
                for slot in link.clone().skip(skip).take(2) {
                    for time in [slot.tx_time(), slot.tx_time().saturating_add(slot.decode_delay())] {
                        let before = link.clone().filter(|slot| slot.tx_time() < time).count();
                        prop_assert_eq!(link.sent_before(time), before as u64);
                    }
                }
            }
        }

        #[test]
        fn a_late_piece_equals_the_slots_of_the_iterator(
            rate in magnitude(64),
            lldu in magnitude(64),
            duration in magnitude(62),
            permille in 0u64..=1000,
            len in 0usize..100,
        ) {
            let span = Span::from_nanos(duration).unwrap();
            let link = ConstantRate::new(BitRate(rate), Bytes(lldu), span, Span::from_millis(1)).unwrap();
            let slots = link.slots();
            // Somewhere in the trace, often at its very end.
            let from = (slots / 1000 * permille).min(slots.saturating_sub(50));
            let mut iterator = link.clone();
            iterator.next = from;
            let expected: Vec<Slot> = iterator.by_ref().take(len).collect();
            let mut found = Vec::new();
            link.piece(from, len, &mut found);
            prop_assert_eq!(found, expected);
            if slots < u64::MAX {
                iterator.next = slots;
                prop_assert!(iterator.next().is_none());
                iterator.next = slots - 1;
                prop_assert!(iterator.next().is_some());
            }
        }
    }

    #[test]
    fn slots_fill_exactly_the_duration() {
        let link = ConstantRate::new(
            BitRate(2_340_000),
            Bytes(33),
            Span::from_secs(1),
            Span::from_millis(36),
        );
        let slots: Vec<Slot> = link.unwrap().collect();
        // 2.34e6 / 264 = 8863.6 slots per second: slot 8863 starts inside, slot 8864 outside.
        assert_eq!(slots.len(), 8864);
        assert!(
            slots
                .iter()
                .all(|slot| slot.decode_delay() == Span::from_millis(36))
        );
    }

    #[test]
    fn zero_rate_size_or_delay_is_refused() {
        let (second, millis) = (Span::from_secs(1), Span::from_millis(1));
        assert!(ConstantRate::new(BitRate(0), Bytes(33), second, millis).is_none());
        assert!(ConstantRate::new(BitRate(1), Bytes(0), second, millis).is_none());
        assert!(ConstantRate::new(BitRate(1), Bytes(1), second, Span::ZERO).is_none());
    }
}

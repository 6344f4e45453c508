//! Error-free slots of a constant rate, to put erasures into.

use crate::slot::Slot;
use crate::units::{BitRate, Bytes, Span, Time};

/// The slots of a link that never errs: t_j = round(j · 8 · S · 10^9 / rate) (link-layer.md §11).
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
    /// `None` where a rate, size or delay of zero leaves no such link, or times leave their range.
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
}

impl Iterator for ConstantRate {
    type Item = Slot;

    fn next(&mut self) -> Option<Slot> {
        let bits = u128::from(self.next) * u128::from(self.lldu.0) * 8;
        let tx_time = self
            .rate
            .time_of_bit(bits)
            .filter(|time| *time < self.until)?;
        self.next += 1;
        Slot::new(tx_time, self.decode_delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_fill_the_duration_and_nothing_more() {
        let link = ConstantRate::new(
            BitRate(2_340_000),
            Bytes(33),
            Span::from_secs(1),
            Span::from_millis(36),
        );
        let slots: Vec<Slot> = link.unwrap().collect();
        // 2.34e6 / 264 = 8863.6 slots a second: slot 8863 begins inside, slot 8864 outside.
        assert_eq!(slots.len(), 8864);
        assert!(
            slots
                .iter()
                .all(|slot| slot.decode_delay() == Span::from_millis(36))
        );
    }

    #[test]
    fn a_link_of_nothing_is_none() {
        let (second, millis) = (Span::from_secs(1), Span::from_millis(1));
        assert!(ConstantRate::new(BitRate(0), Bytes(33), second, millis).is_none());
        assert!(ConstantRate::new(BitRate(1), Bytes(0), second, millis).is_none());
        assert!(ConstantRate::new(BitRate(1), Bytes(1), second, Span::ZERO).is_none());
    }
}

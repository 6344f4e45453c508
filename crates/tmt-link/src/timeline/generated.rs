//! PHY trace without a file: slots of a constant rate, erased by a random process (docs/simulator.md, Sec. 2.2).
//!
//! The slots equal those of `tmt synth` with d = the length of a slot and of the interleaver, or that of the scenario,
//! erased as by `tmt inject`.
//! Blocks are generated on demand, so that a run holds one at a time and skips idle ones.

use std::sync::{Arc, Mutex, PoisonError};

use tmt_core::channel::synth::ConstantRate;
use tmt_core::channel::{Erasing, SlotChannel, Use};
use tmt_core::types::{BitRate, Bytes, Span, Time, to_f64};

use super::{Block, Index, SlotTrace, Store, Trace};

/// Largest number of slots in a block. It is small because an idle run skips most slots.
const ROWS: u64 = 4096;

/// Rate, LLDU size and duration of generated slots, and the process that erases some.
#[derive(Debug, Clone)]
pub struct GeneratedSlots {
    slots: ConstantRate,
    rate: f64,
    /// Distance of two slots, rounded to nanoseconds.
    length: Span,
    channel: SlotChannel,
}

impl GeneratedSlots {
    /// Creates slots of size `lldu` at `rate` for `duration`. Their decoding delay is that of the link to which the
    /// process belongs, else the length of a slot, round(8 · S · 10^9 / rate) ns, and the depth of the interleaver over
    /// which the process spreads a word.
    ///
    /// Returns `None` if there would be no slots, if a slot takes less than half a nanosecond, or if times are out of
    /// range.
    #[must_use]
    pub fn new(rate: BitRate, lldu: Bytes, duration: Span, channel: SlotChannel) -> Option<Self> {
        let length = rate.time_of_bit(u128::from(lldu.0) * 8)?.since(Time::ZERO);
        let own = channel.link().map(|link| link.decode_delay);
        let interleaver = channel.radio().map(|radio| radio.parameters().interleaver);
        let delay = match own {
            Some(delay) => delay,
            None => length.checked_add(interleaver.unwrap_or(Span::ZERO))?,
        };
        let slots = ConstantRate::new(rate, lldu, duration, delay)?;
        (slots.slots() > 0 && !length.is_zero()).then(|| Self {
            slots,
            rate: to_f64(rate.0) / (8.0 * to_f64(lldu.0)),
            length,
            channel,
        })
    }

    /// Whether two seeds may differ.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.channel.is_random()
    }

    /// Length of a slot: the distance to the next.
    #[must_use]
    pub fn slot(&self) -> Span {
        self.length
    }

    /// Decoding delay of a slot, to which the process may add.
    #[must_use]
    pub fn decode_delay(&self) -> Span {
        self.slots.decode_delay()
    }

    /// Slots as erased with `seed`. They are generated on demand.
    #[must_use]
    pub fn trace(&self, seed: u64) -> SlotTrace {
        // Times in a block are within 2^32 ns.
        let period = u64::from(u32::MAX) / self.slot().as_nanos().max(1);
        let per_block = period.saturating_sub(1).clamp(1, ROWS);
        let len = usize::try_from(per_block).unwrap_or(usize::MAX);
        let store = GeneratedBlocks {
            slots: self.slots.clone(),
            length: self.length,
            per_block: len,
            erasures: Mutex::new(self.channel.begin(seed, Use::Forward)),
        };
        SlotTrace::from(Trace {
            index: Index::Even {
                slots: self.slots.clone(),
                per_block,
            },
            rows: self.slots.slots(),
            first: Some(Time::ZERO),
            rate: Some(self.rate),
            median_delay: Some(self.decode_delay()),
            store: Arc::new(store),
        })
    }
}

/// Store that generates blocks on demand.
#[derive(Debug)]
struct GeneratedBlocks {
    slots: ConstantRate,
    length: Span,
    per_block: usize,
    /// Erasure process, which can generate any block.
    erasures: Mutex<Box<dyn Erasing>>,
}

impl Store for GeneratedBlocks {
    fn block(&self, number: usize) -> Option<Arc<Block>> {
        let from = (number as u64).checked_mul(self.per_block as u64)?;
        let mut erasures = self.erasures.lock().unwrap_or_else(PoisonError::into_inner);
        let mut slots = Vec::new();
        self.slots.piece(from, self.per_block, &mut slots);
        let first = slots.first()?.tx_time();
        erasures.erase(from, self.length, &mut slots);
        let block = Block::from_slots(first, &slots).or_else(|| {
            let mut block = Block::starting(first);
            let mut slots = slots.iter();
            let fit = slots.all(|slot| block.push(slot.tx_time(), slot.decode_delay(), None));
            fit.then_some(block)
        });
        block.map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tmt_core::channel::{Channel, Fades, Fading};

    use super::*;

    fn time(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn span(nanos: u64) -> Span {
        Span::from_nanos(nanos).unwrap()
    }

    /// Transmission times and delays of all slots: times in 128 bits, erasures one by one.
    fn by_hand(rate: u64, lldu: u64, duration: u64, channel: &str, seed: u64) -> Vec<(u64, u64)> {
        let at = |slot: u64| {
            let nanos = u128::from(slot) * u128::from(lldu) * 8_000_000_000;
            u64::try_from((nanos + u128::from(rate / 2)) / u128::from(rate)).unwrap()
        };
        let length = at(1);
        let times: Vec<u64> = (0..=duration)
            .map(at)
            .take_while(|at| *at < duration)
            .collect();
        let mut steps = channel.parse().ok().map(|spec| Channel::new(spec, seed));
        let mut bad = Vec::new();
        if let Some(Ok(fading)) = channel.strip_prefix("fading:").map(str::parse::<Fading>) {
            let until = Time::MAX.min(time(duration + length));
            Fades::new(fading, seed).within(Time::ZERO, until, |start, end| {
                bad.push((start.as_nanos(), end.as_nanos()));
            });
        }
        let erased = |at: u64| match &mut steps {
            Some(channel) => channel.erases(),
            None => bad
                .iter()
                .any(|(start, end)| at < *end && at + length > *start),
        };
        let erased: Vec<bool> = times.iter().copied().map(erased).collect();
        let delay = |erased: bool| if erased { 0 } else { length };
        times
            .into_iter()
            .zip(erased.into_iter().map(delay))
            .collect()
    }

    fn channels() -> impl Strategy<Value = &'static str> {
        prop::sample::select(
            &[
                "bernoulli:0.2",
                "bernoulli:1",
                "gilbert-elliott:alpha=0.99,beta=0.8",
                "gilbert-elliott:alpha=0.99999,beta=0.9999,pg=0.01,pb=0.9",
                "fading:m=3ms,X=0.1",
                "fading:m=20us,X=0.3",
                "fading:m=5s,X=0.5",
            ][..],
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn slots_follow_the_rule_in_any_order_of_access(
            channel in channels(),
            (rate, slots) in prop_oneof![(1_000u64..2_000_000_000, 1u64..20_000), (1u64..1_000, 1u64..30)],
            lldu in 1u64..300,
            seed: u64,
            looks in prop::collection::vec((0.0..1.0f64, -1i64..=1), 1..8),
        ) {
            let length = (u128::from(lldu) * 8_000_000_000 + u128::from(rate / 2)) / u128::from(rate);
            let length = u64::try_from(length).unwrap();
            prop_assume!(length > 0);
            let duration = length * slots;
            let expected = by_hand(rate, lldu, duration, channel, seed);
            let generated = GeneratedSlots::new(BitRate(rate), Bytes(lldu), span(duration), channel.parse().unwrap()).unwrap();
            prop_assert_eq!(generated.slot(), span(length));
            let timeline = generated.trace(seed);
            prop_assert_eq!(timeline.len(), expected.len() as u64);
            prop_assert_eq!(timeline.first(), Some(Time::ZERO));
            prop_assert_eq!(timeline.last(), expected.last().map(|(at, _)| time(*at)));
            // First at random positions.
            for (share, nudge) in looks {
                let index = index_at(share, expected.len());
                let (at, delay) = expected[index];
                prop_assert_eq!(timeline.lldu(index as u64), Some((time(at), span(delay))));
                let at = at.saturating_add_signed(nudge);
                let before = expected.iter().filter(|(other, _)| *other < at).count() as u64;
                prop_assert_eq!(timeline.sent_before(time(at)), Some(before));
            }
            let mut found = Vec::new();
            for number in 0..timeline.blocks() {
                let block = timeline.block(number).unwrap();
                prop_assert_eq!(timeline.rows_before(number), found.len() as u64);
                prop_assert_eq!(timeline.rows_in(number), block.len());
                found.extend((0..block.len()).map(|row| (block.tx_time(row).as_nanos(), block.delay(row).as_nanos())));
            }
            prop_assert!(timeline.block(timeline.blocks()).is_none());
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn a_shorter_timeline_has_fewer_slots(cut in 0u64..20_000) {
            let channel = "bernoulli:0.1".parse().unwrap();
            let generated = GeneratedSlots::new(BitRate(1_000_000), Bytes(125), Span::from_secs(9), channel).unwrap();
            let mut timeline = generated.trace(1).rows();
            prop_assert!(timeline.truncate(cut));
            let rows = cut.min(9_000);
            prop_assert_eq!(timeline.len(), rows);
            prop_assert_eq!(timeline.blocks() as u64, rows.div_ceil(4096));
            prop_assert_eq!(timeline.last(), rows.checked_sub(1).map(|last| time(last * 1_000_000)));
            prop_assert_eq!(timeline.sent_until(Time::MAX), Some(rows));
            prop_assert_eq!((0..timeline.blocks()).map(|number| timeline.rows_in(number) as u64).sum::<u64>(), rows);
        }
    }

    fn index_at(share: f64, len: usize) -> usize {
        usize::try_from(tmt_core::math::num::floor_u64(share * to_f64(len as u64))).unwrap()
    }

    /// The share of erased slots is 1 − (1 − X) exp(−T X/(m(1 − X))).
    #[test]
    fn a_fading_link_erases_as_many_slots_as_the_closed_form_states() {
        let fading: Fading = "m=5ms,X=0.1".parse().unwrap();
        let channel = "fading:m=5ms,X=0.1".parse().unwrap();
        // Slots of 2 ms for 4000 s: 80 000 fades.
        let generated =
            GeneratedSlots::new(BitRate(100_000), Bytes(25), Span::from_secs(4000), channel)
                .unwrap();
        let timeline = generated.trace(3);
        let erased: usize = (0..timeline.blocks())
            .map(|number| {
                let block = timeline.block(number).unwrap();
                (0..block.len())
                    .filter(|row| block.delay(*row).is_zero())
                    .count()
            })
            .sum();
        let share = to_f64(erased as u64) / to_f64(timeline.len());
        let expected = fading.erasure_probability(generated.slot());
        assert!((expected - (1.0 - 0.9 * tmt_core::math::num::exp(-2.0 / 45.0))).abs() < 1e-12);
        // The relative standard error is about 0.004: 80 000 fades, each of an exponential number of slots.
        assert!((share / expected - 1.0).abs() < 0.016, "{share} {expected}");
    }

    #[test]
    fn slots_without_rate_size_or_length_are_refused() {
        let channel: SlotChannel = "bernoulli:0".parse().unwrap();
        let generated = |rate, lldu, duration| {
            GeneratedSlots::new(BitRate(rate), Bytes(lldu), span(duration), channel.clone())
                .is_some()
        };
        assert!(generated(1_000, 25, 1));
        assert!(!generated(0, 25, 1) && !generated(1_000, 0, 1) && !generated(1_000, 25, 0));
        // A slot of 0.4 ns.
        assert!(!generated(20_000_000_000, 1, 1) && generated(16_000_000_000, 1, 1));
    }

    #[test]
    fn the_end_of_a_long_timeline_is_generated_without_the_rest() {
        let channel = "gilbert-elliott:alpha=0.99,beta=0.8".parse().unwrap();
        let generated = GeneratedSlots::new(
            BitRate(1_000_000_000),
            Bytes(25),
            Span::from_secs(3_000_000_000),
            channel,
        )
        .unwrap();
        let timeline = generated.trace(1);
        // 1.5 · 10^16 slots of 200 ns.
        assert_eq!(timeline.len(), 15_000_000_000_000_000);
        let (at, _) = timeline.lldu(timeline.len() - 1).unwrap();
        assert_eq!(at, time(3_000_000_000_000_000_000 - 200));
        assert_eq!(timeline.sent_before(at), Some(timeline.len() - 1));
    }
}

//! A link-layer timeline, as the timeline link needs it: LLDUs in blocks that can be had in any order.
//!
//! Where the blocks are is a [`Store`]'s affair: in memory, shared by the runs over them, or in a file of which a run
//! holds one block at a time. What is known of the whole (its times, its rate) stands beside them.

mod block;
mod builder;
mod cursor;
mod generated;

use std::fmt::Debug;
use std::sync::Arc;

use tmt_core::channel::synth::ConstantRate;
use tmt_core::types::{Span, Time};

pub use block::Block;
pub use builder::Builder;
pub(in crate::link) use cursor::{Cursor, Position};
pub use generated::GeneratedSlots;

/// Where the blocks of a timeline are.
pub trait Store: Debug + Send + Sync {
    /// Block `number`, counted from 0; none where it cannot be read, of which the store tells its owner.
    fn block(&self, number: usize) -> Option<Arc<Block>>;

    /// Why a block could not be read; none while all could.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Blocks in memory.
impl Store for Vec<Arc<Block>> {
    fn block(&self, number: usize) -> Option<Arc<Block>> {
        self.get(number).cloned()
    }
}

/// Which LLDUs are in which block.
#[derive(Debug)]
enum Index {
    /// Of any times, in any blocks: the LLDUs in front of each, and when its last one was sent.
    Listed(Vec<(u64, Time)>),
    /// Slots of a constant rate, so many to a block: all of it is arithmetic, however long the timeline.
    Even { slots: ConstantRate, per_block: u64 },
}

/// The data LLDUs of a timeline: when each was sent, when it was delivered, in which attempt.
#[derive(Debug)]
pub struct Timeline {
    index: Index,
    rows: u64,
    first: Option<Time>,
    rate: Option<f64>,
    median_delay: Option<Span>,
    store: Arc<dyn Store>,
}

/// Slots of a PHY trace in the same blocks: a row is a slot with its decode delay, zero where it was erased, and without
/// attempts.
pub type SlotTrace = Timeline;

impl Timeline {
    /// Number of LLDUs.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Time of the first LLDU.
    #[must_use]
    pub fn first(&self) -> Option<Time> {
        self.first
    }

    /// Time of the last LLDU.
    #[must_use]
    pub fn last(&self) -> Option<Time> {
        match &self.index {
            Index::Listed(blocks) => blocks.last().map(|(_, last)| *last),
            Index::Even { slots, .. } => slots.tx_time(self.rows.checked_sub(1)?),
        }
    }

    /// LLDUs a second over the first 10 000 rows; none for fewer than two rows, or rows at one instant.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Median delay of the delivered LLDUs among the first 10 000.
    #[must_use]
    pub fn median_delay(&self) -> Option<Span> {
        self.median_delay
    }

    /// Blocks there are.
    #[must_use]
    pub fn blocks(&self) -> usize {
        match &self.index {
            Index::Listed(blocks) => blocks.len(),
            Index::Even { per_block, .. } => saturating(self.rows.div_ceil(*per_block)),
        }
    }

    /// Block `number`; none where there is no such block or it cannot be read.
    #[must_use]
    pub fn block(&self, number: usize) -> Option<Arc<Block>> {
        let exists = number < self.blocks();
        exists.then(|| self.store.block(number)).flatten()
    }

    /// Why a block could not be read; none while all could.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.store.failure()
    }

    /// LLDUs in front of block `number`; all of them for the one behind the last.
    #[must_use]
    pub fn rows_before(&self, number: usize) -> u64 {
        let front = match &self.index {
            Index::Listed(blocks) => blocks.get(number).map(|(front, _)| *front),
            Index::Even { per_block, .. } => (number as u64).checked_mul(*per_block),
        };
        front.map_or(self.rows, |front| front.min(self.rows))
    }

    /// LLDUs of block `number` that belong to the timeline.
    #[must_use]
    pub fn rows_in(&self, number: usize) -> usize {
        saturating(self.rows_before(number + 1) - self.rows_before(number))
    }

    /// The block that holds LLDU `index`.
    #[must_use]
    pub fn block_of(&self, index: u64) -> usize {
        match &self.index {
            Index::Listed(blocks) => blocks
                .partition_point(|(front, _)| *front <= index)
                .saturating_sub(1),
            Index::Even { per_block, .. } => saturating(index / per_block),
        }
    }

    /// The first block that has an LLDU sent at or after `time`; the one behind the last where none has.
    #[must_use]
    pub fn block_at(&self, time: Time) -> usize {
        match &self.index {
            Index::Listed(blocks) => blocks.partition_point(|(_, last)| *last < time),
            Index::Even { slots, per_block } => match slots.sent_before(time) {
                before if before < self.rows => saturating(before / per_block),
                _ => self.blocks(),
            },
        }
    }

    /// LLDUs sent before `time`; none where a block cannot be read.
    #[must_use]
    pub fn sent_before(&self, time: Time) -> Option<u64> {
        let number = self.block_at(time);
        if number == self.blocks() {
            return Some(self.rows);
        }
        let within = self.block(number)?.sent_before(time);
        Some(self.rows_before(number) + within.min(self.rows_in(number)) as u64)
    }

    /// LLDUs sent up to `time`; none where a block cannot be read.
    #[must_use]
    pub fn sent_until(&self, time: Time) -> Option<u64> {
        let next = Span::from_nanos(1).and_then(|step| time.checked_add(step));
        next.map_or(Some(self.rows), |next| self.sent_before(next))
    }

    /// When LLDU `index` was sent, and its delay, zero where it was lost; none where there is no such LLDU.
    #[must_use]
    pub fn lldu(&self, index: u64) -> Option<(Time, Span)> {
        let (block, row) = self.find(index)?;
        Some((block.tx_time(row), block.delay(row)))
    }

    /// The attempt in which LLDU `index` was delivered; none where that is not told, or cannot be read.
    #[must_use]
    pub fn attempts(&self, index: u64) -> Option<u32> {
        let (block, row) = self.find(index)?;
        block.attempts(row)
    }

    /// The block that holds LLDU `index`, and the row there.
    fn find(&self, index: u64) -> Option<(Arc<Block>, usize)> {
        let number = self.block_of(index);
        let row = usize::try_from(index.checked_sub(self.rows_before(number))?).ok()?;
        (row < self.rows_in(number)).then_some((self.block(number)?, row))
    }

    /// LLDUs whose fate is known where a run ends at `usable_until`: those up to then, without the ones sent just then
    /// that stand as lost, of which the first may be censored. None where a block cannot be read.
    #[must_use]
    pub fn known(&self, usable_until: Time) -> Option<u64> {
        let mut known = self.sent_until(usable_until)?;
        while let Some(last) = known.checked_sub(1) {
            let number = self.block_of(last);
            let (block, front) = (self.block(number)?, self.rows_before(number));
            let rows = usize::try_from(known - front).ok()?;
            let fate_open =
                |row: &usize| block.tx_time(*row) == usable_until && block.delay(*row).is_zero();
            let open = (0..rows).rev().take_while(fate_open).count();
            known -= open as u64;
            if open < rows {
                break;
            }
        }
        Some(known)
    }

    /// The first of the LLDUs up to `usable_until` that was lost; none where all are delivered, or one cannot be read.
    #[must_use]
    pub fn first_lost(&self, usable_until: Time) -> Option<u64> {
        let known = self.known(usable_until)?;
        let mut front = 0;
        for number in 0..self.blocks() {
            let block = self.block(number)?;
            let rows = saturating(known.saturating_sub(front)).min(self.rows_in(number));
            if let Some(row) = (0..rows).find(|row| block.delay(*row).is_zero()) {
                return Some(front + row as u64);
            }
            front += self.rows_in(number) as u64;
        }
        None
    }

    /// Forgets the LLDUs from `rows` on; false where a block cannot be read.
    #[must_use]
    pub fn truncate(&mut self, rows: u64) -> bool {
        if rows >= self.rows {
            return true;
        }
        let last = rows.checked_sub(1);
        let Some(time) = last.map_or(Some(Time::ZERO), |last| Some(self.lldu(last)?.0)) else {
            return false;
        };
        let blocks = last.map_or(0, |last| self.block_of(last) + 1);
        if let Index::Listed(listed) = &mut self.index {
            listed.truncate(blocks);
            if let Some((_, last)) = listed.last_mut() {
                *last = time;
            }
        }
        self.first = self.first.filter(|_| rows > 0);
        self.rows = rows;
        true
    }
}

fn saturating(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tmt_core::types::{Fate, Lldu};

    use super::*;

    fn lldu(at: u64, delay: u64, attempts: u32) -> Lldu {
        Lldu {
            tx_time: Time::from_nanos(at).unwrap(),
            decode_delay: Span::from_nanos(delay).unwrap(),
            attempts,
            fate: if delay == 0 {
                Fate::Lost
            } else {
                Fate::Delivered
            },
        }
    }

    fn lldus() -> impl Strategy<Value = Vec<Lldu>> {
        // Steps and delays on both sides of 2^32 ns, attempts on both sides of 255.
        let step =
            prop_oneof![4 => 0u64..3, 2 => 0u64..5_000_000, 1 => 4_294_967_290u64..4_294_967_300];
        let delay = prop_oneof![1 => Just(0u64), 4 => 1u64..9_000_000, 1 => 4_294_967_290u64..4_294_967_300];
        let attempts = prop_oneof![4 => 1u32..4, 1 => 250u32..260, 1 => Just(u32::MAX)];
        prop::collection::vec((step, delay, attempts), 1..300).prop_map(|rows| {
            let mut at = 7;
            rows.into_iter()
                .map(|(step, delay, attempts)| {
                    at += step;
                    lldu(at, delay, attempts)
                })
                .collect()
        })
    }

    fn of(lldus: &[Lldu]) -> Timeline {
        let mut builder = Builder::default();
        builder.lldus(lldus);
        builder.finish()
    }

    proptest! {
        /// Against the rows themselves, found one by one.
        #[test]
        fn rows_are_found_again(lldus in lldus(), cut in 0usize..300) {
            let mut timeline = of(&lldus);
            prop_assert_eq!(timeline.len(), lldus.len() as u64);
            let cut = cut.min(lldus.len());
            prop_assert!(timeline.truncate(cut as u64));
            let lldus = &lldus[..cut];
            prop_assert_eq!(timeline.last(), lldus.last().map(|lldu| lldu.tx_time));
            for (index, lldu) in lldus.iter().enumerate() {
                prop_assert_eq!(timeline.lldu(index as u64), Some((lldu.tx_time, lldu.decode_delay)));
                for time in [lldu.tx_time, Time::from_nanos(lldu.tx_time.as_nanos() + 1).unwrap()] {
                    let before = lldus.iter().filter(|other| other.tx_time < time).count() as u64;
                    let until = lldus.iter().filter(|other| other.tx_time <= time).count() as u64;
                    prop_assert_eq!((timeline.sent_before(time), timeline.sent_until(time)), (Some(before), Some(until)));
                }
            }
            prop_assert_eq!(timeline.lldu(cut as u64), None);
        }

        /// A block written and read is the same block.
        #[test]
        fn a_block_keeps_its_rows_in_bytes(lldus in lldus(), has_attempts: bool) {
            let mut builder = Builder::default();
            for lldu in &lldus {
                builder.push(lldu.tx_time, lldu.decode_delay, has_attempts.then_some(lldu.attempts));
            }
            for block in builder.seal() {
                let mut bytes = Vec::new();
                block.encode(&mut bytes);
                prop_assert_eq!(Block::decode(&bytes[..bytes.len() - 1]), None);
                prop_assert_eq!(Block::decode(&bytes), Some(block));
            }
        }

        /// What a packet's LLDUs give together, against one LLDU after the other.
        #[test]
        fn a_slice_arrives_with_its_last_lldu(lldus in lldus(), from in 0usize..300, length in 1usize..60) {
            let timeline = of(&lldus);
            for number in 0..timeline.blocks() {
                let (block, front) = (timeline.block(number).unwrap(), usize::try_from(timeline.rows_before(number)).unwrap());
                let from = from.min(block.len() - 1);
                let to = (from + length).min(block.len());
                let slice = &lldus[front + from..front + to];
                let lost = slice.iter().any(|lldu| lldu.decode_delay.is_zero());
                let latest = slice.iter().map(|lldu| lldu.tx_time.saturating_add(lldu.decode_delay)).max();
                prop_assert_eq!(block.arrival(from..to), latest.filter(|_| !lost));
                let mut counted = std::collections::BTreeMap::new();
                block.count_attempts(from..to, |attempts, times| *counted.entry(attempts).or_insert(0) += times);
                counted.retain(|_, times| *times > 0);
                let mut expected = std::collections::BTreeMap::new();
                for lldu in slice.iter().filter(|lldu| !lldu.decode_delay.is_zero()) {
                    *expected.entry(lldu.attempts).or_insert(0u64) += 1;
                }
                prop_assert_eq!(counted, expected);
            }
        }
    }

    #[test]
    fn rate_and_typical_delay_come_from_the_head() {
        // 10 000 rows a millisecond apart with delays of 1 … 10 000 ns, then other ones.
        let mut rows: Vec<Lldu> = (0..10_000).map(|k| lldu(k * 1_000_000, k + 1, 1)).collect();
        rows.extend((0..500).map(|k| lldu(20_000_000_000 + k, 77, 1)));
        let timeline = of(&rows);
        assert_eq!(timeline.rate(), Some(1000.0));
        assert_eq!(timeline.median_delay(), Span::from_nanos(5_000));
        assert_eq!(timeline.first(), Some(Time::ZERO));
    }

    #[test]
    fn what_may_be_censored_is_not_known() {
        let timeline = of(&[
            lldu(5, 1, 1),
            lldu(7, 0, 1),
            lldu(7, 2, 1),
            lldu(7, 0, 1),
            lldu(7, 0, 1),
            lldu(9, 1, 1),
        ]);
        let known = |nanos| timeline.known(Time::from_nanos(nanos).unwrap());
        assert_eq!(
            [known(4), known(5), known(6), known(7), known(8), known(9)],
            [0, 1, 1, 3, 5, 6].map(Some)
        );
    }

    #[test]
    fn a_timeline_without_length_has_no_rate() {
        assert_eq!(of(&[lldu(5, 1, 1), lldu(5, 1, 1)]).rate(), None);
        assert_eq!(of(&[lldu(5, 0, 1)]).median_delay(), None);
        assert!(Builder::default().finish().is_empty());
    }
}

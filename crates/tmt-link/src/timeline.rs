//! Traces as links need them: LLDUs of a timeline, or slots of a PHY trace, in blocks with random access.
//!
//! A [`Store`] provides the blocks: from memory, shared by all runs, or from a file, with one block of it held by a run at a
//! time. Facts about the whole trace (times, rate, median delay) are in [`Trace`].

mod block;
mod builder;
mod cursor;
mod generated;
mod physical;

use std::fmt::Debug;
use std::sync::Arc;

use derive_more::{Deref, From};
use tmt_core::channel::synth::ConstantRate;
use tmt_core::types::{Slot, Span, Time};

pub use block::Block;
pub use builder::Builder;
pub(crate) use cursor::{Cursor, Position};
pub use generated::GeneratedSlots;
pub use physical::PhysicalSlots;

/// Storage of the blocks of a timeline.
pub trait Store: Debug + Send + Sync {
    /// Block `number`, from 0; `None` if it cannot be read, for which [`Self::failure`] has the reason.
    fn block(&self, number: usize) -> Option<Arc<Block>>;

    /// Reason why a block could not be read; `None` if all could.
    fn failure(&self) -> Option<String> {
        None
    }
}

/// Store in memory.
impl Store for Vec<Arc<Block>> {
    fn block(&self, number: usize) -> Option<Arc<Block>> {
        self.get(number).cloned()
    }
}

/// A block of a trace that cannot be read, with the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unreadable(String);

/// Map from LLDUs and times to blocks.
#[derive(Debug, Clone)]
enum Index {
    /// Any times and any sizes of blocks.
    Listed {
        /// For each block: the number of LLDUs before it, and the time of its last LLDU.
        blocks: Vec<(u64, Time)>,
        /// Number of the first LLDU that was lost.
        first_lost: Option<u64>,
    },
    /// Slots of a constant rate in blocks of equal size. Everything is computed, so that the length does not matter.
    Even { slots: ConstantRate, per_block: u64 },
}

/// Rows of a trace: transmission time and delay of each, and attempts if they are LLDUs. Clones share the blocks.
#[derive(Debug, Clone)]
pub struct Trace {
    index: Index,
    rows: u64,
    first: Option<Time>,
    rate: Option<f64>,
    median_delay: Option<Span>,
    store: Arc<dyn Store>,
}

/// Defines a trace whose rows are of one kind.
macro_rules! kind {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Deref, From)]
        pub struct $name(#[deref(forward)] pub(crate) Arc<Trace>);

        impl $name {
            /// The rows, of no kind.
            #[must_use]
            pub fn rows(&self) -> Trace {
                Trace::clone(&self.0)
            }
        }

        impl From<Trace> for $name {
            fn from(rows: Trace) -> Self {
                Self(Arc::new(rows))
            }
        }
    };
}

kind! {
    /// Data LLDUs of a timeline. Clones share them.
    ///
    /// ```
    /// use tmt_core::{Fate, Lldu, Span, Time};
    /// use tmt_link::timeline::Timeline;
    ///
    /// let lldu = |millis| Lldu {
    ///     tx_time: Time::ZERO.saturating_add(Span::from_millis(millis)),
    ///     decode_delay: Span::from_millis(36),
    ///     attempts: 1,
    ///     fate: Fate::Delivered,
    /// };
    /// let timeline: Timeline = (0..1000).map(lldu).collect();
    /// assert_eq!((timeline.len(), timeline.rate()), (1000, Some(1000.0)));
    /// assert_eq!(timeline.median_delay(), Some(Span::from_millis(36)));
    /// ```
    Timeline
}

kind! {
    /// Slots of a PHY trace. A row is a slot with its decoding delay (0 if erased) and without attempts. Clones share them.
    SlotTrace
}

impl Trace {
    /// Number of LLDUs in the timeline.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.rows
    }

    /// Whether the timeline has no LLDUs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Transmission time of the first LLDU; `None` if absent.
    #[must_use]
    pub fn first(&self) -> Option<Time> {
        self.first
    }

    /// Transmission time of the last LLDU; `None` if absent.
    #[must_use]
    pub fn last(&self) -> Option<Time> {
        match &self.index {
            Index::Listed { blocks, .. } => blocks.last().map(|(_, last)| *last),
            Index::Even { slots, .. } => slots.tx_time(self.rows.checked_sub(1)?),
        }
    }

    /// LLDUs per second over the first 10 000 rows; `None` if there are fewer than two rows or all have the same time.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// Median delay ([`tmt_core::stats::DecodeDelays`]) of the slots received, or of the LLDUs delivered in their first
    /// attempt; `None` if there are none.
    #[must_use]
    pub fn median_delay(&self) -> Option<Span> {
        self.median_delay
    }

    /// Number of blocks that the rows are kept in; the last may be shorter.
    #[must_use]
    pub fn blocks(&self) -> usize {
        match &self.index {
            Index::Listed { blocks, .. } => blocks.len(),
            Index::Even { per_block, .. } => saturating(self.rows.div_ceil(*per_block)),
        }
    }

    /// Block `number`, from 0; `None` if it does not exist or cannot be read.
    #[must_use]
    pub fn block(&self, number: usize) -> Option<Arc<Block>> {
        let exists = number < self.blocks();
        exists.then(|| self.store.block(number)).flatten()
    }

    /// A digest of all rows: FNV-1a (64 bit) over transmission time, delay and attempts of each. `None` if a block cannot be read.
    #[must_use]
    pub fn digest(&self) -> Option<u64> {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |word: u64| {
            for byte in word.to_le_bytes() {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for number in 0..self.blocks() {
            let block = self.block(number)?;
            for row in 0..self.rows_in(number) {
                add(block.tx_time(row).as_nanos());
                add(block.delay(row).as_nanos());
                add(block.attempts(row).map_or(0, u64::from));
            }
        }
        Some(hash)
    }

    /// Reason why a block could not be read; `None` if all could.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        self.store.failure()
    }

    /// The error for a block that cannot be read.
    #[must_use]
    pub fn unreadable(&self) -> Unreadable {
        let failure = self.failure();
        Unreadable(failure.unwrap_or_else(|| "the timeline cannot be read".to_owned()))
    }

    /// The rows as slots, block by block.
    pub fn slots(&self) -> impl Iterator<Item = Result<Vec<Slot>, Unreadable>> {
        (0..self.blocks()).map(|number| {
            let block = self.block(number).ok_or_else(|| self.unreadable())?;
            Ok(block.slots(0..self.rows_in(number)).collect())
        })
    }

    /// Number of LLDUs before block `number`; all of them if `number` is past the last block.
    #[must_use]
    pub fn rows_before(&self, number: usize) -> u64 {
        let front = match &self.index {
            Index::Listed { blocks, .. } => blocks.get(number).map(|(front, _)| *front),
            Index::Even { per_block, .. } => (number as u64).checked_mul(*per_block),
        };
        front.map_or(self.rows, |front| front.min(self.rows))
    }

    /// Number of LLDUs of block `number` that belong to the timeline.
    #[must_use]
    pub fn rows_in(&self, number: usize) -> usize {
        saturating(self.rows_before(number + 1) - self.rows_before(number))
    }

    /// Number of the block that contains LLDU `index`.
    #[must_use]
    pub fn block_of(&self, index: u64) -> usize {
        match &self.index {
            Index::Listed { blocks, .. } => blocks
                .partition_point(|(front, _)| *front <= index)
                .saturating_sub(1),
            Index::Even { per_block, .. } => saturating(index / per_block),
        }
    }

    /// Number of the first block with an LLDU sent at or after `time`; the number of blocks if absent.
    #[must_use]
    pub fn block_at(&self, time: Time) -> usize {
        match &self.index {
            Index::Listed { blocks, .. } => blocks.partition_point(|(_, last)| *last < time),
            Index::Even { slots, per_block } => match slots.sent_before(time) {
                before if before < self.rows => saturating(before / per_block),
                _ => self.blocks(),
            },
        }
    }

    /// Number of LLDUs sent before `time`; `None` if a block cannot be read.
    #[must_use]
    pub fn sent_before(&self, time: Time) -> Option<u64> {
        let number = self.block_at(time);
        if number == self.blocks() {
            return Some(self.rows);
        }
        let within = self.block(number)?.sent_before(time);
        Some(self.rows_before(number) + within.min(self.rows_in(number)) as u64)
    }

    /// Number of LLDUs sent up to `time`; `None` if a block cannot be read.
    #[must_use]
    pub fn sent_until(&self, time: Time) -> Option<u64> {
        let next = Span::from_nanos(1).and_then(|step| time.checked_add(step));
        next.map_or(Some(self.rows), |next| self.sent_before(next))
    }

    /// Transmission time and delay of LLDU `index`; the delay is 0 if it was lost. `None` if there is no such LLDU or it
    /// cannot be read.
    #[must_use]
    pub fn lldu(&self, index: u64) -> Option<(Time, Span)> {
        let (block, row) = self.find(index)?;
        Some((block.tx_time(row), block.delay(row)))
    }

    /// Attempt in which LLDU `index` was delivered; `None` if the timeline has no attempts or cannot be read.
    #[must_use]
    pub fn attempts(&self, index: u64) -> Option<u32> {
        let (block, row) = self.find(index)?;
        block.attempts(row)
    }

    /// Block that contains LLDU `index`, and its row there.
    fn find(&self, index: u64) -> Option<(Arc<Block>, usize)> {
        let number = self.block_of(index);
        let row = usize::try_from(index.checked_sub(self.rows_before(number))?).ok()?;
        (row < self.rows_in(number)).then_some((self.block(number)?, row))
    }

    /// Number of LLDUs whose fate is known if a run ends at `usable_until`: those sent up to then, except trailing ones
    /// with that time and delay 0, which may be censored. `None` if a block cannot be read.
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

    /// Number of the first lost LLDU up to `usable_until`; `None` if all are delivered or a block cannot be read, and for
    /// generated slots, whose erasures are not known before they are generated.
    #[must_use]
    pub fn first_lost(&self, usable_until: Time) -> Option<u64> {
        let Index::Listed { first_lost, .. } = self.index else {
            return None;
        };
        let first = first_lost?;
        (first < self.known(usable_until)?).then_some(first)
    }

    /// Removes the LLDUs from number `rows` on. Returns false if a block cannot be read.
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
        if let Index::Listed { blocks: listed, .. } = &mut self.index {
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
    use std::sync::atomic::{AtomicUsize, Ordering};

    use proptest::prelude::*;
    use tmt_core::types::{Fate, Lldu};

    use super::*;

    /// FNV-1a of the words 5, 7, 2, 9, 0 and 0, each of eight bytes, as a loop of Python computes it.
    #[test]
    fn the_digest_is_fnv_over_every_row() {
        let digest = |rows: &[(u64, u64, Option<u32>)]| {
            let mut builder = Builder::default();
            for (at, delay, attempts) in rows {
                let (at, delay) = (Time::from_nanos(*at), Span::from_nanos(*delay));
                builder.push(at.unwrap(), delay.unwrap(), *attempts);
            }
            builder.finish().digest().unwrap()
        };
        let whole = digest(&[(5, 7, Some(2)), (9, 0, None)]);
        assert_eq!(whole, 0x8de5_b7af_83ce_9d2c);
        for other in [
            &[(5, 7, Some(2)), (10, 0, None)][..],
            &[(5, 8, Some(2)), (9, 0, None)],
            &[(5, 7, Some(3)), (9, 0, None)],
            &[(5, 7, Some(2))],
        ] {
            assert_ne!(digest(other), whole);
        }
    }

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

    fn of(lldus: &[Lldu]) -> Trace {
        let mut builder = Builder::default();
        builder.lldus(lldus);
        builder.finish()
    }

    proptest! {
        /// Compares with searches through a list of the rows.
        #[test]
        fn rows_are_found(lldus in lldus(), cut in 0usize..300) {
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
            for until in lldus.iter().map(|lldu| lldu.tx_time) {
                let known = timeline.known(until).and_then(|known| usize::try_from(known).ok()).unwrap();
                let first = lldus[..known].iter().position(|lldu| lldu.decode_delay.is_zero());
                prop_assert_eq!(timeline.first_lost(until), first.map(|first| first as u64));
            }
        }

        #[test]
        fn a_decoded_block_equals_the_encoded_one(lldus in lldus(), has_attempts: bool) {
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

        /// Compares arrival and attempts of a slice with those of its LLDUs one by one.
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
    fn the_rate_is_that_of_the_first_rows_and_the_median_delay_that_of_first_attempts() {
        // 10 000 rows, 1 ms apart, with delays of 1 … 10 000 ns; then rows at other times, none of them received in its first
        // attempt.
        let mut rows: Vec<Lldu> = (0..10_000).map(|k| lldu(k * 1_000_000, k + 1, 1)).collect();
        rows.extend((0..5000).map(|k| lldu(20_000_000_000 + k, 77_777, 2)));
        rows.extend((0..5000).map(|k| lldu(30_000_000_000 + k, 0, 1)));
        let timeline = of(&rows);
        assert_eq!(timeline.rate(), Some(1000.0));
        assert_eq!(timeline.median_delay(), Span::from_nanos(5_000));
        assert_eq!(timeline.first(), Some(Time::ZERO));
    }

    /// Blocks in memory that count how many were asked for.
    #[derive(Debug)]
    struct Counting(Vec<Arc<Block>>, AtomicUsize);

    impl Store for Counting {
        fn block(&self, number: usize) -> Option<Arc<Block>> {
            self.1.fetch_add(1, Ordering::Relaxed);
            self.0.block(number)
        }
    }

    #[test]
    fn the_first_lost_lldu_is_known_without_reading_the_timeline() {
        for lost in [Some(150_000), None] {
            let mut builder = Builder::default();
            for k in 0..200_000 {
                let delay = u64::from(Some(k) != lost);
                builder.lldus(&[lldu(k * 1000, delay, 1)]);
            }
            let blocks = builder.seal().into_iter().map(Arc::new).collect();
            let store = Arc::new(Counting(blocks, AtomicUsize::new(0)));
            let timeline = builder.finish_in(store.clone());
            assert!(timeline.blocks() > 10);
            assert_eq!(timeline.first_lost(Time::MAX), lost);
            assert!(store.1.load(Ordering::Relaxed) <= 2);
        }
    }

    #[test]
    fn lldus_that_may_be_censored_are_not_known() {
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

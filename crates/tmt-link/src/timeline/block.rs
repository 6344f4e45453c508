//! LLDUs in columns, 9 bytes each. Values that do not fit a column are in a separate list.

use std::ops::Range;

use tmt_core::types::{Slot, Span, Time};
use zerocopy::{FromBytes, IntoBytes};

/// Largest number of LLDUs in a block. Its columns then stay in a core's cache.
const ROWS: usize = 1 << 14;

/// Entry in the column of delays that refers to the list.
const LONG_DELAY: u32 = u32::MAX;

/// Entry in the column of attempts that refers to the list.
const MANY_ATTEMPTS: u8 = u8::MAX;

/// Approximate size of a block without its rows, in bytes.
const OVERHEAD: usize = 384;

/// Consecutive LLDUs of a timeline.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    base: Time,
    /// Transmission times relative to `base`, ns.
    offsets: Vec<u32>,
    /// Delays, ns; 0 if the LLDU was lost.
    delays: Vec<u32>,
    /// Attempts; empty if the timeline has none.
    attempts: Vec<u8>,
    /// Row and delay, for delays of 2^32 − 1 ns and more.
    long_delays: Vec<[u64; 2]>,
    /// Row and attempts, for 255 attempts and more.
    many_attempts: Vec<[u32; 2]>,
}

impl Block {
    /// Creates an empty block whose first LLDU is sent at `base`.
    pub(super) fn starting(base: Time) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// Creates a block of slots sent within 2^32 ns of `base`, as LLDUs without attempts. Returns `None` if their times or
    /// delays do not fit the columns.
    pub(super) fn from_slots(base: Time, slots: &[Slot]) -> Option<Self> {
        let offset = |slot: &Slot| slot.tx_time().as_nanos().wrapping_sub(base.as_nanos());
        let delay = |slot: &Slot| slot.decode_delay().as_nanos();
        // The union of all bits needs no branches. At worst it rejects a block that just fits.
        let all = slots.iter();
        let bits = all.fold(0, |bits, slot| bits | offset(slot) | delay(slot));
        let fits = bits < LONG_DELAY.into();
        fits.then(|| Self {
            offsets: slots.iter().map(|slot| low(offset(slot))).collect(),
            delays: slots.iter().map(|slot| low(delay(slot))).collect(),
            ..Self::starting(base)
        })
    }

    /// Adds an LLDU, which must not be earlier than the previous one. Returns false if it needs a new block.
    pub(super) fn push(&mut self, tx_time: Time, delay: Span, attempts: Option<u32>) -> bool {
        let row = self.offsets.len();
        let same_columns = row == 0 || attempts.is_some() != self.attempts.is_empty();
        let Ok(offset) = u32::try_from(tx_time.since(self.base).as_nanos()) else {
            return false;
        };
        if row == ROWS || !same_columns {
            return false;
        }
        self.offsets.push(offset);
        let nanos = delay.as_nanos();
        let narrow = u32::try_from(nanos).unwrap_or(LONG_DELAY);
        if narrow == LONG_DELAY {
            self.long_delays.push([row as u64, nanos]);
        }
        self.delays.push(narrow);
        if let Some(attempts) = attempts {
            let narrow = u8::try_from(attempts).unwrap_or(MANY_ATTEMPTS);
            if narrow == MANY_ATTEMPTS {
                self.many_attempts.push([low(row as u64), attempts]);
            }
            self.attempts.push(narrow);
        }
        true
    }

    /// Frees unused capacity.
    pub(super) fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
        self.delays.shrink_to_fit();
        self.attempts.shrink_to_fit();
    }

    /// Approximate memory of the block, in bytes.
    pub(super) fn bytes(&self) -> usize {
        let row = 4 + 4 + usize::from(!self.attempts.is_empty());
        OVERHEAD + self.len() * row + self.long_delays.len() * 16 + self.many_attempts.len() * 8
    }

    /// Number of LLDUs in the block.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether the block has no LLDUs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// Transmission time of the LLDU in row `row`.
    ///
    /// # Panics
    /// There is no such row.
    #[must_use]
    pub fn tx_time(&self, row: usize) -> Time {
        self.base.saturating_add(nanos(self.offsets[row].into()))
    }

    /// Delay of the LLDU in row `row`; zero if it was lost.
    ///
    /// # Panics
    /// There is no such row.
    #[must_use]
    pub fn delay(&self, row: usize) -> Span {
        let delay = match self.delays[row] {
            LONG_DELAY => listed(&self.long_delays, row).unwrap_or(LONG_DELAY.into()),
            delay => delay.into(),
        };
        nanos(delay)
    }

    /// These rows as slots, up to the first that would arrive after 2^63 − 1 ns.
    ///
    /// # Panics
    /// There are no such rows.
    pub fn slots(&self, rows: Range<usize>) -> impl Iterator<Item = Slot> {
        let columns = self.offsets[rows.clone()]
            .iter()
            .zip(&self.delays[rows.clone()]);
        columns.zip(rows).map_while(|((offset, delay), row)| {
            let delay = match *delay {
                LONG_DELAY => self.delay(row),
                delay => nanos(delay.into()),
            };
            Slot::new(self.base.saturating_add(nanos((*offset).into())), delay)
        })
    }

    /// Attempts of the LLDU in row `row`; `None` if the timeline has none.
    #[must_use]
    pub fn attempts(&self, row: usize) -> Option<u32> {
        match *self.attempts.get(row)? {
            MANY_ATTEMPTS => listed(&self.many_attempts, row),
            attempts => Some(attempts.into()),
        }
    }

    /// Number of LLDUs of the block sent before `time`.
    #[must_use]
    pub fn sent_before(&self, time: Time) -> usize {
        let nanos = time.since(self.base).as_nanos();
        self.offsets
            .partition_point(|offset| u64::from(*offset) < nanos)
    }

    /// The first row after `row` whose LLDU is sent at or after `time`, by steps that double; the number of rows if absent.
    pub(super) fn first_after(&self, row: usize, time: Time) -> usize {
        let nanos = time.since(self.base).as_nanos();
        let is_before = |offset: &u32| u64::from(*offset) < nanos;
        let (mut from, mut step) = (row + 1, 1);
        while self.offsets.get(from + step).is_some_and(is_before) {
            from += step + 1;
            step *= 2;
        }
        let to = self.offsets.len().min(from + step);
        from + self.offsets[from..to].partition_point(is_before)
    }

    /// Time at which the last of these LLDUs is delivered, without propagation; `None` if one of them was lost.
    ///
    /// # Panics
    /// There are no such rows.
    #[must_use]
    pub fn arrival(&self, rows: Range<usize>) -> Option<Time> {
        if !self.long_delays.is_empty() {
            return rows.into_iter().try_fold(self.base, |latest, row| {
                let delay = Some(self.delay(row)).filter(|delay| !delay.is_zero())?;
                Some(latest.max(self.tx_time(row).saturating_add(delay)))
            });
        }
        let (offsets, delays) = (&self.offsets[rows.clone()], &self.delays[rows]);
        let first = offsets.first().copied().unwrap_or(0);
        // From the first row on, so that sums fit 31 bits, which every processor compares four at a time.
        let (mut latest, mut bits, mut lost) = (0, 0, false);
        for (offset, delay) in offsets.iter().zip(delays) {
            let after = offset.wrapping_sub(first);
            bits |= after | *delay;
            latest = latest.max(after.wrapping_add(*delay).cast_signed());
            lost |= *delay == 0;
        }
        if lost {
            return None;
        }
        let latest = if bits < 1 << 30 {
            u64::from(first) + u64::from(latest.cast_unsigned())
        } else {
            let all = offsets.iter().zip(delays);
            let arrivals = all.map(|(offset, delay)| u64::from(*offset) + u64::from(*delay));
            arrivals.max().unwrap_or(0)
        };
        Some(self.base.saturating_add(nanos(latest)))
    }

    /// Calls `add` with attempts and the number of LLDUs among these rows that were delivered with them.
    ///
    /// # Panics
    /// There are no such rows.
    pub fn count_attempts(&self, rows: Range<usize>, mut add: impl FnMut(u32, u64)) {
        if self.attempts.is_empty() {
            return;
        }
        let (attempts, delays) = (&self.attempts[rows.clone()], &self.delays[rows.clone()]);
        // Most LLDUs are delivered in the first attempt. Both loops have no branches.
        let mut lost = false;
        for delay in delays {
            lost |= *delay == 0;
        }
        // As many as a byte can count, so that bytes are added.
        let chunks = attempts.chunks(usize::from(u8::MAX));
        let at_once = chunks.map(|chunk| {
            let at_once = chunk.iter().map(|attempts| u8::from(*attempts == 1));
            u64::from(at_once.sum::<u8>())
        });
        let first: u64 = at_once.sum();
        if !lost {
            add(1, first);
        }
        if !lost && first == attempts.len() as u64 {
            return;
        }
        for row in rows {
            let counted = !lost && self.attempts[row] == 1;
            if self.delays[row] != 0
                && !counted
                && let Some(attempts) = self.attempts(row)
            {
                add(attempts, 1);
            }
        }
    }

    /// Appends the block to `bytes`, for a temporary file that the same program reads.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let lengths = [
            self.offsets.len(),
            self.attempts.len(),
            self.long_delays.len(),
            self.many_attempts.len(),
        ];
        let lengths = lengths.map(|length| length as u64);
        for column in [
            self.base.as_nanos().as_bytes(),
            lengths.as_bytes(),
            self.offsets.as_bytes(),
            self.delays.as_bytes(),
            &self.attempts,
            self.long_delays.as_bytes(),
            self.many_attempts.as_bytes(),
        ] {
            bytes.extend_from_slice(column);
        }
    }

    /// Decodes the output of [`Block::encode`]. Returns `None` if bytes are missing or left over.
    #[must_use]
    pub fn decode(mut bytes: &[u8]) -> Option<Self> {
        let head = column::<u64>(&mut bytes, 5)?;
        let [rows, has_attempts, long, many] = [1, 2, 3, 4].map(|position: usize| head[position]);
        let block = Self {
            base: Time::from_nanos(head[0])?,
            offsets: column(&mut bytes, rows)?,
            delays: column(&mut bytes, rows)?,
            attempts: column(&mut bytes, has_attempts)?,
            long_delays: column(&mut bytes, long)?,
            many_attempts: column(&mut bytes, many)?,
        };
        bytes.is_empty().then_some(block)
    }
}

/// Removes a column of `length` values from the front of `bytes`; `None` if there are too few.
fn column<T: FromBytes + IntoBytes + Clone>(bytes: &mut &[u8], length: u64) -> Option<Vec<T>> {
    let length = usize::try_from(length).ok()?;
    let taken = bytes.split_off(..length.checked_mul(size_of::<T>())?)?;
    let mut values = vec![T::new_zeroed(); length];
    values.as_mut_bytes().copy_from_slice(taken);
    Some(values)
}

/// Lower 32 bits of a value that fits a column.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the caller has checked that the value fits"
)]
const fn low(nanos: u64) -> u32 {
    nanos as u32
}

/// Span of `nanos`, which is below 2^63 because it comes from a span or a time.
#[inline]
fn nanos(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap_or(Span::MAX)
}

/// Value for `row` in a list; `None` if the list does not have it.
fn listed<T: Copy + Ord + TryFrom<usize>>(list: &[[T; 2]], row: usize) -> Option<T> {
    let row = T::try_from(row).ok()?;
    let at = list.binary_search_by_key(&row, |entry| entry[0]).ok()?;
    Some(list[at][1])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Rows far apart, and delays on both sides of 2^30 ns, beside the definitions.
        #[test]
        fn arrivals_and_searches_are_those_of_single_rows(
            rows in prop::collection::vec((0u64..1 << 28, prop_oneof![0u64..4, (1u64 << 30) - 2..(1 << 30) + 2, 1u64..1 << 32]), 1..40),
            ends in (0usize..40, 0usize..40),
            late in 0u64..1 << 34,
        ) {
            let mut block = Block::starting(Time::ZERO);
            let mut at = 0;
            for (step, delay) in rows {
                at += step;
                let tx_time = Time::from_nanos(at).unwrap();
                // A block spans at most 2^32 ns.
                if !block.push(tx_time, nanos(delay), Some(1 + low(delay) % 2)) {
                    break;
                }
            }
            let to = 1 + ends.1 % block.len();
            let range = ends.0 % to..to;
            let lost = range.clone().any(|row| block.delay(row).is_zero());
            let latest = range.clone().map(|row| block.tx_time(row).saturating_add(block.delay(row))).max();
            prop_assert_eq!(block.arrival(range.clone()), latest.filter(|_| !lost));
            let time = Time::from_nanos(late).unwrap();
            for row in 0..block.len() {
                if block.tx_time(row) < time {
                    let after = (row + 1..block.len()).find(|row| block.tx_time(*row) >= time);
                    prop_assert_eq!(block.first_after(row, time), after.unwrap_or(block.len()));
                }
            }
            let mut counted = [0, 0, 0];
            block.count_attempts(range.clone(), |attempts, lldus| counted[attempts as usize] += lldus);
            for attempts in 1..=2 {
                let with = range.clone().filter(|row| !block.delay(*row).is_zero() && block.attempts(*row) == Some(attempts));
                prop_assert_eq!(counted[attempts as usize], with.count() as u64);
            }
        }
    }
}

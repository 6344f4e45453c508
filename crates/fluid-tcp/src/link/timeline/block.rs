//! LLDUs in columns, 9 bytes each: what does not fit its column stands in a list beside it.

use std::ops::Range;

use tmt_core::types::{Slot, Span, Time};
use zerocopy::{FromBytes, IntoBytes};

/// LLDUs of a block at most: its columns stay in a core's cache.
const ROWS: usize = 1 << 14;

/// Says that a delay stands in the list.
const LONG_DELAY: u32 = u32::MAX;

/// Says that the attempts stand in the list.
const MANY_ATTEMPTS: u8 = u8::MAX;

/// Bytes of a block beside its rows, more or less.
const OVERHEAD: usize = 384;

/// Some LLDUs that follow each other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    base: Time,
    /// Transmission times from `base` on, ns.
    offsets: Vec<u32>,
    /// ns; zero where the LLDU was lost.
    delays: Vec<u32>,
    /// Empty where the timeline does not tell.
    attempts: Vec<u8>,
    /// Delays of 2^32 − 1 ns and more, by row.
    long_delays: Vec<[u64; 2]>,
    /// Attempts of 255 and more, by row.
    many_attempts: Vec<[u32; 2]>,
}

impl Block {
    /// A block without LLDUs; the first is to be sent at `base`.
    pub(super) fn starting(base: Time) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    /// A block of slots that were sent within 2^32 ns of `base`, by themselves LLDUs without attempts; none where their
    /// times or delays do not fit the columns.
    pub(super) fn from_slots(base: Time, slots: &[Slot]) -> Option<Self> {
        let offset = |slot: &Slot| slot.tx_time().as_nanos().wrapping_sub(base.as_nanos());
        let delay = |slot: &Slot| slot.decode_delay().as_nanos();
        // All bits that any of them has: a pass without branches, and at worst a slower way for a fit that is narrow.
        let all = slots.iter();
        let bits = all.fold(0, |bits, slot| bits | offset(slot) | delay(slot));
        let fits = bits < LONG_DELAY.into();
        fits.then(|| Self {
            offsets: slots.iter().map(|slot| low(offset(slot))).collect(),
            delays: slots.iter().map(|slot| low(delay(slot))).collect(),
            ..Self::starting(base)
        })
    }

    /// Adds an LLDU that was not sent before the last one; false where it needs a block of its own.
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

    /// Gives back memory that no row has taken.
    pub(super) fn shrink(&mut self) {
        self.offsets.shrink_to_fit();
        self.delays.shrink_to_fit();
        self.attempts.shrink_to_fit();
    }

    /// Memory it takes, more or less.
    pub(super) fn bytes(&self) -> usize {
        let row = 4 + 4 + usize::from(!self.attempts.is_empty());
        OVERHEAD + self.len() * row + self.long_delays.len() * 16 + self.many_attempts.len() * 8
    }

    /// Number of LLDUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// When LLDU `row` was sent.
    #[must_use]
    pub fn tx_time(&self, row: usize) -> Time {
        self.base.saturating_add(nanos(self.offsets[row].into()))
    }

    /// Delay of LLDU `row`; zero where it was lost.
    #[must_use]
    pub fn delay(&self, row: usize) -> Span {
        let delay = match self.delays[row] {
            LONG_DELAY => listed(&self.long_delays, row).unwrap_or(LONG_DELAY.into()),
            delay => delay.into(),
        };
        nanos(delay)
    }

    /// These rows as slots, up to the first that would arrive past 2^63 − 1 ns.
    ///
    /// # Panics
    /// Where there are no such rows.
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

    /// Attempts LLDU `row` took; none where the timeline does not tell.
    #[must_use]
    pub fn attempts(&self, row: usize) -> Option<u32> {
        match *self.attempts.get(row)? {
            MANY_ATTEMPTS => listed(&self.many_attempts, row),
            attempts => Some(attempts.into()),
        }
    }

    /// LLDUs sent before `time`.
    #[must_use]
    pub fn sent_before(&self, time: Time) -> usize {
        let nanos = time.since(self.base).as_nanos();
        self.offsets
            .partition_point(|offset| u64::from(*offset) < nanos)
    }

    /// When the last of these LLDUs is delivered, propagation left out; none where one of them was lost.
    ///
    /// # Panics
    /// Where there are no such rows.
    #[must_use]
    pub fn arrival(&self, rows: Range<usize>) -> Option<Time> {
        if !self.long_delays.is_empty() {
            return rows.into_iter().try_fold(self.base, |latest, row| {
                let delay = Some(self.delay(row)).filter(|delay| !delay.is_zero())?;
                Some(latest.max(self.tx_time(row).saturating_add(delay)))
            });
        }
        let (mut latest, mut lost) = (0, false);
        for (offset, delay) in self.offsets[rows.clone()].iter().zip(&self.delays[rows]) {
            latest = latest.max(u64::from(*offset) + u64::from(*delay));
            lost |= *delay == 0;
        }
        (!lost).then(|| self.base.saturating_add(nanos(latest)))
    }

    /// Tells the attempts of these LLDUs, as far as they were delivered, and how many took as many.
    ///
    /// # Panics
    /// Where there are no such rows.
    pub fn count_attempts(&self, rows: Range<usize>, mut add: impl FnMut(u32, u64)) {
        if self.attempts.is_empty() {
            return;
        }
        let (attempts, delays) = (&self.attempts[rows.clone()], &self.delays[rows.clone()]);
        // Most LLDUs come through at once, and are counted so: both loops are free of branches.
        let lost = delays.contains(&0);
        let at_once = attempts.iter().map(|attempts| u64::from(*attempts == 1));
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

    /// Appends the block as bytes, for a file that the same program reads again.
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

    /// The block that [`Block::encode`] wrote; none where these are not all of its bytes.
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

/// Takes a column of so many values off the front of `bytes`; none where they are too few.
fn column<T: FromBytes + IntoBytes + Clone>(bytes: &mut &[u8], length: u64) -> Option<Vec<T>> {
    let length = usize::try_from(length).ok()?;
    let taken = bytes.split_off(..length.checked_mul(size_of::<T>())?)?;
    let mut values = vec![T::new_zeroed(); length];
    values.as_mut_bytes().copy_from_slice(taken);
    Some(values)
}

/// The lower 32 bits, all there are in what fits a column.
#[expect(
    clippy::cast_possible_truncation,
    reason = "held against the largest value of a column before"
)]
const fn low(nanos: u64) -> u32 {
    nanos as u32
}

/// A value below 2^63, as all that come from spans and times.
fn nanos(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap_or(Span::MAX)
}

/// The value that a list holds for `row`.
fn listed<T: Copy + Ord + TryFrom<usize>>(list: &[[T; 2]], row: usize) -> Option<T> {
    let row = T::try_from(row).ok()?;
    let at = list.binary_search_by_key(&row, |entry| entry[0]).ok()?;
    Some(list[at][1])
}

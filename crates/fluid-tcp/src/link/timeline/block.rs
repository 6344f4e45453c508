//! LLDUs in columns, 9 bytes each: what does not fit its column stands in a list beside it.

use std::collections::BTreeMap;
use std::ops::Range;

use tmt_core::types::{Slot, Span, Time};

/// LLDUs of a block at most: its columns stay in a core's cache.
const ROWS: usize = 1 << 14;

/// Says that a delay stands in the list.
const LONG: u32 = u32::MAX;

/// Says that the attempts stand in the list.
const MANY: u8 = u8::MAX;

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
    long: Vec<(u32, u64)>,
    /// Attempts of 255 and more, by row.
    many: Vec<(u32, u32)>,
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
    pub(super) fn of_slots(base: Time, slots: &[Slot]) -> Option<Self> {
        let offset = |slot: &Slot| slot.tx_time().as_nanos().wrapping_sub(base.as_nanos());
        let delay = |slot: &Slot| slot.decode_delay().as_nanos();
        // All bits that any of them has: a pass without branches, and at worst a slower way for a fit that is narrow.
        let all = slots.iter();
        let bits = all.fold(0, |bits, slot| bits | offset(slot) | delay(slot));
        let fits = bits < LONG.into();
        fits.then(|| Self {
            offsets: slots.iter().map(|slot| low(offset(slot))).collect(),
            delays: slots.iter().map(|slot| low(delay(slot))).collect(),
            ..Self::starting(base)
        })
    }

    /// Adds an LLDU that was not sent before the last one; false where it needs a block of its own.
    pub(super) fn push(&mut self, tx_time: Time, delay: Span, attempts: Option<u32>) -> bool {
        let row = self.offsets.len();
        let told = row == 0 || attempts.is_some() != self.attempts.is_empty();
        let Ok(offset) = u32::try_from(tx_time.since(self.base).as_nanos()) else {
            return false;
        };
        if row == ROWS || !told {
            return false;
        }
        let place = u32::try_from(row).unwrap_or(u32::MAX);
        self.offsets.push(offset);
        let nanos = delay.as_nanos();
        let narrow = u32::try_from(nanos).unwrap_or(LONG);
        if narrow == LONG {
            self.long.push((place, nanos));
        }
        self.delays.push(narrow);
        if let Some(attempts) = attempts {
            let narrow = u8::try_from(attempts).unwrap_or(MANY);
            if narrow == MANY {
                self.many.push((place, attempts));
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
        OVERHEAD + self.len() * row + self.long.len() * 16 + self.many.len() * 8
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
            LONG => listed(&self.long, row).unwrap_or(LONG.into()),
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
                LONG => self.delay(row),
                delay => nanos(delay.into()),
            };
            Slot::new(self.base.saturating_add(nanos((*offset).into())), delay)
        })
    }

    /// Attempts LLDU `row` took; none where the timeline does not tell.
    #[must_use]
    pub fn attempts(&self, row: usize) -> Option<u32> {
        match *self.attempts.get(row)? {
            MANY => listed(&self.many, row),
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
        if !self.long.is_empty() {
            return self.late_arrival(rows);
        }
        let (mut latest, mut lost) = (0, false);
        for (offset, delay) in self.offsets[rows.clone()].iter().zip(&self.delays[rows]) {
            latest = latest.max(u64::from(*offset) + u64::from(*delay));
            lost |= *delay == 0;
        }
        (!lost).then(|| self.base.saturating_add(nanos(latest)))
    }

    #[cold]
    fn late_arrival(&self, rows: Range<usize>) -> Option<Time> {
        let mut latest = self.base;
        for row in rows {
            let delay = self.delay(row);
            if delay.is_zero() {
                return None;
            }
            latest = latest.max(self.tx_time(row).saturating_add(delay));
        }
        Some(latest)
    }

    /// Tells the attempts of these LLDUs, as far as they were delivered, and how many took as many.
    ///
    /// # Panics
    /// Where there are no such rows.
    pub fn count(&self, rows: Range<usize>, mut tell: impl FnMut(u32, u64)) {
        if self.attempts.is_empty() {
            return;
        }
        let (attempts, delays) = (&self.attempts[rows.clone()], &self.delays[rows.clone()]);
        // Most LLDUs come through at once, and are counted so: both loops are free of branches.
        let lost = delays.contains(&0);
        let at_once = attempts.iter().map(|attempts| u64::from(*attempts == 1));
        let first: u64 = at_once.sum();
        if !lost {
            tell(1, first);
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
                tell(attempts, 1);
            }
        }
    }

    /// Appends the block as bytes, for a file that the same program reads again.
    pub fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.base.as_nanos().to_le_bytes());
        for length in [
            self.offsets.len(),
            self.attempts.len(),
            self.long.len(),
            self.many.len(),
        ] {
            bytes.extend_from_slice(&(length as u64).to_le_bytes());
        }
        for column in [&self.offsets, &self.delays] {
            bytes.extend(column.iter().flat_map(|value| value.to_le_bytes()));
        }
        bytes.extend_from_slice(&self.attempts);
        for (row, delay) in &self.long {
            bytes.extend_from_slice(&row.to_le_bytes());
            bytes.extend_from_slice(&delay.to_le_bytes());
        }
        for (row, attempts) in &self.many {
            bytes.extend_from_slice(&row.to_le_bytes());
            bytes.extend_from_slice(&attempts.to_le_bytes());
        }
    }

    /// The block that [`Block::encode`] wrote; none where these are not all of its bytes.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let base = Time::from_nanos(u64::from_le_bytes(*rest.split_off(..8)?.as_array()?))?;
        let mut lengths = [0; 4];
        for length in &mut lengths {
            let told = u64::from_le_bytes(*rest.split_off(..8)?.as_array()?);
            *length = usize::try_from(told).ok()?;
        }
        let [rows, told, long, many] = lengths;
        let offsets = column(rest.split_off(..rows.checked_mul(4)?)?);
        let delays = column(rest.split_off(..rows.checked_mul(4)?)?);
        let attempts = rest.split_off(..told)?.to_vec();
        let (long, short) = rest.split_off(..long.checked_mul(12)?)?.as_chunks::<12>();
        let long = long.iter().map(|entry| {
            let (row, delay) = entry.split_at(4);
            (
                number(row),
                u64::from(number(&delay[..4])) | u64::from(number(&delay[4..])) << 32,
            )
        });
        let (many, behind) = rest.split_off(..many.checked_mul(8)?)?.as_chunks::<8>();
        let many = many
            .iter()
            .map(|entry| (number(&entry[..4]), number(&entry[4..])));
        (short.is_empty() && behind.is_empty() && rest.is_empty()).then(|| Self {
            base,
            offsets,
            delays,
            attempts,
            long: long.collect(),
            many: many.collect(),
        })
    }
}

/// The lower 32 bits, all there are in what fits a column.
#[expect(
    clippy::cast_possible_truncation,
    reason = "held against the largest value of a column before"
)]
const fn low(nanos: u64) -> u32 {
    nanos as u32
}

fn column(bytes: &[u8]) -> Vec<u32> {
    let (values, _) = bytes.as_chunks::<4>();
    values
        .iter()
        .map(|value| u32::from_le_bytes(*value))
        .collect()
}

/// Four bytes as a number; the callers cut them to that length.
fn number(bytes: &[u8]) -> u32 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// A value below 2^63, as all that come from spans and times.
fn nanos(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap_or(Span::MAX)
}

/// The value that a list holds for `row`.
fn listed<T: Copy>(list: &[(u32, T)], row: usize) -> Option<T> {
    let row = u32::try_from(row).ok()?;
    let at = list.binary_search_by_key(&row, |entry| entry.0).ok()?;
    Some(list[at].1)
}

/// LLDUs by the attempts they took.
#[derive(Debug, Clone)]
pub struct Attempts {
    /// By attempts below 255.
    few: Box<[u64]>,
    many: BTreeMap<u32, u64>,
}

impl Default for Attempts {
    fn default() -> Self {
        Self {
            few: vec![0; usize::from(MANY)].into_boxed_slice(),
            many: BTreeMap::new(),
        }
    }
}

impl Attempts {
    fn of(&mut self, attempts: u32) -> &mut u64 {
        let place = usize::try_from(attempts).unwrap_or(usize::MAX);
        match self.few.get_mut(place) {
            Some(count) => count,
            None => self.many.entry(attempts).or_insert(0),
        }
    }

    /// Counts LLDUs that took so many attempts.
    pub fn add(&mut self, attempts: u32, lldus: u64) {
        *self.of(attempts) += lldus;
    }

    /// Takes LLDUs back that were counted.
    pub fn remove(&mut self, attempts: u32, lldus: u64) {
        let count = self.of(attempts);
        *count = count.saturating_sub(lldus);
    }

    /// LLDUs by attempts, where there are any.
    #[must_use]
    pub fn histogram(&self) -> BTreeMap<u32, u64> {
        let few = (0..).zip(self.few.iter().copied());
        let many = self
            .many
            .iter()
            .map(|(attempts, lldus)| (*attempts, *lldus));
        few.chain(many).filter(|(_, lldus)| *lldus > 0).collect()
    }
}

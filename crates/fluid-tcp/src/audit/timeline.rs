//! The timeline the link ran on, read once from front to back.

use tmt_core::format::{Rows, TraceReader};
use tmt_core::types::{Slot, Time};
use tmt_core::{Error, Result};

/// The LLDUs of one packet, and what stands in front of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    /// When the LLDU before the first went out.
    pub(super) before: Option<Time>,
    pub(super) start: Time,
    pub(super) end: Time,
    /// When the last of them is decoded, propagation left out; `None` where one was lost.
    pub(super) arrival: Option<Time>,
}

/// A place on the timeline that moves forward only.
pub(super) struct Cursor<'a> {
    reader: TraceReader<'a>,
    rows: Rows,
    at: usize,
    /// LLDUs read, which is the index of the next.
    read: u64,
    latest: Option<Slot>,
    /// What was wrong behind `rows`; told when they have been used up.
    error: Option<Error>,
    ended: bool,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(reader: TraceReader<'a>) -> Result<Self> {
        let mut cursor = Self {
            reader,
            rows: Rows::default(),
            at: 0,
            read: 0,
            latest: None,
            error: None,
            ended: false,
        };
        // Whether the reader sees a first row that is wrong depends on how much it read at once.
        cursor.peek()?;
        Ok(cursor)
    }

    /// The LLDUs `first` to `last`; `None` where the timeline does not reach so far.
    ///
    /// `first` must not have been read yet.
    pub(super) fn stretch(&mut self, first: u64, last: u64) -> Result<Option<Stretch>> {
        while self.read < first {
            if self.next()?.is_none() {
                return Ok(None);
            }
        }
        let before = self.latest.map(|slot| slot.tx_time());
        self.gather(before, last - first)
    }

    /// The next stretch of `lldus` LLDUs that begins at `from` or later.
    pub(super) fn next_from(&mut self, from: Time, lldus: u64) -> Result<Option<Stretch>> {
        loop {
            let before = self.latest.map(|slot| slot.tx_time());
            let Some(slot) = self.peek()? else {
                return Ok(None);
            };
            if slot.tx_time() >= from {
                return self.gather(before, lldus - 1);
            }
            self.next()?;
        }
    }

    /// The next LLDU and `more` behind it.
    fn gather(&mut self, before: Option<Time>, more: u64) -> Result<Option<Stretch>> {
        let Some(slot) = self.next()? else {
            return Ok(None);
        };
        let start = slot.tx_time();
        let mut stretch = Stretch {
            before,
            start,
            end: start,
            arrival: slot.arrival(),
        };
        for _ in 0..more {
            let Some(slot) = self.next()? else {
                return Ok(None);
            };
            stretch.end = slot.tx_time();
            stretch.arrival = stretch.arrival.zip(slot.arrival()).map(|(a, b)| a.max(b));
        }
        Ok(Some(stretch))
    }

    fn next(&mut self) -> Result<Option<Slot>> {
        let slot = self.peek()?;
        if slot.is_some() {
            self.at += 1;
            self.read += 1;
            self.latest = slot;
        }
        Ok(slot)
    }

    fn peek(&mut self) -> Result<Option<Slot>> {
        while self.at == self.rows.slots.len() && !self.ended {
            if let Some(error) = self.error.take() {
                self.ended = true;
                return Err(error);
            }
            self.at = 0;
            match self.reader.next_rows(&mut self.rows) {
                Ok(more) => self.ended = !more,
                Err(error) => self.error = Some(error),
            }
        }
        Ok(self.rows.slots.get(self.at).copied())
    }
}

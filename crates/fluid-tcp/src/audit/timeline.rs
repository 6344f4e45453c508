//! The timeline of the link, read once from begin to end.

use std::iter::{Peekable, from_fn};
use tmt_core::Result;
use tmt_core::format::{Rows, TraceReader};
use tmt_core::types::{Slot, Time};

/// Times of the LLDUs of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LlduRange {
    /// Transmission time of the LLDU before the first.
    pub(super) before: Option<Time>,
    pub(super) start: Time,
    pub(super) end: Time,
    /// Time at which all are decoded, without propagation; `None` if one was lost.
    pub(super) arrival: Option<Time>,
}

/// A position on the timeline that moves forward only.
pub(super) struct Cursor<'a> {
    slots: Peekable<Box<dyn Iterator<Item = Result<Slot>> + 'a>>,
    /// Number of LLDUs read, which is the index of the next.
    read: u64,
    /// Transmission time of the last LLDU read.
    latest: Option<Time>,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(mut reader: TraceReader<'a>) -> Result<Self> {
        let mut ended = false;
        let batches = from_fn(move || {
            if ended {
                return None;
            }
            let mut rows = Rows::default();
            let more = reader.next_rows(&mut rows);
            ended = !matches!(more, Ok(true));
            // An error follows the rows before it.
            Some(rows.slots.into_iter().map(Ok).chain(more.err().map(Err)))
        });
        let slots: Box<dyn Iterator<Item = Result<Slot>>> = Box::new(batches.flatten());
        let mut slots = slots.peekable();
        // Whether the reader has reported a wrong first row already depends on how much it read at once.
        slots.next_if(Result::is_err).transpose()?;
        Ok(Self {
            slots,
            read: 0,
            latest: None,
        })
    }

    /// The LLDUs `first` to `last`; `None` if the timeline ends before.
    ///
    /// `first` must not have been read yet.
    pub(super) fn range(&mut self, first: u64, last: u64) -> Result<Option<LlduRange>> {
        while self.read < first && self.next()?.is_some() {}
        self.gather(last - first)
    }

    /// The next `lldus` LLDUs, beginning at `from` or later.
    pub(super) fn next_from(&mut self, from: Time, lldus: u64) -> Result<Option<LlduRange>> {
        let is_before = |slot: &Result<Slot>| slot.as_ref().is_ok_and(|slot| slot.tx_time() < from);
        while self.slots.peek().is_some_and(is_before) {
            self.next()?;
        }
        self.gather(lldus - 1)
    }

    /// The next LLDU and `more` after it.
    fn gather(&mut self, more: u64) -> Result<Option<LlduRange>> {
        let before = self.latest;
        let (mut start, mut arrival) = (None, Some(Time::ZERO));
        for _ in 0..=more {
            let Some(slot) = self.next()? else {
                return Ok(None);
            };
            start = start.or(Some(slot.tx_time()));
            arrival = arrival.zip(slot.arrival()).map(|(a, b)| a.max(b));
        }
        let ends = start.zip(self.latest);
        Ok(ends.map(|(start, end)| LlduRange {
            before,
            start,
            end,
            arrival,
        }))
    }

    fn next(&mut self) -> Result<Option<Slot>> {
        let slot = self.slots.next().transpose()?;
        if let Some(slot) = slot {
            self.read += 1;
            self.latest = Some(slot.tx_time());
        }
        Ok(slot)
    }
}

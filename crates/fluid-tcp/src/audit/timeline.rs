//! The timeline of the link, or the trace of a hop, read once from begin to end. One that the run repeated (`--loop`) is kept in
//! memory and goes on without an end: its period is its length and one mean slot, of the LLDUs whose fate is known.

use std::iter::{Peekable, from_fn};
use std::sync::Arc;

use tmt_core::Result;
use tmt_core::format::{Rows, TraceReader};
use tmt_core::types::{Slot, Span, Time};

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
    slots: Peekable<Slots<'a>>,
    /// Number of LLDUs read, which is the index of the next.
    read: u64,
    /// The last LLDU read, and the transmission time of the one before.
    latest: Option<Slot>,
    before: Option<Time>,
}

/// The slots of a trace.
type Slots<'a> = Box<dyn Iterator<Item = Result<Slot>> + 'a>;

/// The LLDUs of a trace of a hop in their order, again and again if the run repeated it.
pub(super) fn slots(reader: TraceReader<'_>, looped: bool) -> Result<Slots<'_>> {
    Ok(if looped {
        repeated(reader, false)?
    } else {
        Box::new(checked(reader)?)
    })
}

/// The LLDUs of a trace, repeated without an end. Without an end line the fate of a lost one at its end is known, unless it
/// is a timeline of the link.
fn repeated<'a>(mut reader: TraceReader<'_>, of_link: bool) -> Result<Slots<'a>> {
    let (mut rows, mut all) = (Rows::default(), Vec::new());
    while reader.next_rows(&mut rows)? {
        all.append(&mut rows.slots);
    }
    let last = all.last().map(Slot::tx_time).filter(|_| of_link);
    let line = reader.end().and_then(|end| end.end_line);
    if let Some(until) = line.map(|line| line.usable_until).or(last) {
        let is_open = |slot: &Slot| {
            let at = slot.tx_time();
            at > until || at == until && slot.is_erased()
        };
        while all.pop_if(|slot| is_open(slot)).is_some() {}
    }
    let (Some(first), Some(last)) = (all.first(), all.last()) else {
        return Ok(Box::new(std::iter::empty()));
    };
    let length = last.tx_time().since(first.tx_time()).as_nanos();
    let mean = length.checked_div(all.len() as u64 - 1).unwrap_or(0);
    let period = Span::from_nanos(length.saturating_add(mean)).filter(|period| !period.is_zero());
    let rounds = (0..).map_while(move |round| period?.checked_mul(round));
    let all: Arc<[Slot]> = all.into();
    let shifted = rounds.flat_map(move |ahead| {
        let all = Arc::clone(&all);
        (0..all.len()).map_while(move |row| {
            let slot = all[row];
            Slot::new(slot.tx_time().checked_add(ahead)?, slot.decode_delay())
        })
    });
    Ok(Box::new(shifted.map(Ok)))
}

/// The same; the first one is right.
fn checked<'a>(mut reader: TraceReader<'a>) -> Result<Peekable<Slots<'a>>> {
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
    let slots: Slots<'a> = Box::new(batches.flatten());
    let mut slots = slots.peekable();
    // Whether the reader has reported a wrong first row already depends on how much it read at once.
    slots.next_if(Result::is_err).transpose()?;
    Ok(slots)
}

impl<'a> Cursor<'a> {
    /// At the first LLDU of a timeline, which the run may have repeated.
    pub(super) fn new(reader: TraceReader<'a>, looped: bool) -> Result<Self> {
        let slots = if looped {
            repeated(reader, true)?.peekable()
        } else {
            checked(reader)?
        };
        Ok(Self {
            slots,
            read: 0,
            latest: None,
            before: None,
        })
    }

    /// The LLDUs `first` to `last`; `None` if the timeline ends before.
    ///
    /// No LLDU after `first` must have been read yet.
    pub(super) fn range(&mut self, first: u64, last: u64) -> Result<Option<LlduRange>> {
        while self.read <= first && self.next()?.is_some() {}
        let Some(slot) = self.latest.filter(|_| self.read == first + 1) else {
            return Ok(None);
        };
        let (before, start, mut arrival) = (self.before, slot.tx_time(), slot.arrival());
        let mut end = start;
        for _ in first..last {
            let Some(slot) = self.next()? else {
                return Ok(None);
            };
            end = slot.tx_time();
            arrival = arrival.zip(slot.arrival()).map(|(a, b)| a.max(b));
        }
        Ok(Some(LlduRange {
            before,
            start,
            end,
            arrival,
        }))
    }

    /// Begin and end of the service of a packet that is ready at `from` and needs `need` units of LLDUs with room for `room`.
    /// `used` units are used in the last LLDU read; 0 if it is full.
    pub(super) fn next_from(
        &mut self,
        from: Time,
        need: u64,
        (used, room): (u64, u64),
    ) -> Result<Option<(Time, Time)>> {
        let is_before = |slot: &Result<Slot>| slot.as_ref().is_ok_and(|slot| slot.tx_time() < from);
        while self.slots.peek().is_some_and(is_before) {
            self.next()?;
        }
        let rest_of = self.latest.map(|slot| slot.tx_time());
        let rest_of = rest_of.filter(|at| used > 0 && *at >= from);
        let (mut start, mut end) = (rest_of, rest_of);
        let mut left = need.saturating_sub(rest_of.map_or(0, |_| room - used));
        while left > 0 {
            let Some(slot) = self.next()? else {
                return Ok(None);
            };
            end = Some(slot.tx_time());
            start = start.or(end);
            left = left.saturating_sub(room);
        }
        Ok(start.zip(end))
    }

    fn next(&mut self) -> Result<Option<Slot>> {
        let slot = self.slots.next().transpose()?;
        if let Some(slot) = slot {
            self.read += 1;
            self.before = self.latest.map(|slot| slot.tx_time());
            self.latest = Some(slot);
        }
        Ok(slot)
    }
}

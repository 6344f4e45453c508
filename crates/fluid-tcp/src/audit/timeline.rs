//! The timeline of the link, or the trace of a hop, read once from begin to end. One that the run repeated (`--loop`) is kept in
//! memory and goes on without an end: its period is its length and one mean slot, of the LLDUs whose fate is known.

use std::iter::{Peekable, from_fn};

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

/// No packet takes more LLDUs: those of IP have 65 535 B at most. A trace that is repeated has no end that would stop a search.
pub(super) const LONGEST: u64 = 1 << 20;

/// A position on the timeline that moves forward only.
pub(super) struct Cursor<'a> {
    slots: Lldus<'a>,
    /// The last LLDU read, and the transmission time of the one before.
    latest: Option<Slot>,
    before: Option<Time>,
}

/// The LLDUs of a trace in their order.
pub(super) struct Lldus<'a> {
    source: Source<'a>,
    /// Number of the next one, from 0.
    next: u64,
}

enum Source<'a> {
    /// Read once.
    Once(Peekable<Once<'a>>),
    Repeated(Repeated),
}

/// The slots of a trace that is read once.
type Once<'a> = Box<dyn Iterator<Item = Result<Slot>> + 'a>;

/// The LLDUs of a trace that a run repeated.
pub(super) struct Repeated {
    all: Vec<Slot>,
    period: Span,
}

impl Repeated {
    /// Without an end line the fate of a lost LLDU at the end of the trace is known, unless it is a timeline of the link.
    fn new(mut reader: TraceReader<'_>, of_link: bool) -> Result<Self> {
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
        let period = match (all.first(), all.last()) {
            (Some(first), Some(last)) => {
                let length = last.tx_time().since(first.tx_time()).as_nanos();
                let mean = length.checked_div(all.len() as u64 - 1).unwrap_or(0);
                Span::from_nanos(length.saturating_add(mean)).unwrap_or(Span::MAX)
            }
            _ => Span::ZERO,
        };
        // One that has no length goes nowhere.
        if period.is_zero() {
            all.clear();
        }
        Ok(Self { all, period })
    }

    /// The LLDU of this number; `None` if there are none, or beyond the last time.
    pub(super) fn get(&self, number: u64) -> Option<Slot> {
        let rounds = number.checked_div(self.all.len() as u64)?;
        let row = usize::try_from(number % self.all.len() as u64).ok()?;
        let ahead = self.period.checked_mul(rounds)?;
        let slot = self.all[row];
        Slot::new(slot.tx_time().checked_add(ahead)?, slot.decode_delay())
    }

    /// The number of the first LLDU from a time on.
    fn first_from(&self, time: Time) -> u64 {
        let Some(first) = self.all.first() else {
            return 0;
        };
        let into = time.since(first.tx_time().min(time)).as_nanos();
        let rounds = into.checked_div(self.period.as_nanos()).unwrap_or(0);
        let ahead = self.period.checked_mul(rounds).unwrap_or(Span::MAX);
        let is_before = |slot: &Slot| slot.tx_time().saturating_add(ahead) < time;
        let row = self.all.partition_point(is_before) as u64;
        rounds
            .saturating_mul(self.all.len() as u64)
            .saturating_add(row)
    }
}

impl<'a> Lldus<'a> {
    /// At the first LLDU of a trace, which the run may have `repeated`, and which may be the timeline of the link.
    pub(super) fn new(reader: TraceReader<'a>, repeated: bool, of_link: bool) -> Result<Self> {
        let source = if repeated {
            Source::Repeated(Repeated::new(reader, of_link)?)
        } else {
            Source::Once(checked(reader)?)
        };
        Ok(Self { source, next: 0 })
    }

    pub(super) fn next(&mut self) -> Result<Option<Slot>> {
        let slot = match &mut self.source {
            Source::Once(slots) => slots.next().transpose()?,
            Source::Repeated(slots) => slots.get(self.next),
        };
        self.next += u64::from(slot.is_some());
        Ok(slot)
    }

    /// Time of the next LLDU, unless reading it fails.
    fn next_time(&mut self) -> Option<Time> {
        let slot = match &mut self.source {
            Source::Once(slots) => slots.peek()?.as_ref().ok().copied(),
            Source::Repeated(slots) => slots.get(self.next),
        };
        slot.map(|slot| slot.tx_time())
    }

    /// The trace, if it is repeated: any of its LLDUs takes no walk.
    pub(super) fn repeated(&self) -> Option<&Repeated> {
        match &self.source {
            Source::Once(_) => None,
            Source::Repeated(slots) => Some(slots),
        }
    }

    /// The number of the first LLDU from a time on, if it takes no walk; else 0.
    pub(super) fn first_from(&self, time: Time) -> u64 {
        self.repeated().map_or(0, |slots| slots.first_from(time))
    }

    /// Leaves out what is two LLDUs and more before this one, where that takes no walk.
    fn near(&mut self, number: u64) {
        if self.repeated().is_some() {
            self.next = self.next.max(number.saturating_sub(2));
        }
    }
}

/// The LLDUs of a trace that is read once; the first one is right.
fn checked<'a>(mut reader: TraceReader<'a>) -> Result<Peekable<Once<'a>>> {
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
    let slots: Once<'a> = Box::new(batches.flatten());
    let mut slots = slots.peekable();
    // Whether the reader has reported a wrong first row already depends on how much it read at once.
    slots.next_if(Result::is_err).transpose()?;
    Ok(slots)
}

impl<'a> Cursor<'a> {
    /// At the first LLDU of a timeline, which the run may have repeated.
    pub(super) fn new(reader: TraceReader<'a>, looped: bool) -> Result<Self> {
        Ok(Self {
            slots: Lldus::new(reader, looped, true)?,
            latest: None,
            before: None,
        })
    }

    /// The LLDUs `first` to `last`; `None` if the timeline ends before.
    ///
    /// No LLDU after `first` must have been read yet.
    pub(super) fn range(&mut self, first: u64, last: u64) -> Result<Option<LlduRange>> {
        if last.saturating_sub(first) > LONGEST {
            return Ok(None);
        }
        self.slots.near(first.saturating_add(1));
        while self.slots.next <= first && self.next()?.is_some() {}
        let Some(slot) = self.latest.filter(|_| self.slots.next == first + 1) else {
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
        self.slots.near(self.slots.first_from(from));
        while self.slots.next_time().is_some_and(|at| at < from) {
            self.next()?;
        }
        let rest_of = self.latest.map(|slot| slot.tx_time());
        let rest_of = rest_of.filter(|at| used > 0 && *at >= from);
        let (mut start, mut end) = (rest_of, rest_of);
        let mut left = need.saturating_sub(rest_of.map_or(0, |_| room - used));
        if left / room > LONGEST {
            return Ok(None);
        }
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
        let slot = self.slots.next()?;
        if let Some(slot) = slot {
            self.before = self.latest.map(|slot| slot.tx_time());
            self.latest = Some(slot);
        }
        Ok(slot)
    }
}

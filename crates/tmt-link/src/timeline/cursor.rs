//! Position in a timeline that only moves forward. A looped timeline has several rounds and behaves as if it were written
//! out.

use std::sync::Arc;

use tmt_core::types::{Span, Time};

use super::{Block, Trace};

/// Position: round, block within the round, row within the block.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Position {
    pub(crate) round: u64,
    pub(crate) number: usize,
    pub(crate) row: usize,
}

/// The next LLDU of a timeline. LLDUs are numbered through all rounds: round × length of the timeline + index in it.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(crate) timeline: Arc<Trace>,
    /// Time from one round to the next.
    pub(crate) period: Span,
    /// Number of rounds.
    pub(crate) rounds: u64,
    pub(crate) position: Position,
    /// The block of the position and, after looking ahead, a later one.
    blocks: [Option<(usize, Arc<Block>)>; 2],
}

impl Cursor {
    /// Starts at the first LLDU of a timeline with one round.
    pub(crate) fn new(timeline: Arc<Trace>) -> Self {
        Self {
            timeline,
            period: Span::ZERO,
            rounds: 1,
            position: Position::default(),
            blocks: [None, None],
        }
    }

    /// Number of the next LLDU.
    pub(crate) fn ordinal(&self) -> u64 {
        let Position { round, number, row } = self.position;
        round * self.timeline.len() + self.timeline.rows_before(number) + row as u64
    }

    /// Shift of this round relative to the times in the timeline; `None` if it is out of range.
    pub(crate) fn round_offset(&self, round: u64) -> Option<Span> {
        self.period.checked_mul(round)
    }

    /// Number of LLDUs sent before `time`, in all rounds; `None` if the timeline cannot be read.
    pub(crate) fn sent_before(&self, time: Time) -> Option<u64> {
        let last = self.timeline.last().unwrap_or(Time::MAX);
        let period = self.period.as_nanos().max(1);
        let round = time.since(last).as_nanos().div_ceil(period);
        let round = round.min(self.rounds - 1);
        let within = match self.round_offset(round) {
            Some(ahead) => self.timeline.sent_before(earlier(time, ahead))?,
            None => 0,
        };
        Some(round * self.timeline.len() + within)
    }

    /// Number of LLDUs sent up to `time`, in all rounds; `None` if the timeline cannot be read.
    pub(crate) fn sent_until(&self, time: Time) -> Option<u64> {
        match Span::from_nanos(1).and_then(|step| time.checked_add(step)) {
            Some(next) => self.sent_before(next),
            None => Some(self.timeline.len().saturating_mul(self.rounds)),
        }
    }

    /// Moves to the next LLDU sent at or after `from`; `None` if absent.
    #[inline]
    pub(crate) fn seek(&mut self, from: Time) -> Option<Position> {
        let Position { number, row, .. } = self.position;
        if from == Time::ZERO && row < self.timeline.rows_in(number) {
            return Some(self.position);
        }
        self.position = self.first_from(from)?;
        Some(self.position)
    }

    /// Position of the next LLDU sent at or after `from`, without moving there. Its block is then cached.
    pub(crate) fn first_from(&mut self, from: Time) -> Option<Position> {
        let mut position = self.position;
        if position.row >= self.timeline.rows_in(position.number) {
            position.number += 1;
            position.row = 0;
        }
        let mut from_here = earlier(from, self.round_offset(position.round)?);
        let last = self.timeline.last()?;
        if position.number >= self.timeline.blocks() || from_here > last {
            // In a later round.
            let rounds = from_here.since(last).as_nanos();
            let rounds = rounds.div_ceil(self.period.as_nanos().max(1)).max(1);
            let round = position.round.checked_add(rounds)?;
            if round >= self.rounds {
                return None;
            }
            position = Position {
                round,
                ..Position::default()
            };
            from_here = earlier(from, self.round_offset(round)?);
        }
        let rows = self.timeline.rows_in(position.number);
        let block = self.fetch(position.number)?;
        if block.tx_time(position.row) >= from_here {
            return Some(position);
        }
        // Mostly a few rows later.
        let row = block.first_after(position.row, from_here);
        if row < rows {
            return Some(Position { row, ..position });
        }
        let number = self.timeline.block_at(from_here);
        if number > position.number {
            position.number = number;
            position.row = 0;
        }
        let before = self.fetch(position.number)?.sent_before(from_here);
        position.row = position.row.max(before);
        Some(position)
    }

    /// Block `number`, from the cache or the store.
    pub(crate) fn fetch(&mut self, number: usize) -> Option<&Block> {
        let held = |block: &Option<(usize, _)>| block.as_ref().is_some_and(|held| held.0 == number);
        let at = if let Some(at) = self.blocks.iter().position(held) {
            at
        } else {
            // Keep the block of the position: near the end of a block both are read again and again.
            let position = self.position.number;
            let is_cached = self.blocks[0]
                .as_ref()
                .is_some_and(|held| held.0 == position);
            let at = usize::from(is_cached);
            self.blocks[at] = Some((number, self.timeline.block(number)?));
            at
        };
        self.blocks[at].as_ref().map(|(_, block)| &**block)
    }
}

/// `time` minus `by`, at least zero.
fn earlier(time: Time, by: Span) -> Time {
    Time::ZERO.saturating_add(time.since(Time::ZERO).saturating_sub(by))
}

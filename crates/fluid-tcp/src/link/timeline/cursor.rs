//! A place in a timeline that never goes back. A timeline can be gone through more than once: then it is as if it were
//! written out so often.

use std::sync::Arc;

use tmt_core::types::{Span, Time};

use super::{Block, Timeline};

/// The round, its block, and the row in it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::link) struct Position {
    pub(in crate::link) round: u64,
    pub(in crate::link) number: usize,
    pub(in crate::link) row: usize,
}

/// The next LLDU of a timeline. LLDUs are numbered through its rounds: round × LLDUs of the timeline + place in it.
#[derive(Debug)]
pub(in crate::link) struct Cursor {
    pub(in crate::link) timeline: Arc<Timeline>,
    /// From a round to the next, and how many there are.
    pub(in crate::link) period: Span,
    pub(in crate::link) rounds: u64,
    pub(in crate::link) position: Position,
    /// The block of the place, and one further on where there has been a look at it; fetched when they are needed.
    blocks: [Option<(usize, Arc<Block>)>; 2],
}

impl Cursor {
    /// In front of a timeline that is gone through once.
    pub(in crate::link) fn new(timeline: Arc<Timeline>) -> Self {
        Self {
            timeline,
            period: Span::ZERO,
            rounds: 1,
            position: Position::default(),
            blocks: [None, None],
        }
    }

    /// Number of the next LLDU.
    pub(in crate::link) fn ordinal(&self) -> u64 {
        let Position { round, number, row } = self.position;
        round * self.timeline.len() + self.timeline.rows_before(number) + row as u64
    }

    /// By how much the LLDUs of a round are later than the timeline says.
    pub(in crate::link) fn round_offset(&self, round: u64) -> Option<Span> {
        self.period.checked_mul(round)
    }

    /// LLDUs sent before `time`, in all rounds; none where the timeline cannot be read.
    pub(in crate::link) fn sent_before(&self, time: Time) -> Option<u64> {
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

    /// LLDUs sent up to `time`, in all rounds; none where the timeline cannot be read.
    pub(in crate::link) fn sent_until(&self, time: Time) -> Option<u64> {
        match Span::from_nanos(1).and_then(|step| time.checked_add(step)) {
            Some(next) => self.sent_before(next),
            None => Some(self.timeline.len().saturating_mul(self.rounds)),
        }
    }

    /// Goes to the next LLDU sent at or after `from`; none where there is none.
    pub(in crate::link) fn seek(&mut self, from: Time) -> Option<Position> {
        self.position = self.first_from(from)?;
        Some(self.position)
    }

    /// The place of the next LLDU sent at or after `from`, whose block is then there.
    pub(in crate::link) fn first_from(&mut self, from: Time) -> Option<Position> {
        let mut position = self.position;
        if position.row >= self.timeline.rows_in(position.number) {
            position.number += 1;
            position.row = 0;
        }
        let mut from_here = earlier(from, self.round_offset(position.round)?);
        let last = self.timeline.last()?;
        if position.number >= self.timeline.blocks() || from_here > last {
            // Behind the end of this round.
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
        if self.fetch(position.number)?.tx_time(position.row) >= from_here {
            return Some(position);
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

    /// Block `number`, kept for the next time it is asked for.
    pub(in crate::link) fn fetch(&mut self, number: usize) -> Option<&Block> {
        let held = |block: &Option<(usize, _)>| block.as_ref().is_some_and(|held| held.0 == number);
        let at = if let Some(at) = self.blocks.iter().position(held) {
            at
        } else {
            // What is read again and again at the edge of two blocks would cost more than what is computed.
            let position = self.position.number;
            let of_place = self.blocks[0]
                .as_ref()
                .is_some_and(|held| held.0 == position);
            let at = usize::from(of_place);
            self.blocks[at] = Some((number, self.timeline.block(number)?));
            at
        };
        self.blocks[at].as_ref().map(|(_, block)| &**block)
    }
}

/// `time` so much earlier, at zero at the earliest.
fn earlier(time: Time, by: Span) -> Time {
    Time::ZERO.saturating_add(time.since(Time::ZERO).saturating_sub(by))
}

//! A place in a timeline that never goes back. A timeline can be gone through more than once: then it is as if it were
//! written out so often.

use std::sync::Arc;

use tmt_core::types::{Span, Time};

use super::{Block, Timeline};

/// The round, its block, and the row in it.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::link) struct Place {
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
    pub(in crate::link) place: Place,
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
            place: Place::default(),
            blocks: [None, None],
        }
    }

    /// Number of the next LLDU.
    pub(in crate::link) fn ordinal(&self) -> u64 {
        let Place { round, number, row } = self.place;
        round * self.timeline.len() + self.timeline.front(number) + row as u64
    }

    /// By how much the LLDUs of a round are later than the timeline says.
    pub(in crate::link) fn ahead(&self, round: u64) -> Option<Span> {
        self.period.checked_mul(round)
    }

    /// LLDUs sent before `time`, in all rounds; none where the timeline cannot be read.
    pub(in crate::link) fn sent_before(&self, time: Time) -> Option<u64> {
        let last = self.timeline.last().unwrap_or(Time::MAX);
        let period = self.period.as_nanos().max(1);
        let round = time.since(last).as_nanos().div_ceil(period);
        let round = round.min(self.rounds - 1);
        let within = match self.ahead(round) {
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
    pub(in crate::link) fn seek(&mut self, from: Time) -> Option<Place> {
        self.place = self.first_from(from)?;
        Some(self.place)
    }

    /// The place of the next LLDU sent at or after `from`, whose block is then there.
    pub(in crate::link) fn first_from(&mut self, from: Time) -> Option<Place> {
        let mut place = self.place;
        if place.row >= self.timeline.rows_of(place.number) {
            place.number += 1;
            place.row = 0;
        }
        let mut from_here = earlier(from, self.ahead(place.round)?);
        let last = self.timeline.last()?;
        if place.number >= self.timeline.blocks() || from_here > last {
            // Behind the end of this round.
            let rounds = from_here.since(last).as_nanos();
            let rounds = rounds.div_ceil(self.period.as_nanos().max(1)).max(1);
            let round = place.round.checked_add(rounds)?;
            if round >= self.rounds {
                return None;
            }
            place = Place {
                round,
                ..Place::default()
            };
            from_here = earlier(from, self.ahead(round)?);
        }
        if self.fetch(place.number)?.tx_time(place.row) >= from_here {
            return Some(place);
        }
        let number = self.timeline.block_at(from_here);
        if number > place.number {
            place.number = number;
            place.row = 0;
        }
        let before = self.fetch(place.number)?.sent_before(from_here);
        place.row = place.row.max(before);
        Some(place)
    }

    /// Block `number`, kept for the next time it is asked for.
    pub(in crate::link) fn fetch(&mut self, number: usize) -> Option<&Block> {
        let held = |block: &Option<(usize, _)>| block.as_ref().is_some_and(|held| held.0 == number);
        let at = if let Some(at) = self.blocks.iter().position(held) {
            at
        } else {
            // What is read again and again at the edge of two blocks would cost more than what is computed.
            let place = self.place.number;
            let of_place = self.blocks[0].as_ref().is_some_and(|held| held.0 == place);
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

//! The slots of a PHY trace, taken in their order; idle ones are passed over by binary search.

use std::sync::Arc;

use tmt_core::slot::Slot;
use tmt_core::units::Time;

use crate::timeline::{Block, Timeline};

/// A place in a PHY trace that never goes back.
#[derive(Debug)]
pub(super) struct Slots {
    trace: Arc<Timeline>,
    place: Place,
    /// The block of the place; fetched when it is needed.
    block: Option<(usize, Arc<Block>)>,
}

/// The block, and the row in it.
#[derive(Debug, Clone, Copy)]
struct Place {
    number: usize,
    row: usize,
}

impl Slots {
    /// At the first slot of `trace` sent at or after `begin`; none where it cannot be read.
    pub(super) fn new(trace: Arc<Timeline>, begin: Time) -> Option<Self> {
        let number = trace.block_at(begin);
        let row = match trace.block(number) {
            Some(block) => block.sent_before(begin),
            None if number == trace.blocks() => 0,
            None => return None,
        };
        Some(Self {
            trace,
            place: Place { number, row },
            block: None,
        })
    }

    /// When the next slot at or after `from` is sent; none where the trace has ended. Stays where it is.
    pub(super) fn time_from(&mut self, from: Time) -> Option<Time> {
        let place = self.first_from(from)?;
        let (_, block) = self.block.as_ref()?;
        Some(block.tx_time(place.row))
    }

    /// Takes the next slot at or after `from`, with its number; none where the trace has ended.
    pub(super) fn take(&mut self, from: Time) -> Option<(u64, Slot)> {
        let place = self.first_from(from)?;
        let (_, block) = self.block.as_ref()?;
        let slot = Slot::new(block.tx_time(place.row), block.delay(place.row))?;
        let number = self.trace.front(place.number) + place.row as u64;
        self.place = Place {
            row: place.row + 1,
            ..place
        };
        Some((number, slot))
    }

    /// Slots sent up to `time`; none where the trace cannot be read.
    pub(super) fn sent_until(&self, time: Time) -> Option<u64> {
        self.trace.sent_until(time)
    }

    /// Number of the next slot.
    pub(super) fn next(&self) -> u64 {
        self.trace.front(self.place.number) + self.place.row as u64
    }

    /// The place of the next slot at or after `from`, whose block is then there.
    fn first_from(&mut self, from: Time) -> Option<Place> {
        let mut place = self.place;
        if place.row >= self.trace.rows_of(place.number) {
            place = Place {
                number: place.number + 1,
                row: 0,
            };
        }
        let row = place.row;
        let block = self.fetch(place.number)?;
        if block.tx_time(row) >= from {
            return Some(place);
        }
        let number = self.trace.block_at(from);
        if number > place.number {
            place = Place { number, row: 0 };
        }
        let before = self.fetch(place.number)?.sent_before(from);
        place.row = place.row.max(before);
        Some(place)
    }

    fn fetch(&mut self, number: usize) -> Option<&Block> {
        if self.block.as_ref().is_none_or(|(held, _)| *held != number) {
            self.block = Some((number, self.trace.block(number)?));
        }
        self.block.as_ref().map(|(_, block)| &**block)
    }
}

//! Which LLDUs are in which block.

use tmt_core::channel::synth::ConstantRate;
use tmt_core::types::Time;

/// A block's place in its timeline.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// LLDUs in front of it.
    pub(super) front: u64,
    /// When its last LLDU was sent.
    pub(super) last: Time,
}

/// The blocks of a timeline, as one searches them.
#[derive(Debug)]
pub(super) enum Index {
    /// Of any times, in any blocks.
    Listed(Vec<Place>),
    /// Slots of a constant rate, so many to a block: all of it is arithmetic, however long the timeline.
    Even { slots: ConstantRate, per_block: u64 },
}

impl Index {
    /// Time of the last of `rows` LLDUs.
    pub(super) fn last(&self, rows: u64) -> Option<Time> {
        match self {
            Self::Listed(places) => places.last().map(|place| place.last),
            Self::Even { slots, .. } => slots.tx_time(rows.checked_sub(1)?),
        }
    }

    /// Blocks that hold `rows` LLDUs.
    pub(super) fn blocks(&self, rows: u64) -> usize {
        match self {
            Self::Listed(places) => places.len(),
            Self::Even { per_block, .. } => saturating(rows.div_ceil(*per_block)),
        }
    }

    /// LLDUs in front of block `number`; none, or too many, where there is no such block.
    pub(super) fn front(&self, number: usize) -> Option<u64> {
        match self {
            Self::Listed(places) => places.get(number).map(|place| place.front),
            Self::Even { per_block, .. } => (number as u64).checked_mul(*per_block),
        }
    }

    /// The block that holds LLDU `row`.
    pub(super) fn block_of(&self, row: u64) -> usize {
        match self {
            Self::Listed(places) => places
                .partition_point(|place| place.front <= row)
                .saturating_sub(1),
            Self::Even { per_block, .. } => saturating(row / per_block),
        }
    }

    /// The first block of those with `rows` LLDUs that has one sent at or after `time`; the one behind the last where
    /// none has.
    pub(super) fn block_at(&self, time: Time, rows: u64) -> usize {
        match self {
            Self::Listed(places) => places.partition_point(|place| place.last < time),
            Self::Even { slots, per_block } => match slots.sent_before(time) {
                before if before < rows => saturating(before / per_block),
                _ => self.blocks(rows),
            },
        }
    }

    /// Forgets the blocks from `blocks` on, and of the one in front of them what was sent after `last`.
    pub(super) fn truncate(&mut self, blocks: usize, last: Time) {
        match self {
            Self::Listed(places) => {
                places.truncate(blocks);
                if let Some(place) = places.last_mut() {
                    place.last = last;
                }
            }
            // How many rows there are is told whenever it matters.
            Self::Even { .. } => {}
        }
    }
}

fn saturating(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

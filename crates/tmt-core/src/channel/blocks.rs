//! Random access to a process of two states.
//!
//! A block depends on earlier units only through the state of the channel before it. A piece whose two paths have met ends
//! in the same state regardless of what preceded it ([`super::piece`]). So earlier pieces are drawn backwards until the paths meet:
//! one piece for all but the most persistent channels, and none if the block follows the last one requested.

use super::{ChainState, ChannelSpec, Erasing, ErasurePiece, Erasures, Use, piece};
use crate::types::{Slot, Span};

/// Units of a piece that is drawn only for the state at its end.
const BACK: u64 = 4096;

/// A process of two states at most under one seed, whose units can be requested in any order.
#[derive(Debug, Clone)]
pub struct Blocks {
    spec: ChannelSpec,
    seed: u64,
    used: Use,
    /// Number of a unit, and the state before it.
    known: (u64, ChainState),
}

impl Blocks {
    /// The process of `spec` under `seed`.
    #[must_use]
    pub fn new(spec: ChannelSpec, seed: u64, used: Use) -> Self {
        Self {
            spec,
            seed,
            used,
            known: (0, ChainState::default()),
        }
    }

    /// Erasures of the units `from` … `from + len − 1`.
    pub fn block(&mut self, from: u64, len: usize) -> Erasures {
        let mut chain = self.front(from);
        let erasures = self.piece(from, len).resolve(&mut chain);
        self.known = (from + len as u64, chain);
        erasures
    }

    fn piece(&self, from: u64, len: usize) -> ErasurePiece {
        piece::draw(self.spec, self.seed, self.used, from, len)
    }

    /// The state before unit `number`.
    fn front(&self, number: u64) -> ChainState {
        let (known, chain) = self.known;
        let mut at = number;
        // The state before unit `number`, if that before unit `at` is good, and if it is bad.
        let mut front = [ChainState { bad: false }, ChainState { bad: true }];
        let independent = matches!(self.spec, ChannelSpec::Bernoulli { .. });
        while front[0] != front[1] && at != known && at > 0 && !independent {
            let from = at.saturating_sub(BACK);
            let from = if known < at { from.max(known) } else { from };
            let len = usize::try_from(at - from).unwrap_or(usize::MAX);
            at = from;
            front = self
                .piece(from, len)
                .ends()
                .map(|end| front[usize::from(end.bad)]);
        }
        let chain = if at == known {
            chain
        } else {
            ChainState::default()
        };
        front[usize::from(chain.bad)]
    }
}

impl Erasing for Blocks {
    fn erase(&mut self, first: u64, _on_air: Span, slots: &mut [Slot]) {
        self.block(first, slots.len()).mark(0, slots);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::channel::Channel;
    use crate::types::Time;

    fn slots(from: u64, len: usize) -> Vec<Slot> {
        let slot = |at| Slot::new(Time::from_nanos(at)?, Span::from_millis(1));
        (from..from + len as u64).filter_map(slot).collect()
    }

    proptest! {
        #[test]
        fn blocks_in_any_order_erase_what_the_channel_erases(
            text in prop::sample::select(&[
                "bernoulli:0.3",
                "gilbert-elliott:alpha=0.9,beta=0.7",
                "gilbert-elliott:alpha=0.9999,beta=0.999,pg=0.1,pb=0.8",
                "gilbert-elliott:alpha=0.2,beta=0.1",
                "gilbert-elliott:alpha=0.0001,beta=0.0001",
                "gilbert-elliott:alpha=1,beta=1,start=bad",
                "gilbert-elliott:alpha=0,beta=0,start=bad",
            ][..]),
            seed: u64,
            windows in prop::collection::vec((0usize..6000, 0usize..300), 1..12),
        ) {
            let spec: ChannelSpec = text.parse().unwrap();
            let mut channel = Channel::new(spec, seed);
            let erased: Vec<bool> = (0..6300).map(|_| channel.erases()).collect();
            let mut blocks = Blocks::new(spec, seed, Use::Forward);
            for (from, len) in windows {
                let mut found = slots(from as u64, len);
                blocks.erase(from as u64, Span::ZERO, &mut found);
                let found: Vec<bool> = found.iter().map(Slot::is_erased).collect();
                prop_assert_eq!(&found[..], &erased[from..from + len]);
            }
        }
    }
}

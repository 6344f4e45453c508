//! Random access to an erasure process, in blocks of equal length.
//!
//! A block depends on earlier ones only through the state of the channel before it. A piece whose two paths have met ends
//! in the same state whatever preceded it ([`super::piece`]). So earlier pieces are drawn backwards until the paths meet:
//! one piece for all but the most persistent channels, and none if the previous block was the last one requested.

use super::{ChainState, Channel, ChannelSpec, ErasurePiece, Erasures};

/// An erasure process under one seed, divided into blocks of equal length.
#[derive(Debug, Clone)]
pub struct Blocks {
    spec: ChannelSpec,
    seed: u64,
    len: usize,
    /// Number of a block, and the state before it.
    known: (u64, ChainState),
}

impl Blocks {
    /// The process of `spec` under `seed` in blocks of `len` units.
    #[must_use]
    pub fn new(spec: ChannelSpec, seed: u64, len: usize) -> Self {
        Self {
            spec,
            seed,
            len,
            known: (0, ChainState::default()),
        }
    }

    /// Erasures of block `number`, counted from 0.
    pub fn block(&mut self, number: u64) -> Erasures {
        let mut chain = self.front(number);
        let erasures = self.piece(number).resolve(&mut chain);
        self.known = (number + 1, chain);
        erasures
    }

    fn piece(&self, number: u64) -> ErasurePiece {
        Channel::piece(self.spec, self.seed, number * self.len as u64, self.len)
    }

    /// The state before block `number`.
    fn front(&self, number: u64) -> ChainState {
        let (known, chain) = self.known;
        let mut at = number;
        // The state before block `number`, if that before block `at` is good, and if it is bad.
        let mut front = [ChainState { bad: false }, ChainState { bad: true }];
        let independent = matches!(self.spec, ChannelSpec::Bernoulli { .. });
        while front[0] != front[1] && at != known && at > 0 && !independent {
            at -= 1;
            front = self.piece(at).ends().map(|end| front[usize::from(end.bad)]);
        }
        let chain = if at == known {
            chain
        } else {
            ChainState::default()
        };
        front[usize::from(chain.bad)]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::types::{Slot, Span, Time};

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
            len in 1usize..150,
            order in prop::collection::vec(0u64..40, 1..12),
        ) {
            let spec: ChannelSpec = text.parse().unwrap();
            let mut channel = Channel::new(spec, seed);
            let erased: Vec<bool> = (0..40 * len).map(|_| channel.erases()).collect();
            let mut blocks = Blocks::new(spec, seed, len);
            for number in order {
                let from = number * len as u64;
                let mut found = slots(from, len);
                blocks.block(number).apply(&mut found);
                let found: Vec<bool> = found.iter().map(Slot::is_erased).collect();
                let from = usize::try_from(from).unwrap();
                prop_assert_eq!(&found[..], &erased[from..from + len]);
            }
        }
    }
}

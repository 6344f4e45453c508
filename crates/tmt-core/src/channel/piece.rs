//! A piece of an erasure process, drawn before it is known in which state the piece in front ends.
//!
//! 64 units are worked at a time, a bit each. For the two-state chain the draws of a batch give two
//! masks: `stay`, bad if the unit before was bad, and `enter`, bad if it was good. Where they agree
//! the state is set whatever was before; where they differ it is handed on (or, in a chain that
//! would rather change than stay, turned round). That is what an adder does with its carries, so one
//! addition runs the chain over all 64. The paths from either state in front meet at the first unit
//! that is set; only the batches up to there are kept twice.

use super::{ChannelSpec, GilbertElliott};
use crate::math::rng::{BATCH, Draws, Limit, Stream, Uniform};
use crate::types::Slot;

/// The state of the chain between two pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainState {
    /// Whether the last unit met the bad state.
    pub(super) bad: bool,
}

/// The outcome of a piece for either state in front of it; made by [`super::Channel::piece`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasurePiece {
    len: usize,
    /// What is erased if the unit in front met the good state, the first unit in the lowest bit.
    after_good: Vec<u64>,
    /// The same if it met the bad state, up to the batch in which the two paths meet.
    after_bad: Vec<u64>,
    /// The state of the last unit for good and for bad in front.
    end: [ChainState; 2],
}

/// What a piece erases: masks of 64 units each; bits beyond the piece are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasures(Vec<u64>);

impl ErasurePiece {
    /// Number of units.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The state behind the piece for good and for bad in front of it.
    pub(super) fn ends(&self) -> [ChainState; 2] {
        self.end
    }

    /// Puts the piece behind `chain`, which is then the state behind the piece. To be done for the
    /// pieces in their order, beginning with a `ChainState::default()`; costs as much as the paths differ.
    #[must_use]
    pub fn resolve(self, chain: &mut ChainState) -> Erasures {
        let mut masks = self.after_good;
        if chain.bad {
            masks[..self.after_bad.len()].copy_from_slice(&self.after_bad);
        }
        *chain = self.end[usize::from(chain.bad)];
        Erasures(masks)
    }
}

impl Erasures {
    /// Marks as erased what the process erases, unit after unit; what is erased already stays so.
    /// Returns how many of the slots are erased then. Slots beyond the piece are left as they are.
    pub fn apply(&self, slots: &mut [Slot]) -> u64 {
        self.mark(slots);
        slots.iter().map(|slot| u64::from(slot.is_erased())).sum()
    }

    /// The same without counting.
    pub fn mark(&self, slots: &mut [Slot]) {
        for (batch, mut mask) in slots.chunks_mut(BATCH).zip(self.0.iter().copied()) {
            while mask != 0 {
                let Some(slot) = batch.get_mut(mask.trailing_zeros() as usize) else {
                    break;
                };
                *slot = Slot::erased(slot.tx_time());
                mask &= mask - 1;
            }
        }
    }
}

pub(super) fn draw(spec: ChannelSpec, seed: u64, from: u64, len: usize) -> ErasurePiece {
    let mut piece = ErasurePiece {
        len,
        after_good: Vec::with_capacity(len.div_ceil(BATCH)),
        after_bad: Vec::new(),
        end: [ChainState { bad: false }, ChainState { bad: true }],
    };
    match spec {
        ChannelSpec::Bernoulli { p } => independent(&mut piece, Limit::new(p), seed, from),
        ChannelSpec::GilbertElliott(channel) => two_state(&mut piece, &channel, seed, from),
    }
    piece
}

/// The first unit of each batch of `len` from `from` on, and a mask of the units that belong to it.
fn batches(from: u64, len: usize) -> impl Iterator<Item = (u64, u64)> {
    (0..len).step_by(BATCH).map(move |done| {
        let units = (len - done).min(BATCH);
        (from + done as u64, u64::MAX >> (BATCH - units))
    })
}

fn independent(piece: &mut ErasurePiece, p: Limit, seed: u64, from: u64) {
    let mut erasure = Uniform::new(seed, Stream::ChannelErasure);
    let mut draws = Draws::default();
    for (first, members) in batches(from, piece.len) {
        if !p.is_certain() {
            erasure.draw(first, &mut draws);
        }
        piece.after_good.push(draws.below(p) & members);
    }
}

fn two_state(piece: &mut ErasurePiece, channel: &GilbertElliott, seed: u64, from: u64) {
    let stays = Limit::new(channel.beta);
    let enters = Limit::new(1.0 - channel.alpha);
    let starts = Limit::new(channel.p_bad_at_start());
    let mut emission = Emission::new(channel, seed);
    let mut state = Uniform::new(seed, Stream::ChannelState);
    let mut draws = Draws::default();
    let mut end = piece.end;
    for (first, members) in batches(from, piece.len) {
        if first == 0 || !(stays.is_certain() && enters.is_certain()) {
            state.draw(first, &mut draws);
        }
        let (mut stay, mut enter) = (draws.below(stays), draws.below(enters));
        if first == 0 {
            // Nothing is in front of the very first unit: it is set in either case.
            let start = draws.below(starts) & 1;
            (stay, enter) = (stay & !1 | start, enter & !1 | start);
        }
        let [good, bad] = end;
        let after_good = states(stay, enter, good);
        let met = good == bad;
        let after_bad = if met {
            after_good
        } else {
            states(stay, enter, bad)
        };
        let erased = emission.draw(first, members, after_good, after_bad);
        piece.after_good.push(erased.0);
        if !met {
            piece.after_bad.push(erased.1);
        }
        let last = members.ilog2();
        end = [after_good, after_bad].map(|states| ChainState {
            bad: states >> last & 1 == 1,
        });
    }
    piece.end = end;
}

/// Runs the chain over 64 units behind `front`: bit i says whether unit i meets the bad state.
///
/// `stay` and `enter` are made of the same draws by two limits, so one contains the other.
fn states(stay: u64, enter: u64, front: ChainState) -> u64 {
    /// Every second unit, the second one first.
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;

    let differ = stay ^ enter;
    // Where good leads to bad and bad to good the state turns round. Told for every second unit the
    // other way round, it is handed on there as well, so that one kind of chain is left.
    let turned = if enter & differ == 0 { 0 } else { ODD };
    let set = (stay & enter ^ turned) & !differ;
    let hand_on = set | differ;
    // The unit in front of the first is an odd one.
    let carry = u64::from(front.bad) ^ (turned & 0b10) >> 1;
    let sum = hand_on.wrapping_add(set).wrapping_add(carry);
    let carried_in = sum ^ hand_on ^ set;
    (set | hand_on & carried_in) ^ turned
}

/// Erasures of units whose states are known.
struct Emission {
    good: Limit,
    bad: Limit,
    erasure: Uniform,
    draws: Draws,
}

impl Emission {
    fn new(channel: &GilbertElliott, seed: u64) -> Self {
        Self {
            good: Limit::new(channel.pg),
            bad: Limit::new(channel.pb),
            erasure: Uniform::new(seed, Stream::ChannelErasure),
            draws: Draws::default(),
        }
    }

    /// What is erased of the 64 units from `first` on, for each of two paths of the chain.
    fn draw(&mut self, first: u64, members: u64, one: u64, other: u64) -> (u64, u64) {
        let open = |limit: Limit| if limit.is_certain() { 0 } else { u64::MAX };
        // A draw matters where one of the paths meets a state that does not settle the matter.
        let matters = (one | other) & open(self.bad) | !(one & other) & open(self.good);
        if matters & members != 0 {
            self.erasure.draw(first, &mut self.draws);
        }
        let (good, bad) = (self.draws.below(self.good), self.draws.below(self.bad));
        let erased = |states: u64| (states & bad | !states & good) & members;
        (erased(one), erased(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Channel, Start};
    use super::*;
    use crate::types::{Span, Time};

    /// Probabilities with the certain ones and the nearly certain ones often.
    fn probability() -> impl Strategy<Value = f64> {
        prop_oneof![
            0.0..=1.0,
            Just(0.0),
            Just(1.0),
            Just(0.5),
            0.99..1.0,
            0.0..0.01
        ]
    }

    fn spec() -> impl Strategy<Value = ChannelSpec> {
        let start = prop_oneof![Just(Start::Stationary), Just(Start::Good), Just(Start::Bad)];
        let two_state = (
            probability(),
            probability(),
            probability(),
            probability(),
            start,
        )
            .prop_map(|(alpha, beta, pg, pb, start)| GilbertElliott {
                alpha,
                beta,
                pg,
                pb,
                start,
            });
        prop_oneof![
            1 => probability().prop_map(|p| ChannelSpec::Bernoulli { p }),
            4 => two_state.prop_map(ChannelSpec::GilbertElliott),
        ]
    }

    fn slots(count: usize) -> Vec<Slot> {
        let slot = |at| Slot::new(Time::from_nanos(at)?, Span::from_millis(1));
        (0..count as u64).filter_map(slot).collect()
    }

    /// Unit after unit, with the draws of index after index: the oracle.
    fn one_by_one(spec: ChannelSpec, seed: u64, slots: &mut [Slot]) {
        let mut channel = Channel::new(spec, seed);
        for slot in slots {
            if channel.erases() {
                *slot = Slot::erased(slot.tx_time());
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_drawn_in_any_order_erase_what_the_channel_erases(
            spec in spec(),
            seed: u64,
            lengths in prop::collection::vec(prop_oneof![0usize..5, 0usize..300, Just(64), Just(128)], 1..8),
            backwards: bool,
        ) {
            let count = lengths.iter().sum();
            let mut expected = slots(count);
            one_by_one(spec, seed, &mut expected);

            let starts = lengths.iter().scan(0, |next, len| {
                *next += len;
                Some(*next - len)
            });
            let mut cuts: Vec<(usize, usize)> = starts.zip(lengths.iter().copied()).collect();
            if backwards {
                cuts.reverse();
            }
            let mut pieces: Vec<(usize, ErasurePiece)> = cuts
                .iter()
                .map(|&(from, len)| (from, Channel::piece(spec, seed, from as u64, len)))
                .collect();
            if backwards {
                pieces.reverse();
            }
            let mut found = slots(count);
            let mut chain = ChainState::default();
            let mut erased = 0;
            for (from, piece) in pieces {
                let len = piece.len();
                erased += piece.resolve(&mut chain).apply(&mut found[from..from + len]);
            }
            prop_assert_eq!(erased, expected.iter().filter(|slot| slot.is_erased()).count() as u64);
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn an_addition_runs_the_chain(draws: [u64; 4], turns: bool, bad: bool) {
            // Sparse and dense masks, one inside the other.
            let (few, many) = (draws[0] & draws[1] & draws[2], draws[0] | draws[3]);
            let (stay, enter) = if turns { (few, many) } else { (many, few) };
            let mut expected = 0;
            let mut state = bad;
            for unit in 0..64 {
                state = (if state { stay } else { enter }) >> unit & 1 == 1;
                expected |= u64::from(state) << unit;
            }
            prop_assert_eq!(states(stay, enter, ChainState { bad }), expected);
        }
    }

    #[test]
    fn a_slot_erased_before_stays_erased_and_slots_beyond_the_piece_stay() {
        let mut trace = slots(100);
        trace[3] = Slot::erased(trace[3].tx_time());
        let always = Channel::piece(ChannelSpec::Bernoulli { p: 1.0 }, 1, 0, 70);
        let never = Channel::piece(ChannelSpec::Bernoulli { p: 0.0 }, 1, 0, 100);
        let mut chain = ChainState::default();
        assert_eq!(never.resolve(&mut chain).apply(&mut trace), 1);
        assert_eq!(always.resolve(&mut chain).apply(&mut trace), 70);
        assert!(trace[..70].iter().all(Slot::is_erased));
        assert!(!trace[70..].iter().any(Slot::is_erased));
    }

    #[test]
    fn a_chain_that_never_leaves_its_state_hands_it_on_through_every_piece() {
        let spec = "gilbert-elliott:alpha=1,beta=1,start=bad".parse().unwrap();
        let mut chain = ChainState::default();
        for from in [0, 100, 1000] {
            let mut trace = slots(100);
            let piece = Channel::piece(spec, 1, from, 100);
            assert_eq!(piece.resolve(&mut chain).apply(&mut trace), 100);
        }
    }
}

//! A piece of an erasure process, drawn before the state at the end of the previous piece is known.
//!
//! 64 units are processed at a time, one per bit. For the two-state channel the draws of a batch give two masks: `stay`,
//! bad if the unit before was bad, and `enter`, bad if it was good. If they agree, the state is set regardless of what it was
//! before. If they differ, it is propagated (or inverted, if the channel is more likely to change than to stay). An adder
//! treats its carries in the same way, so one addition runs the chain over all 64 units. The paths from both initial
//! states meet at the first unit whose state is set; only the batches up to there are stored twice.

use super::{ChannelSpec, GilbertElliott, Use};
use crate::math::rng::{BATCH, Draws, Limit, Stream, Uniform};
use crate::types::Slot;

/// State of the channel between two pieces; the default is the start of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ChainState {
    /// Whether the channel was in the bad state at the last unit.
    pub(super) bad: bool,
}

/// Erasures of a piece for both states before it; made by [`super::Channel::piece`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasurePiece {
    len: usize,
    /// Erasures if the state before the piece is good, the first unit in the lowest bit.
    after_good: Vec<u64>,
    /// The same if it is bad, up to the batch in which the two paths meet.
    after_bad: Vec<u64>,
    /// State at the last unit, if that before the piece is good, and if it is bad.
    end: [ChainState; 2],
}

/// Erasures of a piece: masks of 64 units each. Bits after the end of the piece are zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasures(Vec<u64>);

impl ErasurePiece {
    /// Number of units in the piece.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the piece has no units.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// State after the piece, if that before it is good, and if it is bad.
    pub(super) fn ends(&self) -> [ChainState; 2] {
        self.end
    }

    /// Selects the erasures for the state `chain` before the piece, and sets `chain` to the state after it.
    ///
    /// Call it on the pieces in order, starting with `ChainState::default()`. It takes time in proportion to the batches in
    /// which the paths differ.
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
    /// Erases slots according to the process: the first one is unit `from` of the piece. Slots that are erased already remain
    /// so, and slots after the end of the piece are unchanged.
    pub fn mark(&self, from: usize, slots: &mut [Slot]) {
        let (mut first, mut rest) = (from, slots);
        while !rest.is_empty() {
            let Some(mask) = self.0.get(first / BATCH) else {
                break;
            };
            let (batch, after) = rest.split_at_mut(rest.len().min(BATCH - first % BATCH));
            let mut mask = mask >> (first % BATCH);
            while let Some(slot) = batch.get_mut(mask.trailing_zeros() as usize) {
                *slot = Slot::erased(slot.tx_time());
                mask &= mask - 1;
            }
            first += batch.len();
            rest = after;
        }
    }
}

/// The units `from` … `from + len − 1` of the process.
pub(super) fn draw(spec: ChannelSpec, seed: u64, used: Use, from: u64, len: usize) -> ErasurePiece {
    let mut piece = ErasurePiece {
        len,
        after_good: Vec::with_capacity(len.div_ceil(BATCH)),
        after_bad: Vec::new(),
        end: [ChainState { bad: false }, ChainState { bad: true }],
    };
    let numbers = |stream| used.numbers(seed, stream);
    match spec {
        ChannelSpec::Bernoulli { p } => independent(&mut piece, Limit::new(p), numbers, from),
        ChannelSpec::GilbertElliott(channel) => two_state(&mut piece, &channel, numbers, from),
    }
    piece
}

/// The first unit of each batch of the units `from` … `from + len − 1`, and a mask of the units in it.
fn batches(from: u64, len: usize) -> impl Iterator<Item = (u64, u64)> {
    (0..len).step_by(BATCH).map(move |done| {
        let units = (len - done).min(BATCH);
        (from + done as u64, u64::MAX >> (BATCH - units))
    })
}

fn independent(piece: &mut ErasurePiece, p: Limit, numbers: impl Fn(Stream) -> Uniform, from: u64) {
    let mut erasure = numbers(Stream::ChannelErasure);
    let mut draws = Draws::default();
    for (first, members) in batches(from, piece.len) {
        if !p.is_certain() {
            erasure.draw(first, &mut draws);
        }
        piece.after_good.push(draws.below(p) & members);
    }
}

fn two_state(
    piece: &mut ErasurePiece,
    channel: &GilbertElliott,
    numbers: impl Fn(Stream) -> Uniform,
    from: u64,
) {
    let stays = Limit::new(channel.beta);
    let enters = Limit::new(1.0 - channel.alpha);
    let starts = Limit::new(channel.p_bad_at_start());
    let mut emission = Emission::new(channel, numbers(Stream::ChannelErasure));
    let mut state = numbers(Stream::ChannelState);
    let mut draws = Draws::default();
    let mut end = piece.end;
    for (first, members) in batches(from, piece.len) {
        if first == 0 || !(stays.is_certain() && enters.is_certain()) {
            state.draw(first, &mut draws);
        }
        let mut enter = draws.below(enters);
        // Where no unit is in the bad state and none enters it, none stays in it.
        let is_good = first > 0 && enter == 0 && !end[0].bad && !end[1].bad;
        let mut stay = if is_good { 0 } else { draws.below(stays) };
        if first == 0 {
            // No unit precedes the first one: its state is set in both cases.
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

/// Runs the chain over 64 units after state `front`: bit i is set if the channel is in the bad state at unit i.
///
/// `stay` and `enter` are made from the same draws with two limits, so one contains the other.
fn states(stay: u64, enter: u64, front: ChainState) -> u64 {
    /// Every second unit, the second one first.
    const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;

    let differ = stay ^ enter;
    // Where good leads to bad and bad to good, the state is inverted. With every second unit represented by the inverse of
    // its state, it is propagated there as well, so that one case remains.
    let turned = if enter & differ == 0 { 0 } else { ODD };
    let set = (stay & enter ^ turned) & !differ;
    let propagate = set | differ;
    // The unit before the first one is odd.
    let carry = u64::from(front.bad) ^ (turned & 0b10) >> 1;
    let sum = propagate.wrapping_add(set).wrapping_add(carry);
    let carried_in = sum ^ propagate ^ set;
    (set | propagate & carried_in) ^ turned
}

/// Draws the erasures of units whose states are known.
struct Emission {
    good: Limit,
    bad: Limit,
    erasure: Uniform,
    draws: Draws,
}

impl Emission {
    fn new(channel: &GilbertElliott, erasure: Uniform) -> Self {
        Self {
            good: Limit::new(channel.pg),
            bad: Limit::new(channel.pb),
            erasure,
            draws: Draws::default(),
        }
    }

    /// Erasures of the 64 units from `first` on, for each of two paths of the chain.
    fn draw(&mut self, first: u64, members: u64, one: u64, other: u64) -> (u64, u64) {
        let open = |limit: Limit| if limit.is_certain() { 0 } else { u64::MAX };
        // A draw is needed if one of the paths is in a state whose erasure probability is neither 0 nor 1.
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

    /// Probabilities, with those at and near 0 and 1 more often.
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

    /// Reference: unit by unit, with single draws.
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
            split: prop::sample::Index,
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
            for (from, piece) in pieces {
                let len = piece.len();
                let erasures = piece.resolve(&mut chain);
                let middle = split.index(len + 1);
                let (first, second) = found[from..from + len].split_at_mut(middle);
                erasures.mark(middle, second);
                erasures.mark(0, first);
            }
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn the_addition_equals_the_chain_unit_by_unit(draws: [u64; 4], turns: bool, bad: bool) {
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
    fn erased_slots_and_slots_after_the_piece_are_unchanged() {
        let mut trace = slots(100);
        trace[3] = Slot::erased(trace[3].tx_time());
        let always = Channel::piece(ChannelSpec::Bernoulli { p: 1.0 }, 1, 0, 70);
        let never = Channel::piece(ChannelSpec::Bernoulli { p: 0.0 }, 1, 0, 100);
        let mut chain = ChainState::default();
        never.resolve(&mut chain).mark(0, &mut trace);
        always.resolve(&mut chain).mark(0, &mut trace);
        assert!(trace[..70].iter().all(Slot::is_erased));
        assert!(!trace[70..].iter().any(Slot::is_erased));
    }

    #[test]
    fn a_state_that_never_changes_passes_through_every_piece() {
        let spec = "gilbert-elliott:alpha=1,beta=1,start=bad".parse().unwrap();
        let mut chain = ChainState::default();
        for from in [0, 100, 1000] {
            let mut trace = slots(100);
            let piece = Channel::piece(spec, 1, from, 100);
            piece.resolve(&mut chain).mark(0, &mut trace);
            assert!(trace.iter().all(Slot::is_erased));
        }
    }
}

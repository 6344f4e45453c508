//! Interface of an erasure process: a text that prints itself, and a running instance that erases slots.
//!
//! Processes that advance with each unit and have two states at most are [`super::ChannelSpec`]s, which have faster loops
//! ([`super::piece`]). All others implement [`Process`].

use std::fmt::{Debug, Display};

use crate::math::rng::{Stream, Uniform};
use crate::radio::RadioChannel;
use crate::types::{BitRate, Bytes, Slot, Span};

/// The link to whose slots a process belongs. Users of the process take from it what they are not given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotLink {
    /// Rate of the user's slots, LLDU headers included.
    pub rate: BitRate,
    /// Size of an LLDU.
    pub lldu: Bytes,
    /// Header of an LLDU, part of its size; `None` if the link leaves it to its users.
    pub lldu_header: Option<Bytes>,
    /// RTT of the link, propagation only.
    pub rtt: Span,
    /// Depth of the physical-layer interleaver.
    pub interleaver: Span,
    /// Length of a trace.
    pub duration: Span,
    /// How long a slot is on air: shorter than the distance of a user's slots on a link that users share.
    pub on_air: Span,
    /// Decoding delay of a slot: interleaver and time on air.
    pub decode_delay: Span,
    /// One slot of the link in this many belongs to the user, from slot 0 on.
    pub every: u64,
}

/// Units that a process decides about. Under one seed each use has random numbers of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Slots of a forward link, or packets of a synthetic one.
    Forward,
    /// ACKs on the return path.
    Return,
    /// Feedback of a link.
    Feedback,
    /// Packets that are offered to a queue.
    Queue,
    /// Packets on the terrestrial path before a link.
    Terrestrial,
    /// Packets on the path behind a link.
    Far,
}

impl Use {
    /// The random numbers of `stream` for this use under `seed`.
    #[must_use]
    pub fn numbers(self, seed: u64, stream: Stream) -> Uniform {
        let (stream, lane) = match (self, stream) {
            (Self::Forward, stream) => (stream, 0),
            // The oldest processes have streams of their own.
            (Self::Return, Stream::ChannelState) => (Stream::ReturnState, 0),
            (Self::Return, Stream::ChannelErasure) => (Stream::ReturnErasure, 0),
            (Self::Feedback, Stream::ChannelState) => (Stream::FeedbackState, 0),
            (Self::Feedback, Stream::ChannelErasure) => (Stream::FeedbackErasure, 0),
            (Self::Return, stream) => (stream, 1),
            (Self::Feedback, stream) => (stream, 2),
            (Self::Queue, stream) => (stream, 3),
            (Self::Terrestrial, stream) => (stream, 4),
            (Self::Far, stream) => (stream, 5),
        };
        Uniform::on_lane(seed, stream, lane)
    }
}

/// An erasure process, with all of its parameters. It displays as the text that its family reads, name included.
pub trait Process: Debug + Display + Send + Sync {
    /// The process under `seed`, before its first unit.
    ///
    /// Several threads begin one each, so it should be cheap: what instances can share belongs in the process.
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing>;

    /// Probability that a unit that is on air for `on_air` is erased, if there is a closed form for it.
    fn erasure_probability(&self, on_air: Span) -> Option<f64> {
        let _ = on_air;
        None
    }

    /// Whether the times of units matter, and not only their numbers.
    fn is_timed(&self) -> bool {
        true
    }

    /// Whether two seeds may differ.
    fn is_random(&self) -> bool {
        true
    }

    /// Numbers of the units that are erased, rising, if the process is a list of them.
    fn positions(&self) -> Option<&[u64]> {
        None
    }

    /// Note of a run on the process, for units that are on air for `on_air`; empty if there is nothing to say.
    fn note(&self, on_air: Span) -> String {
        let p = self.erasure_probability(on_air);
        p.map_or_else(String::new, |p| format!("erasure probability {p:.6}"))
    }

    /// The link to whose slots the process belongs; `None` if it fits any link.
    fn link(&self) -> Option<&SlotLink> {
        None
    }

    /// Bytes of the units that the process decides about, where they are given; `None` if it fits any.
    fn unit_bytes(&self) -> Option<Bytes> {
        None
    }

    /// The radio channel whose words are the units; `None` if none is behind the process.
    fn radio(&self) -> Option<&RadioChannel> {
        None
    }
}

/// A running erasure process.
pub trait Erasing: Debug + Send {
    /// Erases those of `slots` that the process erases. The slots are consecutive units in the order of time: numbers
    /// `first`, `first` + 1, …, each on air for `on_air` from its transmission time. Slots that are erased remain so.
    ///
    /// The fate of a slot depends on its number and times alone, not on earlier calls: calls may come in any order and cut the
    /// units anywhere. Consecutive calls are the fastest.
    ///
    /// A process that also delays slots lengthens the decoding delays of those that it does not erase.
    fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]);

    /// The same for `slots` that are every `every`-th unit only: numbers `every` · `first`, `every` · (`first` + 1), …
    fn erase_every(&mut self, every: u64, first: u64, on_air: Span, slots: &mut [Slot]) {
        if every == 1 {
            return self.erase(first, on_air, slots);
        }
        for (number, slot) in (first..).zip(slots.chunks_mut(1)) {
            self.erase(number.saturating_mul(every), on_air, slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::channel::{SlotChannel, examples};
    use crate::types::Time;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// All built-in processes: pieces in any order, of any length, erase what one call for all slots erases.
        #[test]
        fn any_piece_shows_the_same_process(
            text in prop::sample::select(examples().collect::<Vec<_>>()),
            seed: u64,
            begin in 0u64..40_000_000_000,
            spacing in prop_oneof![1u64..50_000, 100_000u64..20_000_000],
            on_air in prop_oneof![Just(0u64), 1u64..30_000_000],
            pieces in prop::collection::vec((0usize..2000, 0usize..400), 1..8),
        ) {
            let process: SlotChannel = text.parse().unwrap();
            let on_air = Span::from_nanos(on_air).unwrap();
            let time = |number: u64| Time::from_nanos(begin + number * spacing).unwrap();
            let slots = |from: usize, len: usize| -> Vec<Slot> {
                let numbers = (from as u64)..(from + len) as u64;
                numbers.map(|number| Slot::new(time(number), Span::NANOSECOND).unwrap()).collect()
            };
            let mut all = slots(0, 2400);
            process.begin(seed, Use::Forward).erase(0, on_air, &mut all);
            let mut running = process.begin(seed, Use::Forward);
            for (from, len) in pieces {
                let mut piece = slots(from, len);
                running.erase(from as u64, on_air, &mut piece);
                prop_assert_eq!(&piece[..], &all[from..from + len]);
            }
            // Another seed is another process, but for those that draw nothing.
            prop_assert_eq!(process.to_string(), text);
        }

        /// A user's slots meet what they meet among the slots of all users.
        #[test]
        fn every_nth_slot_is_erased_as_among_all(
            text in prop::sample::select(examples().collect::<Vec<_>>()),
            seed: u64,
            every in 1u64..20,
            first in 0u64..1000,
        ) {
            let process: SlotChannel = text.parse().unwrap();
            let on_air = Span::from_micros(700);
            let slots = |from: u64, by: u64| -> Vec<Slot> {
                let times = (from..3000).step_by(usize::try_from(by).unwrap());
                let slot = |at| Slot::new(Time::from_nanos(at * 10_000_000).unwrap(), Span::NANOSECOND);
                times.map(|at| slot(at).unwrap()).collect()
            };
            let mut all = slots(0, 1);
            process.begin(seed, Use::Forward).erase(0, on_air, &mut all);
            let first = first / every;
            let mut some = slots(first * every, every);
            process.begin(seed, Use::Forward).erase_every(every, first, on_air, &mut some);
            for (number, slot) in (first..).zip(some) {
                let place = usize::try_from(number * every).unwrap();
                prop_assert_eq!(slot, all[place], "{} {}", text, number);
            }
        }
    }

    /// Two lanes or streams that were the same would make return losses follow those of the forward link.
    #[test]
    fn every_use_has_numbers_of_its_own() {
        let streams = [Stream::ChannelState, Stream::ChannelErasure, Stream::Fading];
        let mut seen = Vec::new();
        for used in [Use::Forward, Use::Return, Use::Feedback, Use::Queue] {
            for stream in streams {
                let first = used.numbers(1, stream).at(0).to_bits();
                assert!(!seen.contains(&first), "{used:?} {stream:?}");
                seen.push(first);
            }
        }
        // Streams older than lanes keep their numbers.
        let old = Uniform::new(1, Stream::ReturnErasure).at(0).to_bits();
        assert_eq!(seen[4], old);
    }
}

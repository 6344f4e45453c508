//! Interface of the engine: the source of its data, and the sink of its results.

use std::ops::Range;

use crate::types::{Lldu, Time};

/// Source of the data that the engine sends.
pub trait UnitSource {
    /// Whether the codewords of a super-block that is opened at `now` are known: data that arrives later cannot change them.
    /// The super-block takes at most `most` codewords. If not, the engine stops before this slot.
    ///
    /// Called before a super-block is opened.
    fn is_known(&mut self, _now: Time, _most: u32) -> bool {
        true
    }

    /// The codewords that come next at `now`: how many with the same number of data units, and that number, from 1 to `most`.
    /// `None` if nothing is queued. A source may return them one by one; it is faster to return many.
    fn next_codewords(&mut self, now: Time, most: u32) -> Option<(u32, u32)>;

    /// Takes `codewords` of the codewords that [`Self::next_codewords`] has just returned, with `data_units` each.
    fn take(&mut self, codewords: u32, data_units: u32);
}

/// A saturated sender: it always has data for a full codeword.
#[derive(Debug, Clone, Copy, Default)]
pub struct Saturated;

impl UnitSource for Saturated {
    #[inline]
    fn next_codewords(&mut self, _now: Time, most: u32) -> Option<(u32, u32)> {
        Some((u32::MAX, most))
    }

    #[inline]
    fn take(&mut self, _codewords: u32, _data_units: u32) {}
}

/// Takes what the engine did. Slots are given by their index in the slice that was passed to
/// [`Engine::advance`](super::Engine::advance).
///
/// Methods also get the source, because the fate of a codeword may change what is sent. A `Vec<Lldu>` is a sink that collects
/// the LLDUs in order.
pub trait UnitSink<S> {
    /// Whether the sink takes events. Otherwise the engine only collects [`Self::lldus`]. An engine must be driven with one
    /// kind of sink.
    const TAKES_EVENTS: bool = true;

    /// List to which LLDUs are appended when their fate and that of all LLDUs before them is known; `None` if they are not
    /// needed.
    fn lldus(&mut self) -> Option<&mut Vec<Lldu>> {
        None
    }

    /// Units were sent.
    fn sent(&mut self, _source: &mut S, _sent: &Sent) {}

    /// Data LLDUs were received in their first transmission, in these slots, and are delivered. Not called in frame ARQ.
    fn received(&mut self, _source: &mut S, _slots: Range<usize>) {}

    /// LLDUs of codewords are delivered.
    fn settled(&mut self, _source: &mut S, _settled: &Settled) {}

    /// A codeword failed: its last round ended without success in `slot`. Returns the codewords that are given up with it.
    /// Their remaining units and repeats are not sent, and nothing more is reported of them.
    fn lost(&mut self, _source: &mut S, codeword: u64, _slot: usize) -> Range<u64> {
        codeword..codeword
    }

    /// The sender needs no further round for a codeword. Only with lost feedback.
    fn acknowledged(&mut self, _source: &mut S, _acknowledged: Acknowledged) {}
}

impl<S> UnitSink<S> for Vec<Lldu> {
    const TAKES_EVENTS: bool = false;

    #[inline]
    fn lldus(&mut self) -> Option<&mut Vec<Lldu>> {
        Some(self)
    }
}

/// Units of one attempt that were sent. Codewords are numbered from 0 in the order in which they are taken from the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent {
    /// Codewords to which they belong: one, or several that the source returned together.
    pub codewords: Range<u64>,
    /// Attempt of the codewords, from 1.
    pub attempt: u32,
    /// Number of data units of a first attempt.
    pub data_units: u32,
    /// Number of units.
    pub units: u32,
    /// Slots from the first to the last of them. With interleaving some of these slots carry units of other codewords.
    pub slots: Range<usize>,
}

impl Sent {
    /// The units in the order of their codewords, which is that of their slots without interleaving: the number of the codeword
    /// and the kind of each.
    pub fn each(&self) -> impl Iterator<Item = (u64, UnitKind)> + use<> {
        let codewords = u32::try_from(self.codewords.end - self.codewords.start).unwrap_or(1);
        let [data, all] = [self.data_units, self.units].map(|units| units / codewords.max(1));
        let other = match self.attempt {
            1 => UnitKind::Repair,
            _ => UnitKind::Repeat,
        };
        self.codewords.clone().flat_map(move |codeword| {
            let kind = move |unit| if unit < data { UnitKind::Data } else { other };
            (0..all).map(move |unit| (codeword, kind(unit)))
        })
    }
}

/// LLDUs that are delivered, reported at the end of an attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settled {
    /// Codewords to which they belong: one, or several that the source returned together.
    pub codewords: Range<u64>,
    /// Attempt at whose end they are reported, from 1.
    pub attempt: u32,
    /// Slot of the last unit of the attempt.
    pub slot: usize,
    /// LLDUs received in their first transmission ([`UnitSink::received`]). Reported at the end of the first attempt.
    pub own: u32,
    /// LLDUs delivered because the codeword is decoded in this attempt.
    pub recovered: u32,
    /// Latest arrival of these LLDUs, without propagation.
    pub arrival: Time,
}

/// A decoded codeword whose acknowledgement has reached the sender, so that it needs no further round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acknowledged {
    /// Number of the codeword.
    pub codeword: u64,
    /// Time at which the feedback of the last unit of its attempt arrives: transmission time + RTT + fb. If that feedback
    /// was lost and no round is left, the time at which the timer expires.
    pub at: Time,
}

/// Kind of unit that a slot carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    /// A data unit of a first attempt.
    Data,
    /// A repair unit of a first attempt.
    Repair,
    /// A unit from the repeat queue.
    Repeat,
}

/// Source and sink of one call.
pub(super) struct Ends<'a, S, K> {
    pub(super) source: &'a mut S,
    pub(super) sink: &'a mut K,
}

impl<S, K: UnitSink<S>> Ends<'_, S, K> {
    #[inline]
    pub(super) fn sent(&mut self, sent: impl FnOnce() -> Sent) {
        if K::TAKES_EVENTS {
            self.sink.sent(self.source, &sent());
        }
    }

    #[inline]
    pub(super) fn settled(&mut self, settled: impl FnOnce() -> Settled) {
        if K::TAKES_EVENTS {
            self.sink.settled(self.source, &settled());
        }
    }
}

//! Data LLDUs in number order, from the first undecided one on.
//!
//! They are stored in a ring as the rows that will be written, so that passing them on is a copy.

use crate::types::{Fate, Lldu, Slot, Span, Time};

/// An LLDU that waits for its codeword. LLDUs of one codeword form a linked list in the ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitingLldu(
    /// Number of the LLDU, below 2^63 − 1.
    pub(super) u64,
);

impl WaitingLldu {
    /// End of a list.
    pub(super) const NONE: Self = Self(Span::MAX.as_nanos());
}

/// Size of the smallest ring, LLDUs.
const SMALLEST: usize = 1 << 10;

/// LLDUs passed on at a time, while they are in the nearest cache.
const PASSED: usize = 64;

/// Content of an empty place.
const BLANK: Lldu = Lldu {
    tx_time: Time::ZERO,
    decode_delay: Span::ZERO,
    attempts: 0,
    fate: Fate::Censored,
};

/// The ring of LLDUs that have been sent and not yet been passed on.
#[derive(Debug)]
pub(super) struct LlduRing {
    /// LLDU n is at place n modulo the length, which is a power of two.
    ///
    /// Zero attempts mean that the LLDU waits; its delay field then holds the next one of its list. With in-order delivery
    /// the delay of an LLDU that is not delivered is the time until that was known, until it is passed on.
    ring: Vec<Lldu>,
    /// Number of the first LLDU that has not been passed on.
    first: u64,
    /// Number of the next LLDU to be sent.
    next: u64,
    in_order: bool,
    /// Latest delivery so far, D of docs/schemes.md, Sec. 6.
    latest: Time,
}

/// The LLDU of a received data unit.
const fn delivered(slot: &Slot) -> Lldu {
    Lldu {
        tx_time: slot.tx_time(),
        decode_delay: slot.decode_delay(),
        attempts: 1,
        fate: Fate::Delivered,
    }
}

impl LlduRing {
    pub(super) fn new(in_order: bool) -> Self {
        Self {
            ring: vec![BLANK; SMALLEST],
            first: 0,
            next: 0,
            in_order,
            latest: Time::ZERO,
        }
    }

    /// Turns off in-order delivery.
    pub(super) fn without_order(&mut self) {
        self.in_order = false;
    }

    /// Number of the next LLDU to be sent.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Adds LLDUs of received data units, which are the first `data` of every `all` slots. They go directly to `out` if no
    /// undecided one precedes them.
    #[inline]
    pub(super) fn push_all_delivered(
        &mut self,
        slots: &[Slot],
        data: usize,
        all: usize,
        out: Option<&mut Vec<Lldu>>,
    ) {
        let blocks = slots.chunks_exact(all).map(|block| &block[..data]);
        if self.first == self.next && !self.in_order {
            self.first += (blocks.len() * data) as u64;
            self.next = self.first;
            if let Some(out) = out {
                for block in blocks {
                    out.extend(block.iter().map(delivered));
                }
            }
        } else {
            for block in blocks {
                self.push_all(block, delivered);
            }
        }
    }

    /// Adds the LLDUs of data units; those of erased units wait, each in a list of its own.
    pub(super) fn push_received_or_waiting(&mut self, slots: &[Slot]) {
        self.push_all(slots, |slot| Lldu {
            attempts: u32::from(!slot.is_erased()),
            ..delivered(slot)
        });
    }

    /// Adds the LLDUs of a codeword that is decoded at `complete` in its first attempt. In a `frame` all of them wait for
    /// that, otherwise only those of erased units.
    pub(super) fn push_all_decoded(&mut self, slots: &[Slot], complete: Time, frame: bool) {
        self.push_all(slots, |slot| {
            let mut lldu = delivered(slot);
            if frame || slot.is_erased() {
                lldu.decode_delay = complete.since(slot.tx_time());
            }
            lldu
        });
    }

    /// Adds an LLDU that waits, at the front of the list `rest`.
    pub(super) fn push_waiting(&mut self, tx_time: Time, rest: WaitingLldu) -> WaitingLldu {
        let number = self.next;
        self.push(Lldu {
            tx_time,
            decode_delay: Span::from_nanos(rest.0).unwrap_or(Span::MAX),
            ..BLANK
        });
        WaitingLldu(number)
    }

    /// Puts a waiting LLDU at the front of the list `rest`.
    pub(super) fn chain(&mut self, waiting: WaitingLldu, rest: WaitingLldu) -> WaitingLldu {
        self.entry(waiting.0).decode_delay = Span::from_nanos(rest.0).unwrap_or(Span::MAX);
        waiting
    }

    /// Censors what still waits when the trace ends at `end`: LLDUs in their first attempt.
    pub(super) fn censor_rest(&mut self, end: Time) {
        for number in self.first..self.next {
            if self.entry(number).attempts == 0 {
                self.chain(WaitingLldu(number), WaitingLldu::NONE);
                self.settle(WaitingLldu(number), end, 1, Fate::Censored);
            }
        }
    }

    /// Sets the fate of the LLDUs in a list: delivered with the last unit that the codeword needed, which arrived at `at`,
    /// or known at that time to be lost or censored. Returns their number.
    pub(super) fn settle(
        &mut self,
        mut waiting: WaitingLldu,
        at: Time,
        attempts: u32,
        fate: Fate,
    ) -> u32 {
        let mut settled = 0;
        let timed = self.in_order || fate == Fate::Delivered;
        while waiting != WaitingLldu::NONE {
            let entry = self.entry(waiting.0);
            waiting = WaitingLldu(entry.decode_delay.as_nanos());
            entry.decode_delay = if timed {
                at.since(entry.tx_time)
            } else {
                Span::ZERO
            };
            entry.attempts = attempts;
            entry.fate = fate;
            settled += 1;
        }
        settled
    }

    /// Appends to `out` the settled LLDUs up to the first one that waits.
    pub(super) fn emit(&mut self, mut out: Option<&mut Vec<Lldu>>) {
        // The usual case if slots are processed one by one.
        if self.first == self.next || self.entry(self.first).attempts == 0 {
            return;
        }
        while self.first != self.next {
            let from = place(self.first, self.ring.len());
            let straight = &self.ring[from..];
            let straight = &straight[..straight.len().min(self.len())];
            let waits = straight.iter().position(|lldu| lldu.attempts == 0);
            let settled = &straight[..waits.unwrap_or(straight.len())];
            self.first += settled.len() as u64;
            if let Some(out) = &mut out
                && self.in_order
            {
                let latest = &mut self.latest;
                out.extend(settled.iter().map(|lldu| deliver_in_order(lldu, latest)));
            } else if let Some(out) = &mut out {
                out.reserve(settled.len());
                let parts = settled.chunks(PASSED);
                parts.for_each(|part| out.extend_from_slice(part));
            }
            if waits.is_some() {
                return;
            }
        }
    }

    fn push(&mut self, lldu: Lldu) {
        self.reserve(1);
        let place = place(self.next, self.ring.len());
        self.ring[place] = lldu;
        self.next += 1;
    }

    fn push_all(&mut self, slots: &[Slot], lldu: impl Fn(&Slot) -> Lldu) {
        self.reserve(slots.len());
        let from = place(self.next, self.ring.len());
        let (wrapped, straight) = self.ring.split_at_mut(from);
        let (front, back) = slots.split_at(slots.len().min(straight.len()));
        for (places, slots) in [(straight, front), (wrapped, back)] {
            for (place, slot) in places.iter_mut().zip(slots) {
                *place = lldu(slot);
            }
        }
        self.next += slots.len() as u64;
    }

    fn entry(&mut self, number: u64) -> &mut Lldu {
        let place = place(number, self.ring.len());
        &mut self.ring[place]
    }

    fn len(&self) -> usize {
        usize::try_from(self.next - self.first).unwrap_or(usize::MAX)
    }

    /// Grows the ring so that `more` LLDUs fit.
    fn reserve(&mut self, more: usize) {
        if self.len() + more > self.ring.len() {
            self.grow((self.len() + more).next_power_of_two());
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let mut ring = vec![BLANK; places];
        for number in self.first..self.next {
            ring[place(number, places)] = self.ring[place(number, self.ring.len())];
        }
        self.ring = ring;
    }
}

/// Index of LLDU `number` in a ring of `places`, a power of two.
fn place(number: u64, places: usize) -> usize {
    usize::try_from(number & (places as u64 - 1)).unwrap_or(0)
}

/// The LLDU with the delay of in-order delivery (docs/schemes.md, Sec. 6).
fn deliver_in_order(lldu: &Lldu, latest: &mut Time) -> Lldu {
    *latest = (*latest).max(lldu.tx_time.saturating_add(lldu.decode_delay));
    Lldu {
        decode_delay: if lldu.fate == Fate::Delivered {
            latest.since(lldu.tx_time)
        } else {
            Span::ZERO
        },
        ..*lldu
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_grows_only_with_waiting_lldus() {
        let slot =
            |t: u64| Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(1).unwrap()).unwrap();
        let (mut lldus, mut out) = (LlduRing::new(false), Vec::new());
        for round in 0..50 {
            let slots: Vec<Slot> = (round * 3000..round * 3000 + 3000).map(slot).collect();
            let waiting = lldus.push_waiting(slots[0].tx_time(), WaitingLldu::NONE);
            lldus.push_all_delivered(&slots[1..], 1, 1, Some(&mut out));
            lldus.emit(Some(&mut out));
            assert_eq!(
                out.len() as u64,
                round * 3000,
                "a waiting LLDU holds back later ones"
            );
            lldus.settle(waiting, slots[1].tx_time(), 2, Fate::Delivered);
            lldus.emit(Some(&mut out));
        }
        assert_eq!(lldus.ring.len(), 4096);
        assert!(
            (0..)
                .zip(&out)
                .all(|(t, lldu)| lldu.tx_time.as_nanos() == t)
        );
    }
}

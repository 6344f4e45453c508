//! Data LLDUs in number order, from the first one whose story is not complete: a ring of rows as they
//! will be written, so that handing them over is copying them.

use crate::types::{Fate, Lldu, Slot, Span, Time};

/// An LLDU that waits for its codeword; its place in the ring names the next one of the same codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WaitingLldu(
    /// Its number, below 2^63 − 1.
    pub(super) u64,
);

impl WaitingLldu {
    /// The end of a chain.
    pub(super) const NONE: Self = Self(Span::MAX.as_nanos());
}

/// Places of the smallest ring.
const SMALLEST: usize = 1 << 10;

/// What stands in a place that holds nothing.
const BLANK: Lldu = Lldu {
    tx_time: Time::ZERO,
    decode_delay: Span::ZERO,
    attempts: 0,
    fate: Fate::Censored,
};

#[derive(Debug)]
pub(super) struct LlduRing {
    /// LLDU n is at place n modulo the length, which is a power of two.
    ///
    /// Zero attempts say that it waits; its delay then is the next one of its chain. With in-order
    /// delivery the delay of one that is not delivered tells when that was known, until it is handed
    /// over.
    ring: Vec<Lldu>,
    /// Number of the first LLDU not handed over.
    first: u64,
    /// Number of the next LLDU.
    next: u64,
    in_order: bool,
    /// The running D of link-layer.md §6.
    latest: Time,
    /// LLDUs as they are settled, in that order; none where nobody asks.
    newly_settled: Option<Vec<Settled>>,
}

/// An LLDU whose story is complete, told at once, whatever waits in front of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settled {
    /// Number of its codeword, in the order in which the codewords were taken from the source.
    pub codeword: u64,
    /// The LLDU; never censored.
    pub lldu: Lldu,
}

/// An LLDU that came through on its own.
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
            newly_settled: None,
        }
    }

    /// From now on settled LLDUs are told one by one, and none waits for another.
    pub(super) fn report_settled(&mut self) {
        self.in_order = false;
        self.newly_settled = Some(Vec::new());
    }

    /// Changes what was settled since this was asked last for an empty list.
    pub(super) fn swap_settled(&mut self, empty: &mut Vec<Settled>) {
        if let Some(news) = &mut self.newly_settled {
            std::mem::swap(news, empty);
        }
    }

    /// The number of the next LLDU.
    pub(super) fn next_number(&self) -> u64 {
        self.next
    }

    /// Adds and tells an LLDU that came through on its own.
    pub(super) fn push_delivered(&mut self, codeword: u64, slot: &Slot, out: &mut Vec<Lldu>) {
        let lldu = delivered(slot);
        if self.first == self.next && !self.in_order {
            out.push(lldu);
            self.first += 1;
            self.next = self.first;
        } else {
            self.push(lldu);
        }
        if let Some(news) = &mut self.newly_settled {
            news.push(Settled { codeword, lldu });
        }
    }

    /// Adds LLDUs that came through on their own, straight to `out` where none is in front of them.
    pub(super) fn push_all_delivered(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) {
        if self.first == self.next && !self.in_order {
            out.extend(slots.iter().map(delivered));
            self.first += slots.len() as u64;
            self.next = self.first;
        } else {
            self.push_all(slots, delivered);
        }
    }

    /// Adds LLDUs of which some came through on their own; the others wait, each on its own.
    pub(super) fn push_received_or_waiting(&mut self, slots: &[Slot]) {
        self.push_all(slots, |slot| Lldu {
            attempts: u32::from(!slot.is_erased()),
            ..delivered(slot)
        });
    }

    /// Adds the LLDUs of a codeword that is decoded at `complete` in its first attempt; except in a `frame`, those that
    /// came through on their own did not wait for that.
    pub(super) fn push_all_decoded(&mut self, slots: &[Slot], complete: Time, frame: bool) {
        self.push_all(slots, |slot| {
            let mut lldu = delivered(slot);
            if frame || slot.is_erased() {
                lldu.decode_delay = complete.since(slot.tx_time());
            }
            lldu
        });
    }

    /// Adds an LLDU that waits for its codeword, in front of `behind`.
    pub(super) fn push_waiting(&mut self, tx_time: Time, behind: WaitingLldu) -> WaitingLldu {
        let number = self.next;
        self.push(Lldu {
            tx_time,
            decode_delay: Span::from_nanos(behind.0).unwrap_or(Span::MAX),
            ..BLANK
        });
        WaitingLldu(number)
    }

    /// Puts a waiting LLDU in front of `behind`.
    pub(super) fn chain(&mut self, waiting: WaitingLldu, behind: WaitingLldu) -> WaitingLldu {
        self.entry(waiting.0).decode_delay = Span::from_nanos(behind.0).unwrap_or(Span::MAX);
        waiting
    }

    /// The trace ended at `end`; what still waits was in its first attempt.
    pub(super) fn censor_rest(&mut self, end: Time) {
        for number in self.first..self.next {
            if self.entry(number).attempts == 0 {
                self.chain(WaitingLldu(number), WaitingLldu::NONE);
                self.settle(0, WaitingLldu(number), end, 1, Fate::Censored);
            }
        }
    }

    /// What became of the LLDUs of a codeword that wait: delivered with the last unit that it needed, which arrived `at`
    /// then, or known then to be lost or censored.
    pub(super) fn settle(
        &mut self,
        codeword: u64,
        mut waiting: WaitingLldu,
        at: Time,
        attempts: u32,
        fate: Fate,
    ) {
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
            let lldu = *entry;
            if let Some(news) = &mut self.newly_settled
                && fate != Fate::Censored
            {
                news.push(Settled { codeword, lldu });
            }
        }
    }

    /// Hands over what is settled, as far as no LLDU in front of it is waiting.
    pub(super) fn emit(&mut self, out: &mut Vec<Lldu>) {
        // The usual case of a slot on its own.
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
            if self.in_order {
                let latest = &mut self.latest;
                out.extend(settled.iter().map(|lldu| deliver_in_order(lldu, latest)));
            } else {
                out.extend_from_slice(settled);
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

    /// Makes room for `more` LLDUs.
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

/// Where LLDU `number` is in a ring of `places`, a power of two.
fn place(number: u64, places: usize) -> usize {
    usize::try_from(number & (places as u64 - 1)).unwrap_or(0)
}

/// The LLDU as it is handed up in number order.
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
    fn the_ring_grows_with_what_waits_and_not_with_what_has_gone_through() {
        let slot =
            |t: u64| Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(1).unwrap()).unwrap();
        let (mut lldus, mut out) = (LlduRing::new(false), Vec::new());
        for round in 0..50 {
            let slots: Vec<Slot> = (round * 3000..round * 3000 + 3000).map(slot).collect();
            let waiting = lldus.push_waiting(slots[0].tx_time(), WaitingLldu::NONE);
            lldus.push_all_delivered(&slots[1..], &mut out);
            lldus.emit(&mut out);
            assert_eq!(
                out.len() as u64,
                round * 3000,
                "nothing passes one that waits"
            );
            lldus.settle(0, waiting, slots[1].tx_time(), 2, Fate::Delivered);
            lldus.emit(&mut out);
        }
        assert_eq!(lldus.ring.len(), 4096);
        assert!(
            (0..)
                .zip(&out)
                .all(|(t, lldu)| lldu.tx_time.as_nanos() == t)
        );
    }
}

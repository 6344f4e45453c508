//! Slots taken in slices. Every step gives what its slots give one by one (`tests/queue_driven.rs`).

use std::ops::Range;

use super::block::UnitOutcome;
use super::interface::Ends;
use super::lldu_ring::WaitingLldu;
use super::repeats::RepeatTarget;
use super::{At, Attempt, Code, Engine, Sent, Settled, UnitSink, UnitSource, Verdict};
use crate::types::{ErrorKind, Slot, Time};

/// Slots after which settled LLDUs are passed on, so that the ring does not grow with the slices.
const CHUNK: usize = 1 << 12;

/// Number of `slots` before time `ready`, ns. Slots are in order of time.
#[inline]
fn count_before(slots: &[Slot], ready: u64) -> usize {
    match slots.last() {
        Some(last) if last.tx_time().as_nanos() >= ready => {
            slots.partition_point(|slot| slot.tx_time().as_nanos() < ready)
        }
        _ => slots.len(),
    }
}

/// Number of leading `slots` that were received and are before time `ready`, ns.
fn received_run(slots: &[Slot], ready: u64) -> usize {
    slots
        .iter()
        .position(|slot| slot.is_erased() || slot.tx_time().as_nanos() >= ready)
        .unwrap_or(slots.len())
}

/// `count` as a number of units; slices and super-blocks have at most 2^24.
fn units(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl<C: Code> Engine<C> {
    /// Uses `slots`, which follow those of the last call, until `source` has nothing for a slot or does not know it yet
    /// ([`UnitSource::is_known`]). Returns the number of slots used. The result does not depend on how slots are divided into
    /// calls.
    ///
    /// # Errors
    /// A repeat would be ready after 2^63 − 1 ns. The error contains the index of the slot; LLDUs settled before it have been
    /// passed to `sink`.
    pub fn advance<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        source: &mut S,
        sink: &mut K,
    ) -> Result<usize, (usize, ErrorKind)> {
        let mut ends = Ends { source, sink };
        let mut done = 0;
        let walked = self.walk(slots, &mut done, &mut ends);
        self.lldus.emit(ends.sink.lldus());
        if K::TAKES_EVENTS {
            self.report_sent_so_far(&mut ends);
        }
        walked.map(|()| done).map_err(|kind| (done, kind))
    }

    /// Uses `slots` from index `done` on, and moves `done`.
    fn walk<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        done: &mut usize,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        while *done < slots.len() {
            let chunk = &slots[..slots.len().min(*done + CHUNK)];
            while *done < chunk.len() {
                match self.step(chunk, *done, ends) {
                    Ok(0) => return Ok(()),
                    Ok(taken) => *done += taken,
                    Err((taken, kind)) => {
                        *done += taken;
                        return Err(kind);
                    }
                }
            }
            self.lldus.emit(ends.sink.lldus());
        }
        Ok(())
    }

    /// Reports the units of the super-block under way that have been sent and not been reported.
    fn report_sent_so_far<S, K: UnitSink<S>>(&mut self, ends: &mut Ends<S, K>) {
        if !self.block.is_sent() {
            self.report_sent(0..self.block.columns, ends);
        }
    }

    /// Reports the units of first attempts of the super-block that have been sent and not been reported.
    pub(super) fn report_sent<S, K: UnitSink<S>>(
        &mut self,
        columns: Range<u32>,
        ends: &mut Ends<S, K>,
    ) {
        for column in columns {
            if let Some(sent) = self.block.report_sent(column) {
                ends.sink.sent(ends.source, &sent);
            }
        }
    }

    /// Uses the longest run of slots from index `from` on that can be handled in one step. Returns its length.
    fn step<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        ends: &mut Ends<S, K>,
    ) -> Result<usize, (usize, ErrorKind)> {
        let rest = &slots[from..];
        let now = rest[0].tx_time();
        let ready = self.repeats.next_ready;
        if now.as_nanos() >= ready {
            if K::TAKES_EVENTS {
                // Slots are reported in order.
                self.report_sent_so_far(ends);
            }
            return self.repeat(rest, from, ends);
        }
        if self.block.is_sent() {
            let (most, interleave) = (self.scheme.data_units, self.scheme.interleave);
            if !ends.source.is_known(now, interleave) {
                return Ok(0);
            }
            let Some((codewords, data_units)) = ends.source.next_codewords(now, most) else {
                return Ok(0);
            };
            let next = (codewords, data_units.clamp(1, most));
            // With lost feedback every attempt is judged.
            if self.feedback.is_none() {
                if self.scheme.units == 1 && interleave == 1 && rest[0].is_erased() {
                    let at = At {
                        index: from,
                        time: now,
                    };
                    return self.erased_single(at, ends);
                }
                let mut whole = 0;
                if !self.scheme.discards() {
                    whole = self.whole_blocks(rest, from, next, ends);
                }
                if whole == 0 && C::IS_IDEAL && interleave == 1 {
                    whole = self.decoded_codewords(rest, from, next, ends);
                }
                if whole > 0 {
                    return Ok(whole);
                }
            }
            self.block.open(interleave, |left| {
                let (codewords, data_units) = ends.source.next_codewords(now, most)?;
                let next = (codewords.min(left), data_units.clamp(1, most));
                ends.source.take(next.0, next.1);
                Some(next)
            });
        }
        self.fill(rest, from, ready, ends)
    }

    /// Sends repeats of the head of the queue; returns the number of slots used.
    fn repeat<S, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        ends: &mut Ends<S, K>,
    ) -> Result<usize, (usize, ErrorKind)> {
        let Some((target, taken, last)) = self.repeats.take(units(slots.len())) else {
            return Ok(0);
        };
        self.counts.repeated += u64::from(taken);
        let slots = &slots[..taken as usize];
        if K::TAKES_EVENTS
            && let RepeatTarget::Codeword(id) = target
        {
            let codeword = &self.codewords[id];
            ends.sent(|| Sent {
                codewords: codeword.number..codeword.number + 1,
                attempt: codeword.rounds_used.saturating_add(1),
                data_units: 0,
                units: taken,
                slots: from..from + slots.len(),
            });
        }
        self.on_repeats(target, slots, from, last, ends)
            .map_err(|kind| (slots.len() - 1, kind))?;
        Ok(slots.len())
    }

    /// Sends a codeword of one unit in the erased slot `at`.
    fn erased_single<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        at: At,
        ends: &mut Ends<S, K>,
    ) -> Result<usize, (usize, ErrorKind)> {
        ends.source.take(1, 1);
        self.counts.data += 1;
        let codeword = self.block.pass(1);
        ends.sent(|| Sent {
            codewords: codeword..codeword + 1,
            attempt: 1,
            data_units: 1,
            units: 1,
            slots: at.index..at.index + 1,
        });
        let waiting = self.lldus.push_waiting(at.time, WaitingLldu::NONE);
        // A unit that a sink may give up, or a code judge, must be stored under its number.
        let is_plain = C::IS_IDEAL && !K::TAKES_EVENTS;
        if is_plain && (self.scheme.extra == 0 || self.scheme.discards()) {
            self.repeat_single(waiting, 0, at.time)
        } else {
            let attempt = Attempt {
                codeword,
                attempt: 1,
                data_units: 1,
                units: 1,
            };
            self.arrivals.clear();
            self.arrivals.extend::<C>(std::iter::once(None));
            let verdict = self
                .arrivals
                .judge(&self.code, &attempt, &mut self.received);
            match verdict {
                Verdict::Missing(missing) => {
                    self.first_attempt_failed(&attempt, waiting, missing, at, ends)
                }
                // Never without a received unit.
                Verdict::Decoded(_) => Ok(()),
            }
        }
        .map_err(|kind| (0, kind))?;
        Ok(1)
    }

    /// Sends super-blocks whose units are all received before the next repeat. They are of the codewords that come next: how
    /// many, and their number of data units. Returns the number of slots used.
    fn whole_blocks<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        (codewords, data_units): (u32, u32),
        ends: &mut Ends<S, K>,
    ) -> usize {
        let interleave = self.scheme.interleave;
        let repair_units = self.scheme.units - self.scheme.data_units;
        let data = (data_units * interleave) as usize;
        let all = data + (repair_units * interleave) as usize;
        let most = ((codewords / interleave) as usize).saturating_mul(all);
        let slots = &slots[..slots.len().min(most)];
        if slots.len() < all {
            return 0;
        }
        let count = received_run(slots, self.repeats.next_ready) / all;
        if count == 0 {
            return 0;
        }
        let whole = &slots[..count * all];
        // Without repair units the super-blocks are one run of data.
        let (own, stride) = if data == all {
            (whole.len(), whole.len())
        } else {
            (data, all)
        };
        self.lldus
            .push_all_delivered(whole, own, stride, ends.sink.lldus());
        let codewords = self.pass(units(count) * interleave, data_units, from, ends);
        if K::TAKES_EVENTS {
            let mut arrival = Time::ZERO;
            for (block, at) in whole.chunks_exact(stride).zip((from..).step_by(stride)) {
                let arrivals = block[..own].iter().filter_map(Slot::arrival);
                arrival = arrivals.fold(arrival, Time::max);
                ends.sink.received(ends.source, at..at + own);
            }
            ends.settled(|| Settled {
                codewords,
                attempt: 1,
                slot: from + whole.len() - 1,
                own: units(count * data),
                recovered: 0,
                arrival,
            });
        }
        whole.len()
    }

    /// Sends codewords that an ideal code decodes in their first attempt before the next repeat, as [`Self::whole_blocks`]:
    /// frames, or one codeword with a data unit that may be erased.
    fn decoded_codewords<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        (codewords, data_units): (u32, u32),
        ends: &mut Ends<S, K>,
    ) -> usize {
        let all = (data_units + (self.scheme.units - self.scheme.data_units)) as usize;
        let frame = self.scheme.discards();
        let most = if frame { codewords as usize } else { 1 };
        let mut done = 0;
        for codeword in slots.chunks_exact(all).take(most) {
            if codeword[all - 1].tx_time().as_nanos() >= self.repeats.next_ready {
                break;
            }
            self.arrivals.clear();
            let arrivals = codeword.iter().map(Slot::arrival);
            self.arrivals
                .extend::<C>(arrivals.map(|arrival| arrival.map(Time::as_nanos)));
            let Some(complete) = self.arrivals.nth(data_units as usize) else {
                break;
            };
            let data = &codeword[..data_units as usize];
            self.lldus.push_all_decoded(data, complete, frame);
            let codewords = self.pass(1, data_units, from + done, ends);
            if K::TAKES_EVENTS {
                let (mut own, mut arrival) = (0, complete);
                if !frame {
                    own = Self::report_received(data, from + done, ends);
                    arrival = data
                        .iter()
                        .filter_map(Slot::arrival)
                        .fold(complete, Time::max);
                }
                ends.settled(|| Settled {
                    codewords,
                    attempt: 1,
                    slot: from + done + all - 1,
                    own,
                    recovered: data_units - own,
                    arrival,
                });
            }
            done += all;
        }
        done
    }

    /// Reports the data units that were received in `slots`, from index `from` on. Returns their number.
    fn report_received<S, K: UnitSink<S>>(
        slots: &[Slot],
        from: usize,
        ends: &mut Ends<S, K>,
    ) -> u32 {
        let (mut received, mut at) = (0, from);
        for run in slots.chunk_by(|one, next| one.is_erased() == next.is_erased()) {
            if !run[0].is_erased() {
                ends.sink.received(ends.source, at..at + run.len());
                received += run.len();
            }
            at += run.len();
        }
        units(received)
    }

    /// Takes `codewords` of `data_units` each from the source, which are sent completely in the slots from index `from` on.
    fn pass<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        codewords: u32,
        data_units: u32,
        from: usize,
        ends: &mut Ends<S, K>,
    ) -> Range<u64> {
        ends.source.take(codewords, data_units);
        let data = codewords * data_units;
        let repair = codewords * (self.scheme.units - self.scheme.data_units);
        self.counts.data += u64::from(data);
        self.counts.repair += u64::from(repair);
        let first = self.block.pass(codewords.into());
        let codewords = first..first + u64::from(codewords);
        ends.sent(|| Sent {
            codewords: codewords.clone(),
            attempt: 1,
            data_units: data,
            units: data + repair,
            slots: from..from + (data + repair) as usize,
        });
        codewords
    }

    /// Sends units of the super-block until it ends, `slots` end, or a repeat is `ready`; returns their number, at least one.
    fn fill<S, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        ready: u64,
        ends: &mut Ends<S, K>,
    ) -> Result<usize, (usize, ErrorKind)> {
        let slots = &slots[..count_before(slots, ready)];
        let mut done = 0;
        // The first repeat in an empty queue may be ready before the next slot.
        while done < slots.len() && !self.block.is_sent() && self.repeats.next_ready == ready {
            let run = self.fill_run(&slots[done..], from + done, ends);
            done += run;
            if run == 0 {
                self.fill_last(&slots[done], from + done, ends)
                    .map_err(|kind| (done, kind))?;
                done += 1;
            }
        }
        Ok(done)
    }

    /// Sends units of the super-block that end no codeword. Returns their number.
    fn fill_run<S, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        ends: &mut Ends<S, K>,
    ) -> usize {
        let (data, repair) = self.block.run();
        let (data, rest) = slots.split_at(slots.len().min(data as usize));
        let repair = &rest[..rest.len().min(repair as usize)];
        let length = data.len() + repair.len();
        if length > 0 {
            self.block.align();
            self.data_units(data);
            self.repair_units(repair);
            let indices = K::TAKES_EVENTS.then_some(from..from + length);
            self.block.advance(units(length), indices);
            if K::TAKES_EVENTS && !self.scheme.discards() {
                Self::report_received(data, from, ends);
            }
        }
        length
    }

    /// Sends the last unit of a codeword of the super-block in `slot`, which has this index, and judges the codeword.
    fn fill_last<S, K: UnitSink<S>>(
        &mut self,
        slot: &Slot,
        index: usize,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let (row, column) = self.block.next_position();
        let is_data = row < self.block.shape(column).0;
        let slots = std::slice::from_ref(slot);
        self.block.align();
        if is_data {
            self.data_units(slots);
        } else {
            self.repair_units(slots);
        }
        let indices = K::TAKES_EVENTS.then_some(index..index + 1);
        self.block.advance(1, indices);
        if K::TAKES_EVENTS {
            if is_data && !self.scheme.discards() {
                Self::report_received(slots, index, ends);
            }
            self.report_sent(column..column + 1, ends);
        }
        let time = slot.tx_time();
        self.judge_first(column, At { index, time }, ends)
    }

    /// Records data units of the super-block.
    fn data_units(&mut self, slots: &[Slot]) {
        let (outcomes, waiting) = (&mut self.block.outcomes, &mut self.block.waiting);
        if self.scheme.discards() {
            for slot in slots {
                outcomes.push(UnitOutcome::of(slot));
                *waiting = self.lldus.push_waiting(slot.tx_time(), *waiting);
            }
        } else {
            let numbers = self.lldus.next_number()..;
            outcomes.extend(
                slots
                    .iter()
                    .zip(numbers)
                    .map(|(slot, number)| UnitOutcome::of_data(slot, number)),
            );
            self.lldus.push_received_or_waiting(slots);
        }
        self.counts.data += slots.len() as u64;
    }

    /// Records repair units of the super-block.
    fn repair_units(&mut self, slots: &[Slot]) {
        let outcomes = slots.iter().map(UnitOutcome::of);
        self.block.outcomes.extend(outcomes);
        self.counts.repair += slots.len() as u64;
    }
}

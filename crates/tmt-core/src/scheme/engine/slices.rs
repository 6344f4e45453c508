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
        let (mut done, mut step) = (0, Ok(1));
        while done < slots.len() && matches!(step, Ok(1..)) {
            let chunk = &slots[..slots.len().min(done + CHUNK)];
            while done < chunk.len() && matches!(step, Ok(1..)) {
                step = self.step(chunk, done, &mut ends);
                done += step.as_ref().unwrap_or_else(|(taken, _)| taken);
            }
            self.lldus.emit(ends.sink.lldus());
        }
        step.map(|_| done).map_err(|(_, kind)| (done, kind))
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
                    return self.erased_single(
                        At {
                            index: from,
                            time: now,
                        },
                        ends,
                    );
                }
                let whole = if self.scheme.discards() {
                    self.whole_frames(rest, from, next, ends)
                } else {
                    self.whole_blocks(rest, from, next, ends)
                };
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
        // What a sink may give up, or a code judge, must be stored under its number.
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
        for block in whole.chunks_exact(stride) {
            self.lldus
                .push_all_delivered(&block[..own], ends.sink.lldus());
        }
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

    /// Sends frames that are decoded in their first attempt before the next repeat, as [`Self::whole_blocks`].
    fn whole_frames<S: UnitSource, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        (codewords, data_units): (u32, u32),
        ends: &mut Ends<S, K>,
    ) -> usize {
        let all = (data_units + (self.scheme.units - self.scheme.data_units)) as usize;
        let mut done = 0;
        for frame in slots.chunks_exact(all).take(codewords as usize) {
            if !C::IS_IDEAL || frame[all - 1].tx_time().as_nanos() >= self.repeats.next_ready {
                break;
            }
            self.arrivals.clear();
            let arrivals = frame.iter().map(|slot| slot.arrival().map(Time::as_nanos));
            self.arrivals.extend::<C>(arrivals);
            let Some(complete) = self.arrivals.nth(data_units as usize) else {
                break;
            };
            self.lldus
                .push_frame(&frame[..data_units as usize], complete);
            let codewords = self.pass(1, data_units, from + done, ends);
            done += all;
            ends.settled(|| Settled {
                codewords,
                attempt: 1,
                slot: from + done - 1,
                own: 0,
                recovered: data_units,
                arrival: complete,
            });
        }
        done
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
        let mut done = self.fill_rows(slots, from, ends);
        // The first repeat in an empty queue may be ready before the next slot.
        while done < slots.len() && !self.block.is_sent() && self.repeats.next_ready == ready {
            let at = At {
                index: from + done,
                time: slots[done].tx_time(),
            };
            self.fill_one(&slots[done], at, ends)
                .map_err(|kind| (done, kind))?;
            done += 1;
        }
        Ok(done)
    }

    /// Sends units of the super-block in rows that are the same for all codewords and end none. Returns their number.
    fn fill_rows<S, K: UnitSink<S>>(
        &mut self,
        slots: &[Slot],
        from: usize,
        ends: &mut Ends<S, K>,
    ) -> usize {
        let (data, repair) = self.block.uniform();
        let (data, rest) = slots.split_at(slots.len().min(data as usize));
        let repair = &rest[..rest.len().min(repair as usize)];
        let length = data.len() + repair.len();
        if length == 0 {
            return 0;
        }
        self.data_rows(data);
        self.block
            .outcomes
            .extend(repair.iter().map(UnitOutcome::of));
        self.counts.repair += repair.len() as u64;
        let position = self.block.position;
        self.block.position += units(length);
        if K::TAKES_EVENTS {
            let columns = self.block.columns as usize;
            for index in 0..columns.min(length) {
                let of_column = |units: usize| units.saturating_sub(index).div_ceil(columns);
                let column = (position + units(index)) % self.block.columns;
                let codeword = self.block.codeword(column);
                let last = index + (of_column(length) - 1) * columns;
                ends.sent(|| Sent {
                    codewords: codeword..codeword + 1,
                    attempt: 1,
                    data_units: units(of_column(data.len())),
                    units: units(of_column(length)),
                    slots: from + index..from + last + 1,
                });
            }
            let mut at = from;
            for run in data.chunk_by(|one, next| one.is_erased() == next.is_erased()) {
                if !run[0].is_erased() && !self.scheme.discards() {
                    ends.sink.received(ends.source, at..at + run.len());
                }
                at += run.len();
            }
        }
        length
    }

    /// Records data units of rows of the super-block that end no codeword.
    fn data_rows(&mut self, slots: &[Slot]) {
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

    /// Sends the next unit of the super-block in `slot`, which is `at`, and judges its codeword if it is the last one.
    fn fill_one<S, K: UnitSink<S>>(
        &mut self,
        slot: &Slot,
        at: At,
        ends: &mut Ends<S, K>,
    ) -> Result<(), ErrorKind> {
        let place = self.block.next_position();
        let (data_units, units) = self.block.shape(place.column);
        let is_data = place.row < data_units;
        let codeword = self.block.codeword(place.column);
        ends.sent(|| Sent {
            codewords: codeword..codeword + 1,
            attempt: 1,
            data_units: is_data.into(),
            units: 1,
            slots: at.index..at.index + 1,
        });
        self.block.skip_unsent(place);
        if is_data {
            self.data_rows(std::slice::from_ref(slot));
            if K::TAKES_EVENTS && !slot.is_erased() && !self.scheme.discards() {
                ends.sink.received(ends.source, at.index..at.index + 1);
            }
        } else {
            self.block.outcomes.push(UnitOutcome::of(slot));
            self.counts.repair += 1;
        }
        if place.row + 1 == units {
            self.judge_first(place.column, at, ends)?;
        }
        Ok(())
    }
}

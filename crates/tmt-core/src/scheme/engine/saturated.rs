//! The engine under a saturated sender: the steps of the unit-by-unit engine, taken over slices of slots.

use super::block::{SuperBlock, UnitOutcome};
use super::{Engine, Saturated};
use crate::types::{ErrorKind, Lldu, Slot};

/// Slots after which settled LLDUs are passed on, so that the ring does not grow with the slices.
const CHUNK: usize = 1 << 12;

/// Number of `slots` before time `ready`, ns. Slots are in order of time.
#[inline]
pub(super) fn count_before(slots: &[Slot], ready: u64) -> usize {
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

impl Engine {
    /// Processes `slots` as [`Engine::next_unit`] with the source [`Saturated`](super::Saturated) and
    /// [`Engine::on_outcome`] would do one by one.
    ///
    /// # Errors
    /// A repeat would be ready after 2^63 − 1 ns. The error contains the index of the slot; LLDUs settled before it are in
    /// `out`.
    #[doc(hidden)]
    pub fn run_saturated(
        &mut self,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Result<(), (usize, ErrorKind)> {
        for (number, chunk) in slots.chunks(CHUNK).enumerate() {
            let (mut at, mut walked) = (0, Ok(()));
            while at < chunk.len() && walked.is_ok() {
                match self.step(&chunk[at..], out) {
                    Ok(taken) => at += taken,
                    Err((index, kind)) => walked = Err((number * CHUNK + at + index, kind)),
                }
            }
            self.lldus.emit(out);
            walked?;
        }
        Ok(())
    }

    /// Processes the longest prefix of `slots` that can be handled in one step, and returns its length.
    fn step(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) -> Result<usize, (usize, ErrorKind)> {
        let now = slots[0].tx_time();
        let ready = self.repeats.next_ready;
        if now.as_nanos() >= ready {
            return self.repeat(slots);
        }
        if self.scheme.units == 1 && slots[0].is_erased() {
            self.counts.data += 1;
            self.on_erased_single(0, now).map_err(|kind| (0, kind))?;
            return Ok(1);
        }
        if self.scheme.units == 1 || self.block.is_sent() {
            let whole = if self.scheme.discards() {
                self.whole_frames(slots, ready)
            } else {
                self.whole_blocks(slots, ready, out)
            };
            if whole > 0 {
                return Ok(whole);
            }
            self.block.open(self.scheme.interleave, Some);
        }
        if !self.block.holes {
            return self.fill(slots, ready);
        }
        // A super-block opened for another source.
        if let Some(unit) = self.next_unit(now, &mut Saturated) {
            let outcome = self.on_outcome(unit, &slots[0], out);
            outcome.map_err(|kind| (0, kind))?;
        }
        Ok(1)
    }

    /// Sends repeats of the head of the queue; returns the number of slots used.
    fn repeat(&mut self, slots: &[Slot]) -> Result<usize, (usize, ErrorKind)> {
        let Some((target, taken, last)) = self.repeats.take(units(slots.len())) else {
            return Ok(0);
        };
        self.counts.repeated += u64::from(taken);
        let taken = taken as usize;
        self.on_repeats(target, &slots[..taken], last)
            .map_err(|kind| (taken - 1, kind))?;
        Ok(taken)
    }

    /// Sends super-blocks whose units are all received before `ready`; returns the number of slots used.
    fn whole_blocks(&mut self, slots: &[Slot], ready: u64, out: &mut Vec<Lldu>) -> usize {
        let [data, all] = match self.scheme.units {
            1 => [1, 1],
            units => {
                [self.scheme.data_units, units].map(|it| (it * self.scheme.interleave) as usize)
            }
        };
        if slots.len() < all {
            return 0;
        }
        let whole = &slots[..received_run(slots, ready) / all * all];
        if data == all {
            // Without repair units the super-blocks are one run of data.
            self.lldus.push_all_delivered(whole, out);
        } else {
            for block in whole.chunks_exact(all) {
                self.lldus.push_all_delivered(&block[..data], out);
            }
        }
        self.count_whole(whole.len() / all, data, all)
    }

    /// Sends frames that are decoded in their first attempt before `ready`; returns the number of slots used.
    fn whole_frames(&mut self, slots: &[Slot], ready: u64) -> usize {
        let (data, all) = (self.scheme.data_units, self.scheme.units);
        let (data, all) = (data as usize, all as usize);
        let mut count = 0;
        for frame in slots.chunks_exact(all) {
            if frame[all - 1].tx_time().as_nanos() >= ready {
                break;
            }
            let Some(complete) = self.complete(frame.iter(), self.scheme.data_units) else {
                break;
            };
            self.lldus.push_all_decoded(&frame[..data], complete, true);
            count += 1;
        }
        self.count_whole(count, data, all)
    }

    /// Counts the units of `count` super-blocks; returns the number of their slots.
    fn count_whole(&mut self, count: usize, data: usize, all: usize) -> usize {
        self.counts.data += (count * data) as u64;
        self.counts.repair += (count * (all - data)) as u64;
        count * all
    }

    /// Sends units of the super-block until it ends, `slots` end, or a repeat is `ready`; returns their number, at least
    /// one.
    fn fill(&mut self, slots: &[Slot], ready: u64) -> Result<usize, (usize, ErrorKind)> {
        let SuperBlock { columns, rows, .. } = self.block;
        let (last_row, end) = ((rows - 1) * columns, rows * columns);
        let from = self.block.position;
        let slots = &slots[..slots.len().min((end - from) as usize)];
        let slots = &slots[..count_before(slots, ready)];
        let data_end = (self.scheme.data_units * columns).min(last_row);
        let (data, rest) = slots.split_at(slots.len().min(data_end.saturating_sub(from) as usize));
        self.data_rows(data);
        let repair_left = last_row.saturating_sub(from.max(data_end)) as usize;
        let (repair, last) = rest.split_at(rest.len().min(repair_left));
        self.block
            .outcomes
            .extend(repair.iter().map(UnitOutcome::of));
        self.counts.repair += repair.len() as u64;
        let ahead = data.len() + repair.len();
        self.block.position += units(ahead);
        let mut done = ahead;
        for slot in last {
            let column = self.block.position - last_row;
            if self.scheme.data_units == self.scheme.units {
                self.data_rows(std::slice::from_ref(slot));
            } else {
                self.block.outcomes.push(UnitOutcome::of(slot));
                self.counts.repair += 1;
            }
            self.block.position += 1;
            self.judge_first(column, slot.tx_time())
                .map_err(|kind| (done, kind))?;
            done += 1;
            // The first repeat in an empty queue may be ready before the next slot.
            if self.repeats.next_ready != ready {
                break;
            }
        }
        Ok(done)
    }

    /// Records data units of the super-block whose codewords are not judged yet.
    fn data_rows(&mut self, slots: &[Slot]) {
        let SuperBlock {
            outcomes, waiting, ..
        } = &mut self.block;
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
}

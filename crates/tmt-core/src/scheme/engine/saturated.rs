//! The engine under a sender that always has data: the same steps as unit by unit, in runs.

use super::block::{SuperBlock, UnitOutcome};
use super::{Engine, Saturated};
use crate::types::{ErrorKind, Lldu, Slot};

/// Slots between two times of handing over what is settled, so that the ring does not grow with the
/// slices.
const CHUNK: usize = 1 << 12;

/// How many of `slots` come before `ready`, ns. Slots are in the order of their times.
#[inline]
pub(super) fn count_before(slots: &[Slot], ready: u64) -> usize {
    match slots.last() {
        Some(last) if last.tx_time().as_nanos() >= ready => {
            slots.partition_point(|slot| slot.tx_time().as_nanos() < ready)
        }
        _ => slots.len(),
    }
}

/// How many of `slots` were received, up to the first one that was not or that is not before `ready`.
fn received_run(slots: &[Slot], ready: u64) -> usize {
    slots
        .iter()
        .position(|slot| slot.is_erased() || slot.tx_time().as_nanos() >= ready)
        .unwrap_or(slots.len())
}

/// `count` as a number of units; no slice of slots and no super-block has more than 2^24.
fn units(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Engine {
    /// Takes the next slots as [`Engine::next_unit`] with the source [`Saturated`](super::Saturated)
    /// and [`Engine::on_outcome`] would one by one; appends the LLDUs whose story is complete.
    ///
    /// # Errors
    /// The index of the first slot whose repeat would be ready later than 2^63 − 1 ns. The LLDUs whose
    /// story was complete by then are in `out`.
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

    /// Takes the first of these slots, as many as go together; how many they were.
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
        // Another source has left it.
        if let Some(unit) = self.next_unit(now, &mut Saturated) {
            let outcome = self.on_outcome(unit, &slots[0], out);
            outcome.map_err(|kind| (0, kind))?;
        }
        Ok(1)
    }

    /// Repeats of the codeword at the head of the queue; how many slots they took.
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

    /// Super-blocks of which all units are received before `ready`; how many slots they took.
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
            // Without repair units they are one run.
            self.lldus.push_all_delivered(whole, out);
        } else {
            for block in whole.chunks_exact(all) {
                self.lldus.push_all_delivered(&block[..data], out);
            }
        }
        self.count_whole(whole.len() / all, data, all)
    }

    /// Frames that are decoded before `ready` in their first attempt; how many slots they took.
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

    /// Counts the units of so many super-blocks; how many slots they took.
    fn count_whole(&mut self, count: usize, data: usize, all: usize) -> usize {
        self.counts.data += (count * data) as u64;
        self.counts.repair += (count * (all - data)) as u64;
        count * all
    }

    /// The next units of the super-block, as far as it, the slots and the time before `ready` go; how
    /// many there were, which is at least one.
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

    /// Data units of the super-block, whose codewords are not judged yet.
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

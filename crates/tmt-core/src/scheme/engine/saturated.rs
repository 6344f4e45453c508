//! The machine under a sender that always has data: the same steps as unit by unit, in runs.

use super::Machine;
use super::block::{Cell, SuperBlock};
use crate::types::{ErrorKind, Lldu, Slot};

/// Slots between two times of handing over what is settled, so that the ring does not grow with the
/// slices.
const CHUNK: usize = 1 << 12;

/// How many of `slots` come before `ready`, ns. Slots are in the order of their times.
#[inline]
pub(super) fn before(slots: &[Slot], ready: u64) -> usize {
    match slots.last() {
        Some(last) if last.tx_time().as_nanos() >= ready => {
            slots.partition_point(|slot| slot.tx_time().as_nanos() < ready)
        }
        _ => slots.len(),
    }
}

/// How many of `slots` were received, up to the first one that was not or that is not before `ready`.
fn clean(slots: &[Slot], ready: u64) -> usize {
    slots
        .iter()
        .position(|slot| slot.is_erased() || slot.tx_time().as_nanos() >= ready)
        .unwrap_or(slots.len())
}

/// `count` as a number of units; no slice of slots and no super-block has more than 2^24.
fn units(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl Machine {
    /// Takes the next slots as [`Machine::next_unit`] with the source [`Saturated`](super::Saturated)
    /// and [`Machine::on_outcome`] would one by one; appends the LLDUs whose story is complete.
    ///
    /// # Errors
    /// The index of the first slot whose repeat would be ready later than 2^63 − 1 ns. The LLDUs whose
    /// story was complete by then are in `out`.
    pub fn saturated(
        &mut self,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Result<(), (usize, ErrorKind)> {
        for (number, chunk) in slots.chunks(CHUNK).enumerate() {
            let walked = if self.units == 1 {
                self.singles(chunk, out)
            } else if self.discards {
                self.codewords::<true>(chunk, out)
            } else {
                self.codewords::<false>(chunk, out)
            };
            self.pending.emit(out);
            walked.map_err(|(index, kind)| (number * CHUNK + index, kind))?;
        }
        Ok(())
    }

    /// Codewords of one unit.
    fn singles(&mut self, slots: &[Slot], out: &mut Vec<Lldu>) -> Result<(), (usize, ErrorKind)> {
        let mut at = 0;
        while at < slots.len() {
            let ready = self.repeats.next_ready();
            let run = clean(&slots[at..], ready);
            if run > 0 {
                self.pending.push_all_delivered(&slots[at..at + run], out);
                self.counts.data += run as u64;
                at += run;
                continue;
            }
            let now = slots[at].tx_time();
            if now.as_nanos() >= ready {
                at += self
                    .repeat(&slots[at..])
                    .map_err(|(i, kind)| (at + i, kind))?;
            } else {
                self.counts.data += 1;
                self.on_erased_single(0, now).map_err(|kind| (at, kind))?;
                at += 1;
            }
        }
        Ok(())
    }

    /// Codewords of more than one unit; `FRAME` says that units of one attempt alone count.
    fn codewords<const FRAME: bool>(
        &mut self,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Result<(), (usize, ErrorKind)> {
        let mut at = 0;
        while at < slots.len() {
            let rest = &slots[at..];
            let ready = self.repeats.next_ready();
            if rest[0].tx_time().as_nanos() >= ready {
                at += self.repeat(rest).map_err(|(i, kind)| (at + i, kind))?;
                continue;
            }
            if self.block.is_sent() {
                let whole = if FRAME {
                    self.whole_frames(rest, ready)
                } else {
                    self.whole_blocks(rest, ready, out)
                };
                at += whole;
                if whole > 0 {
                    continue;
                }
                self.block.open_full(self.interleave);
            }
            at += self
                .fill::<FRAME>(rest, ready, out)
                .map_err(|(i, kind)| (at + i, kind))?;
        }
        Ok(())
    }

    /// Repeats of the codeword at the head of the queue; how many slots they took.
    fn repeat(&mut self, slots: &[Slot]) -> Result<usize, (usize, ErrorKind)> {
        let Some((subject, taken, last)) = self.repeats.take(units(slots.len())) else {
            return Ok(0);
        };
        self.counts.repeated += u64::from(taken);
        let taken = taken as usize;
        self.on_repeats(subject, &slots[..taken], last)
            .map_err(|kind| (taken - 1, kind))?;
        Ok(taken)
    }

    /// Super-blocks of which all units are received before `ready`; how many slots they took.
    fn whole_blocks(&mut self, slots: &[Slot], ready: u64, out: &mut Vec<Lldu>) -> usize {
        let columns = self.interleave as usize;
        let (data, all) = (
            self.data_units as usize * columns,
            self.units as usize * columns,
        );
        if slots.len() < all {
            return 0;
        }
        let blocks = slots[..clean(slots, ready)].chunks_exact(all);
        let count = blocks.len();
        for block in blocks {
            self.pending.push_all_delivered(&block[..data], out);
        }
        self.counts.data += (count * data) as u64;
        self.counts.repair += (count * (all - data)) as u64;
        count * all
    }

    /// Frames that are decoded before `ready` in their first attempt; how many slots they took.
    fn whole_frames(&mut self, slots: &[Slot], ready: u64) -> usize {
        let (data, all) = (self.data_units as usize, self.units as usize);
        let mut count = 0;
        for frame in slots.chunks_exact(all) {
            if frame[all - 1].tx_time().as_nanos() >= ready {
                break;
            }
            let Some(complete) = self.complete(frame.iter(), self.data_units) else {
                break;
            };
            self.pending.push_all_complete(&frame[..data], complete);
            count += 1;
        }
        self.counts.data += (count * data) as u64;
        self.counts.repair += (count * (all - data)) as u64;
        count * all
    }

    /// The next units of the super-block, as far as it, the slots and the time before `ready` go; how
    /// many there were, which is at least one.
    fn fill<const FRAME: bool>(
        &mut self,
        slots: &[Slot],
        ready: u64,
        out: &mut Vec<Lldu>,
    ) -> Result<usize, (usize, ErrorKind)> {
        if !self.block.is_full() {
            return self.fill_short(slots, out);
        }
        let (last_row, end) = self.block.ends();
        let from = self.block.position();
        let slots = &slots[..slots.len().min((end - from) as usize)];
        let slots = &slots[..before(slots, ready)];
        let data_end = (self.data_units * self.block.columns()).min(last_row);
        let (data, rest) = slots.split_at(slots.len().min(data_end.saturating_sub(from) as usize));
        self.data_rows::<FRAME>(data);
        let repair_left = last_row.saturating_sub(from.max(data_end)) as usize;
        let (repair, last) = rest.split_at(rest.len().min(repair_left));
        self.block.cells.extend(repair.iter().map(Cell::of));
        self.counts.repair += repair.len() as u64;
        let ahead = data.len() + repair.len();
        self.block.advance(units(ahead));
        let mut done = ahead;
        for slot in last {
            let column = self.block.position() - last_row;
            if self.data_units == self.units {
                self.data_rows::<FRAME>(std::slice::from_ref(slot));
            } else {
                self.block.cells.push(Cell::of(slot));
                self.counts.repair += 1;
            }
            self.block.advance(1);
            self.judge_first(column, slot.tx_time())
                .map_err(|kind| (done, kind))?;
            done += 1;
            // The first repeat in an empty queue may be ready before the next slot.
            if self.repeats.next_ready() != ready {
                break;
            }
        }
        Ok(done)
    }

    /// Data units of the super-block, whose codewords are not judged yet.
    fn data_rows<const FRAME: bool>(&mut self, slots: &[Slot]) {
        let SuperBlock { cells, waiting, .. } = &mut self.block;
        if FRAME {
            for slot in slots {
                cells.push(Cell::of(slot));
                *waiting = self.pending.push_waiting(slot.tx_time(), *waiting);
            }
        } else {
            let numbers = self.pending.next_number()..;
            cells.extend(
                slots
                    .iter()
                    .zip(numbers)
                    .map(|(slot, number)| Cell::of_data(slot, number)),
            );
            self.pending.push_all_own(slots);
        }
        self.counts.data += slots.len() as u64;
    }

    /// The next unit of a super-block with short codewords, which another source has left.
    fn fill_short(
        &mut self,
        slots: &[Slot],
        out: &mut Vec<Lldu>,
    ) -> Result<usize, (usize, ErrorKind)> {
        let place = self.block.next_place();
        let kind = self.count_first(place);
        self.on_first(place, kind, &slots[0], out)
            .map_err(|kind| (0, kind))?;
        Ok(1)
    }
}

//! Super-blocks of several codewords before the next repeat. If the first attempts suffice, a super-block is computed at
//! once instead of unit by unit.

use tmt_core::types::Time;

use super::CoupledQueue;

/// Largest number of units of such a super-block. Its slots are in memory at once.
const MOST_UNITS: usize = 1 << 14;

impl CoupledQueue {
    /// Takes the super-block that is opened in the next slot at or after `from`. The engine must be between super-blocks,
    /// and later arrivals must not be able to change this one. Returns `None` if it needs repeats or is too long; nothing
    /// has then changed.
    pub(super) fn send_superblock_batch(&mut self, from: Time) -> Option<()> {
        let begin = self.slots.time_from(from)?;
        if self.engine.next_repeat().is_some_and(|at| at <= begin) {
            return None;
        }
        let most = usize::try_from(self.interleave).unwrap_or(usize::MAX);
        let codewords = self.packets.codewords_at(begin, self.data_units);
        self.block.open(codewords.take(most), self.repair_units);
        let units = self.block.units();
        if units == 0 || units > MOST_UNITS {
            return None;
        }
        let (number, slots) = self.slots.view(from, units)?;
        let slots = slots.get(..units)?;
        let engine = &mut self.engine;
        if !engine.take_super_block(&mut self.block, slots, &mut self.lldus) {
            return None;
        }
        let time = |at: usize| slots[at].tx_time();
        self.slot_usage
            .used
            .push(number..number + units as u64, time(units - 1));
        for own in self.block.own() {
            let numbers = number + own.start as u64..number + own.end as u64;
            self.slot_usage.own.push(numbers, time(own.end - 1));
        }
        for column in self.block.ended() {
            let others = column.data_units - column.own;
            if others > 0 {
                self.slot_usage
                    .delivered
                    .push_back((time(column.last), 1, others.into()));
            }
        }
        let mut column = 0;
        while let Some(columns) = self.block.columns().get(column..)
            && !columns.is_empty()
            && let Some((packet, ahead)) = self.packets.source(begin)
        {
            let codewords = columns.len().min(ahead.div_ceil(self.data_units) as usize);
            let own = &columns[..codewords];
            let data_units = own.iter().map(|codeword| codeword.data_units).sum();
            let units = own.iter().map(|codeword| u64::from(codeword.units)).sum();
            let last = own.iter().map(|codeword| codeword.last).max().unwrap_or(0);
            let arrival = own.iter().map(|codeword| codeword.arrival).max();
            let Some(tracked) = self.packets.take(codewords as u64, data_units) else {
                break;
            };
            tracked.on_arrival(arrival.unwrap_or(Time::ZERO), data_units);
            let numbers = number + column as u64..number + last as u64 + 1;
            if tracked.on_sent(units, numbers, (time(column), time(last))) {
                self.sent.push((packet, time(last)));
            }
            column += codewords;
        }
        self.slots.advance(units);
        let packets = &self.packets;
        let last_unit = |packet| {
            let tracked = packets.get(packet);
            tracked.map(|tracked| tracked.served.service.last_unit)
        };
        self.sent
            .sort_unstable_by_key(|(packet, _)| last_unit(*packet));
        self.finish_batch();
        Some(())
    }
}

//! Super-blocks of several codewords as a whole: those whose first attempts are enough, in slots before the next
//! repeat, take no step of their own for each unit.

use tmt_core::types::Time;

use super::CoupledQueue;

/// Units of the longest super-block that is taken so; its slots are held at once.
const MOST_UNITS: usize = 1 << 14;

impl CoupledQueue {
    /// Takes the super-block that would be opened in the next slot at or after `from`, where the machine stands
    /// between two and what that one takes is settled; whether it did. Nothing has changed if not.
    pub(super) fn whole(&mut self, from: Time) -> bool {
        let by_slots = !self.feedback.hears_all() || self.book.is_some();
        if by_slots || self.machine.is_under_way() {
            return false;
        }
        let Some((_, [first, ..])) = self.slots.view(from, 1) else {
            return false;
        };
        let begin = first.tx_time();
        if self.machine.next_repeat().is_some_and(|at| at <= begin) {
            return false;
        }
        let most = usize::try_from(self.interleave).unwrap_or(usize::MAX);
        let codewords = self.packets.codewords_at(begin, self.data_units);
        self.block.open(codewords.take(most), self.repair_units);
        let units = self.block.units();
        if units == 0 || units > MOST_UNITS {
            return false;
        }
        let Some((number, slots)) = self.slots.view(from, units) else {
            return false;
        };
        let Some(slots) = slots.get(..units) else {
            return false;
        };
        let taken = self
            .machine
            .take_whole(&mut self.block, slots, &mut self.lldus);
        if !taken {
            return false;
        }
        let time = |at: usize| slots[at].tx_time();
        self.account
            .on_used(number..number + units as u64, time(units - 1));
        for own in self.block.own() {
            let numbers = number + own.start as u64..number + own.end as u64;
            self.account.on_own(numbers, time(own.end - 1));
        }
        for column in self.block.ended() {
            let others = column.data_units - column.own;
            if others > 0 {
                self.account
                    .on_delivered(time(column.last), 1, others.into());
            }
        }
        let mut column = 0;
        while let Some(columns) = self.block.columns().get(column..)
            && !columns.is_empty()
            && let Some((packet, ahead)) = self.packets.source(begin)
        {
            let (mut data_units, mut units, mut codewords, mut last) = (0, 0, 0, 0);
            let mut arrival = Time::ZERO;
            for codeword in columns {
                if data_units == ahead {
                    break;
                }
                codewords += 1;
                data_units += codeword.data_units;
                units += u64::from(codeword.units);
                last = last.max(codeword.last);
                arrival = arrival.max(codeword.arrival);
            }
            let Some(flight) = self.packets.take(codewords as u64, data_units) else {
                break;
            };
            flight.on_arrival(arrival, data_units);
            let numbers = number + column as u64..number + last as u64 + 1;
            if flight.on_sent_among(units, numbers, (time(column), time(last))) {
                self.sent.push((packet, time(last)));
            }
            column += codewords;
        }
        self.slots.advance(units);
        let packets = &self.packets;
        let last_unit = |packet| {
            let flight = packets.get(packet);
            flight.map(|flight| flight.served.service.last_unit)
        };
        self.sent
            .sort_unstable_by_key(|(packet, _)| last_unit(*packet));
        self.on_stretch();
        true
    }
}

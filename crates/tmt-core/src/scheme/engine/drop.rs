//! What a link needs whose queue holds packets: to know of each LLDU at once, and to give up what is left of a packet.

use std::ops::Range;

use super::block::UnitOutcome;
use super::lldu_ring::{Settled, WaitingLldu};
use super::repeats::RepeatTarget;
use super::{Engine, Unit, UnitOrigin};
use crate::types::{Fate, Time};

impl Engine {
    /// The engine for a link that deals in packets (tcp.md §1.1): it tells each LLDU as soon as it is settled
    /// ([`Self::swap_settled`]) and leaves their order to the link, whatever the scheme says.
    ///
    /// Codewords are numbered from 0 in the order in which they are taken from the source, so long as the engine is
    /// driven unit by unit from the start.
    #[must_use]
    pub fn reporting_settled(mut self) -> Self {
        self.reports_settled = true;
        self.lldus.report_settled();
        self
    }

    /// Changes `settled`, which is empty and whose memory is used again, for the LLDUs settled since this was asked last,
    /// in the order in which they were; none unless reports_settled.
    pub fn swap_settled(&mut self, settled: &mut Vec<Settled>) {
        self.lldus.swap_settled(settled);
    }

    /// The number of the codeword whose first attempt `unit` belongs to; none for a repeat.
    ///
    /// Good until the next unit is asked for.
    #[must_use]
    pub fn codeword_of(&self, unit: &Unit) -> Option<u64> {
        match unit.origin {
            UnitOrigin::First(place) => Some(self.block.codeword(place.column)),
            UnitOrigin::Repeat(..) => None,
        }
    }

    /// The number of the codeword that `unit` is of, and in which attempt it is sent, 1 for the first transmission.
    ///
    /// Good until its outcome is handed back.
    #[must_use]
    pub fn attempt_of(&self, unit: &Unit) -> (u64, u32) {
        let (codeword, rounds) = match unit.origin {
            UnitOrigin::First(place) => (self.block.codeword(place.column), 0),
            UnitOrigin::Repeat(RepeatTarget::Codeword(id), _) => {
                let codeword = &self.codewords[id];
                (codeword.number, codeword.rounds_used)
            }
            // It is one unit only, and so numbered as that.
            UnitOrigin::Repeat(RepeatTarget::Single(waiting, rounds), _) => (waiting.0, rounds),
        };
        (codeword, rounds.saturating_add(1))
    }

    /// When the repeat at the head of the queue is ready; none where none waits.
    #[must_use]
    pub fn next_repeat(&self) -> Option<Time> {
        Time::from_nanos(self.repeats.next_ready)
    }

    /// Whether a super-block or an attempt of repeats is partly sent: what the next slot carries then does not depend
    /// on the source.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.repeats.begun || !self.block.is_sent()
    }

    /// Gives up `codewords` at `now`: their unsent units and their repeats are sent no more, and their LLDUs that are
    /// not settled are lost, in as many attempts as have been made. Data units never sent have no LLDU.
    pub fn drop_codewords(&mut self, codewords: Range<u64>, now: Time) {
        let known = &self.codewords;
        let dropped = self.repeats.drop_all(|target| match target {
            RepeatTarget::Codeword(id) => codewords.contains(&known[id].number),
            RepeatTarget::Single(waiting, _) => codewords.contains(&waiting.0),
        });
        for target in dropped {
            match target {
                // A round is counted when it is asked for, so these are the attempts before it.
                RepeatTarget::Codeword(id) => {
                    let codeword = self.codewords.remove(id);
                    let (number, attempts) = (codeword.number, codeword.rounds_used);
                    self.lldus
                        .settle(number, codeword.waiting, now, attempts, Fate::Lost);
                }
                RepeatTarget::Single(waiting, rounds) => {
                    self.lldus
                        .settle(waiting.0, waiting, now, rounds, Fate::Lost);
                }
            }
        }
        for column in self.block.drop_unsent(codewords) {
            let codeword = self.block.codeword(column);
            let mut waiting = std::mem::replace(&mut self.block.waiting, WaitingLldu::NONE);
            for erased in self.block.column(column).filter_map(UnitOutcome::waiting) {
                waiting = self.lldus.chain(erased, waiting);
            }
            self.lldus.settle(codeword, waiting, now, 1, Fate::Lost);
        }
    }
}

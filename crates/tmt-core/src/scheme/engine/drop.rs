//! Interface for the coupled link, whose queue holds packets: reports of settled LLDUs, and giving up packets
//! (docs/schemes.md, Sec. 10).

use std::ops::Range;

use super::block::UnitOutcome;
use super::lldu_ring::{Settled, WaitingLldu};
use super::repeats::RepeatTarget;
use super::{Engine, Unit, UnitOrigin};
use crate::types::{Fate, Time};

impl Engine {
    /// The same engine, reporting each LLDU as soon as it is settled ([`Self::swap_settled`]) and leaving the order of
    /// delivery to the link, even if the scheme is `in-order` (docs/schemes.md, Sec. 10.4).
    ///
    /// Codewords are numbered from 0 in the order in which they are taken from the source, if the engine is driven unit by
    /// unit from the start.
    #[must_use]
    pub fn reporting_settled(mut self) -> Self {
        self.reports_settled = true;
        self.lldus.report_settled();
        self
    }

    /// Swaps `settled`, which must be empty, for the LLDUs settled since the last call, in the order of settling. Does
    /// nothing without [`Self::reporting_settled`].
    pub fn swap_settled(&mut self, settled: &mut Vec<Settled>) {
        self.lldus.swap_settled(settled);
    }

    /// Number of the codeword to whose first attempt `unit` belongs; `None` for a repeat.
    ///
    /// Valid until the next unit is requested.
    #[must_use]
    pub fn codeword_of(&self, unit: &Unit) -> Option<u64> {
        match unit.origin {
            UnitOrigin::First(place) => Some(self.block.codeword(place.column)),
            UnitOrigin::Repeat(..) => None,
        }
    }

    /// Number of the codeword of `unit`, and the attempt in which it is sent, counted from 1.
    ///
    /// Valid until the outcome of the unit is reported.
    #[must_use]
    pub fn attempt_of(&self, unit: &Unit) -> (u64, u32) {
        let (codeword, rounds) = match unit.origin {
            UnitOrigin::First(place) => (self.block.codeword(place.column), 0),
            UnitOrigin::Repeat(RepeatTarget::Codeword(id), _) => {
                let codeword = &self.codewords[id];
                (codeword.number, codeword.rounds_used)
            }
            // The codeword is one unit, so both have the same number.
            UnitOrigin::Repeat(RepeatTarget::Single(waiting, rounds), _) => (waiting.0, rounds),
        };
        (codeword, rounds.saturating_add(1))
    }

    /// Time at which the head of the repeat queue is ready; `None` if the queue is empty.
    #[must_use]
    pub fn next_repeat(&self) -> Option<Time> {
        Time::from_nanos(self.repeats.next_ready)
    }

    /// Whether a super-block or an attempt of repeats has been sent in part. The next unit then does not depend on the
    /// source.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        self.repeats.begun || !self.block.is_sent()
    }

    /// Gives up `codewords` at `now`: their remaining units and repeats are not sent, and their undecided LLDUs are lost
    /// with the attempts made so far. Data units that were never sent have no LLDU.
    pub fn drop_codewords(&mut self, codewords: Range<u64>, now: Time) {
        let known = &self.codewords;
        let dropped = self.repeats.drop_all(|target| match target {
            RepeatTarget::Codeword(id) => codewords.contains(&known[id].number),
            RepeatTarget::Single(waiting, _) => codewords.contains(&waiting.0),
        });
        for target in dropped {
            match target {
                // A round is counted when it is requested, so this is the number of attempts before it.
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

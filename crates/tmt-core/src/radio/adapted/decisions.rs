//! The pass over the decisions of a link, which finds the runs of slots with the same MODCOD.

use super::AdaptedLink;
use super::estimates::Estimates;
use super::mode::{Mode, lldu_at_one_bit_per_s};
use crate::radio::acm::Acm;

/// A run of slots with the same MODCOD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    /// Start of its first slot, ns.
    pub(super) start: u64,
    /// Number of that slot.
    pub(super) first: u64,
    /// Index of the MODCOD.
    pub(super) modcod: usize,
}

/// The pass over the decisions.
pub(super) struct Walk {
    /// 8 · S · 10^9.
    step: u128,
    end: u64,
    period: u64,
    delay: u64,
    acm: Acm,
    estimates: Estimates,
    /// Number of the last decision, and the MODCOD.
    decided: Option<(u64, usize)>,
    pub(super) outages: u64,
    pub(super) decisions: u64,
}

impl Walk {
    /// The pass over the decisions of `acm` on `link`.
    pub(super) fn new(link: AdaptedLink, acm: Acm, estimates: Estimates) -> Self {
        Self {
            step: lldu_at_one_bit_per_s(link),
            end: link.duration.as_nanos(),
            period: acm.period.as_nanos(),
            delay: acm.delay.as_nanos(),
            acm,
            estimates,
            decided: None,
            outages: 0,
            decisions: 0,
        }
    }

    /// The MODCOD from decision `number` on. Decisions are asked for in order, each once.
    fn decide(&mut self, number: u64) -> usize {
        let time = (number * self.period).saturating_sub(self.delay);
        let usable_db = self.estimates.at(time) - self.acm.margin_db;
        let modcods = &self.acm.modcods;
        let lowest = modcods.lowest();
        self.decisions += 1;
        let down = modcods.best(usable_db);
        self.outages += u64::from(down.is_none());
        let down = down.unwrap_or(lowest);
        let up = modcods.best(usable_db - self.acm.hysteresis_db);
        let up = up.unwrap_or(lowest).min(down);
        let chosen = match self.decided {
            Some((_, current)) => current.clamp(up, down),
            None => down,
        };
        self.decided = Some((number, chosen));
        chosen
    }

    /// The MODCOD of a slot that starts at `time`, which is not before that of the last call.
    fn at(&mut self, time: u64) -> usize {
        let number = time / self.period;
        let next = self.decided.map_or(0, |(last, _)| last + 1);
        for decision in next..=number {
            self.decide(decision);
        }
        self.decided.map_or(0, |(_, modcod)| modcod)
    }

    /// All runs, and the number of slots.
    pub(super) fn runs(&mut self, modes: &[Mode]) -> (Vec<Run>, u64) {
        let mut runs: Vec<Run> = Vec::new();
        let (mut start, mut first) = (0, 0);
        while start < self.end {
            let modcod = self.at(start);
            let Some(mode) = modes.get(modcod) else {
                break;
            };
            runs.push(Run {
                start,
                first,
                modcod,
            });
            let (slots, next) = self.run(start, modcod, mode);
            start = next;
            first += slots;
        }
        (runs, first)
    }

    /// Number of slots of a run with `mode` from `start` on, and the start of the slot after it. It ends with the first slot that
    /// has another MODCOD; one that is decided and given up again between two slots does not end it.
    fn run(&mut self, start: u64, modcod: usize, mode: &Mode) -> (u64, u64) {
        loop {
            let change = self.change(modcod);
            let slots = mode.slots_before(self.step, change - start);
            let next = start.saturating_add(mode.start(self.step, slots));
            if next >= self.end || self.at(next) != modcod {
                return (slots, next);
            }
        }
    }

    /// When the next decision for another one than `modcod` is made; the end of the trace if absent.
    fn change(&mut self, modcod: usize) -> u64 {
        loop {
            let number = self.decided.map_or(0, |(last, _)| last + 1);
            let time = number.saturating_mul(self.period);
            if time >= self.end {
                return self.end;
            }
            if self.decide(number) != modcod {
                return time;
            }
        }
    }
}

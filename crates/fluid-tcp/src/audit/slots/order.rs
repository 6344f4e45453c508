//! In-order delivery with a slot log: each packet is delivered at the later of its own arrival and the delivery of the
//! packet before it; a lost packet counts with the slot that lost it (docs/schemes.md, Sec. 10.4).

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::types::Time;

use crate::audit::head::InOrder;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::row::Row;

/// The transmissions of a link in the order of their first slots.
#[derive(Debug)]
pub(super) struct Order {
    /// Which packets are in order.
    packets: InOrder,
    /// First slots of the transmissions that may have further units.
    on_link: BTreeSet<u64>,
    /// Transmissions after one of those: each row, and its arrival or the loss that later ones wait for.
    waiting: BTreeMap<u64, (Row, Time)>,
    /// Per flow, or under 0 for the whole link: the latest delivery or loss.
    latest: BTreeMap<u64, Time>,
}

impl Order {
    pub(super) fn new(packets: InOrder) -> Self {
        Self {
            packets,
            on_link: BTreeSet::new(),
            waiting: BTreeMap::new(),
            latest: BTreeMap::new(),
        }
    }

    pub(super) fn begins(&mut self, first: u64) {
        self.on_link.insert(first);
    }

    /// The transmission with this first slot has no further units. `at` is its arrival, or its loss.
    pub(super) fn ends(&mut self, first: u64, row: Row, at: Time, tally: &mut RuleTally) {
        self.on_link.remove(&first);
        self.waiting.insert(first, (row, at));
        while let Some(next) = self.waiting.first_entry()
            && self.on_link.first().is_none_or(|first| next.key() < first)
        {
            let (row, at) = next.remove();
            let scope = self.packets.scope(row.flow);
            let latest = self.latest.entry(scope).or_insert(Time::ZERO);
            let turn = at.max(*latest);
            if let Some(delivered) = row.delivered {
                let why = ", when its data is complete and its turn has come";
                let mut early = tally.at(Rule::Early, row.line);
                early.exactly("delivered", delivered, turn, why);
            }
            *latest = row.delivered.unwrap_or(turn);
        }
    }
}

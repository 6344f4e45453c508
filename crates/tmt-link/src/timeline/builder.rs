//! Building a trace from rows.

use std::sync::Arc;

use tmt_core::format::Rows;
use tmt_core::stats::{DecodeDelays, SlotRate};
use tmt_core::types::{Lldu, Slot, Span, Time};

use super::{Block, Index, Store, Timeline, Trace};

/// Builds a trace: collects rows into blocks.
#[derive(Debug, Default)]
pub struct Builder {
    /// For each block: number of LLDUs before it, and time of its last LLDU.
    blocks: Vec<(u64, Time)>,
    rows: u64,
    first: Option<Time>,
    first_lost: Option<u64>,
    rate: SlotRate,
    /// Delays of first attempts.
    delays: DecodeDelays,
    full: Vec<Block>,
    open: Option<Block>,
}

/// A timeline in memory, with the attempts of every LLDU.
impl FromIterator<Lldu> for Timeline {
    fn from_iter<I: IntoIterator<Item = Lldu>>(lldus: I) -> Self {
        let mut builder = Builder::default();
        for lldu in lldus {
            builder.lldus(&[lldu]);
        }
        builder.finish().into()
    }
}

impl Builder {
    /// Adds rows in order, with their attempts if they have any.
    pub fn rows(&mut self, rows: &Rows) {
        let mut attempts = rows.attempts.iter().copied();
        for slot in &rows.slots {
            self.push(slot.tx_time(), slot.decode_delay(), attempts.next());
        }
    }

    /// Adds LLDUs in order, with their attempts.
    pub fn lldus(&mut self, lldus: &[Lldu]) {
        for lldu in lldus {
            self.push(lldu.tx_time, lldu.decode_delay, Some(lldu.attempts));
        }
    }

    /// Adds slots in order, as rows without attempts.
    pub fn slots(&mut self, slots: &[Slot]) {
        for slot in slots {
            self.push(slot.tx_time(), slot.decode_delay(), None);
        }
    }

    /// Adds an LLDU, which must not be earlier than the previous one. A delay of zero means that it was lost.
    pub fn push(&mut self, tx_time: Time, delay: Span, attempts: Option<u32>) {
        self.first.get_or_insert(tx_time);
        if delay.is_zero() {
            self.first_lost.get_or_insert(self.rows);
        }
        self.rate.push(tx_time);
        if attempts.is_none_or(|attempts| attempts == 1) {
            self.delays.push(delay);
        }
        let open = self.open.as_mut();
        if !open.is_some_and(|open| open.push(tx_time, delay, attempts)) {
            self.close();
            self.blocks.push((self.rows, tx_time));
            let open = self.open.insert(Block::starting(tx_time));
            open.push(tx_time, delay, attempts);
        }
        if let Some((_, last)) = self.blocks.last_mut() {
            *last = tx_time;
        }
        self.rows += 1;
    }

    fn close(&mut self) {
        if let Some(mut block) = self.open.take() {
            block.shrink();
            self.full.push(block);
        }
    }

    /// Approximate memory of the full blocks that have not been taken, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.full.iter().map(Block::bytes).sum()
    }

    /// Returns the full blocks in order and removes them from the builder.
    pub fn take_full(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.full)
    }

    /// Returns all remaining blocks, including the last one, which may not be full.
    pub fn seal(&mut self) -> Vec<Block> {
        self.close();
        self.take_full()
    }

    /// Returns the trace with its blocks in memory. No blocks may have been taken before.
    #[must_use]
    pub fn finish(mut self) -> Trace {
        let blocks: Vec<Arc<Block>> = self.seal().into_iter().map(Arc::new).collect();
        self.finish_in(Arc::new(blocks))
    }

    /// Returns the trace with its blocks in `store`. All blocks must have been taken before.
    #[must_use]
    pub fn finish_in(self, store: Arc<dyn Store>) -> Trace {
        Trace {
            rate: self.rate.per_second(),
            median_delay: self.delays.median(),
            index: Index::Listed {
                blocks: self.blocks,
                first_lost: self.first_lost,
            },
            rows: self.rows,
            first: self.first,
            store,
        }
    }
}

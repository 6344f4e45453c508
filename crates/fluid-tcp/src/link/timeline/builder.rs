//! Rows to blocks.

use std::sync::Arc;

use tmt_core::format::Rows;
use tmt_core::types::{Lldu, Span, Time, to_f64};

use super::{Block, Index, Store, Timeline};

/// Rows that tell a link's rate and delay where nothing else does (tcp.md §1).
const HEAD_ROWS: u64 = 10_000;

/// A timeline in the making.
#[derive(Debug, Default)]
pub struct Builder {
    /// LLDUs in front of each block, and when its last one was sent.
    blocks: Vec<(u64, Time)>,
    rows: u64,
    first: Option<Time>,
    /// Time of the last row that tells the rate, and the delays that tell the typical one.
    head_ends: Option<Time>,
    head_delays: Vec<Span>,
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
        builder.finish()
    }
}

impl Builder {
    /// Adds rows in their order.
    pub fn rows(&mut self, rows: &Rows) {
        let mut attempts = rows.attempts.iter().copied();
        for slot in &rows.slots {
            self.push(slot.tx_time(), slot.decode_delay(), attempts.next());
        }
    }

    /// Adds LLDUs in their order, all of them with their attempts.
    pub fn lldus(&mut self, lldus: &[Lldu]) {
        for lldu in lldus {
            self.push(lldu.tx_time, lldu.decode_delay, Some(lldu.attempts));
        }
    }

    /// Adds an LLDU that was not sent before the last one; a delay of zero says that it was lost.
    pub fn push(&mut self, tx_time: Time, delay: Span, attempts: Option<u32>) {
        if self.rows < HEAD_ROWS {
            self.first.get_or_insert(tx_time);
            self.head_ends = Some(tx_time);
            if !delay.is_zero() {
                self.head_delays.push(delay);
            }
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

    /// Memory that the blocks take which are full and were not taken, more or less.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.full.iter().map(Block::bytes).sum()
    }

    /// Takes the blocks that are full, in their order.
    pub fn take_full(&mut self) -> Vec<Block> {
        std::mem::take(&mut self.full)
    }

    /// Takes all blocks that are left, the last one too.
    pub fn seal(&mut self) -> Vec<Block> {
        self.close();
        self.take_full()
    }

    /// The timeline in memory; of blocks that were not taken.
    #[must_use]
    pub fn finish(mut self) -> Timeline {
        let blocks: Vec<Arc<Block>> = self.seal().into_iter().map(Arc::new).collect();
        self.finish_in(Arc::new(blocks))
    }

    /// The timeline whose blocks, all of them taken, are in `store`.
    #[must_use]
    pub fn finish_in(mut self, store: Arc<dyn Store>) -> Timeline {
        let ends = self.head_ends.zip(self.first);
        let length = ends.map_or(Span::ZERO, |(end, first)| end.since(first));
        let steps = self.rows.min(HEAD_ROWS).saturating_sub(1);
        let delays = &mut self.head_delays;
        let middle = delays.len().saturating_sub(1) / 2;
        Timeline {
            rate: (!length.is_zero()).then(|| to_f64(steps) / length.as_secs_f64()),
            median_delay: (!delays.is_empty()).then(|| *delays.select_nth_unstable(middle).1),
            index: Index::Listed(self.blocks),
            rows: self.rows,
            first: self.first,
            store,
        }
    }
}

//! A link-layer timeline in memory, as the timeline link needs it.

use tmt_core::slot::Lldu;
use tmt_core::text::Rows;
use tmt_core::units::{Span, Time, to_f64};

/// Rows that tell a link's rate where nothing else does (tcp.md §1).
const RATE_ROWS: usize = 10_000;

/// The data LLDUs of a timeline: when each was sent, when it was delivered, in which attempt.
#[derive(Debug, Clone, Default)]
pub struct Timeline {
    tx_time: Vec<Time>,
    /// Zero where the LLDU was lost.
    delay: Vec<Span>,
    /// Empty where the timeline has no such column.
    attempts: Vec<u32>,
}

impl Timeline {
    /// Adds rows in their order.
    pub fn extend(&mut self, rows: &Rows) {
        self.tx_time
            .extend(rows.slots.iter().map(tmt_core::slot::Slot::tx_time));
        self.delay
            .extend(rows.slots.iter().map(tmt_core::slot::Slot::decode_delay));
        self.attempts.extend_from_slice(&rows.attempts);
    }

    /// Adds LLDUs in their order, all of them with their attempts.
    pub fn extend_lldus(&mut self, lldus: &[Lldu]) {
        self.tx_time.extend(lldus.iter().map(|lldu| lldu.tx_time));
        self.delay
            .extend(lldus.iter().map(|lldu| lldu.decode_delay));
        self.attempts.extend(lldus.iter().map(|lldu| lldu.attempts));
    }

    /// Number of LLDUs.
    #[must_use]
    pub fn len(&self) -> usize {
        self.tx_time.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tx_time.is_empty()
    }

    /// Transmission times, which never go back.
    #[must_use]
    pub fn tx_times(&self) -> &[Time] {
        &self.tx_time
    }

    /// Transmission time of LLDU `index`.
    #[must_use]
    pub fn tx_time(&self, index: usize) -> Time {
        self.tx_time[index]
    }

    /// Delay of LLDU `index`; none where it was lost.
    #[must_use]
    pub fn delay(&self, index: usize) -> Option<Span> {
        Some(self.delay[index]).filter(|delay| !delay.is_zero())
    }

    /// Attempts LLDU `index` took; none where the timeline does not tell.
    #[must_use]
    pub fn attempts(&self, index: usize) -> Option<u32> {
        self.attempts.get(index).copied()
    }

    /// Time of the first LLDU.
    #[must_use]
    pub fn first(&self) -> Option<Time> {
        self.tx_time.first().copied()
    }

    /// Time of the last LLDU.
    #[must_use]
    pub fn last(&self) -> Option<Time> {
        self.tx_time.last().copied()
    }

    /// LLDUs a second over the first 10 000 rows; none for fewer than two rows, or rows at one instant.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        let rows = self.len().min(RATE_ROWS);
        let length = self.tx_time.get(rows.checked_sub(1)?)?.since(self.first()?);
        (!length.is_zero()).then(|| to_f64(rows as u64 - 1) / length.as_secs_f64())
    }

    /// Median delay of the delivered LLDUs among the first 10 000.
    #[must_use]
    pub fn median_delay(&self) -> Option<Span> {
        let mut delays: Vec<Span> = self
            .delay
            .iter()
            .take(RATE_ROWS)
            .copied()
            .filter(|delay| !delay.is_zero())
            .collect();
        if delays.is_empty() {
            return None;
        }
        let middle = (delays.len() - 1) / 2;
        Some(*delays.select_nth_unstable(middle).1)
    }
}

//! The two nouns of a trace: the slot that was sent, and the LLDU that came of it.

use crate::types::{Span, Time};

/// One physical-layer data unit of a PHY trace (link-layer.md §1): slot j with t_j and d_j.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    tx_time: Time,
    /// Zero says erased, as in the files: half of a multi-GB trace's memory would be an `Option`'s tag.
    decode_delay: Span,
}

impl Slot {
    /// A slot sent at `tx_time`; `decode_delay` zero says that it was erased.
    ///
    /// `None` where `tx_time + decode_delay` is past 2^63 − 1 ns.
    #[must_use]
    pub fn new(tx_time: Time, decode_delay: Span) -> Option<Self> {
        let arrival = tx_time.checked_add(decode_delay);
        arrival.is_some().then_some(Self {
            tx_time,
            decode_delay,
        })
    }

    /// A slot whose unit was erased.
    #[must_use]
    pub const fn erased(tx_time: Time) -> Self {
        Self {
            tx_time,
            decode_delay: Span::ZERO,
        }
    }

    /// Transmission time t_j.
    #[must_use]
    pub const fn tx_time(&self) -> Time {
        self.tx_time
    }

    /// Decoding delay d_j without propagation; zero where the slot was erased.
    #[must_use]
    pub const fn decode_delay(&self) -> Span {
        self.decode_delay
    }

    /// Whether the unit was erased.
    #[must_use]
    pub const fn is_erased(&self) -> bool {
        self.decode_delay.is_zero()
    }

    /// Arrival t_j + d_j at the far link layer, propagation left out; `None` where it was erased.
    #[must_use]
    pub fn arrival(&self) -> Option<Time> {
        (!self.is_erased()).then(|| self.tx_time.saturating_add(self.decode_delay))
    }
}

/// What became of a data LLDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It reached the far link layer.
    Delivered,
    /// Its codeword failed in the last round it was allowed.
    Lost,
    /// The trace ended before its codeword was judged (link-layer.md §5).
    Censored,
}

/// One data LLDU of a link-layer timeline (link-layer.md §4 and §7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lldu {
    /// Time of its first transmission, t_i.
    pub tx_time: Time,
    /// Delay from `tx_time` to its delivery, propagation left out; zero unless delivered.
    pub decode_delay: Span,
    /// Attempts its codeword took, 1 where the first transmission did.
    pub attempts: u32,
    /// What became of it.
    pub fate: Fate,
}

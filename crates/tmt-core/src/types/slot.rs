//! Rows of a PHY trace ([`Slot`]) and of a timeline ([`Lldu`]).

use crate::types::{Span, Time};

/// A slot of a PHY trace: slot j with transmission time t_j and decoding delay d_j (docs/trace-format.md, Sec. 1).
///
/// ```
/// use tmt_core::{Slot, Span, Time};
///
/// let received = Slot::new(Time::ZERO, Span::from_millis(36)).ok_or("past 2^63 - 1 ns")?;
/// assert_eq!(received.arrival(), Some(Time::ZERO.saturating_add(Span::from_millis(36))));
/// let erased = Slot::erased(Time::ZERO);
/// assert!(erased.is_erased() && erased.arrival().is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    tx_time: Time,
    /// Zero means erased, as in the files. An `Option` would add half to the memory of a trace.
    decode_delay: Span,
}

impl Slot {
    /// Decoding delay of a slot that was received, if nothing is known about it (docs/trace-format.md, Sec. 3): 1 ns, since
    /// zero means erased.
    pub const UNKNOWN_DELAY: Span = Span::NANOSECOND;

    /// A slot sent at `tx_time`; a `decode_delay` of zero means that its unit was erased.
    ///
    /// `None` if `tx_time + decode_delay` is above 2^63 − 1 ns.
    #[must_use]
    #[inline]
    pub fn new(tx_time: Time, decode_delay: Span) -> Option<Self> {
        let arrival = tx_time.checked_add(decode_delay);
        arrival.map(|_| Self::unchecked(tx_time, decode_delay))
    }

    /// The slot of two values whose sum is known to be at most 2^63 − 1 ns.
    #[inline]
    pub(crate) fn unchecked(tx_time: Time, decode_delay: Span) -> Self {
        debug_assert!(
            tx_time.checked_add(decode_delay).is_some(),
            "above the range"
        );
        Self {
            tx_time,
            decode_delay,
        }
    }

    /// A slot sent at `tx_time` whose unit was erased.
    #[must_use]
    #[inline]
    pub const fn erased(tx_time: Time) -> Self {
        Self {
            tx_time,
            decode_delay: Span::ZERO,
        }
    }

    /// Transmission time t_j, at which the slot starts.
    #[must_use]
    #[inline]
    pub const fn tx_time(&self) -> Time {
        self.tx_time
    }

    /// Decoding delay d_j, propagation excluded; zero if the unit was erased.
    #[must_use]
    #[inline]
    pub const fn decode_delay(&self) -> Span {
        self.decode_delay
    }

    /// Whether the unit was erased, that is, not decoded by the receiver.
    #[must_use]
    #[inline]
    pub const fn is_erased(&self) -> bool {
        self.decode_delay.is_zero()
    }

    /// Arrival t_j + d_j at the receiver's link layer, propagation excluded; `None` if the unit was erased.
    #[must_use]
    #[inline]
    pub fn arrival(&self) -> Option<Time> {
        (!self.is_erased()).then(|| self.tx_time.saturating_add(self.decode_delay))
    }
}

/// Fate of a data LLDU (docs/schemes.md, Sec. 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It was passed to the user of the link at the receiver.
    Delivered,
    /// Its codeword failed and has no round left.
    Lost,
    /// The trace ended before its codeword was judged (docs/schemes.md, Sec. 7).
    Censored,
}

/// A data LLDU of a timeline (docs/schemes.md, Sec. 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lldu {
    /// Time of its first transmission, t_i.
    pub tx_time: Time,
    /// Delay from `tx_time` until delivery, propagation excluded; zero unless delivered.
    pub decode_delay: Span,
    /// Attempts that its codeword took; 1 if the first transmission was enough.
    pub attempts: u32,
    /// Whether it was delivered, lost or censored.
    pub fate: Fate,
}

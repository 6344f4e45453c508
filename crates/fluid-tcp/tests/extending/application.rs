//! Bursts of data with pauses between them.

use fluid_tcp::endpoint::{Application, Supply};
use tmt_core::types::{Bytes, Span, Time};

#[derive(Debug)]
pub(crate) struct OnOff {
    /// Data of a burst: so many pieces of this size, `spacing` apart.
    pub(crate) pieces: u32,
    pub(crate) piece: Bytes,
    pub(crate) spacing: Span,
    /// From the last piece of a burst to the first of the next one.
    pub(crate) pause: Span,
    /// Number of bursts that are left, and of pieces that are left of this one.
    pub(crate) bursts: u32,
    pub(crate) left: u32,
    /// Time of the next piece.
    pub(crate) next: Time,
}

impl Application for OnOff {
    fn supply(&mut self, now: Time) -> Supply {
        if self.bursts == 0 {
            return Supply::Ended;
        }
        if now < self.next {
            return Supply::At(self.next);
        }
        self.left -= 1;
        let gap = if self.left == 0 {
            self.bursts -= 1;
            self.left = self.pieces;
            self.pause
        } else {
            self.spacing
        };
        self.next = self.next.saturating_add(gap);
        Supply::Data(self.piece)
    }
}

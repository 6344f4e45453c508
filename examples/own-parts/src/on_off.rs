//! An on–off source: a datum of constant size at constant intervals while it is on, nothing while it is off.

use fluid_tcp::endpoint::{Application, Supply};
use tmt_core::types::{Bytes, Span, Time};

#[derive(Debug)]
pub(crate) struct OnOff {
    pub(crate) size: Bytes,
    pub(crate) interval: Span,
    pub(crate) on: Span,
    pub(crate) off: Span,
    /// Time of the next datum, and begin of the period that it belongs to.
    pub(crate) next: Time,
    pub(crate) begin: Time,
}

impl Application for OnOff {
    fn supply(&mut self, now: Time) -> Supply {
        if now < self.next {
            return Supply::At(self.next);
        }
        self.next = self.next.saturating_add(self.interval);
        let ends = self.begin.saturating_add(self.on);
        if self.next >= ends {
            self.begin = ends.saturating_add(self.off);
            self.next = self.begin;
        }
        Supply::Data(self.size)
    }
}

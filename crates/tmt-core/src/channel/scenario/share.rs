//! A user's share of the slots of a link.

use super::super::process::Erasing;
use crate::types::{Slot, Span};

/// The process of a link on the slots of one of its users, every n-th from slot 0 on.
///
/// The user's slot k is slot n · k of the link, so that the user's slots are those that a trace of all slots has.
#[derive(Debug)]
pub(super) struct Share {
    link: Box<dyn Erasing>,
    every: u64,
    on_air: Span,
}

impl Share {
    /// Every `every`-th unit of `link`, whose units are on air for `on_air`.
    pub(super) fn new(link: Box<dyn Erasing>, every: u64, on_air: Span) -> Self {
        Self {
            link,
            every,
            on_air,
        }
    }
}

impl Erasing for Share {
    /// The time on air is that of the link: a user's slots are further apart than they are long.
    fn erase(&mut self, first: u64, _: Span, slots: &mut [Slot]) {
        self.link.erase_every(self.every, first, self.on_air, slots);
    }
}

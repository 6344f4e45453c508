//! The channel as a whole against its contract, docs/channels.md, Sec. 8.

mod erasures;
mod levels;
mod lutz;
mod words;

use super::*;
use crate::types::{Slot, Span, Time};

/// A channel of the contract's simulations: the three-state sets without transitions, P.681 with them.
fn channel(text: &str) -> RadioChannel {
    let mut parameters: LandMobile = text.parse().unwrap();
    if parameters.set().unwrap().is_three_state() {
        parameters.cross_fade = 0.0;
    }
    RadioChannel::new(&parameters).unwrap()
}

/// Slots `from` … `to` − 1, one every `every`.
fn slots(from: u64, to: u64, every: Span) -> Vec<Slot> {
    let slot = |at| {
        Slot::new(
            Time::from_nanos(at * every.as_nanos())?,
            Span::from_millis(36),
        )
    };
    (from..to).filter_map(slot).collect()
}

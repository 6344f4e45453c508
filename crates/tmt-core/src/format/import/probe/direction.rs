//! Which way of a round trip a trace describes, of formats that measure each way.

use super::super::{Given, Key, Remark, ValueKind};
use super::ROUND_TRIP;
use crate::types::Metadata;

/// Key of the direction.
pub(in super::super) const DIRECTION: Key = Key::new(
    "direction",
    ValueKind::OneOf(&["up", "down", "round-trip"]),
    "which packets are probes: those to the server (up), its answers (down), with one-way delays, which need synchronised \
     clocks; or both (round-trip), with half of the round trip as the delay [default: round-trip]",
);

/// Which way of a round trip a trace describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
    /// Both.
    RoundTrip,
}

impl Direction {
    /// The direction that `settings` choose; round trips, unless it is given.
    pub(in super::super) fn of(settings: &Given) -> Self {
        match settings.text(DIRECTION.name) {
            Some("up") => Self::Up,
            Some("down") => Self::Down,
            _ => Self::RoundTrip,
        }
    }

    /// The direction of `settings`, which it completes: an assumption is told, and round trips are halved.
    pub(in super::super) fn complete(settings: &mut Given, note: &mut dyn FnMut(Remark)) -> Self {
        let words = "both ways together are taken as the probe; half of the round trip is taken as the one-way delay";
        settings.assume(DIRECTION.name, "round-trip", words, note);
        let direction = Self::of(settings);
        if direction == Self::RoundTrip {
            settings.set(ROUND_TRIP.name, "");
        }
        direction
    }

    /// Writes a one-way direction to the head.
    pub(in super::super) fn describe(self, head: &mut Metadata) {
        let words = match self {
            Self::Up => "up, from the client to the server",
            Self::Down => "down, from the server to the client",
            Self::RoundTrip => return,
        };
        head.set("direction", words);
    }
}

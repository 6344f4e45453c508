//! Packets on the paths beside the link: between the senders and the gateway, and behind the link.

use strum::IntoStaticStr;
use tmt_core::stats::distribution::Distribution;
use tmt_core::types::Span;
use tmt_link::Usage;

/// A path beside the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Side {
    /// Between the senders and the gateway.
    Terrestrial,
    /// Behind the link, before the receivers.
    Far,
}

impl Side {
    /// Both, along the path.
    pub const ALL: [Self; 2] = [Self::Terrestrial, Self::Far];
}

/// Counts of a flow, or of several, on one side.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Met {
    /// Sum of the times at its hops over the transmissions that arrived, ns.
    pub(crate) delay: u128,
    /// Transmissions that its queue dropped, that were lost there, and that its queue marked.
    pub(crate) dropped: u64,
    pub(crate) lost: u64,
    pub(crate) marked: u64,
}

impl Met {
    fn and(self, other: Self) -> Self {
        Self {
            delay: self.delay + other.delay,
            dropped: self.dropped + other.dropped,
            lost: self.lost + other.lost,
            marked: self.marked + other.marked,
        }
    }
}

/// Counts of flows on both sides; `None` on a side without hops.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Beside([Option<Met>; 2]);

impl Beside {
    /// Nothing met yet, on the sides that have hops; `None` if none has.
    pub(crate) fn of(sides: [bool; 2]) -> Option<Box<Self>> {
        let met = sides.map(|has_hops| has_hops.then(Met::default));
        sides.contains(&true).then(|| Box::new(Self(met)))
    }

    /// Nothing met yet, on the same sides.
    pub(crate) fn empty(&self) -> Self {
        Self(self.0.map(|met| met.map(|_| Met::default())))
    }

    /// Counts on a side.
    pub(crate) fn on(&self, side: Side) -> Option<&Met> {
        self.0[side as usize].as_ref()
    }

    /// The same, to be counted.
    pub(crate) fn count(&mut self, side: Side) -> Option<&mut Met> {
        self.0[side as usize].as_mut()
    }

    /// Sums.
    pub(crate) fn and(&self, other: &Self) -> Self {
        let sum = |side: usize| match (self.0[side], other.0[side]) {
            (Some(one), Some(other)) => Some(one.and(other)),
            (one, other) => one.or(other),
        };
        Self([sum(0), sum(1)])
    }

    /// Transmissions that were dropped or lost on either side.
    pub(crate) fn gone(&self) -> u64 {
        let met = self.0.iter().flatten();
        met.map(|met| met.dropped + met.lost).sum()
    }

    /// Sum of the times at all hops over the transmissions that arrived, ns.
    pub(crate) fn delay(&self) -> u128 {
        self.0.iter().flatten().map(|met| met.delay).sum()
    }
}

/// Times at the hops of both sides of a transmission that arrived.
pub(crate) type Delays = [Span; 2];

/// Use of a side, and the times that packets waited there.
#[derive(Debug)]
pub(crate) struct SideUse<'a> {
    pub(crate) usage: Usage,
    pub(crate) waits: &'a Distribution,
}

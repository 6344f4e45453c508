//! State of the hops beside the gateway.

use std::collections::{HashMap, HashSet};

use tmt_core::stats::distribution::Distribution;
use tmt_core::types::{Span, Time};
use tmt_link::Packet;
use tmt_link::hop::{AnyHop, AttachError, Hop};

use crate::simulation::Setup;
use crate::simulation::beside::{Delays, Side, SideUse};
use crate::simulation::delay::DelayParts;

/// Values up to which the waiting times are exact, and buckets above it.
const EXACT_WAITS: usize = 1 << 16;
const BUCKETS_OF_WAITS: usize = 1 << 13;

/// A packet between the gateway and its receiver.
#[derive(Debug, Clone, Copy)]
struct Behind {
    /// Time at which it reached the gateway.
    enqueued: Time,
    /// Parts of its delay up to the end of the gateway's link.
    parts: DelayParts,
    /// Time at the hops behind the link, once it has passed them.
    far: Span,
}

/// State of the hops beside the gateway. Hops are numbered from 0 along the path, the gateway included.
#[derive(Debug, Default)]
pub(super) struct SideHops {
    pub(super) hops: Vec<AnyHop>,
    /// Time of the scheduled event of each.
    pub(super) alarms: Vec<Option<Time>>,
    /// Number of hops before the gateway.
    before: usize,
    /// Packets between the gateway and the receiver, by number.
    behind: HashMap<u64, Behind>,
    /// Packets that a queue is known to have marked, so that each mark counts once.
    marked: HashSet<u64>,
    /// Times that packets waited for their service on each side; `None` without hops.
    waits: [Option<Distribution>; 2],
}

impl SideHops {
    /// The hops of the side paths of `setup`, and others between them and the gateway.
    pub(super) fn new(
        setup: &Setup,
        mut before: Vec<Box<dyn Hop>>,
        mut after: Vec<Box<dyn Hop>>,
    ) -> Result<Self, AttachError> {
        let [terrestrial, far] = &setup.side_paths;
        // The gateway has number 0.
        if let Some(path) = terrestrial {
            before.insert(0, path.hop(setup.packet, 1, setup.seed, setup.begin)?);
        }
        if let Some(path) = far {
            after.push(path.hop(setup.packet, 2, setup.seed, setup.begin)?);
        }
        let number = before.len();
        let waits = [&before, &after].map(|hops| {
            (!hops.is_empty()).then(|| Distribution::within(EXACT_WAITS, BUCKETS_OF_WAITS))
        });
        let hops: Vec<_> = before.into_iter().chain(after).map(AnyHop::new).collect();
        Ok(Self {
            alarms: vec![None; hops.len()],
            hops,
            before: number,
            waits,
            ..Self::default()
        })
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.hops.is_empty()
    }

    /// Number of the gateway.
    pub(super) fn gateway(&self) -> usize {
        self.before
    }

    #[inline]
    pub(super) fn has_hops_after(&self) -> bool {
        self.hops.len() > self.before
    }

    /// Which sides have hops.
    pub(super) fn sides(&self) -> [bool; 2] {
        [self.before > 0, self.has_hops_after()]
    }

    /// Side of the hop at this index of `hops`.
    pub(super) fn side(&self, index: usize) -> Side {
        if index < self.before {
            Side::Terrestrial
        } else {
            Side::Far
        }
    }

    /// A packet waited for its service on a side.
    pub(super) fn on_wait(&mut self, side: Side, waited: Span) {
        if let Some(waits) = &mut self.waits[side as usize] {
            waits.push(waited);
        }
    }

    /// Whether the mark of a packet is new.
    pub(super) fn is_new_mark(&mut self, packet: u64) -> bool {
        self.is_empty() || self.marked.insert(packet)
    }

    /// A packet leaves the link of the gateway, with these parts of its delay.
    pub(super) fn leave_gateway(&mut self, packet: &Packet, parts: DelayParts) {
        let behind = Behind {
            enqueued: packet.enqueued,
            parts,
            far: Span::ZERO,
        };
        self.behind.insert(packet.id, behind);
    }

    /// A packet has passed the hops behind the link. Returns the parts of its delay, with the hops as propagation.
    pub(super) fn pass(&mut self, now: Time, packet: &mut Packet) -> Option<DelayParts> {
        let behind = self.behind.get_mut(&packet.id)?;
        packet.enqueued = behind.enqueued;
        let mut parts = behind.parts;
        behind.far = now.since(packet.sent).saturating_sub(parts.total());
        parts.propagation = parts.propagation.saturating_add(behind.far);
        Some(parts)
    }

    /// A packet has arrived, whose sender is `toward` away from the first hop. Returns its times at the hops of both sides.
    pub(super) fn deliver(&mut self, toward: Span, packet: &Packet) -> Delays {
        let near = packet.enqueued.since(packet.sent).saturating_sub(toward);
        let behind = self.behind.remove(&packet.id);
        self.marked.remove(&packet.id);
        [near, behind.map_or(Span::ZERO, |behind| behind.far)]
    }

    /// A packet will not arrive.
    #[inline]
    pub(super) fn forget(&mut self, packet: u64) {
        // A hash costs more than the rest of a drop.
        if self.is_empty() {
            return;
        }
        self.behind.remove(&packet);
        self.marked.remove(&packet);
    }

    /// Use of both sides until `end`. Of several hops on a side it is that of the one that was used most.
    pub(super) fn usage(&self, end: Time) -> [Option<SideUse<'_>>; 2] {
        let (before, after) = self.hops.split_at(self.before);
        let busier = |one: f64, other: f64| one.total_cmp(&other);
        let of = |hops: &[AnyHop], side: Side| {
            let uses = hops.iter().map(|hop| hop.usage(end));
            let share = |usage: &tmt_link::Usage| usage.utilisation.unwrap_or(-1.0);
            let usage = uses.max_by(|one, other| busier(share(one), share(other)))?;
            let waits = self.waits[side as usize].as_ref()?;
            Some(SideUse { usage, waits })
        };
        [of(before, Side::Terrestrial), of(after, Side::Far)]
    }
}

//! Losses of another run, repeated packet by packet.

use std::collections::BTreeMap;
use std::sync::Arc;

use tmt_core::types::Time;
use tmt_link::hop::Served;
use tmt_link::{Packet, Service};

/// Fates of the packets of a run that are known before. The link loses those of the list after it has served them, and no
/// others: a packet that the link itself would lose arrives when the link has given it up, or where that is not later, as if
/// it needed no decoding.
///
/// Packets are numbered from 0 in the order in which they arrive at the queue, retransmissions included.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedLosses {
    dropped: Arc<[u64]>,
    lost: Arc<[u64]>,
}

impl RecordedLosses {
    /// The losses of a run, in any order: packets that are dropped on their arrival at the queue, beside those that the queue
    /// drops by itself, and packets that are lost on the link. The latter are numbered among those that the queue does not drop.
    #[must_use]
    pub fn new(mut dropped: Vec<u64>, mut lost: Vec<u64>) -> Self {
        dropped.sort_unstable();
        lost.sort_unstable();
        Self {
            dropped: dropped.into(),
            lost: lost.into(),
        }
    }
}

/// The recorded losses during a run.
#[derive(Debug)]
pub(super) struct Repeated {
    losses: RecordedLosses,
    /// Packets that arrived at the queue, and those of them that it accepted.
    arrived: u64,
    accepted: u64,
    /// Numbers of accepted packets that the queue dropped later, rising.
    dropped: Vec<u64>,
    /// Numbers of the packets that are in the queue or in service, by their names.
    held: BTreeMap<u64, u64>,
    /// Arrivals of packets whose fate is not that of the link, until they have left the queue.
    changed: BTreeMap<u64, Option<Time>>,
}

impl Repeated {
    pub(super) fn new(losses: RecordedLosses) -> Self {
        Self {
            losses,
            arrived: 0,
            accepted: 0,
            dropped: Vec::new(),
            held: BTreeMap::new(),
            changed: BTreeMap::new(),
        }
    }

    /// A packet arrives at the queue. Returns whether it is dropped.
    pub(super) fn drops(&mut self) -> bool {
        self.arrived += 1;
        let is_listed = self.losses.dropped.binary_search(&(self.arrived - 1));
        is_listed.is_ok()
    }

    /// The queue takes the packet, and may drop it at once.
    pub(super) fn accept(&mut self, packet: &Packet) {
        self.held.insert(packet.id, self.accepted);
        self.accepted += 1;
    }

    /// The queue drops the packet.
    pub(super) fn on_drop(&mut self, packet: &Packet) {
        if let Some(number) = self.held.remove(&packet.id) {
            let (Ok(place) | Err(place)) = self.dropped.binary_search(&number);
            self.dropped.insert(place, number);
        }
    }

    /// The service of a packet, which is known `now`, with the fate that is recorded. All packets that the queue drops before it
    /// are known.
    pub(super) fn service(&mut self, now: Time, packet: &Packet, service: Service) -> Service {
        let Some(number) = self.held.remove(&packet.id) else {
            return service;
        };
        let (Ok(before) | Err(before)) = self.dropped.binary_search(&number);
        let is_lost = self
            .losses
            .lost
            .binary_search(&(number - before as u64))
            .is_ok();
        let arrival = match service.arrival {
            _ if is_lost => None,
            None => Some(service.end.saturating_add(service.propagation).max(now)),
            arrives => arrives,
        };
        if arrival != service.arrival {
            self.changed.insert(packet.id, arrival);
        }
        Service { arrival, ..service }
    }

    /// The same for a packet that leaves the queue, after [`Self::service`].
    pub(super) fn departure(&mut self, served: &Served) -> Served {
        let arrival = self.changed.remove(&served.packet.id);
        let service = Service {
            arrival: arrival.unwrap_or(served.service.arrival),
            ..served.service
        };
        Served { service, ..*served }
    }
}

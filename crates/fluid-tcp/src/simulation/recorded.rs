//! Losses of another run, repeated packet by packet.

use std::collections::BTreeMap;
use std::sync::Arc;

use tmt_core::types::Time;
use tmt_link::hop::Served;
use tmt_link::{Packet, Service};

/// Fates of the packets of a run that are known before: those that the queue drops on arrival, and those that the link loses
/// after it has served them. No other packet is lost: one that the link itself would lose arrives when the link has given it
/// up, or where that is not later, as if it needed no decoding.
///
/// A packet is named by its number in the order of sending, over all flows, from 0; retransmissions count.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordedLosses {
    dropped: Arc<[u64]>,
    lost: Arc<[u64]>,
}

impl RecordedLosses {
    /// The losses of the packets with these numbers, in any order: dropped by the queue, and lost on the link.
    #[must_use]
    pub fn new(mut dropped: Vec<u64>, mut lost: Vec<u64>) -> Self {
        dropped.sort_unstable();
        lost.sort_unstable();
        Self {
            dropped: dropped.into(),
            lost: lost.into(),
        }
    }

    /// Number of packets that are dropped, and of those that are lost.
    #[must_use]
    pub fn counts(&self) -> [usize; 2] {
        [self.dropped.len(), self.lost.len()]
    }

    fn drops(&self, packet: u64) -> bool {
        self.dropped.binary_search(&packet).is_ok()
    }

    fn loses(&self, packet: u64) -> bool {
        self.lost.binary_search(&packet).is_ok()
    }
}

/// The recorded losses during a run.
#[derive(Debug)]
pub(super) struct Repeated {
    losses: RecordedLosses,
    /// Arrivals of packets that the link itself would have lost, until they have left the queue.
    kept: BTreeMap<u64, Time>,
}

impl Repeated {
    pub(super) fn new(losses: RecordedLosses) -> Self {
        Self {
            losses,
            kept: BTreeMap::new(),
        }
    }

    /// Whether the queue drops the packet on its arrival.
    pub(super) fn drops(&self, packet: &Packet) -> bool {
        self.losses.drops(packet.id)
    }

    /// The service of a packet, which is known `now`, with the fate that is recorded.
    pub(super) fn service(&mut self, now: Time, packet: &Packet, service: Service) -> Service {
        let arrival = match service.arrival {
            _ if self.losses.loses(packet.id) => None,
            None => {
                let arrival = service.end.saturating_add(service.propagation).max(now);
                self.kept.insert(packet.id, arrival);
                Some(arrival)
            }
            arrives => arrives,
        };
        Service { arrival, ..service }
    }

    /// The same for a packet that leaves the queue, after [`Self::service`].
    pub(super) fn departure(&mut self, served: &Served) -> Served {
        let kept = self.kept.remove(&served.packet.id);
        let own = served.service.arrival.or(kept);
        let arrival = own.filter(|_| !self.losses.loses(served.packet.id));
        let service = Service {
            arrival,
            ..served.service
        };
        Served { service, ..*served }
    }
}

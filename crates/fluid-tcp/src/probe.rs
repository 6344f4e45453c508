//! Watching a run without taking part in it.

use tmt_core::units::Time;

use crate::link::Service;
use crate::sender::Snapshot;

/// A copy of a packet, on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copy {
    /// Order of sending over all flows, from 0.
    pub ordinal: u64,
    /// Flow, from 0.
    pub flow: usize,
    /// Packet of the flow, from 0.
    pub packet: u64,
    /// 1 for the first transmission, 2 for the first retransmission …
    pub copy: u32,
}

/// Why a sender's state is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The flow began.
    Start,
    /// An acknowledgement was taken in.
    Ack,
    /// The retransmission timer expired.
    Timeout,
    /// Another timer of the sender expired: a packet was found lost by time, or a tail loss probe is due.
    Timer,
    /// Pacing let a packet out.
    Pace,
}

/// What can be watched; every hook does nothing unless it is taken.
pub trait Probe {
    /// Whether anybody watches: what only a watcher needs is not even looked up where not.
    const WATCHES: bool = true;

    /// `copy` was sent and, where there was room, taken into the queue.
    fn on_sent(&mut self, _now: Time, _copy: Copy, _enqueued: bool) {}
    /// The queue has dropped `copy`, which it had taken in.
    fn on_dropped(&mut self, _now: Time, _copy: Copy) {}
    /// The link has begun to serve `copy`; told when it has left, or at the end of the run.
    fn on_service(&mut self, _copy: Copy, _service: &Service) {}
    /// `copy` has left the queue; it was lost if the link lost it.
    fn on_departure(&mut self, _copy: Copy, _lost: bool) {}
    /// `copy` reached the receiver.
    fn on_delivered(&mut self, _now: Time, _copy: Copy) {}
    /// The sender of `flow` knows that all packets below `next` were received.
    fn on_acked(&mut self, _now: Time, _flow: usize, _next: u64) {}
    /// A sender's state after it took in an event; `queue` packets are held, `delivered` are received in order.
    fn on_sender(
        &mut self,
        _now: Time,
        _flow: usize,
        _moment: Moment,
        _sender: &Snapshot,
        _queue: u64,
        _delivered: u64,
    ) {
    }
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    const WATCHES: bool = false;
}

/// Two that watch the same run.
#[derive(Debug)]
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Probe, B: Probe> Probe for Both<'_, A, B> {
    fn on_sent(&mut self, now: Time, copy: Copy, enqueued: bool) {
        self.0.on_sent(now, copy, enqueued);
        self.1.on_sent(now, copy, enqueued);
    }

    fn on_service(&mut self, copy: Copy, service: &Service) {
        self.0.on_service(copy, service);
        self.1.on_service(copy, service);
    }

    fn on_dropped(&mut self, now: Time, copy: Copy) {
        self.0.on_dropped(now, copy);
        self.1.on_dropped(now, copy);
    }

    fn on_departure(&mut self, copy: Copy, lost: bool) {
        self.0.on_departure(copy, lost);
        self.1.on_departure(copy, lost);
    }

    fn on_delivered(&mut self, now: Time, copy: Copy) {
        self.0.on_delivered(now, copy);
        self.1.on_delivered(now, copy);
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        self.0.on_acked(now, flow, next);
        self.1.on_acked(now, flow, next);
    }

    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        moment: Moment,
        sender: &Snapshot,
        queue: u64,
        delivered: u64,
    ) {
        self.0
            .on_sender(now, flow, moment, sender, queue, delivered);
        self.1
            .on_sender(now, flow, moment, sender, queue, delivered);
    }
}

/// One that may not be there.
impl<A: Probe> Probe for Option<A> {
    fn on_sent(&mut self, now: Time, copy: Copy, enqueued: bool) {
        if let Some(probe) = self {
            probe.on_sent(now, copy, enqueued);
        }
    }

    fn on_service(&mut self, copy: Copy, service: &Service) {
        if let Some(probe) = self {
            probe.on_service(copy, service);
        }
    }

    fn on_dropped(&mut self, now: Time, copy: Copy) {
        if let Some(probe) = self {
            probe.on_dropped(now, copy);
        }
    }

    fn on_departure(&mut self, copy: Copy, lost: bool) {
        if let Some(probe) = self {
            probe.on_departure(copy, lost);
        }
    }

    fn on_delivered(&mut self, now: Time, copy: Copy) {
        if let Some(probe) = self {
            probe.on_delivered(now, copy);
        }
    }

    fn on_acked(&mut self, now: Time, flow: usize, next: u64) {
        if let Some(probe) = self {
            probe.on_acked(now, flow, next);
        }
    }

    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        moment: Moment,
        sender: &Snapshot,
        queue: u64,
        delivered: u64,
    ) {
        if let Some(probe) = self {
            probe.on_sender(now, flow, moment, sender, queue, delivered);
        }
    }
}

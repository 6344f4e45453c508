//! Watching a run without taking part in it.

use strum::IntoStaticStr;
use tmt_core::types::Time;

use crate::endpoint::receiver::Ack;
use crate::endpoint::sender::Snapshot;
use crate::link::{Service, SlotUse, Transmission};

/// Why a sender's state is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum SenderEvent {
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

/// Why a gateway does not take a packet in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// It has no room.
    Full,
    /// It is a proxy and has the packet already.
    Duplicate,
}

/// The hooks, once: the trait, in which each does nothing, and the list, which hands each on.
macro_rules! hooks {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// What can be watched; every hook does nothing unless it is taken.
        pub trait Probe {
            /// Whether anybody watches: what only a watcher needs is not even looked up where not.
            fn watches(&self) -> bool {
                true
            }

            /// Whether anybody wants to know of every slot; [`Self::on_slot`] is told only then.
            fn watches_slots(&self) -> bool {
                false
            }

            $($(#[$doc])*
            #[expect(unused_variables, reason = "named for those who take the hook")]
            fn $name(&mut self, $($argument: $type),*) {})*
        }

        impl Probe for All<'_> {
            fn watches(&self) -> bool {
                !self.0.is_empty()
            }

            fn watches_slots(&self) -> bool {
                self.0.iter().any(|probe| probe.watches_slots())
            }

            $(fn $name(&mut self, $($argument: $type),*) {
                for probe in &mut self.0 {
                    probe.$name($($argument),*);
                }
            })*
        }
    };
}

hooks! {
    /// `transmission` was sent; what becomes of it at the gateway is told when it is there.
    fn on_sent(now: Time, transmission: Transmission);
    /// `transmission` was taken into the queue.
    fn on_enqueued(now: Time, transmission: Transmission);
    /// `transmission` was not taken in.
    fn on_refused(now: Time, transmission: Transmission, why: Refused);
    /// A proxy's buffer has let `transmission` go: the link has delivered it.
    fn on_released(now: Time, transmission: Transmission);
    /// The queue has dropped `transmission`, which it had taken in.
    fn on_dropped(now: Time, transmission: Transmission);
    /// The link has begun to serve `transmission`; told when it has left, or at the end of the run.
    fn on_service(transmission: Transmission, service: &Service);
    /// `transmission` has left the queue at `left`; it was lost if the link lost it.
    fn on_departure(left: Time, transmission: Transmission, lost: bool);
    /// A coupled link has used a slot, in the order of the slots.
    fn on_slot(used: &SlotUse);
    /// `transmission` reached the receiver.
    fn on_delivered(now: Time, transmission: Transmission);
    /// The receiver of `flow` sends an acknowledgement.
    fn on_ack_sent(now: Time, flow: usize, ack: &Ack);
    /// The sender of `flow` takes an acknowledgement in.
    fn on_ack_received(now: Time, flow: usize, ack: &Ack);
    /// The sender of `flow` knows that all packets below `next` were received.
    fn on_acked(now: Time, flow: usize, next: u64);
    /// A sender's state after it took in an event; `queue` packets are held, `delivered` are received in order.
    fn on_sender(now: Time, flow: usize, event: SenderEvent, sender: &Snapshot, queue: u64, delivered: u64);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn watches(&self) -> bool {
        false
    }
}

/// Any number that watch the same run, told in their order.
#[derive(Default)]
pub struct All<'a>(pub Vec<&'a mut dyn Probe>);

impl std::fmt::Debug for All<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "All({} probes)", self.0.len())
    }
}

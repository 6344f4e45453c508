//! Probes: observers of a run, which cannot influence it.

use strum::IntoStaticStr;
use tmt_core::types::Time;

use super::beside::Side;
use crate::endpoint::Transmission;
use crate::endpoint::receiver::Ack;
use crate::endpoint::sender::Snapshot;
use tmt_link::{Service, SlotUse};

/// Event after which the state of a sender is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum SenderEvent {
    /// The flow started.
    Start,
    /// An ACK arrived.
    Ack,
    /// The retransmission timer expired.
    Timeout,
    /// Another timer of the sender expired: RACK marked a packet lost, or a tail loss probe is due.
    Timer,
    /// Pacing allowed a packet, or an application of one's own had data.
    Pace,
}

/// Reason why the gateway does not accept a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The buffer is full.
    Full,
    /// The proxy already has the packet.
    Duplicate,
}

/// Defines the hooks once, for the trait, where they do nothing, and for [`All`] and [`Watched`], which forward them.
macro_rules! hooks {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// Observer of a run. By default every hook does nothing.
        pub trait Probe {
            /// Whether the run has to call the hooks. If not, it skips the work of collecting their arguments.
            fn watches(&self) -> bool {
                true
            }

            /// Whether the run has to call [`Self::on_slot`].
            fn watches_slots(&self) -> bool {
                false
            }

            /// Whether the run has to call [`Self::stops`].
            fn can_stop(&self) -> bool {
                false
            }

            /// Whether the run shall end at `now`, with [`RunError::Stopped`]. Asked before every event; not every packet that is
            /// delivered is one.
            ///
            /// [`RunError::Stopped`]: super::RunError::Stopped
            #[expect(unused_variables, reason = "named for implementers of the hook")]
            fn stops(&self, now: Time) -> bool {
                false
            }

            $($(#[$doc])*
            #[expect(unused_variables, reason = "named for implementers of the hook")]
            fn $name(&mut self, $($argument: $type),*) {})*
        }

        impl Probe for All<'_> {
            fn watches(&self) -> bool {
                self.0.iter().any(|probe| probe.watches())
            }

            fn watches_slots(&self) -> bool {
                self.0.iter().any(|probe| probe.watches_slots())
            }

            fn can_stop(&self) -> bool {
                self.0.iter().any(|probe| probe.can_stop())
            }

            fn stops(&self, now: Time) -> bool {
                self.0.iter().any(|probe| probe.stops(now))
            }

            $(fn $name(&mut self, $($argument: $type),*) {
                for probe in &mut self.0 {
                    probe.$name($($argument),*);
                }
            })*
        }

        impl<P: Probe> Probe for Watched<'_, P> {
            fn watches_slots(&self) -> bool {
                self.0.watches_slots()
            }

            fn can_stop(&self) -> bool {
                self.0.can_stop()
            }

            fn stops(&self, now: Time) -> bool {
                self.0.stops(now)
            }

            $(fn $name(&mut self, $($argument: $type),*) {
                self.0.$name($($argument),*);
            })*
        }
    };
}

hooks! {
    /// A sender has sent a packet. Its fate at the gateway is reported when it arrives there.
    fn on_sent(now: Time, transmission: Transmission);
    /// A packet was accepted into the queue.
    fn on_enqueued(now: Time, transmission: Transmission);
    /// A packet was not accepted, for the reason `why`.
    fn on_refused(now: Time, transmission: Transmission, why: Refused);
    /// A packet left the buffer of a proxy because the link has delivered it.
    fn on_released(now: Time, transmission: Transmission);
    /// The queue after a proxy dropped a packet, which the proxy offers to it again at `at`.
    fn on_offered_again(at: Time, transmission: Transmission);
    /// The queue dropped a packet that it had accepted.
    fn on_dropped(now: Time, transmission: Transmission);
    /// A packet was dropped on the path of this side at `at`, or is lost there, and its service ends then.
    fn on_gone_beside(at: Time, transmission: Transmission, side: Side);
    /// The link has begun to serve a packet. Reported when the packet has left, or at the end of the run.
    fn on_service(transmission: Transmission, service: &Service);
    /// A packet left the queue at `left`. `lost` states whether the link lost it.
    fn on_departure(left: Time, transmission: Transmission, lost: bool);
    /// A coupled link has used a slot. Reported in the order of the slots.
    fn on_slot(used: &SlotUse);
    /// A packet reached the receiver.
    fn on_delivered(now: Time, transmission: Transmission);
    /// The receiver of `flow`, or the proxy, sends an ACK.
    fn on_ack_sent(now: Time, flow: usize, ack: &Ack);
    /// The sender of `flow` receives an ACK.
    fn on_ack_received(now: Time, flow: usize, ack: &Ack);
    /// The cumulative ACK of `flow` has advanced: all packets below `next` are acknowledged.
    fn on_acked(now: Time, flow: usize, next: u64);
    /// State of a sender after `event`. `queue` is the length of the queue, `delivered` the number of packets that the
    /// receiver has in order.
    fn on_sender(now: Time, flow: usize, event: SenderEvent, sender: &Snapshot, queue: u64, delivered: u64);
}

/// Probe that observes nothing and costs nothing.
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::{Endpoint, Transmission};
/// use fluid_tcp::simulation::probe::{NoProbe, Probe};
/// use fluid_tcp::simulation::{Flow, Setup, run};
/// use tmt_core::{BitRate, Span, Time};
///
/// #[derive(Default)]
/// struct Deliveries(u64);
///
/// impl Probe for Deliveries {
///     fn on_delivered(&mut self, _now: Time, _transmission: Transmission) {
///         self.0 += 1;
///     }
/// }
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default()).of_packets(50);
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(10));
/// let link = || setup.synthetic_link(BitRate(1_000_000), None).ok_or("no such link");
/// let mut deliveries = Deliveries::default();
/// let watched = run(&setup, link()?, &mut deliveries)?;
/// assert_eq!(deliveries.0, 50);
/// assert_eq!(watched, run(&setup, link()?, &mut NoProbe)?); // watching changes nothing
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProbe;

impl Probe for NoProbe {
    fn watches(&self) -> bool {
        false
    }
}

/// Probe that observes nothing and ends the run once its function of the simulated time says so.
///
/// ```
/// use fluid_tcp::congestion::Algorithm;
/// use fluid_tcp::endpoint::Endpoint;
/// use fluid_tcp::simulation::probe::Until;
/// use fluid_tcp::simulation::{Flow, RunError, Setup, run};
/// use tmt_core::{BitRate, Span, Time};
///
/// let flow = Flow::new(Algorithm::default(), Endpoint::default());
/// let setup = Setup::new(vec![flow], Span::from_millis(100), Span::from_secs(10));
/// let link = setup.synthetic_link(BitRate(1_000_000), None).ok_or("no such link")?;
/// let mut probe = Until(|now: Time| now.since(Time::ZERO) >= Span::from_secs(3));
/// assert_eq!(run(&setup, link, &mut probe), Err(RunError::Stopped));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Until<F>(pub F);

impl<F: Fn(Time) -> bool> Probe for Until<F> {
    fn watches(&self) -> bool {
        false
    }

    fn can_stop(&self) -> bool {
        true
    }

    fn stops(&self, now: Time) -> bool {
        self.0(now)
    }
}

/// Several probes of one run. Each hook is forwarded to them in order.
#[derive(Default)]
pub struct All<'a>(pub Vec<&'a mut dyn Probe>);

impl std::fmt::Debug for All<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "All({} probes)", self.0.len())
    }
}

/// A probe that watches, which need not be asked again.
pub(super) struct Watched<'a, P>(pub(super) &'a mut P);

/// A probe that does not watch. All runs of these are one code, whether the probe can stop them or not.
pub(super) struct Unwatched<'a>(Option<&'a dyn Probe>);

impl<'a> Unwatched<'a> {
    pub(super) fn of(probe: &'a impl Probe) -> Self {
        Self(probe.can_stop().then_some(probe))
    }
}

impl Probe for Unwatched<'_> {
    fn watches(&self) -> bool {
        false
    }

    fn can_stop(&self) -> bool {
        self.0.is_some()
    }

    fn stops(&self, now: Time) -> bool {
        self.0.is_some_and(|probe| probe.stops(now))
    }
}

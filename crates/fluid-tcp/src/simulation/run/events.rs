//! Kinds of events of a run.

use tmt_core::types::{Span, Time};
use tmt_link::Packet;

use crate::endpoint::receiver::Ack;
use crate::simulation::event::{AHEAD, Line, Moment, Schedule};

/// An event that is rare and small.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Alarm {
    /// A flow starts or its handshake is complete.
    Start(u32),
    /// The queue has an action that is due.
    #[default]
    Gateway,
    /// A hop beside the gateway has an action that is due: its number among them.
    Hop(usize),
    /// The queue before the return path may send a packet.
    Return,
}

/// Where a packet is on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Place {
    /// It has crossed the terrestrial path.
    #[default]
    Network,
    /// It reaches the hop of this number beside the gateway, the gateway after one, or the receiver after the last.
    Hop(usize),
    /// A proxy offers it again to the queue that has dropped it.
    Proxy,
    /// A proxy learns that the link has delivered it.
    Delivered,
    /// A packet of a far host that is not TCP reaches the near host.
    Near,
}

/// Defines the kinds of events: a line of its own for each, its number, and how it is scheduled.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident: $event:ty, $line:ident, $at:ident, $take:ident;)*) => {
        /// Kind of an event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(super) enum Kind { $($(#[$doc])* $kind,)* }

        const KINDS: usize = [$(Kind::$kind),*].len();

        impl Kind {
            /// The kind of this number.
            #[inline]
            fn of(number: usize) -> Option<Self> {
                $(if number == Self::$kind as usize { return Some(Self::$kind); })*
                None
            }
        }

        /// Events that are scheduled, with packets on their way to the receiver as `D`.
        #[derive(Debug, Default)]
        pub(super) struct Events<D> {
            schedule: Schedule<KINDS>,
            $($line: Line<$event>,)*
        }

        impl<D: Copy + Default> Events<D> {
            $(
                /// Schedules an event of this kind, which `fill` writes over another. `None` is a time past
                /// 2^63 − 1 ns, which never comes.
                #[inline(always)]
                pub(super) fn $at(&mut self, at: Option<Time>, fill: impl FnOnce(&mut $event)) {
                    if let Some(at) = at {
                        let number = Kind::$kind as usize;
                        fill(self.schedule.schedule(number, &mut self.$line, at));
                    }
                }

                /// Removes the first event, which is of this kind, and returns it in its slot.
                #[inline]
                pub(super) fn $take(&mut self) -> &$event {
                    self.schedule.take(Kind::$kind as usize, &mut self.$line)
                }
            )*
        }
    };
}

kinds! {
    /// A packet reaches the receiver.
    Delivery: D, deliveries, deliver, take_delivery;
    /// An ACK reaches the sender of a flow.
    Ack: (u32, Ack), acks, acknowledge, take_ack;
    /// A timer of the sender of a flow may have expired.
    Timer: u32, timers, expire, take_timer;
    /// The far host of a flow has something to send: a delayed ACK.
    Far: u32, fars, far, take_far;
    /// The near host of a flow may have something to send: pacing allows it, or its application has it.
    Near: u32, nears, near, take_near;
    /// A packet reaches a place.
    Transit: (Place, Packet), transits, transit, take_transit;
    Alarm: Alarm, alarms, alarm, take_alarm;
}

impl<D: Copy + Default> Events<D> {
    /// Schedules an ACK. Returns its place, for the number of its flow and the ACK itself.
    #[expect(clippy::inline_always, reason = "every packet takes this way")]
    #[inline(always)]
    pub(super) fn place_of_ack(&mut self, at: Time) -> (&mut u32, &mut Ack) {
        let (flow, ack) = self
            .schedule
            .schedule(Kind::Ack as usize, &mut self.acks, at);
        (flow, ack)
    }

    /// Leaves places in the order of events to the starts of flows with numbers below this one.
    pub(super) fn reserve(&mut self, flows: usize) {
        self.schedule.reserve(flows as u64);
    }

    /// Schedules the start of a flow in its place among the events at that time.
    pub(super) fn start(&mut self, at: Time, flow: u32) {
        let place = (Kind::Alarm as usize, u64::from(flow));
        self.schedule
            .schedule_as(place, &mut self.alarms, at, Alarm::Start(flow));
    }
}

impl<D> Events<D> {
    /// From now on, ACKs may be scheduled ahead, each as if its receiver sent it a time of `lead` before.
    pub(super) fn acknowledge_ahead(&mut self, lead: Span) {
        const { assert!(Kind::Ack as usize == AHEAD && Kind::Delivery as usize == 0) };
        self.schedule.schedule_ahead(lead);
    }

    /// Where events are scheduled, for the order of ACKs that are scheduled ahead.
    pub(super) fn moment(&self) -> Moment {
        self.schedule.moment()
    }

    /// Sets where events are scheduled.
    pub(super) fn set_moment(&mut self, moment: Moment) {
        self.schedule.set_moment(moment);
    }

    /// Where a packet schedules events that reaches its receiver at `arrival`, if its delivery were scheduled now.
    pub(super) fn moment_of_delivery(&self, arrival: Time) -> Moment {
        self.schedule.moment_at(arrival)
    }

    /// Sequence number of the next event if it is one of a far host.
    pub(super) fn far_sequence(&self, at: Time) -> u64 {
        self.schedule.sequence(Kind::Far as usize, at)
    }

    /// Sets the time at which events are scheduled.
    #[inline]
    pub(super) fn set_now(&mut self, now: Time) {
        self.schedule.set_now(now);
    }

    /// Time of the first packet that reaches its receiver.
    pub(super) fn first_delivery(&self) -> Option<Time> {
        self.schedule.first_of(Kind::Delivery as usize)
    }

    /// Time and kind of the first event; `None` if nothing comes before `until`.
    #[inline]
    pub(super) fn first(&self, until: Time) -> Option<(Time, Kind)> {
        let (at, number) = self.schedule.first(until)?;
        Some((at, Kind::of(number)?))
    }

    /// Time of the first event, at most `until`, if it is an ACK and no event of another kind comes then.
    #[inline]
    pub(super) fn next_if_ack(&self, until: Time) -> Option<Time> {
        self.schedule.first_if_ahead(until)
    }

    /// Whether nothing is scheduled but timers of senders, which alone do not keep a run going.
    pub(super) fn has_only_timers(&self) -> bool {
        self.deliveries.is_empty()
            && self.acks.is_empty()
            && self.fars.is_empty()
            && self.nears.is_empty()
            && self.transits.is_empty()
            && self.alarms.is_empty()
    }
}

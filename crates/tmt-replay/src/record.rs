//! Events of a run, passed to its logs on a thread of their own, so that a slow disk does not make packets late.

use std::sync::mpsc::{Receiver, Sender, channel};

use fluid_tcp::endpoint::Transmission;
use fluid_tcp::simulation::probe::{Probe, Refused};
use tmt_core::types::Time;
use tmt_link::{Service, SlotUse};

/// One call of a probe.
#[derive(Debug, Clone, Copy)]
enum Call {
    Sent(Time, Transmission),
    Enqueued(Time, Transmission),
    Refused(Time, Transmission, Refused),
    Dropped(Time, Transmission),
    Service(Transmission, Service),
    Departure(Time, Transmission, bool),
    Slot(SlotUse),
    Delivered(Time, Transmission),
}

/// Probe that passes all that it sees to a [`Recording`].
#[derive(Debug)]
pub struct Recorder {
    calls: Option<Sender<Call>>,
    slots: bool,
}

/// The other end of a [`Recorder`].
#[derive(Debug)]
pub struct Recording(Receiver<Call>);

impl Recorder {
    /// A recorder that observes slots if `slots` says so, and its recording.
    #[must_use]
    pub fn new(slots: bool) -> (Self, Recording) {
        let (calls, recording) = channel();
        let calls = Some(calls);
        (Self { calls, slots }, Recording(recording))
    }

    /// A recorder of nothing.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            calls: None,
            slots: false,
        }
    }

    fn pass(&self, call: Call) {
        if let Some(calls) = &self.calls {
            // Without a reader there is no log to write.
            let _ = calls.send(call);
        }
    }
}

impl Recording {
    /// Passes everything to `probe`, in the same order, until the recorder is dropped.
    pub fn replay(self, probe: &mut dyn Probe) {
        for call in self.0 {
            match call {
                Call::Sent(now, copy) => probe.on_sent(now, copy),
                Call::Enqueued(now, copy) => probe.on_enqueued(now, copy),
                Call::Refused(now, copy, why) => probe.on_refused(now, copy, why),
                Call::Dropped(now, copy) => probe.on_dropped(now, copy),
                Call::Service(copy, service) => probe.on_service(copy, &service),
                Call::Departure(left, copy, lost) => probe.on_departure(left, copy, lost),
                Call::Slot(used) => probe.on_slot(&used),
                Call::Delivered(now, copy) => probe.on_delivered(now, copy),
            }
        }
    }
}

impl Probe for Recorder {
    fn watches(&self) -> bool {
        self.calls.is_some()
    }

    fn watches_slots(&self) -> bool {
        self.slots
    }

    fn on_sent(&mut self, now: Time, copy: Transmission) {
        self.pass(Call::Sent(now, copy));
    }

    fn on_enqueued(&mut self, now: Time, copy: Transmission) {
        self.pass(Call::Enqueued(now, copy));
    }

    fn on_refused(&mut self, now: Time, copy: Transmission, why: Refused) {
        self.pass(Call::Refused(now, copy, why));
    }

    fn on_dropped(&mut self, now: Time, copy: Transmission) {
        self.pass(Call::Dropped(now, copy));
    }

    fn on_service(&mut self, copy: Transmission, service: &Service) {
        self.pass(Call::Service(copy, *service));
    }

    fn on_departure(&mut self, left: Time, copy: Transmission, lost: bool) {
        self.pass(Call::Departure(left, copy, lost));
    }

    fn on_slot(&mut self, used: &SlotUse) {
        self.pass(Call::Slot(*used));
    }

    fn on_delivered(&mut self, now: Time, copy: Transmission) {
        self.pass(Call::Delivered(now, copy));
    }
}

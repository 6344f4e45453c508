//! A link that loses every nth packet.

use tmt_core::types::{Span, Time};
use tmt_link::{Link, Packet, Service, Usage};

#[derive(Debug)]
pub(crate) struct EveryNth {
    pub(crate) n: u64,
    pub(crate) service: Span,
    pub(crate) propagation: Span,
    pub(crate) served: u64,
}

impl Link for EveryNth {
    fn serve(&mut self, at: Time, _packet: &Packet) -> Option<Service> {
        let unit = self.served;
        self.served += 1;
        let is_lost = self.served.is_multiple_of(self.n);
        let end = at.checked_add(self.service)?;
        let arrival = end.checked_add(self.propagation)?;
        Some(Service {
            start: at,
            end,
            arrival: Some(arrival).filter(|_| !is_lost),
            propagation: self.propagation,
            first_unit: unit,
            last_unit: unit,
        })
    }

    fn usage(&self, _end: Time) -> Usage {
        Usage::default()
    }
}

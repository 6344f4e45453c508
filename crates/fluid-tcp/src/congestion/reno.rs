//! Reno, RFC 5681: NewReno's window, and without SACK a fast recovery that the first acknowledgement of new
//! data ends (§3.2 step 6), with all that was sent acknowledged or not.
//!
//! Duplicates may then start the next recovery at once, so several losses in one window cut it several times
//! or end in a timeout; that is what RFC 6582 mends. With SACK it is `newreno` (RFC 6675 for both).
//! Deviations: none beyond those of `newreno.rs`.

use super::newreno::NewReno;
use super::{AckEvent, CongestionControl, CongestionEvent, Entry, Parameter, is_on};

pub(super) const ENTRY: Entry = Entry {
    name: "reno",
    parameters: &[Parameter::switch("hystart")],
    make: |initial_window, parameters| {
        let hystart = is_on(parameters[0]);
        Box::new(Reno(NewReno::new(initial_window, hystart)))
    },
};

#[derive(Debug, Clone)]
struct Reno(NewReno);

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckEvent) {
        self.0.on_ack(ack);
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.0.on_congestion(event);
    }

    fn cwnd(&self) -> f64 {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> Option<f64> {
        self.0.ssthresh()
    }

    fn recovers_by_partial(&self) -> bool {
        false
    }
}

//! Scalable TCP (Kelly 2003): the window grows by a share of itself a round trip, and a loss takes an eighth.

use fluid_tcp::congestion::{AckEvent, CongestionControl, CongestionEvent, Entry};
use fluid_tcp::named::Parameter;

pub(crate) static SCALABLE: Entry = Entry {
    name: "scalable",
    about: "Scalable TCP: growth in proportion to the window",
    parameters: &[Parameter::number("gain", 0.01, 0.0, 1.0)],
    examples: &["scalable", "scalable:gain=0.02"],
    make: |cwnd, parameters| {
        let gain = parameters.number("gain");
        let ssthresh = None;
        Box::new(Scalable {
            gain,
            cwnd,
            ssthresh,
        })
    },
};

#[derive(Debug, Clone)]
struct Scalable {
    gain: f64,
    cwnd: f64,
    ssthresh: Option<f64>,
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, _ack: &AckEvent) {
        let starts = self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh);
        self.cwnd += if starts { 1.0 } else { self.gain };
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        (self.cwnd, self.ssthresh) = event.leaves(self.cwnd * 0.875, self.ssthresh);
    }

    fn cwnd(&self) -> f64 {
        self.cwnd
    }

    fn ssthresh(&self) -> Option<f64> {
        self.ssthresh
    }
}

//! Scalable TCP (Kelly 2003): the window grows by a share of itself a round trip, and a loss takes an eighth.

use fluid_tcp::congestion::{AckEvent, CongestionControl, CongestionEvent, Entry, Make, Window};
use tmt_core::named::Parameter;

pub(crate) static SCALABLE: Entry = Entry {
    name: "scalable",
    about: "Scalable TCP: growth in proportion to the window",
    parameters: &[Parameter::number("gain", 0.01, 0.0, 1.0)],
    examples: &["scalable", "scalable:gain=0.02"],
    make: Make(|connection, parameters| {
        let gain = parameters.number("gain");
        let window = connection.window();
        Box::new(Scalable { gain, window })
    }),
};

#[derive(Debug, Clone)]
struct Scalable {
    gain: f64,
    window: Window,
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, _ack: &AckEvent) {
        let starts = self.window.in_slow_start();
        self.window.cwnd += if starts { 1.0 } else { self.gain };
    }

    fn on_congestion(&mut self, event: &CongestionEvent) {
        self.window.cut(event, self.window.cwnd * 0.875);
    }

    fn window(&self) -> Window {
        self.window
    }
}

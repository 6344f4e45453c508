//! A window of W segments, whatever happens: for what a link does to a known load, and for closed forms.
//!
//! It is no congestion control. Losses are still found and repeated by the sender, by fast retransmit and by
//! timeouts, but the window stays W; the initial window is W, too. No specification, so no deviations.

use super::{AckEvent, CongestionControl, CongestionEvent, Entry, Parameter, Window};

/// A fixed window as a registry entry; its size `W`, segments, must be given.
pub static ENTRY: Entry = Entry {
    name: "fixed",
    about: "a window of W segments, whatever happens",
    parameters: &[Parameter::bare("W", 1.0, 1e9)],
    examples: &["fixed:20"],
    make: |_, parameters| Box::new(Fixed(parameters.number("W"))),
};

#[derive(Debug, Clone)]
struct Fixed(f64);

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn window(&self) -> Window {
        Window::new(self.0)
    }

    fn answers_marks(&self) -> bool {
        false
    }
}

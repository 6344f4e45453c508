//! A fixed window of W segments, to study a link under a known load and to compare with closed forms.
//!
//! It does not control congestion. The sender still detects losses and retransmits, but the window stays W from the
//! start. There is no specification, so there are no deviations.

use super::{AckEvent, CongestionControl, CongestionEvent, Entry, Make, Parameter, Window};

/// Largest window, segments: a sender remembers each segment that is not acknowledged, in about 100 B.
const LARGEST: f64 = 1e6;

/// A fixed window as a registry entry; its size `W`, segments, must be given.
pub static ENTRY: Entry = Entry {
    name: "fixed",
    about: "a window of W segments at all times",
    parameters: &[Parameter::bare("W", 1.0, LARGEST)],
    examples: &["fixed:20"],
    make: Make(|_, parameters| Box::new(Fixed(parameters.number("W")))),
};

#[derive(Debug, Clone)]
struct Fixed(f64);

impl CongestionControl for Fixed {
    fn on_ack(&mut self, _ack: &AckEvent) {}

    fn on_congestion(&mut self, _event: &CongestionEvent) {}

    fn window(&self) -> Window {
        Window::new(self.0)
    }

    fn supports_ecn(&self) -> bool {
        false
    }
}

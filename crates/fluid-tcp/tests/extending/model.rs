//! The rate of a window that never changes.

use tmt_core::{closed_form, keys};

keys! {
    WINDOW: Positive, "W" = 10.0, "window, packets";
    ROUND_TRIP: Positive, "RTT" = 0.5, "round-trip time, s";
}

closed_form! {
    /// The model.
    pub(crate) static MODEL: "fixed-window", "Rate of a sender whose window never changes, on a path without losses";
    source: "Little's law";
    notes: ["The path carries the window within a round trip"];
    example: "W=20 RTT=0.5";
    keys: [WINDOW, ROUND_TRIP];
    answer(given) {
        let window = given.number(&WINDOW);
    }
    results {
        "rate" = window / given.number(&ROUND_TRIP), "what is sent, packets/s";
    }
}

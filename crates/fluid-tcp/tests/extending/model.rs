//! The rate of a window that never changes.

use tmt_core::model::{Arguments, Domain, Field, Key, Model, ModelError, Outcome};

const WINDOW: Key = Key::number("W", 10.0, Domain::Positive, "window, packets");
const ROUND_TRIP: Key = Key::number("RTT", 0.5, Domain::Positive, "round-trip time, s");
static KEYS: [Key; 2] = [WINDOW, ROUND_TRIP];

pub(crate) static MODEL: Model = Model {
    name: "fixed-window",
    about: "Rate of a sender whose window never changes, on a path without losses",
    source: "Little's law",
    notes: &["The path carries the window within a round trip"],
    example: "W=20 RTT=0.5",
    keys: &KEYS,
    results: &[Field::new("rate", "what is sent, packets/s")],
    answer,
};

#[expect(clippy::unnecessary_wraps, reason = "the type of every model's answer")]
fn answer(given: &Arguments) -> Result<Outcome, ModelError> {
    let rate = given.number(&WINDOW) / given.number(&ROUND_TRIP);
    Ok(Outcome::new().number("rate", rate))
}

//! Closed forms of TCP by name, and the fluid Monte-Carlo: what [`tmt_core::model`] is for the link.
//!
//! A model is one file and one line in `MODELS`. Windows are in segments, rates per second, times in
//! seconds. Nothing here shares code with the simulator, so that the one can be checked by the other.

pub mod congestion;
pub mod envelope;
pub mod relation15;
pub mod tgep;

use tmt_core::model::Model;

/// The models of TCP.
pub static MODELS: &[&Model] = &[
    &congestion::MODEL,
    &relation15::MODEL,
    &tgep::MODEL,
    &envelope::MODEL,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_model_of_tcp_is_what_it_says() {
        tmt_core::model::check_registry(MODELS);
    }
}

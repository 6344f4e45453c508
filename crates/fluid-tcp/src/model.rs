//! Closed forms of TCP and of calls, and a fluid Monte-Carlo simulation (docs/models.md, Sec. 4.6 to 7, and 9).
//!
//! [`tmt_core::model`] has the models of the link. A model is one file and one line in `MODELS`. Windows are in
//! segments, rates per second, times in seconds. The models share no code with the simulator, so that one can check
//! the other.

pub mod barakat;
pub mod congestion;
pub mod e_model;
pub mod envelope;
pub mod fading;
pub mod path;
pub mod pftk;
mod probability;
pub mod redundancy;
pub mod relation15;
pub mod split;
pub mod sr_arq;
pub mod tgep;
pub mod window;
pub mod zhu;

use tmt_core::model::Model;

pub use probability::Probability;

/// All models: of the link, of codes that are run, and of TCP.
pub fn all() -> impl Iterator<Item = &'static Model> {
    let link = tmt_core::model::MODELS.iter();
    link.chain(tmt_core::coding::MODELS).chain(MODELS).copied()
}

/// The models of TCP, in the order of `tmt model --list`.
pub static MODELS: &[&Model] = &[
    &pftk::MODEL,
    &barakat::MODEL,
    &redundancy::MODEL,
    &congestion::MODEL,
    &relation15::MODEL,
    &tgep::MODEL,
    &envelope::MODEL,
    &envelope::SINGLE,
    &envelope::BEST,
    &envelope::ORDER,
    &sr_arq::MODEL,
    &window::MODEL,
    &zhu::MODEL,
    &split::MODEL,
    &fading::MODEL,
    &e_model::MODEL,
];

#[cfg(test)]
mod corners;

#[cfg(test)]
mod tests {
    use tmt_core::math::num;
    use tmt_core::types;

    use super::*;

    #[test]
    fn every_model_of_tcp_is_registered_correctly() {
        tmt_core::model::check_registry(MODELS);
    }

    /// Asserts that `value`, rounded to `decimals` decimals, is the printed value.
    pub(super) fn prints(value: f64, printed: f64, decimals: u64) {
        let half = 0.5 * num::pow(0.1, types::to_f64(decimals));
        assert!(
            (value - printed).abs() <= half * (1.0 + 1e-9),
            "{value} is not printed as {printed}"
        );
    }

    /// Asserts that two numbers agree to `tolerance`, relative to the second.
    pub(super) fn agree(value: f64, expected: f64, tolerance: f64) {
        assert!(
            (value - expected).abs() <= tolerance * expected.abs(),
            "{value} is not {expected} within {tolerance:e}"
        );
    }
}

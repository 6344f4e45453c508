//! Radio channels: Es/N0 over time, and the words that are lost at it (docs/channels.md).
//!
//! [`LandMobile`] holds the parameters of a fading channel from published statistics, [`Series`] a measured fade. An
//! [`ErrorCurve`] tells how often a word is lost at an Es/N0. [`RadioChannel`] combines them and erases slots.
//!
//! Es/N0 is computed on a grid of samples, in stretches of [`STRETCH`] samples. A stretch is a function of seed and number alone,
//! but for the states, about one a second, which one pass finds. So slots can be erased in any order, in parallel, with the same
//! result.

mod acm;
mod adapted;
pub mod environment;
mod error_curve;
mod fade;
mod fade_file;
mod gain;
mod land_mobile;
mod modcods;
mod multipath;
mod mutual_information;
mod series;
mod shadowing;
mod states;
mod words;

#[cfg(test)]
mod tests;

pub use acm::Acm;
pub use adapted::{Adapted, AdaptedLink, AdaptedSlots, Use};
pub use error_curve::{Code, ErrorCurve, Outside, Points};
pub use fade::Fade;
pub use fade_file::{FadeFile, FadeFormat, FadeOptions};
pub use land_mobile::{LandMobile, PARAMETERS};
pub use modcods::{Modcod, Modcods};
pub use mutual_information::Modulation;
pub use series::Series;
pub use states::Sojourn;
pub use words::{RadioChannel, Words};

/// Samples of a stretch.
pub const STRETCH: usize = 1024;

/// An invalid parameter of a radio channel, or an invalid error curve or fade; displays as the complete message.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RadioError(pub String);

impl From<crate::types::named::ParseError> for RadioError {
    fn from(error: crate::types::named::ParseError) -> Self {
        Self(error.to_string())
    }
}

/// A power ratio from dB.
#[must_use]
pub fn from_db(db: f64) -> f64 {
    crate::math::num::exp(db * (std::f64::consts::LN_10 / 10.0))
}

/// A power ratio in dB.
#[must_use]
pub fn to_db(ratio: f64) -> f64 {
    10.0 * crate::math::num::log10(ratio)
}

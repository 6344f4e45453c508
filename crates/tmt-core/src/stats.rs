//! Statistics in bounded memory: distributions, run lengths, and the summaries of traces and links.

pub mod bootstrap;
mod decode_delay;
pub mod distribution;
mod link;
mod plausible;
mod rates;
mod reordering;
mod resample;
pub mod runs;
mod segments;
mod slot_rate;
mod trace;

pub use decode_delay::*;
pub use link::*;
pub use plausible::*;
pub use rates::*;
pub use resample::*;
pub use segments::*;
pub use slot_rate::*;
pub use trace::*;

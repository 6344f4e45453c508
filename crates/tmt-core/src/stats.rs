//! Statistics in bounded memory: distributions, run lengths, and the summaries of traces and links.

pub mod distribution;
mod link;
mod plausible;
pub mod runs;
mod trace;

pub use link::*;
pub use plausible::*;
pub use trace::*;

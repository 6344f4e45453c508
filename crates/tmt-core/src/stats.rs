//! Statistics in bounded memory: distributions, run lengths, and the summaries of traces and links.

pub mod distribution;
mod link;
pub mod runs;
mod trace;

pub use link::*;
pub use trace::*;

//! Statistics in bounded memory: distributions and run lengths, and the summaries made of them.

pub mod distribution;
mod link;
pub mod runs;
mod trace;

pub use link::*;
pub use trace::*;

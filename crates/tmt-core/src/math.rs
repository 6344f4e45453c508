//! Transcendental functions and random numbers with equal results on all platforms; division by a fixed number.

pub(crate) mod divisor;
pub mod normal;
pub mod num;
pub mod octave_table;
pub mod rng;

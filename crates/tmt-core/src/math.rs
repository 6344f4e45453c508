//! Transcendental functions and random numbers with equal results on all platforms.

pub mod num;
pub mod rng;

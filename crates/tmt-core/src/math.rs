//! Mathematics that gives the same bits on every platform: transcendental functions and random numbers.

pub mod num;
pub mod rng;

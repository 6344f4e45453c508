//! Error-correcting codes that are really encoded and decoded.

pub mod awgn;
pub mod convolutional;
pub mod counts;
pub mod erasure;
pub mod estimate;
pub mod gf256;
pub mod reed_solomon;
pub mod viterbi;

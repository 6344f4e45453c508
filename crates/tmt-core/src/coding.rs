//! Error-correcting codes that are really encoded and decoded.

pub mod erasure;
pub mod gf256;
pub mod reed_solomon;

//! Error-correcting codes that are really encoded and decoded, and their error rates over white Gaussian noise by
//! Monte-Carlo simulation.
//!
//! The closed forms of the same codes are in [`model`](crate::model): union bound (`conv`), block error rate (`rs-block`),
//! segment error rate (`ser`). This module measures what they approximate.
//!
//! - [`convolutional`]: the K = 7 code with its punctured rates; [`viterbi`] decodes it.
//! - [`reed_solomon`]: RS(n, k) over [`gf256`], errors and erasures.
//! - [`erasure`]: data and parity blocks with a checksum each.
//! - [`spec`]: codes and interleavers as text, such as `conv:3/4+rs:239/223`.
//! - [`awgn`]: the channel. [`simulation`]: a code over it, in independent chunks, with their [`counts`].
//! - [`MODELS`]: the same as a model with keys. [`measure`](mod@measure): the measurement, and the outcomes of codewords in their order; [`estimate`]: rates with intervals.
//!
//! ```
//! use tmt_core::coding::measure::{Settings, measure};
//!
//! let code = "conv:1/2+rs:255/223".parse()?;
//! let settings = Settings { most_bits: 100_000, ..Settings::at(3.0) };
//! let measured = measure(&code, &settings)?;
//! assert_eq!(measured.segments.failed(), 0);
//! assert!(measured.segments.rate().high < 0.4); // −ln(0.05) over the segments
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod awgn;
pub mod convolutional;
pub mod counts;
pub mod erasure;
pub mod estimate;
pub mod gf256;
pub mod measure;
pub mod model;
pub mod reed_solomon;
mod required;
pub mod simulation;
pub mod spec;
pub mod viterbi;

use crate::model::Model;

/// Registry of the models that run codes.
pub static MODELS: &[&Model] = &[&model::MODEL, &required::MODEL];

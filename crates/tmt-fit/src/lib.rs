//! Models of packet loss, fitted to a trace by maximum likelihood.
//!
//! A trace is taken as the lengths of its runs of received and lost slots, in order. Every model is a stationary process.
//!
//! ```
//! use tmt_core::channel::{Channel, ChannelSpec};
//! use tmt_fit::{Options, Sequence, fit_all};
//!
//! let spec: ChannelSpec = "gilbert-elliott:alpha=0.99,beta=0.8".parse()?;
//! let mut channel = Channel::new(spec, 1);
//! let trace = Sequence::of((0..20_000).map(|_| channel.erases()));
//! let best = fit_all(&trace, &Options::default()).swap_remove(0);
//! assert_eq!(best.model, "simple-gilbert");
//! let alpha = &best.parameters[0];
//! assert!((alpha.value - 0.99).abs() < 3.0 * alpha.error.clone()?.standard);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`matrix`]: small matrices and their powers.
//! - [`sequence`]: what a fit needs of a trace.
//! - [`law`]: what a model says about run lengths and correlation.
//! - [`chain`]: likelihood and expected counts of hidden Markov chains.
//! - [`search`]: Baum–Welch and Newton's method.
//! - [`models`]: the models, one a file, in a registry.
//! - [`goodness`]: how well a model describes a trace, and whether its loss ratio is the same throughout.
//! - [`period`]: losses that come with a period, which are set apart.
//! - [`mod@fit`]: one model or all, and what is reported.

#![allow(rustdoc::private_intra_doc_links, reason = "the list names all layers")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::float_cmp,
        reason = "a test that cannot go on fails; exact numbers"
    )
)]

mod chain;
pub mod fit;
pub mod goodness;
mod law;
mod matrix;
pub mod models;
pub mod period;
pub mod search;
pub mod sequence;

pub use fit::{Fit, Options, fit, fit_all, model, never_seen_bound};
pub use goodness::drift::Drift;
pub use models::MODELS;
pub use sequence::{Segment, Sequence};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

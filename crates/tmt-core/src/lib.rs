//! Link-layer reliability schemes over physical-layer traces.
//!
//! A trace records, for each link-layer data unit (LLDU) that a physical layer sent, when it was sent and how long its
//! decoding took, or that it was erased. This crate computes when each data LLDU would have reached the link layer of
//! the other side under a reliability scheme.
//!
//! Four slots, 10 ms apart. The second is erased, so HARQ sends it again one round trip later:
//!
//! ```
//! use std::time::Duration;
//! use tmt_core::{Fate, SchemeSpec, Slot, Span, Time, SchemeRunner};
//!
//! let rtt = Span::try_from(Duration::from_millis(20))?;
//! let mut runner = SchemeRunner::new(SchemeSpec::harq(1, 1)?, rtt, Span::ZERO);
//! let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
//! let received = |millis| Slot::new(at(millis), Span::from_millis(1));
//! let slots = [received(0), Some(Slot::erased(at(10))), received(20), received(30)];
//! let slots: Vec<Slot> = slots.into_iter().flatten().collect();
//! let mut lldus = Vec::new();
//! runner.push_slots(&slots, &mut lldus)?;
//! let end = runner.finish(&mut lldus);
//! assert_eq!((end.rows, end.slots), (3, 4));
//! let again = lldus[1];
//! assert_eq!((again.fate, again.attempts), (Fate::Delivered, 2));
//! assert_eq!(again.decode_delay, Span::from_millis(21)); // sent at 10 ms, there at 31 ms
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`types`]: time, sizes and rates; slots and LLDUs; metadata; errors.
//! - [`math`]: functions that are the same on every platform, and counter-based random numbers.
//! - [`model`]: closed forms of schemes and codes, by name. They see neither traces nor schemes.
//! - [`radio`]: fading, error curves, and the words that a radio channel loses.
//! - [`coding`]: error-correcting codes that are encoded and decoded, and their error rates over noise.
//! - [`channel`]: erasure processes, and error-free slots of a constant rate.
//! - [`scheme`]: reliability schemes and the engine that runs them. They see no formats.
//! - [`stats`]: order statistics, run lengths, and the summaries of a trace and of a link.
//! - [`mod@format`]: every file format, read and written. Formats see no schemes.
//! - [`pipeline`]: all of it at the same time, on all cores.
//!
//! Nothing here prints, exits, looks at the clock or reads the environment: input, arguments and
//! seed determine every byte.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

pub mod channel;
pub mod coding;
pub mod format;
pub mod math;
pub mod model;
pub mod pipeline;
pub mod radio;
pub mod scheme;
pub mod stats;
pub mod types;

pub use scheme::SchemeSpec;
pub use scheme::runner::{RunnerError, SchemeRunner};
pub use types::named;
pub use types::{BitRate, Bytes, Error, ErrorKind, Fate, Lldu, Position, Result, Slot, Span, Time};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

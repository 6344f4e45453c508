//! Links between packets and link-layer timelines: packets, queues, hops, and reliability schemes that run on queued packets.
//!
//! A path is a list of [hops](hop). The hop with the bottleneck is a queue with the link after it: a timeline, a link of
//! constant rate, or a reliability scheme on the slots of a PHY trace. Nothing here knows a transport protocol, so that a
//! simulator, a test or a live path drive the same code:
//!
//! ```
//! use tmt_core::{BitRate, Bytes, Span, Time};
//! use tmt_link::hop::{Event, Hop, Queued};
//! use tmt_link::queue::{self, Buffer, Context, Discipline};
//! use tmt_link::{Packet, SyntheticLink};
//!
//! let (rate, size, buffer) = (BitRate(1_000_000), Bytes(1500), Buffer::Packets(100));
//! let link = SyntheticLink::new(rate, size, Span::from_millis(250), None, Time::ZERO).ok_or("no such link")?;
//! let discipline: Discipline = "codel:target=20ms".parse()?;
//! let context = Context { buffer, packet: size, rate: Some(rate), seed: 1, hop: 0 };
//! let mut hop = Queued::new(link, buffer, queue::start(&discipline, &context));
//! // Twice the rate of the link for two seconds.
//! let mut dropped = 0;
//! for id in 0..333 {
//!     let now = Time::ZERO.saturating_add(Span::from_millis(6 * id));
//!     while let Some(due) = hop.due().filter(|due| *due <= now) {
//!         dropped += std::iter::from_fn(|| hop.poll(due)).filter(|event| matches!(event, Event::Dropped(_))).count();
//!     }
//!     hop.push(now, Packet { id: id.into(), size, sent: now, enqueued: now, ..Packet::default() });
//!     while hop.poll(now).is_some() {}
//! }
//! assert!(dropped > 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list
//! (`tests/architecture.rs` checks it):
//! - [`packet`]: a packet, its ECN field and its opaque contents.
//! - [`packing`]: what a packet takes of LLDUs.
//! - [`timeline`]: LLDUs and slots in blocks, in memory or in a store.
//! - [`apply`]: schemes on the slots of a trace: the timeline, and its head.
//! - [`link`]: links that serve one packet at a time.
//! - [`queue`]: queue disciplines and their registry.
//! - [`hop`]: the elements of a path, and the gateway with the queue of a run.
//! - [`coupled`]: a scheme that runs on the packets of a queue.

#![cfg_attr(
    test,
    allow(clippy::unwrap_used, reason = "a test that cannot go on fails")
)]

pub mod apply;
pub mod coupled;
pub mod hop;
pub mod link;
pub mod packet;
pub mod packing;
pub mod queue;
pub mod timeline;

pub use coupled::{CoupledLink, Hold, InOrder, LostFeedback, Tail};
pub use link::{Link, Overlap, Service, SlotUse, SyntheticLink, TimelineLink, Usage};
pub use packet::{CLASSES, Ecn, Packet, Tag};
pub use packing::{Packing, Segmentation};

/// Tests the example of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

//! Parameter sweeps: many runs of `tmt apply | tmt tcp`, or of closed forms, from one plan.
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list (`tests/architecture.rs`
//! checks it):
//! - [`values`]: lists and ranges in the text of a value.
//! - [`plan`]: what varies, and the cells that follow from it.
//! - [`record`]: results of a cell.
//! - [`engine`]: runs the cells.
//! - [`table`]: the results as a tidy table.
//! - [`summary`]: means over runs and their intervals.
//! - [`advise`]: which scheme a link should use.

#![allow(rustdoc::private_intra_doc_links, reason = "the list names all layers")]
#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::float_cmp,
        reason = "a test that cannot go on fails; exact numbers"
    )
)]

pub mod advise;
pub mod engine;
pub mod plan;
pub mod record;
pub mod summary;
pub mod table;
pub mod values;

pub use engine::Sweep;
pub use plan::{Draft, Plan, PlanError};
pub use record::{Record, Records, Run};

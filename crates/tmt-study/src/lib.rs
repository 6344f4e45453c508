//! Parameter sweeps: many runs of `tmt apply | tmt tcp`, or of closed forms, from one plan.
//!
//! Two congestion controls over the same three channels, a row of results per run, and the mean of each:
//!
//! ```
//! use fluid_tcp::experiment::InMemory;
//! use tmt_study::{Draft, Sweep, summary, table};
//!
//! let plan = r#"
//!     link = "synthetic"
//!     rate = "2Mbps"
//!     duration = "10s"
//!     cc = ["reno", "cubic"]
//!     loss = "bernoulli:0.01"
//!     seeds = 3
//! "#;
//! let plan = Draft::parse(plan)?.plan(&mut |_| Ok(None))?;
//! let records = Sweep::new(&plan)?.collect(&InMemory, 2)?;
//! let table = table::table(&plan, &records, "my study 1.0")?;
//! let means = summary::summarise(&table, &["cc".into()], &["total_goodput_bps".into()], None)?;
//! assert_eq!(means.groups.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The layers, from the bottom to the top; a module uses only modules above it in this list (`tests/architecture.rs`
//! checks it):
//! - [`values`]: lists and ranges in the text of a value.
//! - [`plan`]: what varies, and the cells that follow from it.
//! - [`record`]: results of a cell.
//! - [`engine`]: runs the cells.
//! - [`table`]: the results as a tidy table.
//! - [`conditions`]: what compared runs have in common, and what differs unasked.
//! - [`summary`]: means over runs and their intervals.
//! - [`advise`]: which scheme a link should use.
//! - [`figures`]: tables and figures of papers, with what they print and what must hold.

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
pub mod conditions;
pub mod engine;
pub mod figures;
pub mod plan;
pub mod record;
pub mod summary;
pub mod table;
pub mod values;

pub use engine::Sweep;
pub use plan::{Draft, Plan, PlanError};
pub use record::{Record, Records, Run};

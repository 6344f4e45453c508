//! Self-contained HTML pages of tables of link-layer and TCP results.
//!
//! A [`Source`](tmt_plot::Source) is a table or a JSON document that `tmt` has written. [`study::page`] makes the page of one,
//! [`compare::page`] that of two studies, [`run::page`] that of the logs of one run. A [`Page`] is data; [`Page::html`] is its bytes.
//! The same input gives the same bytes. Nothing here reads a file, prints or exits.
//!
//! ```
//! use tmt_plot::Source;
//! use tmt_report::study;
//!
//! let table = "cell,scheme,run,seed,flow,total_goodput_bps\n0,arq,0,1,0,1e6\n1,harq:10/12,0,1,0,2e6\n";
//! let page = study::page("results.csv", &Source::read(table.as_bytes().into())?)?;
//! assert!(page.answer.starts_with("harq:10/12 has the highest goodput: 2 Mbps"));
//! assert!(page.html().contains("default-src 'none'"));
//! # Ok::<(), tmt_report::ReportError>(())
//! ```
//!
//! Modules from bottom to top. A module uses only modules above it in this list:
//! - [`text`]: text and data of any content as HTML; numbers with their units.
//! - [`dataset`]: rows with names and measured values, from which controls, charts and tables follow.
//! - [`totals`]: tables with rows of their own for all flows together, as tables of a sweep.
//! - [`markup`]: a page as data, and its HTML.
//! - [`answer`]: the answer of a study in one sentence.
//! - [`study`]: the page of a table or a document.
//! - [`compare`]: the page of two studies.
//! - [`run`]: the page of one run.

#![allow(rustdoc::private_intra_doc_links, reason = "the list names all layers")]

pub mod answer;
pub mod compare;
pub mod dataset;
pub mod markup;
pub mod run;
pub mod study;
pub mod text;
mod totals;

pub use markup::Page;

/// A page that cannot be made, with the text found and the text expected.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The table, or its request, does not fit.
    #[error(transparent)]
    Plot(#[from] tmt_plot::PlotError),
    /// The tables are not what they should be.
    #[error("{0}")]
    Data(String),
}

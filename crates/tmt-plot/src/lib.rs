//! Pictures of tables of link-layer and TCP results, as data ([`Picture`]) and drawn as SVG, PNG, PDF or text.
//!
//! A [`Source`] is a table or a JSON document that `tmt` has written. [`natural::draw`] makes the picture that fits its kind,
//! [`chosen::draw`] that of chosen columns. Nothing here reads a file, prints or exits.
//!
//! ```
//! use tmt_plot::chosen::Choice;
//! use tmt_plot::render::{Size, svg};
//! use tmt_plot::{Source, natural};
//!
//! let table = "x,delay_ms,by\n1,20,a\n2,30,a\n1,25,b\n2,NaN,b\n";
//! let choice = Choice {
//!     x: Some("x".to_owned()),
//!     y: vec!["delay_ms".to_owned()],
//!     by: vec!["by".to_owned()],
//! };
//! let picture = natural::draw(&Source::read(table.as_bytes().into())?, &choice)?;
//! assert_eq!(picture.notes, ["delay: 1 value NaN or infinite, not drawn."]);
//! assert!(svg(&picture, Size::default()).contains("delay (ms)"));
//! # Ok::<(), tmt_plot::PlotError>(())
//! ```
//!
//! Modules from bottom to top. A module uses only modules above it in this list:
//! - [`picture`]: a picture as data: panels, axes, series, notes; units.
//! - [`source`]: tables and documents as columns of numbers and labels.
//! - [`thin`]: fewer points with the same look.
//! - [`render`]: SVG, PNG, PDF and text of a picture.
//! - [`chosen`]: pictures of chosen columns.
//! - [`sequence`]: a few LLDUs through a scheme.
//! - [`natural`]: the natural picture of each kind of file, one file per kind, in a registry.

#![allow(rustdoc::private_intra_doc_links, reason = "the list names all layers")]

pub mod chosen;
pub mod natural;
pub mod picture;
pub mod render;
pub mod sequence;
pub mod source;
pub mod thin;

pub use picture::Picture;
pub use source::Source;

/// A picture that cannot be made, with the text found and the text expected.
#[derive(Debug, thiserror::Error)]
pub enum PlotError {
    /// The request does not fit the data.
    #[error("{0}")]
    Asked(String),
    /// The data are not what they should be.
    #[error("{0}")]
    Data(String),
    /// The input cannot be read.
    #[error(transparent)]
    Input(tmt_core::Error),
}

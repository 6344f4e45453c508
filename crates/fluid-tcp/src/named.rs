//! What is chosen by name: settings with a fixed set of values, and entries of open registries with their parameters.

#[macro_use]
mod keywords;
mod registry;

pub(crate) use keywords::unknown;
pub use registry::{Choice, Entry, Family, Parameter, Value, Values};

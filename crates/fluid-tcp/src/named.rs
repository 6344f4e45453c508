//! Selection by name: settings with a fixed set of values, and registries whose entries have parameters.

#[macro_use]
mod keywords;
mod registry;

pub(crate) use keywords::unknown;
pub use registry::{Choice, Entry, Family, Parameter, Value, Values};

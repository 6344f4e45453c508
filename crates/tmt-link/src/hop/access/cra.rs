//! Constant rate assignment (CRA): the terminal has a rate all the time, without requests.

use tmt_core::named::{Kind, Parameter};

use super::{Entry, Make, Terms};

/// CRA as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "cra",
    about: "a constant rate, as --return-rate",
    parameters: &[Parameter::required("rate", Kind::Rate)],
    examples: &["cra:rate=128kbps"],
    make: Make(|values| Terms {
        constant: values.rate("rate"),
        requested: None,
    }),
};

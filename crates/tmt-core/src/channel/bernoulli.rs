//! `bernoulli`: each unit is erased independently with the same probability.

use super::family::{Family, Make};
use super::{ChannelSpec, SlotChannel};
use crate::types::named::{Kind, Parameter};

pub(super) static FAMILY: Family = Family {
    name: "bernoulli",
    about: "Independent erasures",
    parameters: &[Parameter::required("p", Kind::Probability)
        .without_name()
        .described("P", "erasure probability, 0 to 1")],
    examples: &["bernoulli:0.001", "bernoulli:0.3", "bernoulli:1"],
    make: Make {
        in_steps: true,
        ..Make::timed(|values| {
            let p = values.number("p");
            Ok(SlotChannel::Steps(ChannelSpec::Bernoulli { p }))
        })
    },
};

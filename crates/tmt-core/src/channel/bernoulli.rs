//! `bernoulli`: each unit is erased independently with the same probability.

use super::family::{Family, Key};
use super::{ChannelSpec, SlotChannel, probability};

pub(super) static FAMILY: Family = Family {
    name: "bernoulli",
    about: "Independent erasures",
    keys: &[Key::needed("p", "P", "erasure probability, 0 to 1")],
    examples: &["bernoulli:0.001", "bernoulli:0.3", "bernoulli:1"],
    in_steps: true,
    read: |text| {
        let p = probability(text)?;
        Ok(SlotChannel::Steps(ChannelSpec::Bernoulli { p }))
    },
};

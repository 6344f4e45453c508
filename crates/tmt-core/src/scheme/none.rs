//! `none`: every slot stands for itself (link-layer.md §2).

use super::{Combining, Family, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "none",
    about: "every slot counts by itself",
    codeword: false,
    options: &[],
    default_rounds: Rounds::AtMost(0),
    combining: Combining::Incremental,
    examples: &["none"],
};

//! `none`: every slot stands for itself (link-layer.md §2).

use super::{Combining, Family, Rounds};

pub(super) const FAMILY: Family = Family {
    name: "none",
    form: "none",
    codeword: false,
    options: &[],
    default_rounds: Rounds::AtMost(0),
    combining: Combining::Incremental,
};

//! `none`: no redundancy and no repeats (docs/schemes.md, Sec. 2).

use super::{Combining, Family, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "none",
    about: "no redundancy, no repeats",
    codeword: false,
    options: &[],
    default_rounds: Rounds::AtMost(0),
    combining: Combining::Incremental,
    examples: &["none"],
};

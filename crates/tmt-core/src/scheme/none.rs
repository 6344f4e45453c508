//! `none`: no redundancy and no repeats (docs/schemes.md, Sec. 2).

use super::{Combining, Family, Rounds, Rules};

pub(super) static FAMILY: Family = Family {
    name: "none",
    about: "no redundancy, no repeats",
    parameters: &[],
    examples: &["none"],
    make: Rules {
        default_rounds: Rounds::AtMost(0),
        combining: Combining::Incremental,
    },
};

//! `fec`: ND data and N − ND repair units; nothing is sent again (papers/000 §3.3, papers/001 §III.B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "fec",
    about: "ND data and N - ND repair units; nothing is sent again",
    codeword: true,
    options: &[OptionKey::Interleave],
    default_rounds: Rounds::AtMost(0),
    combining: Combining::Incremental,
    examples: &["fec:10/12", "fec:3/7,interleave=4"],
};

//! `fec`: ND data and N − ND repair units; nothing is sent again (papers/000 §3.3, papers/001 §III.B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) const FAMILY: Family = Family {
    name: "fec",
    form: "fec:ND/N[,interleave=I]",
    codeword: true,
    options: &[OptionKey::Interleave],
    default_rounds: Rounds::AtMost(0),
    combining: Combining::Incremental,
};

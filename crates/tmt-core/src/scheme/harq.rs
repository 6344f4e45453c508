//! `harq`: HARQ of type II, incremental redundancy (papers/000 §3.5, papers/001 §III.B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) const FAMILY: Family = Family {
    name: "harq",
    form: "harq:ND/N[,extra=NS][,rounds=R][,interleave=I]",
    codeword: true,
    options: &[OptionKey::Extra, OptionKey::Rounds, OptionKey::Interleave],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Incremental,
};

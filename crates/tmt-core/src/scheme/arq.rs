//! `arq`: selective repeat of single LLDUs (papers/000 §3.4, papers/001 §III.B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) const FAMILY: Family = Family {
    name: "arq",
    form: "arq[:rounds=R]",
    codeword: false,
    options: &[OptionKey::Rounds],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Incremental,
};

//! `arq`: selective repeat of single LLDUs (Kuhn 2015, Sec. 3.4; CLIFT 2014, Sec. III-B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "arq",
    about: "selective repeat of single LLDUs",
    codeword: false,
    options: &[OptionKey::Rounds],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Incremental,
    examples: &["arq", "arq:rounds=1,in-order"],
};

//! `frame-arq`: a coded frame is sent again as a whole until one attempt decodes (papers/002 §2).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) const FAMILY: Family = Family {
    name: "frame-arq",
    form: "frame-arq:ND/N[,rounds=R]",
    codeword: true,
    options: &[OptionKey::Rounds],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Discard,
};

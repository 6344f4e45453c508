//! `frame-arq`: a coded frame is sent again as a whole until one attempt decodes (papers/002 §2).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "frame-arq",
    about: "a coded frame is sent again whole until one attempt decodes",
    codeword: true,
    options: &[OptionKey::Rounds],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Discard,
    examples: &["frame-arq:10/12", "frame-arq:5/9,rounds=1,in-order"],
};

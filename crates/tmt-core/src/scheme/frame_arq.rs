//! `frame-arq`: a codeword is repeated as a whole until one attempt decodes (Barakat 2004, Sec. 2).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "frame-arq",
    about: "a codeword is repeated as a whole until one attempt decodes",
    codeword: true,
    options: &[OptionKey::Rounds],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Discard,
    examples: &["frame-arq:10/12", "frame-arq:5/9,rounds=1,in-order"],
};

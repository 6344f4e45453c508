//! `frame-arq`: a codeword is repeated as a whole until one attempt decodes (Barakat 2004, Sec. 2).

use super::{CODEWORD, Combining, Family, ROUNDS, Rounds, Rules};

pub(super) static FAMILY: Family = Family {
    name: "frame-arq",
    about: "a codeword is repeated as a whole until one attempt decodes",
    parameters: &[CODEWORD, ROUNDS],
    examples: &["frame-arq:10/12", "frame-arq:5/9,rounds=1,in-order"],
    make: Rules {
        default_rounds: Rounds::Unlimited,
        combining: Combining::Discard,
    },
};

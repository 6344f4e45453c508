//! `arq`: selective repeat of single LLDUs (Kuhn 2015, Sec. 3.4; CLIFT 2014, Sec. III-B).

use super::{Combining, Family, ROUNDS, Rounds, Rules};

pub(super) static FAMILY: Family = Family {
    name: "arq",
    about: "selective repeat of single LLDUs",
    parameters: &[ROUNDS],
    examples: &["arq", "arq:rounds=1,in-order"],
    make: Rules {
        default_rounds: Rounds::Unlimited,
        combining: Combining::Incremental,
    },
};

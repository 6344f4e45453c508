//! `harq`: HARQ of type II, incremental redundancy (Kuhn 2015, Sec. 3.5; CLIFT 2014, Sec. III-B).

use super::{CODEWORD, Combining, EXTRA, Family, INTERLEAVE, ROUNDS, Rounds, Rules};

pub(super) static FAMILY: Family = Family {
    name: "harq",
    about: "HARQ-II: a codeword that is not decoded gets the units it lacks in further rounds",
    parameters: &[CODEWORD, EXTRA, ROUNDS, INTERLEAVE],
    examples: &[
        "harq:10/12",
        "harq:5/7,extra=1,rounds=2,interleave=3,in-order",
    ],
    make: Rules {
        default_rounds: Rounds::Unlimited,
        combining: Combining::Incremental,
    },
};

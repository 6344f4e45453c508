//! `harq`: HARQ of type II, incremental redundancy (Kuhn 2015, Sec. 3.5; CLIFT 2014, Sec. III-B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "harq",
    about: "HARQ-II: a codeword that is not decoded gets the units it lacks in further rounds",
    codeword: true,
    options: &[OptionKey::Extra, OptionKey::Rounds, OptionKey::Interleave],
    default_rounds: Rounds::Unlimited,
    combining: Combining::Incremental,
    examples: &[
        "harq:10/12",
        "harq:5/7,extra=1,rounds=2,interleave=3,in-order",
    ],
};

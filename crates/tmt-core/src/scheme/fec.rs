//! `fec`: ND data units and N − ND repair units; nothing is repeated (Kuhn 2015, Sec. 3.3; CLIFT 2014, Sec. III-B).

use super::{Combining, Family, OptionKey, Rounds};

pub(super) static FAMILY: Family = Family {
    name: "fec",
    about: "ND data units and N - ND repair units; nothing is repeated",
    codeword: true,
    options: &[OptionKey::Interleave],
    default_rounds: Rounds::AtMost(0),
    combining: Combining::Incremental,
    examples: &["fec:10/12", "fec:3/7,interleave=4"],
};

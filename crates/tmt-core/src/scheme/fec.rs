//! `fec`: ND data units and N − ND repair units; nothing is repeated (Kuhn 2015, Sec. 3.3; CLIFT 2014, Sec. III-B).

use super::{CODEWORD, Combining, Family, INTERLEAVE, Rounds, Rules};

pub(super) static FAMILY: Family = Family {
    name: "fec",
    about: "ND data units and N - ND repair units; nothing is repeated",
    parameters: &[CODEWORD, INTERLEAVE],
    examples: &["fec:10/12", "fec:3/7,interleave=4"],
    make: Rules {
        default_rounds: Rounds::AtMost(0),
        combining: Combining::Incremental,
    },
};

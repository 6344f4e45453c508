use tmt_core::scheme::{Combining, Family, Rounds};

pub(crate) static TWICE: Family = Family {
    name: "twice",
    about: "ARQ that repeats a unit once",
    codeword: false,
    options: &[],
    default_rounds: Rounds::AtMost(1),
    combining: Combining::Incremental,
    examples: &["twice", "twice,in-order"],
};

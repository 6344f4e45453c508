use tmt_core::scheme::{Combining, Family, Rounds, Rules};

pub(crate) static TWICE: Family = Family {
    name: "twice",
    about: "ARQ that repeats a unit once",
    parameters: &[],
    examples: &["twice", "twice,in-order"],
    make: Rules {
        default_rounds: Rounds::AtMost(1),
        combining: Combining::Incremental,
    },
};

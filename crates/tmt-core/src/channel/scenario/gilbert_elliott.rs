//! The two scenarios of Kuhn 2015, Sec. 3.6, on a Gilbert–Elliott channel.

use super::registry::{Scenario, ours, published};

const RATE: &str = "not given; that of Sec. 4.1, up";
const LLDU: &str = "not given; that of Sec. 4.1, up";
const FEEDBACK: &str = "the equations of the paper neglect the decoding delay of the feedback: without --feedback-delay the \
    repeats leave as early as theirs, before the receiver can ask for them, and `tmt apply` warns of it";
const INTERLEAVER: &str = "not given; a value of d is needed, and Sec. 4.1 has this one";

pub(super) static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "validation",
        about: "Gilbert–Elliott channel on which Kuhn 2015 validates TMT",
        source: "Kuhn 2015, Sec. 3.6.1",
        family: "gilbert-elliott",
        withholds: false,
        lldu_header: None,
        settings: &[
            ours("rate", "2.34Mbps", RATE),
            ours("every", "1", ""),
            ours("lldu", "33B", LLDU),
            published("rtt", "500ms", "Sec. 3.6.1"),
            ours("interleaver", "36ms", INTERLEAVER),
            published("duration", "500s", "Sec. 3.6.1"),
            published("alpha", "0.99", "Sec. 3.6.1"),
            published("beta", "0.8", "Sec. 3.6.1: 0.1 to 0.98"),
        ],
        load: "tmt apply --scheme fec:10/12 --scheme harq:5/7 --feedback-delay decode --summary-only",
        notes: &[
            "the load is a saturated sender; `tmt validate 000-fig5` runs the whole figure",
            FEEDBACK,
        ],
    },
    Scenario {
        name: "interpretation",
        about: "Gilbert–Elliott channel on which Kuhn 2015 compares the schemes",
        source: "Kuhn 2015, Sec. 3.6.2",
        family: "gilbert-elliott",
        withholds: false,
        lldu_header: None,
        settings: &[
            ours("rate", "2.34Mbps", RATE),
            ours("every", "1", ""),
            ours("lldu", "33B", LLDU),
            published("rtt", "500ms", "Sec. 3.6.2"),
            ours("interleaver", "36ms", INTERLEAVER),
            ours("duration", "500s", "not given; that of Sec. 3.6.1"),
            published("alpha", "0.98", "Sec. 3.6.2"),
            published("beta", "0.9", "Sec. 3.6.2: 0.1 to 0.93"),
        ],
        load: "tmt apply --scheme fec:38/51 --scheme arq:rounds=2 --scheme harq:38/51,rounds=2 --feedback-delay decode \
               --summary-only",
        notes: &[
            "the load is a saturated sender; `tmt validate 000-fig6` runs the whole figure",
            FEEDBACK,
        ],
    },
];

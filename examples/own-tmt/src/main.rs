//! `tmt` with a congestion control, a queue and a family of schemes of one's own. All commands have them:
//! `own-tmt tcp --link synthetic --cc scalable --queue own-red`, `own-tmt sweep --cc cubic,scalable …`,
//! `own-tmt apply --scheme twice:10/12 phy.csv`, and their help, completions and messages.

use std::process::ExitCode;

use tmt_cli::{Registries, run};
use tmt_core::scheme::{CODEWORD, Combining, EXTRA, Family, INTERLEAVE, Rounds, Rules};

#[path = "../../own-control/src/scalable.rs"]
mod scalable;

#[path = "../../own-parts/src/red.rs"]
mod red;

/// HARQ-II that gives up after two rounds.
static TWICE: Family = Family {
    name: "twice",
    about: "HARQ-II with at most two rounds of repeats",
    parameters: &[CODEWORD, EXTRA, INTERLEAVE],
    examples: &["twice:10/12"],
    make: Rules {
        default_rounds: Rounds::AtMost(2),
        combining: Combining::Incremental,
    },
};

fn main() -> ExitCode {
    run(Registries {
        controls: vec![&scalable::SCALABLE],
        queues: vec![&red::RED],
        schemes: vec![&TWICE],
    })
}

//! Cells run in this process.

use super::{Engine, Part, carry_out};

pub(super) const ENGINE: Engine = Engine {
    name: "local",
    help: "On the cores of this machine",
    part: Part::All,
    run: |job, sweep, done| {
        carry_out(job.read.file.as_deref(), sweep, done, |record| {
            job.partial.keep(record)
        })
    },
};

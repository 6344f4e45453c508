//! Results of sweeps and of TCP: the first metric over the first axis, by the others.

use tmt_study::conditions::axes;

use super::Kind;
use crate::PlotError;
use crate::chosen::{self, Choice};
use crate::picture::Picture;
use crate::source::Source;

pub(super) static KIND: Kind = Kind {
    name: "sweep",
    about: "mean of the first metric over the first axis, by the other axes",
    fits: chosen::is_results,
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let choice = Choice {
        by: axes(&source.table).skip(1).map(str::to_owned).collect(),
        ..Choice::default()
    };
    chosen::draw(source, &choice)
}

//! A run beside a packet log: goodput and packets in flight over time, recorded and of the model.

use super::Kind;
use crate::PlotError;
use crate::chosen::{self, Choice};
use crate::picture::Picture;
use crate::source::Source;

/// Columns that are drawn, one panel each.
const DRAWN: [&str; 2] = ["goodput_bps", "in_flight_packets"];

pub(super) static KIND: Kind = Kind {
    name: "comparison with a packet log",
    about: "goodput and packets in flight over time, recorded and of the model",
    fits: |source| {
        let names = ["time", "run"].into_iter().chain(DRAWN);
        names.into_iter().all(|name| source.has(name))
    },
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let choice = Choice {
        x: Some("time".to_owned()),
        y: DRAWN.map(str::to_owned).to_vec(),
        by: vec!["run".to_owned()],
    };
    chosen::draw(source, &choice)
}

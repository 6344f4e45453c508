//! Series of TCP: congestion window, RTT, queue and goodput over time.

use super::Kind;
use crate::PlotError;
use crate::chosen::{self, Choice};
use crate::picture::{Picture, Point};
use crate::source::Source;

pub(super) static KIND: Kind = Kind {
    name: "series",
    about: "cwnd, smoothed RTT, queue and goodput over time",
    fits: |source| ["time", "cwnd", "flow"].iter().all(|name| source.has(name)),
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let drawn = ["cwnd", "srtt", "queue", "goodput_bps"];
    let choice = Choice {
        x: Some("time".to_owned()),
        y: drawn
            .iter()
            .filter(|name| source.has(name))
            .map(|name| (*name).to_owned())
            .collect(),
        by: vec!["flow".to_owned()],
    };
    let mut picture = chosen::draw(source, &choice)?;
    let before = picture.panels.len();
    picture.panels.retain(|panel| {
        panel
            .series
            .iter()
            .flat_map(|series| &series.points)
            .any(Point::is_drawn)
    });
    if picture.panels.len() < before {
        picture.notes.push(
            "Columns without values have no panel; goodput needs --series-interval.".to_owned(),
        );
    }
    Ok(picture)
}

//! Timelines: delay over time by attempts.

use super::Kind;
use crate::PlotError;
use crate::chosen::word;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, Unit, counted};
use crate::source::Source;

pub(super) static KIND: Kind = Kind {
    name: "timeline",
    about: "delay until delivery over time, by attempts",
    fits: |source| {
        ["tx_time", "decode_delay", "attempts"]
            .iter()
            .all(|name| source.has(name))
    },
    draw,
};

/// Attempts with a series of their own.
const ATTEMPTS: usize = 4;

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let times = source.numbers(&source.quantity("tx_time")?)?.values;
    let delays = source.numbers(&source.quantity("decode_delay")?)?.values;
    let label = |attempts: usize| match attempts {
        1 => "1 attempt".to_owned(),
        ATTEMPTS => format!("{ATTEMPTS} attempts or more"),
        attempts => format!("{attempts} attempts"),
    };
    let mut series: Vec<Series> = (1..=ATTEMPTS)
        .map(|attempts| Series {
            label: label(attempts),
            mark: Mark::Dots,
            points: Vec::new(),
        })
        .collect();
    let mut lost = 0;
    for row in 0..times.len() {
        if delays[row].is_nan() || delays[row] <= 0.0 {
            lost += 1;
            continue;
        }
        let attempts = word(source, row, "attempts").and_then(|text| text.parse::<usize>().ok());
        let place = attempts.unwrap_or(1).clamp(1, ATTEMPTS) - 1;
        series[place]
            .points
            .push(Point::new(times[row], delays[row]));
    }
    series.retain(|series| !series.points.is_empty());
    Ok(Picture {
        title: String::new(),
        panels: vec![Panel {
            x: Axis::new("transmission time", Unit::Seconds),
            y: Axis::new("delay until delivery", Unit::Seconds),
            series,
        }],
        notes: vec![format!(
            "{}, {lost} of them lost or censored, not drawn. Propagation is not part of the delay.",
            counted(times.len(), "LLDU")
        )],
    })
}

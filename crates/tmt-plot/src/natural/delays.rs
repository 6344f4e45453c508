//! Distributions of delays: cumulative, one panel per kind.

use super::Kind;
use crate::PlotError;
use crate::chosen::word;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, Unit};
use crate::source::Source;

pub(super) static KIND: Kind = Kind {
    name: "distribution of delays",
    about: "cumulative distribution of each kind of delay, by flow",
    fits: |source| {
        ["kind", "delay", "share"]
            .iter()
            .all(|name| source.has(name))
    },
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let delay = source.quantity("delay")?;
    let share = source.quantity("share")?;
    let (delays, shares) = (source.numbers(&delay)?, source.numbers(&share)?);
    let mut panels: Vec<Panel> = Vec::new();
    for row in 0..source.table.len() {
        let kind = match word(source, row, "kind").unwrap_or_default().as_str() {
            "queueing" => "queueing delay".to_owned(),
            kind => kind.to_owned(),
        };
        let label = word(source, row, "flow")
            .map_or_else(|| "all flows".to_owned(), |flow| format!("flow {flow}"));
        let place = panels
            .iter()
            .position(|panel| panel.x.label == kind)
            .unwrap_or_else(|| {
                panels.push(Panel {
                    x: Axis::new(&kind, delay.unit),
                    y: Axis::new("share not larger", Unit::None),
                    series: Vec::new(),
                });
                panels.len() - 1
            });
        let series = &mut panels[place].series;
        let place = series
            .iter()
            .position(|series| series.label == label)
            .unwrap_or_else(|| {
                series.push(Series {
                    label,
                    mark: Mark::Steps,
                    // A distribution begins at zero.
                    points: vec![Point::new(delays.values[row], 0.0)],
                });
                series.len() - 1
            });
        series[place]
            .points
            .push(Point::new(delays.values[row], shares.values[row]));
    }
    for panel in &mut panels {
        // One flow is all flows.
        let has_all = panel
            .series
            .iter()
            .any(|series| series.label == "all flows");
        if panel.series.len() == 2 && has_all {
            panel.series.retain(|series| series.label == "all flows");
        }
    }
    Ok(Picture {
        title: String::new(),
        panels,
        notes: vec!["Cumulative distribution over the transmissions.".to_owned()],
    })
}

//! `tmt summarise --json`: the mean of the first metric of each group.

use super::Kind;
use crate::PlotError;
use crate::chosen::position;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series};
use crate::source::{Quantity, Source};

pub(super) static KIND: Kind = Kind {
    name: "summary",
    about: "mean of the first metric of each group, with its interval",
    fits: |source| source.document() == "summarise",
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let json = |row: usize, column: &str| -> Option<serde_json::Value> {
        serde_json::from_str(&source.text(row, column)).ok()
    };
    let (mut names, mut points) = (Vec::new(), Vec::new());
    for row in 0..source.table.len() {
        let by = json(row, "by").unwrap_or_default();
        let by = by.as_array().map_or_else(Vec::new, |by| {
            by.iter().filter_map(|text| text.as_str()).collect()
        });
        let name = if by.is_empty() {
            "all".to_owned()
        } else {
            by.join(", ")
        };
        let means = json(row, "means").unwrap_or_default();
        let number = |key: &str| means.get(0)?.get(key)?.as_f64();
        points.push(Point {
            x: position(&mut names, &name),
            y: number("mean").unwrap_or(f64::NAN),
            half: number("ci95").unwrap_or(0.0),
        });
    }
    if points.iter().all(|point| point.y.is_nan()) {
        return Err(PlotError::Data(
            "found no means, expected the document of `tmt summarise --json`".to_owned(),
        ));
    }
    let metric = source
        .param("metrics")
        .get(0)
        .and_then(|name| name.as_str());
    let y = Quantity::of(metric.unwrap_or("mean"));
    Ok(Picture {
        title: String::new(),
        panels: vec![Panel {
            x: Axis::of_names("group", names),
            y: y.axis(),
            series: vec![Series {
                label: "mean".to_owned(),
                mark: Mark::Dots,
                points,
            }],
        }],
        notes: vec!["Bars: 95 % interval of the mean.".to_owned()],
    })
}

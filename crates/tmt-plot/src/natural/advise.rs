//! `tmt advise --json`: the objective of the candidates with its interval, the best at the top.

use tmt_core::types::to_f64;

use super::Kind;
use crate::PlotError;
use crate::chosen::{halves, word};
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, counted};
use crate::source::{Quantity, Source};

pub(super) static KIND: Kind = Kind {
    name: "advise",
    about: "candidates with the interval of the objective",
    fits: |source| source.document() == "advise",
    draw,
};

/// Most candidates that have a line.
const MOST: usize = 30;

/// Column of the objective of `tmt advise`, if the document has it.
pub(super) fn objective(source: &Source) -> Option<&'static str> {
    let metrics = [
        ("goodput", "total_goodput_bps"),
        ("page-time", "completion_time_s"),
        ("p99-delay", "delay_p99_s"),
        ("efficiency", "efficiency"),
    ];
    let asked = source.param("objective").as_str()?;
    let metric = metrics.iter().find(|(name, _)| *name == asked);
    metric
        .map(|(_, column)| *column)
        .filter(|column| source.has(column))
}

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let ranked: Vec<usize> = {
        let mut rows: Vec<(u64, usize)> = (0..source.table.len())
            .filter_map(|row| Some((word(source, row, "rank")?.parse().ok()?, row)))
            .collect();
        rows.sort_unstable();
        rows.into_iter().map(|(_, row)| row).collect()
    };
    let Some(metric) = objective(source).filter(|_| !ranked.is_empty()) else {
        return Err(PlotError::Data(
            "found no objective, or no candidate with a rank, expected the document of `tmt advise --json`".to_owned(),
        ));
    };
    let quantity = Quantity::of(metric);
    let values = source.numbers(&quantity)?.values;
    let (half, note) = halves(source, &quantity)?
        .unwrap_or_else(|| (vec![0.0; values.len()], "No intervals.".to_owned()));
    let mut names = Vec::new();
    let mut points = Vec::new();
    // From the bottom: the best last.
    for (place, row) in ranked.iter().take(MOST).rev().enumerate() {
        names.push(word(source, *row, "scheme").unwrap_or_default());
        points.push(Point {
            x: values[*row],
            y: to_f64(place as u64) + 1.0,
            half: half[*row],
        });
    }
    let mut notes = vec![note];
    let (left_out, others) = (
        ranked.len() - points.len(),
        source.table.len() - ranked.len(),
    );
    if left_out > 0 {
        notes.push(format!(
            "{} of lower rank not drawn.",
            counted(left_out, "candidate")
        ));
    }
    if others > 0 {
        notes.push(format!(
            "{} without a place in the finals not drawn.",
            counted(others, "candidate")
        ));
    }
    Ok(Picture {
        title: String::new(),
        panels: vec![Panel {
            x: quantity.axis(),
            y: Axis::of_names("scheme", names),
            series: vec![Series {
                label: "candidates".to_owned(),
                mark: Mark::Dots,
                points,
            }],
        }],
        notes,
    })
}

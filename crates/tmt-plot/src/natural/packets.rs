//! Packet logs: sequence over time.

use super::Kind;
use crate::PlotError;
use crate::chosen::word;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, Unit, counted};
use crate::source::Source;

pub(super) static KIND: Kind = Kind {
    name: "packet log",
    about: "number of the packet over the time of sending; retransmissions and losses apart",
    fits: |source| {
        ["packet", "copy", "sent", "fate"]
            .iter()
            .all(|name| source.has(name))
    },
    draw,
};

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let sent = source.quantity("sent")?;
    let packet = source.quantity("packet")?;
    let (times, packets) = (source.numbers(&sent)?, source.numbers(&packet)?);
    let flow = source.column("flow").unwrap_or_default();
    let first = word(source, 0, &flow);
    let is_alone = (1..source.table.len()).all(|row| word(source, row, &flow) == first);
    // Losses are on top.
    let mut all: [Vec<Series>; 4] = Default::default();
    for row in 0..source.table.len() {
        let fate = word(source, row, "fate");
        let is_open = fate.as_deref() == Some("open");
        let is_lost = fate.is_some_and(|fate| fate != "delivered");
        let copies = source
            .table
            .value(row, "copy")
            .and_then(tmt_core::format::records::Cell::number);
        let (layer, what) = match (is_lost, copies.is_some_and(|copy| copy > 1.0)) {
            _ if is_open => (2, "not arrived at the end"),
            (true, _) => (3, "lost"),
            (_, true) => (1, "retransmission"),
            _ => (0, "first transmission"),
        };
        let label = match word(source, row, &flow) {
            Some(flow) if !is_alone => format!("flow {flow}: {what}"),
            _ => what.to_owned(),
        };
        let layer = &mut all[layer];
        let place = layer
            .iter()
            .position(|series| series.label == label)
            .unwrap_or_else(|| {
                layer.push(Series {
                    label,
                    mark: Mark::Dots,
                    points: Vec::new(),
                });
                layer.len() - 1
            });
        layer[place]
            .points
            .push(Point::new(times.values[row], packets.values[row]));
    }
    for layer in &mut all {
        layer.sort_by(|one, other| one.label.cmp(&other.label));
    }
    let series: Vec<Series> = all.into_iter().flatten().collect();
    let counts = series.iter().map(|series| {
        format!(
            "{}: {}",
            series.label,
            counted(series.points.len(), "packet")
        )
    });
    let note = counts.collect::<Vec<_>>().join("; ");
    Ok(Picture {
        title: String::new(),
        panels: vec![Panel {
            x: Axis::new("time of sending", sent.unit),
            y: Axis::new("number of the packet", Unit::None),
            series,
        }],
        notes: vec![note],
    })
}

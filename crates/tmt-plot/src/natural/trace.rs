//! PHY traces: erasure ratio over time, and lengths of bursts beside a fitted model.

use tmt_core::types::to_f64;

use super::Kind;
use crate::PlotError;
use crate::picture::{Axis, Mark, Panel, Picture, Point, Series, Unit, counted};
use crate::source::Source;
use crate::thin::index;

pub(super) static KIND: Kind = Kind {
    name: "trace",
    about: "erasure ratio over time; lengths of bursts beside those of a fitted model",
    fits: |source| source.has("tx_time") && source.has("decode_delay"),
    draw,
};

/// Windows of the erasure ratio.
const WINDOWS: usize = 200;

/// Shortest window, slots.
const SLOTS: usize = 20;

fn draw(source: &Source) -> Result<Picture, PlotError> {
    let times = source.numbers(&source.quantity("tx_time")?)?.values;
    let delays = source.numbers(&source.quantity("decode_delay")?)?.values;
    if let Some(row) = times.iter().position(|time| !time.is_finite()) {
        return Err(PlotError::Data(format!(
            "row {}: found no transmission time, expected one in each row",
            row + 1
        )));
    }
    let erased: Vec<bool> = delays
        .iter()
        .map(|delay| delay.is_nan() || *delay <= 0.0)
        .collect();
    let (begin, end) = (
        times.first().copied().unwrap_or(0.0),
        times.last().copied().unwrap_or(0.0),
    );
    let windows = (times.len() / SLOTS).clamp(1, WINDOWS);
    let count = to_f64(windows as u64);
    let length = (end - begin) / count;
    let mut tallies = vec![(0_u64, 0_u64); windows];
    for (time, erased) in times.iter().zip(&erased) {
        let window = if length > 0.0 {
            index((time - begin) / length).min(windows - 1)
        } else {
            0
        };
        tallies[window].0 += 1;
        tallies[window].1 += u64::from(*erased);
    }
    let mut middle = begin + length / 2.0;
    let ratios = tallies.iter().map(|(slots, erased)| {
        let ratio = if *slots == 0 {
            f64::NAN
        } else {
            100.0 * to_f64(*erased) / to_f64(*slots)
        };
        let point = Point::new(middle, ratio);
        middle += length;
        point
    });
    let all = to_f64(erased.iter().filter(|erased| **erased).count() as u64);
    let mut notes = vec![format!(
        "{}, {:.3} % erased. Windows of {} s.",
        counted(times.len(), "slot"),
        100.0 * all / to_f64(times.len() as u64),
        tmt_core::types::rounded(length, 3)
    )];
    let mut panels = vec![Panel {
        x: Axis::new("transmission time", Unit::Seconds),
        y: Axis::new("erasure ratio", Unit::Percent),
        series: vec![Series {
            label: "measured".to_owned(),
            mark: Mark::Line,
            points: ratios.collect(),
        }],
    }];
    match bursts(&erased) {
        Some((panel, note)) => {
            panels.push(panel);
            notes.push(note);
        }
        None => notes.push("No slot is erased: no bursts.".to_owned()),
    }
    Ok(Picture {
        title: String::new(),
        panels,
        notes,
    })
}

/// Share of the bursts that are at least so long, measured and by the simple Gilbert model, whose most likely beta is the share of
/// erased slots that an erased slot follows.
fn bursts(erased: &[bool]) -> Option<(Panel, String)> {
    let lengths: Vec<usize> = erased
        .chunk_by(|one, next| one == next)
        .filter(|run| run[0])
        .map(<[bool]>::len)
        .collect();
    let longest = *lengths.iter().max()?;
    let mut counts = vec![0_u64; longest + 1];
    for length in &lengths {
        counts[*length] += 1;
    }
    let followed = to_f64(lengths.iter().map(|length| *length as u64 - 1).sum());
    // The last slot has no successor.
    let all = followed + to_f64(lengths.len() as u64)
        - if erased.last() == Some(&true) {
            1.0
        } else {
            0.0
        };
    let beta = if all > 0.0 { followed / all } else { 0.0 };
    let bursts = to_f64(lengths.len() as u64);
    let mut left = lengths.len() as u64;
    let mut measured = Vec::new();
    let (mut fitted, mut expected) = (Vec::new(), 1.0);
    for (length, count) in counts.iter().enumerate().skip(1) {
        let x = to_f64(length as u64);
        if *count > 0 || length == 1 {
            measured.push(Point::new(x, to_f64(left) / bursts));
        }
        left -= count;
        if expected * bursts >= 0.1 {
            fitted.push(Point::new(x, expected));
        }
        expected *= beta;
    }
    let series = |label: &str, mark, points| Series {
        label: label.to_owned(),
        mark,
        points,
    };
    let panel = Panel {
        x: Axis::new("length of a burst of erasures", Unit::None),
        y: Axis {
            log: true,
            ..Axis::new("share at least as long", Unit::None)
        },
        series: vec![
            series("measured", Mark::Dots, measured),
            series("simple Gilbert model", Mark::Line, fitted),
        ],
    };
    let note = format!(
        "{}. Simple Gilbert model of largest likelihood: beta = {}; `tmt fit` has others.",
        counted(lengths.len(), "burst"),
        tmt_core::types::rounded(beta, 4)
    );
    Some((panel, note))
}

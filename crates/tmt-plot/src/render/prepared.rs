//! The parts of a picture that are drawn: prefixes of units, ranges and ticks, thinned points, styles, and notes on what is left out.

use kuva::plot::legend::LegendShape;
use kuva::plot::scatter::MarkerShape;

use tmt_core::types::to_f64;

use crate::picture::{Axis, Mark, Panel, Picture, Point, counted, not_on_axis};
use crate::thin::{Extent, thin};

/// Series that are told apart at a glance; more are not drawn.
const MOST_SERIES: usize = 12;

/// Colours of Okabe and Ito (2008), without the yellow, which is faint on white.
const COLORS: [&str; 7] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000",
];

/// Dashes, so that lines differ without colours as well.
const DASHES: [Option<&str>; 4] = [None, Some("7 3"), Some("2 2.5"), Some("8 3 2 3")];

/// Shapes of dots.
const SHAPES: [MarkerShape; 6] = [
    MarkerShape::Circle,
    MarkerShape::Square,
    MarkerShape::Triangle,
    MarkerShape::Diamond,
    MarkerShape::TriangleDown,
    MarkerShape::Cross,
];

/// Look of a series.
#[derive(Debug, Clone)]
pub(super) struct Style {
    pub(super) label: String,
    pub(super) color: &'static str,
    pub(super) dash: Option<&'static str>,
    pub(super) shape: MarkerShape,
    /// Whether it has a line in some panel, and dots.
    pub(super) line: bool,
    pub(super) dots: bool,
    /// Whether the dots are many, and small.
    pub(super) small: bool,
}

/// Dots of a series above which they are small.
const MANY: usize = 60;

impl Style {
    /// The dot of the legend.
    pub(super) fn marker(&self) -> Option<LegendShape> {
        self.dots.then_some(LegendShape::Marker(self.shape))
    }
}

/// A picture as it is drawn.
pub(super) struct Prepared {
    pub(super) panels: Vec<PreparedPanel>,
    pub(super) styles: Vec<Style>,
    pub(super) notes: Vec<String>,
}

/// A panel as it is drawn.
pub(super) struct PreparedPanel {
    pub(super) x: PreparedAxis,
    pub(super) y: PreparedAxis,
    pub(super) series: Vec<PreparedSeries>,
}

/// A series as it is drawn, in the shown units.
pub(super) struct PreparedSeries {
    pub(super) style: Style,
    pub(super) mark: Mark,
    pub(super) points: Vec<Point>,
}

/// An axis as it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct PreparedAxis {
    /// Quantity and unit.
    pub(super) label: String,
    pub(super) range: (f64, f64),
    pub(super) scale: Scale,
}

/// Ticks and range of an axis.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scale {
    Linear { step: f64, decimals: usize },
    Log,
    Names(Vec<String>),
}

impl PreparedAxis {
    pub(super) fn is_names(&self) -> bool {
        matches!(self.scale, Scale::Names(_))
    }

    /// `value`, or the end of the axis if it is below: an interval that reaches below zero on a logarithmic axis.
    pub(super) fn inside(&self, value: f64) -> f64 {
        value.max(self.range.0)
    }
}

impl PreparedPanel {
    /// Space for the numbers and the name of the vertical axis, pixels.
    pub(super) fn left_margin(&self) -> f64 {
        let longest = match &self.y.scale {
            Scale::Names(names) => names
                .iter()
                .map(|name| name.chars().count())
                .max()
                .unwrap_or(0),
            Scale::Linear { decimals, .. } => {
                let (low, high) = self.y.range;
                let length = |end: f64| format!("{end:.*}", (*decimals).min(9)).len();
                length(low).max(length(high))
            }
            Scale::Log => 5,
        };
        40.0 + to_f64(longest.min(60) as u64) * 6.8
    }
}

impl Prepared {
    /// `picture` with panels of this size, pixels.
    pub(super) fn of(picture: &Picture, width: f64, height: f64, is_text: bool) -> Self {
        // A row of text is taller than a number.
        let tick = if is_text { 48.0 } else { 24.0 };
        let mut notes = picture.notes.clone();
        let mut styles: Vec<Style> = Vec::new();
        let mut left_out: Vec<&str> = Vec::new();
        for series in picture.panels.iter().flat_map(|panel| &panel.series) {
            let has_line = series.mark != Mark::Dots;
            let has_dots = matches!(series.mark, Mark::Dots | Mark::LineAndDots);
            let small = series.mark == Mark::Dots && series.points.len() > MANY;
            let label = short(&series.label);
            if let Some(known) = styles.iter_mut().find(|style| style.label == label) {
                known.small |= small;
                known.line |= has_line;
                known.dots |= has_dots;
            } else if styles.len() < MOST_SERIES {
                let place = styles.len();
                styles.push(Style {
                    label,
                    color: COLORS[place % COLORS.len()],
                    dash: DASHES[place % DASHES.len()],
                    shape: if small {
                        MarkerShape::Circle
                    } else {
                        SHAPES[place % SHAPES.len()]
                    },
                    line: has_line,
                    dots: has_dots,
                    small,
                });
            } else if !left_out.contains(&series.label.as_str()) {
                left_out.push(&series.label);
            }
        }
        if !left_out.is_empty() {
            notes.push(format!(
                "{} more not drawn, from '{}' on",
                counted(left_out.len(), "series").replace("seriess", "series"),
                short(left_out[0])
            ));
        }
        let mut panels = Vec::new();
        for panel in &picture.panels {
            // Panels over the same quantity have the same ends.
            let alike = picture.panels.iter().filter(|other| other.x == panel.x);
            let xs: Vec<f64> = alike
                .flat_map(|panel| &panel.series)
                .flat_map(|series| &series.points)
                .filter(|point| point.is_drawn() && !(panel.x.log && point.x <= 0.0))
                .map(|point| point.x)
                .collect();
            panels.push(prepared(
                panel,
                &xs,
                &styles,
                [width - 90.0, height - 60.0],
                tick,
                &mut notes,
            ));
        }
        Self {
            panels,
            styles,
            notes,
        }
    }
}

/// `label` as it fits a legend.
fn short(label: &str) -> String {
    const MOST: usize = 48;
    if label.chars().count() <= MOST {
        return label.to_owned();
    }
    label.chars().take(MOST - 1).chain(['…']).collect()
}

fn prepared(
    panel: &Panel,
    xs: &[f64],
    styles: &[Style],
    [width, height]: [f64; 2],
    tick: f64,
    notes: &mut Vec<String>,
) -> PreparedPanel {
    let style_of = |label: &str| styles.iter().find(|style| style.label == short(label));
    let drawn = panel
        .series
        .iter()
        .filter_map(|series| Some((style_of(&series.label)?, series)));
    let mut drawn: Vec<(&Style, Mark, Vec<Point>)> = drawn
        .map(|(style, series)| (style, series.mark, series.points.clone()))
        .collect();
    for (axis, of) in [
        (&panel.x, (|point| point.x) as fn(&Point) -> f64),
        (&panel.y, |point| point.y),
    ] {
        let mut below = 0;
        for (.., points) in drawn.iter_mut().filter(|_| axis.log) {
            for point in points
                .iter_mut()
                .filter(|point| point.is_drawn() && of(point) <= 0.0)
            {
                below += 1;
                *point = Point::GAP;
            }
        }
        if below > 0 {
            let note = not_on_axis(&axis.label, below);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    let names_up = !panel.y.categories.is_empty();
    let all = || {
        drawn
            .iter()
            .flat_map(|(.., points)| points)
            .filter(|point| point.is_drawn())
    };
    // Intervals lie along the axis of numbers.
    let half = |point: &Point, is_along: bool| if is_along { point.half } else { 0.0 };
    let x = axis(
        &panel.x,
        all()
            .map(|point| (point.x, half(point, names_up)))
            .chain(xs.iter().map(|x| (*x, 0.0))),
        width / 70.0,
    );
    let y = axis(
        &panel.y,
        all().map(|point| (point.y, half(point, !names_up))),
        (height / tick).min(9.0),
    );
    let ((x_factor, x), (y_factor, y)) = (x, y);
    let extent = Extent {
        x: x.range,
        y: y.range,
        width,
        height,
    };
    let count = drawn.len();
    let (mut before, mut after) = (0, 0);
    let series = drawn.into_iter().map(|(style, mark, mut points)| {
        for point in &mut points {
            point.x /= x_factor;
            point.y /= y_factor;
            point.half /= if names_up { x_factor } else { y_factor };
        }
        let finite = |points: &[Point]| points.iter().filter(|point| point.is_drawn()).count();
        before += finite(&points);
        let points = thin(points, mark, extent, count);
        after += finite(&points);
        PreparedSeries {
            style: style.clone(),
            mark,
            points,
        }
    });
    let series = series.collect();
    if after < before {
        let note = format!(
            "{} of {}: extremes of each pixel column kept",
            counted(after, "point"),
            counted(before, "point")
        );
        let note = format!("{}: drawn {note}", panel.y.label);
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    PreparedPanel { x, y, series }
}

/// An axis that has all values with the half-widths of their intervals, with about `ticks` ticks, and what the values are divided
/// by.
fn axis(axis: &Axis, values: impl Iterator<Item = (f64, f64)>, ticks: f64) -> (f64, PreparedAxis) {
    if !axis.categories.is_empty() {
        let count = to_f64(axis.categories.len() as u64);
        let prepared = PreparedAxis {
            label: axis.label.clone(),
            range: (0.5, count + 0.5),
            scale: Scale::Names(axis.categories.iter().map(|name| short(name)).collect()),
        };
        return (1.0, prepared);
    }
    let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
    for (value, half) in values {
        // An interval that reaches zero has no end on a logarithmic axis.
        let end = value - half;
        low = low.min(if axis.log && end <= 0.0 {
            value / 2.0
        } else {
            end
        });
        high = high.max(value + half);
    }
    if low > high {
        (low, high) = if axis.log { (1.0, 10.0) } else { (0.0, 1.0) };
    }
    let (factor, unit) = axis.unit.shown(high.abs().max(low.abs()));
    (low, high) = (low / factor, high / factor);
    let range = if axis.log {
        (low / 1.15, high * 1.15)
    } else {
        padded(low, high)
    };
    let scale = if axis.log {
        Scale::Log
    } else {
        let (step, decimals) = nice((range.1 - range.0) / ticks.max(2.0));
        Scale::Linear { step, decimals }
    };
    let label = match unit {
        "" => axis.label.clone(),
        unit => format!("{} ({unit})", axis.label),
    };
    (
        factor,
        PreparedAxis {
            label,
            range,
            scale,
        },
    )
}

/// The range with some space beyond its ends; from zero on if it is not far.
fn padded(low: f64, high: f64) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if high - low <= size * 1e-9 {
        let space = if size > 0.0 { size * 0.1 } else { 1.0 };
        return (low - space, high + space);
    }
    let space = (high - low) * 0.04;
    if low >= 0.0 && low < high * 0.4 {
        return (0.0, high + space);
    }
    (low - space, high + space)
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below `step`, and the decimals of its multiples.
fn nice(step: f64) -> (f64, usize) {
    let text = format!("{step:e}");
    let exponent = text.split_once('e').map_or("0", |(_, exponent)| exponent);
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let power = |exponent: i32| format!("1e{exponent}").parse::<f64>().unwrap_or(1.0);
    let fits = |times: &f64| times * power(exponent) >= step * 0.999;
    let (step, exponent) = match [1.0, 2.0, 5.0].into_iter().find(fits) {
        Some(times) => (times * power(exponent), exponent),
        None => (power(exponent + 1), exponent + 1),
    };
    (step, usize::try_from(-exponent).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::{Series, Unit};

    #[test]
    fn steps_are_round() {
        for (step, expected) in [(0.11, 0.2), (3.0, 5.0), (0.000_7, 0.001), (10.0, 10.0)] {
            assert!((nice(step).0 / expected - 1.0).abs() < 1e-12, "{step}");
        }
    }

    #[test]
    fn axes_have_all_values_with_their_intervals() {
        let (factor, found) = axis(
            &Axis::new("delay", Unit::Seconds),
            [(0.01, 0.002), (0.2, 0.05)].into_iter(),
            5.0,
        );
        assert_eq!((factor, found.label.as_str()), (1e-3, "delay (ms)"));
        assert!(found.range.0 <= 8.0 && found.range.1 >= 250.0, "{found:?}");
    }

    #[test]
    fn what_is_not_drawn_is_counted() {
        let series = |place: u32| Series {
            label: place.to_string(),
            mark: Mark::Line,
            points: vec![Point::new(0.0, 1.0), Point::new(1.0, 2.0)],
        };
        let axis = Axis {
            log: true,
            ..Axis::new("x", Unit::None)
        };
        let panel = Panel {
            x: axis,
            y: Axis::new("y", Unit::None),
            series: (0..40).map(series).collect(),
        };
        let picture = Picture {
            panels: vec![panel],
            ..Picture::default()
        };
        let prepared = Prepared::of(&picture, 640.0, 340.0, false);
        assert_eq!(prepared.styles.len(), 12);
        assert_eq!(
            prepared.notes,
            [
                "28 series more not drawn, from '12' on",
                "x: 12 values of zero or less not on the logarithmic axis"
            ]
        );
    }
}

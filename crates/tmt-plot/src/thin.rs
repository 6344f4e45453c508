//! Fewer points with the same look: what cannot be told apart on the picture is drawn once, and extremes stay.

use crate::picture::{Mark, Point};

/// Points of a line that are drawn as they are, per pixel of its width.
const PER_PIXEL: usize = 4;

/// Most dots in a panel: some 60 bytes each.
const MOST_DOTS: usize = 10_000;

/// Extent of a panel, in units of its axes, and its size in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Ends of the horizontal axis.
    pub x: (f64, f64),
    /// Ends of the vertical axis.
    pub y: (f64, f64),
    /// Width, pixels.
    pub width: f64,
    /// Height, pixels.
    pub height: f64,
}

/// `points` with fewer of them if there are more than can be seen. Of each column of pixels the first, smallest, largest and last
/// value stay, and so do all gaps that can be seen. `panel` series share the panel.
#[must_use]
pub fn thin(points: Vec<Point>, mark: Mark, extent: Extent, panel: usize) -> Vec<Point> {
    if points.len() <= PER_PIXEL * index(extent.width) {
        return points;
    }
    match mark {
        Mark::Dots => dots(&points, extent, panel),
        Mark::Line | Mark::Steps | Mark::LineAndDots => line(&points, extent),
    }
}

/// A column of pixels of a line.
struct Column {
    number: usize,
    /// Places of the first, smallest, largest and last point.
    kept: [usize; 4],
}

fn line(points: &[Point], extent: Extent) -> Vec<Point> {
    let mut thinned = Vec::new();
    let mut under_way: Option<Column> = None;
    let mut is_gap = false;
    let flush = |thinned: &mut Vec<Point>, column: Option<Column>| {
        if let Some(Column { mut kept, .. }) = column {
            kept.sort_unstable();
            let mut last = None;
            for place in kept {
                if last != Some(place) {
                    thinned.push(points[place]);
                }
                last = Some(place);
            }
        }
    };
    for (place, point) in points.iter().enumerate() {
        if !point.is_drawn() {
            is_gap = true;
            continue;
        }
        let number = pixel(point.x, extent.x, extent.width);
        match &mut under_way {
            Some(column) if column.number == number => {
                let [_, least, most, last] = &mut column.kept;
                if point.y < points[*least].y {
                    *least = place;
                }
                if point.y > points[*most].y {
                    *most = place;
                }
                *last = place;
            }
            _ => {
                flush(&mut thinned, under_way.take());
                if is_gap && !thinned.is_empty() {
                    thinned.push(Point::GAP);
                }
                under_way = Some(Column {
                    number,
                    kept: [place; 4],
                });
            }
        }
        is_gap = false;
    }
    flush(&mut thinned, under_way);
    thinned
}

/// Larger and larger cells keep a dot each, until the dots are few enough.
fn dots(points: &[Point], extent: Extent, panel: usize) -> Vec<Point> {
    let most = MOST_DOTS / panel.max(1);
    let mut cell = 2.0;
    loop {
        let kept = dots_of_cells(points, extent, cell);
        if kept.len() <= most || cell > extent.width {
            return kept;
        }
        cell *= 1.5;
    }
}

/// A dot of each cell of `cell` pixels, with the extremes of each column of cells.
fn dots_of_cells(points: &[Point], extent: Extent, cell: f64) -> Vec<Point> {
    let (columns, rows) = (extent.width / cell, extent.height / cell);
    let mut taken = vec![false; (index(columns) + 1) * (index(rows) + 1)];
    let mut extremes: Vec<Option<[usize; 2]>> = vec![None; index(columns) + 1];
    let place_of = |point: &Point| {
        let column = pixel(point.x, extent.x, columns);
        let row = pixel(point.y, extent.y, rows);
        (column, column * (index(rows) + 1) + row)
    };
    let drawn = || {
        let all = points.iter().enumerate();
        all.filter(|(_, point)| point.is_drawn())
    };
    for (place, point) in drawn() {
        let [least, most] = extremes[place_of(point).0].get_or_insert([place; 2]);
        if point.y < points[*least].y {
            *least = place;
        }
        if point.y > points[*most].y {
            *most = place;
        }
    }
    let mut stay: Vec<usize> = extremes.into_iter().flatten().flatten().collect();
    for place in &stay {
        taken[place_of(&points[*place]).1] = true;
    }
    for (place, point) in drawn() {
        if !std::mem::replace(&mut taken[place_of(point).1], true) {
            stay.push(place);
        }
    }
    stay.sort_unstable();
    stay.dedup();
    stay.into_iter().map(|place| points[place]).collect()
}

/// Number of the pixel of `value`, from 0 to `pixels`.
fn pixel(value: f64, (low, high): (f64, f64), pixels: f64) -> usize {
    index(((value - low) / (high - low) * pixels).clamp(0.0, pixels))
}

/// A number of pixels as an index; 0 if it is none.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "pixels are few, and clamped"
)]
pub(crate) fn index(pixels: f64) -> usize {
    pixels.clamp(0.0, 1e6) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const EXTENT: Extent = Extent {
        x: (0.0, 1.0),
        y: (-1.0, 1.0),
        width: 40.0,
        height: 20.0,
    };

    proptest! {
        #![proptest_config(test_support::cases(400))]
        #[test]
        fn ends_and_extremes_stay(values in proptest::collection::vec(-1.0..1.0_f64, 400..3000), is_line: bool) {
            let n = f64::from(u32::try_from(values.len()).unwrap());
            let points: Vec<Point> = (0..).zip(&values).map(|(place, y)| Point::new(f64::from(place) / n, *y)).collect();
            let mark = if is_line { Mark::Line } else { Mark::Dots };
            let thinned = thin(points.clone(), mark, EXTENT, 1);
            let ys = |points: &[Point]| points.iter().map(|point| point.y).collect::<Vec<f64>>();
            let most = |ys: &[f64]| ys.iter().copied().fold(f64::MIN, f64::max);
            let least = |ys: &[f64]| ys.iter().copied().fold(f64::MAX, f64::min);
            let (before, after) = (ys(&points), ys(&thinned));
            prop_assert_eq!(most(&before).to_bits(), most(&after).to_bits());
            prop_assert_eq!(least(&before).to_bits(), least(&after).to_bits());
            if is_line {
                prop_assert_eq!(points.first(), thinned.first());
                prop_assert_eq!(points.last(), thinned.last());
                prop_assert!(thinned.len() <= 4 * 41);
            }
            prop_assert!(thinned.iter().all(|point| points.contains(point)));
        }
    }

    #[test]
    fn gaps_stay_where_they_can_be_seen() {
        let mut points: Vec<Point> = (0..1000)
            .map(|x| Point::new(f64::from(x) / 1000.0, 0.0))
            .collect();
        for point in &mut points[400..600] {
            point.y = f64::NAN;
        }
        // Within a pixel.
        points[101].y = f64::NAN;
        let thinned = thin(points, Mark::Line, EXTENT, 1);
        let gaps = thinned.iter().filter(|point| !point.is_drawn()).count();
        assert_eq!(gaps, 1);
    }
}

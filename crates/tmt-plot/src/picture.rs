//! A picture as data: panels one below the other, each with axes and series; units; notes.

/// A picture.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Picture {
    /// Title above the panels; none if empty.
    pub title: String,
    /// Panels, from top to bottom.
    pub panels: Vec<Panel>,
    /// Notes below the panels: how intervals were made, what is not drawn.
    pub notes: Vec<String>,
}

impl Picture {
    /// Makes the axes of numbers logarithmic that are asked for.
    pub fn make_log(&mut self, x: bool, y: bool) {
        for panel in &mut self.panels {
            panel.x.log |= x && panel.x.categories.is_empty();
            panel.y.log |= y && panel.y.categories.is_empty();
        }
    }
}

/// One pair of axes with its series.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Series, the first at the bottom. Series of one label look alike in all panels.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Quantity, without its unit.
    pub label: String,
    /// Unit of the values.
    pub unit: Unit,
    /// Whether the axis is logarithmic.
    pub log: bool,
    /// Names at 1, 2, …; a scale of numbers if empty.
    pub categories: Vec<String>,
}

impl Axis {
    /// A linear axis of numbers.
    #[must_use]
    pub fn new(label: impl Into<String>, unit: Unit) -> Self {
        Self {
            label: label.into(),
            unit,
            log: false,
            categories: Vec::new(),
        }
    }

    /// An axis of names, at 1, 2, ….
    #[must_use]
    pub fn of_names(label: impl Into<String>, names: Vec<String>) -> Self {
        Self {
            categories: names,
            ..Self::new(label, Unit::None)
        }
    }
}

/// Unit of the values of an axis. The picture shows them with a fitting prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A count, a ratio or a word.
    None,
    /// Seconds.
    Seconds,
    /// Bits per second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// Packets.
    Packets,
    /// Per cent.
    Percent,
    /// Decibels.
    Decibels,
    /// Decibels over one hertz, as C/N0 has them.
    DecibelHertz,
}

impl Unit {
    /// Unit with prefix in which values up to `largest` are shown, and what they are divided by.
    #[must_use]
    pub fn shown(self, largest: f64) -> (f64, &'static str) {
        let fitting = |steps: &[(f64, &'static str)]| {
            let fits = steps.iter().find(|(size, _)| largest >= *size);
            *fits.or(steps.last()).unwrap_or(&(1.0, ""))
        };
        match self {
            Self::None => (1.0, ""),
            Self::Seconds => fitting(&[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")]),
            Self::BitsPerSecond => {
                fitting(&[(1e9, "Gbps"), (1e6, "Mbps"), (1e3, "kbps"), (1.0, "bps")])
            }
            Self::Bytes => fitting(&[(1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")]),
            Self::Packets => (1.0, "packets"),
            Self::Percent => (1.0, "%"),
            Self::Decibels => (1.0, "dB"),
            Self::DecibelHertz => (1.0, "dBHz"),
        }
    }
}

/// Points that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub label: String,
    /// How the points are drawn.
    pub mark: Mark,
    /// Points in the order in which a line joins them. A point that is not finite is a gap.
    pub points: Vec<Point>,
}

/// How the points of a series are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// A line through the points.
    Line,
    /// A line that keeps each value until the next point.
    Steps,
    /// Points alone.
    Dots,
    /// Points with a line through them, and their intervals.
    LineAndDots,
}

/// A point in the units of its axes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Horizontal place.
    pub x: f64,
    /// Vertical place.
    pub y: f64,
    /// Half-width of an interval; 0 without one. It lies along y, or along x if y has names.
    pub half: f64,
}

impl Point {
    /// A point without an interval.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y, half: 0.0 }
    }

    /// A break of the line.
    pub const GAP: Self = Self::new(f64::NAN, f64::NAN);

    /// Whether the point can be drawn. Values beyond ±10^100 count as infinite.
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        const LARGEST: f64 = 1e100;
        [self.x, self.y, self.half]
            .iter()
            .all(|value| value.abs() <= LARGEST)
    }
}

/// Whether values need a logarithmic axis: the positive ones span more than two decades, and none is negative.
#[must_use]
pub fn spans_decades(values: impl IntoIterator<Item = f64>) -> bool {
    const WIDE: f64 = 100.0;
    let finite = values.into_iter().filter(|value| value.is_finite());
    let (least, smallest, greatest) = finite.fold(
        (0.0_f64, f64::INFINITY, 0.0_f64),
        |(least, smallest, greatest), value| {
            let positive = if value > 0.0 { value } else { f64::INFINITY };
            (
                least.min(value),
                smallest.min(positive),
                greatest.max(value),
            )
        },
    );
    least >= 0.0 && greatest > WIDE * smallest
}

/// The note on values that a logarithmic axis cannot show.
#[must_use]
pub fn not_on_axis(label: &str, count: usize) -> String {
    let count = counted(count, "value");
    format!("{label}: {count} of zero or less not on the logarithmic axis")
}

/// The text of a count with a word: `1 value`, `1,000 values`.
#[must_use]
pub fn counted(count: usize, word: &str) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    let end = if count == 1 { "" } else { "s" };
    format!("{text} {word}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_get_a_prefix_that_fits() {
        assert_eq!(Unit::Seconds.shown(0.25), (1e-3, "ms"));
        assert_eq!(Unit::Seconds.shown(0.0), (1e-9, "ns"));
        assert_eq!(Unit::BitsPerSecond.shown(2.5e6), (1e6, "Mbps"));
        assert_eq!(Unit::None.shown(7.0), (1.0, ""));
    }

    #[test]
    fn an_axis_is_logarithmic_from_two_decades_on() {
        assert!(spans_decades([1.0, 100.1]));
        assert!(!spans_decades([1.0, 100.0]));
        // Zeros do not count, gaps neither; a negative value has no place on such an axis.
        assert!(spans_decades([0.0, 1.0, f64::NAN, 200.0]));
        assert!(!spans_decades([0.0, 150.0, 200.0]));
        assert!(!spans_decades([-1.0, 1.0, 200.0]));
        assert!(!spans_decades([0.0, 0.0]) && !spans_decades([]));
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(counted(1, "value"), "1 value");
        assert_eq!(counted(1_234_567, "value"), "1,234,567 values");
    }
}

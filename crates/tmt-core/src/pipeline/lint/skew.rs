//! `clock-skew`: the clocks of sender and receiver run at different rates, so that the smallest delays rise or fall along a
//! line (Moon 1999).
//!
//! Time is cut into 64 to 128 windows, and the smallest delay of each is nearly free of queues. The slope is the median of
//! those of all pairs of windows (Theil–Sen), its standard error follows from Sen's interval of order statistics (Sen 1968).
//! A path that changes makes trends, too: so both halves of the trace must show the same one.

use super::{Check, Facts};
use crate::format::import::Finding;
use crate::format::import::catalogue::CLOCK_SKEW;
use crate::types::{Slot, Time, to_f64};

/// Windows from which on two neighbours become one.
const MOST_WINDOWS: usize = 128;

/// Least windows that say something about a trend and its halves.
const LEAST_WINDOWS: usize = 32;

/// Length of the first windows, ns.
const SHORTEST_WINDOW: u64 = 1_000_000;

/// Least slope, ppm.
const LEAST_PPM: f64 = 1.0;

/// As many standard errors are no chance.
const LEAST_ERRORS: f64 = 4.0;

/// The 97.5 % quantile of the normal distribution.
const NORMAL_975: f64 = 1.959_963_984_540_054;

/// A trend of the smallest delays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SkewEstimate {
    /// Slope, ns of delay per ns of time, in ppm.
    pub ppm: f64,
    /// Its standard error, ppm.
    pub standard_error_ppm: f64,
}

/// The received slot with the smallest delay of a window.
#[derive(Debug, Clone, Copy)]
struct Smallest {
    time: u64,
    delay: u64,
}

/// Finds the trend of the smallest delays, in one pass and 2 KiB.
///
/// ```
/// use tmt_core::pipeline::Skew;
/// use tmt_core::{Slot, Span, Time};
///
/// // A delay of 20 ms that grows by 50 ns in 1 ms, 50 ppm.
/// let slots: Vec<Slot> = (0..10_000)
///     .filter_map(|row| {
///         let delay = Span::from_nanos(20_000_000 + 50 * u64::from(row))?;
///         Slot::new(Time::ZERO.saturating_add(Span::from_millis(row)), delay)
///     })
///     .collect();
/// let mut skew = Skew::default();
/// skew.add(&slots);
/// let found = skew.significant().expect("a trend");
/// assert!((found.ppm - 50.0).abs() < 1e-6);
/// ```
#[derive(Debug, Default)]
pub struct Skew {
    first: Option<Time>,
    /// Length of a window, ns.
    window: u64,
    windows: Vec<Option<Smallest>>,
}

impl Skew {
    /// Takes the next slots, in order of time.
    pub fn add(&mut self, slots: &[Slot]) {
        let mut slots = slots.iter().filter(|slot| !slot.is_erased()).peekable();
        let Some(first) = slots.peek() else { return };
        let zero = *self.first.get_or_insert(first.tx_time());
        self.window = self.window.max(SHORTEST_WINDOW);
        // Where the current window is, so that most slots need no division.
        let (mut from, mut until) = (1, 0);
        let mut place = 0;
        for slot in slots {
            let time = slot.tx_time().since(zero).as_nanos();
            if time < from || time >= until {
                place = self.place(time);
                from = place as u64 * self.window;
                until = from.saturating_add(self.window);
            }
            let delay = slot.decode_delay().as_nanos();
            let smallest = &mut self.windows[place];
            if smallest.is_none_or(|smallest| delay < smallest.delay) {
                *smallest = Some(Smallest { time, delay });
            }
        }
    }

    /// The window of a time; makes windows longer until there is one.
    fn place(&mut self, time: u64) -> usize {
        loop {
            let place = usize::try_from(time / self.window).unwrap_or(usize::MAX);
            if place < MOST_WINDOWS {
                if self.windows.len() <= place {
                    self.windows.resize(place + 1, None);
                }
                return place;
            }
            self.window = self.window.saturating_mul(2);
            let pairs = self.windows.chunks(2);
            let smaller = |pair: &[Option<Smallest>]| {
                let both = pair.iter().flatten();
                both.copied().min_by_key(|smallest| smallest.delay)
            };
            self.windows = pairs.map(smaller).collect();
        }
    }

    /// The trend of the whole trace; `None` if it is too short.
    #[must_use]
    pub fn estimate(&self) -> Option<SkewEstimate> {
        let points: Vec<Smallest> = self.windows.iter().flatten().copied().collect();
        (points.len() >= LEAST_WINDOWS).then(|| theil_sen(&points))
    }

    /// The trend, if it is no chance and the same in both halves of the trace.
    #[must_use]
    pub fn significant(&self) -> Option<SkewEstimate> {
        let found = self.estimate()?;
        let is_large = found.ppm.abs() > LEAST_PPM.max(LEAST_ERRORS * found.standard_error_ppm);
        let points: Vec<Smallest> = self.windows.iter().flatten().copied().collect();
        let (first, second) = points.split_at(points.len() / 2);
        let is_alike = |half: &[Smallest]| {
            let share = theil_sen(half).ppm / found.ppm;
            (0.5..=2.0).contains(&share)
        };
        (is_large && is_alike(first) && is_alike(second)).then_some(found)
    }
}

/// The median slope of all pairs, and its standard error: half the width of Sen's 95 % interval over that quantile.
fn theil_sen(points: &[Smallest]) -> SkewEstimate {
    let mut slopes = Vec::with_capacity(points.len() * points.len() / 2);
    for (at, a) in points.iter().enumerate() {
        for b in &points[at + 1..] {
            let rise = to_f64(b.delay) - to_f64(a.delay);
            slopes.push(rise / to_f64(b.time - a.time) * 1e6);
        }
    }
    slopes.sort_by(f64::total_cmp);
    let pairs = to_f64(slopes.len() as u64);
    let n = to_f64(points.len() as u64);
    let spread = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let at = |rank: f64| {
        let rank = rank.clamp(1.0, pairs).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "between 1 and the number of slopes"
        )]
        slopes[rank as usize - 1]
    };
    let middle = f64::midpoint(pairs, 1.0);
    let width = NORMAL_975 * spread;
    let (low, high) = (
        at((pairs - width) / 2.0),
        at(f64::midpoint(pairs, width) + 1.0),
    );
    SkewEstimate {
        ppm: f64::midpoint(at(middle.floor()), at(middle.ceil())),
        standard_error_ppm: (high - low) / (2.0 * NORMAL_975),
    }
}

impl Check for Skew {
    fn slots(&mut self, slots: &[Slot]) {
        self.add(slots);
    }

    fn findings(&self, facts: &Facts<'_>) -> Vec<Finding> {
        // A round trip begins and ends at the same clock.
        let is_round_trip = facts.head.get("one_way_delay").is_some();
        let Some(found) = self
            .significant()
            .filter(|_| facts.has_times && !is_round_trip)
        else {
            return Vec::new();
        };
        let SkewEstimate {
            ppm,
            standard_error_ppm,
        } = found;
        let way = if ppm > 0.0 { "rise" } else { "fall" };
        let text = format!(
            "the smallest delays {way} by {:.2} ppm (standard error {standard_error_ppm:.2} ppm): the clocks run at different rates, or the path changes steadily",
            ppm.abs()
        );
        vec![Finding::of(&CLOCK_SKEW, 1, "clocks", text)]
    }
}

//! Start offsets of several runs over one trace.

use tmt_core::math::num::floor_u64;
use tmt_core::math::rng::{Stream, Uniform};
use tmt_core::types::{Span, to_f64};

use super::setting::{Kind, Setting};

/// Largest number of runs of one call.
const MAX_OFFSETS: u32 = 1_000_000;

/// Number of runs and placement of their starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Offsets {
    /// Number of runs, 1 to 1 000 000.
    pub count: u32,
    /// Whether the starts are random; evenly spaced if not.
    pub random: bool,
    /// Time from the first row within which runs start; `None` for all that leaves room for a run. The room depends on the
    /// timeline, so runs over several timelines have the same starts only with this.
    pub over: Option<Span>,
}

impl Offsets {
    /// Starts within [0, `range`) in ascending order. If `range` is zero, all are zero.
    #[must_use]
    pub fn within(self, range: Span, seed: u64) -> Vec<Span> {
        let range = range.as_nanos();
        let span = |nanos: u64| Span::from_nanos(nanos).unwrap_or(Span::MAX);
        if !self.random {
            let share = |run: u32| u128::from(range) * u128::from(run) / u128::from(self.count);
            return (0..self.count)
                .map(|run| span(u64::try_from(share(run)).unwrap_or(range)))
                .collect();
        }
        let mut uniform = Uniform::new(seed, Stream::TransferStart);
        let mut starts: Vec<Span> = (0..u64::from(self.count))
            .map(|run| {
                span(floor_u64(uniform.at(run) * to_f64(range)).min(range.saturating_sub(1)))
            })
            .collect();
        starts.sort_unstable();
        starts
    }
}

impl Setting for Offsets {
    const KIND: Kind = Kind::Text("N[:random][:over=D]", Vec::new);

    fn read(text: &str) -> Result<Self, String> {
        let (rest, over) = match text.split_once(":over=") {
            Some((rest, over)) => {
                let over: Span = over.parse().map_err(|why| format!("{why}"))?;
                (rest, Some(over))
            }
            None => (text, None),
        };
        let number = rest.strip_suffix(":random");
        let random = number.is_some();
        match number.unwrap_or(rest).parse() {
            Ok(count @ 1..=MAX_OFFSETS) => Ok(Self {
                count,
                random,
                over,
            }),
            _ => Err(format!(
                "found '{text}', expected a number of runs from 1 to {MAX_OFFSETS}, optionally followed by ':random' and ':over=DURATION'"
            )),
        }
    }

    fn text(&self) -> String {
        let how = if self.random { ":random" } else { "" };
        let over = self.over.map(|over| format!(":over={over}"));
        format!("{}{how}{}", self.count, over.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(nanos: u64) -> Span {
        Span::from_nanos(nanos).unwrap()
    }

    #[test]
    fn even_starts_divide_the_range() {
        let starts = |text: &str, range| Offsets::read(text).unwrap().within(span(range), 1);
        assert_eq!(starts("4", 10), [0, 2, 5, 7].map(span));
        assert_eq!(starts("1", 0), [Span::ZERO]);
        assert_eq!(starts("2", Span::MAX.as_nanos())[1], Span::MAX.half());
    }

    #[test]
    fn texts_are_read_back() {
        for text in ["4", "4:random", "4:over=5s", "1:random:over=250ms"] {
            assert_eq!(Offsets::read(text).unwrap().text(), text);
        }
    }

    #[test]
    fn random_starts_fill_the_range_in_order_for_each_seed() {
        let offsets = Offsets::read("1000:random").unwrap();
        let starts = offsets.within(span(1_000_000_000), 1);
        assert!(starts.is_sorted() && starts.iter().all(|start| *start < span(1_000_000_000)));
        let mean = starts.iter().map(|start| start.as_secs_f64()).sum::<f64>() / 1000.0;
        // Standard error 0.0091; five of them.
        assert!((mean - 0.5).abs() < 0.046, "{mean}");
        assert_ne!(offsets.within(span(1_000_000_000), 2), starts);
    }

    #[test]
    fn invalid_numbers_of_runs_are_refused() {
        for text in [
            "",
            "0",
            "-1",
            "1.5",
            "10:even",
            "random",
            "1000001",
            "0:random",
            "4:over=5",
            "4:over=5s:random",
        ] {
            assert!(Offsets::read(text).is_err(), "{text}");
        }
    }
}

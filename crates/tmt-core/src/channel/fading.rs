//! `fading`: alternating good times, in which nothing is erased, and bad times, in which everything is. Both have
//! exponential lengths (Zhu 2006, Sec. V-C).
//!
//! The process runs in continuous time, independent of the slots. It starts in its stationary distribution. Since the
//! exponential distribution is memoryless, the length of the first state is distributed like that of any other.

use std::str::FromStr;
use std::sync::Arc;

use super::family::{Family, Make};
use super::{ChannelError, Erasing, Process, SlotChannel, Use};
use crate::math::num;
use crate::math::rng::{Stream, Uniform};
use crate::types::decimal::Decimal;
use crate::types::named::{Kind, Parameter, ParseError, Values};
use crate::types::{Slot, Span, Time, to_f64};

pub(super) static FAMILY: Family = Family {
    name: "fading",
    about: "Alternating good times without erasures and bad times in which all is erased, of exponential length",
    parameters: &[
        Parameter::required("m", Kind::Text("a duration, or seconds")).described(
            "MEAN BAD TIME",
            "mean bad time, a duration or seconds, from 1us",
        ),
        Parameter::required("X", Kind::Number(0.0, 1.0)).described(
            "SHARE OF BAD TIME",
            "share of bad time, above 0 and below 1",
        ),
    ],
    examples: &["fading:m=100ms,X=0.1", "fading:m=3ms,X=0.3"],
    make: Make::timed(|values| Ok(SlotChannel::Timed(Arc::new(Fading::of(values)?)))),
};

/// Shortest mean times, ns. Lengths are rounded to 1 ns, a thousandth of this.
const SHORTEST: f64 = 1000.0;

/// Number of states per checkpoint.
const KEPT: u64 = 1024;

/// Parameters of a fading link.
#[derive(Debug, derive_more::Display, Clone, Copy, PartialEq)]
#[display("{}:m={mean_bad},X={bad_share}", FAMILY.name)]
pub struct Fading {
    mean_bad: Span,
    bad_share: f64,
}

impl Fading {
    fn of(values: &Values) -> Result<Self, ChannelError> {
        Self::new(length(values.text("m"))?, values.number("X"))
    }

    /// A link with mean bad time `mean_bad` (m) that is bad for the share `bad_share` (X) of all time.
    ///
    /// # Errors
    /// The share is not between 0 and 1, or a mean time is below 1 µs, for which nanoseconds are too coarse.
    pub fn new(mean_bad: Span, bad_share: f64) -> Result<Self, ChannelError> {
        if !(bad_share > 0.0 && bad_share < 1.0) {
            return Err(ChannelError::value(
                format!("X={bad_share}"),
                "a share above 0 and below 1 (use bernoulli:0 or bernoulli:1 for 0 or 1)",
            ));
        }
        let fading = Self {
            mean_bad,
            bad_share,
        };
        if to_f64(mean_bad.as_nanos()) < SHORTEST || fading.mean_good_s() * 1e9 < SHORTEST {
            return Err(ChannelError::value(
                format!("m={mean_bad},X={bad_share}"),
                "a mean bad time m and a mean good time m(1-X)/X of at least 1us",
            ));
        }
        Ok(fading)
    }

    /// Mean good time m (1 − X)/X, s (Zhu 2006, Sec. V-C).
    #[must_use]
    pub fn mean_good_s(&self) -> f64 {
        self.mean_bad.as_secs_f64() * (1.0 - self.bad_share) / self.bad_share
    }

    /// Rate of fades X/m, 1/s (Zhu 2006, eq. (55)).
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.bad_share / self.mean_bad.as_secs_f64()
    }

    /// Probability that a slot of length T is erased, which it is if any part of it is bad: 1 − (1 − X) exp(−T/mean good
    /// time). To be received, it must start in a good time that lasts for at least T.
    #[must_use]
    pub fn erasure_probability(&self, slot: Span) -> f64 {
        1.0 - (1.0 - self.bad_share) * num::exp(-slot.as_secs_f64() / self.mean_good_s())
    }
}

impl FromStr for Fading {
    type Err = ChannelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::of(&FAMILY.read(Some(text))?)
    }
}

/// Reads a duration, or a plain number of seconds as in Zhu 2006.
fn length(text: &str) -> Result<Span, ParseError> {
    let seconds = Decimal::exactly(text, 1, 9).and_then(Span::from_nanos);
    let or_unit = || {
        text.parse()
            .map_err(|error| ParseError::new(format!("{error}, or seconds")))
    };
    seconds.map_or_else(or_unit, Ok)
}

impl Process for Fading {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(Fades::on(*self, seed, used))
    }

    fn erasure_probability(&self, on_air: Span) -> Option<f64> {
        Some(Self::erasure_probability(self, on_air))
    }

    fn note(&self, on_air: Span) -> String {
        let p = Self::erasure_probability(self, on_air);
        format!(
            "{:.6} fades per second, erasure probability {p:.6}",
            self.rate()
        )
    }
}

/// A time between two changes of state.
#[derive(Debug, Clone, Copy)]
struct Sojourn {
    /// Number from 0 on; every second one is bad.
    number: u64,
    start: Time,
    end: Time,
}

/// A running fading process, which can be queried for its bad times.
#[derive(Debug, Clone)]
pub struct Fades {
    /// Mean lengths of the even and of the odd sojourns, ns.
    means: [f64; 2],
    /// Parity of the numbers of bad sojourns.
    bad: u64,
    draws: Uniform,
    place: Sojourn,
    /// Checkpoints, every [`KEPT`] sojourns, so that going back is cheap.
    kept: Vec<Sojourn>,
}

impl Fades {
    /// The process of a forward link under `seed`, starting at time zero.
    #[must_use]
    pub fn new(fading: Fading, seed: u64) -> Self {
        Self::on(fading, seed, Use::Forward)
    }

    fn on(fading: Fading, seed: u64, used: Use) -> Self {
        let mut draws = used.numbers(seed, Stream::Fading);
        let begins_bad = draws.at(0) < fading.bad_share;
        let bad = to_f64(fading.mean_bad.as_nanos());
        let good = fading.mean_good_s() * 1e9;
        let mut fades = Self {
            means: if begins_bad { [bad, good] } else { [good, bad] },
            bad: u64::from(!begins_bad),
            draws,
            place: Sojourn {
                number: 0,
                start: Time::ZERO,
                end: Time::ZERO,
            },
            kept: Vec::new(),
        };
        fades.begin(0, Time::ZERO);
        fades
    }

    /// Calls `visit` with start and end of each bad time that overlaps [`from`, `to`), in order.
    ///
    /// Windows may be requested in any order. The time taken is in proportion to the distance from the previous window.
    pub fn within(&mut self, from: Time, to: Time, mut visit: impl FnMut(Time, Time)) {
        if from < self.place.start {
            let before = self.kept.partition_point(|kept| kept.start <= from);
            // The first sojourn starts at zero, so there always is one.
            if let Some(kept) = before.checked_sub(1).and_then(|at| self.kept.get(at)) {
                self.place = *kept;
            }
        }
        while self.place.end <= from && self.place.end < Time::MAX {
            self.go_on();
        }
        loop {
            let Sojourn { number, start, end } = self.place;
            if number % 2 == self.bad && start < end && start < to && from < end {
                visit(start, end);
            }
            if end >= to || end == Time::MAX {
                return;
            }
            self.go_on();
        }
    }

    fn go_on(&mut self) {
        self.begin(self.place.number + 1, self.place.end);
    }

    /// Starts sojourn `number`. Its length is drawn by inversion, with its number as the index.
    fn begin(&mut self, number: u64, start: Time) {
        let mean = self.means[usize::from(number % 2 == 1)];
        let length = -mean * num::log1p(-self.draws.at(number + 1));
        let length = Span::from_nanos(num::floor_u64(length + 0.5)).unwrap_or(Span::MAX);
        self.place = Sojourn {
            number,
            start,
            end: start.saturating_add(length),
        };
        if number == KEPT * self.kept.len() as u64 {
            self.kept.push(self.place);
        }
    }
}

impl Erasing for Fades {
    /// A slot is erased if any part of it is bad.
    fn erase(&mut self, _first: u64, on_air: Span, slots: &mut [Slot]) {
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            return;
        };
        // An instant takes the first nanosecond after it.
        let on_air = on_air.max(Span::NANOSECOND);
        let (from, to) = (first.tx_time(), last.tx_time().saturating_add(on_air));
        let mut rest = slots;
        self.within(from, to, |start, end| {
            let ended = rest.partition_point(|slot| slot.tx_time().saturating_add(on_air) <= start);
            let reached = std::mem::take(&mut rest).split_at_mut(ended).1;
            let bad = reached.partition_point(|slot| slot.tx_time() < end);
            for slot in &mut reached[..bad] {
                *slot = Slot::erased(slot.tx_time());
            }
            rest = reached;
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn bad_times(fades: &mut Fades, from: u64, to: u64) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        fades.within(time(from), time(to), |start, end| {
            found.push((start.as_nanos(), end.as_nanos()));
        });
        found
    }

    #[test]
    fn texts_round_trip() {
        let read = |text: &str| text.parse::<Fading>().unwrap().to_string();
        assert_eq!(read("m=100ms,X=0.1"), "fading:m=100ms,X=0.1");
        assert_eq!(read("X=0.25,m=0.0025"), "fading:m=2.5ms,X=0.25");
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for text in [
            "m=1s,X=0",
            "m=1s,X=1",
            "m=1s,X=nan",
            "m=0,X=0.5",
            "m=-1,X=0.5",
            "m=999ns,X=0.5",
            "m=1us,X=0.6",
        ] {
            assert!(text.parse::<Fading>().is_err(), "{text}");
        }
    }

    proptest! {
        /// Compared with all bad times in one call; the process is longer than one checkpoint interval.
        #[test]
        fn any_window_shows_the_same_process(
            seed: u64,
            windows in prop::collection::vec((0u64..10_000_000_000, 0u64..2_000_000_000), 1..8),
        ) {
            let fading: Fading = "m=1ms,X=0.3".parse().unwrap();
            let all = bad_times(&mut Fades::new(fading, seed), 0, 12_000_000_000);
            prop_assert!(all.len() as u64 > KEPT);
            let mut fades = Fades::new(fading, seed);
            for (from, length) in windows {
                let expected: Vec<(u64, u64)> = all
                    .iter()
                    .copied()
                    .filter(|(start, end)| *start < from + length && *end > from)
                    .collect();
                prop_assert_eq!(bad_times(&mut fades, from, from + length), expected);
            }
        }
    }

    /// Zhu 2006, Sec. V-C: mean bad time m, mean good time m(1−X)/X, share X. The correlation of the state at lag τ is
    /// exp(−τ/(m(1−X))), as in any two-state process that leaves its states at rates 1/m and X/(m(1−X)).
    #[test]
    fn means_share_and_correlation_are_those_of_the_process() {
        let fading: Fading = "m=2ms,X=0.2".parse().unwrap();
        let seconds = 2_000;
        let end = seconds * 1_000_000_000;
        let times = bad_times(&mut Fades::new(fading, 5), 0, end);
        let count = to_f64(times.len() as u64);
        let bad: u64 = times.iter().map(|(start, end)| end - start).sum();
        let (mean, share) = (to_f64(bad) / count, to_f64(bad) / to_f64(end));
        // 200 000 fades: the mean of exponential times has a relative standard error of 0.0022; the share's, whose
        // variance is 2 X²(1−X)² m/(X · time), is 0.0025. Four of them.
        assert!((mean / 2e6 - 1.0).abs() < 0.009, "{mean}");
        assert!((share / 0.2 - 1.0).abs() < 0.011, "{share}");
        assert!((count / to_f64(seconds) / fading.rate() - 1.0).abs() < 0.011);
        assert!((fading.mean_good_s() - 0.008).abs() < 1e-12);

        // Samples every 0.4 ms, and pairs of them 1.6 ms apart.
        let mut at = times.iter().peekable();
        let states: Vec<f64> = (0..end / 400_000)
            .map(|sample| {
                let now = sample * 400_000;
                while at.next_if(|(_, end)| *end <= now).is_some() {}
                f64::from(u8::from(at.peek().is_some_and(|(start, _)| *start <= now)))
            })
            .collect();
        let pairs = states.iter().zip(&states[4..]);
        let both =
            pairs.map(|(one, other)| one * other).sum::<f64>() / to_f64(states.len() as u64 - 4);
        let correlation = (both - share * share) / (share * (1.0 - share));
        let expected = num::exp(-1.6 / (2.0 * 0.8));
        assert!(
            (correlation - expected).abs() < 0.01,
            "{correlation} {expected}"
        );
    }

    #[test]
    fn a_run_may_begin_in_either_state() {
        let fading: Fading = "m=1s,X=0.3".parse().unwrap();
        let begins_bad = |seed: &u64| !bad_times(&mut Fades::new(fading, *seed), 0, 1).is_empty();
        let bad = (0..4000).filter(begins_bad).count();
        // Standard error 29; four of them.
        assert!((1084..=1316).contains(&bad), "{bad}");
    }

    #[test]
    fn a_slot_is_bad_more_often_than_an_instant() {
        let fading: Fading = "m=2ms,X=0.2".parse().unwrap();
        assert!((fading.erasure_probability(Span::ZERO) - 0.2).abs() < 1e-12);
        // Mean good time 8 ms: 1 − 0.8/e.
        let whole = fading.erasure_probability(Span::from_millis(8));
        assert!((whole - (1.0 - 0.8 * num::exp(-1.0))).abs() < 1e-12);
    }
}

//! `outages`: outages at regular times, such as the reconfigurations of a constellation.

use std::sync::Arc;

use super::family::{Family, Make};
use super::parameters::parameters;
use super::{ChannelError, Erasing, Process, SlotChannel, Use};
use crate::channel::interval::Emission;
use crate::math::num;
use crate::math::rng::{Stream, Uniform};
use crate::types::named::{Kind, Parameter, Value, Values};
use crate::types::{Slot, Span, Time, to_f64};

pub(super) static FAMILY: Family = Family {
    name: "outages",
    about: "Outages at regular times; those at random, with exponential lengths, are fading",
    parameters: Outages::PARAMETERS,
    examples: &[
        "outages:every=15s,length=80ms,offset=0s,jitter=0s,erasure=1",
        "outages:every=1s,length=20ms,offset=300ms,jitter=50ms,erasure=0.5",
    ],
    make: Make::timed(|values| Ok(SlotChannel::Timed(Arc::new(Outages::read(values)?)))),
};

parameters! {
    /// Parameters of outages at regular times.
    struct Outages of FAMILY {
        every: Span, Kind::Duration(Span::from_micros(1), Span::MAX), "DURATION", "time from the start of an outage to that of the next";
        length: Span, Kind::PERIOD, "DURATION", "length of an outage, which with jitter is at most every";
        offset: Span, Kind::DURATION, "DURATION" = Value::Duration(Span::ZERO), "begin of the first outage";
        jitter: Span, Kind::DURATION, "DURATION" = Value::Duration(Span::ZERO), "most by which an outage begins later; each by a random share of it";
        erasure: f64, Kind::Probability, "1" = Value::Number(1.0), "erasure probability within an outage, 0 to 1";
    }
}

impl Outages {
    fn read(values: &Values) -> Result<Self, ChannelError> {
        let outages = Self::given(values);
        let Self {
            every,
            length,
            jitter,
            ..
        } = outages;
        let longest = length.checked_add(jitter);
        if longest.is_none_or(|longest| longest > every) {
            return Err(ChannelError::value(
                format!("every={every},length={length},jitter={jitter}"),
                "length and jitter together within every",
            ));
        }
        Ok(outages)
    }
}

impl Process for Outages {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(Running {
            outages: *self,
            starts: used.numbers(seed, Stream::OutageStart),
            erasures: Emission::new(seed, used),
        })
    }

    fn is_random(&self) -> bool {
        !self.jitter.is_zero() || (self.erasure > 0.0 && self.erasure < 1.0)
    }

    /// The share of slots that touch an outage, over all positions of a slot. `None` if a slot can touch two.
    fn erasure_probability(&self, on_air: Span) -> Option<f64> {
        let touched = self.length.checked_add(on_air)?;
        let fits = touched.checked_add(self.jitter)? <= self.every;
        let share = to_f64(touched.as_nanos()) / to_f64(self.every.as_nanos());
        fits.then_some(share * self.erasure)
    }
}

/// Running outages.
#[derive(Debug)]
struct Running {
    outages: Outages,
    starts: Uniform,
    erasures: Emission,
}

impl Running {
    /// Start and end of outage `number`; `None` if it begins after the end of time.
    fn outage(&mut self, number: u64) -> Option<(Time, Time)> {
        let Outages { every, offset, .. } = self.outages;
        let jitter = to_f64(self.outages.jitter.as_nanos());
        let late = if jitter > 0.0 {
            num::floor_u64(self.starts.at(number) * (jitter + 1.0))
                .min(self.outages.jitter.as_nanos())
        } else {
            0
        };
        let nanos = number
            .checked_mul(every.as_nanos())?
            .checked_add(offset.as_nanos())?
            .checked_add(late)?;
        let start = Time::from_nanos(nanos)?;
        Some((start, start.saturating_add(self.outages.length)))
    }

    /// The first outage that ends after `time`. As it ends before the next begins, it is that of the period at `time`, or the
    /// one after.
    fn after(&mut self, time: Time) -> Option<(Time, Time)> {
        let Outages { every, offset, .. } = self.outages;
        let since = time.as_nanos().saturating_sub(offset.as_nanos());
        let period = since / every.as_nanos();
        [period, period + 1]
            .into_iter()
            .filter_map(|number| self.outage(number))
            .find(|(_, end)| *end > time)
    }
}

impl Erasing for Running {
    fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]) {
        // An instant takes the first nanosecond after it.
        let on_air = on_air.max(Span::NANOSECOND);
        let mut next = None;
        for (unit, slot) in (first..).zip(slots.chunks_mut(1)) {
            let from = slot.first().map_or(Time::ZERO, Slot::tx_time);
            if next.is_none_or(|(_, end)| end <= from) {
                next = self.after(from);
            }
            if next.is_some_and(|(start, _)| start < from.saturating_add(on_air)) {
                self.erasures.erase(unit, self.outages.erasure, slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn erased(text: &str, seed: u64, slots: impl Iterator<Item = u64>, on_air: u32) -> Vec<bool> {
        let process: SlotChannel = text.parse().unwrap();
        let slot = |at| Slot::new(Time::from_nanos(at)?, Span::NANOSECOND);
        let mut slots: Vec<Slot> = slots.filter_map(slot).collect();
        let on_air = Span::from_micros(on_air);
        process
            .begin(seed, Use::Forward)
            .erase(0, on_air, &mut slots);
        slots.iter().map(Slot::is_erased).collect()
    }

    /// 2^62 ns lie between the slots, and each meets 10^12 outages.
    #[test]
    fn outages_between_and_within_slots_are_not_counted_through() {
        let text = "outages:every=1us,length=1ns,offset=1s,jitter=500ns";
        let process: SlotChannel = text.parse().unwrap();
        let slot = |at| Slot::new(Time::from_nanos(at)?, Span::NANOSECOND);
        let mut slots: Vec<Slot> = [0, 1 << 62].into_iter().filter_map(slot).collect();
        process
            .begin(1, Use::Forward)
            .erase(0, Span::from_secs(1_000_000), &mut slots);
        assert_eq!(
            slots.iter().map(Slot::is_erased).collect::<Vec<_>>(),
            [true, true]
        );
    }

    /// Slots of 1 ms every 5 ms; outages of 20 ms at 3, 103, 203 … ms.
    #[test]
    fn slots_that_touch_an_outage_are_erased() {
        let text = "outages:every=100ms,length=20ms,offset=3ms";
        let found = erased(text, 1, (0..100).map(|slot| slot * 5_000_000), 1000);
        let expected: Vec<bool> = (0..100)
            .map(|slot| (2..5).contains(&(slot % 20)) || slot % 20 == 1)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn jitter_spreads_the_outages_evenly() {
        // An instant every 0.1 ms: an outage of 1 ms in 10 ms, up to 5 ms late.
        let text = "outages:every=10ms,length=1ms,jitter=5ms";
        let found = erased(text, 7, (0..1_000_000).map(|slot| slot * 100_000), 0);
        let (mut at, mut starts) = (0, Vec::new());
        for run in found.chunk_by(|one, other| one == other) {
            if run[0] {
                assert_eq!(run.len(), 10);
                starts.push(at % 100);
            }
            at += run.len();
        }
        assert_eq!(starts.len(), 10_000);
        assert!(starts.iter().all(|start| *start <= 50));
        let mean = to_f64(starts.iter().sum::<usize>() as u64) / 10_000.0;
        // Uniform on [0, 50], rounded up: mean 25.5, standard error 0.15.
        assert!((mean - 25.5).abs() < 0.6, "{mean}");
        for limit in [5, 10, 25, 40, 45] {
            let within = starts.iter().filter(|start| **start <= limit).count();
            let share = to_f64(within as u64) / 10_000.0;
            // Standard error at most 0.005.
            let expected = to_f64(limit as u64) / 50.0;
            assert!((share - expected).abs() < 0.02, "{limit} {share}");
        }
    }

    proptest! {
        /// By the definition: a slot is erased if an outage begins before its end and ends after its start. Steps of 100 ns, so
        /// that slots and outages often meet.
        #[test]
        fn slots_that_share_a_nanosecond_with_an_outage_are_erased(
            every in 10u64..30,
            length in 1u64..10,
            offset in 0u64..60,
            on_air in 0u64..40,
            steps in prop::collection::vec(0u64..12, 1..100),
        ) {
            let text = format!("outages:every={every}00ns,length={length}00ns,offset={offset}00ns");
            let process: SlotChannel = text.parse().unwrap();
            let mut now = 0;
            let slot = |step: u64| {
                now += 100 * step;
                Slot::new(Time::from_nanos(now).unwrap(), Span::NANOSECOND).unwrap()
            };
            let mut slots: Vec<Slot> = steps.into_iter().map(slot).collect();
            let on_air = Span::from_nanos(100 * on_air).unwrap();
            process.begin(1, Use::Forward).erase(0, on_air, &mut slots);
            for slot in slots {
                let begin = slot.tx_time().as_nanos();
                // An instant takes the first nanosecond after it.
                let end = begin + on_air.as_nanos().max(1);
                let touched = (0..200).map(|number| 100 * (offset + number * every))
                    .any(|start| start < end && begin < start + 100 * length);
                prop_assert_eq!(slot.is_erased(), touched, "{} {}", text, begin);
            }
        }
    }

    #[test]
    fn the_probability_is_the_share_of_slots_that_touch_an_outage() {
        let text = "outages:every=1s,length=20ms,offset=300ms,jitter=50ms,erasure=0.5";
        let process: SlotChannel = text.parse().unwrap();
        let p = process.erasure_probability(Span::from_millis(5)).unwrap();
        assert!((p - 0.0125).abs() < 1e-12, "{p}");
        // Slots of 5 ms at multiples of 0.7 ms.
        let found = erased(text, 3, (0..4_000_000).map(|slot| slot * 700_000), 5000);
        let hits = found.iter().filter(|erased| **erased).count();
        let share = to_f64(hits as u64) / 4e6;
        // Some 100 000 draws.
        assert!((share / 0.0125 - 1.0).abs() < 0.015, "{share}");
        assert!(process.erasure_probability(Span::from_secs(1)).is_none());
        // 20 ms, 50 ms late, and 930 ms on air fill a second: the slot can just not meet the next outage.
        let p = process.erasure_probability(Span::from_millis(930)).unwrap();
        assert!((p - 0.475).abs() < 1e-12, "{p}");
        assert_eq!(process.erasure_probability(Span::from_millis(931)), None);
    }

    #[test]
    fn jitter_is_a_whole_number_of_nanoseconds_its_ends_included() {
        let text = "outages:every=1us,length=1ns,jitter=3ns";
        let late = |late: u64| {
            let found = erased(text, 1, (0..8000).map(|slot| slot * 1000 + late), 0);
            found.iter().filter(|erased| **erased).count()
        };
        let counts = [0, 1, 2, 3, 4].map(late);
        // 2000 each; standard error 39.
        assert!(counts[..4].iter().all(|count| count.abs_diff(2000) < 160));
        assert_eq!((counts.iter().sum::<usize>(), counts[4]), (8000, 0));
    }

    #[test]
    fn outages_that_follow_each_other_at_once_leave_nothing() {
        let text = "outages:every=1ms,length=1ms";
        let found = erased(text, 1, (0..5000).map(|slot| slot * 777), 0);
        assert!(found.iter().all(|erased| *erased));
    }

    #[test]
    fn outages_that_overlap_or_have_no_length_are_refused() {
        for (text, expected) in [
            ("every=1s,length=0s", "above zero"),
            (
                "every=1s,length=800ms,jitter=300ms",
                "together within every",
            ),
            ("every=0s,length=1ms", "at least 1us"),
            ("every=1ms,length=2ms", "together within every"),
            ("every=1,length=1ms", "found 'every=1'"),
        ] {
            let refused = format!("outages:{text}").parse::<SlotChannel>();
            let refused = refused.unwrap_err().to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}

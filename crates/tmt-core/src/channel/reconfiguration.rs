//! `reconfiguration`: a link that is assigned to another satellite at fixed times.
//!
//! At every boundary, `first` + n · `period`, the link is disturbed for a random time, in which slots are erased with one
//! probability; outside they are erased in short bursts. Each period has a delay of its own, and within a period the
//! delay changes again and again. Slots never overtake each other: one that would arrive before a slot of an earlier
//! delay arrives with the last of them.
//!
//! Uniform distributions, the independence of periods and the order of arrival are ours; docs/channels.md has what was
//! published.

mod running;

use std::sync::Arc;

use super::family::{Family, Make};
use super::parameters::parameters;
use super::process::{Erasing, Process, Use};
use super::{ChannelError, ChannelSpec, GilbertElliott, SlotChannel, Start};
use crate::types::named::{Kind, Parameter, Value, Values};
use crate::types::{Span, Time};
use running::Running;

pub(super) static FAMILY: Family = Family {
    name: "reconfiguration",
    about: "A link that changes its satellite at fixed times: disturbed for a moment, then with another delay",
    parameters: Reconfiguration::PARAMETERS,
    examples: &[
        "reconfiguration:period=15s,first=12s,shortest=20ms,longest=80ms,disturbed=0.4,loss=0.001,burst=1.2,spread=20ms,jitter=6.7ms,hold=40ms",
        "reconfiguration:period=1s,first=0s,shortest=0s,longest=50ms,disturbed=1,loss=0,burst=1,spread=0s,jitter=0s,hold=10ms",
    ],
    make: Make::timed(|values| Ok(SlotChannel::Timed(Arc::new(Reconfiguration::read(values)?)))),
};

parameters! {
    /// Parameters of a link that is reconfigured at fixed times.
    pub struct Reconfiguration of FAMILY {
        period: Span, Kind::Duration(Span::from_millis(1), Span::MAX), "DURATION" = Value::Duration(Span::from_secs(15)), "time between boundaries, from 1ms";
        first: Span, Kind::DURATION, "DURATION" = Value::Duration(Span::from_secs(12)), "first boundary after the start of the trace";
        shortest: Span, Kind::DURATION, "DURATION" = Value::Duration(Span::from_millis(20)), "shortest disturbance after a boundary";
        longest: Span, Kind::DURATION, "DURATION" = Value::Duration(Span::from_millis(80)), "longest disturbance; lengths are uniform";
        disturbed: f64, Kind::Probability, "P" = Value::Number(0.4), "erasure probability while disturbed, 0 to 1";
        loss: f64, Kind::Number(0.0, 0.5), "P" = Value::Number(0.001), "share of slots erased otherwise, 0 up to 0.5";
        burst: f64, Kind::Number(1.0, 1e9), "N" = Value::Number(1.2), "mean length of such a burst in slots, from 1";
        spread: Span, Kind::Duration(Span::ZERO, Span::from_secs(1)), "DURATION" = Value::Duration(Span::from_millis(20)), "largest delay that a period adds; uniform from 0";
        jitter: Span, Kind::Duration(Span::ZERO, Span::from_secs(1)), "DURATION" = Value::Duration(Span::from_micros(6700)), "mean difference between two delays within a period";
        hold: Span, Kind::Duration(Span::from_millis(1), Span::MAX), "DURATION" = Value::Duration(Span::from_millis(40)), "time for which a delay lasts within a period, from 1ms";
    }
}

impl Reconfiguration {
    fn read(values: &Values) -> Result<Self, ChannelError> {
        let new = Self::given(values);
        if new.shortest > new.longest || new.longest > new.period {
            return Err(ChannelError::value(
                format!("shortest={},longest={}", new.shortest, new.longest),
                format!(
                    "shortest at most longest, and longest at most the period of {}",
                    new.period
                ),
            ));
        }
        Ok(new)
    }

    /// The losses outside disturbances: a Gilbert–Elliott channel with this share and mean burst.
    fn losses(&self) -> ChannelSpec {
        let beta = 1.0 - 1.0 / self.burst;
        ChannelSpec::GilbertElliott(GilbertElliott {
            // The share is (1 − alpha)/(2 − alpha − beta) (Kuhn 2015, eq. (3)).
            alpha: 1.0 - self.loss * (1.0 - beta) / (1.0 - self.loss),
            beta,
            pg: 0.0,
            pb: 1.0,
            start: Start::Stationary,
        })
    }

    /// Largest delay that is added to a slot.
    fn largest(&self) -> Span {
        self.spread.saturating_add(self.largest_jitter())
    }

    /// Largest delay that jitter adds.
    fn largest_jitter(&self) -> Span {
        self.jitter.checked_mul(JITTER).unwrap_or(Span::MAX)
    }

    /// Start of period `number`; the one from the start of the trace has number 0.
    fn start(&self, number: u64) -> Time {
        let Some(before) = number.checked_sub(1) else {
            return Time::ZERO;
        };
        let later = self.period.checked_mul(before).unwrap_or(Span::MAX);
        Time::ZERO.saturating_add(self.first).saturating_add(later)
    }

    /// Number of the period at `time`.
    fn period_at(&self, time: Time) -> u64 {
        let (time, first) = (time.as_nanos(), self.first.as_nanos());
        time.checked_sub(first)
            .map_or(0, |since| 1 + since / self.period.as_nanos())
    }
}

/// Largest delay by jitter over the mean difference of two such delays, which are uniform from 0: E|a − b| = 1/3.
const JITTER: u64 = 3;

impl Process for Reconfiguration {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(Running::new(self, seed, used))
    }

    fn note(&self, on_air: Span) -> String {
        let mean = f64::midpoint(self.shortest.as_secs_f64(), self.longest.as_secs_f64());
        // A slot meets a disturbance that begins before its end.
        let met = if self.longest.is_zero() {
            0.0
        } else {
            mean + on_air.as_secs_f64()
        };
        let percent = |time: f64| 100.0 * (time / self.period.as_secs_f64()).min(1.0);
        format!(
            "disturbed for {:.3} % of the time, which erases {:.3} % of the slots of {on_air}",
            percent(mean),
            percent(met) * self.disturbed
        )
    }
}

#[cfg(test)]
mod tests;

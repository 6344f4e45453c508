//! `reconfiguration`: a link that is assigned to another satellite at fixed times.
//!
//! At every boundary, `first` + n · `period`, the link is disturbed for a random time, in which slots are erased with one
//! probability; outside they are erased in short bursts. Each period has a delay of its own, and within a period the
//! delay changes again and again. Slots never overtake each other: one that would arrive before a slot of an earlier
//! delay arrives with the last of them.
//!
//! Uniform distributions, the independence of periods and the order of arrival are ours; docs/channels.md has what was
//! published.

use std::fmt;
use std::sync::Arc;

use super::family::{Family, Key};
use super::process::{Erasing, Process, Use};
use super::{ChannelError, ChannelSpec, GilbertElliott, SlotChannel, Start, probability};
use crate::math::num;
use crate::math::rng::{Stream, Uniform};
use crate::types::{Slot, Span, Time, to_f64};

pub(super) static FAMILY: Family = Family {
    name: "reconfiguration",
    about: "A link that changes its satellite at fixed times: disturbed for a moment, then with another delay",
    keys: &[
        Key::preset(
            "period",
            "DURATION",
            "15s",
            "time between boundaries, from 1ms",
        ),
        Key::preset(
            "first",
            "DURATION",
            "12s",
            "first boundary after the start of the trace",
        ),
        Key::preset(
            "shortest",
            "DURATION",
            "20ms",
            "shortest disturbance after a boundary",
        ),
        Key::preset(
            "longest",
            "DURATION",
            "80ms",
            "longest disturbance; lengths are uniform",
        ),
        Key::preset(
            "disturbed",
            "P",
            "0.4",
            "erasure probability while disturbed, 0 to 1",
        ),
        Key::preset(
            "loss",
            "P",
            "0.001",
            "share of slots erased otherwise, 0 up to 0.5",
        ),
        Key::preset(
            "burst",
            "N",
            "1.2",
            "mean length of such a burst in slots, from 1",
        ),
        Key::preset(
            "spread",
            "DURATION",
            "20ms",
            "largest delay that a period adds; uniform from 0",
        ),
        Key::preset(
            "jitter",
            "DURATION",
            "6.7ms",
            "mean difference between two delays within a period",
        ),
        Key::preset(
            "hold",
            "DURATION",
            "40ms",
            "time for which a delay lasts within a period, from 1ms",
        ),
    ],
    examples: &[
        "reconfiguration:period=15s,first=12s,shortest=20ms,longest=80ms,disturbed=0.4,loss=0.001,burst=1.2,spread=20ms,jitter=6.7ms,hold=40ms",
        "reconfiguration:period=1s,first=0s,shortest=0s,longest=50ms,disturbed=1,loss=0,burst=1,spread=0s,jitter=0s,hold=10ms",
    ],
    in_steps: false,
    read: |text| Ok(SlotChannel::Timed(Arc::new(Reconfiguration::read(text)?))),
};

/// Parameters of a link that is reconfigured at fixed times.
#[derive(Debug, Clone, PartialEq)]
pub struct Reconfiguration {
    period: Span,
    first: Span,
    shortest: Span,
    longest: Span,
    disturbed: f64,
    loss: f64,
    burst: f64,
    spread: Span,
    jitter: Span,
    hold: Span,
}

impl Reconfiguration {
    fn read(text: &str) -> Result<Self, ChannelError> {
        let [
            period,
            first,
            shortest,
            longest,
            disturbed,
            loss,
            burst,
            spread,
            jitter,
            hold,
        ] = FAMILY.values(text)?;
        let refuse = |error: String| Err(ChannelError(error));
        let new = Self {
            period: span("period", period)?,
            first: span("first", first)?,
            shortest: span("shortest", shortest)?,
            longest: span("longest", longest)?,
            disturbed: probability(disturbed)?,
            loss: probability(loss)?,
            burst: burst.parse().unwrap_or(f64::NAN),
            spread: span("spread", spread)?,
            jitter: span("jitter", jitter)?,
            hold: span("hold", hold)?,
        };
        let shortest_time = Span::from_millis(1);
        for (key, length) in [("period", new.period), ("hold", new.hold)] {
            if length < shortest_time {
                return refuse(format!(
                    "'{key}={length}': expected at least {shortest_time}"
                ));
            }
        }
        if new.shortest > new.longest || new.longest > new.period {
            return refuse(format!(
                "'shortest={},longest={}': expected shortest at most longest, and longest at most the period of {}",
                new.shortest, new.longest, new.period
            ));
        }
        // The delay before a time depends on the periods that may still be under way.
        let most = Span::from_secs(1);
        for (key, length) in [("spread", new.spread), ("jitter", new.jitter)] {
            if length > most {
                return refuse(format!("'{key}={length}': expected at most {most}"));
            }
        }
        if new.loss > 0.5 {
            return refuse(format!("'loss={}': expected at most 0.5", new.loss));
        }
        if !(new.burst >= 1.0 && new.burst <= 1e9) {
            return refuse(format!("'burst={burst}': expected a number from 1 to 1e9"));
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
        let jitter = self.jitter.checked_mul(JITTER);
        self.spread.saturating_add(jitter.unwrap_or(Span::MAX))
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

fn span(key: &str, text: &str) -> Result<Span, ChannelError> {
    text.parse()
        .map_err(|error| ChannelError(format!("'{key}={text}': {error}")))
}

impl fmt::Display for Reconfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            period,
            first,
            shortest,
            longest,
            disturbed,
            loss,
            burst,
            spread,
            jitter,
            hold,
        } = self;
        write!(
            f,
            "{}:period={period},first={first},shortest={shortest},longest={longest},disturbed={disturbed},loss={loss},\
             burst={burst},spread={spread},jitter={jitter},hold={hold}",
            FAMILY.name
        )
    }
}

impl Process for Reconfiguration {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(Running {
            losses: SlotChannel::Steps(self.losses()).begin(seed, used),
            periods: used.numbers(seed, Stream::Reconfiguration),
            delays: used.numbers(seed, Stream::ReconfigurationDelay),
            erasures: used.numbers(seed, Stream::ReconfigurationErasure),
            piece: Piece::default(),
            of: self.clone(),
        })
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

/// A time in which the delay does not change.
#[derive(Debug, Clone, Copy, Default)]
struct Piece {
    start: Time,
    end: Time,
    /// Delay that is added.
    delay: Span,
    /// When the slots of all earlier pieces have arrived, decoding delay excluded.
    earlier: Time,
    /// Disturbances that a slot of this piece can meet: that of its period, and that of the next.
    disturbances: [(Time, Time); 2],
}

/// A running reconfiguration.
#[derive(Debug)]
struct Running {
    of: Reconfiguration,
    losses: Box<dyn Erasing>,
    periods: Uniform,
    delays: Uniform,
    erasures: Uniform,
    /// The piece of the last slot.
    piece: Piece,
}

impl Running {
    /// The piece at `time`, whose `earlier` is still open.
    fn alone(&mut self, time: Time) -> Piece {
        let number = self.of.period_at(time);
        let hold = self.of.hold.as_nanos();
        let held = time.as_nanos() / hold;
        let at = |held: u64| Time::from_nanos(held.saturating_mul(hold)).unwrap_or(Time::MAX);
        let jitter = self.of.jitter.checked_mul(JITTER).unwrap_or(Span::MAX);
        let of_period = part(self.of.spread, self.periods.at(2 * number));
        let delay = of_period.saturating_add(part(jitter, self.delays.at(held)));
        Piece {
            start: self.of.start(number).max(at(held)),
            end: self.of.start(number + 1).min(at(held + 1)),
            delay,
            earlier: Time::ZERO,
            disturbances: [self.disturbance(number), self.disturbance(number + 1)],
        }
    }

    /// Start and end of the disturbance at the start of period `number`; none at the start of the trace.
    fn disturbance(&mut self, number: u64) -> (Time, Time) {
        let start = self.of.start(number);
        let varies = self.of.longest.saturating_sub(self.of.shortest);
        let more = part(varies, self.periods.at(2 * number + 1));
        let length = self.of.shortest.saturating_add(more);
        let end = start.saturating_add(length);
        (start, if number == 0 { start } else { end })
    }

    /// The piece at `time`.
    fn piece_at(&mut self, time: Time) -> Piece {
        let mut piece = self.alone(time);
        if piece.start == self.piece.end && time > Time::ZERO {
            // What is earlier than all that can still be under way does not matter.
            let before = self.piece;
            piece.earlier = before.earlier.max(before.end.saturating_add(before.delay));
            return piece;
        }
        let largest = self.of.largest();
        let mut start = piece.start;
        while start > Time::ZERO && start.saturating_add(largest) > piece.start {
            let last = Time::from_nanos(start.as_nanos() - 1).unwrap_or_default();
            let before = self.alone(last);
            piece.earlier = piece.earlier.max(start.saturating_add(before.delay));
            start = before.start;
        }
        piece
    }
}

/// The share `uniform` of `span`, rounded to nanoseconds.
fn part(span: Span, uniform: f64) -> Span {
    let nanos = num::floor_u64(to_f64(span.as_nanos()) * uniform + 0.5);
    Span::from_nanos(nanos).unwrap_or(Span::MAX)
}

impl Erasing for Running {
    fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]) {
        self.losses.erase(first, on_air, slots);
        // An instant takes the first nanosecond after it.
        let on_air = on_air.max(Span::NANOSECOND);
        for (number, slot) in (first..).zip(slots) {
            let start = slot.tx_time();
            if !(self.piece.start..self.piece.end).contains(&start) {
                self.piece = self.piece_at(start);
            }
            let piece = &self.piece;
            if slot.is_erased() {
                continue;
            }
            let end = start.saturating_add(on_air);
            let disturbed = piece.disturbances.iter();
            let mut disturbed =
                disturbed.filter(|(from, to)| from < to && start < *to && end > *from);
            if disturbed.next().is_some() && self.erasures.at(number) < self.of.disturbed {
                *slot = Slot::erased(start);
                continue;
            }
            let arrival = start.saturating_add(piece.delay).max(piece.earlier);
            let decode = slot.decode_delay().checked_add(arrival.since(start));
            let later = decode.and_then(|decode| Slot::new(start, decode));
            *slot = later.unwrap_or(*slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Reconfiguration {
        Reconfiguration::read(text).unwrap()
    }

    /// Slots every `spacing` ns, decoded after 1 ms.
    fn slots(len: usize, spacing: u64) -> Vec<Slot> {
        let slot = |j| Slot::new(Time::from_nanos(j * spacing)?, Span::from_millis(1));
        (0..len as u64).filter_map(slot).collect()
    }

    fn run(text: &str, seed: u64, slots: &mut [Slot], spacing: u64) {
        let on_air = Span::from_nanos(spacing).unwrap();
        read(text).begin(seed, Use::Forward).erase(0, on_air, slots);
    }

    /// Within a second of the boundaries at 0.5 s, 1.5 s, … the first 50 ms are lost, and nothing else.
    #[test]
    fn a_certain_disturbance_erases_the_slots_that_touch_it() {
        let text = "period=1s,first=500ms,shortest=50ms,longest=50ms,disturbed=1,loss=0,spread=0s,jitter=0s";
        let mut found = slots(3_000, 1_000_000);
        run(text, 1, &mut found, 1_000_000);
        for (at, slot) in found.iter().enumerate() {
            let within = at >= 500 && (at - 500) % 1000 < 50;
            assert_eq!(slot.is_erased(), within, "{at}");
            assert!(within || slot.decode_delay() == Span::from_millis(1));
        }
        // A slot that ends after the boundary is disturbed, too.
        let mut found = slots(3, 499_999_999);
        run(text, 1, &mut found, 2);
        assert_eq!(
            found.iter().map(Slot::is_erased).collect::<Vec<_>>(),
            [false, true, false]
        );
    }

    #[test]
    fn a_disturbance_without_length_erases_nothing() {
        let text = "period=1s,first=500ms,shortest=0s,longest=0s,disturbed=1,loss=0";
        let mut found = slots(1_000, 3_000_000);
        run(text, 1, &mut found, 3_000_000);
        assert!(found.iter().all(|slot| !slot.is_erased()));
        assert!(
            read(text)
                .note(Span::from_millis(3))
                .contains("erases 0.000 %")
        );
    }

    #[test]
    fn the_note_states_the_share_of_erased_slots() {
        let text = "period=100ms,first=0s,shortest=5ms,longest=15ms,disturbed=0.5,loss=0";
        let mut found = slots(200_000, 5_001_300);
        run(text, 2, &mut found, 5_000_000);
        let lost = found.iter().filter(|slot| slot.is_erased()).count();
        // At all places in a period, slots of 5 ms meet a disturbance of 10 ms in every 100 ms for 15 ms.
        assert!(
            (to_f64(lost as u64) / 200_000.0 - 0.075).abs() < 0.003,
            "{lost}"
        );
        let note = read(text).note(Span::from_millis(5));
        assert_eq!(
            note,
            "disturbed for 10.000 % of the time, which erases 7.500 % of the slots of 5ms"
        );
    }

    #[test]
    fn delays_have_the_published_mean_difference_and_never_overtake() {
        // 4000 s of periods of 1 s with 25 delays each; probes in the middle of each.
        let text = "period=1s,first=0s,shortest=0s,longest=0s,loss=0,spread=20ms,jitter=6.7ms";
        let mut found = slots(800_000, 5_000_000);
        run(text, 5, &mut found, 1);
        let delay: Vec<f64> = found
            .iter()
            .map(|slot| slot.decode_delay().as_secs_f64() - 0.001)
            .collect();
        for pair in found.windows(2) {
            let arrival = |slot: &Slot| slot.tx_time().saturating_add(slot.decode_delay());
            assert!(arrival(&pair[0]) <= arrival(&pair[1]));
        }
        // The last slot of each delay, which none before holds back: 40 ms = 8 slots.
        let last: Vec<f64> = delay.iter().skip(7).step_by(8).copied().collect();
        let mean = last.iter().sum::<f64>() / to_f64(last.len() as u64);
        // Uniform from 0 to 20 ms and to 20.1 ms.
        assert!((mean - 0.02005).abs() < 2e-4, "{mean}");
        let within = last
            .windows(2)
            .enumerate()
            .filter(|(at, _)| (at + 1) % 25 != 0);
        let differences: Vec<f64> = within.map(|(_, pair)| (pair[0] - pair[1]).abs()).collect();
        let mean = differences.iter().sum::<f64>() / to_f64(differences.len() as u64);
        assert!((mean - 0.0067).abs() < 1e-4, "{mean}");
    }

    #[test]
    fn losses_outside_disturbances_have_share_and_burst_length() {
        let text = "period=1h,first=1h,loss=0.01,burst=1.2,spread=0s,jitter=0s";
        let mut found = slots(2_000_000, 100_000);
        run(text, 3, &mut found, 100_000);
        let lost = found.iter().filter(|slot| slot.is_erased()).count();
        let bursts = found
            .windows(2)
            .filter(|pair| !pair[0].is_erased() && pair[1].is_erased())
            .count();
        let (lost, bursts) = (to_f64(lost as u64), to_f64(bursts as u64));
        assert!((lost / 20_000.0 - 1.0).abs() < 0.04, "{lost}");
        assert!((lost / bursts - 1.2).abs() < 0.02, "{lost} {bursts}");
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        for text in [
            "period=0s",
            "hold=1us",
            "shortest=90ms",
            "longest=16s",
            "spread=2s",
            "loss=0.6",
            "burst=0.5",
            "burst=x",
            "disturbed=2",
            "jitter=1",
        ] {
            assert!(Reconfiguration::read(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn pieces_in_any_order_equal_the_whole(
            seed: u64,
            spacing in 1_000u64..5_000_000,
            cuts in prop::collection::vec((0usize..3000, 1usize..500), 1..8),
        ) {
            let texts = ["period=100ms,first=7ms,shortest=1ms,longest=9ms,disturbed=0.5,loss=0.01,hold=13ms"];
            let on_air = Span::from_nanos(spacing).unwrap();
            for text in texts {
                let mut whole = slots(3000, spacing);
                run(text, seed, &mut whole, spacing);
                let mut running = read(text).begin(seed, Use::Forward);
                for (from, len) in &cuts {
                    let to = (from + len).min(3000);
                    let mut found = slots(3000, spacing)[*from..to].to_vec();
                    running.erase(*from as u64, on_air, &mut found);
                    prop_assert_eq!(&found[..], &whole[*from..to]);
                }
            }
        }
    }
}

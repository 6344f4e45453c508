//! An erasure process asked unit by unit, for units that come one at a time: packets and ACKs.

use std::sync::Arc;

use super::{Channel, Erasing, Process, SlotChannel, Use};
use crate::types::{Slot, Span, Time};

/// A running process that loses units one by one.
///
/// ```
/// use tmt_core::channel::{Losses, SlotChannel, Use};
/// use tmt_core::{Span, Time};
///
/// let outages: SlotChannel = "outages:every=1s,length=100ms,offset=500ms".parse()?;
/// let mut losses = Losses::new(&outages, 1, Use::Forward);
/// let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
/// assert!(!losses.loses(at(480), Span::from_millis(20)));
/// assert!(losses.loses(at(490), Span::from_millis(20)));
/// # Ok::<(), tmt_core::channel::ChannelError>(())
/// ```
///
/// Its state is large, and apart from what holds it: processors confuse variables whose addresses have the same last bits,
/// and then wait.
#[derive(Debug)]
pub struct Losses(Box<Running>);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "most are of the large variant")]
enum Running {
    Steps(Channel),
    Timed {
        process: Arc<dyn Process>,
        seed: u64,
        used: Use,
        running: Box<dyn Erasing>,
        /// Number of the next unit.
        next: u64,
    },
}

impl Losses {
    /// The process under `seed`, before its first unit.
    #[must_use]
    pub fn new(process: &SlotChannel, seed: u64, used: Use) -> Self {
        Self(Box::new(match process {
            SlotChannel::Steps(spec) => Running::Steps(Channel::on(*spec, seed, used)),
            SlotChannel::Timed(process) => Running::Timed {
                process: Arc::clone(process),
                seed,
                used,
                running: process.begin(seed, used),
                next: 0,
            },
        }))
    }

    /// Whether the next unit is lost, which is on air from `at` for `on_air`.
    #[inline]
    pub fn loses(&mut self, at: Time, on_air: Span) -> bool {
        match self.0.as_mut() {
            Running::Steps(channel) => channel.erases(),
            Running::Timed { running, next, .. } => {
                *next += 1;
                loses_timed(running.as_mut(), *next - 1, at, on_air)
            }
        }
    }
}

#[inline(never)]
fn loses_timed(running: &mut dyn Erasing, number: u64, at: Time, on_air: Span) -> bool {
    // The delay of a received unit is any but zero; at the end of time none is left.
    let Some(mut unit) = Slot::new(at, Span::NANOSECOND) else {
        return true;
    };
    running.erase(number, on_air, std::slice::from_mut(&mut unit));
    unit.is_erased()
}

impl From<Channel> for Losses {
    fn from(channel: Channel) -> Self {
        Self(Box::new(Running::Steps(channel)))
    }
}

impl Clone for Losses {
    fn clone(&self) -> Self {
        Self(Box::new(match self.0.as_ref() {
            Running::Steps(channel) => Running::Steps(channel.clone()),
            // A process erases the same slots regardless of earlier calls.
            Running::Timed {
                process,
                seed,
                used,
                next,
                ..
            } => Running::Timed {
                process: Arc::clone(process),
                seed: *seed,
                used: *used,
                running: process.begin(*seed, *used),
                next: *next,
            },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::examples;

    /// Units of 1 ms one by one, half of them after a copy was made, and all in one call.
    #[test]
    fn units_one_by_one_are_lost_as_slots_are_erased() {
        let at = |number: u64| Time::from_nanos(number * 1_000_000).unwrap();
        let on_air = Span::from_millis(1);
        for text in examples() {
            let process: SlotChannel = text.parse().unwrap();
            let mut slots: Vec<Slot> = (0..3000)
                .map(|number| Slot::new(at(number), on_air).unwrap())
                .collect();
            process.begin(9, Use::Return).erase(0, on_air, &mut slots);
            let mut losses = Losses::new(&process, 9, Use::Return);
            for (number, slot) in (0u64..).zip(&slots) {
                if number == 1500 {
                    losses = losses.clone();
                }
                let lost = losses.loses(at(number), on_air);
                assert_eq!(lost, slot.is_erased(), "{text} {number}");
            }
        }
    }

    #[test]
    fn a_unit_that_cannot_arrive_before_the_end_of_time_is_lost() {
        let process: SlotChannel = "outage-list:{start_s,end_s;1,2}".parse().unwrap();
        let mut losses = Losses::new(&process, 1, Use::Forward);
        let last = Time::from_nanos(Time::MAX.as_nanos() - 1).unwrap();
        assert!(!losses.loses(last, Span::ZERO));
        assert!(losses.loses(Time::MAX, Span::ZERO));
    }
}

//! Slots under a running reconfiguration: in pieces of time with one delay each, found without their predecessors.

use super::Reconfiguration;
use crate::channel::SlotChannel;
use crate::channel::process::{Erasing, Use};
use crate::math::num;
use crate::math::rng::{Stream, Uniform};
use crate::types::{Slot, Span, Time, to_f64};

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
pub(super) struct Running {
    of: Reconfiguration,
    losses: Box<dyn Erasing>,
    periods: Uniform,
    delays: Uniform,
    erasures: Uniform,
    /// The piece of the last slot.
    piece: Piece,
}

impl Running {
    pub(super) fn new(of: &Reconfiguration, seed: u64, used: Use) -> Self {
        Self {
            losses: SlotChannel::Steps(of.losses()).begin(seed, used),
            periods: used.numbers(seed, Stream::Reconfiguration),
            delays: used.numbers(seed, Stream::ReconfigurationDelay),
            erasures: used.numbers(seed, Stream::ReconfigurationErasure),
            piece: Piece::default(),
            of: *of,
        }
    }

    /// The piece at `time`, whose `earlier` is still open.
    fn alone(&mut self, time: Time) -> Piece {
        let number = self.of.period_at(time);
        let hold = self.of.hold.as_nanos();
        let held = time.as_nanos() / hold;
        let at = |held: u64| Time::from_nanos(held.saturating_mul(hold)).unwrap_or(Time::MAX);
        let jitter = self.of.largest_jitter();
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
            // Pieces before all that can still be under way do not matter.
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

//! Properties that the slots of an export share, to report those that a format cannot hold.

use crate::format::import::Finding;
use crate::format::import::finding::counted;
use crate::types::{Metadata, Slot, Span, Time, TraceKind};

/// Times may differ from a constant distance by so much, ns: those of a rate are rounded to whole ns.
const ROUNDING: u64 = 1;

/// Watches slots one by one.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Slots.
    pub(super) slots: u64,
    /// Slots that are erased.
    pub(super) erased: u64,
    /// Smallest and largest decoding delay of a received slot, ns.
    delays: Option<(u64, u64)>,
    first: Option<Time>,
    last: Time,
    /// Smallest and largest distance of two slots, ns.
    gaps: Option<(u64, u64)>,
    /// Arrival of the received slot that arrived last, ns.
    latest: u64,
    /// Slots that arrive before one that was sent earlier.
    overtaking: u64,
}

/// The smaller and the larger of a range and a value.
fn widened(range: Option<(u64, u64)>, value: u64) -> (u64, u64) {
    let (least, most) = range.unwrap_or((value, value));
    (least.min(value), most.max(value))
}

/// A number of nanoseconds as text.
fn shown(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap_or(Span::MAX)
}

impl Seen {
    /// Watches the next slot.
    pub(super) fn slot(&mut self, slot: &Slot) {
        let at = slot.tx_time();
        if self.slots > 0 {
            self.gaps = Some(widened(self.gaps, at.since(self.last).as_nanos()));
        }
        self.first.get_or_insert(at);
        self.last = at;
        self.slots += 1;
        match slot.arrival() {
            None => self.erased += 1,
            Some(arrival) => {
                self.delays = Some(widened(self.delays, slot.decode_delay().as_nanos()));
                self.overtaking += u64::from(arrival.as_nanos() < self.latest);
                self.latest = self.latest.max(arrival.as_nanos());
            }
        }
    }

    /// The share of erased slots as text, percent.
    pub(super) fn share(&self) -> String {
        let share = self.erased * 10_000 / self.slots.max(1);
        format!("{}.{:02} %", share / 100, share % 100)
    }

    /// Delays that a format does not hold; none if they only mark received slots.
    pub(super) fn delays_lost(&self, remedy: &str) -> Option<Finding> {
        let (least, most) = self.delays?;
        (most > Slot::UNKNOWN_DELAY.as_nanos()).then(|| {
            let range = if least == most {
                format!("of {}", shown(most))
            } else {
                format!("from {} to {}", shown(least), shown(most))
            };
            let text = format!("decoding delays {range} are not carried{remedy}");
            let received = self.slots - self.erased;
            Finding::note("delays-not-carried", received, "slots", text).not_carried()
        })
    }

    /// Send times of a format that has one line per packet and no times.
    pub(super) fn times_lost(&self) -> Option<Finding> {
        let (least, most) = self.gaps?;
        let count = self.slots;
        let length = self.last.since(self.first?).as_nanos();
        let mean = shown(length / (count - 1));
        Some(if most - least <= ROUNDING {
            let text = format!("the packets are {mean} apart; the file does not say so");
            Finding::note("send-times", count, "packets", text)
        } else {
            let text = format!(
                "send times are not carried: the packets are from {} to {} apart, {mean} on average",
                shown(least),
                shown(most)
            );
            Finding::note("send-times", count, "packets", text).not_carried()
        })
    }

    /// Packets that overtake, for a format that does not hold the order of arrival.
    pub(super) fn order_lost(&self) -> Option<Finding> {
        (self.overtaking > 0).then(|| {
            let text = format!(
                "{} before one that was sent earlier: the order of arrival is not carried",
                match self.overtaking {
                    1 => "1 slot arrives".to_owned(),
                    count => format!("{count} slots arrive"),
                }
            );
            Finding::note("order-not-carried", self.overtaking, "slots", text).not_carried()
        })
    }

    /// Losses that a format does not hold.
    pub(super) fn losses_lost(&self, remedy: &str) -> Option<Finding> {
        (self.erased > 0).then(|| {
            let (erased, share) = (counted(self.erased, "lost slot"), self.share());
            let text = format!("{erased} ({share}) {remedy}");
            Finding::note("losses-not-carried", self.erased, "slots", text).not_carried()
        })
    }

    /// Probes that are written as the capacity of a link.
    pub(super) fn probes(&self, head: &Metadata) -> Option<Finding> {
        (head.trace_kind() == Some(TraceKind::Probe) && self.slots > 0).then(|| {
            let text = "the slots are probes: the file has the rate of the probes, not the capacity of the link (`kind` capacity says that they are the slots of a link)";
            Finding::warning("rate-of-probes", self.slots, "slots", text).assumed()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::slot;
    use super::*;
    use crate::format::import::Effect;

    fn seen(slots: &[(u64, u64)]) -> Seen {
        let mut seen = Seen::default();
        for (at, delay) in slots {
            seen.slot(&slot(*at, *delay));
        }
        seen
    }

    #[test]
    fn times_of_a_rate_are_said_and_others_are_lost() {
        let even = seen(&[(0, 1), (10, 1), (21, 0), (31, 1)]);
        let found = even.times_lost().unwrap();
        assert_eq!(found.effect, Effect::Fact);
        assert!(found.text.contains("10ns apart"), "{found}");
        let uneven = seen(&[(0, 1), (10, 1), (22, 0)]).times_lost().unwrap();
        assert_eq!(uneven.effect, Effect::NotCarried);
        assert!(
            uneven.text.contains("from 10ns to 12ns apart, 11ns"),
            "{uneven}"
        );
        assert!(seen(&[(5, 1)]).times_lost().is_none());
    }

    #[test]
    fn a_slot_that_overtakes_is_counted_once() {
        let found = seen(&[(0, 30), (10, 5), (20, 8), (30, 1)]).order_lost();
        assert_eq!(found.unwrap().count, 2);
        assert!(seen(&[(0, 30), (10, 20), (20, 0)]).order_lost().is_none());
    }

    #[test]
    fn delays_of_one_nanosecond_only_mark_received_slots() {
        assert!(seen(&[(0, 1), (1, 0)]).delays_lost("").is_none());
        let found = seen(&[(0, 1), (1, 9), (2, 0)]).delays_lost("").unwrap();
        assert_eq!(
            (found.count, found.text.as_str()),
            (2, "decoding delays from 1ns to 9ns are not carried")
        );
    }
}

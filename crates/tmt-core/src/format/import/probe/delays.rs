//! From measured delays to decoding delays: d = max(1 ns, D − P) (docs/trace-format.md, Sec. 12.1).

use super::super::finding::{Finding, counted};
use super::super::{DECODE_DELAY, Given};
use super::{DELAY_UNIT, OFFSET, PROPAGATION, ROUND_TRIP};
use crate::format::import::catalogue::{
    CLOCKS_ALIGNED, CONSTANT_DELAY, DELAYS_BELOW_PROPAGATION, NEGATIVE_DELAYS, UNIT_SUSPECTED,
};
use crate::types::Span;

/// A smallest delay from which on the delays are probably in a smaller unit: no network takes that long at best. A round
/// trip over two GEO hops takes about 1.1 s.
const LEAST_TOO_LONG: Span = Span::from_millis(1500);

/// A largest delay below which the delays are probably in a larger unit: no mobile or satellite network is that quick, and
/// delays up to 1 s that were written in us look like that if they are read as ns.
const LEAST_OF_A_NETWORK: Span = Span::from_micros(1000);

/// Fewest measured delays that are odd if all are the same.
const LEAST_CONSTANT: u64 = 100;

/// Maps measured delays, and remembers what was odd about them.
#[derive(Debug)]
pub(super) struct Delays {
    /// Whether a measured delay is a round trip.
    round_trip: bool,
    /// Removed from every delay.
    propagation: Span,
    /// Delay of received packets without a measured one.
    decode_delay: Span,
    /// Place of the delays, as messages name it.
    place: &'static str,
    /// Whether a conversion refuses negative delays.
    refuses_negative: bool,
    /// Whether the unit of the delays was a choice.
    has_unit: bool,
    /// Added to every delay, ns, so that the smallest is 0: clocks that differ make it negative.
    offset: i64,
    smallest: Option<Span>,
    /// The lowest measured delay, ns.
    lowest: Option<i64>,
    largest: Span,
    /// Measured delays, and the highest of them, ns.
    measured: u64,
    highest: i64,
    raised: u64,
    negative: u64,
    /// The most negative delay, ns.
    most_negative: i64,
    /// Lines of the first delay below the propagation, and below 0.
    first_raised: u64,
    first_negative: u64,
}

impl Delays {
    /// Maps by these settings.
    pub(super) fn new(settings: &Given, place: &'static str, refuses_negative: bool) -> Self {
        Self {
            round_trip: settings.has(ROUND_TRIP.name),
            propagation: settings.get(PROPAGATION.name).unwrap_or(Span::ZERO),
            decode_delay: settings.get(DECODE_DELAY.name).unwrap_or(Span::MAX),
            place,
            refuses_negative,
            has_unit: settings.has(DELAY_UNIT),
            offset: settings.get(OFFSET).unwrap_or(0),
            lowest: None,
            smallest: None,
            largest: Span::ZERO,
            measured: 0,
            highest: i64::MIN,
            raised: 0,
            negative: 0,
            most_negative: 0,
            first_raised: 0,
            first_negative: 0,
        }
    }

    /// The smallest one-way delay so far; a negative one counts as 0.
    pub(super) fn smallest(&self) -> Option<Span> {
        self.smallest
    }

    /// The lowest measured delay so far, ns; `None` if it is not negative.
    pub(super) fn lowest_negative(&self) -> Option<i64> {
        self.lowest.filter(|lowest| *lowest < 0)
    }

    /// The decoding delay of a received packet with this measured delay, ns, which is in this line; 0 is no line.
    pub(super) fn decoding_delay(&mut self, measured: Option<i64>, line: u64) -> Span {
        let Some(measured) = measured else {
            return self.decode_delay;
        };
        self.measured += 1;
        self.highest = self.highest.max(measured);
        self.lowest = Some(self.lowest.map_or(measured, |lowest| lowest.min(measured)));
        let measured = measured.saturating_add(self.offset);
        if measured < 0 {
            self.negative += 1;
            if self.negative == 1 {
                self.first_negative = line;
            }
            self.most_negative = self.most_negative.min(measured);
        }
        let nanos = u64::try_from(measured).unwrap_or(0);
        let nanos = if self.round_trip { nanos / 2 } else { nanos };
        let delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        self.smallest = Some(self.smallest.map_or(delay, |smallest| smallest.min(delay)));
        self.largest = self.largest.max(delay);
        if measured >= 0 && delay < self.propagation {
            self.raised += 1;
            if self.raised == 1 {
                self.first_raised = line;
            }
        }
        let nanos = delay.saturating_sub(self.propagation).as_nanos().max(1);
        Span::from_nanos(nanos).unwrap_or(Span::MAX)
    }

    /// Findings on the delays.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        let place = self.place;
        let smallest = self.smallest.unwrap_or(Span::ZERO);
        let asks = |which: &str, delay: Span| {
            format!(
                "{place}: the {which} delay is {delay}: are the delays in another unit (`{DELAY_UNIT}`)?"
            )
        };
        if self.has_unit && smallest >= LEAST_TOO_LONG {
            let text = asks("smallest", smallest);
            findings.push(Finding::of(&UNIT_SUSPECTED, 1, "delays", text));
        } else if self.has_unit && self.smallest.is_some() && self.largest < LEAST_OF_A_NETWORK {
            let text = asks("largest", self.largest);
            findings.push(Finding::of(&UNIT_SUSPECTED, 1, "delays", text));
        }
        if self.measured >= LEAST_CONSTANT && self.lowest == Some(self.highest) {
            let text = format!(
                "{place}: all {} have a delay of {smallest}: a clock without resolution, or a value that was filled in",
                counted(self.measured, "received packet")
            );
            findings.push(Finding::of(&CONSTANT_DELAY, self.measured, "packets", text));
        }
        if self.offset > 0 {
            let offset = Span::from_nanos(self.offset.unsigned_abs()).unwrap_or(Span::MAX);
            let text = format!(
                "{place}: the smallest delay is -{offset}: the clocks of sender and receiver differ; {offset} is added to every delay, and the propagation is unknown"
            );
            findings.push(Finding::of(&CLOCKS_ALIGNED, 1, "files", text).assumed());
        }
        if self.raised > 0 {
            let text = format!(
                "{place}: {} below the propagation of {}, taken as 1 ns",
                counted(self.raised, "delay"),
                self.propagation
            );
            let finding = Finding::of(&DELAYS_BELOW_PROPAGATION, self.raised, "delays", text);
            let finding = finding.at_line(Some(place), self.first_raised);
            findings.push(finding.not_carried());
        }
        if self.negative > 0 {
            let least = Span::from_nanos(self.most_negative.unsigned_abs()).unwrap_or(Span::MAX);
            let fate = if self.refuses_negative {
                "which a conversion refuses: marks of lost packets, or the clock"
            } else {
                "taken as 1 ns: the clock"
            };
            let text = format!(
                "{place}: {} below 0 (the lowest: -{least}), {fate} of the receiver is behind that of the sender by {least} or more, and all delays of one direction are too small by it",
                counted(self.negative, "delay")
            );
            let finding = Finding::of(&NEGATIVE_DELAYS, self.negative, "delays", text);
            let finding = finding.at_line(Some(place), self.first_negative);
            findings.push(finding.not_carried());
        }
        findings
    }
}

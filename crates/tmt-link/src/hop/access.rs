//! Capacity of a return link that a hub assigns (`--return-capacity`), and the registry of its methods.
//!
//! Names and principle are those of DVB-RCS2 (ETSI EN 301 545-2): CRA is assigned all the time, RBDC as a rate that the terminal
//! requests. The text of the standard was not at hand: how a terminal computes its requests, and how slots lie in a frame, are
//! this model's own (docs/simulator.md, Sec. 8.2), unverified against it.
//!
//! A terminal looks at its queue at the start of each frame and requests the rate that empties it within a frame, beyond what it
//! has all the time. Its assignment begins one request round trip later, lasts for a frame, and is replaced by the next. The
//! assigned capacity is spread evenly over the time for which it is assigned.

mod cra;
mod rbdc;

use std::collections::VecDeque;

use tmt_core::named::{self, Family, Own, Values};
use tmt_core::types::{BitRate, Bytes, NANOS_PER_SECOND, Span, Time, to_f64};

pub use cra::ENTRY as CRA;
pub use rbdc::ENTRY as RBDC;

/// Capacity that a hub assigns to a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Terms {
    /// Rate that is assigned all the time.
    pub constant: BitRate,
    /// Rate on request; `None` for nothing.
    pub requested: Option<Requested>,
}

/// A rate that is assigned on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requested {
    /// Largest rate, beyond the constant one.
    pub most: BitRate,
    /// Time between requests, and for which each counts; above zero.
    pub frame: Span,
    /// Time from a request to the start of its assignment; `None` for the RTT of the link.
    pub round_trip: Option<Span>,
}

impl Terms {
    /// Largest rate.
    #[must_use]
    pub fn peak(&self) -> BitRate {
        let most = self.requested.map_or(0, |requested| requested.most.0);
        BitRate(self.constant.0.saturating_add(most))
    }
}

/// Constructor of the terms of a method.
#[derive(Debug, Clone, Copy)]
pub struct Make(pub fn(&Values) -> Terms);

/// Registry entry of a method: name, parameters and terms.
pub type Entry = named::Entry<Make>;

/// Method of access with its parameters, such as `rbdc:max=512kbps,frame=50ms` (`--return-capacity`).
///
/// ```
/// use tmt_link::hop::{Access, terms};
///
/// let access: Access = "rbdc:max=512kbps,frame=50ms,cra=16kbps".parse()?;
/// assert_eq!(terms(&access).peak().0, 528_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type Access = named::Choice<Make>;

/// Registry of methods of access. To add one, write a file and a line here.
pub static ENTRIES: &[&Entry] = &[&CRA, &RBDC];

impl Family for Make {
    const KIND: &'static str = "return capacity";
    const ENTRIES: &'static [&'static Entry] = ENTRIES;
    const DEFAULT: &'static Entry = &CRA;

    fn own() -> &'static Own<Entry> {
        static OWN: Own<Entry> = Own::new();
        &OWN
    }
}

/// The terms of a method with its parameters.
#[must_use]
pub fn terms(access: &Access) -> Terms {
    (access.entry().make.0)(access.values())
}

/// Bits times ns per second: the work of a byte at a rate of 1 bit/s.
const WORK_PER_BYTE: u128 = 8 * NANOS_PER_SECOND as u128;

/// A terminal whose rate follows its requests. It serves one packet at a time, to which it is told when to begin.
#[derive(Debug, Clone)]
pub struct Demand {
    constant: u64,
    most: u64,
    frame: Span,
    round_trip: Span,
    /// Begin of the next frame, which is the time of the next request.
    next: Time,
    /// Rates that are assigned, in bit/s beyond the constant one, and when each begins.
    assigned: VecDeque<(Time, u64)>,
    /// Rate beyond the constant one since the latest of these began.
    rate: u64,
    /// Time up to which work is done.
    now: Time,
    /// Work that is left of the packet in service, bits · 10^9; `None` without one.
    left: Option<u128>,
    /// Work that was done, and that the assigned rates would have done.
    done: u128,
    possible: u128,
}

impl Demand {
    /// A terminal on a link of this RTT that has a queue from `begin` on.
    #[must_use]
    pub fn new(constant: BitRate, requested: &Requested, rtt: Span, begin: Time) -> Self {
        Self {
            constant: constant.0,
            most: requested.most.0,
            frame: requested.frame,
            round_trip: requested.round_trip.unwrap_or(rtt),
            next: begin,
            assigned: VecDeque::new(),
            rate: 0,
            now: begin,
            left: None,
            done: 0,
            possible: 0,
        }
    }

    /// Whether a packet is in service.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.left.is_some()
    }

    /// Begins the service of a packet of this size.
    pub fn start(&mut self, size: Bytes) {
        self.left = Some(u128::from(size.0) * WORK_PER_BYTE);
    }

    /// Does the work up to `now`; at a time until then `waiting` bytes wait beside the packet in service. Returns whether that packet
    /// has been sent; then it is no longer in service.
    pub fn advance(&mut self, now: Time, waiting: impl Fn(Time) -> u64) -> bool {
        while self.now < now || self.next <= now {
            let change = self.assigned.front().map_or(Time::MAX, |(at, _)| *at);
            let until = now.min(change).min(self.next);
            self.work(until);
            if let Some((_, rate)) = self.assigned.pop_front_if(|(at, _)| *at <= until) {
                self.rate = rate;
            }
            if self.next <= until {
                self.request(waiting(self.next));
            }
        }
        if let Some((_, rate)) = self.assigned.pop_front_if(|(at, _)| *at <= now) {
            self.rate = rate;
        }
        self.left.take_if(|left| *left == 0).is_some()
    }

    /// Works at the present rate.
    fn work(&mut self, until: Time) {
        let time = u128::from(until.since(self.now).as_nanos());
        let work = time * u128::from(self.constant + self.rate);
        self.possible += work;
        if let Some(left) = &mut self.left {
            let done = work.min(*left);
            *left -= done;
            self.done += done;
        }
        self.now = self.now.max(until);
    }

    /// Requests a rate at the start of a frame.
    fn request(&mut self, waiting: u64) {
        let backlog = u128::from(waiting) * WORK_PER_BYTE + self.left.unwrap_or(0);
        let needed = backlog.div_ceil(u128::from(self.frame.as_nanos().max(1)));
        let beyond = needed.saturating_sub(u128::from(self.constant));
        let rate = u64::try_from(beyond).unwrap_or(u64::MAX).min(self.most);
        let begins = self.next.saturating_add(self.round_trip);
        let latest = self.assigned.back().map_or(self.rate, |(_, rate)| *rate);
        if rate != latest {
            self.assigned.push_back((begins, rate));
        }
        self.next = self.next.saturating_add(self.frame);
    }

    /// Time of the next event while packets wait or are served: a request, a change of the rate, or the end of a service.
    #[must_use]
    pub fn due(&self) -> Time {
        let change = self.assigned.front().map_or(Time::MAX, |(at, _)| *at);
        let rate = u128::from(self.constant + self.rate);
        let ends = self.left.filter(|_| rate > 0).map_or(Time::MAX, |left| {
            let time = u64::try_from(left.div_ceil(rate)).ok();
            let time = time.and_then(Span::from_nanos);
            time.map_or(Time::MAX, |time| self.now.saturating_add(time))
        });
        change.min(self.next).min(ends)
    }

    /// Share of what was assigned that packets used; `None` if nothing was.
    #[must_use]
    pub fn utilisation(&self) -> Option<f64> {
        // In bits, which 64 bits hold.
        let bits = |work: u128| {
            let bits = work / u128::from(NANOS_PER_SECOND);
            to_f64(u64::try_from(bits).unwrap_or(u64::MAX))
        };
        let possible = bits(self.possible);
        (possible > 0.0).then(|| bits(self.done) / possible)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u32) -> Time {
        Time::ZERO.saturating_add(Span::from_millis(millis))
    }

    fn demand(text: &str) -> Demand {
        let terms = terms(&text.parse().unwrap());
        Demand::new(
            terms.constant,
            &terms.requested.unwrap(),
            Span::from_millis(600),
            Time::ZERO,
        )
    }

    /// When packets of 100 B that arrive at these times, ms, have been sent, µs.
    fn sent(demand: &mut Demand, arrivals: &[u32]) -> Vec<u64> {
        let mut ends = Vec::new();
        let mut ahead = arrivals.iter().map(|millis| at(*millis)).peekable();
        let mut waiting = 0u64;
        while ends.len() < arrivals.len() {
            let due = if waiting > 0 || demand.is_busy() {
                demand.due()
            } else {
                Time::MAX
            };
            let now = due.min(ahead.peek().copied().unwrap_or(Time::MAX));
            if demand.advance(now, |_| 100 * waiting) {
                ends.push(now.as_nanos() / 1000);
            }
            while ahead.next_if(|arrival| *arrival <= now).is_some() {
                waiting += 1;
            }
            if waiting > 0 && !demand.is_busy() {
                demand.start(Bytes(100));
                waiting -= 1;
            }
        }
        ends
    }

    /// By hand. 100 B in a frame of 50 ms are 16 kbit/s; the largest rate is 32 kbit/s, which sends 100 B in 25 ms.
    #[test]
    fn the_first_packet_waits_a_round_trip_and_at_most_a_frame() {
        for arrival in [1, 20, 49, 50] {
            let request = (arrival / 50 + 1) * 50;
            let text = "rbdc:max=32kbps,frame=50ms";
            let ends = sent(&mut demand(text), &[arrival]);
            // Requested at the next frame, assigned a round trip later, at 16 kbit/s for that frame.
            assert_eq!(ends, [u64::from(request + 600 + 50) * 1000], "{arrival}");
        }
        // Two packets: 32 kbit/s for the first frame.
        let ends = sent(&mut demand("rbdc:max=32kbps,frame=50ms"), &[1, 1]);
        assert_eq!(ends, [675_000, 700_000]);
        // Another round trip, and a constant rate besides: 8 kbit/s alone send the packet in 100 ms.
        let ends = sent(
            &mut demand("rbdc:max=32kbps,frame=50ms,cra=8kbps,rtt=900ms"),
            &[1],
        );
        assert_eq!(ends, [101_000]);
    }

    #[test]
    fn a_rate_lasts_for_a_frame_and_is_replaced() {
        // Requests: 16 kbit/s at 50 ms, which send the first packet from 650 ms to 700 ms, and 32 kbit/s at 100 ms, for both.
        let ends = sent(&mut demand("rbdc:max=32kbps,frame=50ms"), &[1, 60]);
        assert_eq!(ends, [700_000, 725_000]);
    }

    /// A packet that becomes ready at 120 ms is requested at 150 ms, however late it is asked for.
    #[test]
    fn frames_that_were_idle_have_requested_nothing() {
        let mut demand = demand("rbdc:max=32kbps,frame=50ms");
        let ready = |from: u32| move |time: Time| if time >= at(from) { 100 } else { 0 };
        demand.advance(at(740), ready(120));
        demand.start(Bytes(100));
        assert!(!demand.advance(at(749), |_| 0));
        assert_eq!(demand.due(), at(750));
        assert!(demand.advance(at(800), |_| 0));
    }

    #[test]
    fn what_is_assigned_and_used_is_counted() {
        let mut demand = demand("rbdc:max=32kbps,frame=50ms");
        assert_eq!(demand.utilisation(), None);
        sent(&mut demand, &[1]);
        // 16 kbit/s from 650 ms on; the packet leaves at 700 ms.
        assert_eq!(demand.utilisation(), Some(1.0));
        // The assignments of the requests at 100 ms, 150 ms and so on up to 700 ms are not used.
        demand.advance(at(750), |_| 0);
        assert_eq!(demand.utilisation(), Some(0.5));
    }
}

//! The timeline link of papers/001 §IV: packets ride on the LLDUs of a link-layer timeline.
//!
//! A packet takes the first free LLDU sent at or after the time it reaches the head of the queue, and
//! the ones that follow, as many as it needs. It is there when the last of them is, and lost with any
//! of them. Deviation: the paper takes m + 1 LLDUs, from one already begun (models.md §1.7).

use std::collections::BTreeMap;
use std::sync::Arc;

use tmt_core::units::{Span, Time, to_f64};

use super::{Link, Service, Usage};
use crate::timeline::Timeline;

/// A timeline that packets ride on.
#[derive(Debug)]
pub struct TimelineLink {
    timeline: Arc<Timeline>,
    /// LLDUs of a packet.
    lldus: usize,
    propagation: Span,
    /// LLDUs that may be used: those up to the end of the run.
    usable: usize,
    /// With `--loop`: time from one round of the trace to the next.
    period: Option<Span>,
    /// Round of the trace, and the next free LLDU in it.
    round: u64,
    next: usize,
    served: u64,
    /// Attempts of the LLDUs of all packets but the last.
    attempts: BTreeMap<u32, u64>,
    /// When the last packet's first LLDU goes out, and the attempts of those delivered.
    last: Option<(Time, Vec<u32>)>,
}

impl TimelineLink {
    /// A link over the first `usable` LLDUs of `timeline`, `lldus` to a packet and `propagation` long.
    ///
    /// With a `period`, the trace begins anew whenever so much time has passed; without, it ends.
    ///
    /// `None` where a packet needs no LLDU, or more than there are.
    #[must_use]
    pub fn new(
        timeline: Arc<Timeline>,
        usable: usize,
        lldus: usize,
        propagation: Span,
        period: Option<Span>,
    ) -> Option<Self> {
        let fits = lldus > 0 && lldus <= usable && usable <= timeline.len();
        let moves = period.is_none_or(|period| !period.is_zero());
        (fits && moves).then_some(Self {
            timeline,
            lldus,
            propagation,
            usable,
            period,
            round: 0,
            next: 0,
            served: 0,
            attempts: BTreeMap::new(),
            last: None,
        })
    }

    /// Time of LLDU `index` in round `round`.
    fn tx_time(&self, round: u64, index: usize) -> Option<Time> {
        let shift = self.period.unwrap_or(Span::ZERO).checked_mul(round)?;
        self.timeline.tx_time(index).checked_add(shift)
    }

    /// Moves on to the first free LLDU sent at or after `now`.
    fn seek(&mut self, now: Time) -> Option<()> {
        loop {
            let shift = self.period.unwrap_or(Span::ZERO).checked_mul(self.round)?;
            let free = &self.timeline.tx_times()[self.next..self.usable];
            // Under load the next one will do; after a pause it may be far.
            let is_before = |time: &Time| time.checked_add(shift).is_some_and(|time| time < now);
            let skip = if free.first().is_some_and(is_before) {
                free.partition_point(is_before)
            } else {
                0
            };
            self.next += skip;
            if self.next < self.usable {
                return Some(());
            }
            self.next_round()?;
        }
    }

    fn next_round(&mut self) -> Option<()> {
        self.period?;
        self.round += 1;
        self.next = 0;
        Some(())
    }
}

/// Adds `attempts` to a histogram.
fn count(histogram: &mut BTreeMap<u32, u64>, attempts: &[u32]) {
    for attempts in attempts {
        *histogram.entry(*attempts).or_insert(0) += 1;
    }
}

impl Link for TimelineLink {
    fn serve(&mut self, now: Time) -> Option<Service> {
        self.seek(now)?;
        let usable = self.usable as u64;
        let first_unit = self.round * usable + self.next as u64;
        let start = self.tx_time(self.round, self.next)?;
        let mut attempts = match self.last.take() {
            Some((_, mut attempts)) => {
                count(&mut self.attempts, &attempts);
                attempts.clear();
                attempts
            }
            None => Vec::new(),
        };
        let (mut end, mut arrival) = (start, Some(start));
        for _ in 0..self.lldus {
            if self.next == self.usable {
                self.next_round()?;
            }
            end = self.tx_time(self.round, self.next)?;
            match self.timeline.delay(self.next) {
                Some(delay) => {
                    arrival = arrival.map(|arrival| arrival.max(end.saturating_add(delay)));
                    attempts.extend(self.timeline.attempts(self.next));
                }
                None => arrival = None,
            }
            self.next += 1;
        }
        let arrival = match arrival {
            Some(arrival) => Some(arrival.checked_add(self.propagation)?),
            None => None,
        };
        self.served += 1;
        self.last = Some((start, attempts));
        Some(Service {
            start,
            end,
            arrival,
            first_unit,
            last_unit: first_unit + self.lldus as u64 - 1,
        })
    }

    fn usage(&self, end: Time) -> Usage {
        // A packet that reached the head of the queue may wait for an LLDU behind the end.
        let last = self.last.as_ref().filter(|(start, _)| *start <= end);
        let unbegun = u64::from(self.last.is_some()) - u64::from(last.is_some());
        let served = self.served - unbegun;
        let mut attempts = self.attempts.clone();
        count(&mut attempts, last.map_or(&[], |(_, attempts)| attempts));
        let used = served * self.lldus as u64;
        let mut available = 0u64;
        let mut round = 0;
        while let Some(shift) = self.period.unwrap_or(Span::ZERO).checked_mul(round) {
            let in_round = self.timeline.tx_times()[..self.usable]
                .partition_point(|time| time.checked_add(shift).is_some_and(|time| time <= end));
            available += in_round as u64;
            if in_round < self.usable || self.period.is_none() {
                break;
            }
            round += 1;
        }
        Usage {
            // The packet in service at the end has taken LLDUs that lie behind it.
            utilisation: (available > 0).then(|| to_f64(used.min(available)) / to_f64(available)),
            packets_served: served,
            lldus_used: Some(used),
            attempts,
        }
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::slot::Slot;
    use tmt_core::text::Rows;

    use super::*;

    fn time(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn span(nanos: u64) -> Span {
        Span::from_nanos(nanos).unwrap()
    }

    fn link(lldus: &[(u64, u64)], per_packet: usize, period: Option<Span>) -> TimelineLink {
        let mut rows = Rows::default();
        rows.slots = lldus
            .iter()
            .map(|&(t, d)| Slot::new(time(t), span(d)).unwrap())
            .collect();
        let mut timeline = Timeline::default();
        timeline.extend(&rows);
        TimelineLink::new(
            Arc::new(timeline),
            lldus.len(),
            per_packet,
            span(100),
            period,
        )
        .unwrap()
    }

    #[test]
    fn a_packet_takes_the_first_free_lldus_and_arrives_with_the_last_of_them() {
        let mut link = link(&[(0, 5), (10, 5), (20, 90), (30, 5), (40, 5)], 2, None);
        let first = link.serve(time(5)).unwrap();
        assert_eq!(
            (first.start, first.end, first.arrival),
            (time(10), time(20), Some(time(210)))
        );
        assert_eq!((first.first_unit, first.last_unit), (1, 2));
        let second = link.serve(time(20)).unwrap();
        assert_eq!(
            (second.start, second.end, second.arrival),
            (time(30), time(40), Some(time(145)))
        );
        assert_eq!(link.serve(time(40)), None);
    }

    #[test]
    fn a_packet_with_a_lost_lldu_is_lost_and_its_lldus_are_used_up() {
        let mut link = link(&[(0, 5), (10, 0), (20, 5), (30, 5)], 2, None);
        assert_eq!(link.serve(time(0)).unwrap().arrival, None);
        assert_eq!(link.serve(time(10)).unwrap().first_unit, 2);
        assert_eq!(link.usage(time(30)).utilisation, Some(1.0));
    }

    #[test]
    fn slots_that_share_an_instant_serve_one_after_the_other() {
        let mut link = link(&[(10, 1), (10, 1), (10, 1)], 1, None);
        let ends: Vec<Time> = (0..3).map(|_| link.serve(time(10)).unwrap().end).collect();
        assert_eq!(ends, [time(10); 3]);
        assert_eq!(link.serve(time(10)), None);
    }

    #[test]
    fn a_looped_trace_goes_on() {
        let mut link = link(&[(0, 1), (10, 1)], 1, Some(span(20)));
        let starts: Vec<u64> = [0, 5, 12, 71]
            .iter()
            .map(|now| link.serve(time(*now)).unwrap().start.as_nanos())
            .collect();
        assert_eq!(starts, [0, 10, 20, 80]);
        assert_eq!(link.usage(time(80)).utilisation, Some(4.0 / 9.0));
    }
}

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
    /// LLDUs of all packets but the last, and the attempts of those delivered.
    used: u64,
    attempts: BTreeMap<u32, u64>,
    /// The last packet's LLDUs: when each goes out, and the attempts it took where that is told.
    last: Vec<(Time, Option<u32>)>,
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
            used: 0,
            attempts: BTreeMap::new(),
            last: Vec::new(),
        })
    }

    /// Time of LLDU `index` in round `round`.
    fn tx_time(&self, round: u64, index: usize) -> Option<Time> {
        let shift = self.period.unwrap_or(Span::ZERO).checked_mul(round)?;
        self.timeline.tx_time(index).checked_add(shift)
    }

    /// Moves on to the first free LLDU sent at or after `now`.
    fn seek(&mut self, now: Time) -> Option<()> {
        if self.next == self.usable {
            self.next_round()?;
        }
        let rounds = self.rounds_before(now);
        if self.period.is_some() && rounds > self.round {
            self.round = rounds;
            self.next = 0;
        }
        let shift = self.period.unwrap_or(Span::ZERO).checked_mul(self.round)?;
        let free = &self.timeline.tx_times()[self.next..self.usable];
        // Under load the next one will do; after a pause it may be far.
        let is_before = |time: &Time| time.checked_add(shift).is_some_and(|time| time < now);
        if free.first().is_some_and(is_before) {
            self.next += free.partition_point(is_before);
        }
        (self.next < self.usable).then_some(())
    }

    /// Rounds of the trace whose LLDUs were all sent before `now`.
    fn rounds_before(&self, now: Time) -> u64 {
        let last = self.timeline.tx_time(self.usable - 1);
        let beyond = now.since(last).as_nanos();
        match self.period {
            Some(period) => beyond.div_ceil(period.as_nanos()),
            None => u64::from(beyond > 0),
        }
    }

    /// LLDUs sent up to `end`.
    fn available(&self, end: Time) -> u64 {
        let after = end
            .checked_add(Span::from_nanos(1).unwrap_or(Span::ZERO))
            .unwrap_or(end);
        let rounds = self.rounds_before(after);
        if self.period.is_none() && rounds > 0 {
            return self.usable as u64;
        }
        let Some(shift) = self.period.unwrap_or(Span::ZERO).checked_mul(rounds) else {
            return 0;
        };
        let in_round = self.timeline.tx_times()[..self.usable]
            .partition_point(|time| time.checked_add(shift).is_some_and(|time| time <= end));
        rounds * self.usable as u64 + in_round as u64
    }

    fn next_round(&mut self) -> Option<()> {
        self.period?;
        self.round += 1;
        self.next = 0;
        Some(())
    }
}

/// Adds the attempts of `lldus` to a histogram; how many LLDUs there are.
fn count(histogram: &mut BTreeMap<u32, u64>, lldus: &[(Time, Option<u32>)]) -> u64 {
    for attempts in lldus.iter().filter_map(|(_, attempts)| *attempts) {
        *histogram.entry(attempts).or_insert(0) += 1;
    }
    lldus.len() as u64
}

impl Link for TimelineLink {
    fn serve(&mut self, now: Time) -> Option<Service> {
        self.seek(now)?;
        let usable = self.usable as u64;
        let first_unit = self.round * usable + self.next as u64;
        let start = self.tx_time(self.round, self.next)?;
        self.used += count(&mut self.attempts, &self.last);
        self.last.clear();
        let (mut end, mut arrival) = (start, Some(start));
        for _ in 0..self.lldus {
            if self.next == self.usable {
                self.next_round()?;
            }
            end = self.tx_time(self.round, self.next)?;
            let delay = self.timeline.delay(self.next);
            arrival = arrival
                .zip(delay)
                .map(|(arrival, delay)| arrival.max(end.saturating_add(delay)));
            let attempts = delay.and_then(|_| self.timeline.attempts(self.next));
            self.last.push((end, attempts));
            self.next += 1;
        }
        let arrival = match arrival {
            Some(arrival) => Some(arrival.checked_add(self.propagation)?),
            None => None,
        };
        self.served += 1;
        Some(Service {
            start,
            end,
            arrival,
            first_unit,
            last_unit: first_unit + self.lldus as u64 - 1,
        })
    }

    fn usage(&self, end: Time) -> Usage {
        // The last packet may go on behind the end, or wait there for its first LLDU.
        let within = self.last.partition_point(|(time, _)| *time <= end);
        let mut attempts = self.attempts.clone();
        let used = self.used + count(&mut attempts, &self.last[..within]);
        let unbegun = u64::from(within == 0 && !self.last.is_empty());
        let available = self.available(end);
        Usage {
            utilisation: (available > 0).then(|| to_f64(used) / to_f64(available)),
            packets_served: self.served - unbegun,
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

    #[test]
    fn a_looped_trace_of_nanoseconds_is_not_walked_round_by_round() {
        // 10^17 rounds to the packet: only arithmetic gets there.
        let mut link = link(&[(0, 1), (1, 1)], 1, Some(span(3)));
        let late = 300_000_000_000_000_002;
        let service = link.serve(time(late)).unwrap();
        assert_eq!(
            (service.start, service.first_unit),
            (time(late + 1), 200_000_000_000_000_002)
        );
        assert_eq!(link.available(time(late)), 200_000_000_000_000_002);
    }

    #[test]
    fn only_what_lies_within_the_run_counts_as_used() {
        let mut link = link(&[(0, 1), (10, 1), (20, 1), (30, 1)], 2, None);
        link.serve(time(0)).unwrap();
        link.serve(time(10)).unwrap();
        let used = |end| {
            let usage = link.usage(time(end));
            (usage.lldus_used, usage.packets_served, usage.utilisation)
        };
        assert_eq!(used(15), (Some(2), 1, Some(1.0)));
        assert_eq!(used(20), (Some(3), 2, Some(1.0)));
        assert_eq!(used(30), (Some(4), 2, Some(1.0)));
    }
}

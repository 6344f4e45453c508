//! Timeline link: packets take LLDUs of a timeline (docs/simulator.md, Sec. 2.1; CLIFT 2014, Sec. IV).
//!
//! A packet that needs m LLDUs takes the first free one sent at or after the time it reaches the head of the queue, and the m − 1
//! that follow. It arrives with the last of them to be delivered, and is lost if any of them is. CLIFT takes m + 1 LLDUs, and the
//! first may have begun already; docs/models.md, Sec. 8.5, corrects this. With [`Packing::Bytes`](crate::Packing::Bytes) the same
//! holds for the bytes of the LLDUs.

use std::collections::BTreeMap;
use tmt_core::math::num::floor_u64;
use tmt_core::types::{BitRate, Span, Time, to_f64};

use super::overlap::DeliverySpacer;
use super::{Link, Service, Usage};
use crate::packet::Packet;
use crate::packing::Segmentation;
use crate::timeline::{Cursor, PhysicalSlots, Position, Timeline};

/// Link whose capacity is the LLDUs of a timeline.
///
/// ```
/// use tmt_core::{Bytes, Fate, Lldu, Span, Time};
/// use tmt_link::timeline::Timeline;
/// use tmt_link::{Link, Packet, Segmentation, TimelineLink};
///
/// // An LLDU a millisecond, ten to a packet.
/// let lldu = |millis| Lldu {
///     tx_time: Time::ZERO.saturating_add(Span::from_millis(millis)),
///     decode_delay: Span::from_millis(1),
///     attempts: 1,
///     fate: Fate::Delivered,
/// };
/// let timeline: Timeline = (0..1000).map(lldu).collect();
/// let (packets, propagation) = (Segmentation::whole(Bytes(1500), 10), Span::from_millis(20));
/// let link = TimelineLink::new(timeline, packets, propagation, None, Time::ZERO);
/// let mut link = link.ok_or("no room for a packet")?;
/// let full = Packet { size: Bytes(1500), ..Packet::default() };
/// let service = link.serve(Time::ZERO, &full).ok_or("the timeline has ended")?;
/// assert_eq!((service.first_unit, service.last_unit), (0, 9));
/// // A packet of half the size takes half as many LLDUs.
/// let service = link.serve(service.end, &Packet { size: Bytes(750), ..full }).ok_or("ended")?;
/// assert_eq!((service.first_unit, service.last_unit), (10, 14));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug)]
pub struct TimelineLink {
    /// Position of the next free LLDU.
    cursor: Cursor,
    /// Packets of the size that the capacity is counted in, and of the last size served.
    nominal: Segmentation,
    segmentation: Segmentation,
    /// The LLDU in which the last packet ended.
    last: LastLldu,
    propagation: Span,
    /// Number of the first LLDU of the run.
    origin: u64,
    begin: Time,
    /// Slots of the physical link behind the LLDUs; `None` if unknown.
    physical: Option<PhysicalSlots>,
    used: u64,
    /// Attempts → LLDUs that were used and delivered.
    attempts: BTreeMap<u32, u64>,
    busy: BusyPeriod,
    /// Spacing of deliveries with `--overlap shift`.
    spacer: Option<DeliverySpacer>,
    /// Whether too few LLDUs are left for a packet.
    ended: bool,
}

/// The LLDU in which a packet ended.
#[derive(Debug, Clone, Copy, Default)]
struct LastLldu {
    /// Units of it that are free, in those of the segmentation.
    left: u64,
    tx_time: Time,
    /// Its arrival without propagation; `None` if it is lost. Known only if units are free.
    arrival: Option<Time>,
}

/// The current busy period: packets served back to back. Services are computed ahead of the clock, so that some of them
/// may lie after the end of the run. These are all in the last busy period: when it began the queue was empty, and all
/// earlier packets had left within the run. [`Link::usage`] subtracts them.
#[derive(Debug, Default)]
struct BusyPeriod {
    /// Number of its first LLDU.
    first: u64,
    /// End of its last service; `None` before the first packet.
    ends: Option<Time>,
}

impl TimelineLink {
    /// Creates a link over `timeline` that carries packets as `segmentation` says, with one-way delay `propagation`, for
    /// a run that starts at `begin`. If there is a `period`, the timeline repeats with it.
    ///
    /// Returns `None` if a packet needs nothing or more LLDUs than the timeline has, if the period is zero, or if the
    /// timeline cannot be read.
    #[must_use]
    pub fn new(
        timeline: Timeline,
        segmentation: Segmentation,
        propagation: Span,
        period: Option<Span>,
        begin: Time,
    ) -> Option<Self> {
        let fits = (1..=timeline.len()).contains(&segmentation.lldus());
        let moves = period.is_none_or(|period| !period.is_zero());
        if !fits || !moves {
            return None;
        }
        let mut cursor = Cursor::new(timeline.0);
        if let Some(period) = period {
            (cursor.period, cursor.rounds) = (period, u64::MAX);
        }
        Some(Self {
            origin: cursor.sent_before(begin)?,
            begin,
            physical: None,
            cursor,
            nominal: segmentation,
            segmentation,
            last: LastLldu::default(),
            propagation,
            used: 0,
            attempts: BTreeMap::new(),
            busy: BusyPeriod::default(),
            spacer: None,
            ended: false,
        })
    }

    /// The same link with `--overlap shift`: a packet is delivered no earlier than the previous one plus the span of its
    /// LLDUs and one `slot` (CLIFT 2014, Figs. 3, 4). By default it is delivered with its last LLDU.
    #[must_use]
    pub fn shifted(mut self, slot: Span) -> Self {
        let latest = None;
        self.spacer = Some(DeliverySpacer { slot, latest });
        self
    }

    /// The same link, which knows the slots of the physical link and thus its capacity.
    #[must_use]
    pub fn with_slots(mut self, slots: PhysicalSlots) -> Self {
        self.physical = Some(slots);
        self
    }

    /// Takes the rest of the last LLDU if it has free units, and then the next `missing` LLDUs, with `left` units to spare in the
    /// last. Returns the transmission times of the packet's first and last LLDU, and its arrival without propagation (`None` if
    /// it is lost).
    fn take(&mut self, mut missing: usize, left: u64) -> Option<(Time, Time, Option<Time>)> {
        let (mut start, mut end, mut arrival) = (None, Time::ZERO, Some(Time::ZERO));
        if self.last.left > 0 {
            end = self.last.tx_time;
            (start, arrival) = (Some(end), self.last.arrival);
        }
        while missing > 0 {
            let Position { round, number, row } = self.cursor.seek(Time::ZERO)?;
            let ahead = self.cursor.round_offset(round)?;
            let rows = self.cursor.timeline.rows_in(number);
            let to = rows.min(row.saturating_add(missing));
            let block = self.cursor.fetch(number)?;
            let slice_arrives = block.arrival(row..to);
            arrival = arrival
                .zip(slice_arrives)
                .map(|(arrival, slice)| arrival.max(slice.saturating_add(ahead)));
            if start.is_none() {
                start = Some(block.tx_time(row).checked_add(ahead)?);
            }
            end = block.tx_time(to - 1).checked_add(ahead)?;
            let attempts = &mut self.attempts;
            block.count_attempts(row..to, |number, lldus| {
                *attempts.entry(number).or_default() += lldus;
            });
            missing -= to - row;
            if missing == 0 && left > 0 {
                let arrival = block.arrival(to - 1..to);
                self.last.arrival = arrival.map(|at| at.saturating_add(ahead));
            }
            self.used += (to - row) as u64;
            self.cursor.position.row = to;
        }
        (self.last.left, self.last.tx_time) = (left, end);
        Some((start?, end, arrival))
    }

    /// Calls `add` with attempts and numbers of the delivered LLDUs in `from..to`.
    fn count_attempts(&self, from: u64, to: u64, mut add: impl FnMut(u32, u64)) -> Option<()> {
        let timeline = &self.cursor.timeline;
        let mut from = from;
        while from < to {
            let index = from % timeline.len();
            let number = timeline.block_of(index);
            let at = usize::try_from(index - timeline.rows_before(number)).ok()?;
            let missing = usize::try_from(to - from).unwrap_or(usize::MAX);
            let end = timeline.rows_in(number).min(at.saturating_add(missing));
            timeline.block(number)?.count_attempts(at..end, &mut add);
            from += (end - at) as u64;
        }
        Some(())
    }
}

impl Link for TimelineLink {
    fn serve(&mut self, at: Time, packet: &Packet) -> Option<Service> {
        if packet.size != self.segmentation.size() {
            self.segmentation = self.segmentation.of(packet.size);
        }
        // Within a busy period the packet takes what follows, regardless of its time.
        let idle = self.busy.ends.is_none_or(|ends| at > ends);
        let from = if idle { at } else { Time::ZERO };
        if idle {
            // Free units that no packet waited for are unused.
            self.last.left = 0;
        }
        let shared = u64::from(self.last.left > 0);
        let (fresh, left) = self.segmentation.after(self.last.left);
        self.ended = self.ended || fresh > 0 && self.cursor.seek(from).is_none();
        let first_unit = self.cursor.ordinal() - shared;
        if idle {
            self.busy = BusyPeriod {
                first: first_unit,
                ends: None,
            };
        }
        if self.ended {
            return None;
        }
        let taken = self.take(usize::try_from(fresh).ok()?, left);
        self.ended = taken.is_none();
        let (start, end, arrival) = taken?;
        let arrival = match (arrival, &mut self.spacer) {
            (Some(arrival), Some(spacer)) => Some(spacer.space(start, end, arrival)?),
            (arrival, _) => arrival,
        };
        let arrival = match arrival {
            Some(arrival) => Some(arrival.checked_add(self.propagation)?),
            None => None,
        };
        self.busy.ends = Some(end);
        Some(Service {
            start,
            end,
            arrival,
            propagation: self.propagation,
            first_unit,
            last_unit: first_unit + shared + fresh - 1,
        })
    }

    fn rate(&self) -> Option<BitRate> {
        let packets = self.cursor.timeline.rate()? * self.nominal.packets_per_lldu();
        Some(BitRate(floor_u64(
            packets * to_f64(8 * self.nominal.size().0),
        )))
    }

    fn usage(&self, end: Time) -> Usage {
        // Some packets may end after `end`, or not even begin before it.
        let Some(sent) = self.cursor.sent_until(end) else {
            // The timeline cannot be read; the run fails.
            return Usage::default();
        };
        let (first, next) = (self.busy.first, self.cursor.ordinal());
        let from = sent.max(first).min(next);
        let mut attempts = self.attempts.clone();
        let _ = self.count_attempts(from, next, |number, lldus| {
            let counted = attempts.entry(number).or_default();
            *counted = counted.saturating_sub(lldus);
        });
        attempts.retain(|_, lldus| *lldus > 0);
        let used = self.used - (next - from).min(self.used);
        let available = sent.saturating_sub(self.origin);
        let slots = self.physical.as_ref();
        let slots = slots.map(|slots| slots.within(self.begin, end, available));
        Usage {
            capacity_packets: slots.map(|slots| self.nominal.packets_in(slots)),
            utilisation: (available > 0).then(|| to_f64(used) / to_f64(available)),
            lldus_used: Some(used),
            attempts,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::num::NonZeroU64;

    use proptest::prelude::*;
    use tmt_core::types::Bytes;

    use super::*;
    use crate::Packing;
    use crate::timeline::Builder;

    /// A packet of this size in bytes.
    fn packet(size: usize) -> Packet {
        Packet {
            size: Bytes(size as u64),
            ..Packet::default()
        }
    }

    fn time(nanos: u64) -> Time {
        Time::from_nanos(nanos).unwrap()
    }

    fn span(nanos: u64) -> Span {
        Span::from_nanos(nanos).unwrap()
    }

    /// A link whose packets begin LLDUs of their own and take `per_packet` each.
    fn link(lldus: &[(u64, u64)], per_packet: u64, period: Option<Span>) -> TimelineLink {
        link_with(lldus, Segmentation::whole(Bytes(600), per_packet), period)
    }

    fn link_with(
        lldus: &[(u64, u64)],
        segmentation: Segmentation,
        period: Option<Span>,
    ) -> TimelineLink {
        let mut builder = Builder::default();
        for &(t, d) in lldus {
            builder.push(time(t), span(d), None);
        }
        let timeline = builder.finish().into();
        TimelineLink::new(timeline, segmentation, span(100), period, Time::ZERO).unwrap()
    }

    #[test]
    fn a_packet_takes_the_first_free_lldus_and_arrives_with_the_last_of_them() {
        let mut link = link(&[(0, 5), (10, 5), (20, 90), (30, 5), (40, 5)], 2, None);
        let first = link.serve(time(5), &packet(600)).unwrap();
        assert_eq!(
            (first.start, first.end, first.arrival),
            (time(10), time(20), Some(time(210)))
        );
        assert_eq!((first.first_unit, first.last_unit), (1, 2));
        let second = link.serve(time(20), &packet(600)).unwrap();
        assert_eq!(
            (second.start, second.end, second.arrival),
            (time(30), time(40), Some(time(145)))
        );
        assert_eq!(link.serve(time(40), &packet(600)), None);
    }

    #[test]
    fn a_packet_with_a_lost_lldu_is_lost_and_its_lldus_are_used_up() {
        let mut link = link(&[(0, 5), (10, 0), (20, 5), (30, 5)], 2, None);
        assert_eq!(link.serve(time(0), &packet(600)).unwrap().arrival, None);
        assert_eq!(link.serve(time(10), &packet(600)).unwrap().first_unit, 2);
        assert_eq!(link.usage(time(30)).utilisation, Some(1.0));
    }

    #[test]
    fn slots_at_the_same_time_serve_one_packet_each() {
        let mut link = link(&[(10, 1), (10, 1), (10, 1)], 1, None);
        let ends: Vec<Time> = (0..3)
            .map(|_| link.serve(time(10), &packet(600)).unwrap().end)
            .collect();
        assert_eq!(ends, [time(10); 3]);
        assert_eq!(link.serve(time(10), &packet(600)), None);
    }

    #[test]
    fn a_looped_trace_continues() {
        let mut link = link(&[(0, 1), (10, 1)], 1, Some(span(20)));
        let starts: Vec<u64> = [0, 5, 12, 71]
            .iter()
            .map(|now| {
                link.serve(time(*now), &packet(600))
                    .unwrap()
                    .start
                    .as_nanos()
            })
            .collect();
        assert_eq!(starts, [0, 10, 20, 80]);
        assert_eq!(link.usage(time(80)).utilisation, Some(4.0 / 9.0));
    }

    #[test]
    fn seeking_in_a_looped_trace_skips_rounds() {
        // 10^17 rounds before the packet, too many to visit one by one.
        let mut link = link(&[(0, 1), (1, 1)], 1, Some(span(3)));
        let late = 300_000_000_000_000_002;
        let service = link.serve(time(late), &packet(600)).unwrap();
        assert_eq!(
            (service.start, service.first_unit),
            (time(late + 1), 200_000_000_000_000_002)
        );
        assert_eq!(
            link.cursor.sent_before(time(late + 1)),
            Some(200_000_000_000_000_002)
        );
    }

    #[test]
    fn only_lldus_within_the_run_count_as_used() {
        let mut link = link(&[(0, 1), (10, 1), (20, 1), (30, 1)], 2, None);
        link.serve(time(0), &packet(600)).unwrap();
        link.serve(time(10), &packet(600)).unwrap();
        let used = |end| {
            let usage = link.usage(time(end));
            (usage.lldus_used, usage.utilisation)
        };
        assert_eq!(used(15), (Some(2), Some(1.0)));
        assert_eq!(used(20), (Some(3), Some(1.0)));
        assert_eq!(used(30), (Some(4), Some(1.0)));
    }

    #[test]
    fn packets_share_lldus_as_in_mahimahi() {
        // Packets of 600 B in opportunities of 1504 B. `LinkQueue::rationalize` sends 600 + 600 + 304 B in the first, and
        // the remaining 296 B with two more packets and 8 B of the next in the second.
        let bytes = Packing::Bytes.segmentation(Bytes(600), NonZeroU64::new(1504).unwrap());
        let slots = [(10, 1), (10, 1), (30, 1), (40, 0), (50, 1)];
        let mut link = link_with(&slots, bytes, None);
        let mut serve = |at| {
            let service = link.serve(time(at), &packet(600)).unwrap();
            let units = (service.first_unit, service.last_unit);
            (
                units,
                service.end.as_nanos(),
                service.arrival.map(Time::as_nanos),
            )
        };
        for units in [(0, 0), (0, 0), (0, 1), (1, 1), (1, 1)] {
            assert_eq!(serve(10), (units, 10, Some(111)));
        }
        // This one has 8 B in the second slot.
        assert_eq!(serve(10), ((1, 2), 30, Some(131)));
        // The queue was empty: what is left of the slot is lost, and the next slot loses both of its packets.
        assert_eq!(serve(31), ((3, 3), 40, None));
        assert_eq!(serve(40), ((3, 3), 40, None));
        assert_eq!(serve(40), ((3, 4), 50, None));
        assert_eq!(serve(50), ((4, 4), 50, Some(151)));
        assert_eq!(link.usage(time(30)).lldus_used, Some(3));
        assert_eq!(link.usage(time(50)).lldus_used, Some(5));
    }

    /// The rule in a few lines, applied to a list of bytes, or of whole LLDUs: (start, end, arrival, first) of a packet.
    fn by_hand(
        lldus: &[(u64, u64)],
        next: &mut usize,
        per_packet: usize,
        at: u64,
    ) -> Option<(u64, u64, Option<u64>, usize)> {
        *next += lldus[*next..].iter().take_while(|(t, _)| *t < at).count();
        let first = *next;
        *next = (first + per_packet).min(lldus.len());
        let taken = lldus.get(first..first + per_packet)?;
        let arrival = taken.iter().map(|(t, d)| (*d > 0).then_some(t + d));
        let arrival = arrival.collect::<Option<Vec<u64>>>();
        Some((
            taken[0].0,
            taken[per_packet - 1].0,
            arrival.map(|all| all.into_iter().max().unwrap() + 100),
            first,
        ))
    }

    #[test]
    fn shifted_deliveries_are_a_service_time_apart() {
        // Two LLDUs per packet, slots of 10 ns. The first packet waits for a repeat, the third is lost.
        let lldus = [
            (0, 95),
            (10, 5),
            (20, 5),
            (30, 5),
            (40, 5),
            (50, 0),
            (60, 5),
            (75, 5),
            (500, 5),
            (510, 5),
        ];
        let mut link = link(&lldus, 2, None).shifted(span(10));
        let mut now = 0;
        let arrivals: Vec<Option<u64>> = (0..5)
            .map(|_| {
                let service = link.serve(time(now), &packet(600)).unwrap();
                now = service.end.as_nanos();
                service.arrival.map(Time::as_nanos)
            })
            .collect();
        // Propagation is 100 ns. The second packet is 10 + 10 ns after the first, the fourth 15 + 10 ns after the second.
        assert_eq!(arrivals, [Some(195), Some(215), None, Some(240), Some(615)]);
    }

    proptest! {
        /// Compares services, which are computed ahead of the clock, with [`by_hand`], and usage with a count.
        #[test]
        fn services_and_usage_are_those_of_the_rule(
            steps in prop::collection::vec((prop_oneof![6 => 0u64..20, 1 => 4_294_967_290u64..4_294_967_300], 0u64..60), 4..60),
            // Whole LLDUs, or bytes of LLDUs with a payload of up to 19 B.
            (least, room) in prop_oneof![(1usize..5, Just(1usize)), (1usize..40, 2usize..20)],
            // By how much each packet is larger than the smallest.
            more in prop::collection::vec(prop_oneof![3 => Just(0usize), 1 => 1usize..9], 40),
            waits in prop::collection::vec(prop_oneof![2 => Just(0u64), 2 => 0u64..90, 1 => 0u64..5_000_000_000], 1..40),
            later in 0u64..200,
            looped: bool,
            begin in 0usize..4,
            slot in prop::option::of(0u64..40),
        ) {
            let segmentation = Packing::Bytes.segmentation(Bytes(least as u64), NonZeroU64::new(room as u64).unwrap());
            prop_assume!(segmentation.lldus() <= steps.len() as u64);
            let mut at = 3;
            let trace: Vec<(u64, u64)> = steps.iter().map(|(step, delay)| { at += step; (at, delay.saturating_sub(5)) }).collect();
            let period = at - trace[0].0 + 2;
            let (rounds, begin) = (if looped { 60 } else { 1 }, trace[begin].0);
            let lldus: Vec<(u64, u64)> = (0..rounds).flat_map(|round| trace.iter().map(move |(t, d)| (t + round * period, *d))).collect();
            let bytes: Vec<(u64, u64)> = lldus.iter().flat_map(|lldu| std::iter::repeat_n(*lldu, room)).collect();
            let mut builder = Builder::default();
            for (row, &(t, d)) in (0u32..).zip(&trace) {
                builder.push(time(t), span(d), Some(row % 3));
            }
            let period = looped.then(|| span(period));
            let mut link = TimelineLink::new(builder.finish().into(), segmentation, span(100), period, time(begin)).unwrap();
            if let Some(slot) = slot {
                link = link.shifted(span(slot));
            }
            let mut delivered: Option<u64> = None;
            let (mut now, mut ends, mut next, mut served) = (begin, begin, 0, Vec::new());
            let mut found = 0..0;
            for (wait, more) in waits.into_iter().zip(more) {
                let size = least + more;
                // Stay within the rounds of the list.
                if looped && now + wait > lldus[lldus.len() / 4].0 {
                    break;
                }
                now += wait;
                let serve = now.max(ends);
                let free = next + bytes[next..].iter().take_while(|(t, _)| *t < serve).count();
                let mut expected = by_hand(&bytes, &mut next, size, serve);
                if let (Some(slot), Some((start, end, Some(arrival), _))) = (slot, &mut expected) {
                    let turn = delivered.map(|before| before + (*end - *start) + slot);
                    *arrival = turn.map_or(*arrival, |turn| turn.max(*arrival));
                    delivered = Some(*arrival);
                }
                let got = link.serve(time(serve), &packet(size));
                let shown = got.map(|s| (s.start.as_nanos(), s.end.as_nanos(), s.arrival.map(Time::as_nanos), usize::try_from(s.first_unit).unwrap()));
                prop_assert_eq!(shown, expected.map(|(start, end, arrival, first)| (start, end, arrival, first / room)));
                let Some((_, end, _, first)) = expected else {
                    found = free..bytes.len();
                    break;
                };
                prop_assert_eq!(got.unwrap().last_unit, ((first + size - 1) / room) as u64);
                served.extend(first..first + size);
                ends = end;
            }
            // The run may end at any time from now on. LLDUs that were too few for a packet count as used, and those that
            // are filled in part.
            let end = if looped { (now + later).min(lldus[lldus.len() - 1].0) } else { now + later };
            let used = served.into_iter().chain(found);
            let mut used: BTreeSet<usize> = used.map(|byte| byte / room).collect();
            used.retain(|index| lldus[*index].0 <= end);
            let available = lldus.iter().filter(|(t, _)| (begin..=end).contains(t)).count();
            let mut attempts = BTreeMap::new();
            for index in used.iter().filter(|index| lldus[**index].1 > 0) {
                *attempts.entry(u32::try_from(index % trace.len() % 3).unwrap()).or_insert(0u64) += 1;
            }
            let usage = link.usage(time(end));
            prop_assert_eq!(usage.lldus_used, Some(used.len() as u64));
            prop_assert_eq!(usage.attempts, attempts);
            let share = (available > 0).then(|| to_f64(used.len() as u64) / to_f64(available as u64));
            prop_assert_eq!(usage.utilisation, share);
        }
    }
}

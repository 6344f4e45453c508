//! A course of services of a hop that follows a trace: which packets wait, which of them may be next, and what became of the others.

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::types::{Slot, Time};

use super::Visit;
use crate::audit::head::{Capacity, Order};
use crate::audit::queue::Leaves;

/// Size of the largest IP packet, bytes.
const LARGEST: u64 = 65_535;

/// Place of a packet among those that wait: its lane, arrival and line.
pub(super) type Place = (u64, Time, u64);

/// The last LLDU that was used: how many there are up to it, and how much of it was used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Position {
    pub(super) lldus: u64,
    pub(super) latest: Option<Slot>,
    pub(super) filled: u64,
}

impl Position {
    pub(super) fn free(&self) -> Time {
        self.latest.map_or(Time::ZERO, |slot| slot.tx_time())
    }
}

/// LLDUs of the next service.
#[derive(Debug, Clone, Copy)]
pub(super) struct Service {
    pub(super) end: Time,
    /// Time at which all are decoded; `None` if one is lost.
    pub(super) arrival: Option<Time>,
    pub(super) after: Position,
}

/// What became of a packet: whether it was served, in one of the courses at least, and when it left the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Done {
    pub(super) visit: Visit,
    pub(super) is_served: bool,
    pub(super) leaves: Leaves,
}

/// A course of services that agrees with the log.
#[derive(Debug, Clone, Default)]
pub(super) struct Course {
    pub(super) position: Position,
    /// Whether the trace has ended.
    pub(super) ended: bool,
    /// Packets that have arrived and wait, by lane, arrival and line.
    pub(super) lanes: BTreeMap<u64, BTreeMap<(Time, u64), Visit>>,
    /// The first of each lane, by arrival; those that the queue may drop, by time.
    pub(super) firsts: BTreeSet<(Time, u64)>,
    pub(super) drops: BTreeSet<(Time, Place)>,
    /// Lines of the packets that were under way at the end of the run, and when they should have left or been lost.
    pub(super) unfinished: Vec<(u64, Time)>,
    /// Packets that are done and not reported, as other courses say otherwise.
    pub(super) done: Vec<Done>,
}

impl PartialEq for Course {
    fn eq(&self, other: &Self) -> bool {
        let same = (self.position, self.ended) == (other.position, other.ended);
        let keys = |course: &Self| -> Vec<Place> {
            let lanes = course.lanes.iter();
            let places =
                lanes.flat_map(|(lane, all)| all.keys().map(|&(at, line)| (*lane, at, line)));
            places.collect()
        };
        same && self.unfinished == other.unfinished && keys(self) == keys(other)
    }
}

impl Course {
    pub(super) fn arrives(&mut self, lane: u64, visit: &Visit, is_drop_tail: bool) {
        let key = (visit.arrived, visit.row.line);
        if let Some(at) = visit
            .gone
            .filter(|at| !is_drop_tail || *at == visit.arrived)
        {
            self.drops.insert((at, (lane, key.0, key.1)));
        }
        self.change(lane, |waiting| waiting.insert(key, *visit));
    }

    /// Changes a lane, and keeps `firsts` with it.
    pub(super) fn change<T>(
        &mut self,
        lane: u64,
        change: impl FnOnce(&mut BTreeMap<(Time, u64), Visit>) -> T,
    ) -> T {
        let waiting = self.lanes.entry(lane).or_default();
        let first = |waiting: &BTreeMap<(Time, u64), Visit>| {
            waiting.first_key_value().map(|(key, _)| key.0)
        };
        let before = first(waiting);
        let value = change(waiting);
        let after = first(waiting);
        if waiting.is_empty() {
            self.lanes.remove(&lane);
        }
        if before != after {
            self.firsts.extend(after.map(|at| (at, lane)));
            if let Some(at) = before {
                self.firsts.remove(&(at, lane));
            }
        }
        value
    }

    /// The packet at a place does not wait any more.
    pub(super) fn take(&mut self, (lane, at, line): Place) -> Option<Visit> {
        let visit = self.change(lane, |waiting| waiting.remove(&(at, line)))?;
        if let Some(gone) = visit.gone {
            self.drops.remove(&(gone, (lane, at, line)));
        }
        Some(visit)
    }

    /// The queue drops what it may have dropped before a time, and at that time if it is `whole`.
    pub(super) fn drop_until(&mut self, time: Time, whole: bool) {
        while let Some(&(at, place)) = self.drops.first()
            && (at < time || whole && at == time)
        {
            self.drops.pop_first();
            if let Some(visit) = self.take(place) {
                self.is_done(&visit, false, Some(at));
            }
        }
    }

    /// The time at which the hop takes the next packet; `None` if none waits.
    pub(super) fn turn(&mut self) -> Option<Time> {
        loop {
            let (first, _) = *self.firsts.first()?;
            let turn = first.max(self.position.free());
            let dropped = self.drops.first().is_some_and(|(at, _)| *at < turn);
            if !dropped {
                return Some(turn);
            }
            self.drop_until(turn, false);
        }
    }

    /// Whether all that wait at `turn` and one in service, of the largest size, fit into a buffer.
    pub(super) fn has_room(&self, capacity: Capacity, turn: Time) -> bool {
        let lanes = self.lanes.values();
        let waiting = lanes.flat_map(|waiting| waiting.range(..=(turn, u64::MAX)));
        let sizes = waiting.map(|(_, visit)| visit.row.size);
        let (most, held) = if capacity.in_bytes {
            (capacity.most, sizes.fold(LARGEST, u64::saturating_add))
        } else {
            (capacity.most, sizes.count() as u64 + 1)
        };
        held <= most
    }

    /// Whether the queue may have dropped the packet at a place by `turn`.
    pub(super) fn may_drop(&self, place: Place, visit: &Visit, turn: Time) -> bool {
        visit
            .gone
            .is_some_and(|at| at <= turn && self.drops.contains(&(at, place)))
    }

    /// The places of the packets that the discipline may serve at `turn`, and whether one of them must be.
    pub(super) fn next(&self, order: Order, turn: Time) -> (Vec<Place>, bool) {
        let (mut places, mut must) = (Vec::new(), false);
        // The highest class first.
        for (&lane, waiting) in self.lanes.iter().rev() {
            let mut first: Option<Time> = None;
            let mut flows = BTreeSet::new();
            let mut ranked = false;
            for (&(at, line), visit) in waiting.range(..=(turn, u64::MAX)) {
                if first.is_some_and(|first| first < at) {
                    break;
                }
                let (place, flow) = ((lane, at, line), visit.row.kept_in_order_with());
                if flows.contains(&flow) {
                    continue;
                }
                places.push(place);
                if !self.may_drop(place, visit, turn) {
                    flows.insert(flow);
                    first = Some(at);
                    must = true;
                    ranked |= at < turn;
                }
            }
            if order == Order::Class && ranked {
                break;
            }
        }
        (places, must)
    }

    /// After the end of the trace, the first packet that the log says was served nevertheless.
    pub(super) fn unserved(&self) -> Option<(Time, Place)> {
        let lanes = self.lanes.iter();
        let mut all = lanes.flat_map(|(lane, waiting)| waiting.iter().map(move |it| (*lane, it)));
        let found = all.find(|(lane, ((at, line), visit))| {
            let gone = visit.gone.map(|gone| (gone, (*lane, *at, *line)));
            let is_dropped = gone.is_some_and(|drop| self.drops.contains(&drop));
            !is_dropped && visit.left.or(visit.gone).is_some()
        });
        found.map(|(lane, ((at, line), _))| (*at, (lane, *at, *line)))
    }

    pub(super) fn visit(&self, (lane, at, line): Place) -> Option<Visit> {
        self.lanes.get(&lane)?.get(&(at, line)).copied()
    }

    /// The packet at a place is served; one without an end is unfinished.
    pub(super) fn serve(&mut self, place: Place, service: Option<Service>) {
        let Some(visit) = self.take(place) else {
            return;
        };
        if let Some(service) = service {
            self.position = service.after;
            if visit.left.is_none() && visit.gone.is_none() {
                self.unfinished
                    .push((visit.row.line, ends(&visit, service)));
            }
        } else {
            self.ended = true;
        }
        let leaves = service.map(|service| service.end);
        self.is_done(&visit, service.is_some(), leaves);
    }

    fn is_done(&mut self, visit: &Visit, is_served: bool, leaves: Option<Time>) {
        self.done.push(Done {
            visit: *visit,
            is_served,
            leaves: Leaves::at(leaves),
        });
    }

    /// All that waits is still there after the end of the run, or of the trace.
    pub(super) fn stays(&mut self) {
        while let Some((&lane, waiting)) = self.lanes.first_key_value()
            && let Some((&(at, line), visit)) = waiting.first_key_value()
        {
            let visit = *visit;
            self.is_done(&visit, false, None);
            self.take((lane, at, line));
        }
    }

    /// Takes in what another course, of the same packets, says of them: either may be right.
    pub(super) fn or(&mut self, other: &Self) {
        let line = |done: &Done| done.visit.row.line;
        let others: BTreeMap<u64, &Done> = other.done.iter().map(|it| (line(it), it)).collect();
        for done in &mut self.done {
            if let Some(other) = others.get(&line(done)) {
                done.is_served |= other.is_served;
                done.leaves = done.leaves.or(other.leaves);
            }
        }
    }

    /// Arrival of the first packet that is not reported.
    pub(super) fn first(&self) -> Option<Time> {
        let done = self.done.iter().map(|done| done.visit.arrived);
        done.chain(self.firsts.first().map(|(at, _)| *at)).min()
    }
}

/// Time at which a packet leaves or is lost by a service.
pub(super) fn ends(visit: &Visit, service: Service) -> Time {
    let arrival = service.arrival.filter(|_| !visit.is_gone);
    arrival.unwrap_or(service.end)
}

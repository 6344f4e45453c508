//! Services of a hop that follows a trace, recomputed from its LLDUs.
//!
//! Whenever the hop is free and packets wait, one of them takes the first free LLDUs: the first of its flow, of its class and then of
//! the highest class, or of all, as the discipline keeps them. Which flow is served is the choice of the discipline, and so is which packets
//! it drops while they wait, unless it is drop-tail: then a packet that could have been served is served if the log says of it what
//! follows from those LLDUs. A log has no order of packets that arrive at one time. Where several could have been the next, all are followed
//! until the log decides.

mod course;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tmt_core::Result;
use tmt_core::format::TraceReader;
use tmt_core::types::{Slot, Time};

use super::Visit;
use crate::audit::head::{Hop, Order, Packed};
use crate::audit::queue::Queue;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::timeline::{LONGEST, Lldus};
use course::{Course, Done, Place, Position, Service, ends};

/// Most courses that are followed.
const MOST: usize = 64;

/// A course that disagrees with the log, when, and the packet that it would serve then.
struct Failure {
    course: Course,
    turn: Time,
    place: Place,
    service: Option<Service>,
    /// Line of a packet before it in the order of the discipline, if that is what it breaks.
    passed: Option<u64>,
}

/// The LLDUs of a trace and the packets that wait for them.
pub(super) struct OnTrace<'t> {
    /// Its key in the head.
    key: &'static str,
    slots: Lldus<'t>,
    /// LLDUs of a trace that is read once after the last that was used, as far as they were looked at, and the number of those before them.
    ahead: VecDeque<Slot>,
    before: u64,
    packed: Packed,
    hop: Hop,
    /// Packets that are not in the courses, by arrival and line, with their lanes.
    arrivals: BTreeMap<(Time, u64), (u64, Visit)>,
    /// All that agree with the log.
    courses: Vec<Course>,
    /// Whether another course could have agreed with it, since the hop was last idle.
    is_open: bool,
    /// Whether that made the rest of the log impossible to follow.
    is_lost: bool,
}

impl<'t> OnTrace<'t> {
    /// At the first LLDU of the trace of a hop, with its key in the head, which the run may have repeated.
    pub(super) fn new(
        (key, reader): (&'static str, TraceReader<'t>),
        packed: Packed,
        hop: Hop,
        looped: bool,
    ) -> Result<Self> {
        Ok(Self {
            key,
            slots: Lldus::new(reader, looped, false)?,
            ahead: VecDeque::new(),
            before: 0,
            packed,
            hop,
            arrivals: BTreeMap::new(),
            courses: vec![Course::default()],
            is_open: false,
            is_lost: false,
        })
    }

    /// A packet arrives in a lane of the discipline.
    pub(super) fn visits(&mut self, visit: &Visit, lane: u64) {
        if !self.is_lost {
            let key = (visit.arrived, visit.row.line);
            self.arrivals.insert(key, (lane, *visit));
        }
    }

    /// Arrival of the first packet that the buffer does not know yet.
    pub(super) fn first(&self) -> Option<Time> {
        let courses = self.courses.iter().filter_map(Course::first);
        let arrivals = self.arrivals.first_key_value().map(|(key, _)| key.0);
        courses.chain(arrivals).min()
    }

    /// Replays the services that begin before a time, or all if it is `None`; `latest` is the last event of the log so far.
    pub(super) fn serve(
        &mut self,
        (before, latest): (Option<Time>, Time),
        (name, queue): (&'static str, &mut Queue),
        tally: &mut RuleTally,
    ) -> Result<()> {
        while let Some(first) = self.arrivals.first_entry()
            && before.is_none_or(|time| first.key().0 < time)
        {
            let (lane, visit) = first.remove();
            for course in &mut self.courses {
                course.arrives(lane, &visit, self.hop.is_drop_tail);
            }
        }
        let (mut going, mut reached) = (std::mem::take(&mut self.courses), Vec::new());
        let mut failure: Option<Failure> = None;
        while let Some(at) = furthest_behind(&going) {
            let course = going.swap_remove(at);
            match self.advance(course, (before, latest))? {
                Ok(None) => {}
                Ok(Some((next, is_there))) => {
                    let into = if is_there { &mut reached } else { &mut going };
                    for course in next {
                        self.follow(into, course);
                    }
                }
                Err(other) => {
                    let is_later = failure.as_ref().is_none_or(|it| it.turn <= other.turn);
                    failure = Some(other).filter(|_| is_later).or(failure);
                }
            }
            if going.is_empty()
                && reached.is_empty()
                && let Some(failure) = failure.take()
            {
                if self.is_open {
                    self.is_lost = true;
                    self.arrivals.clear();
                    // The buffer is not told what becomes of the packets that wait, nor of those to come.
                    let first = failure.course.first();
                    queue.set_unknown_from(first.unwrap_or(failure.turn));
                    let (_, _, line) = failure.place;
                    tally.recomputes_no_more(self.key, line);
                    break;
                }
                going.push(self.go_on_from(failure, (name, latest), tally));
            }
        }
        self.courses = reached;
        if let [course] = &mut self.courses[..] {
            settle(course, self.is_open, queue, tally);
            let is_idle = before.is_none_or(|before| course.position.free() < before);
            // Of packets without a time it remains open which were served when.
            let is_known = course.unfinished.is_empty();
            self.is_open &= !(course.lanes.is_empty() && is_idle && is_known);
        }
        self.forget();
        Ok(())
    }

    /// Follows another course, unless it is the same as one of those or there are too many.
    fn follow(&mut self, courses: &mut Vec<Course>, course: Course) {
        if let Some(same) = courses.iter_mut().find(|other| **other == course) {
            same.or(&course);
        } else if courses.len() < MOST {
            courses.push(course);
        } else {
            self.is_open = true;
        }
    }

    /// The courses after the next service of one, and whether they wait for more of the log.
    #[expect(clippy::type_complexity, reason = "used once")]
    fn advance(
        &mut self,
        mut course: Course,
        (before, latest): (Option<Time>, Time),
    ) -> Result<std::result::Result<Option<(Vec<Course>, bool)>, Failure>> {
        if course.ended {
            let Some((turn, place)) = course.unserved() else {
                course.drop_until(before.unwrap_or(Time::MAX), true);
                return Ok(Ok(Some((vec![course], true))));
            };
            return Ok(Err(Failure {
                course,
                turn,
                place,
                service: None,
                passed: None,
            }));
        }
        let turn = course.turn();
        let Some(turn) = turn.filter(|turn| before.is_none_or(|before| *turn < before)) else {
            return Ok(Ok(Some((vec![course], true))));
        };
        let (places, must) = course.next(self.hop.order, turn);
        let mut served = Vec::new();
        for &place in &places {
            let Some(visit) = course.visit(place) else {
                continue;
            };
            let service = self.service(course.position, visit.arrived, visit.row.size)?;
            served.push((place, visit, service));
        }
        let fits = |(_, visit, service): &&(Place, Visit, Option<Service>)| {
            fits(visit, *service, self.hop.loses, latest)
        };
        let fitting: Vec<_> = served.iter().filter(fits).copied().collect();
        let is_known = |visit: &Visit| visit.left.or(visit.gone).is_some();
        let is_only = fitting.len() == 1;
        // A packet that is lost in an LLDU of the time at which it arrives looks like one that was dropped then.
        let none_is_dropped = || self.hop.is_drop_tail && course.has_room(self.hop.capacity, turn);
        let must = must || !fitting.is_empty() && none_is_dropped();
        let any_known = fitting.iter().any(|(_, visit, _)| is_known(visit));
        let mut next = Vec::new();
        let mut sizes = BTreeSet::new();
        for (place, visit, service) in fitting {
            // One without a time fits to all that comes late: one of a size is followed, and none where another one fits.
            if !is_known(&visit) && (any_known || !sizes.insert(visit.row.size)) {
                self.is_open = true;
                continue;
            }
            if must && is_only {
                course.serve(place, service);
                return Ok(Ok(Some((vec![course], false))));
            }
            let mut after = course.clone();
            after.serve(place, service);
            next.push(after);
        }
        if !must {
            course.drop_until(turn, true);
            next.push(course);
        } else if next.is_empty() {
            return Ok(Err(self.failure(course, turn, &served)?));
        }
        Ok(Ok(Some((next, false))))
    }

    /// Why no packet of those that could be `served` fits: another one was served before them, or a time is wrong.
    fn failure(
        &mut self,
        course: Course,
        turn: Time,
        served: &[(Place, Visit, Option<Service>)],
    ) -> Result<Failure> {
        let mut others: Vec<(Place, Visit)> = Vec::new();
        for (&lane, waiting) in &course.lanes {
            let arrived = waiting.range(..=(turn, u64::MAX));
            others.extend(arrived.map(|(&(at, line), visit)| ((lane, at, line), *visit)));
        }
        for (place, visit) in others {
            let is_known = visit.left.or(visit.gone).is_some();
            if !is_known || served.iter().any(|(of, ..)| *of == place) {
                continue;
            }
            let service = self.service(course.position, visit.arrived, visit.row.size)?;
            if service.is_some() && fits(&visit, service, self.hop.loses, turn) {
                let in_lane = served.iter().find(|(of, ..)| of.0 == place.0);
                let passed = in_lane.or(served.first());
                let passed = passed.map(|(_, visit, _)| visit.row.line);
                return Ok(Failure {
                    course,
                    turn,
                    place,
                    service,
                    passed,
                });
            }
        }
        // Of several the first to leave, better not one that the queue may have dropped on arrival.
        let key = |(_, visit, _): &&(Place, Visit, Option<Service>)| {
            let ends = visit.left.or(visit.gone);
            let is_dropped = visit.gone == Some(visit.arrived);
            (ends.is_none(), is_dropped, ends, visit.row.line)
        };
        let wrong = served.iter().min_by_key(key);
        let (place, service) = wrong.map_or(((0, turn, 0), None), |(place, _, service)| {
            (*place, *service)
        });
        Ok(Failure {
            course,
            turn,
            place,
            service,
            passed: None,
        })
    }

    /// Reports a failure, and goes on as if it were none.
    fn go_on_from(
        &mut self,
        failure: Failure,
        (name, latest): (&str, Time),
        tally: &mut RuleTally,
    ) -> Course {
        let Failure {
            mut course,
            place,
            service,
            passed,
            ..
        } = failure;
        let Some(visit) = course.visit(place) else {
            return course;
        };
        if let Some(line) = passed {
            let at = visit.left.or(visit.gone).unwrap_or(Time::MAX);
            let scope = match self.hop.order {
                Order::Class => " of its class or a higher one",
                order => order.scope(),
            };
            let expected = format_args!("no service while line {line}{scope} waits");
            let mut fifo = tally.at(Rule::Fifo, visit.row.line);
            fifo.check(false, format_args!("{name} {at}"), expected);
        } else {
            report(&visit, service, (name, self.hop.loses, latest), tally);
        }
        course.serve(place, service);
        // It is reported.
        course
            .unfinished
            .retain(|(line, _)| *line != visit.row.line);
        course
    }

    /// Checks at the end of the log, whose last event is `latest`, what was under way then.
    pub(super) fn finish(
        &mut self,
        latest: Time,
        (name, queue): (&str, &mut Queue),
        tally: &mut RuleTally,
    ) {
        let is_right = |course: &&Course| course.unfinished.iter().all(|(_, at)| *at >= latest);
        // Any of those may be right.
        let mut courses = self.courses.clone();
        courses.iter_mut().for_each(Course::stays);
        let mut right = courses.iter().filter(is_right);
        let Some(mut course) = right.next().or(courses.first()).cloned() else {
            return;
        };
        right.for_each(|other| course.or(other));
        let is_open = self.is_open || self.courses.len() > 1;
        settle(&mut course, is_open, queue, tally);
        for (line, at) in &course.unfinished {
            let mut early = tally.at(Rule::Early, *line);
            let found = format_args!("no time, although the run lasted until {latest}");
            let expected = format_args!("{name} or gone at {at}");
            early.check(*at >= latest || self.is_open, found, expected);
        }
        self.courses = vec![Course::default()];
    }

    /// The next service from a position, if it is of a packet of `size` bytes that arrived then; `None` if the trace ends before.
    fn service(&mut self, from: Position, arrived: Time, size: u64) -> Result<Option<Service>> {
        let (need, room) = self.packed.need(size);
        if need / room > LONGEST {
            return Ok(None);
        }
        let rest = from
            .latest
            .filter(|_| from.filled < room && arrived <= from.free());
        let (mut lldus, mut left) = (from.lldus, need);
        let (mut latest, mut arrival) = (rest, Some(Time::ZERO));
        if let Some(slot) = rest {
            arrival = slot.arrival();
            left = need.saturating_sub(room - from.filled);
        } else {
            lldus = lldus.max(self.slots.first_from(arrived));
            while self
                .look_at(lldus)?
                .is_some_and(|slot| slot.tx_time() < arrived)
            {
                lldus += 1;
            }
        }
        while left > 0 {
            let Some(slot) = self.look_at(lldus)? else {
                return Ok(None);
            };
            arrival = arrival.zip(slot.arrival()).map(|(a, b)| a.max(b));
            latest = Some(slot);
            left = left.saturating_sub(room);
            lldus += 1;
        }
        let begun = rest.map_or(0, |_| from.filled);
        let filled = (begun + need - 1) % room + 1;
        Ok(latest.map(|slot| Service {
            end: slot.tx_time(),
            arrival,
            after: Position {
                lldus,
                latest,
                filled,
            },
        }))
    }

    /// The LLDU of this number, from 0, which no course has used.
    fn look_at(&mut self, number: u64) -> Result<Option<Slot>> {
        if let Some(slots) = self.slots.repeated() {
            return Ok(slots.get(number));
        }
        let place = usize::try_from(number - self.before).unwrap_or(usize::MAX);
        while self.ahead.len() <= place {
            let Some(slot) = self.slots.next()? else {
                return Ok(None);
            };
            self.ahead.push_back(slot);
        }
        Ok(self.ahead.get(place).copied())
    }

    /// Forgets the LLDUs that all courses have used.
    fn forget(&mut self) {
        let used = self
            .courses
            .iter()
            .map(|course| course.position.lldus)
            .min();
        let unused = usize::try_from(used.unwrap_or(self.before) - self.before);
        let unused = unused.unwrap_or(usize::MAX).min(self.ahead.len());
        self.ahead.drain(..unused);
        self.before += unused as u64;
    }
}

/// The course with the fewest services.
fn furthest_behind(courses: &[Course]) -> Option<usize> {
    let key = |at: &usize| {
        let position = courses[*at].position;
        (position.lldus, position.filled)
    };
    (0..courses.len()).min_by_key(key)
}

/// Tells the buffer what became of packets, and counts them as checked. If other courses are possible, what the buffer holds is not known
/// from the first packet on of which the log says nothing.
fn settle(course: &mut Course, is_open: bool, queue: &mut Queue, tally: &mut RuleTally) {
    for Done {
        visit,
        is_served,
        leaves,
    } in course.done.drain(..)
    {
        let is_dropped = !is_served && visit.gone == Some(visit.arrived);
        if is_open && visit.left.or(visit.gone).is_none() {
            queue.set_unknown_from(visit.arrived);
        }
        queue.arrives(&visit.row, visit.arrived, is_dropped, leaves);
        tally.at(Rule::Early, visit.row.line).check(true, "", "");
    }
}

/// Whether the log says of a packet what follows from this service, in a log whose last event so far is `latest`.
fn fits(visit: &Visit, service: Option<Service>, loses: bool, latest: Time) -> bool {
    let Some(service) = service else {
        return visit.left.is_none() && visit.gone.is_none() && !visit.is_gone;
    };
    let may_be_lost = loses || service.arrival.is_none();
    match (visit.left, visit.gone) {
        (Some(left), _) => service.arrival == Some(left),
        (None, Some(gone)) => may_be_lost && gone == service.end,
        (None, None) => ends(visit, service) >= latest && (may_be_lost || !visit.is_gone),
    }
}

/// Reports a packet whose row follows from no course. `service` is what it would get.
fn report(
    visit: &Visit,
    service: Option<Service>,
    (name, loses, latest): (&str, bool, Time),
    tally: &mut RuleTally,
) {
    let mut early = tally.at(Rule::Early, visit.row.line);
    match (visit.left, visit.gone, service) {
        (Some(left), _, None) => {
            let found = format_args!("{name} {left}");
            early.check(false, found, "no time, as the trace ends before");
        }
        (Some(left), _, Some(service)) => {
            if let Some(arrival) = service.arrival {
                early.exactly(name, left, arrival, ", by its LLDUs");
            } else {
                let found = format_args!("{name} {left}");
                early.check(false, found, "none, as one of its LLDUs is lost");
            }
        }
        (None, None, Some(service)) if !visit.is_gone => {
            let found = format_args!("no time, although the run lasted until {latest}");
            let expected = format_args!("{name} or gone at {}", ends(visit, service));
            early.check(false, found, expected);
        }
        (None, gone, service) => {
            let ends = service.map_or(Time::MAX, |service| service.end);
            let arrived = visit.arrived;
            let found = gone.map_or_else(|| "a loss".to_owned(), |gone| format!("gone {gone}"));
            let is_lost = loses || service.is_some_and(|service| service.arrival.is_none());
            let expected = if is_lost {
                format!("{arrived}, a drop on arrival, or {ends}, by its LLDUs")
            } else {
                format!("{arrived}, a drop on arrival, as all of its LLDUs arrive")
            };
            early.check(false, found, expected);
        }
    }
}

//! Services of a hop that follows a trace, recomputed from its LLDUs.
//!
//! A discipline that serves in the order of arrival takes for each packet the first LLDUs that are free when it is at the head of the
//! queue, so that service and departure of each follow from the packets that were served before. Which packets a discipline other than
//! drop-tail drops while they wait is taken from the log. Where packets have several sizes nothing is recomputed: a log has no order
//! of those that arrive at one time. Where packets of several flows do, and more than one of them could be the first, the log is followed as
//! far as it agrees.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use tmt_core::Result;
use tmt_core::format::TraceReader;
use tmt_core::types::{Slot, Time};

use super::Visit;
use crate::audit::head::Packed;
use crate::audit::queue::Queue;
use crate::audit::report::{Rule, RuleTally};
use crate::audit::timeline::slots;

/// Most positions that are followed.
const MOST: usize = 64;

/// The last LLDU that was used: how many there are up to it, and how much of it was used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Position {
    lldus: u64,
    latest: Option<Slot>,
    filled: u64,
}

/// LLDUs of the next service.
#[derive(Debug, Clone, Copy)]
struct Service {
    end: Time,
    /// Time at which all are decoded; `None` if one is lost.
    arrival: Option<Time>,
    after: Position,
}

/// The LLDUs of a trace and the packets that wait for them.
pub(super) struct OnTrace<'t> {
    slots: Box<dyn Iterator<Item = Result<Slot>> + 't>,
    /// LLDUs after the last that was used, as far as they were looked at, and the number of those before them.
    ahead: VecDeque<Slot>,
    before: u64,
    /// Positions that agree with the log: a packet that is gone at the end of what would be its service was lost then, or dropped.
    positions: Vec<Position>,
    packed: Packed,
    /// Packets that have arrived and are not replayed, by arrival and line.
    waiting: BTreeMap<(Time, u64), Visit>,
    /// Lines of the packets that were there at the end of the run, and when they should have left or been lost.
    unfinished: Vec<(u64, Time)>,
    /// Whether several packets that arrived together could have been first, since the hop was last idle.
    is_open: bool,
    /// Whether that made the rest of the log impossible to follow.
    is_lost: bool,
}

impl<'t> OnTrace<'t> {
    pub(super) fn new(reader: TraceReader<'t>, packed: Packed) -> Result<Self> {
        Ok(Self {
            slots: slots(reader)?,
            ahead: VecDeque::new(),
            before: 0,
            positions: vec![Position::default()],
            packed,
            waiting: BTreeMap::new(),
            unfinished: Vec::new(),
            is_open: false,
            is_lost: false,
        })
    }

    pub(super) fn visits(&mut self, visit: &Visit) {
        if self.is_lost {
            return;
        }
        self.waiting.insert((visit.arrived, visit.row.line), *visit);
    }

    /// Replays the arrivals before a time, or all if it is `None`, of a hop that is drop-tail or not and that may lose packets besides.
    pub(super) fn serve(
        &mut self,
        before: Option<Time>,
        (is_drop_tail, loses): (bool, bool),
        (name, queue): (&'static str, &mut Queue),
        tally: &mut RuleTally,
    ) -> Result<()> {
        while let Some((&first, _)) = self.waiting.first_key_value()
            && before.is_none_or(|time| first.0 < time)
        {
            let busy = |at: &Position| at.latest.is_some_and(|slot| slot.tx_time() >= first.0);
            self.is_open &= self.positions.iter().any(busy);
            let key = self.first_of(first, loses)?;
            let Some(visit) = self.waiting.remove(&key) else {
                return Ok(());
            };
            let Visit {
                row, arrived, gone, ..
            } = visit;
            let services = self.services(arrived, row.size)?;
            let fitting = services
                .iter()
                .filter(|service| fits(&visit, **service, loses));
            let mut after: Vec<Position> = fitting.flatten().map(|service| service.after).collect();
            let may_be_dropped = gone.is_some() && (!is_drop_tail || gone == Some(arrived));
            if may_be_dropped {
                after.extend(&self.positions);
            }
            let service = services
                .iter()
                .find(|service| fits(&visit, **service, loses));
            let service = service.or(services.first()).copied().flatten();
            let agrees = services.iter().any(|service| fits(&visit, *service, loses));
            if !agrees && !may_be_dropped {
                if self.is_open {
                    self.is_lost = true;
                    self.waiting.clear();
                    self.unfinished.clear();
                    return Ok(());
                }
                Self::report(&visit, service, (name, loses), tally);
                after.extend(service.map(|service| service.after));
            } else {
                tally.at(Rule::Early, row.line).check(true, "", "");
            }
            let is_unfinished = visit.left.is_none() && gone.is_none();
            if is_unfinished && !self.is_open {
                // By the position from which it takes longest.
                let at = services.iter().map(|service| {
                    let service = (*service)?;
                    let arrival = service.arrival.filter(|_| !visit.is_gone);
                    Some(arrival.unwrap_or(service.end))
                });
                let latest = at.map(|at| at.unwrap_or(Time::MAX)).max();
                self.unfinished.extend(latest.map(|at| (row.line, at)));
            }
            let leaves = gone.or(service.map(|service| service.end));
            queue.arrives(&row, arrived, gone == Some(arrived), leaves);
            self.go_on(after);
        }
        Ok(())
    }

    /// Reports a packet whose row follows from no position. `service` is what it would get.
    fn report(
        visit: &Visit,
        service: Option<Service>,
        (name, loses): (&str, bool),
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

    /// The packet to replay next among those that arrive with the first. A log has no order of what arrives at one time: it is one that
    /// fits, of several the first to leave, better not one that the queue may have dropped on arrival, and last one that never left.
    fn first_of(&mut self, first: (Time, u64), loses: bool) -> Result<(Time, u64)> {
        let arrived = first.0;
        let tied = self.waiting.range(first..=(arrived, u64::MAX));
        let tied: Vec<Visit> = tied.map(|(_, visit)| *visit).collect();
        if tied.len() == 1 {
            return Ok(first);
        }
        let (mut found, mut flows, mut fitting) = (None, BTreeSet::new(), 0);
        for visit in tied {
            // Those of one flow arrive in the order of sending.
            if !flows.insert(visit.row.flow) {
                continue;
            }
            let ends = visit.left.or(visit.gone);
            let line = visit.row.line;
            let is_dropped = visit.gone == Some(arrived);
            let key = (ends.is_none(), is_dropped, ends.unwrap_or(Time::MAX), line);
            let services = self.services(arrived, visit.row.size)?;
            let fits = services.iter().any(|service| fits(&visit, *service, loses));
            fitting += u32::from(fits);
            if fits && found.is_none_or(|least| key < least) {
                found = Some(key);
            }
        }
        self.is_open |= fitting > 1;
        Ok(found.map_or(first, |(.., line)| (arrived, line)))
    }

    /// Checks at the end of the log, whose last event is `latest`, what was under way then.
    pub(super) fn finish(&self, latest: Time, name: &str, tally: &mut RuleTally) {
        for (line, at) in &self.unfinished {
            let found = format_args!("no time, although the run lasted until {latest}");
            let expected = format_args!("{name} or gone at {at}");
            let mut early = tally.at(Rule::Early, *line);
            early.check(*at >= latest, found, expected);
        }
    }

    /// From each position the next service, if it is of a packet of `size` bytes that arrived then; `None` if the trace ends before.
    fn services(&mut self, arrived: Time, size: u64) -> Result<Vec<Option<Service>>> {
        let positions = self.positions.clone();
        let services = positions
            .into_iter()
            .map(|position| self.next(position, arrived, size));
        services.collect()
    }

    fn next(&mut self, from: Position, arrived: Time, size: u64) -> Result<Option<Service>> {
        let (need, room) = self.packed.need(size);
        let free = from.latest.map_or(Time::ZERO, |slot| slot.tx_time());
        let rest = from
            .latest
            .filter(|_| from.filled < room && arrived <= free);
        let (mut lldus, mut left) = (from.lldus, need);
        let (mut latest, mut arrival) = (rest, Some(Time::ZERO));
        if let Some(slot) = rest {
            arrival = slot.arrival();
            left = need.saturating_sub(room - from.filled);
        } else {
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

    /// The LLDU of this number, from 0, which no position has used.
    fn look_at(&mut self, number: u64) -> Result<Option<Slot>> {
        let place = usize::try_from(number - self.before).unwrap_or(usize::MAX);
        while self.ahead.len() <= place {
            let Some(slot) = self.slots.next().transpose()? else {
                return Ok(None);
            };
            self.ahead.push_back(slot);
        }
        Ok(self.ahead.get(place).copied())
    }

    /// Goes on from these positions, or from where it was if there are none.
    fn go_on(&mut self, positions: Vec<Position>) {
        let mut distinct: Vec<Position> = Vec::new();
        for position in positions {
            if distinct.len() < MOST && !distinct.contains(&position) {
                distinct.push(position);
            }
        }
        if !distinct.is_empty() {
            self.positions = distinct;
        }
        let used = self.positions.iter().map(|position| position.lldus).min();
        let unused = usize::try_from(used.unwrap_or(0) - self.before).unwrap_or(usize::MAX);
        let unused = unused.min(self.ahead.len());
        self.ahead.drain(..unused);
        self.before += unused as u64;
    }
}

/// Whether the log says of a packet what follows from this service.
fn fits(visit: &Visit, service: Option<Service>, loses: bool) -> bool {
    let Some(service) = service else {
        return visit.left.is_none() && visit.gone.is_none();
    };
    if let Some(gone) = visit.gone {
        return (loses || service.arrival.is_none()) && gone == service.end;
    }
    visit.left.is_none_or(|left| service.arrival == Some(left))
}

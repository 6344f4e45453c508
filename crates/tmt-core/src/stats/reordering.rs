//! How much a link reorders the LLDUs that it delivers (docs/schemes.md, Sec. 8).
//!
//! LLDU i, delivered at A_i, is reordered if an LLDU that was sent later was delivered earlier: A_j < A_i for some
//! j > i. LLDUs are compared in pieces whose arrivals ascend: no LLDU of a piece overtakes another one of it.

use std::ops::Range;

use crate::types::{Lldu, Span, Time};

/// Reordering of the LLDUs of a timeline, counted as they are passed in the order of their numbers.
///
/// Memory is bounded by the LLDUs that are in transit at the same time.
#[derive(Debug, Clone, Default)]
pub(super) struct Reordering {
    /// LLDUs that a later one was delivered before.
    pub(super) reordered: u64,
    /// Largest j − i, of an LLDU i and a later LLDU j that was delivered before it.
    pub(super) most_lldus: u64,
    /// Largest A_i − A_j of such a pair.
    pub(super) most: Span,
    /// Latest arrival so far.
    latest: Time,
    /// Number of the next LLDU.
    next: u64,
    /// Delivered LLDUs that no later one has overtaken, and that one still may: their arrivals ascend.
    in_order: Kept,
    /// Delivered LLDUs that arrived later than all before them, and that a later one may still overtake.
    records: Kept,
}

/// LLDUs kept from one slice to the next: numbers of the first ones of the pieces, and the lengths of the pieces. Arrivals ascend
/// from piece to piece.
#[derive(Debug, Clone, Default)]
struct Kept {
    pieces: Vec<(u64, usize)>,
    /// The LLDUs of all pieces, from `from` on. Those before it leave when they are more than half, so that an LLDU is moved once
    /// on average even if slices are short.
    lldus: Vec<Lldu>,
    from: usize,
}

/// What stays of the pieces kept and of those of a slice.
#[derive(Debug, Default)]
struct Staying {
    pieces: Vec<(u64, usize)>,
    /// LLDUs that have been kept, and those of the slice.
    kept: Range<usize>,
    new: Vec<Range<usize>>,
}

/// Delivered LLDUs of successive numbers whose arrivals ascend; at least one.
#[derive(Debug, Clone, Copy)]
struct Piece<'a> {
    /// Number of the first one.
    number: u64,
    lldus: &'a [Lldu],
}

/// Time at which a delivered LLDU arrives, propagation excluded.
fn arrival(lldu: &Lldu) -> Time {
    lldu.tx_time.saturating_add(lldu.decode_delay)
}

impl Piece<'_> {
    fn last_arrival(&self) -> Time {
        self.lldus.last().map_or(Time::ZERO, arrival)
    }

    /// Number of the last LLDU.
    fn last(&self) -> u64 {
        self.number + self.lldus.len() as u64 - 1
    }

    /// How many arrive at `time` or before.
    fn up_to(&self, time: Time) -> usize {
        self.lldus.partition_point(|lldu| arrival(lldu) <= time)
    }

    /// The LLDUs that arrive after `time`; `None` if absent.
    fn after(&self, time: Time) -> Option<Self> {
        let from = self.up_to(time);
        let lldus = &self.lldus[from..];
        (!lldus.is_empty()).then(|| Self {
            number: self.number + from as u64,
            lldus,
        })
    }
}

impl Kept {
    fn pieces(&self) -> Vec<Piece<'_>> {
        let mut rest = &self.lldus[self.from..];
        let piece = |&(number, length): &(u64, usize)| {
            let (lldus, after) = rest.split_at(length);
            rest = after;
            Piece { number, lldus }
        };
        self.pieces.iter().map(piece).collect()
    }

    /// What of `pieces` arrives after `time`: first pieces of these from number `skipped` on, then pieces of the slice whose first
    /// LLDU has number `next`.
    fn staying(&self, pieces: &[Piece<'_>], skipped: usize, next: u64, time: Time) -> Staying {
        let mut staying = Staying::default();
        let (before, lengths) = self.pieces.split_at(skipped.min(self.pieces.len()));
        let mut at = self.from + before.iter().map(|piece| piece.1).sum::<usize>();
        let mut lengths = lengths.iter().map(|piece| piece.1);
        let index = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        for piece in pieces {
            let is_kept = piece.number < next;
            let start = at;
            at += lengths.next().filter(|_| is_kept).unwrap_or(0);
            let Some(rest) = piece.after(time) else {
                continue;
            };
            let length = rest.lldus.len();
            // Arrivals ascend from piece to piece, so that two without a gap are one.
            match staying.pieces.last_mut() {
                Some(last) if last.0 + last.1 as u64 == rest.number => last.1 += length,
                _ => staying.pieces.push((rest.number, length)),
            }
            if is_kept {
                let from = start + index(rest.number - piece.number);
                if staying.kept.is_empty() {
                    staying.kept.start = from;
                }
                staying.kept.end = from + length;
            } else {
                let from = index(rest.number - next);
                staying.new.push(from..from + length);
            }
        }
        staying
    }

    /// Keeps what stays of these and of the LLDUs of a slice.
    fn keep(&mut self, staying: Staying, slice: &[Lldu]) {
        self.pieces = staying.pieces;
        self.lldus.truncate(staying.kept.end);
        self.from = staying.kept.start;
        if self.from > self.lldus.len() / 2 {
            self.lldus.drain(..self.from);
            self.from = 0;
        }
        for range in staying.new {
            self.lldus.extend_from_slice(&slice[range]);
        }
    }
}

impl Reordering {
    /// Adds the next LLDUs, in number order. `ascending` are the ranges of delivered ones in which arrivals ascend; none
    /// is empty.
    pub(super) fn add(&mut self, lldus: &[Lldu], ascending: &[Range<usize>]) {
        let Some(last) = lldus.last() else {
            return;
        };
        let [mut in_order, mut records] = [&self.in_order, &self.records].map(Kept::pieces);
        // Records that nothing sent from now on can overtake.
        let mut past = 0;
        for range in ascending {
            let piece = Piece {
                number: self.next + range.start as u64,
                lldus: &lldus[range.clone()],
            };
            let Some(head) = piece.lldus.first() else {
                continue;
            };
            let (sent, first) = (head.tx_time, arrival(head));
            let is_past = |record: &Piece<'_>| record.last_arrival() <= sent;
            past += records[past..]
                .iter()
                .take_while(|record| is_past(record))
                .count();
            if first < self.latest {
                self.reordered += overtake(&mut in_order, first);
                self.most = self.most.max(self.latest.since(first));
                self.most_lldus = furthest(&records[past..], &piece, self.most_lldus);
            }
            in_order.push(piece);
            if let Some(ahead) = piece.after(self.latest) {
                records.push(ahead);
                self.latest = ahead.last_arrival();
            }
        }
        let (next, now) = (self.next, last.tx_time);
        let in_order = self.in_order.staying(&in_order, 0, next, now);
        let records = self.records.staying(&records[past..], past, next, now);
        self.in_order.keep(in_order, lldus);
        self.records.keep(records, lldus);
        self.next += lldus.len() as u64;
    }
}

/// Removes what arrives after `first` from pieces whose arrivals ascend; returns how many LLDUs that are.
fn overtake(in_order: &mut Vec<Piece<'_>>, first: Time) -> u64 {
    let mut overtaken = 0;
    while let Some(piece) = in_order.last_mut() {
        let stays = piece.up_to(first);
        overtaken += (piece.lldus.len() - stays) as u64;
        if stays > 0 {
            piece.lldus = &piece.lldus[..stays];
            break;
        }
        in_order.pop();
    }
    overtaken
}

/// The largest j − i of an LLDU i of `records` and an LLDU j of `piece` that arrives before it, or `most` if that is more.
fn furthest(records: &[Piece<'_>], piece: &Piece<'_>, mut most: u64) -> u64 {
    let Some(first) = piece.lldus.first().map(arrival) else {
        return most;
    };
    // Arrivals ascend from record to record.
    let arrived = records.partition_point(|record| record.last_arrival() <= first);
    for record in &records[arrived..] {
        // Numbers ascend: the records that follow are nearer.
        if piece.last() - record.number <= most {
            break;
        }
        let Some(overtaken) = record.after(first) else {
            continue;
        };
        for (i, lldu) in (overtaken.number..).zip(overtaken.lldus) {
            let at = arrival(lldu);
            let before = piece.lldus.partition_point(|later| arrival(later) < at);
            most = most.max(piece.number + before as u64 - 1 - i);
            if before == piece.lldus.len() {
                return most;
            }
            if piece.last() - i <= most {
                break;
            }
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stats::LlduTally;
    use crate::types::Fate;

    fn lldu(tx_time: u64, delay: u64) -> Lldu {
        Lldu {
            tx_time: Time::from_nanos(tx_time).unwrap(),
            decode_delay: Span::from_nanos(delay).unwrap(),
            attempts: 1,
            fate: if delay == 0 {
                Fate::Lost
            } else {
                Fate::Delivered
            },
        }
    }

    /// The definition, over all pairs.
    fn pairs(lldus: &[Lldu]) -> (u64, u64, u64) {
        let arrived = |lldu: &Lldu| lldu.tx_time.as_nanos() + lldu.decode_delay.as_nanos();
        let (mut reordered, mut lldus_most, mut most) = (0, 0, 0);
        for (i, one) in lldus.iter().enumerate() {
            let mut overtaken = false;
            for (j, later) in lldus.iter().enumerate().skip(i + 1) {
                let both = [one, later].iter().all(|lldu| lldu.fate == Fate::Delivered);
                if both && arrived(later) < arrived(one) {
                    overtaken = true;
                    lldus_most = lldus_most.max((j - i) as u64);
                    most = most.max(arrived(one) - arrived(later));
                }
            }
            reordered += u64::from(overtaken);
        }
        (reordered, lldus_most, most)
    }

    fn tallied(lldus: &[Lldu], slices: &[usize]) -> (u64, u64, u64) {
        let mut tally = LlduTally::default();
        let mut rest = lldus;
        for slice in slices.iter().cycle() {
            let (now, later) = rest.split_at((*slice).min(rest.len()));
            tally.lldus(now);
            rest = later;
            if rest.is_empty() {
                break;
            }
        }
        let Reordering {
            reordered,
            most_lldus,
            most,
            ..
        } = tally.reordering;
        (reordered, most_lldus, most.as_nanos())
    }

    #[test]
    fn a_repeat_is_overtaken_by_all_that_arrive_before_it() {
        // Delays of 10, and LLDU 1 arrives at 36: before it LLDUs 2 (at 12), 3 (13), 4 (30); LLDU 5 at the same time.
        let lldus = [
            (0, 10),
            (1, 35),
            (2, 10),
            (3, 10),
            (20, 10),
            (26, 10),
            (40, 0),
            (41, 10),
        ];
        let lldus = lldus.map(|(tx_time, delay)| lldu(tx_time, delay));
        assert_eq!(pairs(&lldus), (1, 3, 24));
        assert_eq!(tallied(&lldus, &[100]), (1, 3, 24));
    }

    #[test]
    fn what_can_no_longer_be_overtaken_is_not_kept() {
        let mut tally = LlduTally::default();
        for batch in 0..200 {
            let numbers = batch * 100..(batch + 1) * 100;
            let delay = |n: u64| if n.is_multiple_of(10) { 50 } else { 7 };
            let lldus: Vec<Lldu> = numbers.map(|n| lldu(n, delay(n))).collect();
            tally.lldus(&lldus);
            let kept = [&tally.reordering.in_order, &tally.reordering.records];
            assert!(kept.iter().all(|kept| kept.lldus.len() - kept.from <= 50));
            assert!(kept.iter().all(|kept| kept.lldus.len() <= 100));
        }
        assert_eq!(tally.reordering.reordered, 2000);
    }

    #[test]
    fn records_that_arrived_before_are_not_looked_at_one_by_one() {
        // All are sent at once and arrive 10, 9, 20, 19, 30, 29, …: every other one is a record, and all but the last
        // arrived before the next. A look at each of them would take hours.
        let lldus =
            (1..=1_000_000_u64).flat_map(|tens| [lldu(0, 10 * tens), lldu(0, 10 * tens - 1)]);
        let lldus: Vec<Lldu> = lldus.collect();
        assert_eq!(pairs(&lldus[..200]), (100, 1, 1));
        assert_eq!(tallied(&lldus, &[lldus.len()]), (1_000_000, 1, 1));
    }

    proptest! {
        #[test]
        fn counts_are_those_of_all_pairs(
            steps in prop::collection::vec((0u64..4, prop_oneof![3 => Just(9u64), 1 => Just(0), 2 => 1u64..60]), 1..120),
            mut slices in prop::collection::vec(0usize..40, 1..5),
        ) {
            slices.push(7);
            let mut now = 0;
            let lldus: Vec<Lldu> = steps
                .into_iter()
                .map(|(step, delay)| {
                    now += step;
                    lldu(now, delay)
                })
                .collect();
            prop_assert_eq!(tallied(&lldus, &slices), pairs(&lldus));
        }
    }
}

//! The engine driven by a packet queue (docs/schemes.md, Sec. 10). Under a permanent backlog it returns the rows of
//! [`SchemeRunner`]. If the queue runs empty, no LLDU is lost, duplicated or reordered.

use std::collections::VecDeque;

use crate::oracle::random::{self, Link};
use crate::oracle::{self, Code, Rule, TimeAndDelay};
use proptest::prelude::*;
use test_support::cases;
use tmt_core::channel::Channel;
use tmt_core::format::text::encode;
use tmt_core::scheme::engine::{
    Code as Decoder, Engine, Saturated, Sent, Settled, UnitCounts, UnitKind, UnitSink, UnitSource,
};
use tmt_core::scheme::runner::SchemeRunner;
use tmt_core::types::{Fate, Lldu, Slot, Span, Time};

pub(crate) fn slot((t, d): TimeAndDelay) -> Slot {
    Slot::new(Time::from_nanos(t).unwrap(), Span::from_nanos(d).unwrap()).unwrap()
}

pub(crate) fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap()
}

fn engine(scheme: &str, link: &Link) -> Engine {
    Engine::new(scheme.parse().unwrap(), span(link.rtt), span(link.feedback))
}

/// A packet, divided into LLDUs.
#[derive(Debug)]
struct Packet {
    arrives: u64,
    lldus: u32,
}

/// A first-in first-out queue of packets. A codeword may contain the end of one packet and the start of the next, but only
/// packets that have arrived.
#[derive(Debug, Default)]
pub(crate) struct Queue {
    packets: VecDeque<Packet>,
    /// If set, a packet of this many LLDUs arrives whenever the queue is shorter than a codeword.
    refill: Option<u32>,
    joined: u64,
    taken: u64,
}

impl Queue {
    fn arrived(&self, now: u64) -> u64 {
        let here = self
            .packets
            .iter()
            .take_while(|packet| packet.arrives <= now);
        here.map(|packet| u64::from(packet.lldus)).sum()
    }
}

impl UnitSource for Queue {
    fn next_codewords(&mut self, now: Time, most: u32) -> Option<(u32, u32)> {
        let now = now.as_nanos();
        while let Some(lldus) = self.refill
            && self.arrived(now) < u64::from(most)
        {
            self.packets.push_back(Packet {
                arrives: now,
                lldus,
            });
            self.joined += u64::from(lldus);
        }
        let arrived = u32::try_from(self.arrived(now)).unwrap();
        (arrived > 0).then_some(((arrived / most).max(1), arrived.min(most)))
    }

    fn take(&mut self, codewords: u32, data_units: u32) {
        let mut left = codewords * data_units;
        self.taken += u64::from(left);
        while left > 0 {
            let packet = self.packets.front_mut().unwrap();
            let part = packet.lldus.min(left);
            packet.lldus -= part;
            left -= part;
            if packet.lldus == 0 {
                self.packets.pop_front();
            }
        }
    }
}

/// Everything that the engine reports.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) rows: Vec<Lldu>,
    pub(crate) sent: Vec<Sent>,
    /// Slots before the slice that is taken.
    slots: usize,
    pub(crate) received: Vec<usize>,
    pub(crate) settled: Vec<Settled>,
    pub(crate) lost: Vec<(u64, usize)>,
}

impl<S> UnitSink<S> for Record {
    fn lldus(&mut self) -> Option<&mut Vec<Lldu>> {
        Some(&mut self.rows)
    }

    fn sent(&mut self, _: &mut S, sent: &Sent) {
        let slots = sent.slots.start + self.slots..sent.slots.end + self.slots;
        self.sent.push(Sent {
            slots,
            ..sent.clone()
        });
    }

    fn received(&mut self, _: &mut S, slots: std::ops::Range<usize>) {
        self.received.extend(slots.map(|slot| slot + self.slots));
    }

    fn settled(&mut self, _: &mut S, settled: &Settled) {
        self.settled.push(Settled {
            slot: settled.slot + self.slots,
            ..settled.clone()
        });
    }

    fn lost(&mut self, _: &mut S, codeword: u64, slot: usize) -> std::ops::Range<u64> {
        self.lost.push((codeword, slot + self.slots));
        codeword..codeword
    }
}

/// Drives an engine over the link in slices of these lengths in turn. Slots that it leaves are idle. Returns what it
/// reports, and the number of slots used.
pub(crate) fn record<C: Decoder>(
    mut engine: Engine<C>,
    link: &Link,
    source: &mut impl UnitSource,
    lengths: &[usize],
) -> (Record, usize) {
    let slots: Vec<Slot> = link.trace.iter().copied().map(slot).collect();
    let (mut record, mut lengths, mut used) = (Record::default(), lengths.iter().cycle(), 0);
    while record.slots < slots.len() {
        let rest = &slots[record.slots..];
        let slice = &rest[..rest.len().min(*lengths.next().unwrap())];
        let taken = engine.advance(slice, source, &mut record).unwrap();
        used += taken;
        // The slot that nothing was sent in.
        record.slots += slice.len().min(taken + 1);
    }
    engine.finish(slots.last().unwrap().tx_time(), &mut record.rows);
    (record, used)
}

/// Drives the engine over the link. Returns what each slot carried, and the rows.
fn drive(
    code: &Code,
    link: &Link,
    source: &mut impl UnitSource,
) -> (Vec<Option<UnitKind>>, Vec<Lldu>) {
    let (record, used) = record(engine(&code.text, link), link, source, &[1]);
    let units = units(&record, link.trace.len());
    assert_eq!(units.iter().flatten().count(), used);
    let kinds = units.into_iter().map(|unit| Some(unit?.1));
    (kinds.collect(), record.rows)
}

/// Codeword and kind of the unit in each slot, from a record in which nothing but single slots is interleaved.
fn units(record: &Record, slots: usize) -> Vec<Option<(u64, UnitKind)>> {
    let mut carried = vec![None; slots];
    for sent in &record.sent {
        assert_eq!(sent.each().count(), sent.slots.len(), "{sent:?}");
        for (slot, unit) in sent.slots.clone().zip(sent.each()) {
            assert_eq!(carried[slot].replace(unit), None);
        }
    }
    carried
}

fn encoded(rows: &[Lldu]) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        encode::lldu(row, &mut out);
    }
    out
}

/// Units carried by each slot in the model.
pub(crate) fn carried(slots: usize, history: &oracle::History) -> Vec<Option<UnitKind>> {
    let mut carried = vec![None; slots];
    for unit in &history.sent {
        carried[unit.slot] = Some(match unit.kind {
            oracle::Kind::Data => UnitKind::Data,
            oracle::Kind::Repair => UnitKind::Repair,
            oracle::Kind::Repeat => UnitKind::Repeat,
        });
    }
    carried
}

pub(crate) fn packets(link: &Link, gaps_and_sizes: &[(u64, u32)]) -> Vec<(u64, u32)> {
    let mut arrives = link.trace[0].0;
    let mut packets = Vec::new();
    for &(gap, lldus) in gaps_and_sizes {
        arrives += gap;
        packets.push((arrives, lldus));
    }
    packets
}

pub(crate) fn queue(packets: &[(u64, u32)]) -> Queue {
    let packets = packets
        .iter()
        .map(|&(arrives, lldus)| Packet { arrives, lldus })
        .collect();
    Queue {
        packets,
        ..Queue::default()
    }
}

/// Packets that arrive in bursts and leave the link idle in between.
pub(crate) fn arrivals() -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![2 => Just(0), 4 => 1u64..200, 2 => 200u64..4_000];
    prop::collection::vec((gap, prop_oneof![3 => 1u32..8, 1 => 8u32..60]), 0..30)
}

/// Super-blocks for the model from a queue: as many codewords as there is data for, the last one short.
pub(crate) fn supply<'a>(
    code: &'a Code,
    packets: &'a [(u64, u32)],
) -> impl FnMut(u64) -> Vec<u32> + 'a {
    let mut taken = 0;
    move |now| {
        let here: u32 = packets
            .iter()
            .filter(|packet| packet.0 <= now)
            .map(|packet| packet.1)
            .sum();
        let mut block = Vec::new();
        for _ in 0..code.interleave {
            let codeword = code.nd.min(here - taken);
            if codeword > 0 {
                block.push(codeword);
            }
            taken += codeword;
        }
        block
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn a_permanent_backlog_gives_the_rows_of_the_runner(
        code in random::code(), link in random::link(400), lldus in 1u32..2_000,
    ) {
        let mut queue = Queue { refill: Some(lldus), ..Queue::default() };
        let (carried, rows) = drive(&code, &link, &mut queue);
        let mut runner = SchemeRunner::new(code.text.parse().unwrap(), span(link.rtt), span(link.feedback));
        let mut walked = Vec::new();
        let slots: Vec<Slot> = link.trace.iter().copied().map(slot).collect();
        runner.push_slots(&slots, &mut walked).unwrap();
        runner.finish(&mut walked);
        prop_assert_eq!(runner.unit_counts(), counts(&carried));
        prop_assert!(carried.iter().all(Option::is_some), "a slot was idle under a backlog");
        prop_assert_eq!(encoded(&rows), encoded(&walked));
        prop_assert_eq!(rows, walked);
        prop_assert!(queue.joined >= queue.taken);
    }

    #[test]
    fn slices_and_single_slots_give_the_same_result(
        code in random::code(), link in random::link(400), steps in prop::collection::vec((0usize..50, 0usize..5), 1..9),
    ) {
        // The engine is driven unit by unit and by slices alternately: the change may happen anywhere.
        let slots: Vec<Slot> = link.trace.iter().copied().map(slot).collect();
        let (_, by_unit) = drive(&code, &link, &mut Saturated);
        let (mut engine, mut rows, mut rest) = (engine(&code.text, &link), Vec::new(), &slots[..]);
        let mut emitted_by_unit = Vec::new();
        let mut other = self::engine(&code.text, &link);
        for &(slice, single) in steps.iter().chain([(1, 1)].iter()).cycle() {
            let (slice, remaining) = rest.split_at(rest.len().min(slice));
            let (singles, remaining) = remaining.split_at(remaining.len().min(single));
            engine.advance(slice, &mut Saturated, &mut rows).unwrap();
            one_by_one(&mut engine, singles, &mut rows);
            one_by_one(&mut other, slice, &mut emitted_by_unit);
            one_by_one(&mut other, singles, &mut emitted_by_unit);
            prop_assert_eq!(engine.counts(), other.counts());
            prop_assert_eq!(&rows, &emitted_by_unit, "the same rows are known at the end of each slice");
            rest = remaining;
            if rest.is_empty() {
                break;
            }
        }
        engine.finish(slots.last().unwrap().tx_time(), &mut rows);
        prop_assert_eq!(rows, by_unit);
    }
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn slices_say_what_each_slot_carries_without_interleaving(
        code in random::code(), link in random::link(400), arrivals in arrivals(),
        lengths in prop::collection::vec(1usize..90, 1..6),
    ) {
        prop_assume!(code.interleave == 1);
        let packets = packets(&link, &arrivals);
        let by = |lengths: &[usize]| {
            let (record, _) = record(engine(&code.text, &link), &link, &mut queue(&packets), lengths);
            let in_order = record.sent.windows(2).all(|two| two[0].slots.end <= two[1].slots.start);
            assert!(in_order, "{:?}", record.sent);
            units(&record, link.trace.len())
        };
        prop_assert_eq!(by(&lengths), by(&[1]));
    }
}

/// Long enough for the ring of LLDUs to grow, and to wrap around many times.
#[test]
fn long_slices_and_single_slots_give_the_same_result() {
    for (seed, channel) in (1u64..).zip(["gilbert-elliott:alpha=0.99,beta=0.8", "bernoulli:0.1"]) {
        let mut channel = Channel::new(channel.parse().unwrap(), seed);
        let slots: Vec<Slot> = (0..60_000u64)
            .map(|index| {
                // A few different delays, so that arrivals overtake each other.
                let delay = 36_000_000 + index * 7919 % 5 * 1_000_000;
                slot((index * 112_820, if channel.erases() { 0 } else { delay }))
            })
            .collect();
        for scheme in [
            "none,in-order",
            "fec:10/12",
            "fec:1/1,interleave=5000",
            "fec:2/3,interleave=3000",
            "arq",
            "arq:rounds=1,in-order",
            "harq:10/12",
            "harq:1/1,extra=2",
            "harq:7/7,interleave=3,in-order",
            "harq:900/1000,extra=3,rounds=2,interleave=7",
            "frame-arq:10/12",
            "frame-arq:300/310,rounds=3,in-order",
        ] {
            let link = Link {
                trace: Vec::new(),
                rtt: 500_000_000,
                feedback: 0,
            };
            let (mut one, mut rows) = (engine(scheme, &link), Vec::new());
            one_by_one(&mut one, &slots, &mut rows);
            let known = rows.len();
            one.finish(slots.last().unwrap().tx_time(), &mut rows);
            for slice in [slots.len(), 10_007] {
                let (mut other, mut sliced) = (engine(scheme, &link), Vec::new());
                for slice in slots.chunks(slice) {
                    other.advance(slice, &mut Saturated, &mut sliced).unwrap();
                }
                assert_eq!(sliced.len(), known, "{scheme}");
                other.finish(slots.last().unwrap().tx_time(), &mut sliced);
                let first = rows.iter().zip(&sliced).position(|(a, b)| a != b);
                assert!(
                    first.is_none() && rows.len() == sliced.len(),
                    "{scheme}: LLDU {first:?}"
                );
                assert_eq!(one.counts(), other.counts(), "{scheme}");
            }
        }
    }
}

fn one_by_one(engine: &mut Engine, slots: &[Slot], rows: &mut Vec<Lldu>) {
    for slot in slots.chunks(1) {
        assert_eq!(engine.advance(slot, &mut Saturated, rows).unwrap(), 1);
    }
}

fn counts(carried: &[Option<UnitKind>]) -> UnitCounts {
    let count = |kind| carried.iter().filter(|unit| **unit == Some(kind)).count() as u64;
    UnitCounts {
        data: count(UnitKind::Data),
        repair: count(UnitKind::Repair),
        repeated: count(UnitKind::Repeat),
    }
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn a_queue_that_runs_empty_gives_the_rows_of_the_model(
        code in random::code(), link in random::link(400), arrivals in arrivals(),
    ) {
        let packets = packets(&link, &arrivals);
        let history = oracle::walk(&code, &link.trace, link.rtt + link.feedback, supply(&code, &packets));
        let (slots, rows) = drive(&code, &link, &mut queue(&packets));
        prop_assert_eq!(slots, carried(link.trace.len(), &history));
        prop_assert_eq!(rows, oracle::rows(&code, &link.trace, &history));
    }

    #[test]
    fn every_unit_is_emitted_once_and_in_order_when_the_queue_runs_empty(
        code in random::code(), link in random::link(200), arrivals in arrivals(),
    ) {
        let packets = packets(&link, &arrivals);
        let mut queue = queue(&packets);
        let mut engine = engine(&code.text, &link);
        let (mut record, mut sent) = (Record::default(), Vec::new());
        let mut step = |at: TimeAndDelay, queue: &mut Queue| {
            record.sent.clear();
            engine.advance(&[slot(at)], queue, &mut record).unwrap();
            let (_, kind) = record.sent.first()?.each().next().unwrap();
            sent.extend((kind == UnitKind::Data).then_some(at.0));
            Some(())
        };
        for &each in &link.trace {
            step(each, &mut queue);
        }
        // Received slots, each later than any arrival and feedback, until one remains unused.
        let wait = link.rtt + link.feedback + 1_000_000;
        let mut t = link.trace.last().unwrap().0 + wait;
        while step((t, 1), &mut queue).is_some() {
            t += 1;
        }
        t += wait;
        while step((t, 1), &mut queue).is_some() {
            t += 1;
        }
        prop_assert_eq!(queue.taken, packets.iter().map(|packet| u64::from(packet.1)).sum::<u64>());
        prop_assert_eq!(sent.len() as u64, queue.taken);
        let mut rows = record.rows;
        let emitted: Vec<u64> = rows.iter().map(|row| row.tx_time.as_nanos()).collect();
        prop_assert_eq!(&emitted, &sent, "before finish");
        engine.finish(Time::from_nanos(t).unwrap(), &mut rows);
        prop_assert_eq!(rows.len(), sent.len(), "finish added rows");
        prop_assert!(rows.iter().all(|row| row.fate != Fate::Censored));
    }

    #[test]
    fn every_data_unit_sent_is_emitted_once_and_in_order_by_finish(
        code in random::code(), link in random::link(200), arrivals in arrivals(),
    ) {
        let (slots, rows) = drive(&code, &link, &mut queue(&packets(&link, &arrivals)));
        let sent: Vec<u64> =
            link.trace.iter().zip(&slots).filter(|(_, kind)| **kind == Some(UnitKind::Data)).map(|(at, _)| at.0).collect();
        let emitted: Vec<u64> = rows.iter().map(|row| row.tx_time.as_nanos()).collect();
        prop_assert_eq!(emitted, sent);
    }

    #[test]
    fn a_short_codeword_is_decoded_by_as_many_units_as_it_has_data(
        nd in 2u32..12, short in 1u32..12, repair in 0u32..8, mask in any::<u32>(),
    ) {
        let short = short.min(nd - 1);
        let units = short + repair;
        let erased = |unit: u32| mask >> unit & 1 == 1;
        let trace: Vec<TimeAndDelay> = (0..units).map(|unit| (u64::from(unit), u64::from(!erased(unit)))).collect();
        let received = u32::try_from(trace.iter().filter(|slot| slot.1 > 0).count()).unwrap();
        let code = Code {
            text: format!("fec:{nd}/{}", nd + repair),
            nd, n: nd + repair, extra: 0, rounds: Some(0), interleave: 1, frame: false, in_order: false, rule: Rule::Any,
        };
        let link = Link { trace, rtt: 0, feedback: 0 };
        let (slots, rows) = drive(&code, &link, &mut queue(&[(0, short)]));
        prop_assert!(slots.iter().all(Option::is_some), "a codeword of {} data units has {} units", short, units);
        for (unit, row) in (0..units).zip(&rows) {
            let delivered = !erased(unit) || received >= short;
            prop_assert_eq!(row.fate, if delivered { Fate::Delivered } else { Fate::Lost });
        }
        prop_assert_eq!(rows.len(), short as usize);
    }
}

/// Kinds of units, one letter per slot.
fn letters(slots: &[Option<UnitKind>]) -> String {
    let letter = |kind: &Option<UnitKind>| match kind {
        None => '.',
        Some(UnitKind::Data) => 'd',
        Some(UnitKind::Repair) => 'r',
        Some(UnitKind::Repeat) => 'R',
    };
    slots.iter().map(letter).collect()
}

/// Slots 1 ns apart: erased for each `x`, otherwise with a delay of 1 ns.
fn every_nanosecond(pattern: &str) -> Vec<TimeAndDelay> {
    (0..)
        .zip(pattern.chars())
        .map(|(t, c)| (t, u64::from(c != 'x')))
        .collect()
}

fn run(
    scheme: &str,
    rtt: u64,
    pattern: &str,
    packets: &[(u64, u32)],
) -> (String, Vec<(u64, u64, u32)>) {
    let code = Code {
        text: scheme.to_owned(),
        nd: 0,
        n: 0,
        extra: 0,
        rounds: None,
        interleave: 0,
        frame: false,
        in_order: false,
        rule: Rule::Any,
    };
    let link = Link {
        trace: every_nanosecond(pattern),
        rtt,
        feedback: 0,
    };
    let (slots, rows) = drive(&code, &link, &mut queue(packets));
    let rows = rows.iter().map(|row| {
        (
            row.tx_time.as_nanos(),
            row.decode_delay.as_nanos(),
            row.attempts,
        )
    });
    (letters(&slots), rows.collect())
}

#[test]
fn repeats_are_sent_with_an_empty_queue_and_earlier_slots_are_idle() {
    // The attempt ends in slot 2, one unit short. RTT 4: the repeat is ready at 6. It is erased, and the next one is ready
    // at 10.
    let (slots, rows) = run("harq:2/3", 4, "xx....x......", &[(0, 2)]);
    assert_eq!(slots, "ddr...R...R..");
    assert_eq!(rows, [(0, 11, 3), (1, 10, 3)]);
}

#[test]
fn a_ready_repeat_goes_before_new_data_and_inside_a_super_block() {
    let (slots, rows) = run("harq:2/2", 1, "x......", &[(0, 2), (1, 4)]);
    // Judged in slot 1, ready at 2, when the queue holds two more codewords.
    assert_eq!(slots, "ddRdddd");
    assert_eq!(
        rows,
        [
            (0, 3, 2),
            (1, 1, 1),
            (3, 1, 1),
            (4, 1, 1),
            (5, 1, 1),
            (6, 1, 1)
        ]
    );
}

#[test]
fn a_super_block_without_enough_data_is_sent_with_fewer_codewords() {
    // Five LLDUs for 3 × 2/3: codewords of 2, 2 and 1 data units, each with one repair unit. Rows:
    // d d d / d d r / r r. The last row has no unit of the short codeword.
    let (slots, rows) = run("fec:2/3,interleave=3", 0, "x.x.x.....", &[(0, 5)]);
    assert_eq!(slots, "dddddrrr..");
    // Codeword 0 lost its first unit and is complete with slot 6; codeword 1 lost its second and is
    // complete with slot 7; codeword 2 lost its only one and is complete with its repair in slot 5.
    assert_eq!(
        rows,
        [(0, 7, 1), (1, 1, 1), (2, 4, 1), (3, 1, 1), (4, 4, 1)]
    );
}

#[test]
fn data_that_arrives_while_a_super_block_is_sent_waits_for_the_next() {
    let (slots, rows) = run("fec:3/4", 0, "........", &[(0, 1), (1, 3)]);
    assert_eq!(slots, "drdddr..");
    assert_eq!(rows.len(), 4);
}

#[test]
fn a_short_frame_is_repeated_with_its_own_size() {
    let (slots, rows) = run("frame-arq:4/6", 0, "xxx......", &[(0, 2)]);
    // Two data and two repair units. Three are erased, so all four are repeated.
    assert_eq!(slots, "ddrrRRRR.");
    assert_eq!(rows, [(0, 6, 2), (1, 5, 2)]);
}

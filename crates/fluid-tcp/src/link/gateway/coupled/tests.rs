//! The coupled link against `apply` under a permanent backlog, and against a model that walks slot by slot.

mod feedback;
mod model;

use proptest::prelude::*;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::format::text::encode;
use tmt_core::scheme::runner::Walk;

use super::*;
use crate::endpoint::sender::Why;
use crate::link::timeline::{Builder, Timeline};
use crate::link::{Link, PacketCopy, TimelineLink};

fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos).unwrap()
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap()
}

fn trace(slots: &[(u64, u64)]) -> Arc<Timeline> {
    let mut builder = Builder::default();
    for &(t, d) in slots {
        builder.push(time(t), span(d), None);
    }
    Arc::new(builder.finish())
}

fn packet(ordinal: u64, flow: usize, sent: Time) -> Queued {
    Queued {
        copy: PacketCopy {
            ordinal,
            flow,
            packet: ordinal,
            copy: 1,
            why: Why::New,
        },
        sent,
        enqueued: sent,
        capable: false,
        reduced: false,
    }
}

fn link(slots: &[(u64, u64)], scheme: &str, data_units: u32) -> CoupledLink {
    CoupledLink::new(trace(slots), scheme.parse().unwrap(), data_units)
}

fn encoded(rows: &[Lldu]) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        encode::lldu(row, &mut out);
    }
    out
}

/// Delays are of a few lengths, so that arrivals overtake each other.
fn erased_slots(channel: &str, seed: u64, count: u64) -> Vec<(u64, u64)> {
    let mut channel = Channel::new(channel.parse().unwrap(), seed);
    let slot = |index: u64| {
        let delay = 36_000_000 + index * 7919 % 5 * 1_000_000;
        (index * 112_820, if channel.erases() { 0 } else { delay })
    };
    (0..count).map(slot).collect()
}

/// link-layer.md §12. A packet that fails takes codewords of its own with it that `apply`, which knows no packets,
/// goes on with: so packets are one codeword long, or the scheme never fails, or a failure leaves no codeword begun.
#[test]
fn a_permanent_backlog_gives_the_timeline_of_apply_byte_for_byte() {
    let rtt = span(100_000_000);
    for (scheme, data_units) in [
        ("none", 1),
        ("none", 47),
        ("arq", 1),
        ("arq", 47),
        ("arq:rounds=1", 1),
        ("arq,in-order", 47),
        ("fec:10/12", 10),
        ("fec:10/12", 50),
        ("fec:10/12,interleave=7", 10),
        ("fec:1/1,interleave=50", 1),
        ("harq:10/12", 50),
        ("harq:10/12,extra=2,rounds=1,interleave=3", 10),
        ("harq:7/7,interleave=4", 21),
        ("harq:1/1,extra=2", 47),
        ("frame-arq:10/12", 40),
        ("frame-arq:10/12,rounds=2", 10),
    ] {
        for (seed, channel) in (1..).zip(["bernoulli:0.1", "gilbert-elliott:alpha=0.99,beta=0.8"]) {
            let slots = erased_slots(channel, seed, 20_000);
            let mut queue = CoupledQueue::new(
                &link(&slots, scheme, data_units),
                rtt,
                u64::MAX,
                Time::ZERO,
                Tells::default(),
            )
            .unwrap();
            for ordinal in 0..20_000 {
                assert_eq!(
                    queue.offer(Time::ZERO, packet(ordinal, 0, Time::ZERO)),
                    Fate::Waits
                );
            }
            while queue.wake(Time::ZERO).is_some() {}
            let plain = scheme.trim_end_matches(",in-order");
            let mut walk = Walk::new(plain.parse().unwrap(), rtt, Span::ZERO);
            let mut walked = Vec::new();
            let all: Vec<Slot> = slots
                .iter()
                .map(|&(t, d)| Slot::new(time(t), span(d)).unwrap())
                .collect();
            walk.slots(&all, &mut walked).unwrap();
            assert!(walked.len() > 4_000, "{scheme}");
            assert_eq!(
                encoded(&queue.seen),
                encoded(&walked),
                "{scheme} {data_units}"
            );
            assert_eq!(queue.seen, walked, "{scheme} {data_units}");
            let used = queue.usage(time(slots.last().unwrap().0)).lldus_used;
            assert_eq!(used, Some(20_000), "no slot is idle");
        }
    }
}

/// Where nothing is ever lost and nothing idle, packets arrive when they do on the timeline that `apply` makes.
#[test]
fn under_a_permanent_backlog_packets_arrive_as_on_the_timeline() {
    let rtt = span(100_000_000);
    for (scheme, data_units, in_order) in [
        ("arq", 47, InOrder::Off),
        ("frame-arq:5/7", 15, InOrder::Off),
        ("arq,in-order", 47, InOrder::Link),
        ("harq:10/12,in-order", 50, InOrder::Link),
    ] {
        let slots = erased_slots("bernoulli:0.1", 3, 20_000);
        let link = CoupledLink {
            in_order,
            ..link(&slots, scheme, data_units)
        };
        let mut queue =
            CoupledQueue::new(&link, rtt, u64::MAX, Time::ZERO, Tells::default()).unwrap();
        for ordinal in 0..20_000 {
            queue.offer(Time::ZERO, packet(ordinal, 0, Time::ZERO));
        }
        let mut told = BTreeMap::new();
        while let Some(Fate::Served(packet, service, _)) = queue.wake(Time::ZERO) {
            told.insert(packet.copy.ordinal, service.arrival);
        }
        let mut walk = Walk::new(link.scheme.clone(), rtt, Span::ZERO);
        let mut rows = Vec::new();
        let all: Vec<Slot> = slots
            .iter()
            .map(|&(t, d)| Slot::new(time(t), span(d)).unwrap())
            .collect();
        walk.slots(&all, &mut rows).unwrap();
        walk.finish(&mut rows);
        let mut builder = Builder::default();
        builder.lldus(&rows);
        let mut timeline = TimelineLink::new(
            Arc::new(builder.finish()),
            data_units as usize,
            rtt.half(),
            None,
            Time::ZERO,
        )
        .unwrap();
        let (mut at, mut compared) = (Time::ZERO, 0);
        for ordinal in 0..told.len() as u64 {
            let service = timeline.serve(at).unwrap();
            at = service.end;
            if let Some(arrival) = told.get(&ordinal) {
                assert_eq!(*arrival, service.arrival, "{scheme} packet {ordinal}");
                compared += 1;
            }
        }
        assert!(compared > 200, "{scheme}: {compared}");
    }
}

/// A case of the model: the code, the link, what comes to the queue.
#[derive(Debug, Clone)]
struct Case {
    code: model::Code,
    slots: Vec<(u64, u64)>,
    rtt: u64,
    feedback: u64,
    capacity: u64,
    /// When, and of which flow.
    offers: Vec<(u64, usize)>,
    in_order: InOrder,
    /// Probability and, beyond RTT and feedback delay, timer.
    lost_feedback: Option<(f64, u64)>,
    hold: Hold,
    tells: Tells,
    /// From a round of the slots to the next, and how many there are.
    looped: Option<(u64, u64)>,
}

fn codes() -> impl Strategy<Value = model::Code> {
    let sizes = (1u32..5, 0u32..3, 0u32..3, 1u32..5);
    let kinds = (
        prop::option::of(0u32..3),
        any::<bool>(),
        any::<bool>(),
        1u32..14,
    );
    (sizes, kinds).prop_map(
        |((nd, repair, extra, interleave), (rounds, frame, pad, lldus))| model::Code {
            nd,
            n: nd + repair,
            extra: if frame { 0 } else { extra },
            interleave: if frame { 1 } else { interleave },
            rounds,
            frame,
            lldus,
            pad,
        },
    )
}

/// Slots at even times, some at the same; packets come at odd ones, in lumps with idle times between.
fn cases() -> impl Strategy<Value = Case> {
    let slot = (
        prop_oneof![1 => Just(0u64), 6 => 1u64..4],
        prop_oneof![1 => Just(0u64), 3 => 1u64..12],
    );
    let offer = (
        prop_oneof![3 => Just(0u64), 3 => 1u64..20, 1 => 40u64..150],
        0usize..3,
    );
    let orders = prop::sample::select(vec![InOrder::Link, InOrder::Flow, InOrder::Off]);
    let lost_feedback = prop::option::of((
        prop::sample::select(vec![0.0, 0.1, 0.5, 1.0]),
        prop_oneof![Just(0u64), 1u64..90],
    ));
    let holds = prop::sample::select(vec![Hold::Sent, Hold::Acknowledged]);
    let queue = (1u64..9, orders, holds, any::<[bool; 2]>());
    (
        codes(),
        prop::collection::vec(slot, 1..400),
        (0u64..60, 0u64..9, lost_feedback, queue),
        prop::collection::vec(offer, 0..40),
    )
        .prop_map(
            |(code, steps, (rtt, feedback, lost_feedback, queue), offers)| {
                let (capacity, in_order, hold, [whole, slots_told]) = queue;
                let (mut t, mut at) = (2, 1);
                let slots = steps.into_iter().map(|(step, d)| {
                    t += 2 * step;
                    (t, d)
                });
                let slots = slots.collect();
                let offers = offers.into_iter().map(|(step, flow)| {
                    at += 2 * step;
                    (at, flow)
                });
                Case {
                    code,
                    slots,
                    rtt,
                    feedback,
                    capacity,
                    offers: offers.collect(),
                    in_order,
                    lost_feedback,
                    hold,
                    tells: Tells {
                        whole,
                        slots: slots_told,
                    },
                    looped: None,
                }
            },
        )
}

/// Drives the queue as a run does; what it told of each packet, in the order of the packets.
fn drive(case: &Case) -> (Vec<model::Story>, Vec<model::Told>, u64) {
    let (stories, told, uses, used) = drive_slots(case);
    assert_eq!(uses.len() as u64, if case.tells.slots { used } else { 0 });
    (stories, told, used)
}

/// The same with the numbers of the slots used, where they are told.
fn drive_slots(case: &Case) -> (Vec<model::Story>, Vec<model::Told>, Vec<u64>, u64) {
    let link = CoupledLink {
        feedback_delay: span(case.feedback),
        tail: if case.code.pad {
            Tail::Pad
        } else {
            Tail::Short
        },
        in_order: case.in_order,
        hold: case.hold,
        lost_feedback: case.lost_feedback.map(|(probability, more)| LostFeedback {
            probability,
            timer: span(case.rtt + case.feedback + more),
            seed: 7,
        }),
        ..link(&case.slots, &case.code.text(), case.code.lldus)
    };
    let (rtt, begin) = (span(case.rtt), Time::ZERO);
    let queue = CoupledQueue::new(&link, rtt, case.capacity, begin, case.tells);
    let mut queue = queue.unwrap();
    let mut end = time(case.slots.last().unwrap().0);
    if let Some((period, rounds)) = case.looped {
        end = end.saturating_add(span(period * (rounds - 1)));
        queue = queue.looped(span(period), end);
    }
    let mut stories: Vec<model::Story> = Vec::new();
    let mut told = vec![model::Told::default(); case.offers.len()];
    let mut offers = case.offers.iter().peekable();
    loop {
        let due = queue.due().map(Time::as_nanos);
        let offer = offers.next_if(|(at, _)| due.is_none_or(|due| *at < due));
        let now = time(match (offer, due) {
            (Some((at, _)), _) => *at,
            (None, Some(due)) => due,
            (None, None) => break,
        });
        retire(&mut queue, now, &mut told);
        if let Some(&(_, flow)) = offer {
            let ordinal = stories.len() as u64;
            let dropped = queue.offer(now, packet(ordinal, flow, now)) != Fate::Waits;
            stories.push(if dropped {
                model::Story::Dropped
            } else {
                model::Story::Open
            });
        }
        while let Some(fate) = queue.wake(now) {
            let (packet, service) = match fate {
                Fate::Served(packet, service, _) => (packet, service),
                Fate::Whole(packet, known) => {
                    assert!(known >= now, "known in time");
                    let told = &mut told[usize::try_from(packet.copy.ordinal).unwrap()];
                    assert_eq!(told.known.replace(known.as_nanos()), None, "told once");
                    continue;
                }
                _ => panic!("{fate:?}"),
            };
            let arrival = service.arrival.map(Time::as_nanos);
            assert!(
                arrival.is_none_or(|at| at >= now.as_nanos()),
                "known in time"
            );
            let story = &mut stories[usize::try_from(packet.copy.ordinal).unwrap()];
            assert_eq!(*story, model::Story::Open, "told once");
            *story = model::Story::Served {
                start: service.start.as_nanos(),
                end: service.end.as_nanos(),
                arrival,
            };
        }
    }
    retire(&mut queue, end, &mut told);
    let used = queue.usage(end).lldus_used.unwrap();
    let uses: Vec<u64> = std::iter::from_fn(|| queue.used(end).map(|used| used.slot)).collect();
    assert!(uses.is_sorted_by(|one, next| one < next));
    retire(&mut queue, Time::MAX, &mut told);
    (stories, told, uses, used)
}

/// Takes what leaves the queue by `now`.
fn retire(queue: &mut CoupledQueue, now: Time, told: &mut [model::Told]) {
    while let Some(served) = queue.leave(now) {
        let left = served.left.unwrap();
        assert!(left <= now);
        let told = &mut told[usize::try_from(served.packet.copy.ordinal).unwrap()];
        assert_eq!(told.left.replace(left.as_nanos()), None, "leaves once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(3000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_queue_that_runs_empty_gives_the_stories_of_the_model(case in cases()) {
        let propagation = case.rtt / 2;
        let (probability, more) = case.lost_feedback.unwrap_or_default();
        let mut loss = Channel::of_feedback(ChannelSpec::Bernoulli { p: probability }, 7);
        let back = case.rtt + case.feedback;
        let feedback = model::Feedback { rtt: case.rtt, back, timer: back + more, lost: &mut || loss.erases() };
        let (expected, mut expected_told, used) = model::walk(
            &case.code, &case.slots, feedback, case.capacity, &case.offers, case.in_order, case.hold,
        );
        if !case.tells.whole {
            for told in &mut expected_told {
                told.known = None;
            }
        }
        let (stories, told, slots_used) = drive(&case);
        let expected: Vec<model::Story> = expected.into_iter().map(|story| story.travelled(propagation)).collect();
        prop_assert_eq!(stories, expected);
        prop_assert_eq!(told, expected_told);
        prop_assert_eq!(slots_used, used);
    }
}

proptest! {
    #[test]
    fn a_trace_that_begins_anew_is_the_trace_written_out(case in cases(), gap in 1u64..300, rounds in 1u64..6) {
        let period = case.slots.last().unwrap().0 - case.slots[0].0 + gap;
        let slots = (0..rounds).flat_map(|round| {
            let later = move |(t, d): (u64, u64)| (t + round * period, d);
            case.slots.clone().into_iter().map(later)
        });
        let written = Case { slots: slots.collect(), ..case.clone() };
        let looped = Case { looped: Some((period, rounds)), ..case };
        prop_assert_eq!(drive_slots(&looped), drive_slots(&written));
    }
}

#[test]
fn a_failed_codeword_takes_what_is_left_of_its_packet_with_it() {
    // Codewords of one unit, no repeats: the second of four units is erased, the other two are never sent.
    let slots: Vec<(u64, u64)> = (0..8).map(|t| (t * 10, u64::from(t != 1))).collect();
    let mut queue = CoupledQueue::new(
        &link(&slots, "none", 4),
        span(20),
        9,
        Time::ZERO,
        Tells::default(),
    )
    .unwrap();
    for ordinal in 0..2 {
        queue.offer(Time::ZERO, packet(ordinal, 0, Time::ZERO));
    }
    let mut told = Vec::new();
    while let Some(Fate::Served(packet, service, _)) = queue.wake(Time::ZERO) {
        told.push((
            packet.copy.ordinal,
            service.first_unit,
            service.last_unit,
            service.arrival,
        ));
    }
    assert_eq!(told, [(0, 0, 1, None), (1, 2, 5, Some(time(61)))]);
    assert_eq!(queue.leave(time(9)), None);
    assert_eq!(queue.len(), 2);
    assert!(queue.leave(time(10)).is_some());
    assert_eq!(queue.len(), 1);
    assert_eq!(queue.usage(time(29)).lldus_used, Some(3));
}

#[test]
fn idle_slots_are_passed_over() {
    // Two packets at both ends of the trace.
    let slots: Vec<(u64, u64)> = (0..300_000).map(|t| (t * 1000, 1)).collect();
    let mut queue = CoupledQueue::new(
        &link(&slots, "arq", 3),
        span(20),
        9,
        Time::ZERO,
        Tells::default(),
    )
    .unwrap();
    let mut starts = Vec::new();
    for (ordinal, at) in [(0, 1), (1, 299_000_500)] {
        queue.offer(time(at), packet(ordinal, 0, time(at)));
        while let Some(Fate::Served(_, service, _)) = queue.wake(time(at)) {
            starts.push((service.first_unit, service.start.as_nanos()));
        }
        assert_eq!(queue.due(), None);
    }
    assert_eq!(starts, [(1, 1000), (299_001, 299_001_000)]);
}

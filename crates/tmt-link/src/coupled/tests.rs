//! The coupled link compared with `tmt apply` under a permanent backlog, and with a model that works slot by slot.

mod feedback;
mod model;

use proptest::prelude::*;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::format::text::encode;
use tmt_core::scheme::engine::{Attempt, ReceivedUnit, Verdict};
use tmt_core::scheme::runner::SchemeRunner;

use super::*;
use crate::link::{Link as _, TimelineLink};
use crate::queue::{Buffer, Discipline};
use crate::timeline::{Builder, SlotTrace};

fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos).unwrap()
}

fn span(nanos: u64) -> Span {
    Span::from_nanos(nanos).unwrap()
}

fn trace(slots: &[(u64, u64)]) -> SlotTrace {
    let mut builder = Builder::default();
    for &(t, d) in slots {
        builder.push(time(t), span(d), None);
    }
    builder.finish().into()
}

const SIZE: Bytes = Bytes(1500);

fn packet(id: u64, flow: u32, sent: Time) -> Packet {
    Packet {
        id,
        flow,
        size: SIZE,
        sent,
        enqueued: sent,
        ..Packet::default()
    }
}

fn link(slots: &[(u64, u64)], scheme: &str, data_units: u32) -> CoupledLink {
    let packets = Segmentation::whole(SIZE, data_units.into());
    CoupledLink::new(trace(slots), scheme.parse().unwrap(), packets)
}

/// The gateway of `link` with a drop-tail queue of `capacity` packets.
fn gateway<C: Code>(
    link: &CoupledLink<C>,
    rtt: Span,
    capacity: u64,
    run: (Time, Time),
    reporting: Reporting,
) -> Result<CoupledQueue<C>, AttachError> {
    let setup = GatewaySetup {
        discipline: Discipline::default(),
        buffer: Buffer::Packets(capacity),
        rtt,
        run,
        packet: SIZE,
        seed: 1,
        reporting,
    };
    CoupledQueue::new(link, &setup)
}

fn departed<C: Code>(queue: &mut CoupledQueue<C>, now: Time) -> Vec<Served> {
    let mut gone = Vec::new();
    queue.departed(now, &mut |served| gone.push(*served));
    gone
}

fn encoded(rows: &[Lldu]) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        encode::lldu(row, &mut out);
    }
    out
}

/// Slots with a few different delays, so that arrivals overtake each other.
fn erased_slots(channel: &str, seed: u64, count: u64) -> Vec<(u64, u64)> {
    let mut channel = Channel::new(channel.parse().unwrap(), seed);
    let slot = |index: u64| {
        let delay = 36_000_000 + index * 7919 % 5 * 1_000_000;
        (index * 112_820, if channel.erases() { 0 } else { delay })
    };
    (0..count).map(slot).collect()
}

/// docs/schemes.md, Sec. 10.8. A lost packet drops its other codewords, which `apply` would send. So a packet is one
/// codeword, or the scheme never fails, or no other codeword of the packet has begun when one fails.
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
            let mut queue = gateway(
                &link(&slots, scheme, data_units),
                rtt,
                u64::MAX,
                (Time::ZERO, Time::MAX),
                Reporting::default(),
            )
            .unwrap();
            for ordinal in 0..20_000 {
                assert_eq!(queue.push(Time::ZERO, packet(ordinal, 0, Time::ZERO)), None);
            }
            while queue.poll(Time::ZERO).is_some() {}
            let plain = scheme.trim_end_matches(",in-order");
            let mut runner = SchemeRunner::new(plain.parse().unwrap(), rtt, Span::ZERO);
            let mut walked = Vec::new();
            let all: Vec<Slot> = slots
                .iter()
                .map(|&(t, d)| Slot::new(time(t), span(d)).unwrap())
                .collect();
            runner.push_slots(&all, &mut walked).unwrap();
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

/// Without losses and idle slots, packets arrive as on the timeline that `apply` makes.
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
        let mut queue = gateway(
            &link,
            rtt,
            u64::MAX,
            (Time::ZERO, Time::MAX),
            Reporting::default(),
        )
        .unwrap();
        for ordinal in 0..20_000 {
            queue.push(Time::ZERO, packet(ordinal, 0, Time::ZERO));
        }
        let mut reports = BTreeMap::new();
        while let Some(Event::Served(packet, service)) = queue.poll(Time::ZERO) {
            reports.insert(packet.id, service.arrival);
        }
        let mut runner = SchemeRunner::new(link.scheme.clone(), rtt, Span::ZERO);
        let mut rows = Vec::new();
        let all: Vec<Slot> = slots
            .iter()
            .map(|&(t, d)| Slot::new(time(t), span(d)).unwrap())
            .collect();
        runner.push_slots(&all, &mut rows).unwrap();
        runner.finish(&mut rows);
        let mut builder = Builder::default();
        builder.lldus(&rows);
        let mut timeline = TimelineLink::new(
            builder.finish().into(),
            Segmentation::whole(SIZE, data_units.into()),
            rtt.half(),
            None,
            Time::ZERO,
        )
        .unwrap();
        let (mut at, mut compared) = (Time::ZERO, 0);
        for ordinal in 0..reports.len() as u64 {
            let service = timeline.serve(at, &packet(ordinal, 0, at)).unwrap();
            at = service.end;
            if let Some(arrival) = reports.get(&ordinal) {
                assert_eq!(*arrival, service.arrival, "{scheme} packet {ordinal}");
                compared += 1;
            }
        }
        assert!(compared > 200, "{scheme}: {compared}");
    }
}

/// A case for the model: code, link, and arrivals at the queue.
#[derive(Debug, Clone)]
struct Case {
    code: model::Code,
    slots: Vec<(u64, u64)>,
    rtt: u64,
    feedback: u64,
    capacity: u64,
    /// Time and flow of each packet.
    arrivals: Vec<(u64, u32)>,
    in_order: InOrder,
    /// Probability, and the timer beyond RTT and feedback delay.
    lost_feedback: Option<(f64, u64)>,
    hold: Hold,
    reporting: Reporting,
    /// Period of the trace and number of rounds.
    looped: Option<(u64, u64)>,
}

fn codes() -> impl Strategy<Value = model::Code> {
    let sizes = (1u32..5, 0u32..3, 0u32..3, 1u32..5);
    let kinds = (
        prop::option::of(0u32..3),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        1u32..14,
    );
    (sizes, kinds).prop_map(
        |((nd, repair, extra, interleave), (rounds, frame, pad, needs_more, lldus))| model::Code {
            nd,
            n: nd + repair,
            extra: if frame { 0 } else { extra },
            interleave: if frame { 1 } else { interleave },
            rounds,
            frame,
            lldus,
            pad,
            needs_more,
        },
    )
}

/// Slots are at even times, some at the same; packets arrive at odd times, in bursts with idle times between.
fn cases() -> impl Strategy<Value = Case> {
    let slot = (
        prop_oneof![1 => Just(0u64), 6 => 1u64..4],
        prop_oneof![1 => Just(0u64), 3 => 1u64..12],
    );
    let arrival = (
        prop_oneof![3 => Just(0u64), 3 => 1u64..20, 1 => 40u64..150],
        0u32..3,
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
        prop::collection::vec(arrival, 0..40),
    )
        .prop_map(
            |(code, steps, (rtt, feedback, lost_feedback, queue), arrivals)| {
                let (capacity, in_order, hold, [acknowledgements, report_slots]) = queue;
                let (mut t, mut at) = (2, 1);
                let slots = steps.into_iter().map(|(step, d)| {
                    t += 2 * step;
                    (t, d)
                });
                let slots = slots.collect();
                let arrivals = arrivals.into_iter().map(|(step, flow)| {
                    at += 2 * step;
                    (at, flow)
                });
                Case {
                    code,
                    slots,
                    rtt,
                    feedback,
                    capacity,
                    arrivals: arrivals.collect(),
                    in_order,
                    lost_feedback,
                    hold,
                    reporting: Reporting {
                        acknowledgements,
                        slots: report_slots,
                    },
                    looped: None,
                }
            },
        )
}

/// Drives the queue as a run does. Returns what it reports of each packet, in the order of the packets.
fn drive(case: &Case) -> (Vec<model::PacketOutcome>, Vec<model::Reports>, u64) {
    let (outcomes, reports, uses, used) = drive_slots(case);
    assert_eq!(
        uses.len() as u64,
        if case.reporting.slots { used } else { 0 }
    );
    (outcomes, reports, used)
}

/// The same with the numbers of the slots used, if they are reported.
fn drive_slots(
    case: &Case,
) -> (
    Vec<model::PacketOutcome>,
    Vec<model::Reports>,
    Vec<u64>,
    u64,
) {
    let link = case_link(case);
    if case.code.needs_more {
        drive_link(case, &link.with_code(NeedsMore))
    } else {
        drive_link(case, &link)
    }
}

/// The code of the model that is not ideal.
#[derive(Debug, Clone)]
struct NeedsMore;

impl Code for NeedsMore {
    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict {
        let needed = attempt.data_units + model::more(attempt.codeword);
        match received.get(needed as usize - 1) {
            Some(unit) => Verdict::Decoded(unit.arrival),
            None => Verdict::Missing(needed - u32::try_from(received.len()).unwrap()),
        }
    }
}

fn case_link(case: &Case) -> CoupledLink {
    CoupledLink {
        feedback_delay: span(case.feedback),
        tail: if case.code.pad {
            Tail::Pad
        } else {
            Tail::Short
        },
        in_order: case.in_order,
        hold: case.hold,
        period: case.looped.map(|(period, _)| span(period)),
        lost_feedback: case.lost_feedback.map(|(probability, more)| LostFeedback {
            probability,
            timer: span(case.rtt + case.feedback + more),
            seed: 7,
        }),
        ..link(&case.slots, &case.code.text(), case.code.lldus)
    }
}

fn drive_link<C: Code>(
    case: &Case,
    link: &CoupledLink<C>,
) -> (
    Vec<model::PacketOutcome>,
    Vec<model::Reports>,
    Vec<u64>,
    u64,
) {
    let mut end = time(case.slots.last().unwrap().0);
    if let Some((period, rounds)) = case.looped {
        end = end.saturating_add(span(period * (rounds - 1)));
    }
    let (rtt, run) = (span(case.rtt), (Time::ZERO, end));
    let queue = gateway(link, rtt, case.capacity, run, case.reporting);
    let mut queue = queue.unwrap();
    let mut outcomes: Vec<model::PacketOutcome> = Vec::new();
    let mut reports = vec![model::Reports::default(); case.arrivals.len()];
    let mut arrivals = case.arrivals.iter().peekable();
    loop {
        let due = queue.due().map(Time::as_nanos);
        let arrival = arrivals.next_if(|(at, _)| due.is_none_or(|due| *at < due));
        let now = time(match (arrival, due) {
            (Some((at, _)), _) => *at,
            (None, Some(due)) => due,
            (None, None) => break,
        });
        record_departures(&mut queue, now, &mut reports);
        if let Some(&(_, flow)) = arrival {
            let ordinal = outcomes.len() as u64;
            let dropped = queue.push(now, packet(ordinal, flow, now)).is_some();
            outcomes.push(if dropped {
                model::PacketOutcome::Dropped
            } else {
                model::PacketOutcome::Open
            });
        }
        while let Some(fate) = queue.poll(now) {
            let (packet, service) = match fate {
                Event::Served(packet, service) => (packet, service),
                Event::Acknowledged(packet, known) => {
                    assert!(known >= now, "known in time");
                    let reports = &mut reports[usize::try_from(packet.id).unwrap()];
                    assert_eq!(
                        reports.known.replace(known.as_nanos()),
                        None,
                        "reported once"
                    );
                    continue;
                }
                _ => panic!("{fate:?}"),
            };
            let arrival = service.arrival.map(Time::as_nanos);
            assert!(
                arrival.is_none_or(|at| at >= now.as_nanos()),
                "known in time"
            );
            let outcome = &mut outcomes[usize::try_from(packet.id).unwrap()];
            assert_eq!(*outcome, model::PacketOutcome::Open, "reported once");
            *outcome = model::PacketOutcome::Served {
                start: service.start.as_nanos(),
                end: service.end.as_nanos(),
                arrival,
            };
        }
    }
    record_departures(&mut queue, end, &mut reports);
    let used = queue.usage(end).lldus_used.unwrap();
    let uses: Vec<u64> =
        std::iter::from_fn(|| queue.pop_slot_use(end).map(|used| used.slot)).collect();
    assert!(uses.is_sorted_by(|one, next| one < next));
    record_departures(&mut queue, Time::MAX, &mut reports);
    (outcomes, reports, uses, used)
}

/// Records the packets that leave the queue by `now`.
fn record_departures<C: Code>(
    queue: &mut CoupledQueue<C>,
    now: Time,
    reports: &mut [model::Reports],
) {
    for served in departed(queue, now) {
        let left = served.left.unwrap();
        assert!(left <= now);
        let reports = &mut reports[usize::try_from(served.packet.id).unwrap()];
        assert_eq!(reports.left.replace(left.as_nanos()), None, "leaves once");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: ProptestConfig::default().cases.max(3000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packets_fare_as_in_the_model(case in cases()) {
        let propagation = case.rtt / 2;
        let (probability, more) = case.lost_feedback.unwrap_or_default();
        let mut loss = Channel::of_feedback(ChannelSpec::Bernoulli { p: probability }, 7);
        let back = case.rtt + case.feedback;
        let feedback = model::Feedback { rtt: case.rtt, back, timer: back + more, lost: &mut || loss.erases() };
        let (expected, mut expected_reports, used) = model::simulate(
            &case.code, &case.slots, feedback, case.capacity, &case.arrivals, case.in_order, case.hold,
        );
        if !case.reporting.acknowledgements {
            for reports in &mut expected_reports {
                reports.known = None;
            }
        }
        let (outcomes, reports, slots_used) = drive(&case);
        let expected: Vec<model::PacketOutcome> = expected.into_iter().map(|outcome| outcome.with_propagation(propagation)).collect();
        prop_assert_eq!(outcomes, expected);
        prop_assert_eq!(reports, expected_reports);
        prop_assert_eq!(slots_used, used);
    }
}

proptest! {
    #[test]
    fn a_looped_trace_equals_the_trace_written_out(case in cases(), gap in 1u64..300, rounds in 1u64..6) {
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
fn a_failed_codeword_drops_the_rest_of_its_packet() {
    // Codewords of one unit, no repeats: the second of four units is erased, so the other two are not sent.
    let slots: Vec<(u64, u64)> = (0..8).map(|t| (t * 10, u64::from(t != 1))).collect();
    let mut queue = gateway(
        &link(&slots, "none", 4),
        span(20),
        9,
        (Time::ZERO, Time::MAX),
        Reporting::default(),
    )
    .unwrap();
    for ordinal in 0..2 {
        queue.push(Time::ZERO, packet(ordinal, 0, Time::ZERO));
    }
    let mut reports = Vec::new();
    while let Some(Event::Served(packet, service)) = queue.poll(Time::ZERO) {
        reports.push((
            packet.id,
            service.first_unit,
            service.last_unit,
            service.arrival,
        ));
    }
    assert_eq!(reports, [(0, 0, 1, None), (1, 2, 5, Some(time(61)))]);
    assert_eq!(departed(&mut queue, time(9)), []);
    assert_eq!(queue.held(), 2);
    assert_eq!(departed(&mut queue, time(10)).len(), 1);
    assert_eq!(queue.held(), 1);
    assert_eq!(queue.usage(time(29)).lldus_used, Some(3));
}

#[test]
fn idle_slots_are_skipped() {
    // One packet at each end of the trace.
    let slots: Vec<(u64, u64)> = (0..300_000).map(|t| (t * 1000, 1)).collect();
    let mut queue = gateway(
        &link(&slots, "arq", 3),
        span(20),
        9,
        (Time::ZERO, Time::MAX),
        Reporting::default(),
    )
    .unwrap();
    let mut starts = Vec::new();
    for (ordinal, at) in [(0, 1), (1, 299_000_500)] {
        queue.push(time(at), packet(ordinal, 0, time(at)));
        while let Some(Event::Served(_, service)) = queue.poll(time(at)) {
            starts.push((service.first_unit, service.start.as_nanos()));
        }
        assert_eq!(queue.due(), None);
    }
    assert_eq!(starts, [(1, 1000), (299_001, 299_001_000)]);
}

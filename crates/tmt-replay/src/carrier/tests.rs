//! Runs in memory: deliveries equal those that the hop states for the same arrivals, to the nanosecond.

use fluid_tcp::audit::{audit, audit_with_slots};
use fluid_tcp::experiment::{Experiment, InMemory, LinkKind, Plan};
use fluid_tcp::log::{PacketLog, SlotLog};
use fluid_tcp::simulation::probe::{All, NoProbe};
use proptest::prelude::*;
use tmt_core::format::table::TableForm;
use tmt_core::types::{BitRate, Metadata, Span};
use tmt_link::hop::{Ahead, Hop, Queued};
use tmt_link::queue::{self, Buffer, Context, Discipline};
use tmt_link::timeline::{Builder, Timeline};
use tmt_link::{Segmentation, TimelineLink};

use super::*;
use crate::port::InMemoryPort;

fn time(nanos: u64) -> Time {
    Time::from_nanos(nanos).unwrap()
}

/// A packet of this size whose contents have its number.
fn packet(number: usize, size: usize) -> Vec<u8> {
    let mut bytes = vec![0x45; size.max(20)];
    bytes[4..12].copy_from_slice(&number.to_be_bytes());
    // Not ECN-capable.
    bytes[1] = 0;
    bytes
}

/// Number of a packet, and its delivery.
fn delivered(port: &InMemoryPort) -> Vec<(u64, usize)> {
    let sent = port.sent().iter();
    sent.map(|(at, bytes)| {
        let number = usize::from_be_bytes(bytes[4..12].try_into().unwrap());
        (at.as_nanos(), number)
    })
    .collect()
}

/// A link over LLDUs with these times and delays.
fn link(lldus: &[(u64, u64)]) -> TimelineLink {
    let mut builder = Builder::default();
    for (at, delay) in lldus {
        builder.push(time(*at), Span::from_nanos(*delay).unwrap(), None);
    }
    let timeline: Timeline = builder.finish().into();
    let whole = Segmentation::whole(Bytes(100), 1);
    let propagation = Span::from_nanos(50).unwrap();
    TimelineLink::new(timeline, whole, propagation, None, Time::ZERO).unwrap()
}

/// Deliveries of a hop that is driven by hand: every action at its time, actions before arrivals.
fn by_hand(mut hop: impl Hop, arrivals: &[(u64, usize)], end: u64) -> Vec<(u64, usize)> {
    let mut fates = Vec::new();
    let mut note = |event| {
        if let Event::Served(packet, service) = event
            && let Some(at) = service.arrival
        {
            fates.push((at.as_nanos(), usize::try_from(packet.id).unwrap()));
        }
    };
    let mut at_last = Time::ZERO;
    for step in 0..=arrivals.len() {
        let now = arrivals.get(step).map_or(time(end), |(at, _)| time(*at));
        while let Some(due) = hop.due().filter(|due| *due <= now) {
            at_last = at_last.max(due);
            let mut any = false;
            while let Some(event) = hop.poll(at_last) {
                any = true;
                note(event);
            }
            if !any {
                break;
            }
        }
        if let Some((_, size)) = arrivals.get(step) {
            at_last = now;
            let size = Bytes((*size).max(20) as u64);
            let packet = Packet {
                id: step as u64,
                size,
                sent: now,
                enqueued: now,
                ..Packet::default()
            };
            hop.poll(now);
            if let Some(event) = hop.push(now, packet) {
                note(event);
            }
            while let Some(event) = hop.poll(now) {
                note(event);
            }
        }
    }
    fates.sort_unstable();
    fates.retain(|(at, _)| *at <= end);
    fates
}

proptest! {
    #[test]
    fn deliveries_are_those_of_the_hop(
        steps in prop::collection::vec((0u64..40, prop_oneof![Just(0u64), 1u64..500]), 1..200),
        arrivals in prop::collection::vec((0u64..60, 20usize..300), 1..100),
        room in 1u64..8,
        is_codel: bool,
    ) {
        let mut at = 0;
        let lldus: Vec<(u64, u64)> = steps.iter().map(|(step, delay)| { at += step; (at, *delay) }).collect();
        let mut now = 0;
        let arrivals: Vec<(u64, usize)> = arrivals.iter().map(|(gap, size)| { now += gap; (now, *size) }).collect();
        let packets = arrivals.iter().enumerate().map(|(number, (at, size))| (time(*at), packet(number, *size)));
        let mut port = InMemoryPort::new(packets);
        let mut probe = NoProbe;
        let end = at.max(now) + 2000;
        let carrier = Carrier::new(&mut port, &mut probe, time(end));
        let buffer = Buffer::Packets(room);
        let (carried, expected) = if is_codel {
            let discipline: Discipline = "codel:target=30ns,interval=200ns".parse().unwrap();
            let context = Context { buffer, packet: Bytes(100), rate: None, seed: 1, hop: 0 };
            let queue = || queue::start(&discipline, &context);
            let carried = carrier.drive(Queued::new(link(&lldus), buffer, queue())).unwrap();
            (carried, by_hand(Queued::new(link(&lldus), buffer, queue()), &arrivals, end))
        } else {
            let carried = carrier.drive(Ahead::new(link(&lldus), buffer)).unwrap();
            let queue = Box::<queue::Fifo>::default();
            (carried, by_hand(Queued::new(link(&lldus), buffer, queue), &arrivals, end))
        };
        // The timeline may end before the arrivals do, or before the queue is empty: what it has served still arrives.
        let mut found = delivered(&port);
        found.sort_unstable();
        prop_assert_eq!(found, expected);
        prop_assert_eq!(carried.lateness.max().unwrap_or(Span::ZERO), Span::ZERO);
    }
}

/// Port whose waits end late, which notes when packets were read.
struct Late {
    port: InMemoryPort,
    by: u64,
    now: Time,
    read: Vec<u64>,
}

impl Port for Late {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        let received = self.port.receive(packet)?;
        if received {
            self.read.push(self.now.as_nanos());
        }
        Ok(received)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.port.send(packet)
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<bool> {
        let goes_on = self.port.wait(until)?;
        let late = Span::from_nanos(self.by).unwrap();
        self.now = self.now.max(self.port.now().saturating_add(late));
        Ok(goes_on)
    }
}

/// Probe that notes deliveries.
#[derive(Default)]
struct Deliveries(Vec<(u64, usize)>);

impl Probe for Deliveries {
    fn on_delivered(&mut self, now: Time, copy: Transmission) {
        self.0
            .push((now.as_nanos(), usize::try_from(copy.ordinal).unwrap()));
    }
}

proptest! {
    /// A loop that is late reads packets late, but the link treats them, and they leave, as if it were on time.
    #[test]
    fn a_late_loop_changes_no_decision(
        steps in prop::collection::vec((0u64..40, 1u64..500), 100..200),
        gaps in prop::collection::vec(0u64..60, 1..30),
        by in 1u64..100,
    ) {
        let mut at = 0;
        let lldus: Vec<(u64, u64)> = steps.iter().map(|(step, delay)| { at += step; (at, *delay) }).collect();
        let mut now = 0;
        let packets: Vec<_> = gaps.iter().enumerate().map(|(number, gap)| { now += gap; (time(now), packet(number, 100)) }).collect();
        let mut port = Late { port: InMemoryPort::new(packets), by, now: Time::ZERO, read: Vec::new() };
        let mut probe = Deliveries::default();
        let discipline: Discipline = "codel:target=30ns,interval=200ns".parse().unwrap();
        let buffer = Buffer::Packets(9);
        let context = Context { buffer, packet: Bytes(100), rate: None, seed: 1, hop: 0 };
        let hop = || Queued::new(link(&lldus), buffer, queue::start(&discipline, &context));
        let end = at + 10_000;
        let carried = Carrier::new(&mut port, &mut probe, time(end)).drive(hop()).unwrap();
        if !carried.link_ended {
            let arrivals: Vec<(u64, usize)> = port.read.iter().map(|at| (*at, 100)).collect();
            let mut found = probe.0;
            found.sort_unstable();
            prop_assert_eq!(found, by_hand(hop(), &arrivals, end));
        }
    }
}

/// The plan of a coupled link over generated slots: 1 Mbit/s, a tenth of the slots erased.
fn coupled() -> Plan {
    let experiment = Experiment {
        link: Some(LinkKind::Coupled),
        channel: Some("bernoulli:0.1".parse().unwrap()),
        scheme: Some("harq:10/12".parse().unwrap()),
        rate: Some(BitRate(1_000_000)),
        rtt: Some(Span::from_millis(100)),
        duration: Some(Span::from_secs(60)),
        ..Experiment::default()
    };
    experiment.resolve(&InMemory).unwrap()
}

/// Carries packets over a coupled link until the run ends in the middle, and returns its packet log and its slot log.
fn logs(end: Span) -> (Carried, Vec<u8>, Vec<u8>) {
    let plan = coupled();
    let run = plan.runs()[0];
    let setup = plan.setup(run);
    let mut head = Metadata::new();
    head.set("tool", "test");
    plan.describe(&mut head, &setup, run.seed);
    head.set("hosts", "real");
    head.set("lldu_payload_bytes", "32");
    let form = TableForm::Text(None);
    let mut packets = PacketLog::of_real_hosts(Vec::new(), form, &head, &setup).unwrap();
    let mut slots = SlotLog::new(Vec::new(), form, &head).unwrap();
    let arrivals = (0..400).map(|number| {
        let at = time(20_000_000 * (number as u64 / 2));
        (at, packet(number, if number % 3 == 0 { 60 } else { 1500 }))
    });
    let mut port = InMemoryPort::new(arrivals);
    let mut probes = All(vec![&mut packets, &mut slots]);
    let carrier = Carrier::new(&mut port, &mut probes, setup.begin.saturating_add(end));
    let carried = plan.attach(run, &setup, true, carrier).unwrap().unwrap();
    (carried, packets.finish().unwrap(), slots.finish().unwrap())
}

#[test]
fn the_auditor_accepts_the_log_of_a_coupled_link_and_finds_a_change() {
    // The run ends in the service of a packet, and with others in the queue.
    for millis in 1000..1040 {
        let (_, packets, slots) = logs(Span::from_micros(millis * 997));
        let report = audit_with_slots(&packets[..], &slots[..]).unwrap();
        let broken: Vec<_> = report
            .rules
            .iter()
            .flat_map(|rule| &rule.violations)
            .collect();
        assert!(report.passed(), "{millis}: {broken:#?}");
    }
    let (carried, packets, slots) = logs(Span::from_secs(60));
    assert!(carried.delivered > 100, "{carried:?}");
    let report = audit_with_slots(&packets[..], &slots[..]).unwrap();
    let checks = |name| {
        report
            .rules
            .iter()
            .find(|rule| rule.rule == name)
            .unwrap()
            .checks
    };
    assert_eq!(checks("acked"), 0);
    assert!(checks("repeats") > 0 && checks("slots") > 0);
    // One delivery a nanosecond earlier.
    let text = String::from_utf8(packets).unwrap();
    let row = text
        .lines()
        .find(|line| line.contains(",delivered,"))
        .unwrap();
    let mut fields: Vec<String> = row.split(',').map(str::to_owned).collect();
    let early: f64 = fields[9].parse().unwrap();
    fields[9] = format!("{:.9}", early - 1e-3);
    let changed = text.replace(row, &fields.join(","));
    assert!(!audit(changed.as_bytes(), None).unwrap().passed());
}

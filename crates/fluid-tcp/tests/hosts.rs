//! Hosts and applications of other crates, alone and beside TCP.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use crate::run;

use fluid_tcp::audit::audit;
use fluid_tcp::congestion::{self, Algorithm};
use fluid_tcp::endpoint::sender::Snapshot;
use fluid_tcp::endpoint::{
    Application, Endpoint, Host, Outgoing, Profile, Socket, Supply, Transfer, Transmission,
};
use fluid_tcp::log::PacketLog;
use fluid_tcp::simulation::metrics::{Metrics, RunReport};
use fluid_tcp::simulation::probe::{NoProbe, Probe, SenderEvent};
use fluid_tcp::simulation::{Flow, RunError, Setup, SplitWindow};
use proptest::prelude::*;
use tmt_core::channel::{Losses, SlotChannel, Use};
use tmt_core::format::table::TableForm;
use tmt_core::scheme::SchemeSpec;
use tmt_core::types::{BitRate, Bytes, Metadata, Span, Time, to_f64};
use tmt_link::hop::Attach;
use tmt_link::queue::Buffer;
use tmt_link::timeline::{Builder, GeneratedSlots};
use tmt_link::{CoupledLink, Packet, Segmentation, Tag};

use super::extending::application::OnOff;
use super::extending::host::{DatagramReceiver, DatagramSender, HEADERS};
use super::extending::tcp;

/// Data that an application has supplied and got: times and sizes.
type Record = Arc<Mutex<Vec<(Time, u64)>>>;

/// An application whose data are recorded.
#[derive(Debug)]
struct Recorded<A> {
    of: A,
    supplied: Record,
    delivered: Record,
}

impl<A: Application> Application for Recorded<A> {
    fn supply(&mut self, now: Time) -> Supply {
        let supply = self.of.supply(now);
        if let Supply::Data(bytes) = supply {
            self.supplied.lock().unwrap().push((now, bytes.0));
        }
        supply
    }

    fn on_delivered(&mut self, now: Time, payload: Bytes) {
        self.delivered.lock().unwrap().push((now, payload.0));
    }
}

fn record<A: Application + 'static>(
    flow: Flow,
    application: impl Fn() -> A + Send + Sync + 'static,
) -> (Flow, [Record; 2]) {
    let records: [Record; 2] = Default::default();
    let [supplied, delivered] = records.clone();
    let flow = flow.with(move |_| Recorded {
        of: application(),
        supplied: Arc::clone(&supplied),
        delivered: Arc::clone(&delivered),
    });
    (flow, records)
}

/// Datagrams at a constant rate, 50 per second. Sizes repeat after `sizes.len()` datagrams.
#[derive(Debug)]
struct Call {
    sizes: Vec<u64>,
    sent: usize,
    all: usize,
}

impl Application for Call {
    fn supply(&mut self, now: Time) -> Supply {
        let due =
            Time::ZERO.saturating_add(Span::from_millis(20 * u32::try_from(self.sent).unwrap()));
        if self.sent == self.all {
            return Supply::Ended;
        }
        if now < due {
            return Supply::At(due);
        }
        self.sent += 1;
        Supply::Data(Bytes(self.sizes[(self.sent - 1) % self.sizes.len()]))
    }
}

/// Number of datagrams in a minute.
const ALL: usize = 3000;

/// A call of a minute, in datagrams of these sizes with their headers.
fn call(sizes: &[u64]) -> (Flow, [Record; 2]) {
    let sizes: Vec<u64> = sizes.iter().map(|size| size - HEADERS).collect();
    let flow = Flow::between(|_| (DatagramSender::default(), DatagramReceiver));
    record(flow, move || Call {
        sizes: sizes.clone(),
        sent: 0,
        all: ALL,
    })
}

fn tcp() -> Flow {
    Flow::new("cubic".parse().unwrap(), Profile::Linux.endpoint())
}

/// A run of 61 seconds, in which a call of a minute is over.
fn setup(flows: Vec<Flow>) -> Setup {
    Setup::new(flows, Span::from_millis(100), Span::from_secs(61))
}

fn losses(p: f64) -> Losses {
    let process: SlotChannel = format!("bernoulli:{p}").parse().unwrap();
    Losses::new(&process, 3, Use::Forward)
}

fn report(setup: &Setup, link: impl Attach) -> RunReport {
    run(setup, link, &mut NoProbe).unwrap()
}

/// LLDUs 1 ms apart, each decoded 5 ms later. A packet of 1500 B takes 30, one of 200 B four.
fn timeline_link(setup: &Setup) -> impl Attach + use<> {
    let mut builder = Builder::default();
    for slot in 0..61_000 {
        let at = Time::ZERO.saturating_add(Span::from_millis(slot));
        builder.push(at, Span::from_millis(5), None);
    }
    setup.timeline_link(builder.finish().into(), 30).unwrap()
}

/// Slots of 1 ms without erasures under ARQ.
fn coupled_link(setup: &Setup) -> CoupledLink {
    let channel = "bernoulli:0".parse().unwrap();
    let (rate, lldu) = (BitRate(400_000), Bytes(50));
    let slots = GeneratedSlots::new(rate, lldu, Span::from_secs(61), channel).unwrap();
    let packets = Segmentation::whole(setup.packet, 30);
    CoupledLink::new(slots.trace(1), SchemeSpec::arq(), packets)
}

/// The head of a packet log over `link`, with further keys of that link.
fn head(setup: &Setup, link: &str, buffer: &str, more: &[(&str, &str)]) -> Metadata {
    let mut head = Metadata::new();
    let (flows, ends) = (setup.flows.len().to_string(), setup.end.as_nanos());
    let ends = ends.to_string();
    let keys = [
        ("tool", "test"),
        ("link", link),
        ("rtt_ns", "100000000"),
        ("packet_bytes", "1500"),
        ("buffer", buffer),
        ("flows", &flows),
        ("run_ends_ns", &ends),
        ("lldus_per_packet", "30"),
    ];
    for (key, value) in keys.iter().chain(more) {
        head.set(key, *value);
    }
    head
}

/// Number of violations of each rule that concerns queue and link in a log with this text. Acknowledgements of datagrams are not
/// for the rules of TCP.
fn broken(log: &str) -> Vec<(&'static str, u64)> {
    let report = audit(log.as_bytes(), None).unwrap();
    let rules = report.rules.iter().filter(|rule| {
        let of_hosts = ["acked", "causality"].contains(&rule.rule);
        !of_hosts && rule.violations_total > 0
    });
    rules
        .map(|rule| (rule.rule, rule.violations_total))
        .collect()
}

#[test]
fn packets_of_different_sizes_are_audited_by_their_own() {
    let coupled = [
        ("units_per_packet", "30"),
        ("interleave", "1"),
        ("scheme", "arq"),
        ("tail", "short"),
        ("feedback_delay_ns", "0"),
    ];
    for link in ["synthetic", "timeline", "coupled"] {
        let mut setup = setup(vec![tcp(), call(&[200, 64, 700]).0]);
        setup.buffer = Buffer::Bytes(6000);
        let more: &[(&str, &str)] = match link {
            "synthetic" => &[("rate_bps", "400000")],
            "timeline" => &[],
            _ => &coupled,
        };
        let logged = head(&setup, link, "6000B", more);
        let form = TableForm::Text(None);
        let mut log = PacketLog::new(Vec::new(), form, &logged, &setup).unwrap();
        let report = match link {
            "synthetic" => {
                let link = setup.synthetic_link(BitRate(400_000), None).unwrap();
                run(&setup, link, &mut log)
            }
            "timeline" => run(&setup, timeline_link(&setup), &mut log),
            _ => run(&setup, coupled_link(&setup), &mut log),
        };
        let metrics = report.unwrap().total.metrics;
        assert!(metrics.packets_dropped > 10, "{link}: {metrics:?}");
        let text = String::from_utf8(log.finish().unwrap()).unwrap();
        assert_eq!(broken(&text), [], "{link}");
        // A buffer of another size, or in packets, does not explain what was dropped.
        for buffer in ["5800B", "7400B", "4pkt", "40pkt"] {
            let other = text.replace("buffer: 6000B", &format!("buffer: {buffer}"));
            let found = broken(&other);
            assert!(
                found.iter().any(|(rule, _)| *rule == "queue"),
                "{link} {buffer}: {found:?}"
            );
        }
        // A packet of another size takes another service.
        let other = text.replacen(",700\n", ",764\n", 1);
        let found = broken(&other);
        assert!(!found.is_empty(), "{link}");
    }
}

/// Every datagram is sent on time, and delivered after `delay` ms.
fn check_idle(metrics: &Metrics, [supplied, delivered]: &[Record; 2], delay: u32) {
    assert_eq!(metrics.packets_sent, ALL as u64);
    assert_eq!(metrics.packets_delivered, ALL as u64);
    assert_eq!(metrics.packets_arrived, ALL as u64);
    assert_eq!((metrics.acks_sent, metrics.packets_retransmitted), (0, 0));
    let delay = Span::from_millis(delay);
    for measured in [metrics.delay_min_s, metrics.delay_max_s] {
        assert_eq!(measured, Some(delay.as_secs_f64()));
    }
    let later = |(at, size): &(Time, u64)| (at.saturating_add(delay), *size);
    let expected: Vec<_> = supplied.lock().unwrap().iter().map(later).collect();
    assert_eq!(*delivered.lock().unwrap(), expected);
    let last = Span::from_millis(20 * (u32::try_from(ALL).unwrap() - 1));
    let completion = last.saturating_add(delay).as_secs_f64();
    assert_eq!(metrics.completion_time_s, Some(completion));
}

#[test]
fn on_an_idle_link_the_delay_of_a_datagram_is_serialisation_and_propagation() {
    let (flow, records) = call(&[200]);
    let setup = setup(vec![flow]);
    // 1600 bits at 800 kbit/s take 2 ms, the propagation 50 ms.
    let link = setup.synthetic_link(BitRate(800_000), None).unwrap();
    let on_synthetic = report(&setup, link);
    check_idle(&on_synthetic.flows[0], &records, 52);
    // 4 ms of each 20 ms would be 20 %; 2 ms are 10 %.
    let used = on_synthetic.total.link_utilisation.unwrap();
    assert!(
        (used - 6.0 / 59.982 * 59.982 / 60.032).abs() < 1e-3,
        "{used}"
    );
    let clear = || {
        for record in &records {
            record.lock().unwrap().clear();
        }
    };
    clear();
    // The fourth LLDU is sent 3 ms after the first.
    let on_timeline = report(&setup, timeline_link(&setup));
    check_idle(&on_timeline.flows[0], &records, 3 + 5 + 50);
    assert_eq!(on_timeline.total.lldus_used, Some(4 * ALL as u64));
    clear();
    // A slot is decoded at its end.
    let on_coupled = report(&setup, coupled_link(&setup));
    check_idle(&on_coupled.flows[0], &records, 3 + 1 + 50);
    assert_eq!(on_coupled.total.lldus_used, Some(4 * ALL as u64));
}

#[test]
fn payload_and_bytes_of_datagrams_are_those_of_their_own_sizes() {
    let sizes = [100, 1400, 328];
    let (flow, records) = call(&sizes);
    let setup = setup(vec![flow]);
    let link = setup.synthetic_link(BitRate(8_000_000), None).unwrap();
    let metrics = &report(&setup, link).flows[0];
    let each = sizes.map(|size| size * ALL as u64 / 3);
    let (whole, payload) = (
        each.iter().sum::<u64>(),
        (1828 - 3 * HEADERS) * ALL as u64 / 3,
    );
    let time = metrics.completion_time_s.unwrap();
    let rate = |bytes: u64| Some(8.0 * to_f64(bytes) / time);
    assert_eq!(metrics.goodput_bps, rate(payload));
    assert_eq!(metrics.throughput_bps, rate(whole));
    let [supplied, delivered] = records.map(|record| record.lock().unwrap().clone());
    let bytes = |record: Vec<(Time, u64)>| record.into_iter().map(|(_, size)| size);
    assert!(bytes(supplied).eq(bytes(delivered)), "boundaries are kept");
}

#[test]
fn what_is_not_lost_or_dropped_is_delivered_alone_and_beside_tcp() {
    // The call needs 80 kbit/s. The third link has less, so that the queue overflows.
    for (rate, p, buffer) in [(1_000_000, 0.1, 100), (400_000, 0.0, 10), (60_000, 0.05, 5)] {
        for others in 0..3 {
            let (flow, [_, delivered]) = call(&[200]);
            let mut flows = vec![tcp(); others];
            flows.insert(others / 2, flow);
            let mut setup = setup(flows);
            setup.buffer = Buffer::Packets(buffer);
            let link = setup.synthetic_link(BitRate(rate), Some(losses(p)));
            let report = report(&setup, link.unwrap());
            let metrics = &report.flows[others / 2];
            let gone = metrics.packets_lost + metrics.packets_dropped;
            assert_eq!(metrics.packets_sent, ALL as u64);
            assert_eq!(metrics.packets_lost > 0, p > 0.0);
            if others == 0 {
                assert_eq!(metrics.packets_dropped > 0, rate < 80_000);
                assert_eq!(metrics.packets_delivered, metrics.packets_sent - gone);
            }
            // Beside TCP, some may still wait at the end of the run.
            let missing = metrics.packets_sent - gone - metrics.packets_delivered;
            assert!(missing <= buffer + 50, "{missing}");
            assert_eq!(
                metrics.packets_delivered,
                delivered.lock().unwrap().len() as u64
            );
            let is_complete = metrics.packets_delivered == metrics.packets_sent;
            assert_eq!(metrics.completion_time_s.is_some(), is_complete);
            for (number, flow) in report.flows.iter().enumerate() {
                let is_starved = rate < 80_000 && number != others / 2;
                assert!(flow.packets_delivered > 0 || is_starved, "{number}");
            }
            let sent: u64 = report.flows.iter().map(|flow| flow.packets_sent).sum();
            assert_eq!(report.total.metrics.packets_sent, sent);
            // All bytes together fit the link.
            let throughputs = report.flows.iter().filter_map(|flow| flow.throughput_bps);
            assert!(throughputs.sum::<f64>() <= 1.02 * to_f64(rate));
            assert!(report.total.metrics.link_share.unwrap() <= 1.0);
        }
    }
}

#[test]
fn datagrams_and_tcp_share_a_timeline_and_a_coupled_link() {
    let (flow, [_, delivered]) = call(&[200]);
    let setup = setup(vec![tcp(), flow]);
    let check = |report: &RunReport| {
        let [bulk, call] = &report.flows[..] else {
            panic!("two flows");
        };
        assert_eq!(call.packets_sent, ALL as u64);
        assert_eq!(call.packets_lost, 0);
        let delivered = std::mem::take(&mut *delivered.lock().unwrap()).len() as u64;
        assert_eq!(call.packets_delivered, delivered);
        // At the end of the run, up to 100 packets of 30 ms are in the queue, and with them the datagrams of 3 s.
        let waiting = call.packets_sent - call.packets_dropped - delivered;
        assert!(waiting <= 150, "{waiting}");
        // A packet takes 30 ms. The call needs a fifth of the link.
        assert!(bulk.packets_delivered > 1200, "{}", bulk.packets_delivered);
        let lldus = 30 * bulk.packets_arrived + 4 * call.packets_arrived;
        let used = report.total.lldus_used.unwrap();
        assert!(lldus <= used && used <= lldus + 100 * 30, "{lldus} {used}");
    };
    check(&report(&setup, timeline_link(&setup)));
    check(&report(&setup, coupled_link(&setup)));
}

#[test]
fn tcp_is_the_same_through_the_trait_for_hosts() {
    for (control, profile, queue) in [
        ("cubic", Profile::Linux, "drop-tail"),
        ("reno", Profile::Rfc, "drop-tail"),
        ("bbr", Profile::Linux, "drop-tail"),
        ("cubic", Profile::Linux, "codel"),
        ("vegas", Profile::Ns2, "codel"),
    ] {
        let endpoint = Endpoint {
            handshake: false,
            ..profile.endpoint()
        };
        let whole = Flow::new(control.parse().unwrap(), endpoint);
        let hosts = tcp::between(&whole);
        let bytes = 2000 * (1500 - endpoint.headers.0);
        let run_with = |flow: Flow, number| {
            let flow = flow.with(move |_| Transfer(Bytes(bytes)));
            let mut setup = setup(vec![flow.clone(), flow]);
            setup.discipline = queue.parse().unwrap();
            setup.buffer = Buffer::Packets(30);
            match number {
                0 => {
                    let link = setup.synthetic_link(BitRate(2_000_000), Some(losses(0.01)));
                    report(&setup, link.unwrap())
                }
                1 => report(&setup, timeline_link(&setup)),
                _ => report(&setup, coupled_link(&setup)),
            }
        };
        for number in 0..3 {
            let [whole, hosts] = [&whole, &hosts].map(|flow| run_with(flow.clone(), number));
            for (flow, (one, other)) in whole.flows.iter().zip(&hosts.flows).enumerate() {
                let what = format!("{control} {profile:?} {queue}, link {number}, flow {flow}");
                let of = |metrics: &Metrics| {
                    let arrived = (metrics.packets_arrived, metrics.packets_delivered);
                    let gone = (metrics.packets_lost, metrics.packets_dropped);
                    let sent = (metrics.packets_sent, metrics.packets_retransmitted);
                    (sent, arrived, gone, metrics.acks_sent, metrics.goodput_bps)
                };
                assert!(one.packets_delivered > 500, "{what}: {one:?}");
                assert_eq!(of(one), of(other), "{what}");
            }
        }
    }
}

/// Contents of acknowledgements, which a tag finds: all ranges of numbers that have arrived, however many.
type Ranges = Rc<RefCell<Vec<Vec<(u64, u64)>>>>;

/// Answers each datagram with all that has arrived.
#[derive(Debug, Default)]
struct Answering {
    ranges: Ranges,
    has: Vec<(u64, u64)>,
    answers: bool,
}

impl Host for Answering {
    fn on_packet(&mut self, now: Time, packet: &Packet, socket: &mut Socket) {
        let number = packet.tag.0[0];
        match self.has.last_mut() {
            Some((_, end)) if *end == number => *end += 1,
            _ => self.has.push((number, number + 1)),
        }
        self.answers = true;
        DatagramReceiver.on_packet(now, packet, socket);
    }

    fn poll(&mut self, _now: Time, _socket: &mut Socket) -> Option<Outgoing> {
        let ranges = std::mem::take(&mut self.answers).then(|| self.has.clone())?;
        let mut kept = self.ranges.borrow_mut();
        kept.push(ranges);
        let size = Bytes(60);
        let tag = Tag([kept.len() as u64 - 1, 0]);
        Some(Outgoing {
            size,
            tag,
            ..Outgoing::default()
        })
    }
}

/// Sends datagrams, and keeps the last answer with its time.
#[derive(Debug, Default)]
struct Asking {
    ranges: Ranges,
    sender: DatagramSender,
    heard: Record,
    last: Arc<Mutex<Vec<(u64, u64)>>>,
}

impl Host for Asking {
    fn on_packet(&mut self, now: Time, packet: &Packet, _socket: &mut Socket) {
        assert_eq!(packet.size, Bytes(60));
        let index = usize::try_from(packet.tag.0[0]).unwrap();
        let mut last = self.last.lock().unwrap();
        last.clone_from(&self.ranges.borrow()[index]);
        self.heard.lock().unwrap().push((now, packet.tag.0[0]));
    }

    fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<Outgoing> {
        self.sender.poll(now, socket)
    }

    fn due(&self) -> Option<Time> {
        self.sender.due()
    }
}

#[test]
fn acknowledgements_of_any_contents_cross_the_return_path() {
    let (heard, last) = (Record::default(), Arc::default());
    let shared = (Arc::clone(&heard), Arc::clone(&last));
    let flow = Flow::between(move |_| {
        let ranges = Ranges::default();
        let near = Asking {
            ranges: Rc::clone(&ranges),
            heard: Arc::clone(&shared.0),
            last: Arc::clone(&shared.1),
            ..Asking::default()
        };
        let far = Answering {
            ranges,
            ..Answering::default()
        };
        (near, far)
    });
    let (flow, [_, delivered]) = record(flow, || Call {
        sizes: vec![200 - HEADERS],
        sent: 0,
        all: ALL,
    });
    let mut setup = setup(vec![flow]);
    setup.path.terrestrial_rtt = Span::from_millis(7);
    // 480 bits take 8 ms.
    setup.return_path.rate = Some(BitRate(60_000));
    let link = |setup: &Setup| {
        let link = setup.synthetic_link(BitRate(800_000), Some(losses(0.2)));
        link.unwrap()
    };
    let metrics = &report(&setup, link(&setup)).flows[0];
    assert_eq!(metrics.acks_sent, metrics.packets_delivered);
    let arrivals = delivered.lock().unwrap().clone();
    let heard = std::mem::take(&mut *heard.lock().unwrap());
    // Back over the return path, and half of each round trip; ⌊3.5 ms⌋ in ns is exact.
    let back = Span::from_nanos(8_000_000 + 50_000_000 + 3_500_000).unwrap();
    let expected = arrivals.iter().map(|(at, _)| at.saturating_add(back));
    assert!(heard.iter().map(|(at, _)| *at).eq(expected));
    let ranges: &Vec<(u64, u64)> = &last.lock().unwrap();
    assert!(ranges.len() > 100, "{}", ranges.len());
    let acknowledged: u64 = ranges.iter().map(|(from, to)| to - from).sum();
    assert_eq!(acknowledged, metrics.packets_delivered);
    setup.return_path.loss = Some(losses(1.0));
    let metrics = &report(&setup, link(&setup)).flows[0];
    assert_eq!(metrics.acks_lost, metrics.acks_sent);
}

#[test]
fn a_split_path_refuses_hosts_that_are_not_tcp() {
    let (flow, _) = call(&[200]);
    let mut setup = setup(vec![tcp(), flow]);
    setup.path.split = Some(SplitWindow::Whole);
    let link = setup.synthetic_link(BitRate(800_000), None).unwrap();
    let refused = run(&setup, link, &mut NoProbe).unwrap_err();
    assert_eq!(refused, RunError::NotTcp { flow: 1 });
}

/// Notes what happens in a run, down to the state of the senders.
#[derive(Debug, Default)]
struct Notes {
    sent: Vec<(Time, Transmission)>,
    senders: Vec<(Time, usize, Snapshot, u64)>,
}

impl Probe for Notes {
    fn on_sent(&mut self, now: Time, transmission: Transmission) {
        self.sent.push((now, transmission));
    }

    fn on_sender(
        &mut self,
        now: Time,
        flow: usize,
        _event: SenderEvent,
        sender: &Snapshot,
        _queue: u64,
        delivered: u64,
    ) {
        self.senders.push((now, flow, *sender, delivered));
    }
}

/// Bursts of 40 pieces each 100 ms, 3 s of silence between them.
fn bursts(piece: u64) -> OnOff {
    OnOff {
        pieces: 40,
        piece: Bytes(piece),
        spacing: Span::from_millis(100),
        pause: Span::from_secs(3),
        bursts: 5,
        left: 40,
        next: Time::ZERO,
    }
}

#[test]
fn a_stream_in_bursts_is_delivered_whole_and_never_sent_ahead_of_its_data() {
    for profile in [Profile::Ns2, Profile::Rfc, Profile::Linux] {
        for cc in ["newreno", "cubic", "bbr", "bbr1"] {
            let endpoint = Endpoint {
                sack: true,
                ..profile.endpoint()
            };
            let flow = Flow::new(cc.parse().unwrap(), endpoint);
            let full = flow.payload(Bytes(1500)).0;
            // Nine packets a piece or a tenth of one; 1 Mbit/s or 11 kbit/s, and a loss now and then.
            for piece in [9 * full, full / 10] {
                let (flow, [supplied, delivered]) = record(flow.clone(), move || bursts(piece));
                let setup = setup(vec![flow]);
                let link = setup.synthetic_link(BitRate(2_000_000), Some(losses(0.01)));
                let mut notes = Notes::default();
                let report = run(&setup, link.unwrap(), &mut notes).unwrap();
                let context = format!("{profile:?} {cc} {piece}");
                let metrics = &report.flows[0];
                let supplied = supplied.lock().unwrap();
                let delivered = delivered.lock().unwrap();
                let sum =
                    |record: &[(Time, u64)]| record.iter().map(|(_, bytes)| bytes).sum::<u64>();
                assert_eq!(sum(&supplied), 200 * piece, "{context}");
                assert_eq!(sum(&delivered), 200 * piece, "{context}");
                // The last piece is supplied after 5 · 39 · 100 ms and 4 pauses.
                let completion = metrics.completion_time_s.unwrap();
                assert!(completion > 31.5, "{context}: {completion}");
                let rate = metrics.goodput_bps.unwrap();
                let expected = 8.0 * to_f64(200 * piece) / completion;
                assert!((rate / expected - 1.0).abs() < 1e-12, "{context}");
                let by = |record: &[(Time, u64)], now: Time| {
                    let until = record.iter().take_while(|(at, _)| *at <= now);
                    until.map(|(_, bytes)| bytes).sum::<u64>()
                };
                for (at, _) in delivered.iter() {
                    assert!(by(&delivered, *at) <= by(&supplied, *at), "{context}");
                }
                let mut next = 0;
                for (at, packet) in &notes.sent {
                    if packet.copy == 1 {
                        assert_eq!(packet.packet, next, "{context}");
                        next += 1;
                        if piece > full {
                            assert!(next * full <= by(&supplied, *at), "{context}: {packet:?}");
                        } else {
                            assert!(next <= by(&supplied, *at).div_ceil(piece), "{context}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn pieces_that_wait_fill_packets_and_what_is_left_is_sent_at_once() {
    // 1460 B of payload. In the first round trip the window has room for one packet; 30 pieces of 100 B wait.
    let endpoint = Endpoint {
        rwnd: 1,
        ..Profile::Rfc.endpoint()
    };
    let flow = Flow::new("fixed:1".parse().unwrap(), endpoint);
    let pieces = || OnOff {
        pieces: 31,
        piece: Bytes(100),
        spacing: Span::from_millis(1),
        pause: Span::ZERO,
        bursts: 1,
        left: 31,
        next: Time::ZERO,
    };
    let (flow, [_, delivered]) = record(flow, pieces);
    let setup = setup(vec![flow]);
    let link = setup.synthetic_link(BitRate(100_000_000), None).unwrap();
    let metrics = &report(&setup, link).flows[0];
    let sizes: Vec<u64> = delivered
        .lock()
        .unwrap()
        .iter()
        .map(|(_, size)| *size)
        .collect();
    // The first piece goes alone. The second packet is full of what has come since, and the third of the rest.
    assert_eq!(sizes, [100, 1460, 1460, 80]);
    assert_eq!(metrics.packets_delivered, 4);
}

proptest! {
    /// Data supplied at once by an application of one's own are a transfer of that size, to the last event.
    #[test]
    fn a_transfer_supplied_by_an_application_is_that_of_the_command_line(
        flows in prop::collection::vec((
            prop::sample::select(congestion::ENTRIES.iter().flat_map(|entry| entry.examples).copied().collect::<Vec<_>>()),
            prop::sample::select(vec![Profile::Ns2, Profile::Rfc, Profile::Linux]),
            (0u64..400_000, any::<bool>(), any::<bool>(), 1u32..4),
            0u32..2000,
        ), 1..4),
        (rate, rtt, terrestrial) in (200_000u64..20_000_000, 1u32..600, prop_oneof![Just(0u32), 1u32..50]),
        (buffer, loss, split) in (2u64..100, prop_oneof![Just(0.0), 0.0..0.2], any::<bool>()),
    ) {
        let flow = |&(cc, profile, (bytes, handshake, pacing, delayed_ack), start): &(&str, Profile, (u64, bool, bool, u32), u32)| {
            let profile = profile.endpoint();
            let sack = profile.sack || cc.starts_with("bbr");
            let endpoint = Endpoint { handshake, pacing: pacing || profile.pacing, delayed_ack, sack, ..profile };
            let flow = Flow::new(cc.parse::<Algorithm>().unwrap(), endpoint);
            (flow.starting(Span::from_millis(start)), Bytes(bytes))
        };
        let sized = flows.iter().map(flow).map(|(flow, bytes)| flow.of_bytes(bytes, Bytes(1500)).unwrap());
        let supplied = flows.iter().map(flow).map(|(flow, bytes)| flow.with(move |_| Transfer(bytes)));
        let simulate = |flows: Vec<Flow>| {
            let mut setup = setup(flows);
            setup.rtt = Span::from_millis(rtt);
            setup.path.terrestrial_rtt = Span::from_millis(terrestrial);
            setup.buffer = Buffer::Packets(buffer);
            setup.path.split = split.then_some(SplitWindow::Share);
            let link = || setup.synthetic_link(BitRate(rate), Some(losses(loss)).filter(|_| !split)).unwrap();
            let mut notes = Notes::default();
            let report = run(&setup, link(), &mut notes).unwrap();
            assert_eq!(run(&setup, link(), &mut NoProbe).unwrap(), report);
            (report, notes.sent, notes.senders)
        };
        prop_assert_eq!(simulate(sized.collect()), simulate(supplied.collect()));
    }
}

/// Datagrams of 1000 B that leave at these times, ms.
#[derive(Debug)]
struct Scheduled {
    at_ms: Vec<u32>,
    sent: usize,
}

impl Application for Scheduled {
    fn supply(&mut self, now: Time) -> Supply {
        let Some(at_ms) = self.at_ms.get(self.sent) else {
            return Supply::Ended;
        };
        let due = Time::ZERO.saturating_add(Span::from_millis(*at_ms));
        if now < due {
            return Supply::At(due);
        }
        self.sent += 1;
        Supply::Data(Bytes(1000 - HEADERS))
    }
}

fn scheduled(at_ms: Vec<u32>) -> Flow {
    let flow = Flow::between(|_| (DatagramSender::default(), DatagramReceiver));
    flow.with(move |_| Scheduled {
        at_ms: at_ms.clone(),
        sent: 0,
    })
}

/// `number` times, one each 10 ms.
fn each_10_ms(from_ms: u32, number: u32) -> impl Iterator<Item = u32> {
    (0..number).map(move |i| from_ms + 10 * i)
}

#[test]
fn convergence_takes_the_windows_that_a_count_by_hand_says() {
    // RTT 20 ms: windows of 200 ms from the second start on. A datagram arrives 10.08 ms after it leaves, so that of the first flow
    // each window has 20. The other has 5, 15 and then `third` in a window.
    let converges = |third: u32, ends_ms: u32| {
        let first = scheduled(each_10_ms(5, ends_ms / 10).collect());
        let joins = each_10_ms(1007, 5).chain(each_10_ms(1197, 15));
        let joins = joins
            .chain(each_10_ms(1397, third))
            .chain(each_10_ms(1997, 200));
        let second = scheduled(joins.collect()).starting(Span::from_secs(1));
        let setup = Setup::new(
            vec![first, second],
            Span::from_millis(20),
            Span::from_secs(3),
        );
        let link = setup.synthetic_link(BitRate(100_000_000), None).unwrap();
        run(&setup, link, &mut NoProbe)
            .unwrap()
            .total
            .convergence_time_s
    };
    // (20 + 15)² / 2 (20² + 15²) = 0.98; with 17 it is 0.9935, with 16 0.9878, and 1/1.01 = 0.9901.
    assert_eq!(converges(17, 5000), Some(0.6));
    // Two windows with 20 and none, then as many.
    assert_eq!(converges(16, 5000), Some(1.2));
    // The first flow is complete before that.
    assert_eq!(converges(16, 2100), None);
    assert_eq!(converges(17, 2100), Some(0.6));
}

#[test]
fn flows_that_begin_together_or_alone_have_their_convergence_time() {
    let all = || scheduled(each_10_ms(5, 500).collect());
    let converges = |flows| {
        let setup = Setup::new(flows, Span::from_millis(20), Span::from_secs(3));
        let link = setup.synthetic_link(BitRate(100_000_000), None).unwrap();
        let report = run(&setup, link, &mut NoProbe).unwrap();
        report.total.convergence_time_s
    };
    assert_eq!(converges(vec![all(), all()]), Some(0.2));
    assert_eq!(converges(vec![all()]), None);
}

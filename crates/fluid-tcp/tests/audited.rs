//! Random runs: the auditor checks their logs, and its counts must be those of the report.

use std::num::NonZeroU64;

use crate::run;

use fluid_tcp::audit::{AuditReport, audit, audit_with_slots};
use fluid_tcp::congestion;
use fluid_tcp::endpoint::{
    CutFrom, Endpoint, LossDetection, Profile, Recovery, RttSampling, Source,
};
use fluid_tcp::log::{PacketLog, SlotLog};
use fluid_tcp::simulation::metrics::RunReport;
use fluid_tcp::simulation::probe::All;
use fluid_tcp::simulation::{Flow, Path, Setup, SplitAnnounce, SplitWindow};
use proptest::prelude::*;
use tmt_core::channel::{Channel, ChannelSpec};
use tmt_core::format::table::TableForm;
use tmt_core::format::text::encode;
use tmt_core::format::{Options, TraceReader};
use tmt_core::named::Entry;
use tmt_core::scheme::Rounds;
use tmt_core::types::{BitRate, Bytes, Fate, Lldu, Metadata, Span, Time};
use tmt_link::hop::{PathTrace, ReturnPath};
use tmt_link::queue::{self, Buffer, Discipline};
use tmt_link::timeline::{Builder, SlotTrace};
use tmt_link::{CoupledLink, Hold, InOrder, LostFeedback, Tail};
use tmt_link::{Link, Packing, Segmentation, TimelineLink};

const PACKET: Bytes = Bytes(1500);

const TEXT: TableForm = TableForm::Text(None);

/// Example texts of every entry, with defaults and with all its parameters.
fn examples<M>(entries: &[&'static Entry<M>]) -> Vec<&'static str> {
    let texts = entries.iter().flat_map(|entry| entry.examples);
    texts.copied().collect()
}

/// Random settings of both ends of a flow.
fn endpoints() -> impl Strategy<Value = Endpoint> {
    let switches = (
        prop::sample::select(&[Profile::Ns2, Profile::Rfc, Profile::Linux][..]),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    (
        switches,
        1u32..3,
        1u32..12,
        // Far above what these links hold. Without a limit Hybla once sent tens of millions of packets.
        prop_oneof![1u64..40, Just(1 << 12)],
        1u64..9,
    )
        .prop_map(
            |(
                (profile, sack, limited_transmit, per_window, from_window, handshake),
                delayed_ack,
                initial_window,
                rwnd,
                first_share,
            )| {
                let profile = profile.endpoint();
                Endpoint {
                    sack,
                    recovery: if sack {
                        profile.recovery
                    } else {
                        Recovery::Halving
                    },
                    loss_detection: if sack {
                        profile.loss_detection
                    } else {
                        LossDetection::DupAcks
                    },
                    f_rto: profile.f_rto && sack,
                    ecn: per_window,
                    pacing: from_window,
                    limited_transmit,
                    rtt_sampling: if per_window {
                        RttSampling::PerWindow
                    } else {
                        profile.rtt_sampling
                    },
                    cut_from: if from_window {
                        CutFrom::Window
                    } else {
                        profile.cut_from
                    },
                    handshake,
                    delayed_ack,
                    initial_window,
                    rwnd,
                    first_rwnd: rwnd / first_share,
                    ..profile
                }
            },
        )
}

fn flows() -> impl Strategy<Value = Vec<Flow>> {
    let flow = (
        endpoints(),
        prop::sample::select(examples(congestion::ENTRIES)),
        0u32..3000,
        prop::option::of(0u64..200),
        prop::option::of(0u32..100),
        prop_oneof![Just(0), 0u8..8],
    )
        .prop_map(|(mut endpoint, cc, start, packets, terrestrial, class)| {
            // BBR needs SACK.
            endpoint.sack |= cc.starts_with("bbr");
            Flow {
                start: Span::from_millis(start),
                terrestrial_rtt: terrestrial.map(Span::from_millis),
                source: Source::Bulk {
                    packets,
                    bytes: None,
                },
                class,
                ..Flow::new(cc.parse().unwrap(), endpoint)
            }
        });
    // Half of the runs have flows of equal endpoints, as those of the command line.
    (prop::collection::vec(flow, 1..5), any::<bool>()).prop_map(|(mut flows, equal)| {
        let first = flows[0].endpoint;
        for flow in flows.iter_mut().filter(|_| equal) {
            flow.endpoint = Endpoint {
                sack: first.sack || flow.endpoint.sack,
                ..first
            };
        }
        flows
    })
}

/// Timelines of up to a minute for the return path, repeated or not.
fn return_traces() -> impl Strategy<Value = PathTrace> {
    let rows = prop::collection::vec((1u64..60_000_000, 0u64..90_000_000), 9..2000);
    let segmentations = prop_oneof![
        (1u64..9).prop_map(|lldus| Segmentation::whole(Bytes(40), lldus)),
        (8u64..2000)
            .prop_map(|payload| Packing::Bytes.segmentation(Bytes(40), of_payload(payload))),
    ];
    (rows, segmentations, any::<bool>()).prop_map(|(rows, segmentation, looped)| {
        let (mut at, mut builder) = (0, Builder::default());
        for (step, delay) in rows {
            at += step;
            let delay = Span::from_nanos(delay.saturating_sub(1_000_000)).unwrap();
            builder.push(Time::from_nanos(at).unwrap(), delay, None);
        }
        PathTrace {
            timeline: builder.finish().into(),
            segmentation,
            period: looped.then(|| Span::from_nanos(at).unwrap()),
        }
    })
}

fn of_payload(bytes: u64) -> NonZeroU64 {
    NonZeroU64::new(bytes).unwrap()
}

fn setups() -> impl Strategy<Value = Setup> {
    let queues = prop::sample::select(examples(queue::ENTRIES));
    let returns = (
        prop::option::of(0.0..=1.0f64),
        prop::option::of(100u64..1_000_000),
        prop::option::of(return_traces()),
    );
    let size = (0u64..1_200_000_001, 1u64..120, 1u32..60);
    let split = prop::sample::select(vec![SplitWindow::Whole, SplitWindow::Share]);
    let path = (
        prop_oneof![Just(0), 0u64..500_000_001],
        prop::option::of(split),
    );
    (flows(), size, path, queues, returns).prop_map(
        |(flows, (rtt, buffer, seconds), (terrestrial_rtt, split), queue, (p, rate, trace))| {
            Setup {
                discipline: queue.parse().unwrap(),
                path: Path {
                    terrestrial_rtt: Span::from_nanos(terrestrial_rtt).unwrap(),
                    split,
                    announce: if buffer % 2 == 0 {
                        SplitAnnounce::Acks
                    } else {
                        SplitAnnounce::Every
                    },
                    feedback_delay: Span::ZERO,
                },
                return_path: ReturnPath {
                    loss: p
                        .map(|p| Channel::of_return_path(ChannelSpec::Bernoulli { p }, 1).into()),
                    rate: rate.map(BitRate).filter(|_| trace.is_none()),
                    trace,
                    buffer: Buffer::Packets(buffer.max(2)),
                    requested: None,
                },
                packet: PACKET,
                buffer: Buffer::Packets(buffer),
                ..Setup::new(
                    flows,
                    Span::from_nanos(rtt).unwrap(),
                    Span::from_secs(seconds),
                )
            }
        },
    )
}

pub(crate) fn head(setup: &Setup, link: &str, key: &str, value: u64) -> Metadata {
    let mut head = Metadata::new();
    let entries = [
        ("tool", "test".to_owned()),
        ("log", "packets".to_owned()),
        ("link", link.to_owned()),
        ("rtt_ns", setup.rtt.as_nanos().to_string()),
        ("packet_bytes", setup.packet.0.to_string()),
        (
            "buffer",
            format!("{}pkt", setup.buffer.packets(setup.packet.0)),
        ),
        ("queue", setup.discipline.to_string()),
        (
            "terrestrial_rtt_ns",
            setup.path.terrestrial_rtt.as_nanos().to_string(),
        ),
        (
            "path",
            setup.path.split.map_or("e2e", |_| "split").to_owned(),
        ),
        (key, value.to_string()),
        ("flows", setup.flow_count().to_string()),
        ("seed", "1".to_owned()),
        ("run_ends_ns", setup.end.as_nanos().to_string()),
    ];
    for (key, value) in entries {
        head.set(key, value);
    }
    let distances = setup.numbered().map(|flow| setup.terrestrial_rtt(&flow));
    let distances: Vec<String> = distances.map(|rtt| rtt.as_nanos().to_string()).collect();
    head.set("flow_terrestrial_rtts_ns", distances.join(" "));
    let first = setup.flows[0].endpoint;
    let delays = |it: &Endpoint| {
        let quick = (it.quick_acks, it.quick_while_growing);
        (it.delayed_ack, it.delayed_ack_timer, quick)
    };
    if setup
        .flows
        .iter()
        .all(|flow| delays(&flow.endpoint) == delays(&first))
    {
        head.set("delayed_ack", first.delayed_ack.to_string());
        head.set(
            "delayed_ack_timer_ns",
            first.delayed_ack_timer.as_nanos().to_string(),
        );
        head.set("quick_acks", first.quick_acks.to_string());
        if first.quick_while_growing {
            head.set("quick_while_growing", "on");
        }
    }
    let classes: Vec<_> = setup.numbered().map(|it| it.class.to_string()).collect();
    head.set("flow_classes", classes.join(" "));
    if setup.return_path.loss.is_some() {
        head.set("return_loss", "on");
        let endpoints = setup.flows.iter().map(|flow| flow.endpoint);
        let held_back = endpoints
            .filter(|it| it.sack)
            .map(|it| it.sack_compression.as_nanos());
        if let Some(longest) = held_back.max().filter(|longest| *longest > 0) {
            head.set("sack_compression_ns", longest.to_string());
        }
    }
    if let Some(rate) = setup.return_path.rate {
        head.set("return_rate_bps", rate.0.to_string());
    }
    if setup.return_path.trace.is_some() {
        head.set("return_trace", "on");
    }
    head
}

pub(crate) fn audited(
    setup: &Setup,
    link: impl Link,
    head: &Metadata,
    timeline: Option<&[u8]>,
) -> (RunReport, AuditReport) {
    let mut log = PacketLog::new(Vec::new(), TEXT, head, setup).unwrap();
    let report = run(setup, link, &mut log).unwrap();
    let log = log.finish().unwrap();
    let timeline = timeline.map(|timeline| TraceReader::new(timeline, Options::default()).unwrap());
    (report, audit(&log[..], timeline).unwrap())
}

/// The packet log and the slot log of one run.
pub(crate) fn with_slots(setup: &Setup, link: &CoupledLink, head: &Metadata) -> (Vec<u8>, Vec<u8>) {
    let mut packets = PacketLog::new(Vec::new(), TEXT, head, setup).unwrap();
    let mut slots = SlotLog::new(Vec::new(), TEXT, head).unwrap();
    run(setup, link, &mut All(vec![&mut packets, &mut slots])).unwrap();
    (packets.finish().unwrap(), slots.finish().unwrap())
}

/// Schemes of every family, with and without limited rounds and interleaving.
fn schemes() -> Vec<&'static str> {
    let more = [
        "arq:rounds=1",
        "fec:3/4,interleave=5",
        "harq:4/5,extra=1,rounds=1,interleave=3",
    ];
    tmt_core::scheme::examples().chain(more).collect()
}

/// Checks that the auditor finds no violation, and that its counts are those of the run.
pub(crate) fn agree(
    setup: &Setup,
    report: &RunReport,
    audit: &AuditReport,
) -> Result<(), TestCaseError> {
    for rule in &audit.rules {
        prop_assert_eq!(
            rule.violations_total,
            0,
            "{}: {:?}",
            rule.rule,
            rule.violations.first()
        );
    }
    let (metrics, counts) = (&report.total.metrics, &audit.totals.counts);
    prop_assert_eq!(metrics.packets_sent, counts.copies_sent);
    prop_assert_eq!(metrics.packets_retransmitted, counts.copies_retransmitted);
    // A proxy sends again what the queue after it drops; the log does not count these drops.
    let hidden = setup.path.split.is_some() && setup.discipline != Discipline::default();
    let dropped = metrics.packets_dropped;
    prop_assert!(dropped == counts.dropped_at_queue || hidden && dropped > counts.dropped_at_queue);
    prop_assert_eq!(
        metrics.packets_spurious,
        counts.duplicates_received + counts.duplicates_at_proxy
    );
    prop_assert_eq!(metrics.packets_delivered, counts.packets_delivered_in_order);
    Ok(())
}

proptest! {
    #[test]
    fn a_run_over_a_synthetic_link_passes_its_audit(
        setup in setups(),
        rate in 10_000u64..5_000_000,
        p in prop_oneof![Just(0.0), 0.0..0.3f64, Just(1.0)],
        seed: u64,
    ) {
        let p = if setup.path.split.is_some() { 0.0 } else { p };
        let channel = Channel::new(ChannelSpec::Bernoulli { p }, seed);
        let link = setup.synthetic_link(BitRate(rate), Some(channel.into())).unwrap();
        let (report, audit) = audited(&setup, link, &head(&setup, "synthetic", "rate_bps", rate), None);
        agree(&setup, &report, &audit)?;
    }

    #[test]
    fn a_run_over_a_timeline_passes_its_audit_slot_by_slot(
        setup in setups(),
        lldus in prop::collection::vec((0u64..20_000_000, 1u64..900_000_000, 0u8..100), 60..2500),
        loss in 0u8..30,
        (packing, payload) in prop_oneof![
            (30u64..1600).prop_map(|payload| (Packing::Packet, payload)),
            // One packet needs 50 LLDUs, or ten packets one.
            prop_oneof![30u64..200, 200u64..1600, 1600u64..16_000].prop_map(|payload| (Packing::Bytes, payload)),
        ],
        begins in 0u64..5_000_000_000,
        // A run may end in the middle of the timeline, between two LLDUs.
        ends in 1u64..=4,
        slot in prop::option::of(0u64..30_000_000),
        // On a grid packets arrive together, and when delayed ACKs are due.
        grid in prop_oneof![Just(1u64), prop::sample::select(vec![1_000_000, 5_000_000, 20_000_000])],
    ) {
        let loss = if setup.path.split.is_some() { 0 } else { loss };
        let mut at = begins / grid * grid;
        let rows: Vec<Lldu> = lldus.iter().map(|&(step, delay, fate)| {
            // A third of the steps are 0: slots may have the same time.
            at += step.saturating_sub(6_000_000) / grid * grid;
            let delay = if grid > 1 { delay % 100_000_000 / grid * grid + grid } else { delay };
            let lost = fate < loss;
            Lldu {
                tx_time: Time::from_nanos(at).unwrap(),
                decode_delay: Span::from_nanos(if lost { 0 } else { delay }).unwrap(),
                attempts: 1 + u32::from(fate % 3),
                fate: if lost { Fate::Lost } else { Fate::Delivered },
            }
        }).collect();
        let mut text = Vec::new();
        encode::timeline_header(&mut text);
        for row in &rows {
            encode::lldu(row, &mut text);
        }
        let mut builder = Builder::default();
        builder.lldus(&rows);
        let timeline = builder.finish();
        let begin = timeline.first().unwrap();
        let length = timeline.last().unwrap().since(begin).as_nanos();
        let end = begin.checked_add(Span::from_nanos(length / ends).unwrap()).unwrap();
        let setup = Setup { begin, end, ..setup };
        let segmentation = packing.segmentation(PACKET, of_payload(payload));
        let link = TimelineLink::new(timeline.into(), segmentation, setup.rtt.half(), None, begin).unwrap();
        let mut head = head(&setup, "timeline", "lldus_per_packet", segmentation.lldus());
        if packing == Packing::Bytes {
            head.set("packing", "bytes");
            head.set("lldu_payload_bytes", payload.to_string());
        }
        // Packets that share LLDUs have no service times of their own, by which they could be kept apart.
        let link = match slot.filter(|_| packing == Packing::Packet) {
            None => link,
            Some(slot) => {
                head.set("overlap", "shift");
                head.set("slot_ns", slot.to_string());
                link.shifted(Span::from_nanos(slot).unwrap())
            }
        };
        let (report, audit) = audited(&setup, link, &head, Some(&text));
        agree(&setup, &report, &audit)?;
    }

    #[test]
    fn a_run_over_a_coupled_link_passes_its_audit(
        setup in setups(),
        slots in prop::collection::vec((0u64..20_000_000, 1u64..900_000_000, 0u8..100), 60..2500),
        loss in 0u8..30,
        (data_units, scheme) in (1u32..30, prop::sample::select(schemes())),
        (pad, in_order) in (any::<bool>(), prop::sample::select(vec![InOrder::Link, InOrder::Flow, InOrder::Off])),
        lost_feedback in prop::option::of((0.0..=1.0f64, 0u32..2000)),
        hold in prop::sample::select(vec![Hold::Sent, Hold::Acknowledged]),
        (ends, feedback_delay) in (1u64..=4, prop_oneof![Just(0u64), 0u64..200_000_000]),
        grid in prop_oneof![Just(1u64), prop::sample::select(vec![1_000_000, 5_000_000, 20_000_000])],
    ) {
        let mut at = 0;
        let mut builder = Builder::default();
        for &(step, delay, fate) in &slots {
            at += step.saturating_sub(6_000_000) / grid * grid;
            let delay = if grid > 1 { delay % 100_000_000 / grid * grid + grid } else { delay };
            let delay = if fate < loss { 0 } else { delay };
            builder.push(Time::from_nanos(at).unwrap(), Span::from_nanos(delay).unwrap(), None);
        }
        let trace = SlotTrace::from(builder.finish());
        let length = trace.last().unwrap().since(Time::ZERO).as_nanos();
        let end = Time::from_nanos(length / ends).unwrap();
        let setup = Setup { end, ..setup };
        let scheme = if setup.path.split.is_some() && !scheme.contains("harq:10") { "arq" } else { scheme };
        let link = CoupledLink {
            lost_feedback: lost_feedback.map(|(probability, wait)| LostFeedback {
                probability,
                timer: setup.rtt.saturating_add(Span::from_nanos(feedback_delay).unwrap()).saturating_add(Span::from_millis(wait)),
                seed: 1,
            }),
            tail: if pad { Tail::Pad } else { Tail::Short },
            in_order,
            hold,
            feedback_delay: Span::from_nanos(feedback_delay).unwrap(),
            ..CoupledLink::new(trace, scheme.parse().unwrap(), Segmentation::whole(PACKET, data_units.into()))
        };
        let mut head = head(&setup, "coupled", "units_per_packet", link.units_per_packet());
        head.set("in_order", in_order.to_string());
        head.set("hold", hold.to_string());
        head.set("interleave", link.scheme.interleave().to_string());
        head.set("scheme", link.scheme.to_string());
        head.set("feedback_delay_ns", link.feedback_delay.as_nanos().to_string());
        if let Some(lost) = link.lost_feedback {
            head.set("feedback_timer_ns", lost.timer.as_nanos().to_string());
        }
        let mut alone = PacketLog::new(Vec::new(), TEXT, &head, &setup).unwrap();
        let report = run(&setup, &link, &mut alone).unwrap();
        let alone = alone.finish().unwrap();
        let audit = audit(&alone[..], None).unwrap();
        agree(&setup, &report, &audit)?;
        let used = report.total.lldus_used.unwrap();
        prop_assert!(used <= slots.len() as u64, "{used} slots used");
        let (packet_log, slot_log) = with_slots(&setup, &link, &head);
        let rows = String::from_utf8(slot_log.clone()).unwrap();
        agree(&setup, &report, &audit_with_slots(&packet_log[..], &slot_log[..]).unwrap())?;
        prop_assert!(packet_log == alone, "writing a slot log changes the run");
        let end = format!("# end: rows={used} crc32=");
        let last = rows.lines().last().unwrap();
        prop_assert!(last.starts_with(&end), "{last} where {end}");
        let attempts: u64 = report.total.link_attempts.values().sum();
        prop_assert!(attempts <= used, "{attempts} LLDUs delivered in {used} slots");
        let lost = report.total.metrics.packets_lost;
        prop_assert!(link.scheme.rounds() != Rounds::Unlimited || lost == 0, "lost {lost} under unlimited rounds");
    }
}

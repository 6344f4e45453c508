//! Properties of all logs: no false alarm, no panic, bounded memory.

use std::io::{Cursor, Read};

use proptest::collection::vec;
use proptest::prelude::*;
use tmt_core::format::{Options, TraceReader};

use super::logs::{SYNTHETIC, TIMELINE, TIMELINE_LOG};
use super::world::World;
use super::{broken, read, report};
use crate::audit::reader::LogReader;
use crate::audit::report::RuleTally;
use crate::audit::{AuditReport, Auditor, Log};

/// Reader that returns a few bytes at a time.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

/// One change to a text.
#[derive(Debug, Clone)]
enum Change {
    Byte(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    SwapLines(prop::sample::Index, prop::sample::Index),
    CopyLine(prop::sample::Index, prop::sample::Index),
    Field(prop::sample::Index, prop::sample::Index, String),
}

fn change() -> impl Strategy<Value = Change> {
    let index = any::<prop::sample::Index>;
    let usual = prop::sample::select(b"0123456789.,#\n\r \"-:".to_vec());
    let byte = prop_oneof![4 => usual, 1 => any::<u8>()];
    let number = prop_oneof![
        Just(String::new()),
        Just("9223372036.854775807".to_owned()),
        Just("9223372036854775807".to_owned()),
        Just("0.000000000".to_owned()),
        (0u64..400_000_000).prop_map(|nanos| format!("0.{nanos:09}")),
        (0u64..20).prop_map(|number| number.to_string()),
        "delivered|queue|duplicate|link|open",
    ];
    prop_oneof![
        (index(), byte).prop_map(|(at, byte)| Change::Byte(at, byte)),
        index().prop_map(Change::Cut),
        (index(), index()).prop_map(|(a, b)| Change::SwapLines(a, b)),
        (index(), index()).prop_map(|(a, b)| Change::CopyLine(a, b)),
        (index(), index(), number).prop_map(|(line, field, text)| Change::Field(line, field, text)),
    ]
}

fn changed(text: &str, changes: &[Change]) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.lines().map(|line| line.as_bytes().to_vec()).collect();
    for change in changes {
        let count = lines.len();
        match change {
            Change::SwapLines(a, b) => lines.swap(a.index(count), b.index(count)),
            Change::CopyLine(a, b) => lines.insert(b.index(count), lines[a.index(count)].clone()),
            Change::Field(line, field, text) => {
                let line = &mut lines[line.index(count)];
                let mut fields: Vec<&[u8]> = line.split(|byte| *byte == b',').collect();
                let at = field.index(fields.len());
                fields[at] = text.as_bytes();
                *line = fields.join(&b',');
            }
            Change::Byte(..) | Change::Cut(_) => {}
        }
    }
    let mut text = lines.join(&b'\n');
    text.push(b'\n');
    for change in changes {
        match change {
            Change::Byte(at, byte) if !text.is_empty() => {
                let at = at.index(text.len());
                text[at] = *byte;
            }
            Change::Cut(at) if changes.len() > 3 => text.truncate(at.index(text.len() + 1)),
            _ => {}
        }
    }
    text
}

/// The report, or the message of the error.
fn outcome<'t>(
    log: impl Read,
    timeline: Option<impl Read + Send + 't>,
) -> Result<AuditReport, String> {
    read(log, timeline).map_err(|error| error.to_string())
}

prop_compose! {
    fn world()(
        seed: u64,
        (timeline, room) in prop_oneof![Just((false, 1)), Just((true, 1)), (2usize..90).prop_map(|room| (true, room))],
        flows in 1u64..4,
        packets in 1u64..30,
        pace in 1u64..8,
        capacity in 1usize..8,
        rtt in prop_oneof![Just(0), Just(1), Just(100_000_000), 0u64..300_000_000],
        loss in prop_oneof![Just(0u64), 2u64..40],
        run_ends in prop_oneof![0u64..300_000_000, Just(3_000_000_000)],
    ) -> World {
        World { seed, timeline, room, flows, packets, pace, capacity, rtt, loss, run_ends }
    }
}

proptest! {
    #[test]
    fn correct_logs_pass(world in world()) {
        let (log, timeline) = world.logs();
        let with = report(&log, timeline.as_deref());
        prop_assert_eq!(broken(&with), [""; 0], "{:#?}\n{}", with.rules, log);
        let without = report(&log, None);
        prop_assert_eq!(broken(&without), [""; 0]);
        prop_assert_eq!(with.totals, without.totals);
    }

    #[test]
    fn a_time_moved_by_a_nanosecond_is_found(world in world(), line: prop::sample::Index, earlier: bool) {
        let (log, timeline) = world.logs();
        let delivered: Vec<&str> = log.lines().filter(|line| line.contains("delivered,")).skip(1).collect();
        if delivered.is_empty() {
            return Ok(());
        }
        let line = delivered[line.index(delivered.len())];
        let mut fields: Vec<String> = line.split(',').map(str::to_owned).collect();
        let nanos: u64 = fields[9].replace('.', "").parse().unwrap();
        let moved = if earlier { nanos - 1 } else { nanos + 1 };
        fields[9] = format!("{}.{:09}", moved / 1_000_000_000, moved % 1_000_000_000);
        let report = report(&log.replace(line, &fields.join(",")), timeline.as_deref());
        let early = report.rules.iter().find(|rule| rule.rule == "early").unwrap();
        prop_assert_eq!(early.violations_total, 1 + u64::from(earlier && too_early(&fields, &world)));
    }

    #[test]
    fn changed_logs_never_panic_and_reports_do_not_depend_on_the_reads(
        synthetic: bool,
        changes in vec(change(), 1..8),
        timeline_changes in vec(change(), 0..2),
        drip in 1usize..50,
    ) {
        let log = changed(if synthetic { SYNTHETIC } else { TIMELINE_LOG }, &changes);
        let timeline = changed(TIMELINE, &timeline_changes);
        let whole = outcome(&log[..], Some(&timeline[..]));
        prop_assert_eq!(&outcome(Drip(&log, drip), Some(Drip(&timeline, drip))), &whole);
        let _ = outcome(&log[..], None::<&[u8]>);
    }

    #[test]
    fn random_bytes_never_panic(log in vec(any::<u8>(), 0..400), timeline in vec(any::<u8>(), 0..400)) {
        let _ = outcome(&log[..], Some(&timeline[..]));
        let after_a_head = [SYNTHETIC.as_bytes(), &log].concat();
        let _ = outcome(&after_a_head[..], None::<&[u8]>);
    }
}

/// Whether a delivery that is 1 ns early also breaks the bound that holds without a timeline.
fn too_early(fields: &[String], world: &World) -> bool {
    let nanos = |field: &str| field.replace('.', "").parse::<u64>().unwrap();
    world.timeline && nanos(&fields[9]) < nanos(&fields[6]) + world.rtt / 2 + 1
}

#[test]
fn a_wrong_first_row_of_the_timeline_is_an_error_however_it_is_read() {
    let timeline = TIMELINE.replace("0.000000000,0.01", "0.000000000,no");
    let log = TIMELINE_LOG
        .split_inclusive('\n')
        .take(13)
        .collect::<String>();
    for drip in [1, 20, 100_000] {
        let outcome = outcome(log.as_bytes(), Some(Drip(timeline.as_bytes(), drip)));
        assert!(outcome.is_err(), "{drip} bytes at a time");
    }
}

#[test]
fn memory_is_bounded_by_the_packets_in_flight() {
    for timeline in [false, true] {
        let world = World {
            seed: 7,
            timeline,
            room: 1,
            flows: 3,
            packets: 600,
            pace: 10,
            capacity: 10,
            rtt: 20_000_000,
            loss: 50,
            run_ends: 60_000_000_000,
        };
        let (log, text) = world.logs();
        let mut tally = RuleTally::new(false);
        let log = LogReader::new(Log::Packets, log.as_bytes());
        let reader =
            text.map(|text| TraceReader::new(Cursor::new(text), Options::default()).unwrap());
        let auditor = Auditor::open(log, reader, None, &mut tally).unwrap();
        let mut auditor = auditor.unwrap();
        let (mut rows, mut most) = (0, 0);
        while auditor.log.next_row(&mut tally).unwrap() {
            auditor.on_row(&mut tally).unwrap();
            rows += 1;
            let (queue, server) = (&auditor.queue, &auditor.server);
            let of_flows = auditor.flows.values().map(|flow| flow.packets.len());
            let in_queue = queue.ahead.len() + queue.inside.len();
            let at_link = server.ahead.len() + server.tied.len();
            most = most.max(of_flows.sum::<usize>() + in_queue + at_link);
        }
        assert!(rows > 1_800, "{rows}");
        assert!(most < 150, "{most} kept of {rows}");
    }
}

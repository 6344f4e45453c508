//! Logs of every kind of link with one thing changed at random: the rules of the auditor notice each change, without a checksum,
//! or docs/simulator.md, Sec. 13, says why they cannot.

use std::sync::LazyLock;

use fluid_tcp::audit::{audit, audit_with_slots};
use test_support::{depth, seed};
use tmt_core::format::{Options, TraceReader};

use crate::common::{Folder, bash, tmt, trace, version_1};

/// Columns of the packet log.
const SENT: usize = 3;
const ENQUEUED: usize = 4;
const SERVICE_START: usize = 5;
const SERVICE_END: usize = 6;
const FIRST_LLDU: usize = 7;
const LAST_LLDU: usize = 8;
const DELIVERED: usize = 9;
const FATE: usize = 10;
const ACKED: usize = 11;
const QUEUE: usize = 13;
const WAIT: usize = 15;
const LEFT: usize = 16;

/// Changes of each kind per log.
fn trials() -> usize {
    depth(2, 12)
}

/// A random number below `limit`: SplitMix64.
fn random(state: &mut u64, limit: usize) -> usize {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    usize::try_from((mixed ^ (mixed >> 31)) % limit as u64).unwrap()
}

/// A packet log with what may be audited beside it.
struct Logged {
    name: &'static str,
    log: String,
    timeline: Option<String>,
    slots: Option<String>,
}

impl Logged {
    fn passes(&self, log: &str) -> bool {
        let report = if let Some(slots) = &self.slots {
            audit_with_slots(log.as_bytes(), slots.as_bytes())
        } else {
            let timeline = self.timeline.as_ref();
            let open = |text: &String| {
                let bytes = std::io::Cursor::new(text.clone().into_bytes());
                TraceReader::new(bytes, Options::default()).unwrap()
            };
            audit(log.as_bytes(), timeline.map(open))
        };
        // Two heads that cannot belong together are noticed, too.
        report.is_ok_and(|report| report.passed())
    }

    /// Whether a sender that did not send the transmission of `row` could have written the rest of the log: the last
    /// transmission of its flow, or the last of its packet, that neither the link nor the receiver had to have.
    fn leaves_no_trace(&self, row: &[&str]) -> bool {
        let others = || {
            let rows = self
                .log
                .lines()
                .map(|line| line.split(',').collect::<Vec<_>>());
            rows.filter(|other| other.len() > LEFT && other[0] == row[0] && other[..3] != row[..3])
        };
        let number = |text: &str| text.parse::<u64>().ok();
        let (packet, copy) = (number(row[1]), number(row[2]));
        let follows = |other: Vec<&str>| {
            let later = number(other[1]) > packet && row[2] == "1";
            later || other[1] == row[1] && number(other[2]) > copy
        };
        let has_other = others().any(|other| other[1] == row[1] && !other[DELIVERED].is_empty());
        let unused = match row[FATE] {
            "open" | "queue" | "duplicate" => true,
            // Only the trace or the slots show whether the link was idle.
            "link" => self.is_alone(),
            _ => self.is_alone() && has_other,
        };
        unused && !others().any(follows)
    }

    /// Whether the log is of a trace that is not audited beside it.
    fn is_alone(&self) -> bool {
        let has_trace = !self.log.contains("# link: synthetic\n");
        has_trace && self.timeline.is_none() && self.slots.is_none()
    }

    /// Number of this key in the head of the log.
    fn head(&self, key: &str) -> Option<i64> {
        let lines = self.log.lines();
        let mut values = lines.filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
        let (_, value) = values.find(|(name, _)| *name == key)?;
        value.parse().ok()
    }

    /// The lines of the log, the place of its first row, and the number of its rows.
    fn rows(&self) -> (Vec<&str>, usize, usize) {
        let lines: Vec<&str> = self.log.lines().collect();
        let header = lines.iter().position(|line| line.starts_with("flow,"));
        let first = header.unwrap() + 1;
        let rows = lines.len() - 1 - first;
        (lines, first, rows)
    }

    /// Whether another correct run, perhaps over another trace, could have written the log with row `old` replaced by `new`, so
    /// that the change cannot be noticed (docs/simulator.md, Sec. 13). This takes a coupled link without its slot log, two events
    /// of a receiver at one instant, or a packet that has not reached the gateway.
    fn is_another_run(&self, kind: &str, old: &[String], new: &[String]) -> bool {
        let number = |row: &[String], column: usize| row[column].parse::<u64>().ok();
        let rows = || {
            let rows = self.log.lines().filter(|line| !line.starts_with('#'));
            rows.skip(1)
                .map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>())
        };
        // The packet has not reached the gateway at the end of the run, where it was as where it is now.
        if kind == "sent" && old[FATE] == "open" && old[ENQUEUED].is_empty() {
            let toward = self.head("terrestrial_rtt_ns").map(|rtt| rtt / 2);
            let reaches = nanos(&new[SENT]).zip(toward);
            let reaches = reaches.map(|(sent, toward)| sent + toward);
            let is_late = |(reaches, end)| reaches > end;
            return old[ACKED].is_empty()
                && reaches.zip(self.head("run_ends_ns")).is_some_and(is_late);
        }
        // The packet arrived when the delayed ACK of another was sent, which may or may not cover it.
        if kind == "acked, by 100 ms" && self.head("delayed_ack_timer_ns") == Some(100_000_000) {
            let arrived = nanos(&old[DELIVERED]).map(|now| now - 100_000_000);
            let first = nanos(&old[ACKED]).min(nanos(&new[ACKED]));
            return rows().any(|row| {
                let acked = nanos(&row[ACKED]);
                // That ACK may have been lost.
                let is_its = acked == first || self.name == "lost ACKs" && acked > first;
                row[0] == old[0] && arrived.is_some() && nanos(&row[DELIVERED]) == arrived && is_its
            });
        }
        if self.slots.is_some() || !self.log.contains("# link: coupled\n") {
            return false;
        }
        match kind {
            // A slot between two packets may be idle or a repeat's, and one within a packet may be a repeat's.
            "an LLDU" => {
                let (Some(first), Some(last)) = (number(new, FIRST_LLDU), number(new, LAST_LLDU))
                else {
                    return false;
                };
                let units = match new[FATE].as_str() {
                    "delivered" => self.head("units_per_packet").unwrap().try_into().unwrap(),
                    _ => 1,
                };
                let was = number(old, FIRST_LLDU);
                let others =
                    rows().filter_map(|row| number(&row, FIRST_LLDU).zip(number(&row, LAST_LLDU)));
                let mut before = others.filter(|(first, _)| Some(*first) < was);
                last + 1 >= first + units && before.all(|(_, last)| last < first)
            }
            // The packet waited for an earlier one, so that its delivery does not show when its data arrived.
            "left" => {
                let waited = |row: Vec<String>| {
                    row[DELIVERED] == old[DELIVERED]
                        && number(&row, FIRST_LLDU) < number(old, FIRST_LLDU)
                };
                !self.log.contains("# in_order: off\n")
                    && self.log.contains("# path: split\n")
                    && rows().any(waited)
            }
            _ => false,
        }
    }
}

/// The logs, which all tests share.
static LOGS: LazyLock<Vec<Logged>> = LazyLock::new(logs);

/// Logs of all kinds of link.
fn logs() -> Vec<Logged> {
    let folder = Folder::new();
    folder.write("phy.csv", trace(24_000, 36_000));
    let chain = "tmt inject --gilbert-elliott alpha=0.99,beta=0.8 --seed 3 phy.csv -o erased.csv && \
                 tmt apply --scheme harq:10/12,rounds=1 -o lossy.csv erased.csv && \
                 tmt apply --scheme arq -o timeline.csv erased.csv";
    bash(&folder, chain).ok();
    let coupled = "tcp --link coupled --feedback-delay 0s --profile rfc --packet 500B --flows 2 --slots slots.csv erased.csv";
    [
        ("timeline", "tcp --profile rfc --packet 500B --flows 2 lossy.csv".to_owned()),
        ("shared LLDUs", "tcp --packet 500B --packing bytes --profile linux --quick-while-growing off --flows 2 lossy.csv".to_owned()),
        ("split timeline", "tcp --profile rfc --packet 500B --flows 2 --path split --terrestrial-rtt 20ms timeline.csv".to_owned()),
        ("synthetic", "tcp --link synthetic --profile rfc --rate 500kbps --rtt 200ms --loss bernoulli:0.02 --duration 20s".to_owned()),
        ("lost ACKs", "tcp --link synthetic --profile rfc --rate 500kbps --rtt 200ms --return-loss bernoulli:0.1 --buffer 20pkt --duration 20s".to_owned()),
        ("coupled", format!("{coupled} --scheme arq")),
        ("coupled in order", format!("{coupled} --scheme harq:10/12,rounds=2 --in-order flow")),
        ("split coupled", format!("{coupled} --scheme arq --path split --in-order link --terrestrial-rtt 20ms")),
    ]
    .into_iter()
    .flat_map(|(name, run)| {
        tmt(&run).arg_list("--packets log.csv").within(&folder).run().ok();
        let log = version_1(&folder.read("log.csv"));
        let timeline = match name {
            "timeline" | "shared LLDUs" => Some(folder.read("lossy.csv")),
            "split timeline" => Some(folder.read("timeline.csv")),
            _ => None,
        };
        let slots = run.contains("--slots").then(|| version_1(&folder.read("slots.csv")));
        let alone = (timeline.is_some() || slots.is_some()).then(|| Logged {
            name: "alone",
            log: log.clone(),
            timeline: None,
            slots: None,
        });
        [Some(Logged { name, log, timeline, slots }), alone]
    })
    .flatten()
    .collect()
}

/// A time of the log, ns; `None` if it is absent.
fn nanos(time: &str) -> Option<i64> {
    time.replace('.', "").parse().ok()
}

/// Moves a time; `None` if it is absent or would be negative.
fn moved(fields: &mut [String], column: usize, by: i64) -> Option<()> {
    let nanos = nanos(&fields[column])?;
    let nanos = nanos.checked_add(by).filter(|nanos| *nanos >= 0)?;
    let (seconds, fraction) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    fields[column] = format!("{seconds}.{fraction:09}");
    Some(())
}

fn emptied(fields: &mut [String], column: usize) -> Option<()> {
    let old = std::mem::take(&mut fields[column]);
    (!old.is_empty()).then_some(())
}

/// A change to the fields of a row; `None` if the row does not have what it changes.
type Change = fn(&mut [String], i64) -> Option<()>;

/// Changes that every audit notices, but for those of [`Logged::is_another_run`].
const ALWAYS: [(&str, Change); 13] = [
    ("sent", |row, by| moved(row, SENT, by)),
    ("enqueued", |row, by| moved(row, ENQUEUED, by)),
    ("acked", |row, by| moved(row, ACKED, by)),
    ("acked, by a millisecond", |row, by| {
        moved(row, ACKED, by * 1_000_000)
    }),
    ("acked, by 100 ms", |row, by| {
        moved(row, ACKED, by * 100_000_000)
    }),
    ("delivered alone", |row, by| moved(row, DELIVERED, by)),
    ("left", |row, by| moved(row, LEFT, by)),
    ("a part of the delay", |row, by| moved(row, QUEUE, by)),
    ("two parts of the delay", |row, by| {
        moved(row, QUEUE, by)?;
        moved(row, WAIT, -by)
    }),
    ("a copy", |row, _| {
        let copy: u64 = row[2].parse().ok()?;
        row[2] = (copy + 1).to_string();
        Some(())
    }),
    ("an LLDU", |row, by| {
        let lldu: i64 = row[FIRST_LLDU].parse().ok()?;
        row[FIRST_LLDU] = (lldu + by).max(0).to_string();
        (lldu + by >= 0).then_some(())
    }),
    ("no delivery", |row, _| emptied(row, DELIVERED)),
    ("a loss", |row, _| {
        let was = std::mem::replace(&mut row[FATE], "link".to_owned());
        (was == "delivered").then_some(())
    }),
];

/// Changes that are noticed if the log is not alone, or has ACKs that always arrive and a link of a known rate.
const BESIDE: [(&str, Change); 5] = [
    ("delivered and its part", |row, by| {
        moved(row, DELIVERED, by)?;
        moved(row, WAIT, by)
    }),
    ("delivered and its part, by a millisecond", |row, by| {
        moved(row, DELIVERED, by * 1_000_000)?;
        moved(row, WAIT, by * 1_000_000)
    }),
    ("service_start", |row, by| moved(row, SERVICE_START, by)),
    ("service_end", |row, by| moved(row, SERVICE_END, by)),
    ("not acked", |row, _| emptied(row, ACKED)),
];

#[test]
fn every_changed_row_is_noticed() {
    let mut state = seed();
    let mut escaped = Vec::new();
    for logged in LOGS.iter() {
        assert!(logged.passes(&logged.log), "{}", logged.name);
        let (lines, first, rows) = logged.rows();
        let beside = if logged.name == "alone" {
            0
        } else {
            BESIDE.len()
        };
        // A lost ACK is like one that was not sent.
        let beside = beside - usize::from(logged.name == "lost ACKs");
        for (kind, change) in ALWAYS.iter().chain(&BESIDE[..beside]) {
            let mut tried = 0;
            for trial in 0..trials() {
                // On some links only one of them can be noticed.
                let by = if trial % 2 == 0 { 1 } else { -1 };
                let changed = (0..10_000).find_map(|_| {
                    let line = first + random(&mut state, rows);
                    let old: Vec<String> = lines[line].split(',').map(str::to_owned).collect();
                    let mut row = old.clone();
                    change(&mut row, by)?;
                    let can_be_noticed = !logged.is_another_run(kind, &old, &row);
                    can_be_noticed.then(|| (line, row.join(",")))
                });
                // On a synthetic link no part of a wait can be moved to the queue.
                let Some((line, row)) = changed else { continue };
                tried += 1;
                let mut changed = lines.clone();
                changed[line] = &row;
                if logged.passes(&(changed.join("\n") + "\n")) {
                    escaped.push(format!(
                        "{}: {kind} {by}: {} -> {row}",
                        logged.name, lines[line]
                    ));
                }
            }
            assert!(tried > 0, "{}: {kind}", logged.name);
        }
    }
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

#[test]
fn rows_that_are_missing_swapped_or_doubled_are_noticed() {
    let mut state = seed() + 1;
    let mut escaped = Vec::new();
    for logged in LOGS.iter() {
        let (lines, first, rows) = logged.rows();
        for _ in 0..trials() {
            let line = first + random(&mut state, rows);
            let other = first + random(&mut state, rows);
            let mut swapped = lines.clone();
            swapped.swap(line, other);
            let mut doubled = lines.clone();
            doubled.insert(line, lines[line]);
            let mut missing = lines.clone();
            missing.remove(line);
            let fields = |line: usize| -> Vec<&str> { lines[line].split(',').collect() };
            let (row, with) = (fields(line), fields(other));
            // Two flows may send at one instant in any order.
            let at_once = row[SENT] == with[SENT] && row[0] != with[0];
            for (kind, changed, rows, skipped) in [
                ("swapped", swapped, rows, line == other || at_once),
                ("doubled", doubled, rows + 1, false),
                ("missing", missing, rows - 1, logged.leaves_no_trace(&row)),
            ] {
                let mut changed = changed;
                let end = format!("# end: rows={rows}");
                *changed.last_mut().unwrap() = &end;
                if !skipped && logged.passes(&(changed.join("\n") + "\n")) {
                    let other = if kind == "swapped" { lines[other] } else { "" };
                    escaped.push(format!("{}: {kind}: {} {other}", logged.name, lines[line]));
                }
            }
        }
    }
    assert!(escaped.is_empty(), "{}", escaped.join("\n"));
}

#[test]
fn a_changed_setting_is_noticed_where_the_log_depends_on_it() {
    let everywhere = ["rtt_ns", "delayed_ack"];
    for logged in LOGS.iter() {
        let of_link: &[&str] = match logged.name {
            "shared LLDUs" => &["lldus_per_packet", "packet_bytes", "lldu_payload_bytes"],
            "timeline" => &["lldus_per_packet", "delayed_ack_timer_ns", "quick_acks"],
            "split timeline" => &[
                "lldus_per_packet",
                "terrestrial_rtt_ns",
                "feedback_delay_ns",
            ],
            "synthetic" => &["packet_bytes", "rate_bps"],
            "lost ACKs" => &["packet_bytes", "rate_bps", "buffer"],
            "coupled" => &["units_per_packet", "lldus_per_packet", "feedback_delay_ns"],
            "coupled in order" => &["units_per_packet", "lldus_per_packet"],
            "split coupled" => &["units_per_packet", "lldus_per_packet", "terrestrial_rtt_ns"],
            _ => &[],
        };
        for key in everywhere.iter().chain(of_link) {
            // A proxy answers every packet at once.
            if *key == "delayed_ack" && logged.log.contains("# path: split") {
                continue;
            }
            let line = format!("# {key}: ");
            let line = logged.log.lines().find(|it| it.starts_with(&line)).unwrap();
            let digits = line.rfind(|c: char| c.is_ascii_digit()).unwrap() + 1;
            let from = line[..digits].rfind(|c: char| !c.is_ascii_digit()).unwrap() + 1;
            let number: u64 = line[from..digits].parse().unwrap();
            let changed = format!("{}{}{}", &line[..from], number + 1, &line[digits..]);
            // The same change in both logs, so that the heads agree.
            let slots = logged.slots.as_ref();
            let beside = Logged {
                name: logged.name,
                log: logged.log.replace(line, &changed),
                timeline: logged.timeline.clone(),
                slots: slots.map(|slots| slots.replace(line, &changed)),
            };
            assert!(!beside.passes(&beside.log), "{}: {changed}", logged.name);
        }
    }
}

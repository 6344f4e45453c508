//! Edits of good logs: each is found by the rules that it breaks, and by no other.

use std::fmt::Write;
use std::io::{Cursor, Read};

use proptest::collection::vec;
use proptest::prelude::*;
use tmt_core::format::{Options, TraceReader};

use super::head::KEYS;
use super::reader::LogReader;
use super::report::RuleTally;
use super::*;

/// Names and texts of files in `fixtures/audit`.
macro_rules! fixtures {
    ($($name:literal)*) => {
        [$(($name, include_str!(concat!("../../../../fixtures/audit/", $name)))),*]
    };
}

/// A file of `fixtures/audit`.
fn fixture(name: &str) -> String {
    let files = fixtures!(
        "edits.txt"
        "lldus.csv"
        "timeline.csv"
        "sharing.csv"
        "synthetic.csv"
        "parts.csv"
        "split.csv"
        "coupled.csv"
        "coupled-slots.csv"
        "orders.csv"
        "run.csv"
        "sizes.csv"
        "run-coupled.csv"
        "run-coupled-slots.csv"
    );
    let (_, text) = files.iter().find(|(file, _)| *file == name).unwrap();
    (*text).to_owned()
}

/// The audit of a log with a timeline that may be cut. Missing LLDUs matter only to a packet that used them.
fn read<'t>(
    log: impl Read,
    timeline: Option<impl Read + Send + 't>,
) -> Result<AuditReport, AuditError> {
    let options = Options {
        allow_cut: true,
        ..Options::default()
    };
    let timeline = timeline.map(|timeline| TraceReader::new(timeline, options));
    audit(log, timeline.transpose()?)
}

/// The broken rules with their lines, those of the slot log after an s, such as `early 15 s22; fifo 16`.
fn broken(report: &AuditReport) -> String {
    let broken = report.rules.iter().filter(|rule| rule.violations_total > 0);
    let words = broken.map(|rule| {
        let lines = rule.violations.iter().map(|found| match found.log {
            Log::Packets => format!(" {}", found.line),
            Log::Slots => format!(" s{}", found.line),
        });
        rule.rule.to_owned() + &lines.collect::<String>()
    });
    words.collect::<Vec<_>>().join("; ")
}

/// A log with edits as in the table, which are separated by semicolons.
fn edited(log: &str, edits: &[&str]) -> String {
    let mut lines: Vec<String> = log.lines().map(|line| format!("{line}\n")).collect();
    let header = log.lines().find(|line| !line.starts_with('#')).unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    // From the last, so that each finds the lines of the good log before it.
    for edit in edits.iter().rev() {
        let (place, value) = edit.split_once(" =").unwrap_or((edit, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        let (line, what) = place.split_once(' ').unwrap_or((place, ""));
        let Ok(line) = line.parse::<usize>() else {
            let key = edit.split([':', ' ']).next().unwrap();
            let at = lines
                .iter()
                .position(|line| line.starts_with(&format!("# {key}: ")));
            lines[at.unwrap()] = match what {
                "removed" => String::new(),
                _ => format!("# {edit}\n"),
            };
            continue;
        };
        match what {
            "" => lines[line - 1] = format!("{value}\n"),
            "removed" => lines[line - 1].clear(),
            "before" => lines.insert(line - 1, format!("{value}\n")),
            column => {
                let of_column = |name: &&str| name.strip_suffix("_s").unwrap_or(name) == column;
                let at = columns.iter().position(of_column).unwrap();
                let row = lines[line - 1].trim_end();
                let mut fields: Vec<&str> = row.split(',').collect();
                fields[at] = value;
                lines[line - 1] = fields.join(",") + "\n";
            }
        }
    }
    lines.concat()
}

#[test]
fn each_edit_of_a_good_log_is_found_by_the_rules_that_it_breaks() {
    let (table, mut wrong, mut checked) = (fixture("edits.txt"), String::new(), Vec::new());
    for case in table.lines().filter(|line| line.contains('|')) {
        let parts: Vec<&str> = case.split('|').map(str::trim).collect();
        let &[log, edits, expected] = parts.as_slice() else {
            panic!("'{case}' is not a case");
        };
        let (name, alone) = log.split_once(' ').unwrap_or((log, ""));
        let edits: Vec<&str> = edits.split("; ").filter(|edit| !edit.is_empty()).collect();
        let of_slots: Vec<&str> = edits
            .iter()
            .filter_map(|edit| edit.strip_prefix("slots "))
            .collect();
        let edits: Vec<&str> = edits
            .into_iter()
            .filter(|edit| !edit.starts_with("slots "))
            .collect();
        let log = edited(&fixture(&format!("{name}.csv")), &edits);
        let report = match (name, alone) {
            ("coupled" | "run-coupled", "slots") => {
                let slots = edited(&fixture(&format!("{name}-slots.csv")), &of_slots);
                audit_with_slots(log.as_bytes(), slots.as_bytes()).unwrap()
            }
            ("timeline" | "sharing", "") => {
                read(log.as_bytes(), Some(Cursor::new(fixture("lldus.csv")))).unwrap()
            }
            _ => audit(log.as_bytes(), None).unwrap(),
        };
        let found = broken(&report);
        if found != expected {
            writeln!(wrong, "{case}\n  found: {found}").unwrap();
        }
        let rules = report.rules.iter().filter(|rule| rule.checks > 0);
        checked.extend(rules.map(|rule| rule.rule));
    }
    assert!(wrong.is_empty(), "{wrong}");
    checked.sort_unstable();
    checked.dedup();
    assert_eq!(checked.len(), 10, "a rule was never checked: {checked:?}");
}

/// If a key has two values, either could be meant.
#[test]
fn form_refuses_every_known_key_that_is_given_more_than_once() {
    let log = fixture("synthetic.csv");
    for key in KEYS {
        let given = log.contains(&format!("# {key}: "));
        let line = format!("13 before = # {key}: 1");
        let edits = [line.as_str(); 2];
        let form = |edits| read(edited(&log, edits).as_bytes(), None::<&[u8]>).unwrap();
        let once = broken(&form(&edits[given.into()..]));
        let second = if given { "form 13" } else { "form 14" };
        assert!(once.starts_with(second), "{key}: {once}");
    }
}

#[test]
fn a_log_that_is_cut_is_found() {
    let log = fixture("timeline.csv");
    let found = |log: &str| broken(&audit(log.as_bytes(), None).unwrap());
    assert_eq!(found(""), "form 0");
    assert_eq!(found(&log[..log.find("flow,").unwrap()]), "form 12");
    assert_eq!(found("# tool: t\n"), "form 1 1", "and the head lacks keys");
    assert_eq!(found(log.trim_end()), "form 23");
    assert_eq!(found(&log.replace("acked\n", "acked\r\n")), "form 13");
}

#[test]
fn the_totals_are_those_of_the_log() {
    let totals = |log: &str| audit(log.as_bytes(), None).unwrap().totals;
    let log = fixture("timeline.csv");
    let all = totals(&log);
    let counts = all.counts;
    assert_eq!((counts.copies_sent, counts.copies_retransmitted), (9, 3));
    assert_eq!(
        (counts.copies_delivered, counts.duplicates_received),
        (5, 1)
    );
    let rest = (counts.lost_on_link, counts.dropped_at_queue, counts.open);
    assert_eq!(rest, (1, 1, 2));
    let flows = all
        .flows
        .iter()
        .map(|flow| flow.counts.packets_delivered_in_order);
    assert_eq!(flows.collect::<Vec<_>>(), [2, 2]);
    assert_eq!(counts.packets_delivered_in_order, 4);
    assert_eq!(totals(&fixture("split.csv")).counts.duplicates_at_proxy, 1);
    // Nothing is read without a head.
    assert_eq!(totals(&edited(&log, &["flows removed"])), Totals::default());
}

#[test]
fn a_timeline_or_slot_log_that_cannot_be_used_is_an_error() {
    let (log, synthetic, lldus) = ("timeline.csv", "synthetic.csv", fixture("lldus.csv"));
    let with = |log: &str, timeline: &str| read(fixture(log).as_bytes(), Some(timeline.as_bytes()));
    assert!(matches!(
        with(log, "no timeline"),
        Err(AuditError::Timeline(_))
    ));
    assert!(matches!(
        with(synthetic, &lldus),
        Err(AuditError::NeedlessTimeline)
    ));
    let broken_off = lldus.replace("0.004000000,0\n", "0.004000000,zero\n");
    assert!(matches!(
        with(log, &broken_off),
        Err(AuditError::Timeline(_))
    ));
    let slots = fixture("coupled-slots.csv");
    let slots = audit_with_slots(fixture(synthetic).as_bytes(), slots.as_bytes());
    assert!(matches!(slots, Err(AuditError::NeedlessSlots)));
    // LLDUs that the timeline does not have matter only to the packet that used them.
    let short = &lldus[..lldus.find("0.231").unwrap()];
    assert_eq!(broken(&with(log, short).unwrap()), "early 21");
}

#[test]
fn violations_after_the_twentieth_are_only_counted() {
    let log = fixture("timeline.csv");
    let head = log.split_inclusive('\n').take(13);
    let log: String = head.chain(std::iter::repeat_n("what?\n", 50)).collect();
    let report = audit(log.as_bytes(), None).unwrap();
    assert_eq!(report.rules[0].violations_total, 51);
    assert_eq!(report.rules[0].violations.len(), VIOLATIONS_SHOWN);
    assert_eq!(report.rules[0].violations[19].line, 33);
}

/// The most packets that are kept of a log of 3000, each sent when the one before has arrived.
fn most_kept(log: &str, slots: Option<&str>) -> usize {
    let rows = |number: u64| {
        let at =
            |slot: u64, more: u64| format!("{}.{:09}", slot / 100, slot % 100 * 10_000_000 + more);
        (number * 3, number * 3 + 2, at)
    };
    let head = |text: &str| {
        let ends = text.find('\n').map(|_| text.find("\n0,").unwrap() + 1);
        text[..ends.unwrap()].replace("run_ends_ns: ", "run_ends_ns: 99")
    };
    let (mut packets, mut units) = (head(log), slots.map(head));
    for number in 0..3000 {
        let (first, last, at) = rows(number);
        let (sent, end, arrives) = (at(first, 0), at(last, 0), at(first + 6, 5_000_000));
        let acked = at(first + 16, 5_000_000);
        let service = if slots.is_some() {
            format!("{end},{first},{last},{arrives},delivered,")
        } else {
            format!(
                "{},{number},{number},{arrives},delivered,{acked}",
                at(first, 1_000_000)
            )
        };
        writeln!(packets, "0,{number},1,{sent},{sent},{sent},{service}").unwrap();
        for (slot, kind) in [(first, "data"), (first + 1, "data"), (last, "repair")] {
            let Some(units) = &mut units else { continue };
            let (at, arrives) = (at(slot, 0), at(slot, 5_000_000));
            writeln!(
                units,
                "{slot},{at},{kind},0,{number},1,{number},1,1,{arrives}"
            )
            .unwrap();
        }
    }
    let mut tally = RuleTally::new(units.is_some());
    let log = LogReader::new(Log::Packets, packets.as_bytes());
    let units = units.map(|units| Box::new(Cursor::new(units)) as Box<dyn Read>);
    let beside = Beside {
        slots: units,
        ..Beside::default()
    };
    let mut auditor = Auditor::open(log, beside, &mut tally).unwrap().unwrap();
    let mut most = 0;
    while auditor.log.next_row(&mut tally).unwrap() {
        auditor.on_row(&mut tally).unwrap();
        let of_flows = auditor.flows.values().map(|flow| flow.packets.len());
        let of_slots = auditor
            .slots
            .as_ref()
            .map(|slots| slots.transmissions.len());
        let (queue, server) = (&auditor.queue, &auditor.server);
        let in_queue = queue.ahead.len() + queue.inside.len();
        let at_link = server.ahead.len() + server.tied();
        most = most.max(in_queue + at_link + of_slots.unwrap_or_else(|| of_flows.sum()));
    }
    most
}

#[test]
fn memory_is_bounded_by_the_packets_in_flight() {
    let most = most_kept(&fixture("synthetic.csv"), None);
    assert!((1..20).contains(&most), "{most} packets kept");
    let most = most_kept(&fixture("coupled.csv"), Some(&fixture("coupled-slots.csv")));
    assert!((1..20).contains(&most), "{most} packets kept");
}

/// Reader that returns a few bytes at a time.
struct Drip<'a>(&'a [u8], usize);

impl Read for Drip<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(self.1);
        self.0.read(&mut buffer[..length])
    }
}

/// The report, or the message of the error.
fn outcome<'t>(
    log: impl Read,
    timeline: Option<impl Read + Send + 't>,
) -> Result<AuditReport, String> {
    read(log, timeline).map_err(|error| error.to_string())
}

#[test]
fn a_wrong_first_row_of_the_timeline_is_an_error_however_it_is_read() {
    let timeline = fixture("lldus.csv").replace("0.000000000,0.01", "0.000000000,no");
    let log = fixture("timeline.csv");
    for drip in [1, 20, 100_000] {
        let outcome = outcome(log.as_bytes(), Some(Drip(timeline.as_bytes(), drip)));
        assert!(outcome.is_err(), "{drip} bytes at a time");
    }
}

/// Changes a text: bytes, fields, and the order of lines.
fn changed(text: &str, changes: &[(prop::sample::Index, prop::sample::Index, String)]) -> Vec<u8> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, other, value) in changes {
        let (at, count) = (line.index(lines.len()), lines.len());
        let mut fields: Vec<&str> = lines[at].split(',').collect();
        match value.as_str() {
            "swap" => lines.swap(at, other.index(count)),
            "copy" => lines.insert(other.index(count), lines[at].clone()),
            "cut" => lines.truncate(at + 1),
            value => {
                let field = other.index(fields.len());
                fields[field] = value;
                lines[at] = fields.join(",");
            }
        }
    }
    (lines.join("\n") + "\n").into_bytes()
}

fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, prop::sample::Index, String)>> {
    let number = prop_oneof![
        "|swap|copy|cut|\"|\r|0|# end: rows=9|9223372036.854775807|9223372036854775807|0.000000000",
        (0u64..400_000_000).prop_map(|nanos| format!("0.{nanos:09}")),
        (0u64..20).prop_map(|number| number.to_string()),
        "delivered|queue|duplicate|link|open|data|repair|repeat|.{0,9}",
    ];
    vec(
        (
            any::<prop::sample::Index>(),
            any::<prop::sample::Index>(),
            number,
        ),
        1..8,
    )
}

proptest! {
    #[test]
    fn changed_logs_never_panic_and_reports_do_not_depend_on_the_reads(
        name in prop::sample::select(vec!["timeline", "synthetic", "split", "sharing", "run"]),
        edits in changes(),
        timeline_edits in prop::option::of(changes()),
        drip in 1usize..50,
    ) {
        let log = changed(&fixture(&format!("{name}.csv")), &edits);
        let timeline = changed(&fixture("lldus.csv"), &timeline_edits.unwrap_or_default());
        let whole = outcome(&log[..], Some(&timeline[..]));
        prop_assert_eq!(&outcome(Drip(&log, drip), Some(Drip(&timeline, drip))), &whole);
        let _ = outcome(&log[..], None::<&[u8]>);
    }

    #[test]
    fn random_bytes_never_panic(log in vec(any::<u8>(), 0..400), timeline in vec(any::<u8>(), 0..400)) {
        let _ = outcome(&log[..], Some(&timeline[..]));
        let after_a_head = [fixture("synthetic.csv").as_bytes(), &log].concat();
        let _ = outcome(&after_a_head[..], None::<&[u8]>);
    }

    /// A damaged slot log gives a report, not an error; a cut one does not pass.
    #[test]
    fn a_damaged_slot_log_gives_a_report(edits in changes(), cut: prop::sample::Index) {
        let (log, slots) = (fixture("coupled.csv"), fixture("coupled-slots.csv"));
        let damaged = changed(&slots, &edits);
        audit_with_slots(log.as_bytes(), &damaged[..]).unwrap();
        // The last line feed alone may be missing.
        let short = &slots.as_bytes()[..cut.index(slots.len() - 1)];
        prop_assert!(!audit_with_slots(log.as_bytes(), short).unwrap().passed(), "cut to {}", short.len());
    }
}

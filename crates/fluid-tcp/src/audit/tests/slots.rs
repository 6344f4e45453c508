//! Rules with a slot log: each change is reported by the rule that it breaks.

use super::logs::{SYNTHETIC, with};
use proptest::prelude::*;

use crate::audit::{AuditError, AuditReport, Log, audit_with_slots};

/// Three packets of two data units and one repair unit over `harq:2/3`, with a slot every 10 ms. The first codeword is
/// not decoded, and its repeat is sent between the units of the third.
const PACKETS: &str = "\
# tool: tmt 0.1.0
# log: packets
# link: coupled
# rtt_ns: 100000000
# packet_bytes: 1000
# buffer: 3pkt
# scheme: harq:2/3
# feedback_delay_ns: 0
# units_per_packet: 3
# interleave: 1
# flows: 1
# run_ends_ns: 300000000
flow,packet,copy,sent,enqueued,service_start,service_end,first_lldu,last_lldu,delivered,fate,acked
0,0,1,0.000000000,0.000000000,0.000000000,0.020000000,0,2,0.175000000,delivered,0.260000000
0,1,1,0.000000000,0.000000000,0.030000000,0.050000000,3,5,0.095000000,delivered,0.260000000
0,2,1,0.101000000,0.101000000,0.110000000,0.140000000,11,14,0.185000000,delivered,0.280000000
# end: rows=3
";

const SLOTS: &str = "\
# tool: tmt 0.1.0
# log: slots
# link: coupled
# rtt_ns: 100000000
# packet_bytes: 1000
# buffer: 3pkt
# scheme: harq:2/3
# feedback_delay_ns: 0
# units_per_packet: 3
# interleave: 1
# flows: 1
# run_ends_ns: 300000000
slot,time,unit,flow,packet,copy,codeword,attempt,received,arrival
0,0.000000000,data,0,0,1,0,1,1,0.005000000
1,0.010000000,data,0,0,1,0,1,0,
2,0.020000000,repair,0,0,1,0,1,0,
3,0.030000000,data,0,1,1,1,1,1,0.035000000
4,0.040000000,data,0,1,1,1,1,1,0.045000000
5,0.050000000,repair,0,1,1,1,1,0,
11,0.110000000,data,0,2,1,2,1,1,0.115000000
12,0.120000000,repeat,0,0,1,0,2,1,0.125000000
13,0.130000000,data,0,2,1,2,1,1,0.135000000
14,0.140000000,repair,0,2,1,2,1,1,0.145000000
# end: rows=10
";

/// The broken rules with their lines, those of the slot log after an s, such as `early 15 s22`.
fn broken(report: &AuditReport) -> Vec<String> {
    let broken = report.rules.iter().filter(|rule| rule.violations_total > 0);
    let line = |log, line| match log {
        Log::Packets => format!(" {line}"),
        Log::Slots => format!(" s{line}"),
    };
    broken
        .map(|rule| {
            let lines = rule.violations.iter().map(|one| line(one.log, one.line));
            rule.rule.to_owned() + &lines.collect::<String>()
        })
        .collect()
}

/// The rules that changes to the packet log and to the slot log break.
fn changed(packets: &[(&str, &str)], slots: &[(&str, &str)]) -> Vec<String> {
    let (packets, slots) = (with(PACKETS, packets), with(SLOTS, slots));
    broken(&audit_with_slots(packets.as_bytes(), slots.as_bytes()).unwrap())
}

fn on_slots(changes: &[(&str, &str)]) -> Vec<String> {
    changed(&[], changes)
}

#[test]
fn correct_logs_pass_and_the_rules_of_slots_are_checked() {
    let report = audit_with_slots(PACKETS.as_bytes(), SLOTS.as_bytes()).unwrap();
    assert_eq!(broken(&report), [""; 0]);
    let alone = crate::audit::audit(PACKETS.as_bytes(), None).unwrap();
    assert_eq!((report.rules.len(), alone.rules.len()), (10, 9));
    for rule in ["form", "story", "early", "slots", "repeats"] {
        let checks = |report: &AuditReport| {
            let rule = report.rules.iter().find(|one| one.rule == rule);
            rule.map_or(0, |rule| rule.checks)
        };
        assert!(checks(&report) > checks(&alone), "{rule}");
    }
}

#[test]
fn form_checks_all_of_the_slot_log() {
    for (change, expected) in [
        (("attempt,received", "received,attempt"), "form s13"),
        (("# log: slots", "# log: packets"), "form s13"),
        (("rtt_ns: 100000000", "rtt_ns: 100000001"), "form s13"),
        (("# scheme: harq:2/3\n", ""), "form s12"),
        (("rows=10", "rows=9"), "form s24"),
        (("# end: rows=10\n", ""), "form s23"),
    ] {
        assert_eq!(on_slots(&[change]), [expected], "{change:?}");
    }
    for wrong in [
        "5,0.050000000,repair,0,1,1,1,1,1,",
        "5,0.050000000,repair,0,1,1,1,2,0,",
        "5,0.050000000,repeat,0,1,1,1,1,0,",
        "5,0.050000000,spare,0,1,1,1,1,0,",
        "5,0.05,repair,0,1,1,1,1,0,",
        "5,0.050000000,repair,0,1,1,1,1,1,0.050000000",
        "5,0.050000000,repair,0,1,1,1,1,0",
    ] {
        let found = on_slots(&[("5,0.050000000,repair,0,1,1,1,1,0,", wrong)]);
        // Other rules report that the row is missing.
        assert_eq!(found[0], "form s19", "{wrong}");
    }
}

#[test]
fn slots_finds_a_slot_that_carries_two_units() {
    let twice = ("\n4,0.040000000", "\n3,0.030000000");
    assert_eq!(on_slots(&[twice]), ["slots s18"]);
    let earlier = ("\n4,0.040000000", "\n4,0.029999999");
    assert_eq!(on_slots(&[earlier]), ["slots s18"]);
}

#[test]
fn slots_finds_a_packet_with_other_slots() {
    let first = ("0.050000000,3,5,", "0.050000000,4,5,");
    assert_eq!(changed(&[first], &[]), ["slots 15 15"]);
    let last = ("0.050000000,3,5,", "0.050000000,3,6,");
    assert_eq!(changed(&[last], &[]), ["slots 15"]);
    let missing = ("4,0.040000000,data,0,1,1,1,1,1,0.045000000\n", "");
    // Its delivery is computed from the remaining units.
    let found = on_slots(&[missing, ("rows=10", "rows=9")]);
    assert_eq!(found, ["early 15", "slots 15"]);
    let of_another = ("4,0.040000000,data,0,1,", "4,0.040000000,data,0,0,");
    let found = on_slots(&[of_another]);
    assert_eq!(found, ["early 14 15", "slots 14 14 15", "repeats s18"]);
}

#[test]
fn early_finds_a_service_at_other_times() {
    let start = ("0.030000000,0.050000000,3", "0.030000001,0.050000000,3");
    assert_eq!(changed(&[start], &[]), ["early 15"]);
    let end = ("0.030000000,0.050000000,3", "0.030000000,0.050000001,3");
    assert_eq!(changed(&[end], &[]), ["early 15"]);
}

#[test]
fn early_finds_a_delivery_that_the_slots_cannot_explain() {
    for at in ["0.174999999", "0.175000001"] {
        assert_eq!(changed(&[("0.175000000", at)], &[]), ["early 14"], "{at}");
    }
    // All its data units arrived, so the repair unit does not matter.
    let late = ("2,1,1,0.145000000", "2,1,1,0.295000000");
    assert_eq!(on_slots(&[late]), [""; 0]);
    let lost = ("2,1,1,0.135000000", "2,1,0,");
    assert_eq!(on_slots(&[lost]), ["early 16"], "with 0.145 it is decoded");
    let undecoded = ("0,2,1,0.125000000", "0,2,0,");
    assert_eq!(on_slots(&[undecoded]), ["early 14"]);
    let own = ("0,1,1,0.005000000", "0,1,1,0.126000000");
    assert_eq!(on_slots(&[own]), ["early 14"]);
}

/// With unnecessary repeats only the earliest delivery is known; with in-order delivery it is the packet's turn.
#[test]
fn early_accepts_a_delivery_that_waits_for_its_turn() {
    let flow = ("interleave: 1", "interleave: 1\n# in_order: flow");
    let timer = (
        "interleave: 1",
        "interleave: 1\n# feedback_timer_ns: 150000000",
    );
    for (head, in_order) in [(flow, true), (timer, false)] {
        let late = [head, ("0.185000000,", "0.186000000,")];
        let early = [head, ("0.185000000,", "0.184999999,")];
        let second = ("0.095000000", "0.175000000");
        let of = |packets: [(&str, &str); 2]| {
            let mut packets = packets.to_vec();
            packets.extend(in_order.then_some(second));
            changed(&packets, &[head])
        };
        let expected: &[&str] = if in_order { &["early 17"] } else { &[] };
        assert_eq!(of(late), expected);
        assert_eq!(of(early), ["early 17"]);
        assert_eq!(changed(&[second, flow], &[flow]), [""; 0]);
    }
}

#[test]
fn story_finds_a_slot_of_a_packet_that_is_not_in_the_queue() {
    let early = (
        "0.101000000,0.101000000,0.110000000",
        "0.110000001,0.110000001,0.110000000",
    );
    let found = changed(&[early], &[]);
    assert!(found.contains(&"story 16 s20".to_owned()), "{found:?}");
    let other = ("14,0.140000000,repair,0,2,", "14,0.140000000,repair,0,3,");
    assert_eq!(on_slots(&[other]), ["story s23", "early 16", "slots 16 16"]);
    let dropped = [(
        "0.030000000,0.050000000,3,5,0.095000000,delivered,0.260000000",
        ",,,,,queue,0.260000000",
    )];
    let found = changed(&dropped, &[]);
    assert!(found.contains(&"story s17 s18 s19".to_owned()), "{found:?}");
}

#[test]
fn repeats_finds_a_repeat_that_is_too_early() {
    // Its feedback arrives at 0.120.
    let sooner = [
        ("12,0.120000000", "12,0.119999999"),
        ("0,2,1,0.125000000", "0,2,1,0.125000000"),
    ];
    assert_eq!(on_slots(&sooner), ["repeats s21"]);
    let later = [("feedback_delay_ns: 0", "feedback_delay_ns: 1")];
    assert_eq!(changed(&later, &later), ["repeats s21"]);
}

#[test]
fn repeats_finds_a_new_unit_before_a_repeat_that_is_ready() {
    let row = "12,0.120000000,repeat,0,0,1,0,2,1,0.125000000\n";
    let next = "13,0.130000000,data,0,2,1,2,1,1,0.135000000\n";
    let swapped = [
        (row, ""),
        (
            next,
            "12,0.120000000,data,0,2,1,2,1,1,0.125000000\n\
             13,0.130000000,repeat,0,0,1,0,2,1,0.135000000\n",
        ),
    ];
    // Their data arrives in the other order, too.
    let rows = [
        ("0.175000000,", "0.185000000,"),
        ("11,14,0.185000000", "11,14,0.175000000"),
    ];
    assert_eq!(changed(&rows, &swapped), ["repeats s22"]);
    // With a later timer, its feedback may have been lost.
    let timer = (
        "interleave: 1",
        "interleave: 1\n# feedback_timer_ns: 110000000",
    );
    let lost: Vec<(&str, &str)> = [timer].into_iter().chain(swapped).collect();
    assert_eq!(changed(&[timer, rows[0], rows[1]], &lost)[..], [""; 0]);
    let timer = (
        "interleave: 1",
        "interleave: 1\n# feedback_timer_ns: 110000001",
    );
    let lost: Vec<(&str, &str)> = [timer].into_iter().chain(swapped).collect();
    assert_eq!(changed(&[timer, rows[0], rows[1]], &lost), ["repeats s23"]);
}

#[test]
fn repeats_finds_attempts_out_of_order() {
    let third = ("repeat,0,0,1,0,2", "repeat,0,0,1,0,3");
    assert_eq!(on_slots(&[third]), ["repeats s21"]);
    let of_another = ("repeat,0,0,1,0,2", "repeat,0,0,1,7,2");
    assert!(on_slots(&[of_another]).contains(&"repeats s21".to_owned()));
    let backwards = [
        ("data,0,1,1,1,", "data,0,1,1,2,"),
        ("data,0,1,1,1,", "data,0,1,1,2,"),
        ("repair,0,1,1,1,", "repair,0,1,1,2,"),
    ];
    assert_eq!(
        on_slots(&backwards),
        ["repeats s20"],
        "codeword 2 begins again"
    );
    // A second unit of the attempt, after a unit of another codeword.
    let apart = [
        (
            "14,0.140000000,repair,0,2,1,2,1,1,0.145000000",
            "14,0.140000000,repeat,0,0,1,0,2,0,\n15,0.150000000,repair,0,2,1,2,1,1,0.155000000",
        ),
        ("rows=10", "rows=11"),
    ];
    let rows = [("0.140000000,11,14", "0.150000000,11,15")];
    assert_eq!(changed(&rows, &apart), ["repeats s23"]);
}

#[test]
fn a_slot_log_of_another_link_is_an_error() {
    let outcome = audit_with_slots(SYNTHETIC.as_bytes(), SLOTS.as_bytes());
    assert!(matches!(outcome, Err(AuditError::NeedlessSlots)));
}

/// The scheme determines which units count, so it must be known.
#[test]
fn an_unknown_scheme_is_refused() {
    let unknown = ("scheme: harq:2/3", "scheme: frame-arq-of-old:2/3");
    assert_eq!(changed(&[], &[unknown]), ["form s13"]);
    // The repeat alone has too few units if each attempt counts alone.
    let discards = ("scheme: harq:2/3", "scheme: frame-arq:2/3");
    assert_eq!(changed(&[], &[discards]), ["early 14"]);
}

/// Packets are checked and dropped once no repeat of them can follow.
#[test]
fn complete_packets_are_not_kept() {
    use super::super::{Auditor, reader::LogReader, report::RuleTally};
    let body = |text: &str| {
        text.lines()
            .take_while(|line| line.starts_with('#'))
            .count()
            + 1
    };
    let keep = |text: &str| {
        text.lines()
            .take(body(text))
            .map(|line| line.to_owned() + "\n")
            .collect::<String>()
    };
    let (mut packets, mut slots) = (keep(PACKETS), keep(SLOTS));
    for number in 0..3000 {
        let at =
            |slot: u64, more: u64| format!("{}.{:09}", slot / 100, slot % 100 * 10_000_000 + more);
        let (first, last) = (number * 3, number * 3 + 2);
        let (sent, start, end) = (at(first, 0), at(first, 0), at(last, 0));
        let delivered = at(first + 6, 5_000_000);
        packets += &format!(
            "0,{number},1,{sent},{sent},{start},{end},{first},{last},{delivered},delivered,\n"
        );
        for (slot, kind) in [(first, "data"), (first + 1, "data"), (last, "repair")] {
            slots += &format!(
                "{slot},{},{kind},0,{number},1,{number},1,1,{}\n",
                at(slot, 0),
                at(slot, 5_000_000)
            );
        }
    }
    packets = packets.replace("run_ends_ns: 300000000", "run_ends_ns: 99000000000");
    slots =
        slots.replace("run_ends_ns: 300000000", "run_ends_ns: 99000000000") + "# end: rows=9000\n";
    let mut tally = RuleTally::new(true);
    let log = LogReader::new(Log::Packets, packets.as_bytes());
    let slots = Some(Box::new(slots.as_bytes()) as Box<dyn std::io::Read>);
    let auditor = Auditor::open(log, None, slots, &mut tally).unwrap();
    let mut auditor = auditor.unwrap();
    let mut most = 0;
    while auditor.log.next_row(&mut tally).unwrap() {
        auditor.on_row(&mut tally).unwrap();
        most = most.max(auditor.slots.as_ref().unwrap().transmissions.len());
    }
    assert!(most < 9, "{most} packets kept");
    let report = auditor.run(tally).unwrap();
    assert_eq!(
        broken(&report),
        ["form 3013"],
        "the packet log has no end line"
    );
}

proptest! {
    /// A damaged slot log gives a report, not an error; a cut one does not pass.
    #[test]
    fn a_damaged_slot_log_gives_a_report(
        at in any::<prop::sample::Index>(),
        byte in prop::sample::select(b"0123456789.,#\n\r -\"x".to_vec()),
        cut in any::<prop::sample::Index>(),
        lines in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let mut changed = SLOTS.as_bytes().to_vec();
        let place = at.index(changed.len());
        changed[place] = byte;
        let mut swapped: Vec<&str> = SLOTS.split_inclusive('\n').collect();
        let count = swapped.len();
        swapped.swap(lines.0.index(count), lines.1.index(count));
        for log in [&changed[..], swapped.concat().as_bytes()] {
            let report = audit_with_slots(PACKETS.as_bytes(), log).unwrap();
            prop_assert!(!report.rules.is_empty());
        }
        // The last line feed alone may be missing.
        let short = &SLOTS.as_bytes()[..cut.index(SLOTS.len() - 1)];
        let report = audit_with_slots(PACKETS.as_bytes(), short).unwrap();
        prop_assert!(!report.passed(), "cut to {}", short.len());
    }
}

//! Each rule: a correct log passes, and a single error is reported by the rule that it breaks.

mod flow;
mod form;
mod link;
mod logs;
mod properties;
mod slots;
mod split;
mod world;

use std::io::Read;

use tmt_core::format::{Options, TraceReader};

use super::{AuditError, AuditReport, VIOLATIONS_SHOWN, audit};
use logs::{SYNTHETIC, TIMELINE, TIMELINE_LOG, with};

fn report(log: &str, timeline: Option<&str>) -> AuditReport {
    read(log.as_bytes(), timeline.map(str::as_bytes)).unwrap()
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
    let timeline = timeline
        .map(|timeline| TraceReader::new(timeline, options))
        .transpose()
        .map_err(AuditError::Timeline)?;
    audit(log, timeline)
}

/// The broken rules with their lines, such as `fifo 15 16`.
fn broken(report: &AuditReport) -> Vec<String> {
    let broken = report.rules.iter().filter(|rule| rule.violations_total > 0);
    broken
        .map(|rule| {
            rule.violations
                .iter()
                .fold(rule.rule.to_owned(), |words, violation| {
                    format!("{words} {}", violation.line)
                })
        })
        .collect()
}

/// The rules that changes to the log of the timeline link break.
fn on_timeline(changes: &[(&str, &str)]) -> Vec<String> {
    broken(&report(&with(TIMELINE_LOG, changes), Some(TIMELINE)))
}

/// The rules that changes to the log of the timeline link break, without the timeline.
fn without_timeline(changes: &[(&str, &str)]) -> Vec<String> {
    broken(&report(&with(TIMELINE_LOG, changes), None))
}

/// The rules that changes to the log of the synthetic link break.
fn on_synthetic(changes: &[(&str, &str)]) -> Vec<String> {
    broken(&report(&with(SYNTHETIC, changes), None))
}

#[test]
fn correct_logs_pass_and_every_rule_is_checked() {
    for report in [
        report(TIMELINE_LOG, Some(TIMELINE)),
        report(TIMELINE_LOG, None),
        report(SYNTHETIC, None),
    ] {
        assert!(report.passed(), "{:#?}", report.rules);
        assert_eq!(report.rules.len(), 9);
        // These two logs do not have the parts of the delays.
        assert!(
            report
                .rules
                .iter()
                .all(|rule| (rule.checks > 0) != (rule.rule == "parts"))
        );
    }
}

#[test]
fn the_totals_are_those_of_the_log() {
    let totals = report(TIMELINE_LOG, None).totals;
    let all = totals.counts;
    assert_eq!((all.copies_sent, all.copies_retransmitted), (9, 3));
    assert_eq!((all.copies_delivered, all.duplicates_received), (5, 1));
    assert_eq!(
        (all.lost_on_link, all.dropped_at_queue, all.open),
        (1, 1, 2)
    );
    let in_order = totals
        .flows
        .iter()
        .map(|flow| (flow.flow, flow.counts.packets_delivered_in_order));
    assert_eq!(in_order.collect::<Vec<_>>(), [(0, 2), (1, 2)]);
    assert_eq!(all.packets_delivered_in_order, 4);
}

#[test]
fn a_timeline_that_cannot_be_used_is_an_error() {
    let no_timeline = read(TIMELINE_LOG.as_bytes(), Some("no timeline".as_bytes()));
    assert!(matches!(no_timeline, Err(AuditError::Timeline(_))));
    let needless = read(SYNTHETIC.as_bytes(), Some(TIMELINE.as_bytes()));
    assert!(matches!(needless, Err(AuditError::NeedlessTimeline)));
    let broken_off = TIMELINE.replace("0.004000000,0\n", "0.004000000,zero\n");
    let broken_off = read(TIMELINE_LOG.as_bytes(), Some(broken_off.as_bytes()));
    assert!(matches!(broken_off, Err(AuditError::Timeline(_))));
}

#[test]
fn violations_after_the_twentieth_are_only_counted() {
    let head = TIMELINE_LOG.split_inclusive('\n').take(13);
    let log: String = head.chain(std::iter::repeat_n("what?\n", 50)).collect();
    let report = audit(log.as_bytes(), None).unwrap();
    assert_eq!(report.rules[0].violations_total, 51);
    assert_eq!(report.rules[0].violations.len(), VIOLATIONS_SHOWN);
    assert_eq!(report.rules[0].violations[19].line, 33);
}

//! What one row alone can show: rule `story`, the times of rule `form`, and when rule `queue` lets a packet leave.

use tmt_core::types::{Span, Time};

use super::finding::Finding;
use super::head::{Head, Link};
use super::report::{Rule, RuleTally};
use super::row::{Row, Service};

/// All that a row shows on its own, its delay's parts aside.
pub(super) fn check(row: &Row, head: &Head, tally: &mut RuleTally) {
    check_run_end(row, head.run_ends, tally);
    check_order(row, head, tally);
    check_arrival(row, head, tally);
    if let (Some(left), Some(service)) = (row.left, row.fate.service()) {
        check_leaving(row, left, service, head, tally);
    }
}

/// Nothing in the log lies behind the end of the run.
///
/// The end of a service may: the run can end while a packet is being sent.
fn check_run_end(row: &Row, run_ends: Time, tally: &mut RuleTally) {
    let start = row.fate.service().map(|service| service.start);
    let times = [
        ("sent", Some(row.sent)),
        ("enqueued", row.enqueued),
        ("service_start", start),
        ("delivered", row.fate.delivered()),
        ("acked", row.acked),
    ];
    for (name, time) in times {
        let Some(time) = time else { continue };
        tally.check(Rule::Form, row.line, time <= run_ends, || {
            let expected = format!("at most the end of the run, {run_ends}");
            Finding::new(format!("{name} {time}"), expected)
        });
    }
}

/// sent ≤ enqueued ≤ service start ≤ service end < delivered.
fn check_order(row: &Row, head: &Head, tally: &mut RuleTally) {
    let service = row.fate.service();
    // On a coupled link a packet may be whole before the last of its repair units has gone out.
    let end = service.map(|service| match (head.link, row.fate.delivered()) {
        (Link::Coupled { .. }, Some(at)) if at > service.start => {
            let before = Time::from_nanos(at.as_nanos() - 1);
            service.end.min(before.unwrap_or(Time::ZERO))
        }
        _ => service.end,
    });
    let times = [
        ("sent", Some(row.sent)),
        ("enqueued", row.enqueued),
        ("service_start", service.map(|service| service.start)),
        ("service_end", end),
        ("delivered", row.fate.delivered()),
    ];
    // Decoding takes time on a timeline; a synthetic link of no RTT delivers when the last bit is out.
    let may_coincide = matches!(head.link, Link::Synthetic { .. }) && head.forward == Span::ZERO;
    for pair in times.windows(2) {
        let &[(before, Some(earlier)), (name, Some(later))] = pair else {
            continue;
        };
        let strict = name == "delivered" && !may_coincide;
        let holds = earlier < later || earlier == later && !strict;
        tally.check(Rule::Story, row.line, holds, || {
            let relation = if strict { "after" } else { "not before" };
            let expected = format!("{relation} {before} {earlier}");
            Finding::new(format!("{name} {later}"), expected)
        });
    }
}

/// The gateway is as far from the sender as the head says.
fn check_arrival(row: &Row, head: &Head, tally: &mut RuleTally) {
    let reaches = row.sent.saturating_add(head.toward);
    if let Some(enqueued) = row.enqueued {
        // One before it was sent is told of elsewhere.
        let holds = enqueued == reaches || enqueued < row.sent;
        tally.check(Rule::Story, row.line, holds, || {
            Finding::new(format!("enqueued {enqueued}"), reaches.to_string())
        });
    } else {
        tally.check(Rule::Form, row.line, reaches > row.sent, || {
            Finding::new("no time in 'enqueued'", reaches.to_string())
        });
    }
}

/// The gateway's buffer lets a packet go when it may.
fn check_leaving(row: &Row, left: Time, service: Service, head: &Head, tally: &mut RuleTally) {
    let mut queue = tally.at(Rule::Queue, row.line);
    if !head.keeps {
        return queue.exactly("left", left, service.end, ", the end of its service");
    }
    // What acknowledges it has gone there and back.
    let there_and_back = head.forward.saturating_add(head.feedback);
    let first = service
        .start
        .saturating_add(there_and_back.saturating_add(head.feedback_delay));
    let why = ", when the link can have acknowledged it";
    queue.not_before("left", left, first, why);
    let at = row.fate.delivered();
    if let Some(at) = at.filter(|_| head.in_order.is_none() && head.proxied) {
        let mut known = at.saturating_add(head.feedback);
        if let Link::Timeline { .. } = head.link {
            // On a coupled link the delay counts from the unit's sending, decoding or not.
            known = known.saturating_add(head.feedback_delay);
        }
        queue.not_before("left", left, known, ", when its delivery is known");
    }
}

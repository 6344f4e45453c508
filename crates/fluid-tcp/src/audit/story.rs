//! What one row alone can show: rule `story`, and the times of rule `form`.

use tmt_core::types::{Span, Time};

use super::head::{Head, Link};
use super::refusal::Refusal;
use super::report::{Ledger, Rule};
use super::row::Row;

/// Nothing in the log lies behind the end of the run.
///
/// The end of a service may: the run can end while a packet is being sent.
pub(super) fn check_run_end(row: &Row, run_ends: Time, ledger: &mut Ledger) {
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
        ledger.check(Rule::Form, row.line, time <= run_ends, || {
            Refusal::new(
                format!("{name} {time}"),
                format!("at most the end of the run, {run_ends}"),
            )
        });
    }
}

/// The gateway is as far from the sender as the head says, and its buffer lets go when it may.
pub(super) fn check_gateway(row: &Row, head: &Head, ledger: &mut Ledger) {
    let reaches = row.sent.saturating_add(head.toward);
    if let Some(enqueued) = row.enqueued {
        // One before it was sent is told of elsewhere.
        let holds = enqueued == reaches || enqueued < row.sent;
        ledger.check(Rule::Story, row.line, holds, || {
            Refusal::new(format!("enqueued {enqueued}"), format!("{reaches}"))
        });
    } else {
        ledger.check(Rule::Form, row.line, reaches > row.sent, || {
            Refusal::new("no time in 'enqueued'", format!("{reaches}"))
        });
    }
    let (Some(left), Some(service)) = (row.left, row.fate.service()) else {
        return;
    };
    let mut check = |holds, expected: String| {
        ledger.check(Rule::Queue, row.line, holds, || {
            Refusal::new(format!("left {left}"), expected)
        });
    };
    if !head.keeps {
        return check(
            left == service.end,
            format!("{}, the end of its service", service.end),
        );
    }
    // What acknowledges it has gone there and back.
    let first = service
        .start
        .saturating_add(head.forward)
        .saturating_add(head.feedback)
        .saturating_add(head.feedback_delay);
    check(
        left >= first,
        format!("not before {first}, when the link can have acknowledged it"),
    );
    if let Some(at) = row
        .fate
        .delivered()
        .filter(|_| head.in_order.is_none() && head.proxied)
    {
        let mut known = at.saturating_add(head.feedback);
        if let Link::Timeline { .. } = head.link {
            // On a coupled link the delay counts from the unit's sending, decoding or not.
            known = known.saturating_add(head.feedback_delay);
        }
        check(
            left >= known,
            format!("not before {known}, when its delivery is known"),
        );
    }
}

/// sent ≤ enqueued ≤ service start ≤ service end < delivered.
pub(super) fn check(row: &Row, head: &Head, ledger: &mut Ledger) {
    let service = row.fate.service();
    // On a coupled link a packet may be whole before the last of its repair units has gone out.
    let end = service.map(|service| match (head.link, row.fate.delivered()) {
        (Link::Coupled { .. }, Some(at)) if at > service.start => {
            let before = at.since(Time::ZERO).as_nanos() - 1;
            service
                .end
                .min(Time::from_nanos(before).unwrap_or(Time::ZERO))
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
    for ((before, earlier), (name, later)) in times.into_iter().zip(times.into_iter().skip(1)) {
        let (Some(earlier), Some(later)) = (earlier, later) else {
            continue;
        };
        let strict = name == "delivered" && !may_coincide;
        let holds = if strict {
            earlier < later
        } else {
            earlier <= later
        };
        ledger.check(Rule::Story, row.line, holds, || {
            let relation = if strict { "after" } else { "not before" };
            Refusal::new(
                format!("{name} {later}"),
                format!("{relation} {before} {earlier}"),
            )
        });
    }
}

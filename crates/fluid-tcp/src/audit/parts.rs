//! What a delay is made of: rule `parts`.

use tmt_core::types::{Span, Time};

use super::finding::Finding;
use super::head::{Head, Link};
use super::report::{Rule, RuleTally};
use super::row::{Fate, PARTS, Row};

/// Each part is the time between two events of the row, and all of them are its delay.
pub(super) fn check(row: &Row, head: &Head, tally: &mut RuleTally) {
    let (Some(parts), Some(enqueued), Fate::Delivered { service, at }) =
        (row.parts, row.enqueued, row.fate)
    else {
        return;
    };
    let nanos = |span: Span| i128::from(span.as_nanos());
    // Signed: the times of a log that is wrong may stand in any order.
    let between = |from: Time, to: Time| i128::from(to.as_nanos()) - i128::from(from.as_nanos());
    let forward = nanos(head.forward);
    let mut serialised = between(service.start, service.end);
    if let Link::Coupled { .. } = head.link {
        // It may be whole before the last of its repair units has gone out.
        serialised = serialised.min(between(service.start, at) - forward);
    }
    let expected = [
        between(row.sent, enqueued) + forward,
        between(enqueued, service.start),
        serialised,
        between(service.start, at) - serialised - forward,
    ];
    let mut rule = tally.at(Rule::Parts, row.line);
    for ((name, expected), part) in PARTS.iter().zip(expected).zip(parts) {
        rule.check(nanos(part) == expected, || {
            Finding::new(format!("{name} {part}"), format!("{expected} ns"))
        });
    }
    let sum: i128 = parts.into_iter().map(nanos).sum();
    let delay = between(row.sent, at);
    rule.check(sum == delay, || {
        Finding::new(
            format!("parts of {sum} ns together"),
            format!("the delay, {delay} ns"),
        )
    });
}

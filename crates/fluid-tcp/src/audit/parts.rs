//! What a delay is made of: rule `parts`.

use tmt_core::types::{Span, Time};

use super::head::{Head, Link};
use super::refusal::Refusal;
use super::report::{Ledger, Rule};
use super::row::{Fate, Row};

/// Each part is the time between two events of the row, and all of them are its delay.
pub(super) fn check(row: &Row, head: &Head, ledger: &mut Ledger) {
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
        ("delay_propagation", between(row.sent, enqueued) + forward),
        ("delay_queue", between(enqueued, service.start)),
        ("delay_serialisation", serialised),
        (
            "delay_wait",
            between(service.start, at) - serialised - forward,
        ),
    ];
    for ((name, expected), part) in expected.into_iter().zip(parts) {
        ledger.check(Rule::Parts, row.line, nanos(part) == expected, || {
            Refusal::new(format!("{name} {part}"), format!("{expected} ns"))
        });
    }
    let sum: i128 = parts.into_iter().map(nanos).sum();
    let delay = between(row.sent, at);
    ledger.check(Rule::Parts, row.line, sum == delay, || {
        Refusal::new(
            format!("parts of {sum} ns together"),
            format!("the delay, {delay} ns"),
        )
    });
}

//! Checks of a single row: rules `story` and `parts`, the times of rule `form`, and `left` for rule `queue`.

use tmt_core::types::{Span, Time};

use super::head::{Head, Link};
use super::report::{Rule, RuleTally};
use super::row::{Fate, PARTS, Row, Service};

/// Makes all checks that need no other row.
pub(super) fn check(row: &Row, head: &Head, tally: &mut RuleTally) {
    check_arrival(row, head, tally);
    check_far(row, head, tally);
    let on_link = row.on_link().unwrap_or(*row);
    let whole = row;
    let row = &on_link;
    check_times(row, head, tally);
    if let (Some(left), Some(service)) = (row.left, row.service) {
        check_leaving(row, left, service, head, tally);
    }
    if let (None, Some(service), false) = (row.left, row.service, head.keeps) {
        // The run can have ended before the last unit of a coupled link.
        let over = row.delivered.is_some_and(|at| at >= service.end);
        let is_over = over || row.fate == Fate::Link;
        let mut queue = tally.at(Rule::Queue, row.line);
        queue.check(!is_over, "no time in 'left'", service.end);
    }
    check_parts(whole, row, head, tally);
}

/// Checks that a packet is delivered when it leaves the link, or later if there is a hop behind it.
fn check_far(row: &Row, head: &Head, tally: &mut RuleTally) {
    let Some((Some(crossed), delivered)) = row.beside.map(|it| (it.crossed, row.delivered)) else {
        return;
    };
    for (name, at) in [("crossed", Some(crossed)), ("delivered", delivered)] {
        let Some(at) = at else { continue };
        let mut form = tally.at(Rule::Form, row.line);
        let ends = head.run_ends;
        let expected = format_args!("at most the end of the run, {ends}");
        form.check(at <= ends, format_args!("{name} {at}"), expected);
    }
    let Some(at) = delivered else { return };
    let mut story = tally.at(Rule::Story, row.line);
    let why = ", when it left the link";
    if head.hops[1] {
        story.not_before("delivered", at, crossed, why);
    } else {
        story.exactly("delivered", at, crossed, why);
    }
}

/// Checks sent ≤ enqueued ≤ service start ≤ service end < delivered, all within the run.
///
/// Only the end of a service may be after the end of the run, which can end while a packet is being sent.
fn check_times(row: &Row, head: &Head, tally: &mut RuleTally) {
    // On a coupled link a packet may be complete before its last repair unit is sent.
    let end = row.service.map(|service| match (head.link, row.delivered) {
        (Link::Coupled, Some(at)) if at > service.start => {
            let before = Time::from_nanos(at.as_nanos() - 1);
            service.end.min(before.unwrap_or(Time::ZERO))
        }
        _ => service.end,
    });
    let times = [
        ("sent", Some(row.sent)),
        ("enqueued", row.enqueued),
        ("service_start", row.service.map(|service| service.start)),
        ("service_end", end),
        ("delivered", row.delivered),
    ];
    for (name, time) in times.into_iter().chain([("acked", row.acked)]) {
        if let Some(time) = time.filter(|_| name != "service_end") {
            let (found, ends) = (format_args!("{name} {time}"), head.run_ends);
            let expected = format_args!("at most the end of the run, {ends}");
            let mut form = tally.at(Rule::Form, row.line);
            form.check(time <= ends, found, expected);
        }
    }
    // Decoding takes time on a timeline. A synthetic link without RTT delivers at the end of the service.
    let may_coincide = head.link == Link::Synthetic && head.forward == Span::ZERO;
    for pair in times.windows(2) {
        let &[(before, Some(earlier)), (name, Some(later))] = pair else {
            continue;
        };
        let strict = name == "delivered" && !may_coincide;
        let relation = if strict { "after" } else { "not before" };
        let holds = later > earlier || later == earlier && !strict;
        let expected = format_args!("{relation} {before} {earlier}");
        let mut story = tally.at(Rule::Story, row.line);
        story.check(holds, format_args!("{name} {later}"), expected);
    }
}

/// Checks that the packet reaches the gateway half a terrestrial RTT after it was sent.
fn check_arrival(row: &Row, head: &Head, tally: &mut RuleTally) {
    let reaches = row.sent.saturating_add(head.toward);
    if let Some(enqueued) = row.enqueued {
        // A time before `sent` is reported by `check_times`.
        let waited = head.hops[0] && enqueued > reaches;
        let holds = enqueued == reaches || waited || enqueued < row.sent;
        let mut story = tally.at(Rule::Story, row.line);
        story.check(holds, format_args!("enqueued {enqueued}"), reaches);
    } else if !head.hops[0] {
        let mut form = tally.at(Rule::Form, row.line);
        form.check(reaches > row.sent, "no time in 'enqueued'", reaches);
    }
}

/// Checks the time at which the packet left the gateway's buffer.
fn check_leaving(row: &Row, left: Time, service: Service, head: &Head, tally: &mut RuleTally) {
    let mut queue = tally.at(Rule::Queue, row.line);
    if !head.keeps {
        return queue.exactly("left", left, service.end, ", the end of its service");
    }
    // The link's acknowledgement takes one round trip.
    let feedback = head.feedback.saturating_add(head.feedback_delay);
    let first = service
        .start
        .saturating_add(head.forward.saturating_add(feedback));
    let why = ", the earliest time at which the link can have acknowledged it";
    match (head.link, row.delivered) {
        // Without lost feedback, the replayed link knows more.
        (Link::Coupled, Some(_)) if head.feedback_timer.is_none() => {}
        (Link::Coupled, Some(at)) if head.in_order.is_none() && head.proxied => {
            queue.not_before("left", left, first, why);
            // On a coupled link the feedback delay counts from the sending of the unit.
            let known = at.saturating_add(head.feedback);
            queue.not_before("left", left, known, ", when its delivery is known");
        }
        (Link::Coupled, _) | (_, None) => queue.not_before("left", left, first, why),
        (_, Some(at)) => {
            let known = at.saturating_add(feedback);
            queue.exactly("left", left, known, ", when its delivery is known");
        }
    }
}

/// Checks that each part of the delay is the time between two events of the row, and that they add up to the delay.
fn check_parts(whole: &Row, row: &Row, head: &Head, tally: &mut RuleTally) {
    let (Some(parts), Some(enqueued), Some(service), Some(at), Some(delivered)) = (
        row.parts,
        row.enqueued,
        row.service,
        row.delivered,
        whole.delivered,
    ) else {
        return;
    };
    // Signed, because the times of a wrong log may be in any order.
    let between = |from: Time, to: Time| i128::from(to.as_nanos()) - i128::from(from.as_nanos());
    let forward = i128::from(head.forward.as_nanos());
    let mut serialised = between(service.start, service.end);
    if head.link == Link::Coupled {
        // The packet may be complete before its last repair unit is sent.
        serialised = serialised.min(between(service.start, at) - forward);
    }
    let beside = row.beside.and_then(|beside| beside.delays());
    let toward = match beside {
        None => between(row.sent, enqueued),
        Some(_) => i128::from(head.toward.as_nanos()),
    };
    let expected = [
        toward + forward,
        between(enqueued, service.start),
        serialised,
        between(service.start, at) - serialised - forward,
    ];
    let mut rule = tally.at(Rule::Parts, row.line);
    let nanos = parts.map(|part| i128::from(part.as_nanos()));
    for (index, name) in PARTS.into_iter().enumerate() {
        let (found, expected) = (format_args!("{name} {}", parts[index]), expected[index]);
        rule.check(
            nanos[index] == expected,
            found,
            format_args!("{expected} ns"),
        );
    }
    let delays = beside.map_or([0; 2], |them| them.map(|it| i128::from(it.as_nanos())));
    let far = between(at, delivered);
    if beside.is_some() {
        let found = format_args!("delay_far {} ns", delays[1]);
        rule.check(delays[1] == far, found, format_args!("{far} ns"));
    }
    let sum = nanos.iter().sum::<i128>() + delays.iter().sum::<i128>();
    let delay = between(row.sent, delivered);
    let found = format_args!("parts with a sum of {sum} ns");
    rule.check(sum == delay, found, format_args!("the delay, {delay} ns"));
}

//! The comparison for people: one line, and tables.

use std::fmt::Write as _;

use tmt_core::pipeline::{FirstDifference, Side};
use tmt_core::types::{Span, one_line};

use super::{KeyDifference, Results, delay, line};
use crate::cmd::stats::figures::{Value, seconds, side_by_side};
use crate::table::{Table, counted, millis, wrap};

/// The result of the comparison, in one line.
pub(super) fn verdict(results: &Results, ignore_head: bool) -> String {
    let [a, b] = &results.names;
    let found = &results.found;
    let most = counted(found.rows[0].max(found.rows[1]), "slot");
    let rows = match found.first {
        None => format!("{most} are equal"),
        Some(FirstDifference { row, sides: [a, b] }) => {
            let at = a.or(b).map(|side| format!(" at {} s", time(&side)));
            format!(
                "{} of {most} differ, the first is slot {row}{}",
                found.differing,
                at.unwrap_or_default()
            )
        }
    };
    let keys: Vec<&str> = results
        .heads
        .iter()
        .filter(|key| key.decides)
        .map(|key| key.key.as_str())
        .collect();
    let heads = match (keys.is_empty(), ignore_head) {
        (true, _) => String::new(),
        (false, true) => format!("; heads differ in {}, ignored", keys.join(", ")),
        (false, false) => format!("; heads differ in {}", keys.join(", ")),
    };
    let columns = if found.has_attempts[0] == found.has_attempts[1] {
        ""
    } else {
        "; only one has the column attempts"
    };
    one_line(&format!("{a} and {b}: {rows}{heads}{columns}"))
}

/// The tables.
pub(super) fn tables(results: &Results) -> String {
    let [a, b] = &results.names;
    let mut text = one_line(&format!("A {a}")) + "\n" + &one_line(&format!("B {b}")) + "\n";
    text += &first(results);
    text += &counts(results);
    for (title, decides) in [("head", true), ("how they were made", false)] {
        let keys = results.heads.iter().filter(|key| key.decides == decides);
        let keys: Vec<&KeyDifference> = keys.collect();
        if !keys.is_empty() {
            text += &head(title, &keys);
        }
    }
    text += &statistics(results);
    text
}

fn first(results: &Results) -> String {
    let Some(FirstDifference { row, sides: [a, b] }) = results.found.first else {
        return "\nall slots are equal\n".to_owned();
    };
    let delay = |side: Side| match delay(&side) {
        Some(delay) => seconds(delay.as_nanos()),
        None => "erased".to_owned(),
    };
    let mut table = Table::of([("A", a), ("B", b)])
        .words(format!("first difference: slot {row}"), |(name, _)| *name)
        .plain("line", |(_, side)| line(side.as_ref()?))
        .plain("transmission time s", |(_, side)| side.as_ref().map(time))
        .plain("decoding delay s", |(_, side)| side.map(delay));
    if results.found.has_attempts != [false; 2] {
        table = table.plain("attempts", |(_, side)| side.as_ref()?.attempts);
    }
    format!("\n{}", table.transposed())
}

/// The transmission time of a row, s.
fn time(side: &Side) -> String {
    seconds(side.slot.tx_time().as_nanos())
}

fn counts(results: &Results) -> String {
    let found = &results.found;
    if found.first.is_none() {
        return String::new();
    }
    let up_to = |span: Span| format!("by up to {} ms", millis(Some(span.as_secs_f64())));
    let (times, delays) = (up_to(found.largest_time), up_to(found.largest_delay));
    let [a, b] = found.rows;
    let most = format!("of {}", a.max(b));
    let rows = [
        ("slots that differ", found.differing, most.as_str()),
        ("in the transmission time", found.times, &times),
        ("in the decoding delay", found.delays, &delays),
        ("erased in A only", found.erased_only[0], ""),
        ("erased in B only", found.erased_only[1], ""),
        ("in the attempts", found.attempts, ""),
        ("in A only", a.saturating_sub(b), ""),
        ("in B only", b.saturating_sub(a), ""),
    ];
    let table = Table::of(rows.into_iter().filter(|(_, count, _)| *count > 0))
        .words("differing slots", |(name, ..)| *name)
        .plain("", |(_, count, _)| *count)
        .plain("", |(.., largest)| *largest);
    format!("\n{table}")
}

fn head(title: &str, keys: &[&KeyDifference]) -> String {
    let mut text = format!("\n{title}\n");
    for key in keys {
        for (side, values) in [("A", &key.a), ("B", &key.b)] {
            let name = format!("{side} {}:", key.key);
            if values.is_empty() {
                let _ = writeln!(text, "{name} none");
            }
            for value in values {
                let line = format!("{name} {}", one_line(value));
                let _ = writeln!(text, "{}", wrap(&line, "    "));
            }
        }
    }
    text
}

fn statistics(results: &Results) -> String {
    let table = Table::of(side_by_side(&results.stats[0], &results.stats[1]))
        .words("statistics", |(name, _)| name.clone())
        .plain("A", |(_, [a, _])| a.map(Value::text))
        .plain("B", |(_, [_, b])| b.map(Value::text))
        .plain("B - A", |(_, [a, b])| Some(b.as_ref()?.difference((*a)?)));
    format!("\n{table}")
}

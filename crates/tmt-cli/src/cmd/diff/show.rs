//! The comparison for people: one line, and tables.

use std::fmt::Write as _;

use tmt_core::types::one_line;

use super::{FirstSide, KeyDifference, Results};
use crate::cmd::stats::figures::{Value, seconds, side_by_side};
use crate::table::{Report, counted, millis, wrap};

/// What was found, in one line.
pub(super) fn verdict(results: &Results, ignore_head: bool) -> String {
    let [a, b] = &results.names;
    let most = results.slots_a.max(results.slots_b);
    let rows = match &results.first {
        None => format!("{} are equal", counted(most, "slot")),
        Some(first) => {
            let time = first.a.as_ref().or(first.b.as_ref());
            let time = time.map_or_else(String::new, |side| {
                format!(" at {} s", seconds(side.tx_time_ns))
            });
            format!(
                "{} of {} differ, the first is slot {}{time}",
                results.slots_differing,
                counted(most, "slot"),
                first.slot
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
    let columns = if results.has_attempts_a == results.has_attempts_b {
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
    let Some(first) = &results.first else {
        return "\nall slots are equal\n".to_owned();
    };
    let mut report = Report::new([
        format!("first difference: slot {}", first.slot),
        "A".into(),
        "B".into(),
    ]);
    let mut row = |name: &str, value: &dyn Fn(&FirstSide) -> String| {
        let cell = |side: &Option<FirstSide>| side.as_ref().map_or_else(|| "-".to_owned(), value);
        report.row(name, [cell(&first.a), cell(&first.b)]);
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    row("line", &|side| {
        or_dash(side.line.map(|line| line.to_string()))
    });
    row("transmission time s", &|side| seconds(side.tx_time_ns));
    row("decoding delay s", &|side| {
        side.decode_delay
            .map_or_else(|| "erased".to_owned(), |delay| seconds(delay.as_nanos()))
    });
    if results.has_attempts_a || results.has_attempts_b {
        row("attempts", &|side| {
            or_dash(side.attempts.map(|attempts| attempts.to_string()))
        });
    }
    format!("\n{report}")
}

fn counts(results: &Results) -> String {
    if results.first.is_none() {
        return String::new();
    }
    let mut report = Report::new(["differing slots", "", ""]);
    let most = results.slots_a.max(results.slots_b);
    let mut row = |name: &str, count: u64, largest: String| {
        if count > 0 {
            report.row(name, [count.to_string(), largest]);
        }
    };
    let differing = results.slots_differing;
    row("slots that differ", differing, format!("of {most}"));
    let up_to = |seconds: f64| format!("by up to {} ms", millis(Some(seconds)));
    row(
        "in the transmission time",
        results.times_differing,
        up_to(results.largest_time_difference_s),
    );
    row(
        "in the decoding delay",
        results.delays_differing,
        up_to(results.largest_delay_difference_s),
    );
    row("erased in A only", results.erased_in_a_only, String::new());
    row("erased in B only", results.erased_in_b_only, String::new());
    row(
        "in the attempts",
        results.attempts_differing.unwrap_or(0),
        String::new(),
    );
    let longer = results.slots_a.abs_diff(results.slots_b);
    let name = if results.slots_a > results.slots_b {
        "in A only"
    } else {
        "in B only"
    };
    row(name, longer, String::new());
    format!("\n{report}")
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
    let mut report = Report::new(["statistics", "A", "B", "B - A"]);
    for (name, [a, b]) in side_by_side(&results.a, &results.b) {
        let text = |value: Option<Value>| value.map_or_else(|| "-".to_owned(), Value::text);
        let difference = a.zip(b).map(|(a, b)| b.difference(a));
        report.row(
            &name,
            [
                text(a),
                text(b),
                difference.unwrap_or_else(|| "-".to_owned()),
            ],
        );
    }
    format!("\n{report}")
}

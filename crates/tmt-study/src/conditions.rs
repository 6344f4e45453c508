//! Common settings of runs that are compared, in one line, and settings that differ between them without being varied.

use std::collections::BTreeSet;

use fluid_tcp::congestion::Algorithm;
use fluid_tcp::experiment::{PARAMETERS, Parameter};
use serde::Serialize;
use tmt_core::format::records::{Cell, Records as Table, Value};
use tmt_core::types::{BitRate, Bytes, Span};
use tmt_link::queue::Discipline;

use crate::plan::OWN_COLUMNS;

/// Metrics that are summarised unless others are named: those that have values.
pub(crate) const USUAL: [&str; 5] = [
    "total_goodput_bps",
    "total_delay_p95_s",
    "total_delay_wait_mean_s",
    "total_completion_time_s",
    "total_retransmission_probability",
];

/// Column of a condition, and how its value is said.
type Condition = (&'static str, fn(&str) -> String);

/// Column of the queue in packets, which the parameter `buffer` gives or leaves to the bandwidth-delay product.
const QUEUE: &str = "buffer_packets";

/// The conditions of a comparison, in the order of the line.
const CONDITIONS: [Condition; 9] = [
    ("cc", str::to_owned),
    ("profile", |name| format!("profile {name}")),
    ("scheme", str::to_owned),
    ("link", |kind| format!("{kind} link")),
    ("rtt_ns", |rtt| format!("RTT {rtt}")),
    ("queue", |name| format!("{name} queue")),
    (QUEUE, |size| match size {
        "" => "buffer unlimited".to_owned(),
        size => format!("buffer {size} packets"),
    }),
    ("packet_bytes", |size| format!("packets of {size}")),
    ("feedback_delay_ns", |delay| {
        format!("feedback delay {delay}")
    }),
];

/// Common settings of the runs of a table, and settings that differ unasked.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Conditions {
    /// Common settings, in words.
    pub held: Vec<String>,
    /// Derived values that differ between cells, as warnings; with parameters in backticks.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

impl Conditions {
    /// The conditions of the rows of `table`, results of a sweep whose groups differ in the columns `by`.
    #[must_use]
    pub fn of(table: &Table, by: &[String]) -> Self {
        let mut conditions = Self::default();
        let varied: BTreeSet<String> = axes(table)
            .chain(by.iter().map(String::as_str))
            .map(str::to_owned)
            .collect();
        // Any parameter may name a variable, so that its values differ as asked.
        let has_variable = varied
            .iter()
            .any(|name| parameter_of(name).is_none() && name != "cc");
        for (column, say) in &CONDITIONS {
            if !table.names().any(|name| name == *column) || varied.contains(*column) {
                continue;
            }
            let of_cells = values_by_cell(table, column);
            let mut different: Vec<&Vec<String>> = Vec::new();
            for values in &of_cells {
                if !different.contains(&values) {
                    different.push(values);
                }
            }
            match different[..] {
                [] => (),
                [values] => {
                    // A flow of datagrams has no control.
                    let named: Vec<&str> = values
                        .iter()
                        .map(String::as_str)
                        .filter(|value| !value.is_empty())
                        .collect();
                    conditions.held.push(say(&named.join(" + ")));
                }
                _ if *column == QUEUE && !is_derived(table) => (),
                _ if *column != QUEUE && has_variable => (),
                _ => conditions.warnings.extend(differs(column, &different)),
            }
        }
        conditions
    }

    /// The conditions of one plan from its parameters in JSON.
    #[must_use]
    pub fn of_params(params: &serde_json::Map<String, serde_json::Value>) -> Self {
        let mut table = Table::default();
        let flows = params.get("flows").and_then(serde_json::Value::as_array);
        let flows = flows
            .filter(|flows| !flows.is_empty())
            .cloned()
            .unwrap_or_else(|| vec![serde_json::Value::Null]);
        for flow in &flows {
            let own = flow.as_object();
            let value = |column: &str| {
                own.and_then(|own| own.get(column))
                    .or_else(|| params.get(column))
            };
            table.row(
                CONDITIONS
                    .iter()
                    .filter(|(column, _)| value(column).is_some())
                    .map(|(column, _)| (*column, value(column).and_then(Value::of_json))),
            );
        }
        Self::of(&table, &[])
    }

    /// The line, without its end; empty for closed forms.
    #[must_use]
    pub fn line(&self) -> String {
        if self.held.is_empty() {
            return String::new();
        }
        format!("held: {}", self.held.join(", "))
    }
}

/// Whether the queue follows from the bandwidth-delay product in some rows: a size that is given in packets, bytes or without
/// limit differs as asked.
fn is_derived(table: &Table) -> bool {
    let given = |row| table.value(row, "buffer").map(Cell::text);
    (0..table.len()).any(|row| given(row).is_none_or(|text| text.ends_with("bdp")))
}

/// The columns that a sweep varies: they stand between the cell and the run.
pub fn axes(table: &Table) -> impl Iterator<Item = &str> {
    axes_of(table.names())
}

fn axes_of<'a>(names: impl Iterator<Item = &'a str>) -> impl Iterator<Item = &'a str> {
    let names = names.skip_while(|name| *name != "cell").skip(1);
    names.take_while(|name| *name != "run")
}

/// The columns of a sweep with these columns whose values a summary of the usual metrics over the axes needs.
#[must_use]
pub fn needed<'a>(names: &[&'a str]) -> BTreeSet<&'a str> {
    let axes: BTreeSet<&str> = axes_of(names.iter().copied()).collect();
    let is_condition = |name: &str| CONDITIONS.iter().any(|(column, _)| *column == name);
    let is_needed = |name: &&str| {
        let is_of_runs = OWN_COLUMNS.contains(name) || *name == "buffer";
        is_of_runs || axes.contains(name) || USUAL.contains(name) || is_condition(name)
    };
    names.iter().copied().filter(is_needed).collect()
}

/// The different values of a column in each cell, for people, in the order of the rows. Rows without results do not count.
fn values_by_cell(table: &Table, column: &str) -> Vec<Vec<String>> {
    let mut cells: Vec<(Option<i64>, Vec<String>)> = Vec::new();
    let [runs, numbers, all] = ["run", "cell", column].map(|name| table.column(name));
    let mut before = None;
    for row in 0..table.len() {
        if runs.is_some_and(|runs| runs.value(row).is_none()) {
            continue;
        }
        let number = match numbers.and_then(|numbers| numbers.value(row)) {
            Some(Cell::Whole(number)) => Some(number),
            _ => None,
        };
        let value = all.and_then(|all| all.value(row));
        // The same as the row before says nothing new.
        if before.replace((number, value)) == Some((number, value)) {
            continue;
        }
        let text = value.map_or_else(String::new, |value| shown(column, value));
        match cells.last_mut() {
            Some((last, values)) if *last == number => {
                if !values.contains(&text) {
                    values.push(text);
                }
            }
            _ => cells.push((number, vec![text])),
        }
    }
    cells.into_iter().map(|(_, values)| values).collect()
}

/// The warning of a derived value that differs between cells.
fn differs(column: &str, values: &[&Vec<String>]) -> Option<String> {
    const SHOWN: usize = 4;
    let words = |values: &Vec<String>| match values.join(" + ") {
        empty if empty.is_empty() => "unlimited".to_owned(),
        text => text,
    };
    let texts: Vec<String> = values.iter().take(SHOWN).map(|one| words(one)).collect();
    let more = if values.len() > SHOWN { ", …" } else { "" };
    let (what, key, unit) = match column {
        QUEUE => (
            "the queue, derived from the bandwidth-delay product,",
            "buffer",
            "pkt",
        ),
        "rtt_ns" => ("the RTT, which the traces give,", "rtt", ""),
        "feedback_delay_ns" => (
            "the feedback delay, which follows the decoding delay,",
            "feedback_delay",
            "",
        ),
        "packet_bytes" => ("the packet size", "packet", ""),
        // Other settings differ only where somebody says so.
        _ => return None,
    };
    let noun = if column == QUEUE { " packets" } else { "" };
    let hold = texts[0].replace(' ', "");
    Some(format!(
        "{what} differs between the cells, which changes their results, too: {}{more}{noun}; `{key}` {hold}{unit} holds it",
        texts.join(" and ")
    ))
}

/// The parameter that has a column of its own.
fn parameter_of(column: &str) -> Option<&'static Parameter> {
    PARAMETERS
        .iter()
        .find(|parameter| parameter.column() == column)
}

/// Heading of a column of values that groups have, for people: `rtt_ns` is `rtt`.
#[must_use]
pub fn heading(column: &str) -> String {
    let key = parameter_of(column).map_or(column, |parameter| parameter.key);
    key.replace('_', " ")
}

/// A value of a column for people: 500000000 of `rtt_ns` is `500 ms`, and a control with its default parameters is its name.
#[must_use]
pub fn shown(column: &str, value: Cell<'_>) -> String {
    let text = value.text();
    let short = match column {
        "cc" => text
            .parse::<Algorithm>()
            .ok()
            .map(|control| control.short()),
        "queue" => text.parse::<Discipline>().ok().map(|queue| queue.short()),
        _ => None,
    };
    if let Some(short) = short {
        return short;
    }
    let Ok(number) = text.parse::<u64>() else {
        return text;
    };
    let with_unit = match column.rsplit_once('_') {
        Some((_, "ns")) => Span::from_nanos(number).map(|span| span.to_string()),
        Some((_, "bps")) => Some(BitRate(number).to_string()),
        Some((_, "bytes")) => Some(Bytes(number).to_string()),
        _ => None,
    };
    with_unit.map_or(text, |text| spaced(&text))
}

/// A number and its unit apart: `500ms` is `500 ms`.
fn spaced(text: &str) -> String {
    let unit = text
        .find(|c: char| c.is_ascii_alphabetic())
        .unwrap_or(text.len());
    match text.split_at(unit) {
        (_, "") | ("", _) => text.to_owned(),
        (number, unit) => format!("{number} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two cells that differ in the RTT and in the queue, with these sizes given, if any.
    fn table(buffers: [Option<&str>; 2]) -> Table {
        let mut table = Table::default();
        for (cell, (rtt, queue)) in (0..).zip([(500_000_000, 95), (350_000_000, 67)]) {
            let text = |text: &str| Some(Value::Text(text.to_owned()));
            table.row([
                ("cell", Some(Value::Whole(cell))),
                ("rtt_ns", Some(Value::Whole(rtt))),
                ("run", Some(Value::Whole(0))),
                ("cc", text("cubic:beta=0.7,c=0.4")),
                (QUEUE, Some(Value::Whole(queue))),
                ("packet_bytes", Some(Value::Whole(1500))),
                ("buffer", buffers[usize::from(cell > 0)].and_then(text)),
            ]);
        }
        table
    }

    #[test]
    fn what_is_held_is_said_and_a_derived_queue_that_differs_is_a_warning() {
        for buffers in [[None; 2], [Some("1bdp"); 2]] {
            let conditions = Conditions::of(&table(buffers), &["rtt_ns".to_owned()]);
            assert_eq!(conditions.line(), "held: cubic, packets of 1500 B");
            let [warning] = &conditions.warnings[..] else {
                panic!("{conditions:?}");
            };
            assert!(
                warning.contains("95 and 67 packets; `buffer` 95pkt holds it"),
                "{warning}"
            );
        }
        // The axis is held by nobody, whether or not groups are told apart by it.
        assert!(
            !Conditions::of(&table([None; 2]), &[])
                .line()
                .contains("RTT")
        );
    }

    #[test]
    fn a_queue_that_differs_as_asked_is_no_warning() {
        for buffers in [[Some("95pkt"), Some("67pkt")], [Some("150kB"); 2]] {
            assert_eq!(Conditions::of(&table(buffers), &[]).warnings, [""; 0]);
        }
    }

    #[test]
    fn values_have_the_units_of_people() {
        let shown = |column, whole| shown(column, Cell::Whole(whole));
        assert_eq!(shown("rtt_ns", 500_000_000), "500 ms");
        assert_eq!(shown("rate_bps", 2_340_000), "2.34 Mbps");
        assert_eq!(
            (shown("flows", 4), heading("rtt_ns")),
            ("4".to_owned(), "rtt".to_owned())
        );
    }
}

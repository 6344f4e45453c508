//! Tables with rows of their own for all flows together, as tables of a sweep.

use std::collections::{BTreeMap, BTreeSet};

use tmt_core::format::records::{Cell, Records, Value};
use tmt_study::conditions::axes;

use crate::dataset::{Better, better};

/// Prefix of the metrics of all flows together.
const TOTAL: &str = "total_";

/// Whether a table has a column.
pub(crate) fn has(table: &Records, column: &str) -> bool {
    table.names().any(|known| known == column)
}

/// The rows of all flows together of a table that has rows of their own for them, as one of a sweep: TCP alone is one cell, or one per
/// link, whose runs are numbered by seed and start. `None` for a table without such rows.
pub(crate) fn totals(table: &Records) -> Option<Records> {
    if !has(table, "scope") || !has(table, "flow") {
        return None;
    }
    let own = [
        "cell",
        "run",
        "seed",
        "offset_s",
        "scope",
        "flow",
        "duration_s",
    ];
    let links: BTreeSet<String> = (0..table.len())
        .filter_map(|row| Some(table.value(row, "link")?.text()))
        .collect();
    let by: Vec<&str> = match links.len() {
        _ if has(table, "cell") => axes(table).collect(),
        0 | 1 => Vec::new(),
        _ => vec!["link"],
    };
    let others = table
        .names()
        .filter(|name| !own.contains(name) && !by.contains(name));
    let others: Vec<(String, &str)> = others
        .filter_map(|name| {
            let is_metric = better(name) != Better::Unknown && !name.ends_with("_ns");
            if name.starts_with(TOTAL) || !is_metric {
                return Some((name.to_owned(), name));
            }
            // Where both are there, they have the same value.
            let new = format!("{TOTAL}{name}");
            (!has(table, &new)).then_some((new, name))
        })
        .collect();
    let (mut all, mut cells, mut draws) = (Records::default(), BTreeMap::new(), BTreeMap::new());
    let total = Cell::Text("total");
    // A cell that was refused has a row without a scope.
    let scope = |row: usize| table.value(row, "scope");
    let is_kept = |row: &usize| scope(*row).is_none_or(|scope| scope == total);
    for row in (0..table.len()).filter(is_kept) {
        let value = |name: &str| table.value(row, name).map(Cell::to_value);
        let of_axes: Vec<Option<Value>> = by.iter().map(|name| value(name)).collect();
        let draw = ["seed", "offset_s"].map(value);
        let cell = number(&mut cells, &of_axes);
        let run = scope(row).and_then(|_| number(&mut draws, &draw));
        let named = [("cell", value("cell").or(cell))]
            .into_iter()
            .chain(by.iter().map(|name| (*name, value(name))))
            .chain([("run", value("run").or(run))])
            .chain(["seed", "offset_s"].map(|name| (name, value(name))))
            .chain([
                ("flow", scope(row).map(|_| Value::Whole(0))),
                ("duration_s", value("duration_s")),
            ]);
        all.row(named.chain(others.iter().map(|(new, name)| (new.as_str(), value(name)))));
    }
    Some(all)
}

/// The number of these values among those that are known, which they join.
fn number(known: &mut BTreeMap<String, i64>, values: &[Option<Value>]) -> Option<Value> {
    let next = i64::try_from(known.len()).ok()?;
    Some(Value::Whole(
        *known.entry(format!("{values:?}")).or_insert(next),
    ))
}

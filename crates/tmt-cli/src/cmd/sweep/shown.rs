//! What a sweep says of its results: refused cells, and the warnings of all cells, once each.

use std::collections::{BTreeMap, BTreeSet};

use tmt_study::Records;

use super::named;
use crate::exit::warning;

/// Most different warnings that are printed.
const MOST: usize = 12;

/// Prints the warnings of all cells. Those that differ only in numbers are one.
pub(super) fn report(records: &Records) {
    let mut texts: BTreeMap<String, (String, BTreeSet<usize>)> = BTreeMap::new();
    let mut add = |text: String, cell: usize| {
        let alike: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
        texts
            .entry(alike)
            .or_insert_with(|| (text, BTreeSet::new()))
            .1
            .insert(cell);
    };
    let mut cells = BTreeSet::new();
    for record in records.iter() {
        cells.insert(record.cell);
        for text in &record.warnings {
            add(named(text), record.cell);
        }
        for run in &record.runs {
            if let Some(error) = &run.error {
                add(format!("refused: {}", named(error)), record.cell);
            }
        }
    }
    let mut all: Vec<_> = texts.into_values().collect();
    all.sort_by_key(|(_, of)| std::cmp::Reverse(of.len()));
    let more = all.len().saturating_sub(MOST);
    for (text, of) in all.into_iter().take(MOST) {
        let first = of.first().copied().unwrap_or(0);
        match of.len() {
            1 => warning!("sweep", "cell {first}: {text}"),
            count => warning!(
                "sweep",
                "{count} of {} cells, such as {first}: {text}",
                cells.len()
            ),
        }
    }
    if more > 0 {
        warning!("sweep", "{more} more kinds of warnings");
    }
}

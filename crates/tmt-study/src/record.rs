//! Results of a cell: what a worker hands over, and what is kept until a sweep is complete.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plan::Plan;

/// Names and values, in order.
pub type Fields = Map<String, Value>;

/// Results of some runs of a cell. As JSON it is one line, which reads back to the same record.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    /// Number of the cell, from 0.
    pub cell: usize,
    /// Resolved parameters that all flows share.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub params: Fields,
    /// Resolved parameters of each flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Fields>,
    /// The runs, in order.
    pub runs: Vec<Run>,
    /// Warnings, with parameters in backticks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Results of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Run {
    /// Number among the runs of the cell, from 0.
    pub run: u64,
    /// Seed of its random numbers; `None` for a closed form.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Start after the first row of the trace, if the runs have starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_s: Option<f64>,
    /// Length of the run; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_s: Option<f64>,
    /// Metrics of all flows together, or results of a closed form.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub total: Fields,
    /// Metrics of each flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<Fields>,
    /// Why there are no results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Run {
    /// A metric of all flows together.
    #[must_use]
    pub fn metric(&self, name: &str) -> Option<f64> {
        self.total.get(name)?.as_f64()
    }
}

/// Warnings that differ only in numbers.
struct Kind {
    /// The first, and its cell.
    text: String,
    cell: usize,
    /// Runs of that cell that have the very text.
    runs: usize,
    cells: BTreeSet<usize>,
}

/// Records by cell and first run, regardless of the order in which they come. Equal ones are kept once.
#[derive(Debug, Clone, Default)]
pub struct Records(BTreeMap<(usize, u64), Record>);

impl Records {
    /// Adds a record.
    pub fn add(&mut self, record: Record) {
        let first = record.runs.first().map_or(0, |run| run.run);
        self.0.insert((record.cell, first), record);
    }

    /// Number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.0.values().map(|record| record.runs.len()).sum()
    }

    /// Whether run `run` of `cell` is among them.
    #[must_use]
    pub fn has(&self, cell: usize, run: u64) -> bool {
        let before = self.0.range((cell, 0)..=(cell, run)).next_back();
        before.is_some_and(|(_, record)| record.runs.iter().any(|known| known.run == run))
    }

    /// All records, by cell and run.
    pub fn iter(&self) -> impl Iterator<Item = &Record> {
        self.0.values()
    }

    /// The records of one cell, by run.
    pub fn of_cell(&self, cell: usize) -> impl Iterator<Item = &Record> {
        self.0
            .range((cell, 0)..=(cell, u64::MAX))
            .map(|(_, record)| record)
    }

    /// Drops the runs beyond those that the rule for stopping needs. The rest depends on the plan alone.
    pub fn trim(&mut self, plan: &Plan) {
        let Some(stop) = plan.stop() else {
            return;
        };
        let cells: BTreeSet<usize> = self.0.keys().map(|(cell, _)| *cell).collect();
        for cell in cells {
            let values: Vec<f64> = self.leading(cell, &stop.metric);
            let Some(enough) = stop.enough(&values) else {
                continue;
            };
            let enough = enough as u64;
            self.0.retain(|(of, first), record| {
                if *of == cell {
                    record.runs.retain(|run| run.run < enough);
                }
                *of != cell || *first < enough
            });
        }
    }

    /// Refused cells and the warnings of all cells, with parameters in backticks: those of most cells first, and at most `most`
    /// of them. Those that differ only in numbers are one, with the numbers of the first record, and of how many of the runs of
    /// its cell they are.
    #[must_use]
    pub fn findings(&self, most: usize) -> Vec<String> {
        let mut texts: BTreeMap<String, Kind> = BTreeMap::new();
        let mut cells = BTreeSet::new();
        for record in self.iter() {
            cells.insert(record.cell);
            let errors = record.runs.iter().filter_map(|run| run.error.as_ref());
            let refused = errors.map(|error| format!("refused: {error}"));
            for text in record.warnings.iter().cloned().chain(refused) {
                let alike: String = text.chars().filter(|c| !c.is_ascii_digit()).collect();
                let kind = texts.entry(alike).or_insert_with(|| Kind {
                    text: text.clone(),
                    cell: record.cell,
                    runs: 0,
                    cells: BTreeSet::new(),
                });
                if kind.cell == record.cell && kind.text == text {
                    kind.runs += record.runs.len();
                }
                kind.cells.insert(record.cell);
            }
        }
        let mut all: Vec<_> = texts.into_values().collect();
        all.sort_by_key(|kind| std::cmp::Reverse(kind.cells.len()));
        let more = all.len().saturating_sub(most);
        let shown = all.into_iter().take(most).map(|kind| {
            let Kind { text, cell, .. } = kind;
            let whole = self.of_cell(cell).map(|record| record.runs.len());
            let whole: usize = whole.sum();
            let part = if kind.runs < whole {
                format!(", {} of its {whole} runs", kind.runs)
            } else {
                String::new()
            };
            match kind.cells.len() {
                1 => format!("cell {cell}{part}: {text}"),
                count => format!(
                    "{count} of {} cells, such as {cell}{part}: {text}",
                    cells.len()
                ),
            }
        });
        let more = (more > 0).then(|| format!("{more} more kinds of warnings are not shown"));
        shown.chain(more).collect()
    }

    /// Values of a metric in the runs of `cell`, from the first without a gap.
    #[must_use]
    pub fn leading(&self, cell: usize, metric: &str) -> Vec<f64> {
        let runs = self.of_cell(cell).flat_map(|record| &record.runs);
        let numbered = (0..).zip(runs);
        let leading = numbered.take_while(|(number, run)| run.run == *number);
        leading
            .map(|(_, run)| run.metric(metric).unwrap_or(f64::NAN))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(cell: usize, runs: std::ops::Range<u64>, warnings: &[&str]) -> Record {
        let run = |run| Run {
            run,
            ..Run::default()
        };
        Record {
            cell,
            runs: runs.map(run).collect(),
            warnings: warnings.iter().map(|text| (*text).to_owned()).collect(),
            ..Record::default()
        }
    }

    #[test]
    fn warnings_that_differ_in_numbers_are_one_and_name_the_runs_they_count() {
        let mut records = Records::default();
        records.add(record(1, 0..4, &["3 of 4 runs are short"]));
        records.add(record(0, 4..8, &["2 of 4 runs are short", "slow"]));
        records.add(record(0, 0..4, &["slow"]));
        assert_eq!(
            records.findings(9),
            [
                "2 of 2 cells, such as 0, 4 of its 8 runs: 2 of 4 runs are short",
                "cell 0: slow"
            ]
        );
        assert_eq!(
            records.findings(1)[1],
            "1 more kinds of warnings are not shown"
        );
        let mut refused = record(2, 0..1, &[]);
        refused.runs[0].error = Some("`rtt`: too long".to_owned());
        records.add(refused);
        assert!(
            records
                .findings(9)
                .contains(&"cell 2: refused: `rtt`: too long".to_owned())
        );
    }
}

//! States from a table: a row per state, and a column per next state.

use super::Rows;
use super::{Length, MOST_STATES, STATIONARY, State};
use crate::channel::family::TableError;

/// How far the probabilities of a row may be from adding up to one.
const TOLERANCE: f64 = 1e-9;

impl Rows<'_> {
    /// The states, whose lengths are in the third column if the table `has_lengths`.
    pub(in crate::channel) fn states(&self, has_lengths: bool) -> Result<Vec<State>, TableError> {
        let columns: &[&str] = if has_lengths {
            &["state", "erasure", "sojourn"]
        } else {
            &["state", "erasure"]
        };
        let form = format!("{},NAME…", columns.join(","));
        let (header, rows) = self.with_header(&form)?;
        if rows.len() > MOST_STATES {
            let found = rows.len();
            return Err(TableError::whole(format!(
                "found {found} states, expected at most {MOST_STATES}"
            )));
        }
        let (first, names) = header
            .cells
            .split_at_checked(columns.len())
            .unwrap_or((&header.cells, &[]));
        if first != columns {
            let found = header.cells.join(",");
            return Err(header.wrong(format!("found '{found}', expected the header {form}")));
        }
        if names.len() != rows.len() {
            return Err(header.wrong(format!(
                "found {} names of next states and {} rows, expected a column for each row",
                names.len(),
                rows.len()
            )));
        }
        let mut states: Vec<State> = Vec::with_capacity(rows.len());
        for (row, name) in rows.iter().zip(names) {
            let found = row.cells.first().copied().unwrap_or_default();
            if found != *name {
                return Err(row.fault(
                    0,
                    format!("found state '{found}', expected '{name}' as in the header: rows and columns have the same order"),
                ));
            }
            let is_known = states.iter().any(|state| state.name == *name);
            if !is_name(name) || is_known || *name == STATIONARY {
                return Err(row.fault(
                    0,
                    format!("found state '{name}', expected a name of its own of letters, digits, - and _, other than {STATIONARY}"),
                ));
            }
            if row.cells.len() != header.cells.len() {
                return Err(row.wrong(format!(
                    "found {} columns, expected {}",
                    row.cells.len(),
                    header.cells.len()
                )));
            }
            let erasure = row.number(1, "an erasure probability", 0.0, 1.0)?;
            let length = if has_lengths {
                row.cells[2]
                    .parse()
                    .map_err(|why: String| row.fault(2, why))?
            } else {
                Length::Geometric { leave: 1.0 }
            };
            let next = (columns.len()..row.cells.len())
                .map(|at| row.number(at, "a probability", 0.0, 1.0));
            let next: Vec<f64> = next.collect::<Result<_, TableError>>()?;
            let sum: f64 = next.iter().sum();
            if (sum - 1.0).abs() > TOLERANCE {
                return Err(row.wrong(format!(
                    "found probabilities of the next state that add up to {sum}, expected 1"
                )));
            }
            states.push(State {
                name: (*name).to_owned(),
                erasure,
                length,
                next,
            });
        }
        Ok(states)
    }
}

fn is_name(text: &str) -> bool {
    let fits =
        |character: char| character.is_ascii_alphanumeric() || matches!(character, '-' | '_');
    !text.is_empty() && text.chars().all(fits)
}

//! Notes on how a trace was read.

use super::TraceReader;
use crate::types::{Note, one_line};

/// Ignored columns that a note lists.
const SHOWN_COLUMNS: usize = 8;

/// How the trace `name` was read. Call it after reading the whole trace; `spelt` spells parameters, such as `columns`, for
/// the user.
pub fn reading_notes(
    name: &str,
    reader: &TraceReader<'_>,
    spelt: impl Fn(&str) -> String,
) -> Vec<Note> {
    let cut = reader.end().filter(|end| end.cut).map(|end| {
        let allowed = spelt("allow_cut");
        let is_without_end = end.end_line.is_none() && reader.metadata().is_head();
        let no_end = if is_without_end {
            "has no end line: it "
        } else {
            ""
        };
        format!("{name} {no_end}was cut ({allowed})")
    });
    let ignored = reader.ignored_columns();
    let missing = reader.missing_delays();
    let no_delays = reader.has_no_delays().then(|| {
        let columns = spelt("columns");
        format!("{name} has no column of delays: every received slot is decoded after 1ns (delay=DURATION in {columns})")
    });
    let missing = (missing > 0).then(|| {
        let rows = if missing == 1 { "row" } else { "rows" };
        format!("{name}: {missing} {rows} without a delay (empty, null, NaN, or 0 of a received slot) read as erased")
    });
    let timestamps = reader
        .starts_at_first_row()
        .then(|| format!("{name}: timestamps count from the first row"));
    let ignored = (!ignored.is_empty()).then(|| {
        let columns = if ignored.len() == 1 {
            "column"
        } else {
            "columns"
        };
        let shown = ignored[..ignored.len().min(SHOWN_COLUMNS)].join(", ");
        let more = if ignored.len() > SHOWN_COLUMNS {
            ", …"
        } else {
            ""
        };
        one_line(&format!("{name}: {columns} {shown}{more} ignored"))
    });
    let warnings = [cut, no_delays];
    let notices = [missing, timestamps, ignored];
    let warnings = warnings.into_iter().flatten().map(Note::warning);
    let notices = notices.into_iter().flatten().map(Note::notice);
    warnings.chain(notices).collect()
}

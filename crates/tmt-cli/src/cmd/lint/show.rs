//! What was found, for people.

use tmt_core::types::one_line;

use super::{Found, Results};
use crate::table::{Table, counted, number, wrap};

/// The tables.
pub(super) fn text(results: &Results) -> String {
    let mut text = summary(results);
    if results.findings.is_empty() {
        text += "\nnothing odd was found\n";
    } else {
        text += &findings(&results.findings);
    }
    if let Some(error) = &results.error {
        let line = format!("the list ends here: {}", one_line(error));
        text += &format!("\n{}\n", wrap(&line, "  "));
    }
    text
}

fn summary(results: &Results) -> String {
    let by = if results.recognised && results.format != "tmt" {
        " (by its content)"
    } else {
        ""
    };
    let row = match results.kind.as_deref() {
        Some("probe") => "probe: a sample of delay and loss",
        Some("capacity") => "delivery opportunity (capacity)",
        _ => "not stated, taken as a delivery opportunity",
    };
    #[expect(clippy::cast_precision_loss, reason = "a ratio with six decimals")]
    let ratio = (results.slots > 0).then(|| results.slots_erased as f64 / results.slots as f64);
    #[expect(clippy::cast_precision_loss, reason = "a rate with three decimals")]
    let rate = results
        .duration_s
        .filter(|duration| *duration > 0.0)
        .map(|duration| (results.slots.saturating_sub(1)) as f64 / duration);
    let rows = [
        ("format", format!("{}{by}", results.format)),
        ("a row is", row.to_owned()),
        ("slots", results.slots.to_string()),
        ("erased", results.slots_erased.to_string()),
        ("erasure ratio", number(ratio, 6)),
        ("duration s", number(results.duration_s, 6)),
        ("slots/s", number(rate, 3)),
    ];
    Table::of(rows)
        .words("", |(name, _)| *name)
        .words("value", |(_, value)| value.clone())
        .to_string()
}

/// The place of the first.
fn place(found: &Found) -> String {
    let input = found.input.as_deref().unwrap_or("");
    match (found.first_line, found.first_slot) {
        (Some(line), _) => format!("{input} line {line}").trim().to_owned(),
        (None, Some(slot)) => format!("slot {slot}"),
        (None, None) => "-".to_owned(),
    }
}

fn findings(findings: &[Found]) -> String {
    let unit = |found: &Found| match found.count {
        1 => found.unit.strip_suffix('s').unwrap_or(found.unit),
        _ => found.unit,
    };
    let table = Table::of(findings)
        .words("finding", |found| found.name)
        .words("severity", |found| found.severity)
        .plain("count", |found| format!("{} {}", found.count, unit(found)))
        .words("first", |found| place(found))
        .wrapped("remedy", |found| found.remedy.as_str());
    let mut text = format!("\n{table}\n");
    for found in findings {
        let line = format!("{}: {}", found.name, one_line(&found.text));
        text += &format!("{}\n", wrap(&line, "  "));
    }
    let warnings = findings
        .iter()
        .filter(|found| found.severity == "warning")
        .count();
    let line = match warnings {
        0 => "no warning".to_owned(),
        count => counted(count as u64, "warning"),
    };
    text + "\n" + &line + "\n"
}

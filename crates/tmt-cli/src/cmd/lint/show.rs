//! What was found, for people.

use tmt_core::types::one_line;

use super::{Found, Results};
use crate::table::{Report, counted, number, share, wrap};

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
    let mut report = Report::new(["", "value"]).left(1);
    let by = if results.recognised && results.format != "tmt" {
        " (by its content)"
    } else {
        ""
    };
    report.row("format", [format!("{}{by}", results.format)]);
    let row = match results.kind.as_deref() {
        Some("probe") => "probe: a sample of delay and loss",
        Some("capacity") => "delivery opportunity (capacity)",
        _ => "not stated, taken as a delivery opportunity",
    };
    report.row("a row is", [row]);
    report.row("slots", [results.slots.to_string()]);
    #[expect(clippy::cast_precision_loss, reason = "a ratio with six decimals")]
    let ratio = (results.slots > 0).then(|| results.slots_erased as f64 / results.slots as f64);
    report.row("erased", [results.slots_erased.to_string()]);
    report.row("erasure ratio", [share(ratio)]);
    report.row("duration s", [number(results.duration_s, 6)]);
    #[expect(clippy::cast_precision_loss, reason = "a rate with three decimals")]
    let rate = results
        .duration_s
        .filter(|duration| *duration > 0.0)
        .map(|duration| (results.slots.saturating_sub(1)) as f64 / duration);
    report.row("slots/s", [number(rate, 3)]);
    report.to_string()
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
    let headings = ["finding", "severity", "count", "first", "remedy"];
    let mut report = Report::new(headings).left(1).left(3).wrapped(4);
    for found in findings {
        let unit = found.unit;
        let unit = if found.count == 1 {
            unit.strip_suffix('s').unwrap_or(unit)
        } else {
            unit
        };
        report.row(
            found.name,
            [
                found.severity.to_owned(),
                format!("{} {unit}", found.count),
                place(found),
                found.remedy.clone(),
            ],
        );
    }
    let mut text = format!("\n{report}\n");
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

//! Findings, for people.

use tmt_core::format::import::{Finding, Severity, known, render_keys};
use tmt_core::stats::ratio;
use tmt_core::types::{TraceKind, one_line, to_f64};

use super::{Look, shown_key};
use crate::cmd::convert::typed;
use crate::table::{Table, counted, number, wrap};

/// The tables.
pub(super) fn text(look: &Look) -> String {
    let mut text = summary(look);
    let all = &look.linted.findings;
    if all.is_empty() {
        text += "\nnothing odd was found\n";
    } else {
        text += &format!("\n{}\n", findings(all));
        for finding in all {
            let about = render_keys(&finding.text, typed);
            let line = format!("{}: {}", finding.name, one_line(&about));
            text += &format!("{}\n", wrap(&line, "  "));
        }
        text += &match look.warnings() {
            0 => "\nno warning\n".to_owned(),
            count => format!("\n{}\n", counted(count as u64, "warning")),
        };
    }
    if let Some(failure) = &look.failure {
        let line = format!("the list ends here: {}", one_line(&failure.to_string()));
        text += &format!("\n{}\n", wrap(&line, "  "));
    }
    text
}

fn summary(look: &Look) -> String {
    let (format, linted) = (look.format, &look.linted);
    let by = if look.recognised && format != "tmt" {
        " (by its content)"
    } else {
        ""
    };
    let row = match linted.kind {
        Some(TraceKind::Probe) => "probe: a sample of delay and loss",
        Some(TraceKind::Capacity) => "delivery opportunity (capacity)",
        _ => "not stated, taken as a delivery opportunity",
    };
    let duration = look.duration_s();
    let rate = duration.filter(|duration| *duration > 0.0);
    let rate = rate.map(|duration| to_f64(linted.slots.saturating_sub(1)) / duration);
    let rows = [
        ("format", format!("{format}{by}")),
        ("a row is", row.to_owned()),
        ("slots", linted.slots.to_string()),
        ("erased", linted.erased.to_string()),
        (
            "erasure ratio",
            number(ratio(linted.erased, linted.slots), 6),
        ),
        ("duration s", number(duration, 6)),
        ("slots/s", number(rate, 3)),
    ];
    Table::of(rows)
        .words("", |(name, _)| *name)
        .words("value", |(_, value)| value.clone())
        .to_string()
}

/// The place of the first.
fn place(finding: &Finding) -> String {
    match (finding.first.line, finding.first.slot) {
        (Some(line), _) => {
            let input = input(finding).unwrap_or_default();
            format!("{input} line {line}").trim().to_owned()
        }
        (None, Some(slot)) => format!("slot {slot}"),
        (None, None) => "-".to_owned(),
    }
}

/// The flag of the input, of formats with several.
fn input(finding: &Finding) -> Option<String> {
    let input = finding.first.input.map(typed);
    input.filter(|input| input.starts_with("--"))
}

/// The findings, a row each.
pub(super) fn findings(findings: &[Finding]) -> Table<&Finding> {
    let unit = |finding: &Finding| match finding.count {
        1 => finding.unit.strip_suffix('s').unwrap_or(finding.unit),
        _ => finding.unit,
    };
    Table::of(findings)
        .words("finding", |finding| finding.name)
        .key("name")
        .words("severity", |finding| match finding.severity {
            Severity::Warning => "warning",
            Severity::Note => "note",
        })
        .key("severity")
        .value("count", |finding| finding.count)
        .value("unit", |finding| finding.unit)
        .plain("count", |finding| {
            format!("{} {}", finding.count, unit(finding))
        })
        .value("input", |finding| input(finding))
        .value("first_line", |finding| finding.first.line)
        .value("first_slot", |finding| finding.first.slot)
        .words("first", |finding| place(finding))
        .value("text", |finding| render_keys(&finding.text, typed))
        .wrapped("remedy", |finding| {
            let remedy = known(finding.name).map_or("", |known| known.remedy);
            render_keys(remedy, shown_key)
        })
        .key("remedy")
}

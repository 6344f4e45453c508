//! The report of a run, on stderr: stdout belongs to the command.

use tmt_core::types::Span;
use tmt_replay::Carried;

use crate::exit::{Failure, Outcome, headline};

/// A lateness, or a dash without packets.
fn shown(late: Option<Span>) -> String {
    late.map_or("-".to_owned(), |late| late.to_string())
}

/// Prints what a direction carried.
pub(super) fn carried(name: &str, carried: &Carried) {
    let late = &carried.lateness;
    let [p50, p99, p999] = [500, 990, 999].map(|share| shown(late.per_mille(share)));
    let max = shown(late.max());
    let mut fates = vec![format!("{} delivered", carried.delivered)];
    for (count, fate) in [
        (carried.dropped, "dropped by the queue"),
        (carried.lost, "lost on the link"),
        (carried.marked, "marked"),
        (carried.rejected, "rejected by the host"),
        (carried.under_way(), "under way at the end"),
    ] {
        if count > 0 {
            fates.push(format!("{count} {fate}"));
        }
    }
    headline!(
        "replay",
        "{name}: {} packets, {}; late by p50 {p50}, p99 {p99}, p99.9 {p999}, max {max}",
        carried.packets,
        fates.join(", ")
    );
}

/// Refuses a run whose packets were late.
pub(super) fn check(name: &str, carried: &Carried, most: Span) -> Outcome {
    match carried.lateness.per_mille(999) {
        Some(late) if late > most => Err(Failure::failed(format!(
            "invalid run: {name}: found a lateness of {late} at 99.9 %, expected at most {most} (--max-lateness); use an idle machine or a lower rate"
        ))),
        _ => Ok(()),
    }
}

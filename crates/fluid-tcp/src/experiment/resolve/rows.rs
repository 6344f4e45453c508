//! Slots as the rows of a trace and its head describe them: their rate, delays and length.

use tmt_core::math::num::floor_u64;
use tmt_core::scheme::SchemeSpec;
use tmt_core::stats::ratio;
use tmt_core::types::{EndLine, Metadata, Span, Time};

use crate::experiment::error::{Result, data};
use crate::experiment::values::LinkKind;
use tmt_link::timeline::Trace;

/// Drops the LLDUs of unknown fate.
pub(super) fn keep_known(rows: &mut Trace, usable_until: Time) -> Result<()> {
    let known = rows.known(usable_until);
    if known.is_some_and(|known| rows.truncate(known)) {
        Ok(())
    } else {
        Err(rows.unreadable().into())
    }
}

/// Period of a looped trace: its length plus one mean slot.
pub(super) fn loop_period(name: &str, rows: &Trace) -> Result<Span> {
    let (first, last) = rows.first().zip(rows.last()).unwrap_or_default();
    let length = last.since(first).as_nanos();
    let slot = length.checked_div(rows.len().saturating_sub(1));
    Span::from_nanos(length + slot.unwrap_or(0))
        .filter(|period| !period.is_zero())
        .ok_or_else(|| {
            data(format!(
                "{name}: found a timeline of length zero, expected a longer one for `loop`"
            ))
        })
}

/// Slots per second of the physical link behind a timeline: by the head, else from the first 10 000 rows and the number
/// of slots in the end line.
pub(super) fn physical_slot_rate(
    head: &Metadata,
    timeline: &Trace,
    end: Option<&EndLine>,
) -> (Option<f64>, &'static str) {
    if let Some(rate) = head.slots_per_s() {
        return (Some(rate), "metadata");
    }
    let slots_per_row = end.and_then(|end| ratio(end.slots, end.rows));
    match (timeline.rate(), slots_per_row) {
        (Some(rate), Some(slots)) => (Some(rate * slots), "first 10 000 rows, and slots per row"),
        (rate, _) => (
            rate,
            "first 10 000 rows; the slots of the physical link are unknown",
        ),
    }
}

/// Median decoding delay of the slots, and its origin. A timeline has it in its head; the delays of its rows depend on
/// the scheme.
pub(super) fn decode_delay(kind: LinkKind, head: &Metadata, rows: &Trace) -> (Span, &'static str) {
    let known = head.decode_delay_median();
    match known.filter(|_| kind == LinkKind::Timeline) {
        Some(known) => (known, ""),
        None => (
            rows.median_delay().unwrap_or(Span::ZERO),
            if kind == LinkKind::Timeline {
                ", median of LLDUs received in the first attempt"
            } else {
                ""
            },
        ),
    }
}

/// Slots per second of a trace whose rows are slots: by the head, else from the first 10 000 rows.
pub(super) fn slot_rate(head: &Metadata, rows: &Trace) -> (Option<f64>, &'static str) {
    let nominal = head.rate().and(head.lldu_bytes());
    let slots = nominal.and(head.slots_per_s());
    match (slots, head.get("scheme").map(str::parse::<SchemeSpec>)) {
        (Some(slots), None) => (Some(slots), "metadata"),
        (Some(slots), Some(Ok(scheme))) => (
            Some(slots * (f64::from(scheme.data_units()) / f64::from(scheme.units()))),
            "metadata, times the code rate",
        ),
        _ => (rows.rate(), "first 10 000 rows"),
    }
}

/// Slot time by which deliveries are spaced, and a note on it. It derives from rate and LLDU in the head, else from the
/// mean spacing of the first rows.
pub(super) fn slot_time(head: &Metadata, timeline: &Trace) -> Result<(Span, String)> {
    let known = head.rate().zip(head.lldu_bytes());
    let known = known.and_then(|(rate, lldu)| rate.time_of_bit(u128::from(lldu.0) * 8));
    let mean = || {
        let nanos = 1e9 / timeline.rate()?;
        Span::from_nanos(floor_u64(nanos + 0.5))
    };
    let (slot, origin) = match known {
        Some(time) => (Some(time.since(Time::ZERO)), "metadata"),
        None => (mean(), "mean spacing of the first 10 000 rows"),
    };
    let slot = slot.ok_or_else(|| {
        data("`overlap` shift: found no slot time, expected rate_bps and lldu_bytes in the metadata, or rows at different times")
    })?;
    let words = format!(
        "overlap shift: deliveries are at least the time span of a packet's LLDUs plus one slot of {slot} ({origin}) apart"
    );
    Ok((slot, words))
}

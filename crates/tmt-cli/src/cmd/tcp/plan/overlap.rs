//! `--overlap`: whether deliveries of packets that overlap on a timeline are moved apart.

use fluid_tcp::link::timeline::Timeline;
use tmt_core::math::num::whole;
use tmt_core::types::{Metadata, Span, Time};

use super::super::args::Args;
use crate::exit::{Failure, Outcome};

/// What a study says it used.
pub(super) fn name(shift: Option<Span>) -> &'static str {
    if shift.is_some() { "shift" } else { "asap" }
}

/// Refuses the flag beside a link whose packets do not overlap so.
pub(super) fn check(args: &Args) -> Outcome {
    if args.overlap.is_some() && args.link != "timeline" {
        return Err(Failure::usage(format!(
            "--overlap has no meaning with --link {}",
            args.link
        )));
    }
    Ok(())
}

/// One slot where deliveries are to be moved apart, and what to say of it: by the rate and the LLDU of the head, else
/// the mean spacing of the first rows.
pub(super) fn shift(
    args: &Args,
    head: &Metadata,
    timeline: &Timeline,
) -> Outcome<Option<(Span, String)>> {
    if !args.overlap.is_some_and(|flag| flag.0) {
        return Ok(None);
    }
    let told = head.rate().zip(head.lldu_bytes());
    let told = told.and_then(|(rate, lldu)| rate.time_of_bit(u128::from(lldu.0) * 8));
    let mean = || {
        let nanos = 1e9 / timeline.rate()?;
        Span::from_nanos(whole(nanos + 0.5))
    };
    let (slot, origin) = match told {
        Some(time) => (Some(time.since(Time::ZERO)), "metadata"),
        None => (mean(), "mean spacing of the first 10 000 rows"),
    };
    let slot = slot.ok_or_else(|| {
        Failure::failed(
            "--overlap shift: found no slot time, expected rate_bps and lldu_bytes in the metadata or rows at several instants",
        )
    })?;
    let words = format!(
        "overlap shift: deliveries at least a packet's LLDUs and one slot of {slot} ({origin}) apart"
    );
    Ok(Some((slot, words)))
}

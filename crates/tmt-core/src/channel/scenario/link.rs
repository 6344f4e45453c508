//! The user's link from the parameters of a scenario.

use std::fmt;

use super::super::SlotLink;
use crate::types::{BitRate, Bytes, Span, Time};

/// Parameters of the link that cannot be zero, and what is expected in place of a 0 without a unit.
const ABOVE_ZERO: [(&str, &str); 3] = [
    ("rate", "a rate above zero with its unit, such as 2.34Mbps"),
    ("lldu", "a size above zero with its unit, such as 33B"),
    (
        "duration",
        "a duration above zero with its unit, such as 400s",
    ),
];

/// The user's link, from the values of the keys of [`LINK`](super::LINK).
pub(super) fn slot_link<'t>(value: &impl Fn(&str) -> &'t str) -> Result<SlotLink, String> {
    fn read<T: std::str::FromStr<Err: fmt::Display>>(key: &str, text: &str) -> Result<T, String> {
        text.parse()
            .map_err(|error| format!("'{key}={text}': {error}"))
    }
    for (key, expected) in ABOVE_ZERO {
        if value(key) == "0" {
            return Err(format!("'{key}=0': expected {expected}"));
        }
    }
    let quantity = |key| (key, value(key));
    let or_zero = |read: Result<Span, String>, text| match read {
        Err(error) if text == "0" => Err(format!("{error}; or 0s")),
        read => read,
    };
    let (key, text) = quantity("rate");
    let rate: BitRate = read(key, text)?;
    let (key, text) = quantity("lldu");
    let lldu: Bytes = read(key, text)?;
    let (key, text) = quantity("every");
    let every: Option<u64> = text
        .parse()
        .ok()
        .filter(|every| (1..=1_000_000).contains(every));
    let every = every
        .ok_or_else(|| format!("'{key}={text}': expected a whole number from 1 to 1000000"))?;
    if !rate.0.is_multiple_of(every) {
        return Err(format!(
            "'{key}={text}': found a rate of {rate}, expected one that {every} users share in whole bits per second"
        ));
    }
    let (key, text) = quantity("rtt");
    let rtt: Span = or_zero(read(key, text), text)?;
    let (key, text) = quantity("interleaver");
    let interleaver: Span = or_zero(read(key, text), text)?;
    let (key, text) = quantity("duration");
    let duration: Span = read(key, text)?;
    let on_air = rate
        .time_of_bit(u128::from(lldu.0) * 8)
        .map(|end| end.since(Time::ZERO));
    let on_air = on_air.filter(|on_air| !on_air.is_zero()).ok_or_else(|| {
        format!("found slots of {lldu} at {rate}, expected slots that last at least 1 ns and less than 2^63 ns")
    })?;
    if duration.is_zero() {
        return Err("'duration=0s': expected more, as it leaves no slot".to_owned());
    }
    if interleaver > duration {
        return Err(format!(
            "'interleaver={interleaver}': found a trace of {duration}, expected a trace at least as long as its interleaver"
        ));
    }
    let decode_delay = interleaver.checked_add(on_air);
    let decode_delay = decode_delay
        .ok_or_else(|| format!("'interleaver={interleaver}': expected less than 2^63 ns"))?;
    Ok(SlotLink {
        rate: BitRate(rate.0 / every),
        lldu,
        lldu_header: None,
        rtt,
        interleaver,
        duration,
        on_air,
        decode_delay,
        every,
    })
}

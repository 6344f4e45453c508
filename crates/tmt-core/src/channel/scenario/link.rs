//! The user's link from the parameters of a scenario.

use super::super::{ChannelError, SlotLink};
use crate::types::named::Values;
use crate::types::{BitRate, Time};

/// The user's link, from the values of the parameters [`LINK`](super::LINK).
pub(super) fn slot_link(values: &Values) -> Result<SlotLink, ChannelError> {
    let (rate, lldu, every) = (
        values.rate("rate"),
        values.size("lldu"),
        values.count("every"),
    );
    let (interleaver, duration) = (values.duration("interleaver"), values.duration("duration"));
    if !rate.0.is_multiple_of(every) {
        return Err(ChannelError::Misfit(format!(
            "'every={every}': found a rate of {rate}, expected one that {every} users share in whole bits per second"
        )));
    }
    let on_air = rate
        .time_of_bit(u128::from(lldu.0) * 8)
        .map(|end| end.since(Time::ZERO));
    let on_air = on_air.filter(|on_air| !on_air.is_zero()).ok_or_else(|| {
        ChannelError::Misfit(format!(
            "found slots of {lldu} at {rate}, expected slots that last at least 1 ns and less than 2^63 ns"
        ))
    })?;
    if interleaver > duration {
        return Err(ChannelError::Misfit(format!(
            "'interleaver={interleaver}': found a trace of {duration}, expected a trace at least as long as its interleaver"
        )));
    }
    let decode_delay = interleaver.checked_add(on_air).ok_or_else(|| {
        ChannelError::value(format!("interleaver={interleaver}"), "less than 2^63 ns")
    })?;
    Ok(SlotLink {
        rate: BitRate(rate.0 / every),
        lldu,
        lldu_header: None,
        rtt: values.duration("rtt"),
        interleaver,
        duration,
        on_air,
        decode_delay,
        every,
    })
}

//! The MODCODs as they are on a link: rate, delays, and which words are lost.

use crate::math::num::floor_u64;
use crate::types::{BitRate, NANOS_PER_SECOND, Span, Time, to_f64};

use super::AdaptedLink;
use crate::radio::acm::Acm;
use crate::radio::modcods::Modcod;
use crate::radio::mutual_information::Modulation;
use crate::radio::{LandMobile, RadioError};

/// A MODCOD on the link.
#[derive(Debug)]
pub(super) struct Mode {
    /// Rate of the user.
    pub(super) rate: BitRate,
    pub(super) decode_delay: Span,
    /// Time over which a word is spread.
    pub(super) window: Span,
    pub(super) modulation: Modulation,
    /// Which words are lost with it.
    pub(super) parameters: LandMobile,
}

impl Mode {
    /// Slots from the start of a run until `time` after it; slot k starts at ⌊(k · step + rate/2) / rate⌋.
    pub(super) fn slots_before(&self, step: u128, time: u64) -> u64 {
        let rate = u128::from(self.rate.0);
        let end = u128::from(time) * rate;
        let slots = end.saturating_sub(rate / 2).div_ceil(step);
        u64::try_from(slots).unwrap_or(u64::MAX)
    }

    /// Start of slot `slot` of a run after its first one, ns.
    pub(super) fn start(&self, step: u128, slot: u64) -> u64 {
        let rate = u128::from(self.rate.0);
        let nanos = (u128::from(slot) * step + rate / 2) / rate;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// Time of an LLDU at 1 bit/s, ns: 8 · S · 10^9. Over a rate it is the time of a slot.
pub(super) fn lldu_at_one_bit_per_s(link: AdaptedLink) -> u128 {
    u128::from(link.lldu.0) * 8 * u128::from(NANOS_PER_SECOND)
}

/// Symbols per second of the whole link: those of `acm`, else those with which the code of `channel` has the link's rate.
pub(super) fn symbols_per_s(
    link: AdaptedLink,
    channel: &LandMobile,
    acm: &Acm,
) -> Result<f64, RadioError> {
    let of_code = || {
        let own = channel.code.efficiency_bit_per_symbol()?;
        Some(to_f64(link.rate.0) * to_f64(link.every) / own)
    };
    acm.symbols_per_s.or_else(of_code).ok_or_else(|| {
        RadioError(
            "the efficiency of the scenario's code is unknown, so that its symbol rate is: add symbol-rate".to_owned(),
        )
    })
}

/// The MODCODs of `acm` on a link with this many symbols per second.
pub(super) fn modes(
    link: AdaptedLink,
    symbols_per_s: f64,
    channel: &LandMobile,
    acm: &Acm,
) -> Result<Vec<Mode>, RadioError> {
    let own = channel.code.efficiency_bit_per_symbol();
    let rate = |efficiency: f64| match (acm.symbols_per_s, own) {
        // The code of the channel has exactly the rate of the link.
        (None, Some(own)) => to_f64(link.rate.0) * (efficiency / own),
        _ => symbols_per_s * efficiency / to_f64(link.every),
    };
    let mode = |modcod: &Modcod| {
        let rate = BitRate(floor_u64(rate(modcod.efficiency_bit_per_symbol) + 0.5));
        let link_rate = BitRate(rate.0.saturating_mul(link.every));
        let on_air = link_rate.time_of_bit(8 * u128::from(link.lldu.0));
        let on_air = on_air.map(|end| end.since(Time::ZERO));
        let on_air = on_air.filter(|on_air| !on_air.is_zero()).ok_or_else(|| {
            RadioError(format!(
                "MODCOD {}: found slots of {} at {rate}, expected slots that last at least 1 ns and less than 2^63 ns",
                modcod.name, link.lldu
            ))
        })?;
        let parameters = LandMobile {
            code: modcod.curve.clone(),
            ..channel.clone()
        };
        parameters.check()?;
        let decode_delay = channel_delay(parameters.interleaver, on_air, link.duration);
        Ok(Mode {
            rate,
            decode_delay: decode_delay.ok_or_else(|| {
                RadioError("found a trace and delays of 2^63 ns or more, expected less".to_owned())
            })?,
            window: on_air.max(parameters.interleaver),
            modulation: modcod.curve.modulation(),
            parameters,
        })
    };
    acm.modcods.iter().map(mode).collect()
}

/// Delay until a slot is decoded, if all slots of the trace can have it.
fn channel_delay(interleaver: Span, on_air: Span, duration: Span) -> Option<Span> {
    let delay = interleaver.checked_add(on_air)?;
    duration.checked_add(delay).map(|_| delay)
}

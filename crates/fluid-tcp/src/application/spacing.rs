//! Times of pieces of data that follow each other at a rate.

use tmt_core::types::{Bytes, NANOS_PER_SECOND, Span};

/// Time until `pieces` pieces of `payload` have been filled at `rate_bps`, rounded down: no rounding adds up.
pub(super) fn spacing(pieces: u64, payload: Bytes, rate_bps: u64) -> Span {
    let bits = u128::from(pieces) * u128::from(payload.0) * 8;
    let nanos = bits.saturating_mul(u128::from(NANOS_PER_SECOND)) / u128::from(rate_bps.max(1));
    let nanos = u64::try_from(nanos).ok().and_then(Span::from_nanos);
    nanos.unwrap_or(Span::MAX)
}

//! The datagrams of a flow in the head of a log.

use tmt_core::types::{NANOS_PER_SECOND, Span};

use super::text::number;

/// The datagrams of a flow, as the head describes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// Of the largest, if they differ.
    pub(super) payload: u64,
    pub(super) headers: u64,
    /// `None` if they have any size and leave at any time.
    pub(super) pace: Option<Pace>,
}

/// The rate at which datagrams leave, and whether there are pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Pace {
    pub(super) rate_bps: u64,
    pub(super) pauses: bool,
}

impl Form {
    /// Reads `payload=BYTES,headers=BYTES,rate=BPS,pauses=off|on`, or `largest=BYTES,headers=BYTES`.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let mut value = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix('=');
        let has_pace = text.starts_with("payload=");
        let size = value(if has_pace { "payload" } else { "largest" })?;
        let form = Self {
            payload: number(size.as_bytes()).filter(|payload| *payload > 0)?,
            headers: number(value("headers")?.as_bytes())?,
            pace: if has_pace {
                Some(Pace {
                    rate_bps: number(value("rate")?.as_bytes()).filter(|rate| *rate > 0)?,
                    pauses: match value("pauses")? {
                        "on" => true,
                        "off" => false,
                        _ => return None,
                    },
                })
            } else {
                None
            },
        };
        parts.next().is_none().then_some(form)
    }

    /// Whether a datagram may have this size with its headers.
    pub(super) fn accepts(&self, size: u64) -> bool {
        let most = self.payload.saturating_add(self.headers);
        match self.pace {
            Some(_) => size == most,
            None => size > self.headers && size <= most,
        }
    }
}

impl Pace {
    /// Time from the first datagram of a burst, each of `payload` bytes, to the one `number` after it, rounded down.
    pub(super) fn after(&self, number: u64, payload: u64) -> Span {
        let bits = u128::from(number) * u128::from(payload) * 8;
        let nanos = bits.saturating_mul(u128::from(NANOS_PER_SECOND)) / u128::from(self.rate_bps);
        let nanos = u64::try_from(nanos).ok().and_then(Span::from_nanos);
        nanos.unwrap_or(Span::MAX)
    }
}

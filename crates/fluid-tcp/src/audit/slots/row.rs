//! One row of the slot log, parsed into a unit whose fields agree.

use strum::EnumString;
use tmt_core::types::Time;

use crate::audit::fields::{Field, Fields};
use crate::audit::finding::Finding;
use crate::audit::report::Location;

/// The header. No other is accepted.
pub(super) const HEADER: &str = "slot,time,unit,flow,packet,copy,codeword,attempt,received,arrival";

/// Flow, packet and transmission (`copy`) of a unit.
pub(super) type Key = (u64, u64, u64);

/// Kind of the unit that a slot carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString)]
#[strum(serialize_all = "lowercase")]
pub(super) enum Kind {
    Data,
    Repair,
    Repeat,
}

/// The unit of a used slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// Line of the slot log.
    pub(super) location: Location,
    pub(super) slot: u64,
    pub(super) at: Time,
    pub(super) kind: Kind,
    pub(super) key: Key,
    pub(super) codeword: u64,
    /// 1 for data and repair units, 2 or more for repeats.
    pub(super) attempt: u64,
    /// Time at which it is decoded, without propagation; `None` if it was erased.
    pub(super) arrival: Option<Time>,
}

impl Field for Kind {
    const FORM: &'static str = "data, repair or repeat";

    fn read(text: &[u8]) -> Option<Self> {
        std::str::from_utf8(text).ok()?.parse().ok()
    }
}

impl Unit {
    /// Reads a row.
    pub(super) fn parse(fields: Fields<'_>, location: Location) -> Result<Self, Finding> {
        let (kind, at, attempt) = (
            fields.get("unit")?,
            fields.get("time")?,
            fields.get("attempt")?,
        );
        let fits = attempt > 0 && (attempt > 1) == (kind == Kind::Repeat);
        let expected = "1 for data and repair, 2 or more for a repeat";
        fields.ensure(fits, "attempt", expected)?;
        let arrival: Option<Time> = fields.get("arrival")?;
        let received: &[u8] = arrival.map_or(b"0", |_| b"1");
        let expected = "1 with an arrival, 0 without";
        fields.ensure(fields.text("received") == received, "received", expected)?;
        let later = arrival.is_none_or(|arrival| arrival > at);
        fields.ensure(later, "arrival", format_args!("a time after {at}"))?;
        let [flow, packet, copy] = ["flow", "packet", "copy"].map(|column| fields.get(column));
        Ok(Self {
            location,
            slot: fields.get("slot")?,
            at,
            kind,
            key: (flow?, packet?, copy?),
            codeword: fields.get("codeword")?,
            attempt,
            arrival,
        })
    }

    /// Its attempt and codeword, in words.
    pub(super) fn attempt_of(&self) -> String {
        format!("attempt {} of codeword {}", self.attempt, self.codeword)
    }
}

//! One row of the slot log: text to a unit whose fields agree.

use tmt_core::types::Time;

use crate::audit::fields::{Columns, Fields};
use crate::audit::finding::Finding;
use crate::audit::report::Place;

/// The one header accepted.
pub(super) const COLUMNS: Columns = &[
    "slot", "time", "unit", "flow", "packet", "copy", "codeword", "attempt", "received", "arrival",
];

/// A copy of a packet: flow, packet, copy.
pub(super) type Key = (u64, u64, u64);

/// What a slot carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Repair,
    Repeat,
}

/// A used slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unit {
    /// Line of the slot log.
    pub(super) place: Place,
    pub(super) slot: u64,
    pub(super) at: Time,
    pub(super) kind: Kind,
    pub(super) key: Key,
    pub(super) codeword: u64,
    /// 1 for a first transmission, more for a repeat.
    pub(super) attempt: u64,
    /// When it is there, propagation left out; none where it was erased.
    pub(super) arrival: Option<Time>,
}

impl Unit {
    /// Reads a row.
    pub(super) fn parse(fields: Fields<'_>, place: Place) -> Result<Self, Finding> {
        let (kind, attempts) = match fields.text("unit") {
            b"data" => (Kind::Data, 1..=1),
            b"repair" => (Kind::Repair, 1..=1),
            b"repeat" => (Kind::Repeat, 2..=u64::MAX),
            _ => return Err(fields.unfit("unit", "data, repair or repeat")),
        };
        let (at, attempt) = (fields.time("time")?, fields.whole("attempt")?);
        if !attempts.contains(&attempt) {
            return Err(fields.unfit("attempt", "1 for data and repair, more for a repeat"));
        }
        let arrival = fields.optional_time("arrival")?;
        if fields.text("received") != if arrival.is_some() { b"1" } else { b"0" } {
            return Err(fields.unfit("received", "1 with an arrival or 0 without"));
        }
        if arrival.is_some_and(|arrival| arrival <= at) {
            return Err(fields.unfit("arrival", format!("a time after {at}")));
        }
        let key = (
            fields.whole("flow")?,
            fields.whole("packet")?,
            fields.whole("copy")?,
        );
        Ok(Self {
            place,
            slot: fields.whole("slot")?,
            at,
            kind,
            key,
            codeword: fields.whole("codeword")?,
            attempt,
            arrival,
        })
    }

    /// Which attempt it is of, in words.
    pub(super) fn attempt_of(&self) -> String {
        format!("attempt {} of codeword {}", self.attempt, self.codeword)
    }

    /// Whose it is, in words.
    pub(super) fn whose(&self) -> String {
        let (flow, packet, copy) = self.key;
        format!("flow {flow} packet {packet} copy {copy}")
    }
}

//! One row of the slot log: text to a unit whose fields agree.

use csv::ByteRecord;
use tmt_core::types::Time;

use crate::audit::refusal::{Refusal, shown};
use crate::audit::row::{joined, seconds, whole};

/// The columns, in the one order accepted.
const COLUMNS: [&str; 10] = [
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
    pub(super) line: u64,
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

/// Refuses another header.
pub(super) fn columns(fields: &ByteRecord) -> Result<(), Refusal> {
    if fields.iter().eq(COLUMNS.iter().map(|name| name.as_bytes())) {
        return Ok(());
    }
    let expected = format!("the header '{}'", COLUMNS.join(","));
    Err(Refusal::new(shown(&joined(fields)), expected))
}

impl Unit {
    /// Reads a row.
    pub(super) fn parse(fields: &ByteRecord, line: u64) -> Result<Self, Refusal> {
        if fields.len() != COLUMNS.len() {
            let found = format!("{} fields in {}", fields.len(), shown(&joined(fields)));
            return Err(Refusal::new(found, format!("{} fields", COLUMNS.len())));
        }
        let text = |column: usize| fields.get(column).unwrap_or_default();
        let unfit = |column: usize, expected: &str| {
            let found = format!("{} {}", COLUMNS[column], shown(text(column)));
            Refusal::new(found, expected)
        };
        let number = |column| {
            whole(text(column)).ok_or_else(|| unfit(column, "a whole number from 0 to 2^63 - 1"))
        };
        let time = |column| {
            seconds(text(column))
                .ok_or_else(|| unfit(column, "seconds with nine decimals, up to 2^63 - 1 ns"))
        };
        let (kind, attempts) = match text(2) {
            b"data" => (Kind::Data, 1..=1),
            b"repair" => (Kind::Repair, 1..=1),
            b"repeat" => (Kind::Repeat, 2..=u64::MAX),
            _ => return Err(unfit(2, "data, repair or repeat")),
        };
        let (at, attempt) = (time(1)?, number(7)?);
        if !attempts.contains(&attempt) {
            return Err(unfit(7, "1 for data and repair, more for a repeat"));
        }
        let arrival = match text(8) {
            b"0" if text(9).is_empty() => None,
            b"1" => Some(time(9)?),
            _ => return Err(unfit(8, "1 with an arrival or 0 without")),
        };
        if arrival.is_some_and(|arrival| arrival <= at) {
            return Err(unfit(9, &format!("a time after {at}")));
        }
        Ok(Self {
            line,
            slot: number(0)?,
            at,
            kind,
            key: (number(3)?, number(4)?, number(5)?),
            codeword: number(6)?,
            attempt,
            arrival,
        })
    }

    /// Whose it is, in words.
    pub(super) fn whose(&self) -> String {
        let (flow, packet, copy) = self.key;
        format!("flow {flow} packet {packet} copy {copy}")
    }
}

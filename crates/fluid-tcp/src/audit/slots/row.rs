//! One row of the slot log, parsed into a unit whose fields agree.

use std::io::Read;

use serde::Deserialize;
use tmt_core::types::Time;

use crate::audit::finding::{Finding, ensure};
use crate::audit::reader::LogReader;
use crate::audit::report::Location;
use crate::audit::text::Seconds;

/// The header. No other is accepted.
pub(super) const HEADER: &str =
    "slot,time_s,unit,flow,packet,copy,codeword,attempt,received,arrival_s";

/// Flow, packet and transmission (`copy`) of a unit.
pub(super) type Key = (u64, u64, u64);

/// The fields of a row.
#[derive(Deserialize)]
struct Fields {
    slot: u64,
    time: Seconds,
    unit: Kind,
    flow: u64,
    packet: u64,
    copy: u64,
    codeword: u64,
    attempt: u64,
    received: u64,
    arrival: Option<Seconds>,
}

/// Kind of the unit that a slot carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
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

impl Unit {
    /// The unit of the row that was read last.
    pub(super) fn of<R: Read>(log: &LogReader<R>) -> Result<Self, Finding> {
        let fields: Fields = log.row()?;
        let (at, attempt, received) = (fields.time.0, fields.attempt, fields.received);
        let fits = attempt > 0 && (attempt > 1) == (fields.unit == Kind::Repeat);
        let expected = "1 for data and repair, 2 or more for a repeat";
        ensure(fits, format_args!("attempt '{attempt}'"), expected)?;
        let arrival = fields.arrival.map(|arrival| arrival.0);
        let fits = received == u64::from(arrival.is_some());
        let expected = "1 with an arrival, 0 without";
        ensure(fits, format_args!("received '{received}'"), expected)?;
        let later = arrival.is_none_or(|arrival| arrival > at);
        let found = format_args!("arrival {}", arrival.unwrap_or_default());
        ensure(later, found, format_args!("a time after {at}"))?;
        Ok(Self {
            location: log.location,
            slot: fields.slot,
            at,
            kind: fields.unit,
            key: (fields.flow, fields.packet, fields.copy),
            codeword: fields.codeword,
            attempt,
            arrival,
        })
    }

    /// Its attempt and codeword, in words.
    pub(super) fn attempt_of(&self) -> String {
        format!("attempt {} of codeword {}", self.attempt, self.codeword)
    }
}

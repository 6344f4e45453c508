//! Transmissions of packets, and the slots they use.

use tmt_core::scheme::engine::UnitKind;
use tmt_core::types::Time;

use crate::endpoint::sender::TransmissionReason;

/// One sending of a packet. The packet log has a row for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Transmission {
    /// Number in the order of sending over all flows, from 0.
    pub ordinal: u64,
    /// Number of the flow, from 0.
    pub flow: usize,
    /// Number of the packet within its flow, from 0.
    pub packet: u64,
    /// Number of the transmission of this packet: 1 for the first, 2 for the first retransmission.
    pub copy: u32,
    /// Reason for sending it: new data, or the mechanism that retransmits.
    pub why: TransmissionReason,
}

/// Use of one slot of a coupled link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotUse {
    /// Number of the slot in the trace, from 0. Slots before the run are counted.
    pub slot: u64,
    /// Time at which the slot is sent.
    pub at: Time,
    /// Kind of the unit that the slot carries.
    pub kind: UnitKind,
    /// Transmission that the unit belongs to.
    pub transmission: Transmission,
    /// Number of the unit's codeword in the order in which the link took them, from 0.
    pub codeword: u64,
    /// Attempt of the codeword, from 1.
    pub attempt: u32,
    /// Time at which the unit is decoded, without propagation; `None` if the slot was erased.
    pub arrival: Option<Time>,
}

//! Packets on their way, and the slots they use.

use tmt_core::scheme::engine::UnitKind;
use tmt_core::types::Time;

use crate::endpoint::sender::TransmissionReason;

/// A copy of a packet, on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PacketCopy {
    /// Order of sending over all flows, from 0.
    pub ordinal: u64,
    /// Flow, from 0.
    pub flow: usize,
    /// Packet of the flow, from 0.
    pub packet: u64,
    /// 1 for the first transmission, 2 for the first retransmission …
    pub copy: u32,
    /// Why it was sent.
    pub why: TransmissionReason,
}

/// What a slot of a coupled link was used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlotUse {
    /// Number of the slot, those in front of the run included, from 0.
    pub slot: u64,
    /// When it was sent.
    pub at: Time,
    /// What it carried.
    pub kind: UnitKind,
    /// The copy that the unit is of.
    pub copy: PacketCopy,
    /// Number of the codeword that the unit is of, in the order in which the link took them, from 0.
    pub codeword: u64,
    /// In which attempt of the codeword, 1 for the first transmission.
    pub attempt: u32,
    /// When it is there, propagation left out; none where it was erased.
    pub arrival: Option<Time>,
}

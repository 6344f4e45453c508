//! `--explain`: parsing of the packet to explain.

use std::str::FromStr;

/// Value of `--explain`: a packet and its flow, both counted from 0.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketFlag {
    pub(crate) flow: usize,
    pub(crate) packet: u64,
}

impl FromStr for PacketFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (flow, packet) = text.split_once(':').unwrap_or(("0", text));
        flow.parse()
            .ok()
            .zip(packet.parse().ok())
            .map(|(flow, packet)| Self { flow, packet })
            .ok_or_else(|| {
                format!("found '{text}', expected PACKET or FLOW:PACKET, counted from 0, such as 17 or 2:17")
            })
    }
}

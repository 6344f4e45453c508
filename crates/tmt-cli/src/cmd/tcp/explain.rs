//! `--explain`: which packet is followed.

use std::str::FromStr;

/// What `--explain` takes: a packet, of flow 0 or of another.
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
                format!("found '{text}', expected a packet, or a flow and its packet, counted from 0: 17 or 2:17")
            })
    }
}

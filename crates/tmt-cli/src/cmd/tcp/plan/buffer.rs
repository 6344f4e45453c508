//! The size of the queue.

use fluid_tcp::link::gateway::Buffer;
use tmt_core::types::{Span, to_f64};

use super::super::args::{Args, BufferFlag};
use crate::exit::{Failure, Outcome};

/// Fewest packets of a queue that is sized by bandwidth and delay.
const LEAST_BDP: u64 = 2;

/// Packets the queue holds, the text for the log's head, and the words that say why.
pub(super) fn buffer(
    args: &Args,
    rtt: Span,
    rate_bps: Option<f64>,
    own_delay: Span,
) -> Outcome<(u64, String, String)> {
    let (flag, origin) = match args.buffer {
        Some(flag) => (flag, "--buffer"),
        None => (BufferFlag::Bdp(1.0), "default"),
    };
    let packet = args.packet.0;
    match flag {
        BufferFlag::Packets(packets) => {
            let packets = Buffer::Packets(packets).packets(packet);
            Ok((
                packets,
                format!("{packets}pkt"),
                format!("buffer {packets} packets ({origin})"),
            ))
        }
        BufferFlag::Bytes(bytes) => {
            let packets = Buffer::Bytes(bytes.0).packets(packet);
            if packets == 0 {
                return Err(Failure::usage(format!(
                    "--buffer {bytes} holds no packet of {}",
                    args.packet
                )));
            }
            Ok((
                packets,
                bytes.to_string(),
                format!("buffer {bytes}, {packets} packets ({origin})"),
            ))
        }
        BufferFlag::Bdp(products) => {
            let rate = rate_bps.ok_or_else(|| {
                Failure::failed(
                    "found a link of unknown rate, expected --buffer in packets or bytes",
                )
            })?;
            let delay = rtt.saturating_add(own_delay);
            let bytes = products * rate * delay.as_secs_f64() / 8.0;
            let packets =
                tmt_core::math::num::whole((bytes / to_f64(packet)).ceil()).max(LEAST_BDP);
            let note = format!(
                "buffer {packets} packets ({origin}: {products} bandwidth-delay product of {:.6} Mbps x ({rtt} + {own_delay}))",
                rate / 1e6
            );
            Ok((packets, format!("{packets}pkt"), note))
        }
    }
}

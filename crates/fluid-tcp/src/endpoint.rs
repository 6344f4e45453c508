//! What a TCP stack does at both ends, by named profile (tcp.md §3).

use std::str::FromStr;

use tmt_core::units::Span;

use crate::rtt::RtoSettings;

/// How the sender gets through a fast recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The window is cut at once and nothing is sent until what is in flight fits it (RFC 6675 as written).
    Halving,
    /// Proportional rate reduction (RFC 6937, slow-start reduction bound); needs SACK.
    Prr,
}

/// Which packets measure the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttSampling {
    /// One packet at a time, as ns-2 without timestamps does.
    PerWindow,
    /// Every acknowledgement of new data that was sent once.
    PerAck,
}

/// What a window is cut from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutFrom {
    /// What is in flight (RFC 5681 equation 4); a repeated timeout leaves the threshold as it is.
    Flight,
    /// The window, min(cwnd, rwnd), at every timeout anew, as ns-2 does.
    Window,
}

/// The settings of both ends of a flow.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of a stack that is on or off by itself"
)]
pub struct Endpoint {
    /// Selective acknowledgements (RFC 2018, 6675); without them NewReno's partial ones (RFC 6582).
    pub sack: bool,
    /// In-order packets an acknowledgement may cover; 1 for no delaying (RFC 5681 §4.2).
    pub delayed_ack: u32,
    /// Longest time an acknowledgement is delayed.
    pub delayed_ack_timer: Span,
    /// Initial window, segments.
    pub initial_window: u32,
    /// Limits and clock of the retransmission timeout.
    pub rto: RtoSettings,
    /// New data on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// How a fast recovery goes.
    pub recovery: Recovery,
    /// Which packets are timed.
    pub rtt_sampling: RttSampling,
    /// What a window is cut from.
    pub cut_from: CutFrom,
    /// Receiver's window, packets.
    pub rwnd: u64,
    /// Whether the congestion window grows only while it is what holds the sender back (RFC 7661 §4.4).
    pub window_validation: bool,
    /// Whether one round trip passes before the first data.
    pub handshake: bool,
}

/// A receiver's window that never holds the sender back.
const NO_RWND: u64 = 1 << 40;

impl Endpoint {
    /// The receiver's window, packets; none where it never holds the sender back.
    #[must_use]
    pub fn receiver_window(&self) -> Option<u64> {
        (self.rwnd < NO_RWND).then_some(self.rwnd)
    }
}

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    /// ns-2 2.35 as distributed.
    Ns2,
    /// The RFCs as they stand.
    Rfc,
}

impl Profile {
    /// The name, as in `--profile`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns2",
            Self::Rfc => "rfc",
        }
    }

    /// The profile's settings.
    #[must_use]
    pub fn endpoint(self) -> Endpoint {
        match self {
            Self::Ns2 => Endpoint {
                sack: true,
                delayed_ack: 1,
                delayed_ack_timer: Span::from_millis(100),
                initial_window: 2,
                rto: RtoSettings {
                    first: Span::from_secs(3),
                    min: Span::from_millis(200),
                    max: Span::from_secs(60),
                    tick: Span::from_millis(10),
                },
                limited_transmit: true,
                recovery: Recovery::Halving,
                rtt_sampling: RttSampling::PerWindow,
                cut_from: CutFrom::Window,
                rwnd: NO_RWND,
                window_validation: false,
                handshake: false,
            },
            Self::Rfc => Endpoint {
                sack: true,
                delayed_ack: 2,
                delayed_ack_timer: Span::from_millis(100),
                initial_window: 10,
                rto: RtoSettings {
                    first: Span::from_secs(1),
                    min: Span::from_secs(1),
                    max: Span::from_secs(60),
                    tick: Span::ZERO,
                },
                limited_transmit: true,
                recovery: Recovery::Prr,
                rtt_sampling: RttSampling::PerAck,
                cut_from: CutFrom::Flight,
                rwnd: NO_RWND,
                window_validation: false,
                handshake: false,
            },
        }
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        [Self::Ns2, Self::Rfc]
            .into_iter()
            .find(|profile| profile.name() == text)
            .ok_or_else(|| format!("found '{text}', expected ns2 or rfc"))
    }
}

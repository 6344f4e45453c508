//! Settings of sender and receiver, and the named profiles (docs/simulator.md, Sec. 5).

use tmt_core::types::{Bytes, Span};

use crate::endpoint::rtt::RtoSettings;

/// How many packets the sender may send during fast recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The window is cut at once; the sender waits until pipe is below cwnd (RFC 6675 as written).
    Halving,
    /// Proportional rate reduction with the slow-start reduction bound (RFC 6937); needs SACK.
    Prr,
}

keywords!(Recovery { Halving => "halving", Prr => "prr" });

/// Which packets give RTT samples for the RTO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttSampling {
    /// One packet at a time, like ns-2 without timestamps.
    PerWindow,
    /// Every ACK of new data that was not retransmitted.
    PerAck,
}

keywords!(RttSampling { PerWindow => "window", PerAck => "ack" });

/// Quantity that a congestion signal reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutFrom {
    /// FlightSize (RFC 5681, eq. (4)). A repeated timeout leaves ssthresh unchanged.
    Flight,
    /// The window, min(cwnd, rwnd), at every timeout, like ns-2.
    Window,
}

keywords!(CutFrom { Flight => "flight", Window => "window" });

/// How the sender detects losses before the RTO expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossDetection {
    /// After `DupThresh` = 3 duplicate ACKs, or three SACKed packets above the lost one (RFC 5681, 6675).
    DupAcks,
    /// By time, if a packet sent later has arrived (RACK, RFC 8985, Sec. 6); needs SACK.
    Rack,
}

keywords!(LossDetection { DupAcks => "dupack", Rack => "rack" });

/// Settings of both ends of a flow. [`Profile::endpoint`] has presets.
#[derive(Debug, Clone, Copy, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each switches one feature of the stack independently"
)]
pub struct Endpoint {
    /// Headers of every packet, IPv4 and TCP with options. They are part of its size; the rest is payload.
    pub headers: Bytes,
    /// Selective ACKs (RFC 2018, 6675). Without them, recovery relies on partial ACKs (RFC 6582).
    pub sack: bool,
    /// In-order packets per ACK (RFC 5681, Sec. 4.2), from 1; 1 turns delayed ACKs off.
    pub delayed_ack: u32,
    /// Longest delay of an ACK.
    pub delayed_ack_timer: Span,
    /// Number of ACKs at the start of the connection that are not delayed.
    pub quick_acks: u32,
    /// Initial window in segments (RFC 6928).
    pub initial_window: u32,
    /// Limits and clock of the retransmission timeout.
    pub rto: RtoSettings,
    /// Limited transmit: new data on each of the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    /// How losses are detected before the RTO expires.
    pub loss_detection: LossDetection,
    /// Tail loss probe: a probe before the RTO if the last packets of a flight are not acknowledged (TLP, RFC 8985,
    /// Sec. 7). Needs [`LossDetection::Rack`].
    pub tail_loss_probe: bool,
    /// F-RTO: detects a spurious timeout by sending new data after it, and then restores the window (RFC 5682). Needs
    /// SACK.
    pub f_rto: bool,
    /// ECN: packets may be marked instead of dropped, and an echoed mark cuts the window like a loss (RFC 3168).
    pub ecn: bool,
    /// Paces packets with any congestion control: 2 windows per srtt in slow start, 1.2 after, as in Linux.
    pub pacing: bool,
    /// How many packets the sender may send during fast recovery.
    pub recovery: Recovery,
    /// Which packets give RTT samples for the RTO.
    pub rtt_sampling: RttSampling,
    /// Quantity that a congestion signal reduces.
    pub cut_from: CutFrom,
    /// Advertised window, packets.
    pub rwnd: u64,
    /// Whether cwnd grows only while it limits the sender (RFC 7661, Sec. 4.4).
    pub window_validation: bool,
    /// Whether one round trip passes before the first data.
    pub handshake: bool,
}

/// Receive buffer of a Linux host: the largest of `tcp_rmem`, 6 MiB.
const TCP_RMEM_MAX: Bytes = Bytes(6 << 20);

/// An advertised window, in packets, that never limits the sender.
const NO_RWND: u64 = 1 << 40;

/// The settings of the default profile, [`Profile::Linux`].
impl Default for Endpoint {
    fn default() -> Self {
        Profile::default().endpoint()
    }
}

impl Endpoint {
    /// Returns the advertised window in packets; `None` if it never limits the sender.
    #[must_use]
    pub fn receiver_window(&self) -> Option<u64> {
        (self.rwnd < NO_RWND).then_some(self.rwnd)
    }
}

/// A named set of [`Endpoint`] settings.
///
/// ```
/// use fluid_tcp::endpoint::{Endpoint, Profile};
///
/// let endpoint = Endpoint { rwnd: 64, ..Profile::Linux.endpoint() };
/// assert_eq!(endpoint.receiver_window(), Some(64));
/// assert_eq!(Endpoint::default(), Profile::Linux.endpoint());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// ns-2 2.35 as distributed.
    Ns2,
    /// The RFCs as written.
    Rfc,
    /// The RFCs with the differences of current Linux: RACK-TLP, F-RTO, quick ACKs. The default, since a user's hosts
    /// run it.
    #[default]
    Linux,
}

keywords!(Profile { Ns2 => "ns2", Rfc => "rfc", Linux => "linux" });

impl Profile {
    /// Returns the receive buffer of the hosts; `None` if it never limits the sender.
    ///
    /// [`Self::endpoint`] does not know the packet size, and leaves the window unlimited.
    #[must_use]
    pub fn receiver_window(self) -> Option<Bytes> {
        match self {
            // ns-2 has a window only where a script sets one.
            Self::Ns2 => None,
            Self::Rfc | Self::Linux => Some(TCP_RMEM_MAX),
        }
    }

    /// Returns the settings of the profile.
    #[must_use]
    pub fn endpoint(self) -> Endpoint {
        match self {
            Self::Ns2 => Endpoint {
                delayed_ack: 1,
                initial_window: 2,
                rto: RtoSettings {
                    first: Span::from_secs(3),
                    min: Span::from_millis(200),
                    max: Span::from_secs(60),
                    tick: Span::from_millis(10),
                    margin: Span::ZERO,
                },
                recovery: Recovery::Halving,
                rtt_sampling: RttSampling::PerWindow,
                cut_from: CutFrom::Window,
                ..Self::Rfc.endpoint()
            },
            Self::Rfc => Endpoint {
                // IPv4 and TCP, 20 B each, without options.
                headers: Bytes(40),
                sack: true,
                delayed_ack: 2,
                delayed_ack_timer: Span::from_millis(100),
                quick_acks: 0,
                initial_window: 10,
                rto: RtoSettings {
                    first: Span::from_secs(1),
                    min: Span::from_secs(1),
                    max: Span::from_secs(60),
                    tick: Span::ZERO,
                    margin: Span::ZERO,
                },
                limited_transmit: true,
                loss_detection: LossDetection::DupAcks,
                tail_loss_probe: false,
                f_rto: false,
                ecn: false,
                pacing: false,
                recovery: Recovery::Prr,
                rtt_sampling: RttSampling::PerAck,
                cut_from: CutFrom::Flight,
                rwnd: NO_RWND,
                window_validation: false,
                handshake: false,
            },
            Self::Linux => Endpoint {
                // With timestamps (RFC 7323): 10 B, padded to 12 B.
                headers: Bytes(52),
                // tcp_delack_min, and the number of ACKs with which quickack mode begins.
                delayed_ack_timer: Span::from_millis(40),
                quick_acks: 16,
                rto: RtoSettings {
                    first: Span::from_secs(1),
                    min: Span::from_millis(200),
                    max: Span::from_secs(120),
                    tick: Span::ZERO,
                    // In Linux the variance part of the RTO is at least tcp_rto_min.
                    margin: Span::from_millis(200),
                },
                loss_detection: LossDetection::Rack,
                tail_loss_probe: true,
                f_rto: true,
                ..Self::Rfc.endpoint()
            },
        }
    }
}

//! What a TCP stack does at both ends, by named profile (tcp.md §3).

use tmt_core::types::Span;

use crate::endpoint::rtt::RtoSettings;

/// How the sender gets through a fast recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The window is cut at once and nothing is sent until what is in flight fits it (RFC 6675 as written).
    Halving,
    /// Proportional rate reduction (RFC 6937, slow-start reduction bound); needs SACK.
    Prr,
}

keywords!(Recovery { Halving => "halving", Prr => "prr" });

/// Which packets measure the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttSampling {
    /// One packet at a time, as ns-2 without timestamps does.
    PerWindow,
    /// Every acknowledgement of new data that was sent once.
    PerAck,
}

keywords!(RttSampling { PerWindow => "window", PerAck => "ack" });

/// What a window is cut from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutFrom {
    /// What is in flight (RFC 5681 equation 4); a repeated timeout leaves the threshold as it is.
    Flight,
    /// The window, min(cwnd, rwnd), at every timeout anew, as ns-2 does.
    Window,
}

keywords!(CutFrom { Flight => "flight", Window => "window" });

/// How a packet is found lost, beside the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossDetection {
    /// By three duplicates, or three packets above it that have arrived (RFC 5681, 6675).
    DupAcks,
    /// By time, against a packet sent later that has arrived (RACK, RFC 8985 §6); needs SACK.
    Rack,
}

keywords!(LossDetection { DupAcks => "dupack", Rack => "rack" });

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
    /// Acknowledgements at the start of the connection that are not delayed.
    pub quick_acks: u32,
    /// Initial window, segments.
    pub initial_window: u32,
    /// Limits and clock of the retransmission timeout.
    pub rto: RtoSettings,
    /// New data on the first two duplicate acknowledgements (RFC 3042).
    pub limited_transmit: bool,
    /// How a packet is found lost.
    pub loss_detection: LossDetection,
    /// A probe instead of the timeout when the last packets of a flight are not acknowledged (TLP, RFC 8985 §7);
    /// needs [`LossDetection::Rack`].
    pub tail_loss_probe: bool,
    /// New data after a timeout, to find out whether it was spurious, and the window back if it was (RFC 5682); needs
    /// SACK.
    pub f_rto: bool,
    /// Packets say that they may be marked (RFC 3168), and an echoed mark cuts the window like a loss.
    pub ecn: bool,
    /// Packets are spread over the round trip, whatever the controller: 2 windows a smoothed round trip in slow
    /// start, 1.2 after (as in Linux).
    pub pacing: bool,
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

/// The settings of [`Profile::Rfc`].
impl Default for Endpoint {
    fn default() -> Self {
        Profile::default().endpoint()
    }
}

impl Endpoint {
    /// The receiver's window, packets; none where it never holds the sender back.
    #[must_use]
    pub fn receiver_window(&self) -> Option<u64> {
        (self.rwnd < NO_RWND).then_some(self.rwnd)
    }
}

/// A named set of settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// ns-2 2.35 as distributed.
    Ns2,
    /// The RFCs as they stand.
    #[default]
    Rfc,
    /// Linux of today, as far as it differs: RACK-TLP, F-RTO, quick acknowledgements.
    Linux,
}

keywords!(Profile { Ns2 => "ns2", Rfc => "rfc", Linux => "linux" });

impl Profile {
    /// The profile's settings.
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
                // tcp_delack_min, and as many acknowledgements as quickack mode begins with.
                delayed_ack_timer: Span::from_millis(40),
                quick_acks: 16,
                rto: RtoSettings {
                    first: Span::from_secs(1),
                    min: Span::from_millis(200),
                    max: Span::from_secs(120),
                    tick: Span::ZERO,
                    // Linux keeps the variance's part of the timeout above tcp_rto_min.
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

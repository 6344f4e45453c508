//! Settings of sender and receiver, and the named profiles (docs/simulator.md, Sec. 5).

use tmt_core::types::{Bytes, Span};

use crate::congestion::{Connection, Implementation};
use crate::endpoint::rtt::RtoSettings;

/// How many packets the sender may send during fast recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovery {
    /// The window is cut at once; the sender waits until pipe is below cwnd (RFC 6675 as written).
    Halving,
    /// Proportional rate reduction with the slow-start reduction bound (RFC 6937); needs SACK.
    Prr,
    /// Proportional rate reduction that grows by a segment an ACK only while recovery makes progress (`SafeACK`, RFC 9937),
    /// as in Linux (`tcp_cwnd_reduction`); needs SACK.
    Prr9937,
}

tmt_core::keywords!(Recovery { Halving => "halving", Prr => "prr", Prr9937 => "prr-9937" });

/// Which packets give RTT samples for the RTO.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttSampling {
    /// One packet at a time, like ns-2 without timestamps.
    PerWindow,
    /// Every ACK of new data that was not retransmitted.
    PerAck,
    /// As [`Self::PerAck`], and every ACK whose SACK blocks report packets that were sent once (`tcp_sacktag_one`,
    /// `tcp_clean_rtx_queue`); needs SACK.
    PerSack,
}

tmt_core::keywords!(RttSampling { PerWindow => "window", PerAck => "ack", PerSack => "sack" });

/// Which ACKs restart the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerRestart {
    /// Those of new data (RFC 6298, Sec. 5.3).
    Acked,
    /// Also those that report a packet in SACK blocks which left before the last transmission of the first outstanding
    /// packet (`tcp_clean_rtx_queue`, `FLAG_SET_XMIT_TIMER`); needs SACK.
    Sacked,
}

tmt_core::keywords!(TimerRestart { Acked => "acked", Sacked => "sacked" });

/// Quantity that a congestion signal reduces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutFrom {
    /// FlightSize (RFC 5681, eq. (4)). A repeated timeout leaves ssthresh unchanged.
    Flight,
    /// The window, min(cwnd, rwnd), at every timeout, like ns-2.
    Window,
    /// cwnd, however much is in flight (`tcp_reno_ssthresh`). A timeout cuts ssthresh neither in a recovery nor again before
    /// new data is acknowledged (`tcp_enter_loss`).
    Cwnd,
}

tmt_core::keywords!(CutFrom { Flight => "flight", Window => "window", Cwnd => "cwnd" });

/// Window of a sender that was idle for more than an RTO (RFC 5681, Sec. 4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleRestart {
    /// It stays.
    Off,
    /// It is at most the initial window.
    Rfc5681,
    /// It is halved for each RTO after the first, down to the initial window; ssthresh is at least 3/4 of what it was
    /// (`tcp_cwnd_restart`, `tcp_slow_start_after_idle`). Controls that pace keep theirs.
    Linux,
}

tmt_core::keywords!(IdleRestart { Off => "off", Rfc5681 => "rfc5681", Linux => "linux" });

/// How the sender detects losses before the RTO expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossDetection {
    /// After `DupThresh` = 3 duplicate ACKs, or three SACKed packets above the lost one (RFC 5681, 6675).
    DupAcks,
    /// By time, if a packet sent later has arrived (RACK, RFC 8985, Sec. 6); needs SACK.
    Rack,
}

tmt_core::keywords!(LossDetection { DupAcks => "dupack", Rack => "rack" });

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
    /// Whether ACKs are not delayed while the receiver opens its window either (`tcp_grow_window`).
    pub quick_while_growing: bool,
    /// Longest delay of an ACK that only repeats what SACK blocks report, from the fourth after the left edge moved on
    /// (`tcp_comp_sack_delay_ns`); at most 5 % of the RTT. Zero for none.
    pub sack_compression: Span,
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
    /// Undoes a recovery if a timestamp shows that its packets were late, not lost (RFC 3522; `tcp_packet_delayed`). Needs
    /// SACK and [`Self::timestamps`].
    pub undo_recovery: bool,
    /// ECN: packets may be marked instead of dropped, and an echoed mark cuts the window like a loss (RFC 3168).
    pub ecn: bool,
    /// Paces packets with any congestion control: 2 windows per srtt in slow start, 1.2 after, as in Linux.
    pub pacing: bool,
    /// How many packets the sender may send during fast recovery.
    pub recovery: Recovery,
    /// Which packets give RTT samples for the RTO.
    pub rtt_sampling: RttSampling,
    /// Timestamps: an ACK echoes when the packet was sent that caused it, so that a retransmission gives an RTT sample, too
    /// (RFC 7323, Sec. 4.1).
    pub timestamps: bool,
    /// Which ACKs restart the retransmission timer.
    pub timer_restart: TimerRestart,
    /// Whether the first retransmission of a recovery ignores the window. With PRR it does in any case; the
    /// setting is for controls that have a window of their own during recovery, such as BBR.
    pub force_retransmit: bool,
    /// Quantity that a congestion signal reduces.
    pub cut_from: CutFrom,
    /// Largest advertised window, packets.
    pub rwnd: u64,
    /// Advertised window, packets, for which the receive buffer has room at first. The receiver enlarges it while the flow
    /// needs more, up to [`Self::rwnd`] (`tcp_rcv_space_adjust`); from that on there is nothing to enlarge.
    pub first_rwnd: u64,
    /// Whether cwnd grows only while it limits the sender (RFC 7661, Sec. 4.4).
    pub window_validation: bool,
    /// The window after a pause of the application.
    pub idle_restart: IdleRestart,
    /// How the hosts implement congestion controls.
    pub congestion: Implementation,
    /// Whether one round trip passes before the first data.
    pub handshake: bool,
}

/// Largest receive buffer of a host of the RFCs, which name none: that of Linux before 6.16 (`tcp_rmem`).
const RFC_WINDOW: Bytes = Bytes(6 << 20);

/// Room of the receive buffers of Linux. Of the memory that a packet of 1500 B takes, 61 % are payload (`tcp_measure_rcv_mss`:
/// 157/256 on a TUN device): about 80 kB of 128 KiB, the middle value of `tcp_rmem`, and about 20 MB of 32 MiB, the largest.
const LINUX_FIRST_WINDOW: Bytes = Bytes(80_000);
const LINUX_WINDOW: Bytes = Bytes(20_000_000);

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

    /// Size of a bare ACK on the wire: the headers of data, timestamps included, but at least those of IPv4 and TCP.
    #[must_use]
    pub fn bare_ack(&self) -> Bytes {
        self.headers.max(Bytes(40))
    }

    /// Returns what a congestion control knows of a connection with packets of size `packet`.
    #[must_use]
    pub fn connection(&self, packet: Bytes) -> Connection {
        Connection {
            initial_window: self.initial_window,
            payload: Bytes(packet.0.saturating_sub(self.headers.0).max(1)),
            pacing: self.pacing,
            implementation: self.congestion,
        }
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
    /// Linux 6.18: the RFCs with what its TCP does in another way (docs/simulator.md, Sec. 5.1). The default, since a
    /// user's hosts run it.
    #[default]
    Linux,
}

tmt_core::keywords!(Profile { Ns2 => "ns2", Rfc => "rfc", Linux => "linux" });

impl Profile {
    /// Returns the largest window of the receiver; `None` if it never limits the sender.
    ///
    /// [`Self::endpoint`] does not know the packet size, and leaves the window unlimited.
    #[must_use]
    pub fn receiver_window(self) -> Option<Bytes> {
        match self {
            // ns-2 has a window only where a script sets one.
            Self::Ns2 => None,
            Self::Rfc => Some(RFC_WINDOW),
            Self::Linux => Some(LINUX_WINDOW),
        }
    }

    /// Returns the window for which the receive buffer has room at first; `None` if that is the largest window.
    #[must_use]
    pub fn first_receiver_window(self) -> Option<Bytes> {
        match self {
            Self::Ns2 | Self::Rfc => None,
            Self::Linux => Some(LINUX_FIRST_WINDOW),
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
                idle_restart: IdleRestart::Off,
                ..Self::Rfc.endpoint()
            },
            Self::Rfc => Endpoint {
                // IPv4 and TCP, 20 B each, without options.
                headers: Bytes(40),
                sack: true,
                delayed_ack: 2,
                delayed_ack_timer: Span::from_millis(100),
                quick_acks: 0,
                quick_while_growing: false,
                sack_compression: Span::ZERO,
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
                undo_recovery: false,
                ecn: false,
                pacing: false,
                recovery: Recovery::Prr,
                rtt_sampling: RttSampling::PerAck,
                timestamps: false,
                timer_restart: TimerRestart::Acked,
                force_retransmit: true,
                cut_from: CutFrom::Flight,
                rwnd: NO_RWND,
                first_rwnd: NO_RWND,
                window_validation: false,
                idle_restart: IdleRestart::Rfc5681,
                congestion: Implementation::RFC,
                handshake: false,
            },
            Self::Linux => Endpoint {
                // With timestamps (RFC 7323): 10 B, padded to 12 B.
                headers: Bytes(52),
                // tcp_delack_min, and the number of ACKs with which quickack mode begins.
                delayed_ack_timer: Span::from_millis(40),
                quick_acks: 16,
                quick_while_growing: true,
                sack_compression: Span::from_millis(1),
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
                undo_recovery: true,
                recovery: Recovery::Prr9937,
                rtt_sampling: RttSampling::PerSack,
                timestamps: true,
                timer_restart: TimerRestart::Sacked,
                force_retransmit: false,
                cut_from: CutFrom::Cwnd,
                window_validation: true,
                idle_restart: IdleRestart::Linux,
                congestion: Implementation::LINUX,
                ..Self::Rfc.endpoint()
            },
        }
    }
}

//! Facts that a congestion control gets about its connection at the start, and points where implementations differ.

use tmt_core::types::Bytes;

use super::Window;

/// Events that grow a window in Reno's slow start and congestion avoidance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Each ACK of new data, as much as it covers (RFC 5681, Sec. 3.1): delayed ACKs slow growth.
    Acks,
    /// Each segment newly delivered, in whole segments, as in Linux (`tcp_slow_start`, `tcp_cong_avoid_ai`).
    Segments,
}

tmt_core::keywords!(Growth { Acks => "acks", Segments => "segments" });

/// Form of CUBIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CubicForm {
    /// RFC 9438.
    Rfc9438,
    /// Linux, `net/ipv4/tcp_cubic.c`.
    Linux,
}

tmt_core::keywords!(CubicForm { Rfc9438 => "rfc9438", Linux => "linux" });

/// Rule that ends slow start before a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HystartForm {
    /// Nothing.
    Off,
    /// HyStart++ (RFC 9406).
    Rfc9406,
    /// HyStart as in Linux (`hystart_update`).
    Classic,
}

tmt_core::keywords!(HystartForm { Off => "off", Rfc9406 => "rfc9406", Classic => "classic" });

/// Which RTTs renew the smallest RTT of BBR version 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MinRttRenewal {
    /// Those at most as long (draft-cardwell-iccrg-bbr-congestion-control-00, Sec. 4.1.2.3; Linux before 5.10).
    Equal,
    /// Only shorter ones (`bbr_update_min_rtt` since Linux 5.10).
    Smaller,
}

tmt_core::keywords!(MinRttRenewal { Equal => "equal", Smaller => "smaller" });

/// Quantum of BBR version 1: segments that a host handles at once. Three quanta may be in flight beyond the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantum {
    /// One segment.
    Segment,
    /// 1 ms at the pacing rate, at least 2 segments from 1.2 Mbit/s on (`bbr_tso_segs_goal`).
    Tso,
}

tmt_core::keywords!(Quantum { Segment => "segment", Tso => "tso" });

/// How the hosts implement congestion controls, where that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Implementation {
    /// Events that grow a window in Reno's slow start and congestion avoidance.
    pub growth: Growth,
    /// Form of CUBIC.
    pub cubic: CubicForm,
    /// Rule that ends slow start of CUBIC before a loss, unless the control says otherwise.
    pub hystart: HystartForm,
    /// Which RTTs renew the smallest RTT of BBR version 1.
    pub bbr_min_rtt: MinRttRenewal,
    /// Quantum of BBR version 1.
    pub bbr_quantum: Quantum,
}

impl Implementation {
    /// The RFCs and drafts as written.
    pub const RFC: Self = Self {
        growth: Growth::Acks,
        cubic: CubicForm::Rfc9438,
        hystart: HystartForm::Off,
        bbr_min_rtt: MinRttRenewal::Equal,
        bbr_quantum: Quantum::Segment,
    };

    /// Linux 6.18.
    pub const LINUX: Self = Self {
        growth: Growth::Segments,
        cubic: CubicForm::Linux,
        hystart: HystartForm::Classic,
        bbr_min_rtt: MinRttRenewal::Smaller,
        bbr_quantum: Quantum::Tso,
    };
}

/// A new connection, as its congestion control sees it.
///
/// ```
/// use fluid_tcp::congestion::{Connection, Implementation};
///
/// let linux = Connection { implementation: Implementation::LINUX, ..Connection::default() };
/// assert_eq!((linux.initial_window, linux.payload.0, linux.pacing), (10, 1460, false));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Connection {
    /// Initial window in segments, at least 1.
    pub initial_window: u32,
    /// Payload of a full segment.
    pub payload: Bytes,
    /// Whether the sender paces packets with any congestion control.
    pub pacing: bool,
    /// How the hosts implement congestion controls.
    pub implementation: Implementation,
}

/// A connection between hosts that follow the RFCs: 10 segments of 1460 B, not paced.
impl Default for Connection {
    fn default() -> Self {
        Self {
            initial_window: 10,
            payload: Bytes(1460),
            pacing: false,
            implementation: Implementation::RFC,
        }
    }
}

impl Connection {
    /// Returns the initial window, in the first slow start.
    #[must_use]
    pub fn window(&self) -> Window {
        Window::new(f64::from(self.initial_window))
    }
}

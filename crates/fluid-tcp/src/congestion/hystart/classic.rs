//! HyStart as in Linux (`hystart_update`, `cubictcp_acked` of `net/ipv4/tcp_cubic.c`, 6.18): ends slow start at once,
//! ssthresh = cwnd, if the window is at least 16 segments and one of two signs appears within a round trip:
//! - ACK train: ACKs at most 2 ms apart have arrived for longer than half of the smallest RTT. A sender that paces
//!   spreads its packets, so there the whole RTT counts;
//! - delay: of more than 8 RTTs since the round began, the smallest exceeds the smallest of the connection by an
//!   eighth of that, at least 4 ms and at most 16 ms.
//!
//! To the time of a train Linux adds what segmentation offload may delay (`hystart_ack_delay`): four of the largest
//! bursts at the pacing rate, at most 1 ms. Once slow start has ended this way, only a timeout makes it possible again.
//!
//! Named deviations: times are exact where Linux counts microseconds; the largest burst is 64 KiB (Linux: less a
//! header, which changes times below 1 ms only).

use tmt_core::types::{Bytes, Span, Time, to_f64};

use super::super::{AckEvent, Connection};

/// `hystart_low_window`, segments.
const LOW_WINDOW: f64 = 16.0;

/// `hystart_ack_delta_us`
const ACK_DELTA: Span = Span::from_millis(2);

/// `HYSTART_MIN_SAMPLES`
const MIN_SAMPLES: u32 = 8;

/// `HYSTART_DELAY_MIN` and `HYSTART_DELAY_MAX`
const DELAY_MIN: Span = Span::from_millis(4);
const DELAY_MAX: Span = Span::from_millis(16);

/// Largest delay by offload, seconds, and what it delays, bytes: four bursts (`sk_gso_max_size`).
const MAX_ACK_DELAY: f64 = 1e-3;
const BURSTS: f64 = 4.0 * 65_536.0;

#[derive(Debug, Clone)]
pub(super) struct Classic {
    payload: Bytes,
    pacing: bool,
    /// Smallest RTT.
    pub(super) delay_min: Option<Span>,
    /// Round under way, and when its first ACK came; `None` before the first.
    round: Option<(u64, Time)>,
    /// Last ACK of the train.
    last_ack: Time,
    /// Smallest RTT of the round.
    current: Option<Span>,
    samples: u32,
    /// Slow start has ended by one of the signs.
    found: bool,
    /// The next ACK that grows the window ends slow start.
    exits: bool,
}

impl Classic {
    pub(super) fn new(connection: &Connection) -> Self {
        Self {
            payload: connection.payload,
            pacing: connection.pacing,
            delay_min: None,
            round: None,
            last_ack: Time::ZERO,
            current: None,
            samples: 0,
            found: false,
            exits: false,
        }
    }

    /// Takes the RTT of an ACK; if it `detects`, looks for the end of slow start at this window.
    pub(super) fn observe(&mut self, ack: &AckEvent, cwnd: f64, detects: bool) {
        let Some(rtt) = ack.rtt else { return };
        let delay_min = self.delay_min.map_or(rtt, |least| least.min(rtt));
        self.delay_min = Some(delay_min);
        if !detects || self.found {
            return;
        }
        if self.round.is_none_or(|(round, _)| round != ack.round) {
            self.round = Some((ack.round, ack.now));
            self.last_ack = ack.now;
            self.current = None;
            self.samples = 0;
        }
        if cwnd < LOW_WINDOW {
            return;
        }
        let train = self.is_train(ack, cwnd, delay_min);
        self.found = self.is_delayed(rtt, delay_min) || train;
        self.exits = self.found;
    }

    fn is_train(&mut self, ack: &AckEvent, cwnd: f64, delay_min: Span) -> bool {
        if ack.now.since(self.last_ack) > ACK_DELTA {
            return false;
        }
        self.last_ack = ack.now;
        let threshold = delay_min.as_secs_f64() + self.ack_delay(ack.srtt, cwnd);
        let threshold = if self.pacing {
            threshold
        } else {
            threshold / 2.0
        };
        let begun = self.round.map_or(ack.now, |(_, begun)| begun);
        ack.now.since(begun).as_secs_f64() > threshold
    }

    fn is_delayed(&mut self, rtt: Span, delay_min: Span) -> bool {
        let current = self.current.map_or(rtt, |current| current.min(rtt));
        self.current = Some(current);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        let eighth = Span::from_nanos(delay_min.as_nanos() / 8).unwrap_or(DELAY_MAX);
        current > delay_min.saturating_add(eighth.clamp(DELAY_MIN, DELAY_MAX))
    }

    /// `hystart_ack_delay`, seconds. In slow start Linux paces at two windows per RTT, or would.
    fn ack_delay(&self, srtt: Option<Span>, cwnd: f64) -> f64 {
        srtt.map_or(0.0, |srtt| {
            let rate = 2.0 * cwnd * to_f64(self.payload.0) / srtt.as_secs_f64();
            (BURSTS / rate).min(MAX_ACK_DELAY)
        })
    }

    /// Whether slow start ends now.
    pub(super) fn takes_exit(&mut self) -> bool {
        std::mem::take(&mut self.exits)
    }

    /// Notes a cut; after a timeout nothing that was measured counts.
    pub(super) fn on_congestion(&mut self, timeout: bool) {
        self.exits = false;
        if timeout {
            self.found = false;
            self.delay_min = None;
            self.round = None;
        }
    }
}

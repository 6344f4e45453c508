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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u32) -> Time {
        Time::ZERO.saturating_add(Span::from_micros(micros))
    }

    fn ack(round: u64, micros: u32, rtt_micros: u32) -> AckEvent {
        AckEvent {
            now: at(micros),
            round,
            rtt: Some(Span::from_micros(rtt_micros)),
            srtt: Some(Span::from_micros(rtt_micros)),
            ..AckEvent::default()
        }
    }

    fn classic(pacing: bool) -> Classic {
        Classic::new(&Connection {
            pacing,
            ..Connection::default()
        })
    }

    /// ACKs of round 2, this far apart and each with this RTT, after a first round with an RTT of `least`; how many
    /// there are when slow start ends, at most 1000.
    fn acks(mut classic: Classic, cwnd: f64, apart: u32, least: u32, rtt: u32) -> usize {
        classic.observe(&ack(1, 0, least), cwnd, true);
        let ended = (1..=1000).position(|number| {
            classic.observe(&ack(2, 1_000_000 + number * apart, rtt), cwnd, true);
            classic.takes_exit()
        });
        ended.map_or(1000, |position| position + 1)
    }

    #[test]
    fn the_ninth_rtt_of_a_round_shows_a_delay_above_an_eighth_from_4_to_16_ms() {
        for (least, threshold) in [(8_000, 4_000), (100_000, 12_500), (500_000, 16_000)] {
            // 10 ms apart: no train.
            let ended = |rtt| acks(classic(false), 16.0, 10_000, least, rtt);
            assert_eq!(ended(least + threshold), 1000, "{least}");
            assert_eq!(ended(least + threshold + 1), 9, "{least}");
        }
    }

    #[test]
    fn a_train_lasts_for_half_the_smallest_rtt_and_what_offload_may_add() {
        // 64 segments of 1460 B at two windows per 100 ms: 4 bursts of 64 KiB take more than 1 ms, the most that counts.
        // (100 + 1)/2 = 50.5 ms: the ACK 52 ms after the first, the 27th.
        assert_eq!(acks(classic(false), 64.0, 2_000, 100_000, 100_000), 27);
        // A pacing sender: 101 ms, so the ACK after 102 ms.
        assert_eq!(acks(classic(true), 64.0, 2_000, 100_000, 100_000), 52);
        // Gaps above 2 ms.
        assert_eq!(acks(classic(false), 64.0, 2_001, 100_000, 100_000), 1000);
        // 10 000 segments per 1 ms: 4 · 65 536 B / 29.2 GB/s = 9 µs. (1000 + 9)/2 = 504 µs, so the ACK after 600 µs.
        assert_eq!(acks(classic(false), 1e4, 100, 1_000, 1_000), 7);
    }

    #[test]
    fn a_window_below_16_segments_does_not_end_slow_start() {
        assert_eq!(acks(classic(false), 15.0, 1_000, 100_000, 300_000), 1000);
    }

    #[test]
    fn slow_start_ends_once_until_a_timeout() {
        let mut classic = classic(false);
        classic.observe(&ack(1, 0, 100_000), 20.0, true);
        let mut delayed = |from: u32| {
            for number in 1..=9 {
                let ack = ack(from.into(), from + number * 10_000, 200_000);
                classic.observe(&ack, 20.0, true);
            }
            classic.takes_exit()
        };
        assert!(delayed(1_000_000));
        assert!(!delayed(2_000_000));
        classic.on_congestion(true);
        assert_eq!((classic.delay_min, classic.found), (None, false));
    }
}

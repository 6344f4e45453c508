//! Detection of traffic policers from steady heavy losses (`bbr_lt_bw_sampling` in Linux; Flach et al., "An
//! Internet-wide analysis of traffic policing", SIGCOMM 2016).
//!
//! Two lossy intervals in a row with about the same delivery rate indicate a policer. That rate is then the bandwidth
//! for 48 rounds.

use tmt_core::types::{Time, to_f64};

use super::{Bbr1, Mode};

/// Shortest (`bbr_lt_intvl_min_rtts`) and longest interval, rounds.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;

/// Losses per segment delivered from which an interval is lossy (`bbr_lt_loss_thresh`).
const LOSSY: f64 = 50.0 / 256.0;

/// Largest relative difference of the rates of two intervals (`bbr_lt_bw_ratio`).
const RATIO: f64 = 1.0 / 8.0;

/// Difference of the rates that is always allowed, segments per second: 4 kbit/s (`bbr_lt_bw_diff`) at 1500 B.
const DIFFERENCE: f64 = 1.0 / 3.0;

/// Rounds for which the rate is used (`bbr_lt_bw_max_rtts`).
const TRUSTED_ROUNDS: u32 = 48;

/// Shortest interval, seconds.
const MIN_INTERVAL: f64 = 0.001;

/// State at an ACK or a timeout.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is independent")]
pub(super) struct Signal {
    pub(super) now: Time,
    /// Whether it revealed losses.
    pub(super) has_losses: bool,
    /// Whether a round begins with it.
    pub(super) starts_round: bool,
    pub(super) app_limited: bool,
    /// Whether the control is in `ProbeBW`.
    pub(super) in_probe_bw: bool,
    /// Segments of the connection delivered, and lost, so far.
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// The detector of policers.
#[derive(Debug, Clone, Default)]
pub(super) struct Policer {
    /// Signal that began the interval; `None` outside an interval.
    begun: Option<Signal>,
    /// Rounds of the interval, or rounds since the rate is used.
    rounds: u32,
    /// Rate of the last interval, or the policer's, segments per second.
    rate: Option<f64>,
    trusted: bool,
}

impl Policer {
    /// Returns the policer's rate in segments per second; `None` if no policer is detected.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.trusted)
    }

    /// Processes a signal. Returns whether a policer's rate has just expired.
    pub(super) fn on_signal(&mut self, signal: Signal) -> bool {
        if self.trusted {
            self.rounds += u32::from(signal.in_probe_bw && signal.starts_round);
            let over = self.rounds >= TRUSTED_ROUNDS;
            if over {
                *self = Self::default();
            }
            return over;
        }
        // The first loss means that the policer's tokens are used up. The rate before is not the policer's.
        if self.begun.is_none() && !signal.has_losses {
            return false;
        }
        let begun = *self.begun.get_or_insert(signal);
        if signal.app_limited {
            *self = Self::default();
            return false;
        }
        self.rounds += u32::from(signal.starts_round);
        if self.rounds > MAX_ROUNDS {
            *self = Self::default();
        } else if self.rounds >= MIN_ROUNDS && signal.has_losses {
            self.end_interval(begun, signal);
        }
        false
    }

    fn end_interval(&mut self, begun: Signal, signal: Signal) {
        let lost = to_f64(signal.lost.saturating_sub(begun.lost));
        let delivered = to_f64(signal.delivered.saturating_sub(begun.delivered));
        let length = signal.now.since(begun.now).as_secs_f64();
        if delivered == 0.0 || lost < LOSSY * delivered || length < MIN_INTERVAL {
            return;
        }
        let rate = delivered / length;
        self.rounds = 0;
        if let Some(last) = self.rate
            && ((rate - last).abs() <= RATIO * last || (rate - last).abs() <= DIFFERENCE)
        {
            self.rate = Some(f64::midpoint(rate, last));
            self.trusted = true;
        } else {
            self.rate = Some(rate);
            self.begun = Some(signal);
        }
    }
}

impl Bbr1 {
    /// Passes a signal to the detector, unless it is off.
    pub(super) fn update_policer(&mut self, now: Time, has_losses: bool, app_limited: bool) {
        if !self.detects_policers {
            return;
        }
        let signal = Signal {
            now,
            has_losses,
            starts_round: self.base.rounds.round_start,
            app_limited,
            in_probe_bw: self.mode == Mode::ProbeBw,
            delivered: self.base.rounds.delivered,
            lost: self.lost,
        };
        if self.policer.on_signal(signal) {
            self.enter_probe_bw(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use tmt_core::types::Span;

    use super::*;

    /// `count` rounds of 100 ms, each with this many segments delivered and lost. Returns the detector, and the round
    /// in which it found a policer.
    fn rounds(delivered: u64, lost: u64, count: u32) -> (Policer, Option<u32>) {
        let mut policer = Policer::default();
        let (mut now, mut found) = (Time::ZERO, None);
        for round in 1..=count {
            now = now.saturating_add(Span::from_millis(100));
            policer.on_signal(Signal {
                now,
                has_losses: lost > 0,
                starts_round: true,
                app_limited: false,
                in_probe_bw: true,
                delivered: delivered * u64::from(round),
                lost: lost * u64::from(round),
            });
            if policer.rate().is_some() {
                found = found.or(Some(round));
            }
        }
        (policer, found)
    }

    #[test]
    fn two_lossy_intervals_of_the_same_rate_indicate_a_policer() {
        // 30 of 100 lost in 100 ms: 700 per second. The first interval begins with the first loss.
        let (policer, found) = rounds(70, 30, 9);
        assert_eq!(found, Some(8));
        assert!((policer.rate().unwrap() - 700.0).abs() < 1e-9);
    }

    #[test]
    fn the_rate_expires_after_48_rounds() {
        assert!(rounds(70, 30, 8 + 47).0.rate().is_some());
        assert!(rounds(70, 30, 8 + 48).0.rate().is_none());
    }

    #[test]
    fn losses_below_a_fifth_do_not_indicate_a_policer() {
        assert_eq!(rounds(84, 16, 200).1, None);
        assert!(rounds(83, 17, 200).1.is_some());
    }
}

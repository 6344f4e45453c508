//! Whether the path is policed to a rate, told by steady heavy losses (`bbr_lt_bw_sampling` of Linux; Flach et al.,
//! "An Internet-wide analysis of traffic policing", SIGCOMM 2016).
//!
//! Two intervals in a row that are lossy and deliver at the same rate are taken for a policer's; then that rate is
//! the bandwidth for 48 round trips.

use tmt_core::types::{Time, to_f64};

use super::{Bbr1, Mode};

/// Round trips that an interval has at least (`bbr_lt_intvl_min_rtts`), and at most.
const MIN_ROUNDS: u32 = 4;
const MAX_ROUNDS: u32 = 4 * MIN_ROUNDS;

/// Losses for what was delivered that make an interval lossy: 50/256 (`bbr_lt_loss_thresh`).
const LOSSY: f64 = 50.0 / 256.0;

/// Share by which the rates of two intervals may differ (`bbr_lt_bw_ratio`).
const RATIO: f64 = 1.0 / 8.0;

/// Segments a second by which they may differ in any case: 4 kbit/s (`bbr_lt_bw_diff`) of 1500 bytes each.
const DIFFERENCE: f64 = 1.0 / 3.0;

/// Round trips for which the rate is trusted (`bbr_lt_bw_max_rtts`).
const TRUSTED_ROUNDS: u32 = 48;

/// Shortest interval, seconds.
const MIN_INTERVAL: f64 = 0.001;

/// What an acknowledgement, or a timeout, tells.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is told by itself")]
pub(super) struct Signal {
    pub(super) now: Time,
    /// It made losses known.
    pub(super) has_losses: bool,
    /// A round trip begins with it.
    pub(super) starts_round: bool,
    pub(super) app_limited: bool,
    /// The controller cycles its gain.
    pub(super) cycles: bool,
    /// Segments of the connection delivered, and lost, so far.
    pub(super) delivered: u64,
    pub(super) lost: u64,
}

/// The estimator.
#[derive(Debug, Clone, Default)]
pub(super) struct Policer {
    /// What began the interval; none where none goes on.
    begun: Option<Signal>,
    /// Round trips of the interval, or since the rate is trusted.
    rounds: u32,
    /// Rate of the last interval, or the trusted one, segments a second.
    rate: Option<f64>,
    trusted: bool,
}

impl Policer {
    /// The rate that the path is policed to, segments a second.
    pub(super) fn rate(&self) -> Option<f64> {
        self.rate.filter(|_| self.trusted)
    }

    /// Takes in what happened; whether a policer's rate has just ceased to be trusted.
    pub(super) fn on_signal(&mut self, signal: Signal) -> bool {
        if self.trusted {
            self.rounds += u32::from(signal.cycles && signal.starts_round);
            let over = self.rounds >= TRUSTED_ROUNDS;
            if over {
                *self = Self::default();
            }
            return over;
        }
        // The first loss tells that a policer's tokens are used up; what was before is no rate of its.
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
    /// Tells the estimator what happened, unless it is off.
    pub(super) fn update_policer(&mut self, now: Time, has_losses: bool, app_limited: bool) {
        if !self.finds_policers {
            return;
        }
        let signal = Signal {
            now,
            has_losses,
            starts_round: self.base.rounds.round_start,
            app_limited,
            cycles: self.mode == Mode::ProbeBw,
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

    /// Rounds of 100 ms that deliver and lose so many each; after how many the path counts as policed, and at what.
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
                cycles: true,
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
    fn two_lossy_intervals_of_the_same_rate_are_a_policers() {
        // 30 of 100 lost in 100 ms: 700 a second. The first interval begins with the first loss.
        let (policer, found) = rounds(70, 30, 9);
        assert_eq!(found, Some(8));
        assert!((policer.rate().unwrap() - 700.0).abs() < 1e-9);
    }

    #[test]
    fn the_rate_is_forgotten_after_48_rounds() {
        assert!(rounds(70, 30, 8 + 47).0.rate().is_some());
        assert!(rounds(70, 30, 8 + 48).0.rate().is_none());
    }

    #[test]
    fn losses_below_a_fifth_are_no_policers() {
        assert_eq!(rounds(84, 16, 200).1, None);
        assert!(rounds(83, 17, 200).1.is_some());
    }
}

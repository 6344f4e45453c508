//! Smoothed RTT and retransmission timeout (RFC 6298), on a clock that may be coarse.

use tmt_core::types::{Span, Time};

/// Limits and clock of the retransmission timeout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RtoSettings {
    /// RTO before the first RTT sample.
    pub first: Span,
    /// Smallest RTO before back-off.
    pub min: Span,
    /// Largest RTO, back-off included.
    pub max: Span,
    /// Clock granularity G of samples and RTO; zero means 1 ns.
    pub tick: Span,
    /// Smallest distance of the RTO from srtt, as in Linux: RTO = srtt + max(4 RTTVAR, `tick`, `margin`).
    pub margin: Span,
}

/// Estimator of SRTT and RTTVAR, from which the RTO follows.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct RttEstimator {
    /// SRTT and RTTVAR, ns.
    estimate: Option<(i64, i64)>,
    /// Retransmission timeout that follows.
    rto: Span,
    /// Number of doublings of the RTO since the last sample.
    backoff: u32,
    settings: RtoSettings,
    /// The last sample that has not been taken.
    latest: Option<Span>,
}

impl RttEstimator {
    /// Creates an estimator without samples; its RTO is `settings.first`.
    #[must_use]
    pub fn new(settings: RtoSettings) -> Self {
        let mut estimator = Self {
            settings,
            estimate: None,
            backoff: 0,
            rto: Span::ZERO,
            latest: None,
        };
        estimator.rto = estimator.timeout();
        estimator
    }

    /// Adds an RTT sample (RFC 6298, Sec. 2.2 and 2.3) and ends the back-off (Sec. 5.7, Karn).
    pub fn sample(&mut self, rtt: Span) {
        self.latest = Some(rtt);
        let rtt = i64::try_from(self.on_clock(rtt).as_nanos()).unwrap_or(i64::MAX);
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                let error = rtt - srtt;
                (srtt + error / 8, rttvar + (error.abs() - rttvar) / 4)
            }
        });
        self.backoff = 0;
        self.rto = self.timeout();
    }

    /// The last sample, before it is rounded to the clock; `None` if there was no other since it was last taken.
    #[inline]
    pub(crate) fn take_latest(&mut self) -> Option<Span> {
        self.latest.take()
    }

    /// Rounds an RTT to whole ticks, at least one.
    fn on_clock(&self, rtt: Span) -> Span {
        let tick = self.settings.tick.as_nanos();
        if tick == 0 {
            return rtt;
        }
        let ticks = ((rtt.as_nanos() + tick / 2) / tick).max(1);
        self.settings.tick.checked_mul(ticks).unwrap_or(Span::MAX)
    }

    /// Doubles the RTO after the timer has expired (RFC 6298, Sec. 5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
        self.rto = self.timeout();
    }

    /// Returns the smoothed RTT; `None` before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        self.estimate.map(|(srtt, _)| nanos(srtt))
    }

    /// Returns the current RTO, back-off included.
    #[must_use]
    pub fn rto(&self) -> Span {
        self.rto
    }

    #[inline]
    fn timeout(&self) -> Span {
        let base = match self.estimate {
            None => self.settings.first,
            Some((srtt, rttvar)) => {
                let least = self.settings.tick.max(self.settings.margin);
                nanos(srtt).saturating_add(nanos(rttvar.saturating_mul(4)).max(least))
            }
        };
        let base = base.max(self.settings.min);
        if self.backoff == 0 {
            return base.min(self.settings.max);
        }
        let factor = 1u64.checked_shl(self.backoff.min(62)).unwrap_or(u64::MAX);
        base.checked_mul(factor)
            .unwrap_or(Span::MAX)
            .min(self.settings.max)
    }

    /// Returns the time at which a timer started `now` expires; `None` if that is past 2^63 − 1 ns.
    #[must_use]
    pub fn deadline(&self, now: Time) -> Option<Time> {
        now.checked_add(self.rto())
    }
}

fn nanos(value: i64) -> Span {
    u64::try_from(value)
        .ok()
        .and_then(Span::from_nanos)
        .unwrap_or(Span::ZERO)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator(tick: Span) -> RttEstimator {
        RttEstimator::new(RtoSettings {
            first: Span::from_secs(1),
            min: Span::from_millis(200),
            max: Span::from_secs(60),
            tick,
            margin: Span::ZERO,
        })
    }

    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_as_rttvar() {
        // RFC 6298, Sec. 2.2: RTO = R + max(G, 4 · R/2) = 3 R.
        let mut rtt = estimator(Span::ZERO);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        rtt.sample(Span::from_millis(100));
        assert_eq!(
            (rtt.srtt(), rtt.rto()),
            (Some(Span::from_millis(100)), Span::from_millis(300))
        );
    }

    #[test]
    fn later_samples_move_srtt_by_an_eighth_and_rttvar_by_a_quarter() {
        // RFC 6298, Sec. 2.3 with R' = 180 ms: RTTVAR = 3/4·50 + 1/4·80 = 57.5, SRTT = 7/8·100 + 1/8·180 = 110.
        let mut rtt = estimator(Span::ZERO);
        rtt.sample(Span::from_millis(100));
        rtt.sample(Span::from_millis(180));
        assert_eq!(
            (rtt.srtt(), rtt.rto()),
            (Some(Span::from_millis(110)), Span::from_millis(340))
        );
    }

    #[test]
    fn the_rto_doubles_up_to_its_maximum_and_a_sample_ends_the_back_off() {
        let mut rtt = estimator(Span::ZERO);
        let rtos: Vec<u64> = (0..8)
            .map(|_| {
                let rto = rtt.rto();
                rtt.back_off();
                rto.as_nanos() / 1_000_000_000
            })
            .collect();
        assert_eq!(rtos, [1, 2, 4, 8, 16, 32, 60, 60]);
        (0..200).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), Span::from_secs(60));
        rtt.sample(Span::from_millis(10));
        assert_eq!(rtt.rto(), Span::from_millis(200));
    }

    #[test]
    fn a_margin_keeps_the_rto_above_a_constant_rtt() {
        let mut rtt = estimator(Span::ZERO);
        rtt.settings.margin = Span::from_millis(200);
        (0..200).for_each(|_| rtt.sample(Span::from_millis(500)));
        assert_eq!(rtt.rto(), Span::from_millis(700));
    }

    #[test]
    fn a_coarse_clock_measures_whole_ticks_at_least_one() {
        let mut rtt = estimator(Span::from_millis(100));
        rtt.sample(Span::from_millis(20));
        assert_eq!(rtt.srtt(), Some(Span::from_millis(100)));
        let mut rtt = estimator(Span::from_millis(100));
        rtt.sample(Span::from_millis(549));
        assert_eq!(rtt.srtt(), Some(Span::from_millis(500)));
    }
}

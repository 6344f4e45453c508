//! Smoothed RTT and retransmission timeout (RFC 6298), on a clock that may be coarse; or as in Linux (`tcp_rtt_estimator`,
//! `__tcp_set_rto` of `net/ipv4/tcp_input.c`, 6.18), where
//! - the variance part of the RTO is the largest of four mean deviations in a round trip: it rises at once, and falls by a quarter
//!   of the difference a round trip later, so that the RTTs of a thousand ACKs do not wear down what a single stop has taught;
//! - an RTT below the smoothed one that is farther off than usual counts an eighth.
//!
//! Named deviations: times are exact where Linux counts microseconds, and jiffies in the RTO; with a `tick`, samples and RTO have it as without
//! a margin.

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
    /// Smallest distance of the RTO from srtt. Any value above zero also selects the estimator of Linux; zero selects that of RFC 6298.
    pub margin: Span,
}

/// The variance part of the RTO, ns. All values but RTTVAR stand for four mean deviations.
#[derive(Debug, Clone, Copy)]
enum Variance {
    /// RTTVAR.
    Rfc6298(i64),
    Linux(Peak),
}

/// The variance part of Linux.
#[derive(Debug, Clone, Copy, Default)]
struct Peak {
    /// `mdev_us`
    deviation: i64,
    /// `mdev_max_us`: the largest of the round trip, at least the margin.
    largest: i64,
    /// `rttvar_us`
    part: i64,
    /// `rtt_seq`: the round trip ends once a packet from this one on is acknowledged.
    round_end: u64,
    /// Smallest part.
    margin: i64,
}

impl Peak {
    /// Takes the first RTT, ns.
    fn first(&mut self, rtt: i64, sent: u64) {
        self.deviation = 2 * rtt;
        self.part = self.deviation.max(self.margin);
        self.largest = self.part;
        self.round_end = sent;
    }

    /// Takes an RTT that is off srtt by `error`, ns.
    #[inline]
    fn sample(&mut self, error: i64, round: Round) {
        let more = error.abs() - self.deviation / 4;
        self.deviation += if error < 0 && more > 0 {
            more / 8
        } else {
            more
        };
        self.largest = self.largest.max(self.deviation);
        self.part = self.part.max(self.largest);
        if round.acked > self.round_end {
            self.part -= (self.part - self.largest) / 4;
            self.round_end = round.sent;
            self.largest = self.margin;
        }
    }
}

/// Where a sender is when it takes a sample: all packets below `acked` are acknowledged, and those below `sent` were sent.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Lowest packet that is not acknowledged.
    pub acked: u64,
    /// Lowest packet that was not sent.
    pub sent: u64,
}

/// Estimator of SRTT and RTTVAR, from which the RTO follows.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct RttEstimator {
    /// SRTT, ns.
    srtt: Option<i64>,
    /// Retransmission timeout that follows.
    rto: Span,
    /// The last sample that has not been taken.
    latest: Option<Span>,
    variance: Variance,
    /// Number of doublings of the RTO since the last sample.
    backoff: u32,
    settings: RtoSettings,
}

/// Longest RTT, ns: four deviations are at most half of the largest number.
const LONGEST: u64 = (i64::MAX / 8) as u64;

/// A time that is at most [`LONGEST`], ns.
#[inline]
fn bounded(span: Span) -> i64 {
    span.as_nanos().min(LONGEST).cast_signed()
}

impl RttEstimator {
    /// Creates an estimator without samples; its RTO is `settings.first`.
    #[must_use]
    pub fn new(settings: RtoSettings) -> Self {
        let variance = if settings.margin.is_zero() {
            Variance::Rfc6298(0)
        } else {
            Variance::Linux(Peak {
                margin: bounded(settings.margin),
                ..Peak::default()
            })
        };
        let mut estimator = Self {
            settings,
            srtt: None,
            variance,
            backoff: 0,
            rto: Span::ZERO,
            latest: None,
        };
        estimator.rto = estimator.timeout();
        estimator
    }

    /// Adds an RTT sample (RFC 6298, Sec. 2.2 and 2.3) and ends the back-off (Sec. 5.7, Karn).
    #[inline]
    pub fn sample(&mut self, rtt: Span, round: Round) {
        self.latest = Some(rtt);
        let rtt = bounded(self.on_clock(rtt));
        let Some(srtt) = &mut self.srtt else {
            return self.first(rtt, round);
        };
        let error = rtt - *srtt;
        *srtt += error / 8;
        match &mut self.variance {
            Variance::Rfc6298(rttvar) => *rttvar += (error.abs() - *rttvar) / 4,
            Variance::Linux(peak) => peak.sample(error, round),
        }
        self.backoff = 0;
        self.rto = self.timeout();
    }

    #[cold]
    fn first(&mut self, rtt: i64, round: Round) {
        self.srtt = Some(rtt);
        match &mut self.variance {
            Variance::Rfc6298(rttvar) => *rttvar = rtt / 2,
            Variance::Linux(peak) => peak.first(rtt, round.sent),
        }
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
        self.srtt.map(nanos)
    }

    /// Returns the current RTO, back-off included.
    #[must_use]
    pub fn rto(&self) -> Span {
        self.rto
    }

    #[inline]
    fn timeout(&self) -> Span {
        let base = match self.srtt {
            None => self.settings.first,
            Some(srtt) => {
                let part = match &self.variance {
                    Variance::Rfc6298(rttvar) => 4 * rttvar,
                    Variance::Linux(peak) => peak.part,
                };
                nanos(srtt).saturating_add(nanos(part).max(self.settings.tick))
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

    fn round(acked: u64, sent: u64) -> Round {
        Round { acked, sent }
    }

    fn estimator(tick: Span) -> RttEstimator {
        RttEstimator::new(RtoSettings {
            first: Span::from_secs(1),
            min: Span::from_millis(200),
            max: Span::from_secs(60),
            tick,
            margin: Span::ZERO,
        })
    }

    fn of_linux(margin: Span) -> RttEstimator {
        let RttEstimator { settings, .. } = estimator(Span::ZERO);
        RttEstimator::new(RtoSettings { margin, ..settings })
    }

    #[test]
    fn the_first_sample_sets_srtt_and_half_of_it_as_rttvar() {
        // RFC 6298, Sec. 2.2: RTO = R + max(G, 4 · R/2) = 3 R.
        let mut rtt = estimator(Span::ZERO);
        assert_eq!(rtt.rto(), Span::from_secs(1));
        rtt.sample(Span::from_millis(100), round(0, 0));
        assert_eq!(
            (rtt.srtt(), rtt.rto()),
            (Some(Span::from_millis(100)), Span::from_millis(300))
        );
    }

    #[test]
    fn later_samples_move_srtt_by_an_eighth_and_rttvar_by_a_quarter() {
        // RFC 6298, Sec. 2.3 with R' = 180 ms: RTTVAR = 3/4·50 + 1/4·80 = 57.5, SRTT = 7/8·100 + 1/8·180 = 110.
        let mut rtt = estimator(Span::ZERO);
        rtt.sample(Span::from_millis(100), round(0, 0));
        rtt.sample(Span::from_millis(180), round(0, 0));
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
        rtt.sample(Span::from_millis(10), round(0, 0));
        assert_eq!(rtt.rto(), Span::from_millis(200));
    }

    #[test]
    fn a_margin_keeps_the_rto_above_a_constant_rtt() {
        let mut rtt = of_linux(Span::from_millis(200));
        // A round trip for each sample; the integer quarter stops below 4 ns.
        (1..200).for_each(|packet| rtt.sample(Span::from_millis(500), round(packet, packet + 1)));
        assert_eq!(rtt.rto().as_nanos() / 4, 700_000_000 / 4);
    }

    /// By hand from `tcp_rtt_estimator` of Linux: sample, packets acknowledged and sent, then RTO, in µs.
    #[test]
    fn with_a_margin_the_rto_is_that_of_linux() {
        let mut rtt = of_linux(Span::from_millis(200));
        let steps = [
            // mdev 200 ms, which is the margin, too: srtt 100.
            (100_000, 0, 10, 300_000),
            // Error 200: mdev 200 + 200 - 50 = 350, srtt 125.
            (300_000, 5, 20, 475_000),
            // Error -80, 7.5 less than a quarter of mdev: mdev 342.5, and the largest stays. srtt 115.
            (45_000, 6, 20, 465_000),
            // Error -101, 15.375 more than usual, counts an eighth: mdev 344.421875. srtt 102.375.
            (14_000, 10, 20, 452_375),
            // The round trip ends: largest and part are 350. srtt 102.0, error -3: mdev 261.31640625.
            (99_375, 11, 30, 452_000),
            // The next one ends, largest 198.7373046875 (error 0, below the margin of 200): 350 - (350 - 200)/4.
            (102_000, 31, 40, 414_500),
        ];
        for (sample, acked, sent, rto) in steps {
            rtt.sample(Span::from_micros(sample), round(acked, sent));
            assert_eq!(rtt.rto().as_nanos() / 1000, rto, "{sample}");
        }
    }

    #[test]
    fn the_longest_spans_do_not_overflow() {
        let mut rtt = of_linux(Span::MAX);
        for packet in 0..100 {
            let sample = if packet % 2 == 0 {
                Span::MAX
            } else {
                Span::ZERO
            };
            rtt.sample(sample, round(packet, packet));
            assert_eq!(rtt.rto(), rtt.settings.max);
        }
    }

    #[test]
    fn a_coarse_clock_measures_whole_ticks_at_least_one() {
        let mut rtt = estimator(Span::from_millis(100));
        rtt.sample(Span::from_millis(20), round(0, 0));
        assert_eq!(rtt.srtt(), Some(Span::from_millis(100)));
        let mut rtt = estimator(Span::from_millis(100));
        rtt.sample(Span::from_millis(549), round(0, 0));
        assert_eq!(rtt.srtt(), Some(Span::from_millis(500)));
    }
}

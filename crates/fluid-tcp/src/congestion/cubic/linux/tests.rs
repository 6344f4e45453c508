//! Against windows of a real kernel, and against a second implementation.

use proptest::prelude::*;
use tmt_core::math::num::cbrt;
use tmt_core::types::Span;

use super::super::super::{Algorithm, Cause, Implementation};
use super::*;

fn start(text: &str) -> Cubic {
    let algorithm: Algorithm = text.parse().unwrap();
    let connection = Connection {
        implementation: Implementation::LINUX,
        ..Connection::default()
    };
    Cubic::new(&connection, algorithm.values())
}

fn at(nanos: u64) -> Time {
    Time::from_nanos(nanos).unwrap()
}

/// An ACK of `delivered` segments that measures `rtt`.
fn ack(nanos: u64, delivered: u64, rtt: u64) -> AckEvent {
    AckEvent {
        now: at(nanos),
        acked: delivered,
        delivered,
        rtt: Span::from_nanos(rtt),
        srtt: Span::from_nanos(rtt),
        ..AckEvent::default()
    }
}

fn cut(cc: &mut Cubic, nanos: u64, in_flight: u64, cause: Cause) {
    cc.on_congestion(&CongestionEvent {
        now: at(nanos),
        in_flight: to_f64(in_flight),
        cause,
    });
}

/// Slow start over a path of constant rate with an endless queue, with an ACK for every segment: `service` and `rtt`
/// are in ns. Returns the window at which HyStart ends it.
fn slow_start(service: u64, rtt: u64) -> f64 {
    let mut cc = start("cubic");
    let (mut link_free, mut arrivals) = (0, std::collections::VecDeque::new());
    let (mut sent, mut acked, mut round, mut round_end) = (0, 0, 0, 0);
    let mut now = 0;
    loop {
        while sent - acked < cc.cwnd() {
            link_free = now.max(link_free) + service;
            arrivals.push_back((now, link_free + rtt));
            sent += 1;
        }
        let (left, arrival) = arrivals.pop_front().unwrap();
        now = arrival;
        acked += 1;
        if acked > round_end {
            (round, round_end) = (round + 1, sent);
        }
        let ack = AckEvent {
            round,
            ..ack(now, 1, now - left)
        };
        let before = cc.window.cwnd;
        cc.observe(&ack);
        cc.on_ack(&ack);
        if cc.window.ssthresh.is_some() {
            return before;
        }
    }
}

#[test]
fn hystart_ends_slow_start_where_the_kernel_does() {
    // fixtures/reference/kernel: Linux 6.18. 2.34 Mbit/s and 500 ms: by delay, at a window of 328 segments. 10 Mbit/s
    // and 50 ms: by an ACK train, at 62. The smallest RTT there is 0.2 ms above the path's.
    for (rate, rtt, expected) in [
        (2_340_000, 500_200_000, 328.0),
        (10_000_000, 50_200_000, 62.0),
    ] {
        let service = 12_000 * 1_000_000_000 / rate;
        assert!((slow_start(service, rtt - service) - expected).abs() < 1e-9);
    }
}

/// A sample of a kernel's window: time in ms, whether in recovery, cwnd, ssthresh, segments delivered so far.
type Sample = (u64, bool, u64, Option<u64>, u64);

fn samples() -> Vec<Sample> {
    let table = include_str!("../../../../../../fixtures/reference/kernel/windows/cubic.csv");
    let rows = table.lines().skip(1);
    rows.map(|row| {
        let fields: Vec<Option<u64>> = row.split(',').map(|field| field.parse().ok()).collect();
        let [time, recovering, cwnd, ssthresh, delivered] = fields[..] else {
            panic!("{row}")
        };
        (
            time.unwrap(),
            recovering == Some(1),
            cwnd.unwrap(),
            ssthresh,
            delivered.unwrap(),
        )
    })
    .collect()
}

#[test]
fn a_minute_of_a_real_kernel_has_these_windows_and_thresholds() {
    // Linux 6.18, 2.34 Mbit/s, 500 ms, queue of 100 packets, one packet in a thousand lost. Deliveries and recoveries
    // are the kernel's, windows ours. Within a sample of 100 ms the times of ACKs are not known, nor is that at which a
    // recovery ended: in its middle.
    const RTT: u64 = 500_200_000;
    let mut cc = start("cubic");
    let (mut cuts, mut compared) = (0, 0);
    for pair in samples().windows(2) {
        let (_, was_recovering, _, before, so_far) = pair[0];
        let (time, recovering, cwnd, ssthresh, delivered) = pair[1];
        let (Some(ssthresh), Some(before)) = (ssthresh, before) else {
            // HyStart has just ended slow start.
            (cc.window.cwnd, cc.window.ssthresh) = (to_f64(cwnd), ssthresh.map(to_f64));
            continue;
        };
        if ssthresh != before || (recovering && !was_recovering) {
            // floor(w · 717/1024) has this value for one w or two.
            let fits = (0..1000).filter(|w| w * 717 / 1024 == ssthresh);
            let cut_from = fits.min_by_key(|w| w.abs_diff(cc.cwnd())).unwrap();
            assert!(
                cut_from.abs_diff(cc.cwnd()) <= 2,
                "{time} ms: {cut_from}, {cc:?}"
            );
            cut(&mut cc, 0, cut_from, Cause::FastRetransmit);
            assert_eq!(cc.window.ssthresh, Some(to_f64(ssthresh)));
            cuts += 1;
        } else if !recovering {
            let acks = (delivered - so_far) / 2;
            let ended = if was_recovering { acks / 2 } else { 0 };
            for number in ended + 1..=acks {
                let nanos = (time - 100) * 1_000_000 + number * 100_000_000 / acks;
                let ack = ack(nanos, 2, RTT);
                cc.observe(&ack);
                cc.on_ack(&ack);
            }
            assert!(cwnd.abs_diff(cc.cwnd()) <= 2, "{time} ms: {cwnd}, {cc:?}");
            compared += 1;
        }
    }
    assert!(
        cuts == 14 && compared == 441,
        "{cuts} cuts, {compared} windows"
    );
}

/// The same rules, with a loop where they have a division, and no state between calls that can be computed anew.
#[derive(Debug, Default)]
struct Reference {
    cwnd: u64,
    ssthresh: Option<u64>,
    credit: u64,
    last_max: u64,
    cnt: u64,
    at: (u64, u64),
    /// Start, origin, K, Reno's window, and the deliveries that have not grown it.
    epoch: Option<(u64, u64, f64, u64, u64)>,
}

impl Reference {
    fn on_ack(&mut self, millis: u64, mut count: u64, delay_min: u64) {
        while count > 0 && self.ssthresh.is_none_or(|ssthresh| self.cwnd < ssthresh) {
            self.cwnd += 1;
            count -= 1;
        }
        if count == 0 {
            return;
        }
        let jiffy = millis / 4;
        self.renew(jiffy, count, delay_min.div_ceil(4));
        // Credit kept from a larger cnt adds one segment at most.
        if self.credit >= self.cnt {
            (self.cwnd, self.credit) = (self.cwnd + 1, 0);
        }
        for _ in 0..count {
            self.credit += 1;
        }
        while self.credit >= self.cnt {
            self.credit -= self.cnt;
            self.cwnd += 1;
        }
    }

    fn renew(&mut self, jiffy: u64, count: u64, ahead: u64) {
        let cwnd = self.cwnd;
        if let Some((.., delivered)) = &mut self.epoch {
            *delivered += count;
        }
        if self.at.0 == cwnd && jiffy - self.at.1 <= 7 {
            return;
        }
        if self.epoch.is_none() || jiffy != self.at.1 {
            self.at = (cwnd, jiffy);
            let (start, origin, k, ..) = *self.epoch.get_or_insert_with(|| {
                let k = if self.last_max > cwnd {
                    let product = (1u64 << 40) / 410 * (self.last_max - cwnd);
                    cbrt(to_f64(product))
                } else {
                    0.0
                };
                (jiffy, self.last_max.max(cwnd), k.floor(), cwnd, count)
            });
            let t = to_f64((jiffy - start + ahead) * 1024 / 250);
            let away = (t - k).abs();
            let distance = (410.0 * away * away * away / to_f64(1 << 40)).floor();
            let target = to_f64(origin) + distance.copysign(t - k);
            let more = target - to_f64(cwnd);
            self.cnt = if more > 0.0 {
                cwnd / floor_u64(more)
            } else {
                100 * cwnd
            };
            if self.last_max == 0 {
                self.cnt = self.cnt.min(20);
            }
        }
        let (.., reno, delivered) = self.epoch.as_mut().unwrap();
        while *delivered > cwnd * 15 / 8 {
            *delivered -= cwnd * 15 / 8;
            *reno += 1;
        }
        if *reno > cwnd {
            self.cnt = self.cnt.min(cwnd / (*reno - cwnd));
        }
        self.cnt = self.cnt.max(2);
    }

    fn cut(&mut self, timeout: bool) {
        let cwnd = self.cwnd;
        self.last_max = if cwnd < self.last_max {
            cwnd * (1024 + 717) / 2048
        } else {
            cwnd
        };
        let ssthresh = (cwnd * 717 / 1024).max(2);
        (self.ssthresh, self.credit, self.epoch) = (Some(ssthresh), 0, None);
        self.cwnd = ssthresh;
        if timeout {
            (self.cwnd, self.last_max, self.cnt, self.at) = (1, 0, 0, (0, 0));
        }
    }
}

/// Deliveries of some segments each, this many ms apart, and then a cut, by a timeout or not.
fn stages() -> impl Strategy<Value = Vec<(u16, u8, u8, bool)>> {
    proptest::collection::vec(
        (1u16..400, 1u8..4, 0u8..120, prop::bool::weighted(0.2)),
        1..12,
    )
}

proptest! {
    /// Our control and the reference have the same windows, all whole, with `cnt` in its range.
    #[test]
    fn windows_are_those_of_the_reference(stages in stages(), rtt in 1u64..600) {
        let mut cc = start("cubic:hystart=off");
        let mut reference = Reference { cwnd: 10, ..Reference::default() };
        // The reference knows one RTT; ours forgets it with a timeout, and takes none within 1 s of growth.
        cc.slow_start.observe(&ack(0, 1, rtt * 1_000_000), &cc.window);
        let mut millis = 1000;
        for (acks, count, apart, timeout) in stages {
            for _ in 0..acks {
                millis += u64::from(apart);
                let ack = ack(millis * 1_000_000, count.into(), rtt * 1_000_000);
                cc.observe(&ack);
                cc.on_ack(&ack);
                reference.on_ack(millis, count.into(), rtt);
                prop_assert_eq!(cc.cwnd(), reference.cwnd);
                prop_assert!(cc.window.cwnd.fract() == 0.0 && cc.window.cwnd >= 1.0);
                let after_first = cc.window.in_slow_start() || cc.last_max > 0 || cc.cnt <= FIRST_CNT;
                prop_assert!(cc.epoch.is_none() || (cc.cnt >= LEAST_CNT && after_first), "{:?}", cc);
            }
            let cause = if timeout { Cause::Timeout } else { Cause::FastRetransmit };
            let in_flight = cc.cwnd();
            cut(&mut cc, millis * 1_000_000, in_flight, cause);
            reference.cut(timeout);
            prop_assert_eq!(cc.window.ssthresh, reference.ssthresh.map(to_f64));
            prop_assert!(cc.window.cwnd.fract() == 0.0);
        }
    }

    /// The cube root is that of the definition.
    #[test]
    fn cube_roots_are_exact(x in 0u128..1 << 72) {
        let root = u128::from(cube_root(x));
        prop_assert!(root.pow(3) <= x && x < (root + 1).pow(3));
    }
}

#[test]
fn a_timeout_makes_everything_begin_anew_also_if_it_was_spurious() {
    let grown = || {
        let mut cc = start("cubic");
        cut(&mut cc, 0, 10, Cause::FastRetransmit);
        for number in 1..100 {
            let ack = ack(number * 50_000_000, 1, 40_000_000);
            cc.observe(&ack);
            cc.on_ack(&ack);
        }
        assert!(cc.last_max == 10 && cc.slow_start.delay_min().is_some() && cc.epoch.is_some());
        cc
    };
    let mut timed_out = grown();
    let cwnd = timed_out.cwnd();
    cut(&mut timed_out, 5_000_000_000, cwnd, Cause::Timeout);
    let mut undone = grown();
    undone.on_undo();
    assert_eq!((timed_out.cwnd(), undone.cwnd()), (1, cwnd));
    assert_eq!(undone.window.ssthresh, Some(7.0));
    for cc in [timed_out, undone] {
        assert_eq!((cc.last_max, cc.slow_start.delay_min()), (0, None));
        assert!(cc.epoch.is_none());
    }
}

#[test]
fn a_repeated_timeout_keeps_the_threshold() {
    let mut cc = start("cubic");
    cut(&mut cc, 0, 10, Cause::Timeout);
    cut(&mut cc, 1, 1, Cause::RepeatedTimeout);
    assert_eq!((cc.cwnd(), cc.window.ssthresh), (1, Some(7.0)));
}

#[test]
fn beta_and_c_keep_their_meaning() {
    for (text, threshold) in [
        ("cubic", 700.0),
        ("cubic:beta=0.8", 799.0),
        ("cubic:beta=0.5", 500.0),
    ] {
        let mut cc = start(text);
        cc.window.cwnd = 1000.0;
        cut(&mut cc, 0, 1000, Cause::FastRetransmit);
        // 717, 819 and 512 of 1024.
        assert_eq!(cc.window.ssthresh, Some(threshold), "{text}");
    }
    // W_max 1000, beta 0.7: the plateau comes after cbrt(300/c) seconds, in 1/1024 s.
    for (text, c) in [("cubic", 0.4), ("cubic:c=4", 4.0), ("cubic:c=0.01", 0.01)] {
        let mut cc = start(text);
        cc.window.cwnd = 1000.0;
        cut(&mut cc, 0, 1000, Cause::FastRetransmit);
        cc.on_ack(&ack(1_000_000, 1, 100_000_000));
        let expected = 1024.0 * cbrt(300.0 / c);
        let k = to_f64(cc.epoch.unwrap().k);
        assert!(
            (k / expected - 1.0).abs() < 0.01,
            "{text}: {k} for {expected}"
        );
    }
}

#[test]
fn the_window_stays_finite_after_ten_days_without_a_loss() {
    let mut cc = start("cubic");
    cut(&mut cc, 0, 100, Cause::FastRetransmit);
    cc.on_ack(&ack(0, 1, 1));
    cc.on_ack(&ack(10 * 86_400 * 1_000_000_000, 1, 1));
    assert!(cc.window.cwnd < 72.0, "{}", cc.window.cwnd);
}

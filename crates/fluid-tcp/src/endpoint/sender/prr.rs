//! Proportional rate reduction (RFC 6937, Sec. 3; RFC 9937, Sec. 6).
//!
//! Where pipe is below ssthresh, RFC 6937 always allows a packet more than was delivered. RFC 9937 does so only for an
//! ACK that advances the left edge and reveals no further loss (`SafeACK`). It also sets a window, so that packets
//! marked lost between ACKs make room, as in Linux (`tcp_cwnd_reduction`).

/// State of PRR during one recovery, in packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    /// `RecoverFS`: packets outstanding when recovery began; Linux: cwnd (`prior_cwnd`).
    recover_fs: u64,
    /// `prr_delivered` and `prr_out`: packets delivered and sent since then.
    delivered: u64,
    out: u64,
    /// Packets that may still be sent in response to the last ACK.
    sndcnt: u64,
    /// With RFC 9937: pipe up to which packets may be sent, instead of `sndcnt`.
    window: Option<u64>,
}

/// Report of an ACK to PRR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Progress {
    /// Packets newly reported as arrived.
    pub(super) delivered: u64,
    /// Whether the ACK acknowledges new data and reveals no further loss.
    pub(super) is_safe: bool,
}

impl Progress {
    /// Nothing has arrived.
    pub(super) const NONE: Self = Self {
        delivered: 0,
        is_safe: false,
    };
}

impl Prr {
    pub(super) fn begin(recover_fs: u64) -> Self {
        Self {
            recover_fs: recover_fs.max(1),
            ..Self::default()
        }
    }

    /// Processes an ACK with `pipe` packets left in the network (RFC 6937).
    pub(super) fn on_ack(&mut self, progress: Progress, pipe: u64, ssthresh: u64) {
        let always_safe = Progress {
            is_safe: true,
            ..progress
        };
        self.sndcnt = self.sndcnt(always_safe, pipe, ssthresh);
    }

    /// Processes an ACK with `pipe` packets left in the network (RFC 9937).
    pub(super) fn on_ack_9937(&mut self, progress: Progress, pipe: u64, ssthresh: u64) {
        if progress.delivered > 0 {
            let sndcnt = self.sndcnt(progress, pipe, ssthresh);
            // The fast retransmit that begins a recovery.
            let least = u64::from(self.out == 0);
            self.window = Some(pipe + sndcnt.max(least));
        }
    }

    /// `sndcnt`: packets that may be sent in response to an ACK.
    fn sndcnt(&mut self, progress: Progress, pipe: u64, ssthresh: u64) -> u64 {
        self.delivered += progress.delivered;
        if pipe > ssthresh {
            // Proportional part: pipe reaches ssthresh when `RecoverFS` packets have been delivered.
            return self.share(ssthresh).saturating_sub(self.out);
        }
        let bound = self.delivered.saturating_sub(self.out);
        let bound = bound.max(progress.delivered) + u64::from(progress.is_safe);
        (ssthresh - pipe).min(bound)
    }

    /// ⌈`prr_delivered` · ssthresh / `RecoverFS`⌉. A division of 128 bits would take longer than all the rest.
    #[inline]
    fn share(&self, ssthresh: u64) -> u64 {
        match self.delivered.checked_mul(ssthresh) {
            Some(product) => product.div_ceil(self.recover_fs),
            None => self.wide_share(ssthresh),
        }
    }

    #[cold]
    fn wide_share(&self, ssthresh: u64) -> u64 {
        let product = u128::from(self.delivered) * u128::from(ssthresh);
        let share = product.div_ceil(u128::from(self.recover_fs));
        u64::try_from(share).unwrap_or(u64::MAX)
    }

    /// Allows at least one packet: for the fast retransmit that begins a recovery, or if pipe is empty.
    pub(super) fn allow_at_least_one(&mut self, pipe: u64) {
        self.sndcnt = self.sndcnt.max(1);
        self.window = self.window.map(|window| window.max(pipe + 1));
    }

    /// Whether a packet may be sent with `pipe` packets in the network.
    pub(super) fn allows(&self, pipe: u64) -> bool {
        self.window.map_or(self.sndcnt > 0, |window| pipe < window)
    }

    pub(super) fn on_sent(&mut self) {
        self.out += 1;
        self.sndcnt = self.sndcnt.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_share_is_the_same_in_64_and_128_bits(
            delivered in prop_oneof![0u64..100_000, any::<u64>()],
            ssthresh in prop_oneof![0u64..100_000, any::<u64>()],
            recover_fs in prop_oneof![1u64..100_000, 1..u64::MAX],
        ) {
            let prr = Prr { delivered, ..Prr::begin(recover_fs) };
            prop_assert_eq!(prr.share(ssthresh), prr.wide_share(ssthresh));
        }
    }

    fn delivers(delivered: u64) -> Progress {
        Progress {
            delivered,
            is_safe: false,
        }
    }

    #[test]
    fn a_window_of_twenty_is_halved_by_sending_one_packet_per_two_delivered() {
        // Like the example in RFC 6937, Sec. 3.1: 20 outstanding, one lost, ssthresh 10.
        let mut prr = Prr::begin(20);
        let mut pipe = 17;
        prr.on_ack(delivers(3), pipe, 10);
        prr.allow_at_least_one(pipe);
        let mut sent = Vec::new();
        for _ in 0..16 {
            let mut count = 0;
            while prr.allows(pipe) {
                prr.on_sent();
                pipe += 1;
                count += 1;
            }
            sent.push(count);
            pipe -= 1;
            prr.on_ack(delivers(1), pipe, 10);
        }
        // 18 of 20 are delivered, so ⌈18 · 10/20⌉ are sent, and pipe is down to ssthresh.
        assert_eq!((sent.iter().sum::<i32>(), pipe), (9, 10), "{sent:?}");
        assert!(sent[1..].iter().all(|count| *count <= 1), "{sent:?}");
    }

    #[test]
    fn below_ssthresh_pipe_grows_no_faster_than_in_slow_start() {
        let mut prr = Prr::begin(20);
        prr.on_ack(delivers(1), 3, 10);
        // prr_delivered − prr_out = 1, so at most two packets per ACK.
        assert_eq!(prr.sndcnt, 2);
    }

    #[test]
    fn the_extra_segment_of_rfc_9937_needs_progress_without_a_further_loss() {
        // Sec. 6: below ssthresh, max(prr_delivered − prr_out, DeliveredData), and one more if the ACK is safe.
        for (is_safe, expected) in [(false, 2), (true, 3)] {
            let mut prr = Prr::begin(20);
            let progress = Progress {
                delivered: 2,
                is_safe,
            };
            prr.on_ack_9937(progress, 3, 10);
            assert_eq!(prr.window, Some(3 + expected));
        }
    }

    #[test]
    fn what_is_marked_lost_between_acks_makes_room_with_rfc_9937() {
        let mut prr = Prr::begin(20);
        prr.on_ack_9937(delivers(1), 17, 10);
        // The fast retransmit, and no more: ⌈1 · 10/20⌉ − 0 = 1.
        assert!(prr.allows(17) && !prr.allows(18));
        prr.on_sent();
        // An ACK that delivers nothing changes nothing; a timer marks two of the 18 lost.
        prr.on_ack_9937(Progress::NONE, 16, 10);
        assert!(prr.allows(17) && !prr.allows(18));
        // ⌈2 · 10/20⌉ − 1 = 0.
        prr.on_ack_9937(delivers(1), 15, 10);
        assert!(!prr.allows(15));
    }
}

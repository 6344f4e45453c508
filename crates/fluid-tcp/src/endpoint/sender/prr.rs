//! Proportional rate reduction with the slow-start reduction bound (RFC 6937, Sec. 3).

/// State of PRR during one recovery, in packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Prr {
    /// `RecoverFS`: packets outstanding when recovery began.
    recover_fs: u64,
    /// `prr_delivered` and `prr_out`: packets delivered and sent since then.
    delivered: u64,
    out: u64,
    /// Packets that may still be sent in response to the last ACK.
    sndcnt: u64,
}

impl Prr {
    pub(super) fn begin(recover_fs: u64) -> Self {
        Self {
            recover_fs: recover_fs.max(1),
            ..Self::default()
        }
    }

    /// Processes an ACK that newly reports `delivered` packets as arrived, with `pipe` packets left in the network.
    pub(super) fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64) {
        self.delivered += delivered;
        self.sndcnt = if pipe > ssthresh {
            // Proportional part: pipe reaches ssthresh when `RecoverFS` packets have been delivered.
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let share = share.div_ceil(u128::from(self.recover_fs));
            u64::try_from(share)
                .unwrap_or(u64::MAX)
                .saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(delivered) + 1;
            (ssthresh - pipe).min(bound)
        };
    }

    /// Allows at least one packet: for the fast retransmit that begins a recovery, or if pipe is empty.
    pub(super) fn allow_at_least_one(&mut self) {
        self.sndcnt = self.sndcnt.max(1);
    }

    pub(super) fn allows(&self) -> bool {
        self.sndcnt > 0
    }

    pub(super) fn on_sent(&mut self) {
        self.out += 1;
        self.sndcnt = self.sndcnt.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_twenty_is_halved_by_sending_one_packet_per_two_delivered() {
        // Like the example in RFC 6937, Sec. 3.1: 20 outstanding, one lost, ssthresh 10.
        let mut prr = Prr::begin(20);
        let mut pipe = 17;
        prr.on_ack(3, pipe, 10);
        prr.allow_at_least_one();
        let mut sent = Vec::new();
        for _ in 0..16 {
            let mut count = 0;
            while prr.allows() {
                prr.on_sent();
                pipe += 1;
                count += 1;
            }
            sent.push(count);
            pipe -= 1;
            prr.on_ack(1, pipe, 10);
        }
        // 18 of 20 are delivered, so ⌈18 · 10/20⌉ are sent, and pipe is down to ssthresh.
        assert_eq!((sent.iter().sum::<i32>(), pipe), (9, 10), "{sent:?}");
        assert!(sent[1..].iter().all(|count| *count <= 1), "{sent:?}");
    }

    #[test]
    fn below_ssthresh_pipe_grows_no_faster_than_in_slow_start() {
        let mut prr = Prr::begin(20);
        prr.on_ack(1, 3, 10);
        // prr_delivered − prr_out = 1, so at most two packets per ACK.
        assert_eq!(prr.sndcnt, 2);
    }
}

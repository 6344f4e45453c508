//! Window that a receiver advertises while its buffer grows, as in Linux.
//!
//! The buffer begins small. Once a round trip the receiver compares what the application has read in it with the largest
//! such amount so far. If it is more, the buffer gets room for what a sender in slow start may send in the round trip
//! after next (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow` of Linux 6.18). The advertised window follows by two segments
//! per packet received (`tcp_grow_window`). It begins below the room there is: until packets show what share of their
//! memory is payload, Linux assumes half.
//!
//! Packets above a gap take room until it is filled; what was once allowed stays so (RFC 9293, Sec. 3.8.6.2.1).
//!
//! All packets of one instant count as one read: those that a link delivers together after a stop belong to the round trip that ends
//! with them.
//!
//! Named deviations: the application reads without a delay; the round trip is the sender's smoothed one.

use tmt_core::types::{Span, Time};

use crate::endpoint::Endpoint;

/// Share of a buffer that Linux assumes to hold payload at first (`TCP_DEFAULT_SCALING_RATIO`), and the share that packets of
/// 1500 B show (`scaling_ratio`), in 1/256.
const ASSUMED: u64 = 128;
const MEASURED: u64 = 157;

/// Segments by which the advertised window grows per packet received.
const GROWTH: u64 = 2;

/// Window and buffer of a receiver, in packets.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveWindow {
    /// `rcv_ssthresh`: window that is advertised.
    advertised: u64,
    /// `window_clamp`: window for which the buffer has room.
    room: u64,
    largest: u64,
    /// `rcvq_space`: packets read in the best round trip so far; packets read when the current one began, and when.
    best_round: u64,
    read: u64,
    round_began: Time,
    /// `best_round` and `read` at the beginning of the round trip that ended last; `None` before one has ended.
    before: Option<(u64, u64)>,
    /// Packets below it may be sent.
    right_edge: u64,
}

impl ReceiveWindow {
    /// The window of a new connection; `None` if it is constant.
    pub(super) fn of(endpoint: &Endpoint) -> Option<Self> {
        let largest = endpoint.receiver_window()?;
        let room = endpoint.first_rwnd.min(largest);
        let is_constant = room == largest && !endpoint.quick_while_growing;
        let advertised = room / MEASURED * ASSUMED + room % MEASURED * ASSUMED / MEASURED;
        let advertised = advertised.max(1);
        (!is_constant).then_some(Self {
            advertised,
            right_edge: advertised,
            room,
            largest,
            best_round: u64::from(endpoint.initial_window).min(room),
            read: 0,
            round_began: Time::ZERO,
            before: None,
        })
    }

    pub(super) fn advertised(&self) -> u64 {
        self.advertised
    }

    /// Returns the window to advertise from packet `next` on, with `held` packets above a gap.
    pub(super) fn advertise_from(&mut self, next: u64, held: u64) -> u64 {
        let free = self.advertised.min(self.room.saturating_sub(held));
        self.right_edge = self.right_edge.max(next + free);
        self.right_edge - next
    }

    /// Opens the window for a packet that has arrived. Returns whether it could.
    pub(super) fn on_packet(&mut self) -> bool {
        let opens = self.advertised < self.room;
        self.advertised = self.room.min(self.advertised + GROWTH);
        opens
    }

    /// Enlarges the buffer if the application has read more in a round trip than in any before. `read` packets have been
    /// read by `now`, and `above` lie between the first gap and the highest packet.
    #[inline]
    pub(super) fn on_read(
        &mut self,
        now: Time,
        rtt: Option<Span>,
        read: u64,
        above: impl FnOnce() -> u64,
    ) {
        if self.room == self.largest {
            return;
        }
        if self.round_began != now {
            if rtt.is_none_or(|rtt| now.since(self.round_began) < rtt) {
                return;
            }
            self.before = Some((self.best_round, self.read));
            self.round_began = now;
        }
        let Some((best, began)) = self.before else {
            return;
        };
        let copied = read - began;
        if copied > best {
            let twice = copied.saturating_mul(2);
            // Growth by a share of itself; in slow start the share is 1.
            let growth = twice.saturating_mul(copied - best);
            let more = growth / best.max(1);
            let wanted = twice
                .saturating_add(more.saturating_mul(2))
                .saturating_add(above());
            self.room = self.room.max(wanted.min(self.largest));
            self.best_round = copied;
        }
        self.read = read;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::endpoint::Profile;

    fn window(first_rwnd: u64, rwnd: u64) -> Option<ReceiveWindow> {
        ReceiveWindow::of(&Endpoint {
            rwnd,
            first_rwnd,
            ..Profile::Linux.endpoint()
        })
    }

    #[test]
    fn the_window_is_that_of_a_linux_host_in_slow_start() {
        // Linux 6.18, tcp_rmem 4096 131072 6291456, RTT 100 ms, 50 Mbit/s, a transfer of 4 MB: TCP_INFO has snd_wnd
        // 80 512, 151 296, 346 112 and 693 632 B after 20, 40, 80 and 160 packets per round trip. The second is still
        // growing when it is read.
        let mut window = window(55, 13_000).unwrap();
        let rtt = Span::from_millis(100);
        let mut now = Time::ZERO;
        let (mut read, mut seen) = (0, Vec::new());
        for round in [10, 20, 40, 80] {
            now = now.saturating_add(rtt);
            for _ in 0..round {
                window.on_packet();
            }
            read += round;
            window.on_read(now, Some(rtt), read, || 0);
            seen.push(window.room);
        }
        assert_eq!(seen, [55, 120, 240, 480]);
        let measured = [80_512, 346_112, 693_632].map(|bytes| bytes / 1448);
        for (packets, expected) in [seen[0], seen[2], seen[3]].into_iter().zip(measured) {
            assert!(packets.abs_diff(expected) <= 1, "{packets} {expected}");
        }
    }

    #[test]
    fn what_arrives_at_one_instant_is_read_at_once() {
        // Ten packets, then a stop of 500 ms after which ninety come together.
        let (begun, at) = [100, 600]
            .map(|millis| Time::ZERO.saturating_add(Span::from_millis(millis)))
            .into();
        let rooms = [1, 90].map(|step| {
            let mut window = window(55, 13_000).unwrap();
            let rtt = Some(Span::from_millis(100));
            window.on_read(begun, rtt, 10, || 0);
            (10 + step..=100)
                .step_by(usize::try_from(step).unwrap())
                .for_each(|read| window.on_read(at, rtt, read, || 0));
            (window.room, window.best_round)
        });
        // Twice what was read, and twice that again for each of the eight times by which it exceeds the first ten.
        assert_eq!(rooms, [(2 * 90 + 2 * 2 * 90 * 8, 90); 2]);
    }

    #[test]
    fn packets_above_a_gap_take_room_and_the_right_edge_never_moves_back() {
        let mut window = window(100, 100).unwrap();
        (0..100).for_each(|_| {
            window.on_packet();
        });
        assert_eq!(window.advertise_from(50, 0), 100);
        // Sixty packets above a gap at 60: 40 are free, but 100 were allowed from 50 on.
        assert_eq!(window.advertise_from(60, 60), 90);
        assert_eq!(window.advertise_from(120, 60), 40);
        assert_eq!(window.advertise_from(180, 0), 100);
    }

    #[test]
    fn a_window_opens_by_two_segments_a_packet_up_to_its_room() {
        // 65 160 B are advertised of a buffer of 128 KiB, and 4 196 352 B of one of 8 MiB, in packets of 1448 B.
        for (room, measured) in [(55, 65_160), (3553, 4_196_352)] {
            let first = window(room, 13_000).unwrap().advertised();
            assert!(first.abs_diff(measured / 1448) <= 2, "{first}");
        }
        let mut window = window(55, 13_000).unwrap();
        let opened: Vec<(bool, u64)> = (0..7)
            .map(|_| (window.on_packet(), window.advertised()))
            .collect();
        let expected = [46, 48, 50, 52, 54, 55].map(|packets| (true, packets));
        assert_eq!(opened[..6], expected);
        assert_eq!(opened[6], (false, 55));
    }

    #[test]
    fn the_buffer_does_not_outgrow_its_largest_size_nor_grow_without_need() {
        let mut window = window(55, 100).unwrap();
        let at = |millis| Time::ZERO.saturating_add(Span::from_millis(millis));
        let rtt = Some(Span::from_millis(100));
        window.on_read(at(50), rtt, 40, || 0);
        window.on_read(at(100), None, 40, || 0);
        window.on_read(at(100), rtt, 10, || 0);
        assert_eq!(window.room, 55);
        window.on_read(at(200), rtt, 50, || 0);
        assert_eq!(window.room, 100);
    }

    #[test]
    fn a_window_without_limit_or_with_nothing_to_enlarge_is_constant() {
        assert!(window(u64::MAX, 1 << 40).is_none());
        let quick = window(100, 100).unwrap();
        assert_eq!((quick.advertised(), quick.room), (81, 100));
        let endpoint = Endpoint {
            rwnd: 100,
            ..Profile::Rfc.endpoint()
        };
        assert!(ReceiveWindow::of(&endpoint).is_none());
    }
}

//! Captures of every kind, written by hand, and what follows from pairs of them.

use etherparse::PacketBuilder;
use proptest::prelude::*;

use super::super::testing::{Converted, Inputs, refusal, try_convert};
use super::*;

/// How a capture is written.
#[derive(Debug, Clone, Copy)]
struct Form {
    /// pcapng, or pcap.
    ng: bool,
    nanos: bool,
    big: bool,
    /// 1: Ethernet; 101: raw IP; 113: Linux cooked.
    link: u32,
    /// Most bytes stored of a packet.
    snaplen: usize,
}

const PLAIN: Form = Form {
    ng: false,
    nanos: true,
    big: false,
    link: 101,
    snaplen: 65_535,
};

impl Form {
    fn words(self, words: &[u32]) -> Vec<u8> {
        let bytes = |word: &u32| {
            if self.big {
                word.to_be_bytes()
            } else {
                word.to_le_bytes()
            }
        };
        words.iter().flat_map(bytes).collect()
    }

    fn half(self, half: u16) -> [u8; 2] {
        if self.big {
            half.to_be_bytes()
        } else {
            half.to_le_bytes()
        }
    }

    /// A block of pcapng.
    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let mut padded = body.to_vec();
        padded.resize(body.len().next_multiple_of(4), 0);
        let length = u32::try_from(padded.len() + 12).unwrap();
        [self.words(&[kind, length]), padded, self.words(&[length])].concat()
    }

    /// A capture of packets of IP, each with its time in ns.
    fn capture(self, packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
        let resolution = if self.nanos { 9_u8 } else { 6 };
        let per_second = 10_u64.pow(resolution.into());
        let mut file = if self.ng {
            let section = [
                self.words(&[0x1a2b_3c4d]),
                self.half(1).into(),
                self.half(0).into(),
                vec![0xff; 8],
            ]
            .concat();
            // if_tsresol, padded, and the end of the options.
            let option = [
                &self.half(9)[..],
                &self.half(1),
                &[resolution, 0, 0, 0],
                &[0; 4],
            ]
            .concat();
            let link = u16::try_from(self.link).unwrap();
            let interface = [&self.half(link)[..], &[0, 0], &self.words(&[0]), &option].concat();
            [self.block(0x0a0d_0d0a, &section), self.block(1, &interface)].concat()
        } else {
            let magic = if self.nanos { 0xa1b2_3c4d } else { 0xa1b2_c3d4 };
            let versions = [self.half(2), self.half(4)].concat();
            [
                self.words(&[magic]),
                versions,
                self.words(&[0, 0, 65_535, self.link]),
            ]
            .concat()
        };
        for (at, packet) in packets {
            let before: Vec<u8> = match self.link {
                1 => [&[0; 12][..], &[8, 0]].concat(),
                113 => [&[0; 14][..], &[8, 0]].concat(),
                _ => Vec::new(),
            };
            let bytes = [before, packet.clone()].concat();
            let kept = &bytes[..bytes.len().min(self.snaplen)];
            let [kept_length, length] =
                [kept.len(), bytes.len()].map(|it| u32::try_from(it).unwrap());
            let units = u128::from(*at) * u128::from(per_second) / 1_000_000_000;
            let units = u64::try_from(units).unwrap();
            file.extend(if self.ng {
                let (high, low) = (units >> 32, units & 0xffff_ffff);
                let head = [0, low32(high), low32(low), kept_length, length];
                self.block(6, &[self.words(&head), kept.to_vec()].concat())
            } else {
                let time = [low32(units / per_second), low32(units % per_second)];
                [
                    self.words(&time),
                    self.words(&[kept_length, length]),
                    kept.to_vec(),
                ]
                .concat()
            });
        }
        file
    }
}

fn low32(number: u64) -> u32 {
    u32::try_from(number).unwrap()
}

/// A datagram with this number in its payload.
fn udp(port: u16, number: u64, length: usize) -> Vec<u8> {
    let mut payload = number.to_be_bytes().to_vec();
    payload.resize(length, 0);
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64).udp(5000, port);
    builder.write(&mut packet, &payload).unwrap();
    packet
}

fn tcp(seq: u32, payload: usize) -> Vec<u8> {
    let mut packet = Vec::new();
    let builder = PacketBuilder::ipv6([1; 16], [2; 16], 64)
        .tcp(5000, 80, seq, 1000)
        .ack(1);
    builder.write(&mut packet, &vec![0; payload]).unwrap();
    packet
}

const BOTH: [(&str, &str); 2] = [(SENDER, "a"), (RECEIVER, "b")];

fn pair(sender: Vec<u8>, receiver: Vec<u8>) -> Inputs {
    Inputs {
        files: vec![(SENDER, sender), (RECEIVER, receiver)],
        can_reopen: true,
    }
}

fn convert(sender: Vec<u8>, receiver: Vec<u8>, keys: &[(&'static str, &str)]) -> Converted {
    let keys = [&BOTH, keys].concat();
    try_convert(&FORMAT, pair(sender, receiver), &keys).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(sender: Vec<u8>, receiver: Vec<u8>, keys: &[(&'static str, &str)]) -> String {
    refusal(&FORMAT, pair(sender, receiver), &[&BOTH, keys].concat())
}

const MS: u64 = 1_000_000;
/// 2024-01-01.
const EPOCH: u64 = 1_704_067_200_000_000_000;

/// Packets 10 ms apart, and of each when it arrives after how many ms; 0 means lost.
fn both(form: [Form; 2], delays: &[u64]) -> [Vec<u8>; 2] {
    let at = |number: u64| EPOCH + number * 10 * MS;
    let sent: Vec<_> = (0..)
        .zip(delays)
        .map(|(n, _)| (at(n), udp(6000, n, 100)))
        .collect();
    let arrivals = (0..).zip(delays).filter(|(_, delay)| **delay > 0);
    let mut arrivals: Vec<_> = arrivals
        .map(|(n, delay)| (at(n) + delay * MS, udp(6000, n, 100)))
        .collect();
    arrivals.sort_by_key(|arrival| arrival.0);
    [form[0].capture(&sent), form[1].capture(&arrivals)]
}

fn forms() -> impl Strategy<Value = Form> {
    let links = prop::sample::select(vec![1, 101, 113]);
    (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        links,
        80_usize..200,
    )
        .prop_map(|(ng, nanos, big, link, snaplen)| Form {
            ng,
            nanos,
            big,
            link,
            snaplen,
        })
}

proptest! {
    #[test]
    fn any_two_captures_give_the_losses_and_delays_that_they_hold(
        sender in forms(),
        receiver in forms(),
        delays in prop::collection::vec(prop_oneof![Just(0_u64), 1_u64..90], 1..80),
    ) {
        prop_assume!(delays.iter().any(|delay| *delay > 0));
        let [sent, received] = both([sender, receiver], &delays);
        let found = convert(sent, received, &[("propagation", "0s")]);
        let expected: Vec<_> = (0..).zip(&delays).map(|(n, delay)| (n * 10 * MS, delay * MS)).collect();
        prop_assert_eq!(&found.slots, &expected);
        // A packet is reordered if one that was sent later arrived earlier; those of one time stay in order.
        let arrivals = (0..).zip(&delays).filter(|(_, delay)| **delay > 0);
        let arrivals: Vec<u64> = arrivals.map(|(n, delay): (u64, _)| n * 10 + delay).collect();
        let mut reordered = 0;
        for (place, arrival) in arrivals.iter().enumerate() {
            reordered += u64::from(arrivals[..place].iter().any(|earlier| earlier > arrival));
        }
        prop_assert_eq!(found.count("received-reordered"), reordered);
        prop_assert_eq!(found.count("received-again") + found.count("received-only"), 0);
    }

    #[test]
    fn a_capture_that_is_cut_is_refused_with_what_was_read(form in forms(), part in 0_usize..100) {
        let [sent, received] = both([form; 2], &[5, 5, 5]);
        let whole = [form.capture(&[]).len(), sent.len()];
        let packet = (whole[1] - whole[0]) / 3;
        let at = sent.len() * part / 100;
        let is_whole = at >= whole[0] && (at - whole[0]).is_multiple_of(packet) && at > whole[0];
        prop_assume!(!is_whole);
        let words = refused(sent[..at].to_vec(), received, &[]);
        if at > whole[0] {
            let read = (at - whole[0]) / packet;
            prop_assert!(words.contains(&format!("after {read} whole packets, at byte")), "{}", words);
        }
    }
}

#[test]
fn the_largest_flow_is_taken_and_reported_and_another_can_be_chosen() {
    let mut packets = vec![(EPOCH, udp(53, 0, 20))];
    packets.extend((1..6).map(|n| (EPOCH + n * MS, udp(6000, n, 100))));
    packets.push((EPOCH + 6 * MS, udp(53, 1, 20)));
    let file = PLAIN.capture(&packets);
    let later: Vec<_> = packets
        .iter()
        .map(|(at, packet)| (at + 2 * MS, packet.clone()))
        .collect();
    let received = PLAIN.capture(&later);
    let largest = convert(file.clone(), received.clone(), &[]);
    assert_eq!(largest.slots.len(), 5);
    let said = &largest.remarks[0].text;
    assert!(
        said.contains("flow udp 10.0.0.1:5000 > 10.0.0.2:6000, 5 packets"),
        "{said}"
    );
    assert!(
        said.contains("others: 2: udp 10.0.0.1:5000 > 10.0.0.2:53, 2 packets, 96 B (`flow`)"),
        "{said}"
    );
    let other = convert(file.clone(), received.clone(), &[(FLOW, "2")]);
    assert_eq!(other.slots, [(0, 1), (6 * MS, 1)]);
    assert_eq!(other.head.get("propagation_removed_ns"), Some("2000000"));
    let words = refused(file, received, &[(FLOW, "3")]);
    assert!(
        words.contains("`flow` 3: the sender's capture has 2 flows (1: udp"),
        "{words}"
    );
}

#[test]
fn clocks_that_differ_are_aligned_and_told() {
    let [sent, _] = both([PLAIN; 2], &[1, 1, 1]);
    let arrivals = [3_u64, 8, 5].map(|late| EPOCH - 100 * MS + late * MS);
    let packets: Vec<_> = (0..)
        .zip(arrivals)
        .map(|(n, at)| (at + n * 10 * MS, udp(6000, n, 100)))
        .collect();
    let found = convert(sent, PLAIN.capture(&packets), &[]);
    assert_eq!(found.delays(), [1, 5 * MS, 2 * MS]);
    assert_eq!(found.count("clocks-aligned"), 1);
    assert_eq!(found.head.get("rtt_ns"), None);
}

#[test]
fn copies_and_strangers_at_the_receiver_are_counted_and_ignored() {
    let sent: Vec<_> = (0..4)
        .map(|n| (EPOCH + n * 10 * MS, udp(6000, n, 100)))
        .collect();
    let mut received: Vec<_> = sent
        .iter()
        .map(|(at, packet)| (at + 3 * MS, packet.clone()))
        .collect();
    received.insert(2, (EPOCH + 14 * MS, udp(6000, 1, 100)));
    received.push((EPOCH + 50 * MS, udp(6000, 77, 100)));
    let found = convert(
        PLAIN.capture(&sent),
        PLAIN.capture(&received),
        &[("propagation", "0s")],
    );
    assert_eq!(found.delays(), [3 * MS; 4]);
    assert_eq!(
        (found.count("received-again"), found.count("received-only")),
        (1, 1)
    );
}

#[test]
fn retransmissions_without_marks_are_told_apart_by_their_delay() {
    // Segment 1 is lost and sent again; segment 2 is sent again as well, and arrives twice.
    let at = |ms: u64, seq: u32| (EPOCH + ms * MS, tcp(seq, 100));
    let sent = [
        at(0, 0),
        at(10, 100),
        at(20, 200),
        at(200, 100),
        at(210, 200),
        at(220, 300),
    ];
    let received = [
        at(25, 0),
        at(45, 200),
        at(225, 100),
        at(235, 200),
        at(245, 300),
    ];
    let found = convert(
        PLAIN.capture(&sent),
        PLAIN.capture(&received),
        &[("propagation", "0s")],
    );
    assert_eq!(found.delays(), [25, 0, 25, 25, 25, 25].map(|ms| ms * MS));
    assert!(found.count("packets-alike") > 0);
}

#[test]
fn segments_without_payload_are_left_out_unless_the_flow_has_no_others() {
    let acks: Vec<_> = (0..3).map(|n| (EPOCH + n * MS, tcp(1, 0))).collect();
    let mut sent = acks.clone();
    sent.push((EPOCH + 5 * MS, tcp(1, 100)));
    let later = |packets: &[(u64, Vec<u8>)]| -> Vec<_> {
        packets
            .iter()
            .map(|(at, packet)| (at + MS, packet.clone()))
            .collect()
    };
    let found = convert(PLAIN.capture(&sent), PLAIN.capture(&later(&sent)), &[]);
    assert_eq!(
        (found.slots.len(), found.count("segments-without-payload")),
        (1, 3)
    );
    let found = convert(PLAIN.capture(&acks), PLAIN.capture(&later(&acks)), &[]);
    assert_eq!(
        (found.slots.len(), found.count("segments-without-payload")),
        (3, 0)
    );
}

#[test]
fn what_is_no_pair_of_captures_is_refused() {
    let [sent, received] = both([PLAIN; 2], &[5, 5, 5]);
    let wifi = Form { link: 105, ..PLAIN }.capture(&[(EPOCH, vec![0; 40])]);
    let arp = Form { link: 1, ..PLAIN };
    let mut other = arp.capture(&[(EPOCH, vec![0; 40])]);
    let end = other.len();
    other[end - 42..end - 40].copy_from_slice(&[8, 6]);
    let stranger = PLAIN.capture(&[(EPOCH, udp(7000, 1, 100))]);
    let unlike = PLAIN.capture(&[(EPOCH, udp(6000, 99, 100))]);
    for (sender, receiver, words) in [
        (
            wifi.clone(),
            received.clone(),
            "found link type 105, expected Ethernet (1)",
        ),
        (sent.clone(), wifi, "found link type 105"),
        (other, received.clone(), "no packet of IP among 1 packets"),
        (Vec::new(), received.clone(), "no row"),
        (
            b"what is this, it is no capture".to_vec(),
            received.clone(),
            "no magic number of pcap or pcapng",
        ),
        (sent[..20].to_vec(), received.clone(), "the file was cut"),
        (
            sent.clone(),
            stranger,
            "no packet of udp 10.0.0.1:5000 > 10.0.0.2:6000 among 1 packets",
        ),
        (
            sent.clone(),
            unlike,
            "none of the 3 packets sent among 1 received",
        ),
        (
            sent.clone(),
            received[..received.len() - 3].to_vec(),
            "after 2 whole packets, at byte",
        ),
    ] {
        let found = refused(sender, receiver, &[]);
        assert!(found.contains(words), "{found}");
    }
    let mut inputs = pair(sent, received);
    inputs.can_reopen = false;
    assert!(refusal(&FORMAT, inputs, &BOTH).contains("`sender` is read twice"));
}

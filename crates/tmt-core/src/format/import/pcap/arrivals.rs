//! A capture as a table of arrivals: when which flow sent how many new bytes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufReader, Read};

use super::super::finding::counted;
use super::capture::Capture;
use super::{FORMAT, MOST_FLOWS};
use crate::format::compression::small_text;
use crate::types::{Error, ErrorKind, Result};

/// Name of the input in messages.
const CAPTURE: &str = "capture";

/// Most arrivals.
const MOST: u64 = 100_000;

/// Most flows that are remembered, those with nothing but a SYN included.
const MOST_SEEN: usize = 16 * MOST_FLOWS;

/// Bytes that tell what a file is.
const FIRST: u64 = 4;

/// The text of a table: that of the file `path`, open as `file`, which may be gzip or zstd. Of a capture (pcap, pcapng) it is the
/// table `time_s,size_bytes,flow` of its arrivals.
///
/// A row is a packet with a payload: its time since the first packet of the capture, its payload without headers, and the number of its
/// flow by first appearance, from 1. Of TCP, only bytes above all before them in their connection count, not retransmissions.
///
/// # Errors
/// As [`small_text`], or a capture that is damaged, has no payload, or has fragments of IP; the message begins with the name.
pub fn table_text(
    path: &str,
    mut file: impl Read + Send + 'static,
) -> std::result::Result<String, String> {
    let mut first = Vec::new();
    let read = file.by_ref().take(FIRST).read_to_end(&mut first);
    read.map_err(|error| format!("{path}: {error}"))?;
    let is_capture = (FORMAT.recognises)(&first);
    let whole = std::io::Cursor::new(first).chain(file);
    if !is_capture {
        return small_text(path, whole);
    }
    let table = Capture::new(CAPTURE, Box::new(BufReader::new(whole))).and_then(table);
    table.map_err(|error| format!("{path}: {error}"))
}

/// State of a flow.
#[derive(Default)]
struct Seen {
    /// Its number, from its first bytes on.
    number: Option<usize>,
    /// Of TCP: the number after the SYN, and the end of the bytes so far.
    syn: Option<u32>,
    next: Option<u32>,
}

/// The arrivals of a capture.
fn table(mut capture: Capture) -> Result<String> {
    let mut text = "time_s,size_bytes,flow".to_owned();
    let mut flows: HashMap<_, Seen> = HashMap::new();
    let mut first = None;
    let (mut last, mut rows, mut numbers) = (0, 0, 0);
    while let Some(packet) = capture.next_packet()? {
        let begin = *first.get_or_insert(packet.time);
        if packet.payload == 0 && !packet.is_syn {
            continue;
        }
        if flows.len() == MOST_SEEN && !flows.contains_key(&packet.flow) {
            let most = format!("{MOST_SEEN} flows, those without data included");
            return Err(too_much(&capture, &most));
        }
        let seen = flows.entry(packet.flow).or_default();
        if packet.is_syn && seen.syn != packet.sequence {
            // Another connection of the same ports, with numbers of its own. A SYN that is sent again has those of the first.
            (seen.syn, seen.next) = (packet.sequence, None);
        }
        let size = match packet.sequence {
            Some(sequence) => new_bytes(&mut seen.next, sequence, packet.payload),
            None => packet.payload,
        };
        if size == 0 {
            continue;
        }
        if rows == MOST {
            return Err(too_much(
                &capture,
                &format!("{MOST} packets with new bytes"),
            ));
        }
        if seen.number.is_none() && numbers == MOST_FLOWS {
            return Err(too_much(&capture, &format!("{MOST_FLOWS} flows")));
        }
        let flow = *seen.number.get_or_insert_with(|| {
            numbers += 1;
            numbers
        });
        // Interfaces may be merged out of order.
        last = last.max(packet.time.saturating_sub(begin));
        rows += 1;
        let (seconds, nanos) = (last / 1_000_000_000, last % 1_000_000_000);
        let _ = write!(text, "\n{seconds}.{nanos:09},{size},{flow}");
    }
    let fragments = capture.fragments();
    if fragments > 0 {
        let found = counted(fragments, "IP fragment");
        let expected = "whole packets: tcpdump -r FILE -w NEW 'not (ip[6:2] & 0x3fff != 0 or ip6[6] = 44)' keeps those";
        return Err(Error::new(ErrorKind::format(found, expected)).of_input(CAPTURE));
    }
    if rows == 0 {
        let found = format!("no payload of IP among {} packets", capture.packets());
        let kind = ErrorKind::format(found, "packets that carry data");
        return Err(Error::new(kind).of_input(CAPTURE));
    }
    Ok(text)
}

/// The error of more than `most`.
fn too_much(capture: &Capture, most: &str) -> Error {
    let expected = "fewer: keep a part of the capture";
    capture.error(ErrorKind::format(format!("more than {most}"), expected))
}

/// Those of `payload` bytes from `sequence` on that are above all before them; `next` keeps their end. A gap, where the capture
/// lacks a packet, does not count.
fn new_bytes(next: &mut Option<u32>, sequence: u32, payload: u64) -> u64 {
    let length = u32::try_from(payload).unwrap_or(u32::MAX);
    let end = sequence.wrapping_add(length);
    let before = next.unwrap_or(sequence);
    // Sequence numbers are compared modulo 2^32.
    let ahead = end.wrapping_sub(before);
    if ahead == 0 || ahead > u32::MAX / 2 {
        return 0;
    }
    *next = Some(end);
    payload.min(ahead.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture with a record for each packet: time in µs, and its bytes from the header of IPv4 on.
    fn capture(packets: &[(u32, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0]);
        bytes.extend([0; 8]);
        bytes.extend(65_535_u32.to_le_bytes());
        bytes.extend(101_u32.to_le_bytes());
        for (micros, packet) in packets {
            let length = u32::try_from(packet.len()).unwrap();
            for value in [5 + micros / 1_000_000, micros % 1_000_000, length, length] {
                bytes.extend(value.to_le_bytes());
            }
            bytes.extend(packet);
        }
        bytes
    }

    fn ip(protocol: u8, inside: &[u8]) -> Vec<u8> {
        let length = u16::try_from(20 + inside.len()).unwrap();
        let mut bytes = vec![0x45, 0];
        bytes.extend(length.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(inside);
        bytes
    }

    fn udp(port: u16, payload: usize) -> Vec<u8> {
        let mut bytes = port.to_be_bytes().to_vec();
        bytes.extend([0, 53]);
        bytes.extend(u16::try_from(8 + payload).unwrap().to_be_bytes());
        bytes.extend([0, 0]);
        bytes.extend(vec![7; payload]);
        ip(17, &bytes)
    }

    fn tcp(sequence: u32, flags: u8, payload: usize) -> Vec<u8> {
        let mut bytes = vec![0, 80, 0x1f, 0x90];
        bytes.extend(sequence.to_be_bytes());
        bytes.extend([0, 0, 0, 0, 0x50, flags, 1, 0, 0, 0, 0, 0]);
        bytes.extend(vec![7; payload]);
        ip(6, &bytes)
    }

    #[test]
    fn a_capture_is_a_table_of_new_bytes() {
        let last = u32::MAX;
        let bytes = capture(&[
            (0, tcp(last - 100, 2, 0)),
            (250, udp(4000, 160)),
            // 1000 bytes across the end of the numbers, then 500 of them again with 100 more, and an ACK.
            (1_000, tcp(last - 99, 16, 1000)),
            (2_000, tcp(last.wrapping_add(401), 16, 600)),
            (3_000, tcp(last.wrapping_add(1001), 16, 0)),
            (4_000, tcp(last - 99, 16, 1000)),
            (1_500_000, udp(4001, 10)),
            (1_500_000, udp(4000, 160)),
        ]);
        let text = table_text("x.pcap", std::io::Cursor::new(bytes)).unwrap();
        let expected = "time_s,size_bytes,flow\n0.000250000,160,1\n0.001000000,1000,2\n0.002000000,100,2\n\
                        1.500000000,10,3\n1.500000000,160,1";
        assert_eq!(text, expected);
    }

    fn read(packets: &[(u32, Vec<u8>)]) -> std::result::Result<String, String> {
        table_text("x.pcap", std::io::Cursor::new(capture(packets)))
    }

    /// The rows below the header.
    fn rows(packets: &[(u32, Vec<u8>)]) -> String {
        let text = read(packets).unwrap();
        text.split_once('\n').unwrap().1.to_owned()
    }

    #[test]
    fn a_syn_that_is_sent_again_begins_nothing() {
        let packets = [
            (0, tcp(1_000_000, 2, 0)),
            (1, tcp(1_000_001, 16, 500)),
            (2, tcp(1_000_000, 2, 0)),
            // Again, with 100 bytes more.
            (3, tcp(1_000_001, 16, 600)),
        ];
        assert_eq!(rows(&packets), "0.000001000,500,1\n0.000003000,100,1");
    }

    #[test]
    fn a_packet_that_is_cut_within_its_headers_is_refused() {
        let packets = [(0, udp(4000, 160)), (1, tcp(1, 16, 100))];
        let whole = capture(&packets);
        let second = 24 + 16 + 188 + 16;
        // All that is captured of the second packet: up to a byte of payload, all of its headers, and parts of them.
        for (captured, is_whole) in [
            (41, true),
            (40, true),
            (39, false),
            (20, false),
            (19, false),
            (1, false),
        ] {
            let mut bytes = whole.clone();
            bytes.truncate(second + captured);
            let length = u32::try_from(captured).unwrap().to_le_bytes();
            bytes[second - 8..second - 4].copy_from_slice(&length);
            let read = table_text("x.pcap", std::io::Cursor::new(bytes));
            if is_whole {
                assert!(read.unwrap().ends_with("\n0.000001000,100,2"), "{captured}");
            } else {
                let error = read.unwrap_err();
                assert!(
                    error.contains("found packet 2, cut within its headers"),
                    "{captured}: {error}"
                );
            }
        }
    }

    #[test]
    fn extension_headers_that_are_cut_are_cut_headers() {
        // Hop-by-hop options of 16 bytes before a segment, captured up to 4 bytes of them.
        let options = [&[6, 1, 1, 12], &[0; 12][..], &tcp(1, 16, 100)[20..]].concat();
        let packets = [(0, udp(4000, 160)), (1, ip6(0, options.len(), &options))];
        let mut bytes = capture(&packets);
        let second = 24 + 16 + 188 + 16;
        bytes.truncate(second + 44);
        bytes[second - 8..second - 4].copy_from_slice(&44_u32.to_le_bytes());
        let error = table_text("x.pcap", std::io::Cursor::new(bytes)).unwrap_err();
        assert!(
            error.contains("found packet 2, cut within its headers"),
            "{error}"
        );
    }

    #[test]
    fn a_connection_on_the_same_ports_begins_anew() {
        let packets = [
            (0, tcp(1_000_000, 2, 0)),
            (1, tcp(1_000_001, 16, 500)),
            // Its numbers are below those of the first; again, a copy does not count.
            (2, tcp(7, 2, 0)),
            (3, tcp(8, 16, 300)),
            (4, tcp(8, 16, 300)),
        ];
        assert_eq!(rows(&packets), "0.000001000,500,1\n0.000003000,300,1");
    }

    #[test]
    fn the_length_of_the_record_counts_where_the_header_has_none() {
        let unset = |mut packet: Vec<u8>| {
            packet[2..4].fill(0);
            packet
        };
        let mut bytes = capture(&[(0, unset(tcp(1, 16, 3000))), (1, unset(tcp(3001, 16, 0)))]);
        let whole = table_text("x", std::io::Cursor::new(bytes.clone())).unwrap();
        assert!(whole.ends_with("flow\n0.000000000,3000,1"), "{whole}");
        // Only 60 bytes of the first are captured.
        bytes.drain(24 + 16 + 60..24 + 16 + 3040);
        bytes[32..36].copy_from_slice(&60_u32.to_le_bytes());
        assert_eq!(table_text("x", std::io::Cursor::new(bytes)).unwrap(), whole);
    }

    /// A packet of IPv6 with `next` as its first header.
    fn ip6(next: u8, length: usize, inside: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend(u16::try_from(length).unwrap().to_be_bytes());
        bytes.extend([next, 64]);
        bytes.extend([[1; 16], [2; 16]].concat());
        bytes.extend(inside);
        bytes
    }

    #[test]
    fn extension_headers_are_no_payload() {
        // Hop-by-hop options (RFC 8200, Sec. 4.3) of 8 bytes, six of them padding, before a segment or a datagram.
        let options = |next: u8, inside: &[u8]| [&[next, 0, 1, 4, 0, 0, 0, 0], inside].concat();
        let segment = options(6, &tcp(1, 16, 100)[20..]);
        let pure = options(6, &tcp(101, 16, 0)[20..]);
        let datagram = options(17, &udp(4000, 160)[20..]);
        let packets = [
            (0, ip6(0, segment.len(), &segment)),
            (1, ip6(0, pure.len(), &pure)),
            (2, ip6(0, datagram.len(), &datagram)),
            (3, ip6(0, 0, &options(6, &tcp(101, 16, 70)[20..]))),
        ];
        assert_eq!(
            rows(&packets),
            "0.000000000,100,1\n0.000002000,160,2\n0.000003000,70,1"
        );
    }

    #[test]
    fn fragments_are_refused_with_their_number() {
        let fragment = |high: u8, low: u8| {
            let mut packet = udp(4000, 160);
            packet[6..8].copy_from_slice(&[high, low]);
            packet
        };
        // Next header 44 (RFC 8200, Sec. 4.5): UDP at offset 8 bytes, the last fragment.
        let last = ip6(
            44,
            24,
            &[[17, 0, 0, 8, 0, 0, 0, 1].as_slice(), &[7; 16]].concat(),
        );
        let first = (0, udp(4000, 160));
        let packets = [
            first.clone(),
            (1, fragment(0x20, 0)),
            (2, fragment(0, 20)),
            (3, last),
        ];
        let error = read(&packets).unwrap_err();
        let start = "x.pcap: found 3 IP fragments, expected whole packets";
        assert!(error.starts_with(start), "{error}");
        let error = read(&packets[..2]).unwrap_err();
        assert!(error.contains("found 1 IP fragment,"), "{error}");
        // That a packet may not be fragmented makes it no fragment.
        assert!(read(&[first, (1, fragment(0x40, 0))]).is_ok());
    }

    #[test]
    fn limits_count_rows_and_flows() {
        let mut packets = vec![(0, udp(1, 1)); 99_999];
        packets.extend([(0, tcp(1, 16, 9)), (0, tcp(1, 16, 9)), (0, tcp(10, 16, 0))]);
        assert_eq!(rows(&packets).lines().count(), 100_000);
        packets.push((0, udp(1, 1)));
        let error = read(&packets).unwrap_err();
        assert!(error.contains("found more than 100000 packets"), "{error}");

        let mut packets: Vec<_> = (0..=u16::MAX).map(|port| (0, udp(port, 1))).collect();
        packets.extend([(0, udp(7, 1)), (0, tcp(1, 16, 0))]);
        assert_eq!(rows(&packets).lines().count(), 65_537);
        packets.push((0, tcp(1, 16, 1)));
        let error = read(&packets).unwrap_err();
        assert!(error.contains("found more than 65536 flows"), "{error}");
    }

    #[test]
    fn other_files_are_text_and_captures_without_data_are_refused() {
        let text = table_text("x", &b"size_bytes\n7\n"[..]).unwrap();
        assert_eq!(text, "size_bytes\n7\n");
        assert_eq!(table_text("x", &b""[..]).unwrap(), "");
        let empty = capture(&[(0, tcp(1, 2, 0))]);
        let error = table_text("x.pcap", std::io::Cursor::new(empty)).unwrap_err();
        assert!(error.starts_with("x.pcap: found no payload"), "{error}");
        let cut = capture(&[(0, udp(1, 100))]);
        let cut = cut[..cut.len() - 20].to_vec();
        let error = table_text("x.pcap", std::io::Cursor::new(cut)).unwrap_err();
        assert!(error.contains("the file was cut"), "{error}");
    }
}

//! A capture as a table of arrivals: when which flow sent how many new bytes.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufReader, Read};

use super::capture::Capture;
use super::{FORMAT, MOST_FLOWS};
use crate::format::compression::small_text;
use crate::types::{Error, ErrorKind, Result};

/// Name of the input in messages.
const CAPTURE: &str = "capture";

/// Most arrivals.
const MOST: u64 = 100_000;

/// Bytes that tell what a file is.
const FIRST: u64 = 4;

/// The text of a table: that of the file `path`, open as `file`, which may be gzip or zstd. Of a capture (pcap, pcapng) it is the
/// table `time_s,size_bytes,flow` of its arrivals.
///
/// A row is a packet with a payload: its time since the first packet of the capture, its payload without headers, and the number of its
/// flow by first appearance, from 1. Of TCP, only bytes above all before them count, not retransmissions.
///
/// # Errors
/// As [`small_text`], or a capture that is damaged or has no payload; the message begins with the name.
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

/// The arrivals of a capture.
fn table(mut capture: Capture) -> Result<String> {
    let mut text = "time_s,size_bytes,flow".to_owned();
    let mut flows = HashMap::new();
    let mut first = None;
    let (mut last, mut rows) = (0, 0);
    while let Some(packet) = capture.next_packet()? {
        let begin = *first.get_or_insert(packet.time);
        if packet.payload == 0 {
            continue;
        }
        if rows == MOST || flows.len() == MOST_FLOWS {
            let found = format!("more than {MOST} packets with a payload, or {MOST_FLOWS} flows");
            let expected = "fewer: keep a part of the capture";
            return Err(capture.error(ErrorKind::format(found, expected)));
        }
        let new = flows.len() + 1;
        let (flow, next) = flows.entry(packet.flow).or_insert((new, None));
        let size = match packet.sequence {
            Some(sequence) => new_bytes(next, sequence, packet.payload),
            None => packet.payload,
        };
        if size == 0 {
            continue;
        }
        // Interfaces may be merged out of order.
        last = last.max(packet.time.saturating_sub(begin));
        rows += 1;
        let (seconds, nanos) = (last / 1_000_000_000, last % 1_000_000_000);
        let _ = write!(text, "\n{seconds}.{nanos:09},{size},{flow}");
    }
    if rows == 0 {
        let found = format!("no payload of IP among {} packets", capture.packets());
        let kind = ErrorKind::format(found, "packets that carry data");
        return Err(Error::new(kind).of_input(CAPTURE));
    }
    Ok(text)
}

/// Of `payload` bytes from `sequence` on, those that are above all before them, the end of which `next` keeps. A gap, where the
/// capture lacks a packet, does not count.
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

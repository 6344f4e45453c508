//! Captures, pcap and pcapng, as packets with the time of capture.
//!
//! pcap: draft-ietf-opsawg-pcap; magic 0xa1b2c3d4 (µs) or 0xa1b23c4d (ns), in either byte order. pcapng:
//! draft-ietf-opsawg-pcapng; the resolution of the times is that of the interface, 1 µs unless it says otherwise.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use pcap_parser::traits::{PcapNGPacketBlock, PcapReaderIterator};
use pcap_parser::{Block, Linktype, PcapBlockOwned, PcapError, create_reader};

use super::packet::{Captured, Found, Link, Packet};
use crate::types::{Error, ErrorKind, Position, Result};

/// Bytes of the buffer; it grows for a longer packet.
const BUFFER: usize = 1 << 16;

/// Longest accepted packet, bytes: above what any capture holds.
const LONGEST: usize = 1 << 22;

/// Nanoseconds per second.
const SECOND: i128 = 1_000_000_000;

/// An error of the input, which the parser does not pass on.
type Failed = Arc<Mutex<Option<io::Error>>>;

/// Fills whole buffers, so that the parser has what it needs at once, and keeps an error.
struct FullReads {
    input: Box<dyn BufRead + Send>,
    failed: Failed,
}

impl Read for FullReads {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.input.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                    *failed = Some(error);
                    return Err(io::ErrorKind::Other.into());
                }
            }
        }
        Ok(filled)
    }
}

/// Meaning of link layer and times of an interface.
#[derive(Debug, Clone, Copy)]
struct Interface {
    link: Link,
    /// Units per second, and what is added to every time, s.
    resolution: u64,
    offset: i64,
}

/// Reads the packets of a capture.
pub(super) struct Capture {
    reader: Box<dyn PcapReaderIterator + Send>,
    failed: Failed,
    /// Key of the input.
    key: &'static str,
    interfaces: Vec<Interface>,
    /// Packets read, of any kind, and those of them that are fragments.
    packets: u64,
    fragments: u64,
}

impl Capture {
    /// Begins to read the capture of a key.
    ///
    /// # Errors
    /// It is none, or it is cut within its header.
    pub(super) fn new(key: &'static str, input: Box<dyn BufRead + Send>) -> Result<Self> {
        let failed = Failed::default();
        let reads = FullReads {
            input,
            failed: Arc::clone(&failed),
        };
        let reader = create_reader(BUFFER, reads).map_err(|error| {
            if let Some(error) = failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
                return Error::from(error).of_input(key);
            }
            let kind = match error {
                PcapError::Eof => ErrorKind::EmptyTrace,
                PcapError::Incomplete(_) | PcapError::UnexpectedEof => ErrorKind::format(
                    "the end of the capture in its header",
                    "a whole one: the file was cut",
                ),
                _ => ErrorKind::format("no magic number of pcap or pcapng", "a capture"),
            };
            Error::new(kind).of_input(key)
        })?;
        Ok(Self {
            reader,
            failed,
            key,
            interfaces: Vec::new(),
            packets: 0,
            fragments: 0,
        })
    }

    /// An error at the packet read last.
    pub(super) fn error(&self, kind: ErrorKind) -> Error {
        let place = Position::of_row(self.packets);
        Error::at(kind, place).of_input(self.key)
    }

    /// The next packet of IP; `None` at the end.
    ///
    /// # Errors
    /// A capture that is cut or damaged, has no time stamps, is of a link layer that is not read, or lacks headers.
    pub(super) fn next_packet(&mut self) -> Result<Option<Packet>> {
        enum Step {
            Packet(Option<Packet>),
            Skipped,
            Refill,
            Grow,
            End,
        }
        loop {
            let result = match self.reader.next() {
                Ok((length, block)) => {
                    let read = read(&block, &mut self.interfaces);
                    read.map(|packet| (length, packet))
                }
                Err(error) => Err(match error {
                    PcapError::Eof => Stop::End,
                    PcapError::Incomplete(_) => Stop::Refill,
                    PcapError::BufferTooSmall => Stop::Grow,
                    PcapError::UnexpectedEof => Stop::Cut,
                    PcapError::ReadError => Stop::Failed,
                    _ => Stop::Damaged,
                }),
            };
            let step = match result {
                Ok((length, content)) => {
                    self.reader.consume(length);
                    match content {
                        Content::Packet(found) => {
                            self.packets += 1;
                            self.fragments += u64::from(found.is_fragment);
                            if found.is_cut {
                                return Err(self.error(ErrorKind::format(
                                    format!("packet {}, cut within its headers", self.packets),
                                    "whole headers: capture more of each packet (tcpdump -s 128), or leave out such packets",
                                )));
                            }
                            Step::Packet(found.packet)
                        }
                        Content::Other => Step::Skipped,
                    }
                }
                Err(Stop::End) => Step::End,
                Err(Stop::Refill) => Step::Refill,
                Err(Stop::Grow) => Step::Grow,
                Err(stop) => return Err(self.stopped(stop)),
            };
            match step {
                Step::Packet(Some(packet)) => return Ok(Some(packet)),
                Step::Packet(None) | Step::Skipped => {}
                Step::End => return Ok(None),
                Step::Refill => {
                    if self.reader.refill().is_err() {
                        return Err(self.stopped(Stop::Failed));
                    }
                }
                Step::Grow => {
                    let larger = self.reader.data().len().max(BUFFER) * 2;
                    if larger > LONGEST || !self.reader.grow(larger) {
                        return Err(self.stopped(Stop::Damaged));
                    }
                }
            }
        }
    }

    /// Packets read, of any kind.
    pub(super) fn packets(&self) -> u64 {
        self.packets
    }

    /// Fragments of packets of IP among them.
    pub(super) fn fragments(&self) -> u64 {
        self.fragments
    }

    fn stopped(&self, stop: Stop) -> Error {
        let byte = self.reader.consumed();
        let after = self.packets;
        let kind = match stop {
            Stop::Failed => {
                let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(error) = failed.take() {
                    return Error::from(error).of_input(self.key);
                }
                ErrorKind::format("a file that cannot be read", "a capture")
            }
            Stop::Cut => ErrorKind::format(
                format!("the end of the capture after {after} whole packets, at byte {byte}"),
                "the rest of a packet: the file was cut",
            ),
            Stop::Refused(kind) => kind,
            _ => ErrorKind::format(
                format!("a damaged record after {after} packets, at byte {byte}"),
                "a record of a capture",
            ),
        };
        self.error(kind)
    }
}

/// Content of a block.
enum Content {
    Packet(Found),
    Other,
}

/// Why the next block is not to be had.
enum Stop {
    End,
    Refill,
    Grow,
    Cut,
    Failed,
    Damaged,
    Refused(ErrorKind),
}

/// Reads a block.
fn read(block: &PcapBlockOwned<'_>, interfaces: &mut Vec<Interface>) -> Result<Content, Stop> {
    Ok(match block {
        PcapBlockOwned::LegacyHeader(header) => {
            interfaces.push(Interface {
                link: link(header.network)?,
                resolution: if header.is_nanosecond_precision() {
                    1_000_000_000
                } else {
                    1_000_000
                },
                offset: 0,
            });
            Content::Other
        }
        PcapBlockOwned::Legacy(record) => {
            let interface = interfaces.first().ok_or(Stop::Damaged)?;
            let unit = u64::from(record.ts_sec) * interface.resolution + u64::from(record.ts_usec);
            packet(interface, unit, record.data, record.origlen)?
        }
        // A section has its own interfaces.
        PcapBlockOwned::NG(Block::SectionHeader(_)) => {
            interfaces.clear();
            Content::Other
        }
        PcapBlockOwned::NG(Block::InterfaceDescription(interface)) => {
            if interfaces.len() >= usize::from(u16::MAX) {
                return Err(Stop::Damaged);
            }
            interfaces.push(Interface {
                link: link(interface.linktype)?,
                resolution: interface.ts_resolution().ok_or(Stop::Damaged)?,
                offset: interface.ts_offset(),
            });
            Content::Other
        }
        PcapBlockOwned::NG(Block::EnhancedPacket(record)) => {
            let interface = usize::try_from(record.if_id).ok();
            let interface = interface.and_then(|id| interfaces.get(id));
            let unit = u64::from(record.ts_high) << 32 | u64::from(record.ts_low);
            let interface = interface.ok_or(Stop::Damaged)?;
            packet(interface, unit, record.packet_data(), record.origlen)?
        }
        PcapBlockOwned::NG(Block::SimplePacket(_)) => {
            let found = "a packet without a time (simple packet block)";
            let expected = "enhanced packet blocks, as tcpdump and dumpcap write them";
            return Err(Stop::Refused(ErrorKind::format(found, expected)));
        }
        PcapBlockOwned::NG(_) => Content::Other,
    })
}

/// A packet of `length` bytes, `bytes` of them captured, at a time in units of the interface.
fn packet(interface: &Interface, unit: u64, bytes: &[u8], length: u32) -> Result<Content, Stop> {
    let resolution = i128::from(interface.resolution);
    let nanos = i128::from(unit) * SECOND / resolution + i128::from(interface.offset) * SECOND;
    let nanos = i64::try_from(nanos).map_err(|_| {
        let found = format!("a time of {nanos} ns since 1970");
        Stop::Refused(ErrorKind::format(found, "times of less than 2^63 ns"))
    })?;
    let captured = Captured {
        time: nanos,
        bytes,
        cut: u64::from(length).saturating_sub(bytes.len() as u64),
    };
    Ok(Content::Packet(Packet::read(interface.link, captured)))
}

/// The link layer of a type.
fn link(of: Linktype) -> Result<Link, Stop> {
    Ok(match of {
        Linktype::ETHERNET => Link::Ethernet,
        Linktype::RAW | Linktype::IPV4 | Linktype::IPV6 => Link::Ip { before: 0 },
        Linktype::NULL | Linktype::LOOP => Link::Ip { before: 4 },
        Linktype::LINUX_SLL => Link::Cooked {
            protocol: 14,
            before: 16,
        },
        Linktype::LINUX_SLL2 => Link::Cooked {
            protocol: 0,
            before: 20,
        },
        Linktype(other) => {
            let found = format!("link type {other}");
            let expected = "Ethernet (1), raw IP (101, 228, 229), Linux cooked (113, 276) or loopback (0, 108)";
            return Err(Stop::Refused(ErrorKind::format(found, expected)));
        }
    })
}

//! From round trips to packets of one direction.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::json::{Elements, Piece};
use super::super::probe::{Direction, Lost, Record, Records, Totals, Trip, Ways};
use super::super::{Files, Finding, Given, TRACE};
use super::File;
use crate::format::import::catalogue::SUMMARY_DIFFERS;
use crate::types::{Error, ErrorKind, Result};

/// Version of the JSON that is read.
const JSON_FORMAT: u64 = 1;

/// The two clocks of a host, ns since times of their own.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Stamp {
    wall: Option<i64>,
    monotonic: Option<i64>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Host {
    send: Stamp,
    receive: Stamp,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Hosts {
    client: Host,
    server: Host,
}

/// Delays, ns; the round trip is without the time in the server.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct DelaysOf {
    send: Option<i64>,
    receive: Option<i64>,
    rtt: Option<i64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct RoundTrip {
    seqno: u64,
    lost: Lost,
    #[serde(default)]
    timestamps: Hosts,
    #[serde(default)]
    delay: DelaysOf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Version {
    json_format: Option<u64>,
}

/// Counts of all packets in the file.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    packets_sent: Option<u64>,
    packets_received: Option<u64>,
}

/// Reads the packets of one direction.
pub(super) struct Packets {
    elements: File,
    ways: Ways,
    /// Whether the monotonic clock of the sender is used, by the first packet with a time.
    monotonic: Option<bool>,
    first: Option<u64>,
    stats: Stats,
}

impl Packets {
    pub(super) fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let input = files.open(TRACE.name).map_err(Error::from)?;
        Ok(Self {
            elements: Elements::new(input, Some("round_trips")),
            ways: Ways::new(settings),
            monotonic: None,
            first: None,
            stats: Stats::default(),
        })
    }

    /// Reads a member of the outermost object.
    fn member(&mut self) -> Result<()> {
        match self.elements.key() {
            b"version" => {
                let version: Version = self.elements.value()?;
                let unknown = version.json_format.filter(|format| *format != JSON_FORMAT);
                if let Some(unknown) = unknown {
                    let found = format!("json_format {unknown}");
                    let kind = ErrorKind::format(found, format!("json_format {JSON_FORMAT}"));
                    return Err(self.elements.error(kind));
                }
            }
            b"stats" => self.stats = self.elements.value()?,
            _ => {
                let _: IgnoredAny = self.elements.value()?;
            }
        }
        Ok(())
    }

    /// The packet of this direction; `None` if absent.
    fn packet(&mut self, trip: &RoundTrip) -> Result<Option<Record>> {
        let stamp = match self.ways.direction() {
            Direction::Down => trip.timestamps.server.send,
            _ => trip.timestamps.client.send,
        };
        if self.monotonic.is_none() && (stamp.monotonic.is_some() || stamp.wall.is_some()) {
            self.monotonic = Some(stamp.monotonic.is_some());
        }
        let DelaysOf { send, receive, rtt } = trip.delay;
        let record = self.ways.record(Trip {
            number: Some(trip.seqno),
            lost: trip.lost,
            sent: match self.monotonic {
                Some(true) => stamp.monotonic,
                _ => stamp.wall,
            },
            up: send,
            down: receive,
            both: rtt,
        });
        let record = record.map_err(|kind| self.elements.error(kind))?;
        let number = record.and_then(|record| record.number);
        let earlier = self.first.into_iter().chain(number).min();
        self.first = earlier;
        Ok(record)
    }

    /// Packets that the list has, and those of them that the server received or that were answered, against the stats.
    fn doubts_on_stats(&self) -> Option<Finding> {
        let read = self.elements.elements();
        let pairs = [
            ("sent", self.stats.packets_sent, read),
            (
                "received",
                self.stats.packets_received,
                self.ways.answered(),
            ),
        ];
        let differing = pairs
            .iter()
            .filter_map(|(what, stated, read)| Some((what, (*stated)?, *read)));
        let (what, stated, read) = differing
            .into_iter()
            .find(|(_, stated, read)| stated != read)?;
        let text = format!(
            "{}: its stats say {stated} packets {what}, round_trips has {read}: elements are missing, or were changed",
            TRACE.name
        );
        let off = stated.abs_diff(read);
        Some(Finding::of(&SUMMARY_DIFFERS, off, "packets", text))
    }
}

impl Records for Packets {
    fn next_record(&mut self) -> Result<Option<Record>> {
        while let Some(piece) = self.elements.advance()? {
            if piece == Piece::Member {
                self.member()?;
                continue;
            }
            let trip: RoundTrip = self.elements.value()?;
            if let Some(record) = self.packet(&trip)? {
                return Ok(Some(record));
            }
        }
        Ok(None)
    }

    fn totals(&self) -> Totals {
        // Lost packets are in the list, too.
        Totals {
            first: self.first,
            sent: Some(0),
            received: None,
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.elements.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.ways.findings(TRACE.name);
        findings.extend(self.doubts_on_stats());
        findings
    }
}

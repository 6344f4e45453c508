//! JSON of iperf3, `iperf3 -J`: one object with the list `intervals`.

use std::io::BufRead;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::super::finding::counted;
use super::super::json::{Elements, Piece};
use super::super::{Finding, TRACE};
use super::{Interval, Intervals};
use crate::format::import::catalogue::INTERVALS_OMITTED;
use crate::format::text::nanos;
use crate::format::unit::Unit;
use crate::types::{Error, ErrorKind, Result};

/// Counts over all streams in one direction.
#[derive(Debug, Deserialize)]
struct Sum {
    start: serde_json::Number,
    end: serde_json::Number,
    packets: Option<u64>,
    lost_packets: Option<i64>,
    #[serde(default)]
    omitted: bool,
}

#[derive(Debug, Deserialize)]
struct Element {
    sum: Sum,
}

/// Reads the intervals of a report.
pub(super) struct Report {
    elements: Elements<Box<dyn BufRead + Send>>,
    omitted: u64,
}

impl Report {
    pub(super) fn new(input: Box<dyn BufRead + Send>) -> Self {
        Self {
            elements: Elements::new(input, Some("intervals")),
            omitted: 0,
        }
    }

    /// A time in seconds, ns. Its shortest decimal form is the one that iperf3 wrote.
    fn nanos(&self, seconds: &serde_json::Number) -> Result<i64> {
        let nanos = nanos(
            seconds.to_string().as_bytes(),
            Unit::Seconds,
            "start or end",
        );
        let nanos = nanos.map_err(|kind| self.elements.error(kind))?;
        Ok(i64::try_from(nanos).unwrap_or(i64::MAX))
    }
}

impl Intervals for Report {
    fn next_interval(&mut self) -> Result<Option<Interval>> {
        while let Some(piece) = self.elements.advance()? {
            if piece == Piece::Member {
                let _: IgnoredAny = self.elements.value()?;
                continue;
            }
            let Element { sum } = self.elements.value()?;
            if sum.omitted {
                self.omitted += 1;
                continue;
            }
            let (Some(datagrams), Some(lost)) = (sum.packets, sum.lost_packets) else {
                let (found, expected) = match sum.packets {
                    Some(_) => (
                        "an interval without lost_packets: the report of a sender",
                        "that of the receiver: of the server (iperf3 -s -J), or of a client with -R",
                    ),
                    None => (
                        "an interval without packets: a test of TCP",
                        "a test over UDP (-u)",
                    ),
                };
                return Err(self.elements.error(ErrorKind::format(found, expected)));
            };
            return Ok(Some(Interval {
                begin: self.nanos(&sum.start)?,
                end: self.nanos(&sum.end)?,
                datagrams,
                lost,
            }));
        }
        Ok(None)
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.elements.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.omitted > 0 {
            let text = format!(
                "{}: {} that iperf3 omits (-O), left out",
                TRACE.name,
                counted(self.omitted, "interval")
            );
            findings.push(Finding::of(
                &INTERVALS_OMITTED,
                self.omitted,
                "intervals",
                text,
            ));
        }
        findings
    }
}

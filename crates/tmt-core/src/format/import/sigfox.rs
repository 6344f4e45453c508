//! Frames sent over Sigfox and what its network received, JSON as in the data set of the Jožef Stefan Institute
//! (docs/trace-format.md, Sec. 12.7).
//!
//! A document is a list with an element per frame, in the order of sending: `tx` says how it was sent, `rx` how it was
//! received; a frame without `rx` is lost. `rx.time` is the time of reception in whole seconds since 1970. There are
//! neither send times nor delays.

use std::io::BufRead;

use serde::Deserialize;
use serde_json::Value;

use super::finding::counted;
use super::json::{self, Elements};
use super::probe::{self, Fate, INTERVAL, LLDU, Record, Records, Shape, Totals};
use super::{DECODE_DELAY, Files, Finding, Given, Importer, Parameter, RTT, Remark, TRACE};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::PAYLOAD_DIFFERS;
use crate::types::{Error, ErrorKind, Result, TraceKind};

const KEYS: [Parameter; 5] = [TRACE, INTERVAL, DECODE_DELAY, RTT, LLDU];

/// Importer of lists of frames.
pub static FORMAT: Importer = Importer {
    name: "sigfox",
    about: "JSON list of frames `{tx, rx}`; those without `rx` are lost",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.loss(),
    keys: &KEYS,
    recognises: |first| {
        json::begins(first, b'[') && memchr::memmem::find(first, b"\"tx\"").is_some()
    },
    open: |given, files, note| {
        if !given.has(INTERVAL.name) {
            note(Remark::assumed(format!(
                "a frame is taken to be sent at the second in which it was received (`{}`)",
                INTERVAL.name
            )));
        }
        let shape = Shape::new(&FORMAT, None, Frames::open);
        probe::open(&shape, given, given.clone(), files, note)
    },
};

/// A number, or its text.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Seconds {
    Number(u64),
    Text(String),
}

#[derive(Debug, Deserialize)]
struct Reception {
    time: Seconds,
    #[serde(default)]
    data: Value,
}

#[derive(Debug, Deserialize)]
struct Sending {
    #[serde(default)]
    data: Value,
}

#[derive(Debug, Deserialize)]
struct Frame {
    tx: Sending,
    rx: Option<Reception>,
}

/// Reads the frames of a file.
struct Frames {
    elements: Elements<Box<dyn BufRead + Send>>,
    /// Frames whose payload arrived as another one.
    other_data: u64,
}

impl Frames {
    fn open(_: &Given, files: &mut dyn Files) -> Result<Self> {
        Ok(Self {
            elements: Elements::new(files.open(TRACE.name).map_err(Error::from)?, None),
            other_data: 0,
        })
    }

    /// The time of a reception, ns.
    fn nanos(&self, time: &Seconds) -> Result<i64> {
        let seconds = match time {
            Seconds::Number(seconds) => Some(*seconds),
            Seconds::Text(text) => text.parse().ok(),
        };
        let seconds = seconds.and_then(|seconds| i64::try_from(seconds).ok());
        let nanos = seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000));
        nanos.ok_or_else(|| {
            let kind = ErrorKind::format(
                format!("rx.time {time:?}"),
                "whole seconds since 1970, below 2^63 ns",
            );
            self.elements.error(kind)
        })
    }
}

impl Records for Frames {
    fn next_record(&mut self) -> Result<Option<Record>> {
        if self.elements.advance()?.is_none() {
            return Ok(None);
        }
        let frame: Frame = self.elements.value()?;
        let sent = match &frame.rx {
            Some(rx) => Some(self.nanos(&rx.time)?),
            None => None,
        };
        if let Some(rx) = &frame.rx {
            let is_other = !rx.data.is_null() && rx.data != frame.tx.data;
            self.other_data += u64::from(is_other);
        }
        Ok(Some(Record {
            number: Some(self.elements.elements() - 1),
            sent,
            fate: match sent {
                Some(_) => Fate::Received(None),
                None => Fate::Lost,
            },
        }))
    }

    fn totals(&self) -> Totals {
        Totals {
            first: Some(0),
            sent: Some(self.elements.elements()),
            received: None,
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.elements.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.other_data > 0 {
            let text = format!(
                "{}: {} with another payload than was sent, taken as received: do `tx` and `rx` belong together?",
                TRACE.name,
                counted(self.other_data, "frame")
            );
            let text = text.replace('`', "");
            findings.push(Finding::of(
                &PAYLOAD_DIFFERS,
                self.other_data,
                "frames",
                text,
            ));
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::testing::convert;
    use super::*;

    fn frame(received: Option<u64>) -> Value {
        let data = "00ff";
        match received {
            Some(time) => json!({
                "rx": { "seqNumber": "1", "time": time.to_string(), "data": data },
                "tx": { "data": data, "gain": -4.4 },
            }),
            None => json!({ "tx": { "data": data } }),
        }
    }

    fn document(frames: &[Option<u64>]) -> String {
        let frames: Vec<Value> = frames.iter().copied().map(frame).collect();
        serde_json::to_string_pretty(&frames).unwrap()
    }

    proptest! {
        #[test]
        fn the_losses_written_are_those_read(lost in prop::collection::vec(any::<bool>(), 1..80)) {
            prop_assume!(lost.contains(&false));
            let frames: Vec<Option<u64>> = (0..).zip(&lost).map(|(at, lost)| (!lost).then_some(100 + at)).collect();
            let found = convert(&FORMAT, document(&frames), &[("interval", "1s")]);
            let read: Vec<bool> = found.delays().iter().map(|delay| *delay == 0).collect();
            prop_assert_eq!(read, lost);
        }
    }
}

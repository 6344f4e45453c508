//! Losses of ns-3: the list of a `ReceiveListErrorModel`, the ordinals of lost packets from 0 (docs/trace-format.md,
//! Sec. 12.18).
//!
//! Ordinals are between commas, blanks or line ends, in any order. The list does not say how many packets there were.

use std::io::{BufRead, Read as _};

use super::finding::counted;
use super::probe::{self, Fate, LLDU, PACKETS, Record, Records, Shape, Totals};
use super::{DECODE_DELAY, Files, Finding, Given, Importer, Kind, Parameter, RTT, Rule, TRACE};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::{DUPLICATES, RECEIVED_AT_END_UNKNOWN};
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Position, Result, TraceKind};

/// Longest list, bytes: it is sorted, and so held in memory.
const LONGEST: u64 = 1 << 26;

const KEYS: [Parameter; 6] = [
    TRACE,
    Parameter::optional("interval", Kind::PERIOD, "time between two packets")
        .when(Rule::Required("the list contains no send times")),
    Parameter::optional(
        "packets",
        Kind::Count(1, u64::MAX),
        "number of packets [default: those up to the last lost one]",
    ),
    DECODE_DELAY,
    RTT,
    LLDU,
];

/// Importer of lists of losses.
pub static FORMAT: Importer = Importer {
    name: "ns3",
    about: "positions of lost packets from 0, as in ReceiveListErrorModel of ns-3",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.loss(),
    keys: &KEYS,
    recognises: |first| {
        // The first bytes may end within a number.
        let digits = first.iter().any(u8::is_ascii_digit);
        let is_list = first
            .iter()
            .all(|byte| byte.is_ascii_digit() || byte.is_ascii_whitespace() || *byte == b',');
        // A pair in every line is a table of something else, such as of answers.
        let lines = first.split(|byte| *byte == b'\n');
        let mut whole = lines.clone().take(lines.count().saturating_sub(1));
        let in_pairs = |line: &[u8]| {
            let mut parts = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
            parts.clone().count() == 2 && parts.all(|part| !part.is_empty())
        };
        let is_table = whole.clone().next().is_some() && whole.all(in_pairs);
        digits && is_list && !is_table && first.contains(&b',')
    },
    open: |given, files, note| {
        let shape = Shape::new(&FORMAT, None, List::open);
        probe::open(&shape, given, given.clone(), files, note)
    },
};

/// Most packets: ns-3 counts positions by 32 bits.
const MOST_PACKETS: u64 = 1 << 32;

/// Most packets that are not stated: a single position may be wrong, and each packet before it is a row.
const MOST_ASSUMED: u64 = 100_000_000;

/// A list that was read.
struct List {
    /// The ordinals in ascending order, each once.
    lost: Vec<u32>,
    /// Ordinals that were there more than once.
    again: u64,
    /// Packets, and those that were returned.
    packets: u64,
    next: u64,
    /// The next ordinal.
    at: usize,
    is_stated: bool,
}

impl List {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let input = files.open(TRACE.name).map_err(Error::from)?;
        let mut lost = read(input)?;
        lost.sort_unstable();
        let all = lost.len();
        lost.dedup();
        let stated = settings.get::<u64>(PACKETS.name);
        let last = lost.last().map(|last| u64::from(*last));
        if let (None, Some(last @ MOST_ASSUMED..)) = (stated, last) {
            let found = format!("position {last}");
            let expected = format!("positions below {MOST_ASSUMED}, or the number of packets");
            return Err(Error::new(ErrorKind::format(found, expected)));
        }
        if let Some(stated) = stated.filter(|stated| *stated > MOST_PACKETS) {
            let found = format!("{stated} packets");
            let expected = format!("at most {MOST_PACKETS}, the positions that ns-3 counts");
            return Err(Error::new(ErrorKind::format(found, expected)));
        }
        if let (Some(stated), Some(last)) = (
            stated,
            last.filter(|last| stated.is_some_and(|stated| *last >= stated)),
        ) {
            let found = format!("position {last}");
            let expected = format!("positions below {stated}, the number of packets");
            return Err(Error::new(ErrorKind::format(found, expected)));
        }
        let Some(packets) = stated.or(last.map(|last| last + 1)) else {
            let expected = "a lost packet, or a given number of packets";
            return Err(Error::new(ErrorKind::format("an empty list", expected)));
        };
        Ok(Self {
            again: (all - lost.len()) as u64,
            lost,
            packets,
            next: 0,
            at: 0,
            is_stated: stated.is_some(),
        })
    }
}

/// The ordinals of a list.
fn read(input: Box<dyn BufRead + Send>) -> Result<Vec<u32>> {
    let mut text = Vec::new();
    input.take(LONGEST + 1).read_to_end(&mut text)?;
    if text.len() as u64 > LONGEST {
        let found = format!("a list of more than {LONGEST} bytes");
        return Err(Error::new(ErrorKind::format(found, "a shorter one")));
    }
    let mut lost = Vec::new();
    for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
        let mut column = 1;
        for word in line.split(|byte| *byte == b',' || byte.is_ascii_whitespace()) {
            if !word.is_empty() {
                let ordinal = std::str::from_utf8(word).ok();
                let ordinal = ordinal.filter(|_| word[0].is_ascii_digit());
                let ordinal = ordinal.and_then(|word| word.parse().ok());
                lost.push(ordinal.ok_or_else(|| {
                    let found = format!("'{}'", shown(word));
                    let expected = "positions from 0 to 4294967295 between commas or blanks";
                    let position = Position {
                        line: number,
                        column,
                        row: number,
                    };
                    Error::at(ErrorKind::format(found, expected), position)
                })?);
            }
            column += word.len() as u64 + 1;
        }
    }
    Ok(lost)
}

impl Records for List {
    fn next_record(&mut self) -> Result<Option<Record>> {
        if self.next == self.packets {
            return Ok(None);
        }
        let is_lost = self
            .lost
            .get(self.at)
            .is_some_and(|lost| u64::from(*lost) == self.next);
        self.at += usize::from(is_lost);
        self.next += 1;
        Ok(Some(Record {
            number: None,
            sent: None,
            fate: if is_lost {
                Fate::Lost
            } else {
                Fate::Received(None)
            },
        }))
    }

    fn totals(&self) -> Totals {
        Totals::default()
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if self.again > 0 {
            let text = format!("{} more than once", counted(self.again, "position"));
            findings.push(Finding::of(&DUPLICATES, self.again, "packets", text));
        }
        if !self.is_stated {
            let text = format!(
                "how many packets followed the last lost one is unknown; the trace ends with it (`{}`)",
                PACKETS.name
            );
            findings.push(Finding::of(&RECEIVED_AT_END_UNKNOWN, 1, "ends", text).not_carried());
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::converted;
    use super::*;

    fn erased(text: &str, packets: &str) -> Vec<u64> {
        let keys = [
            ("interval", "1ns"),
            ("decode-delay", "1ns"),
            ("packets", packets),
        ];
        let slots = converted(&FORMAT, &[("trace", text)], &keys).slots;
        assert_eq!(slots.len().to_string(), packets);
        let lost = slots.iter().filter(|slot| slot.1 == 0);
        lost.map(|slot| slot.0).collect()
    }

    proptest! {
        #[test]
        fn a_list_is_the_erased_slots(lost in prop::collection::btree_set(0_u64..300, 1..100)) {
            let words: Vec<String> = lost.iter().map(u64::to_string).collect();
            let found = erased(&words.join(","), "300");
            prop_assert_eq!(found, lost.into_iter().collect::<Vec<_>>());
        }
    }
}

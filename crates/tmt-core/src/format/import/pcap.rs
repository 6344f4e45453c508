//! Captures of the sender and of the receiver, packet by packet (docs/trace-format.md, Sec. 12.10).
//!
//! A packet of one flow that is in both captures was received, with the difference of its times as the delay; one that is
//! only in the sender's was lost.

mod arrivals;
mod capture;
mod packet;
mod pairs;

use std::collections::BTreeMap;

use super::probe::{self, LLDU, PROPAGATION, Shape};
use super::{Files, Given, ImportError, Importer, Kind, Parameter, RTT, Remark, Rule};
use crate::format::foreign::Carries;
use crate::types::{Error, ErrorKind, Result, TraceKind};
pub use arrivals::table_text;
use capture::Capture;
use packet::Flow;
use pairs::Pairs;

const SENDER: &str = "sender";
const RECEIVER: &str = "receiver";
const FLOW: &str = "flow";

/// Most flows of a capture that are told apart.
const MOST_FLOWS: usize = 1 << 16;

/// Flows that a message lists.
const LISTED: usize = 4;

const KEYS: [Parameter; 6] = [
    Parameter::optional(SENDER, Kind::File, "capture at the sender")
        .when(Rule::Required("it says what was sent and when")),
    Parameter::optional(
        RECEIVER,
        Kind::File,
        "capture at the receiver, `-` for stdin",
    )
    .when(Rule::Required("it says what arrived and when")),
    Parameter::optional(
        FLOW,
        Kind::Count(1, u64::MAX),
        "which flow, by the bytes that the sender's capture has of it: 1 is the largest [default: 1]",
    ),
    PROPAGATION,
    RTT,
    LLDU,
];

/// Importer of pairs of captures.
pub static FORMAT: Importer = Importer {
    name: "pcap",
    about: "captures at the sender and at the receiver (pcap, pcapng), whose packets are matched",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss().order(),
    keys: &KEYS,
    recognises: |first| {
        const MAGICS: [[u8; 4]; 3] = [
            [0xa1, 0xb2, 0xc3, 0xd4],
            [0xa1, 0xb2, 0x3c, 0x4d],
            [0x0a, 0x0d, 0x0d, 0x0a],
        ];
        MAGICS.iter().any(|magic| {
            let mut swapped = *magic;
            swapped.reverse();
            first.starts_with(magic) || first.starts_with(&swapped)
        })
    },
    open: |given, files, note| {
        if !files.can_reopen(SENDER) {
            let refusal = format!(
                "`{SENDER}` is read twice, first for its flows, which a pipe does not allow: expected a file"
            );
            return Err(ImportError::Refused(refusal));
        }
        let mut settings = given.clone();
        let flows = flows(files)?;
        let chosen = choose(&flows, &mut settings, note)?;
        note(Remark::assumed(
            "the clocks of both captures are taken to agree: a difference is part of every delay, and of the propagation removed",
        ));
        let (flow, with_empty) = (chosen.flow, chosen.payloads == 0);
        let make = |_: &Given, files: &mut dyn Files| {
            let sender = Capture::new(SENDER, open(SENDER, files)?)?;
            let receiver = Capture::new(RECEIVER, open(RECEIVER, files)?)?;
            Ok(Pairs::new(sender, receiver, flow, with_empty))
        };
        let shape = Shape::new(&FORMAT, Some(RECEIVER), make);
        probe::open(&shape, given, settings, files, note)
    },
};

fn open(key: &'static str, files: &mut dyn Files) -> Result<Box<dyn std::io::BufRead + Send>> {
    files
        .open(key)
        .map_err(|error| Error::from(error).of_input(key))
}

/// Size of a flow in a capture.
#[derive(Debug, Clone, Copy)]
struct Size {
    flow: Flow,
    packets: u64,
    bytes: u64,
    /// Packets with a payload.
    payloads: u64,
}

/// The flows of the sender's capture, the largest first.
fn flows(files: &mut dyn Files) -> Result<Vec<Size>> {
    let mut capture = Capture::new(SENDER, open(SENDER, files)?)?;
    let mut sizes: BTreeMap<Flow, Size> = BTreeMap::new();
    while let Some(packet) = capture.next_packet()? {
        let flow = packet.flow;
        if sizes.len() == MOST_FLOWS && !sizes.contains_key(&flow) {
            let found = format!("more than {MOST_FLOWS} flows");
            let expected = "fewer: keep one, as with `tcpdump -r FILE -w FILE udp port N`";
            return Err(capture.error(ErrorKind::format(found, expected.replace('`', ""))));
        }
        let size = sizes.entry(flow).or_insert(Size {
            flow,
            packets: 0,
            bytes: 0,
            payloads: 0,
        });
        size.packets += 1;
        size.bytes += packet.length;
        size.payloads += u64::from(!packet.is_empty);
    }
    if sizes.is_empty() {
        let found = format!("no packet of IP among {} packets", capture.packets());
        let kind = ErrorKind::format(found, "packets of IP, with their headers");
        return Err(Error::new(kind).of_input(SENDER));
    }
    let mut sizes: Vec<Size> = sizes.into_values().collect();
    // The order of addresses stays for flows of one size.
    sizes.sort_by_key(|size| std::cmp::Reverse(size.bytes));
    Ok(sizes)
}

/// The flow that `settings` choose, which is reported with the largest others.
fn choose(
    flows: &[Size],
    settings: &mut Given,
    note: &mut dyn FnMut(Remark),
) -> Result<Size, ImportError> {
    let number: u64 = settings.get(FLOW).unwrap_or(1);
    let listed = (1_u64..).zip(flows).map(|(number, size)| {
        format!(
            "{number}: {}, {} packets, {} B",
            size.flow, size.packets, size.bytes
        )
    });
    let place = usize::try_from(number - 1).unwrap_or(usize::MAX);
    let Some(chosen) = flows.get(place) else {
        let listed: Vec<String> = listed.take(LISTED).collect();
        let refusal = format!(
            "`{FLOW}` {number}: the sender's capture has {} ({}{})",
            super::finding::counted(flows.len() as u64, "flow"),
            listed.join("; "),
            if flows.len() > LISTED { "; …" } else { "" }
        );
        return Err(ImportError::Refused(refusal));
    };
    let others = listed.enumerate().filter(|(at, _)| *at != place);
    let others: Vec<String> = others.map(|(_, text)| text).take(LISTED).collect();
    let mut text = format!("flow {}, {} packets", chosen.flow, chosen.packets);
    if !others.is_empty() {
        text.push_str(&format!("; others: {}", others.join("; ")));
    }
    if flows.len() > 1 && !settings.has(FLOW) {
        note(Remark::assumed(format!("{text} (`{FLOW}`)")));
    } else {
        note(Remark::fact(text));
    }
    settings.set(FLOW, number.to_string());
    Ok(*chosen)
}

#[cfg(test)]
mod tests;

//! Probes: packets that were sent to sample delay and loss, as ping, irtt and their like record them.
//!
//! A format reads its files into [`Record`]s, in the order of the file. [`open`] does the rest, the same for all: the order
//! of sending, lost packets at the times of their missing numbers (`sequence.rs`), delays without propagation
//! (`delays.rs`), the head, and what is to be said of all that (docs/trace-format.md, Sec. 12.1). Memory is bounded.

mod delays;
mod direction;
mod sequence;

use super::{
    Files, Finding, Given, Import, ImportError, Importer, Kind, Parameter, Remark, Slots,
    decode_delay, rate_bps, set_rtt,
};
use crate::format::import::catalogue::{POLARITY_SUSPECTED, RATE_OF_PROBES};
use crate::types::{Bytes, Error, ErrorKind, Metadata, Result, Slot, Span, Time};
use delays::Delays;
pub(super) use direction::{DIRECTION, Direction, Lost, Trip, Ways};
use sequence::Sequence;

/// Key of the time between packets.
pub(super) const INTERVAL: Parameter = Parameter::optional(
    "interval",
    Kind::PERIOD,
    "time between two packets; the times of the file are then not used [default: the times of the file]",
);

/// Key of the unit of the delays, of formats that have one.
pub(super) const DELAY_UNIT: &str = "delay-unit";

/// Offset added to every delay, ns, because the smallest is negative. A setting of this file, no key.
const OFFSET: &str = "offset-ns";

/// Key of the digit that means lost, of formats that have one.
pub(super) const LOST: &str = "lost";

/// Key of the propagation.
pub(super) const PROPAGATION: Parameter = Parameter::optional(
    "propagation",
    Kind::DurationOr("min"),
    "propagation P, removed from every delay: a duration, or `min` for the smallest delay of a received \
     packet [default: min; a pipe needs a duration]",
);

/// Key of delays that are round trips.
pub(super) const ROUND_TRIP: Parameter = Parameter::optional(
    "round-trip",
    Kind::Present,
    "the delays are round trips; half of each is the one-way delay",
);

/// Key of the size of a packet.
pub(super) const LLDU: Parameter = Parameter::optional(
    "lldu",
    Kind::Size,
    "size of a packet, written as `lldu_bytes` and, with an interval, used for `rate_bps`",
);

/// Key of the number of packets sent, of formats whose files do not have it.
pub(super) const PACKETS: Parameter = Parameter::optional(
    "packets",
    Kind::Count(1, u64::MAX),
    "number of packets sent, the first of which has number 0: those before the first and after the last one in the file \
     are lost [default: unknown]",
);

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    /// It was lost.
    Lost,
    /// It was received, with this delay in ns, which clocks that differ can make negative; `None` if it was not measured.
    Received(Option<i64>),
}

/// A packet as a file records it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record {
    /// Sequence number; `None` if the file has no numbers, so that its packets follow each other.
    pub(super) number: Option<u64>,
    /// When it was sent, ns since any time; `None` if the file does not say.
    pub(super) sent: Option<i64>,
    /// Its fate.
    pub(super) fate: Fate,
}

/// Totals of all packets that a file states, such as the summary of ping. All `None` if it states nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Totals {
    /// Number of the first packet that was sent.
    pub(super) first: Option<u64>,
    /// Packets sent.
    pub(super) sent: Option<u64>,
    /// Packets received, each once.
    pub(super) received: Option<u64>,
}

/// Source of the records of a file.
pub(super) trait Records: Send {
    /// The next record, in the order of the file; `None` at the end.
    ///
    /// # Errors
    /// The first invalid line.
    fn next_record(&mut self) -> Result<Option<Record>>;

    /// From which number on sequence numbers begin again at 0; `None` if they do not.
    fn modulus(&self) -> Option<u64> {
        None
    }

    /// Totals of all packets, as far as the file was read.
    fn totals(&self) -> Totals {
        Totals::default()
    }

    /// An error at the line read last.
    fn error(&self, kind: ErrorKind) -> Error {
        Error::new(kind)
    }

    /// Number of the line read last, from 1; 0 if it is not known.
    fn line(&self) -> u64 {
        0
    }

    /// Makes findings of what it can pass over and would otherwise refuse.
    fn be_lenient(&mut self) {}

    /// Peculiarities of the files themselves.
    fn findings(&self) -> Vec<Finding>;
}

/// Opens the files of a format; called twice if they are read twice.
type Make<'a> = dyn Fn(&Given, &mut dyn Files) -> Result<Box<dyn Records>> + 'a;

/// A format of probes, as [`open`] needs it.
pub(super) struct Shape<'a> {
    format: &'static Importer,
    /// Keys of the inputs.
    inputs: Vec<&'static str>,
    /// Key of the input that has the delays; `None` if the files have none.
    delays: Option<&'static str>,
    make: Box<Make<'a>>,
    /// Whether a conversion refuses negative delays.
    refuses_negative: bool,
}

impl<'a> Shape<'a> {
    /// A format whose input `delays` has the delays, if any has.
    pub(super) fn new<R: Records + 'static>(
        format: &'static Importer,
        delays: Option<&'static str>,
        make: impl Fn(&Given, &mut dyn Files) -> Result<R> + 'a,
    ) -> Self {
        let is_input = |key: &&Parameter| matches!(key.kind, Kind::Input | Kind::File);
        let inputs = format.keys.iter().filter(is_input);
        Self {
            format,
            inputs: inputs.map(|key| key.name).collect(),
            delays,
            make: Box::new(move |given, files| Ok(Box::new(make(given, files)?))),
            refuses_negative: false,
        }
    }

    /// The same of a format whose negative delays a conversion refuses: they may be marks of lost packets.
    pub(super) fn refusing_negative(self) -> Self {
        let refuses_negative = true;
        Self {
            refuses_negative,
            ..self
        }
    }

    /// The delays of the files, with the propagation that `settings` remove.
    fn delays(&self, settings: &Given) -> Delays {
        let place = self.delays.unwrap_or(self.inputs[0]);
        Delays::new(settings, place, self.refuses_negative)
    }
}

/// Starts a conversion; `settings` are the `given` values and what the format has assumed.
///
/// # Errors
/// A pipe that would have to be read twice, a file without send times without an interval, or an invalid first line.
pub(super) fn open(
    shape: &Shape<'_>,
    given: &Given,
    mut settings: Given,
    files: &mut dyn Files,
    note: &mut dyn FnMut(Remark),
) -> Result<Import, ImportError> {
    let typed = given.get::<Span>(PROPAGATION.name);
    let mut read = None;
    if shape.delays.is_none() {
        decode_delay(&mut settings, note);
    } else if typed.is_none() {
        let (slots, remarks) = first_pass(shape, &settings, files)?;
        let smallest = slots.delays.smallest().ok_or_else(|| {
            let kind = ErrorKind::format(
                "no received packet, so no smallest delay",
                "at least one, or a given propagation",
            );
            Error::new(kind).of_input(shape.inputs[0])
        })?;
        // Without a propagation in it, the recorded command aligns the clocks again.
        match slots.delays.lowest_negative() {
            Some(negative) => settings.set(OFFSET, negative.saturating_neg().to_string()),
            None => settings.set(PROPAGATION.name, smallest.to_string()),
        }
        read = slots.held.is_some().then_some((slots, remarks));
    }
    let mut head = Metadata::new();
    if let Some(lldu) = given.get::<Bytes>(LLDU.name) {
        head.set("lldu_bytes", lldu.0.to_string());
        let interval = given.get(INTERVAL.name);
        if let Some(rate) = interval.and_then(|interval| rate_bps(lldu, 1, interval)) {
            head.set("rate_bps", rate.to_string());
        }
    }
    // Of clocks that differ, the smallest delay says nothing about the propagation.
    let propagation = settings.get::<Span>(PROPAGATION.name);
    set_rtt(&mut head, given, propagation, note);
    if let Some(offset) = settings.text(OFFSET) {
        head.set("clock_offset_added_ns", offset);
    }
    if let Some(propagation) = propagation {
        let nanos = propagation.as_nanos();
        head.set("propagation_removed_ns", nanos.to_string());
        let how = match typed {
            Some(_) => "as given",
            None => "the smallest delay of a received packet",
        };
        let text = format!("propagation {propagation} ({how}) is removed from every delay");
        note(if given.has(PROPAGATION.name) {
            Remark::fact(text)
        } else {
            Remark::assumed(format!("{text} (`{}`)", PROPAGATION.name))
        });
    }
    if settings.has(ROUND_TRIP.name) {
        head.set("one_way_delay", "half of the measured round trip");
    }
    let slots = match read {
        Some((slots, remarks)) => {
            remarks.into_iter().for_each(note);
            slots.again(shape, &settings)
        }
        None => ProbeSlots::open(shape, &settings, files, note)?,
    };
    Ok(Import {
        head,
        settings,
        slots: Box::new(slots),
    })
}

/// Packets of a first pass that are held for the second, some 50 MB. If there are more, the files are read again.
const HELD: usize = if cfg!(test) { 64 } else { 1 << 20 };

/// A packet with the line of its record.
#[derive(Debug, Clone, Copy)]
struct Packet {
    since: i128,
    fate: Fate,
    line: u64,
}

/// First of two passes, for the smallest one-way delay of a received packet, with its remarks.
fn first_pass(
    shape: &Shape<'_>,
    settings: &Given,
    files: &mut dyn Files,
) -> Result<(ProbeSlots, Vec<Remark>), ImportError> {
    let name = PROPAGATION.name;
    let is_read = |key: &&&'static str| settings.has(key) || shape.inputs.len() == 1;
    let mut read = shape.inputs.iter().filter(is_read);
    if read.any(|key| !files.can_reopen(key)) {
        let refusal = format!(
            "`{name}` min reads the input twice, which a pipe does not allow: expected `{name}` with a duration"
        );
        return Err(ImportError::Refused(refusal));
    }
    let mut remarks = Vec::new();
    let mut slots = ProbeSlots::open(shape, settings, files, &mut |remark| remarks.push(remark))?;
    slots.held = Some(Vec::new());
    while slots.next_slot()?.is_some() {}
    Ok((slots, remarks))
}

/// The slots of a file of probes.
struct ProbeSlots {
    sequence: Sequence,
    /// In a first pass, all packets so far, unless there are too many.
    held: Option<Vec<Packet>>,
    /// In a second pass, the packets that the first has held.
    again: Option<std::vec::IntoIter<Packet>>,
    delays: Delays,
    packets: u64,
    lost: u64,
    /// The first lost slot.
    first_lost: Option<u64>,
    /// Key of the losses, of formats with the digit below: their last input.
    losses: &'static str,
    /// The digit that means lost, if the format has one.
    lost_digit: Option<u8>,
    /// Whether the size that a slot carries is given.
    has_lldu: bool,
}

impl ProbeSlots {
    /// Opens the files; `settings` define the meaning of their numbers.
    fn open(
        shape: &Shape<'_>,
        settings: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Self, ImportError> {
        let interval = settings.get::<Span>(INTERVAL.name);
        let mut sequence = Sequence::new((shape.make)(settings, files)?, interval);
        match sequence.has_times()? {
            Some(false) if interval.is_none() => {
                let refusal = format!(
                    "{} needs `{}`: the input contains no send times",
                    shape.format.name, INTERVAL.name
                );
                return Err(ImportError::Refused(refusal));
            }
            Some(true) if interval.is_some() && !sequence.has_numbers() => {
                let refusal = format!(
                    "`{}` does not apply to an input with times and without sequence numbers: which packets are missing is not known",
                    INTERVAL.name
                );
                return Err(ImportError::Refused(refusal));
            }
            Some(true) if interval.is_some() => note(Remark::fact(format!(
                "the send times of the input are not used (`{}`)",
                INTERVAL.name
            ))),
            _ => {}
        }
        Ok(Self {
            sequence,
            held: None,
            again: None,
            delays: shape.delays(settings),
            packets: 0,
            lost: 0,
            first_lost: None,
            losses: shape.inputs[shape.inputs.len() - 1],
            lost_digit: settings
                .text(LOST)
                .map(|digit| b'0' + u8::from(digit == "1")),
            has_lldu: settings.has(LLDU.name),
        })
    }

    /// The same packets once more, under other settings of their delays.
    fn again(self, shape: &Shape<'_>, settings: &Given) -> Self {
        Self {
            again: self.held.map(Vec::into_iter),
            held: None,
            delays: shape.delays(settings),
            packets: 0,
            lost: 0,
            first_lost: None,
            ..self
        }
    }

    fn next_packet(&mut self) -> Result<Option<Packet>> {
        if let Some(again) = &mut self.again {
            return Ok(again.next());
        }
        let Some((since, fate)) = self.sequence.next()? else {
            return Ok(None);
        };
        let line = self.sequence.line();
        let packet = Packet { since, fate, line };
        if let Some(held) = &mut self.held {
            if held.len() < HELD {
                held.push(packet);
            } else {
                self.held = None;
            }
        }
        Ok(Some(packet))
    }
}

impl Slots for ProbeSlots {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        let Some(Packet { since, fate, line }) = self.next_packet()? else {
            return Ok(None);
        };
        let delay = match fate {
            Fate::Lost => Span::ZERO,
            Fate::Received(delay) => self.delays.decoding_delay(delay, line),
        };
        let too_large = |sum| Error::new(ErrorKind::SumTooLarge { sum });
        let tx_time = u64::try_from(since).ok().and_then(Time::from_nanos);
        let tx_time = tx_time.ok_or_else(|| too_large("packet number × interval"))?;
        self.packets += 1;
        if fate == Fate::Lost {
            self.lost += 1;
            self.first_lost.get_or_insert(self.packets - 1);
        }
        let slot = Slot::new(tx_time, delay);
        slot.map(Some).ok_or_else(|| too_large("send time + delay"))
    }

    fn be_lenient(&mut self) {
        self.sequence.be_lenient();
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.sequence.records().findings();
        findings.extend(self.sequence.findings());
        findings.extend(self.delays.findings());
        if !self.has_lldu && self.packets > 0 {
            let text = format!(
                "a slot is one probe: the trace has the rate of the probes, not the capacity of the link (`{}` states what a slot carries)",
                LLDU.name
            );
            findings.push(Finding::of(&RATE_OF_PROBES, self.packets, "packets", text));
        }
        if let Some(digit) = self.lost_digit.filter(|_| self.lost * 2 > self.packets) {
            let as_read = digit - b'0';
            let text = format!(
                "{}: {} of {} packets are lost if {as_read} means lost; perhaps {} means lost in this file (`{LOST}`)",
                self.losses,
                self.lost,
                self.packets,
                1 - as_read
            );
            let finding = Finding::of(&POLARITY_SUSPECTED, self.lost, "packets", text);
            findings.push(finding.at_slot(self.first_lost));
        }
        findings
    }
}

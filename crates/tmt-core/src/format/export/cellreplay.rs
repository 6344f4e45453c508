//! Files of CellReplay: delivery opportunities of a saturated link (heavy), and trains of packets on an idle one (light)
//! (docs/trace-format.md, Sec. 14.2).
//!
//! A line of the light file has the time of a train in ms, the one-way delay of its first packet, and when each packet of the
//! train is delivered after the first. An opportunity has 1400 B (`cellular_queue` of CellReplay).

use std::io::{BufWriter, Write};

use super::opportunities::{ERASED, Opportunities, RESCALE};
use super::seen::Seen;
use super::{ADD_PROPAGATION, Export, ExportError, Exporter, LLDU, Outputs, propagation};
use crate::format::foreign::Carries;
use crate::format::import::cellreplay::OPPORTUNITY;
use crate::format::import::{Finding, Given, Remark};
use crate::types::named::{Kind, Parameter, Rule};
use crate::types::{Metadata, Slot, Span, Time};

const HEAVY: &str = "to-heavy";
const LIGHT: &str = "to-light";

/// Fewest lines of a light file that CellReplay takes.
const LEAST_LINES: u64 = 3;

/// Nanoseconds per millisecond.
const MILLISECOND: u64 = 1_000_000;

const EVERY: Parameter = Parameter::optional(
    "train-every",
    Kind::PERIOD,
    "time between two trains of the light file [default: 200ms]",
)
.when(Rule::With(LIGHT));

const TRAIN: Parameter = Parameter::optional(
    "train",
    Kind::Count(1, u64::MAX),
    "packets of a train: as many slots that are received from its time on, but before the next train [default: 10]",
)
.when(Rule::With(LIGHT));

const KEYS: [Parameter; 8] = [
    Parameter::optional(HEAVY, Kind::File, "file for the delivery opportunities, ms"),
    Parameter::optional(
        LIGHT,
        Kind::File,
        "file for the trains: time, delay and opportunities, ms",
    ),
    EVERY,
    TRAIN,
    ADD_PROPAGATION,
    ERASED,
    RESCALE,
    LLDU,
];

/// Exporter to files of CellReplay.
pub static FORMAT: Exporter = Exporter {
    name: "cellreplay",
    about: "opportunities of 1400 B in ms (heavy), and trains with their delay (light)",
    carries: Carries::NOTHING.capacity().delay(),
    keys: &KEYS,
    open: |given, head, outputs, note| {
        let (has_heavy, has_light) = (given.has(HEAVY), given.has(LIGHT));
        if !has_heavy && !has_light {
            let refusal = format!("{} needs `{HEAVY}`, `{LIGHT}` or both", FORMAT.name);
            return Err(ExportError::Refused(refusal));
        }
        for (key, is_given, what) in [
            (HEAVY, has_heavy, "the capacity"),
            (LIGHT, has_light, "delays"),
        ] {
            if !is_given {
                note(Remark::not_carried(format!(
                    "{what} are not carried (`{key}`), without which CellReplay does not run"
                )));
            }
        }
        let light = if has_light {
            Some(Light::open(given, head, outputs, note)?)
        } else {
            None
        };
        let heavy = if has_heavy {
            let out = outputs.create(HEAVY)?;
            let heavy = Opportunities::open("CellReplay", OPPORTUNITY, given, head, out, note)?;
            Some(heavy)
        } else {
            None
        };
        Ok(Box::new(CellReplay { heavy, light }))
    },
};

/// Files that are being written.
struct CellReplay {
    heavy: Option<Opportunities>,
    light: Option<Light>,
}

impl Export for CellReplay {
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError> {
        for slot in slots {
            if let Some(heavy) = &mut self.heavy {
                heavy.slot(slot)?;
            }
            if let Some(light) = &mut self.light {
                light.slot(slot)?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Finding>, ExportError> {
        let mut findings = Vec::new();
        if let Some(light) = self.light {
            findings.extend(light.finish()?);
        }
        if let Some(heavy) = self.heavy {
            for finding in heavy.finish()? {
                let is_known = findings
                    .iter()
                    .any(|known: &Finding| known.name == finding.name);
                // The light file has delays.
                let is_carried = finding.name == "delays-not-carried" && !findings.is_empty();
                if !is_known && !is_carried {
                    findings.push(finding);
                }
            }
        }
        Ok(findings)
    }
}

/// The nearest millisecond.
fn nearest(nanos: u64) -> u64 {
    nanos / MILLISECOND + u64::from(nanos % MILLISECOND >= MILLISECOND / 2)
}

/// A light file that is being written.
struct Light {
    out: BufWriter<Box<dyn Write + Send>>,
    every: Span,
    packets: u64,
    /// Propagation.
    added: Span,
    /// When the next train may begin.
    next: Time,
    /// The train that has begun: arrival of its first packet, the last opportunity in ms, and its packets.
    train: Option<(Time, u64, u64)>,
    lines: u64,
    /// Packets of trains that arrived before one that was sent earlier.
    overtaking: u64,
    rounded: u64,
    unused: u64,
    seen: Seen,
    head: Metadata,
}

impl Light {
    fn open(
        given: &Given,
        head: &Metadata,
        outputs: &mut dyn Outputs,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Self, ExportError> {
        let every = given.get(EVERY.name).unwrap_or(Span::from_millis(200));
        if every < Span::from_millis(1) {
            return Err(ExportError::Refused(format!(
                "`{}` {every}: expected at least 1ms, because lines have times in ms",
                EVERY.name
            )));
        }
        let packets = given.get(TRAIN.name).unwrap_or(10);
        for (key, value) in [(EVERY, every.to_string()), (TRAIN, packets.to_string())] {
            if !given.has(key.name) {
                note(Remark::assumed(format!("`{}` {value}", key.name)));
            }
        }
        Ok(Self {
            out: BufWriter::new(outputs.create(LIGHT)?),
            every,
            packets,
            added: propagation(given, head, note),
            next: Time::ZERO,
            train: None,
            lines: 0,
            overtaking: 0,
            rounded: 0,
            unused: 0,
            seen: Seen::default(),
            head: head.clone(),
        })
    }

    fn slot(&mut self, slot: &Slot) -> Result<(), ExportError> {
        self.seen.slot(slot);
        let Some(arrival) = slot.arrival() else {
            return Ok(());
        };
        let (sent, delay) = (slot.tx_time(), slot.decode_delay());
        if sent >= self.next {
            if self.train.is_some() {
                writeln!(self.out)?;
            }
            // The first multiple of the distance after the time of this train.
            let passed = sent.as_nanos() / self.every.as_nanos() + 1;
            let next = self.every.checked_mul(passed);
            self.next = next.map_or(Time::MAX, |next| Time::ZERO.saturating_add(next));
            let delay = delay.as_nanos() + self.added.as_nanos();
            let (time, base) = (nearest(sent.as_nanos()), nearest(delay));
            self.rounded += u64::from(
                !sent.as_nanos().is_multiple_of(MILLISECOND) || !delay.is_multiple_of(MILLISECOND),
            );
            write!(self.out, "{time} {base} 0")?;
            self.train = Some((arrival, 0, 1));
            self.lines += 1;
            return Ok(());
        }
        match &mut self.train {
            Some((first, last, packets)) if *packets < self.packets => {
                let after = arrival.as_nanos().saturating_sub(first.as_nanos());
                let opportunity = nearest(after);
                self.overtaking += u64::from(opportunity < *last || arrival < *first);
                self.rounded += u64::from(!after.is_multiple_of(MILLISECOND));
                *last = opportunity.max(*last);
                *packets += 1;
                write!(self.out, " {last}")?;
            }
            _ => self.unused += 1,
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Finding>, ExportError> {
        if self.lines < LEAST_LINES {
            return Err(ExportError::Trace(format!(
                "found {} of the light file, expected at least {LEAST_LINES} for CellReplay: a smaller `{}`",
                match self.lines {
                    1 => "1 train".to_owned(),
                    lines => format!("{lines} trains"),
                },
                EVERY.name
            )));
        }
        writeln!(self.out)?;
        self.out.flush()?;
        let mut findings = Vec::new();
        findings.extend(self.seen.losses_lost(
            "left out: packets wait for the next opportunity instead of being lost in CellReplay",
        ));
        if self.unused > 0 {
            let text = format!(
                "{} slots between trains: their delays are not in the light file, and CellReplay interpolates (`{}`, `{}`)",
                self.unused, EVERY.name, TRAIN.name
            );
            findings
                .push(Finding::note("between-trains", self.unused, "slots", text).not_carried());
        }
        if self.overtaking > 0 {
            let text = format!(
                "packets of trains that arrive before one that was sent earlier, {} in all, are delivered with it: the order of arrival is not carried",
                self.overtaking
            );
            findings.push(
                Finding::note("order-not-carried", self.overtaking, "packets", text).not_carried(),
            );
        }
        if self.rounded > 0 {
            let text = format!(
                "{} times of the light file are rounded to the nearest millisecond, by up to 0.5 ms",
                self.rounded
            );
            findings
                .push(Finding::note("times-rounded", self.rounded, "times", text).not_carried());
        }
        findings.extend(self.seen.probes(&self.head));
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use proptest::prelude::*;

    use super::super::testing::{export, slot};
    use super::*;
    use crate::format::import::{self, Effect, Files};

    const MS: u64 = 1_000_000;

    struct Text(String);

    impl Files for Text {
        fn open(&mut self, _: &'static str) -> std::io::Result<Box<dyn BufRead + Send>> {
            Ok(Box::new(std::io::Cursor::new(self.0.clone())))
        }

        fn can_reopen(&self, _: &'static str) -> bool {
            true
        }
    }

    proptest! {
        #[test]
        fn a_light_file_in_and_out_is_the_same(
            lines in prop::collection::vec((1_u64..90, prop::collection::vec(0_u64..5, 4)), 3..20)
        ) {
            let mut text = String::new();
            for (at, (delay, gaps)) in (0_u64..).zip(&lines) {
                text.push_str(&format!("{} {delay} 0", at * 200));
                let mut last = 0;
                for gap in gaps {
                    last += gap;
                    text.push_str(&format!(" {last}"));
                }
                text.push('\n');
            }
            let mut given = Given::default();
            for (key, value) in [("light", "l"), ("propagation", "0s")] {
                given.set(key, value);
            }
            let format = &import::cellreplay::FORMAT;
            let mut import = import::open(format, &given, &mut Text(text.clone()), &mut |_| {}).unwrap();
            let mut slots = Vec::new();
            while let Some(slot) = import.slots.next_slot().unwrap() {
                slots.push(slot);
            }
            let keys = [(LIGHT, "l"), ("train", "5")];
            let exported = export(&FORMAT, &keys, &[("propagation_removed_ns", "0")], &slots).unwrap();
            prop_assert_eq!(&exported.files[LIGHT], &text);
        }
    }

    #[test]
    fn a_train_has_the_slots_after_its_time_and_both_files_agree() {
        let slots: Vec<Slot> = (0..60)
            .map(|at| slot(at * 10 * MS, (3 + at % 2) * MS))
            .collect();
        let head = [("lldu_bytes", "1400"), ("rtt_ns", "40000000")];
        let keys = [(LIGHT, "l"), (HEAVY, "h"), ("train", "3")];
        let exported = export(&FORMAT, &keys, &head, &slots).unwrap();
        assert_eq!(
            exported.files[LIGHT],
            "0 23 0 11 20\n200 23 0 11 20\n400 23 0 11 20\n"
        );
        assert_eq!(exported.files[HEAVY].lines().count(), 60);
        assert!(exported.files[HEAVY].starts_with("0\n10\n20\n"));
        assert_eq!(exported.found("between-trains").unwrap().count, 60 - 9);
        assert!(exported.found("delays-not-carried").is_none());
        let assumed = exported
            .remarks
            .iter()
            .filter(|remark| remark.effect == Effect::Assumed);
        assert_eq!(assumed.count(), 1);
    }

    #[test]
    fn too_few_trains_and_no_files_are_refused() {
        let slots = [slot(0, 1), slot(200 * MS, 1)];
        let refused = export(&FORMAT, &[(LIGHT, "l")], &[], &slots);
        assert!(matches!(refused, Err(ExportError::Trace(_))));
        assert!(matches!(
            export(&FORMAT, &[], &[], &slots),
            Err(ExportError::Refused(_))
        ));
        let keys = [(LIGHT, "l"), ("train-every", "10us")];
        assert!(matches!(
            export(&FORMAT, &keys, &[], &slots),
            Err(ExportError::Refused(_))
        ));
    }
}

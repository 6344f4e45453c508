//! Pairs of files with one line per packet: its one-way delay in ns, and whether it was lost, as ebpf-trace-emu replays them
//! (docs/trace-format.md, Sec. 14.3).

use std::io::{BufWriter, Write};

use super::seen::Seen;
use super::{ADD_PROPAGATION, Export, ExportError, Exporter, propagation};
use crate::format::foreign::Carries;
use crate::format::import::{Finding, Remark};
use crate::types::named::{Kind, Parameter};
use crate::types::{Slot, Span};

const DELAY: &str = "to-delay";
const LOSS: &str = "to-loss";

const KEYS: [Parameter; 3] = [
    Parameter::optional(
        DELAY,
        Kind::File,
        "file for the delays, ns; 0 for a lost packet",
    ),
    Parameter::optional(LOSS, Kind::File, "file for the losses, 1 for a lost packet"),
    ADD_PROPAGATION,
];

/// Exporter to pairs of delay and loss files.
pub static FORMAT: Exporter = Exporter {
    name: "delay-loss",
    about: "a file of delays and a file of losses, one packet per line",
    carries: Carries::NOTHING.delay().loss().order(),
    keys: &KEYS,
    open: |given, head, outputs, note| {
        let (has_delay, has_loss) = (given.has(DELAY), given.has(LOSS));
        if !has_delay && !has_loss {
            let refusal = format!("{} needs `{DELAY}`, `{LOSS}` or both", FORMAT.name);
            return Err(ExportError::Refused(refusal));
        }
        let added = if has_delay {
            propagation(given, head, note)
        } else {
            note(Remark::not_carried(format!(
                "delays are not carried (`{DELAY}`)"
            )));
            Span::ZERO
        };
        if !has_loss {
            note(Remark::not_carried(format!(
                "losses are not carried (`{LOSS}`)"
            )));
        }
        let mut create = |key, is_wanted| {
            let created = if is_wanted {
                Some(outputs.create(key))
            } else {
                None
            };
            created.transpose().map(|out| out.map(BufWriter::new))
        };
        Ok(Box::new(DelayLoss {
            delay: create(DELAY, has_delay)?,
            loss: create(LOSS, has_loss)?,
            added,
            raised: head.get("propagation_removed_ns").is_some(),
            least: 0,
            seen: Seen::default(),
        }))
    },
};

type File = BufWriter<Box<dyn Write + Send>>;

/// A pair that is being written.
struct DelayLoss {
    delay: Option<File>,
    loss: Option<File>,
    /// Propagation.
    added: Span,
    /// Whether a delay of 1 ns may stand for less.
    raised: bool,
    /// Packets with a delay of 1 ns.
    least: u64,
    seen: Seen,
}

impl Export for DelayLoss {
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError> {
        for slot in slots {
            self.seen.slot(slot);
            self.least += u64::from(slot.decode_delay() == Slot::UNKNOWN_DELAY);
            if let Some(delay) = &mut self.delay {
                let nanos = if slot.is_erased() {
                    0
                } else {
                    slot.decode_delay().as_nanos() + self.added.as_nanos()
                };
                writeln!(delay, "{nanos}")?;
            }
            if let Some(loss) = &mut self.loss {
                loss.write_all(if slot.is_erased() { b"1\n" } else { b"0\n" })?;
            }
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<Finding>, ExportError> {
        let has_delay = self.delay.is_some();
        for mut file in self.delay.into_iter().chain(self.loss) {
            file.flush()?;
        }
        let mut findings: Vec<Finding> = self.seen.times_lost().into_iter().collect();
        if has_delay && self.raised && self.least > 0 {
            let text = format!(
                "{} of 1 ns beyond the propagation, which stand for the propagation or less in a PHY trace: the measured ones may be 1 ns shorter",
                match self.least {
                    1 => "1 delay".to_owned(),
                    least => format!("{least} delays"),
                }
            );
            findings.push(Finding::note("least-delays", self.least, "delays", text));
        }
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use proptest::prelude::*;

    use super::super::testing::{Exported, export, slot};
    use super::*;
    use crate::format::import::{self, Effect, Files, Given};

    const BOTH: [(&str, &str); 2] = [(DELAY, "d"), (LOSS, "l")];

    struct Pair(Exported);

    impl Files for Pair {
        fn open(&mut self, key: &'static str) -> std::io::Result<Box<dyn BufRead + Send>> {
            let text = self.0.files[if key == "delay" { DELAY } else { LOSS }].clone();
            Ok(Box::new(std::io::Cursor::new(text)))
        }

        fn can_reopen(&self, _: &'static str) -> bool {
            true
        }
    }

    /// The slots of a pair, packets 10 ms apart.
    fn read(pair: Exported, propagation: &str) -> Vec<Slot> {
        let mut given = Given::default();
        let keys = [
            ("delay", "d"),
            ("loss", "l"),
            ("interval", "10ms"),
            ("propagation", propagation),
        ];
        for (key, value) in keys {
            given.set(key, value);
        }
        let mut import = import::open(
            &import::delay_loss::FORMAT,
            &given,
            &mut Pair(pair),
            &mut |_| {},
        )
        .unwrap();
        let mut slots = Vec::new();
        while let Some(slot) = import.slots.next_slot().unwrap() {
            slots.push(slot);
        }
        slots
    }

    proptest! {
        #[test]
        fn a_trace_out_and_in_is_the_same(delays in prop::collection::vec(0_u64..1_000_000_000, 1..100), propagation in 0_u64..1_000_000) {
            let slots: Vec<Slot> = (0_u64..).zip(&delays).map(|(at, delay)| slot(at * 10_000_000, *delay)).collect();
            let typed = format!("{propagation}ns");
            let head = [("propagation_removed_ns", &*propagation.to_string())];
            let exported = export(&FORMAT, &BOTH, &head, &slots).unwrap();
            prop_assert_eq!(read(exported, &typed), slots);
        }
    }

    #[test]
    fn the_propagation_is_added_and_a_lost_packet_has_no_delay() {
        let slots = [slot(0, 5), slot(10, 0), slot(20, 7)];
        for (keys, head, delays, assumed) in [
            (&[][..], &[][..], "5\n0\n7\n", true),
            (&[], &[("rtt_ns", "200")], "105\n0\n107\n", false),
            (
                &[],
                &[("rtt_ns", "200"), ("propagation_removed_ns", "30")],
                "35\n0\n37\n",
                false,
            ),
            (
                &[("add-propagation", "1us")],
                &[("rtt_ns", "200")],
                "1005\n0\n1007\n",
                false,
            ),
        ] {
            let keys = [&BOTH[..], keys].concat();
            let exported = export(&FORMAT, &keys, head, &slots).unwrap();
            assert_eq!(exported.files[DELAY], delays, "{head:?}");
            assert_eq!(exported.files[LOSS], "0\n1\n0\n");
            let has_assumed = exported
                .remarks
                .iter()
                .any(|remark| remark.effect == Effect::Assumed);
            assert_eq!(has_assumed, assumed, "{head:?}");
        }
    }

    #[test]
    fn one_file_alone_says_what_is_missing_and_none_is_refused() {
        let slots = [slot(0, 5), slot(11, 0), slot(20, 7)];
        let exported = export(&FORMAT, &[(LOSS, "l")], &[], &slots).unwrap();
        assert_eq!(exported.files.len(), 1);
        assert_eq!(exported.remarks[0].effect, Effect::NotCarried);
        assert_eq!(
            exported.found("send-times").unwrap().effect,
            Effect::NotCarried
        );
        assert!(matches!(
            export(&FORMAT, &[], &[], &slots),
            Err(ExportError::Refused(_))
        ));
    }
}

//! Losses for the `ReceiveListErrorModel` of ns-3: the ordinals of the packets that are lost, from 0, in the order in which
//! the device receives them (docs/trace-format.md, Sec. 14.5).

use std::io::{BufWriter, Write};

use super::seen::Seen;
use super::{Export, ExportError, Exporter, OUTPUT};
use crate::format::foreign::Carries;
use crate::format::import::{Finding, Remark};
use crate::types::Slot;
use crate::types::named::{Kind, Parameter};

/// Ordinals per line.
const PER_LINE: u64 = 16;

const AS: Parameter = Parameter::optional(
    "as",
    Kind::Words(&["list", "cpp"]),
    "form of the list: list, numbers that a C++ initialiser list can include, or cpp, a snippet that makes the model [default: list]",
);

/// Exporter to lists of losses.
pub static FORMAT: Exporter = Exporter {
    name: "ns3",
    about: "positions of lost packets from 0, for ReceiveListErrorModel of ns-3",
    carries: Carries::NOTHING.loss(),
    keys: &[AS],
    open: |given, _, outputs, note| {
        note(Remark::not_carried(
            "the list says nothing of packets after the last lost one: ns-3 receives all that follow",
        ));
        let mut list = List {
            out: BufWriter::new(outputs.create(OUTPUT)?),
            is_code: given.text(AS.name) == Some("cpp"),
            lost: 0,
            seen: Seen::default(),
        };
        if list.is_code {
            list.out.write_all(
                b"// Positions of lost packets, from 0, in the order in which the device receives them.\n\
                  Ptr<ReceiveListErrorModel> losses = CreateObject<ReceiveListErrorModel>();\n\
                  losses->SetList({",
            )?;
        }
        Ok(Box::new(list))
    },
};

/// A list that is being written.
struct List {
    out: BufWriter<Box<dyn Write + Send>>,
    is_code: bool,
    /// Ordinals written.
    lost: u64,
    seen: Seen,
}

impl Export for List {
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError> {
        for slot in slots {
            let position = self.seen.slots;
            self.seen.slot(slot);
            if !slot.is_erased() {
                continue;
            }
            if position > u64::from(u32::MAX) {
                return Err(ExportError::Trace(format!(
                    "found a lost packet at position {position}, expected at most {}: ns-3 has 32 bits for it",
                    u32::MAX
                )));
            }
            let separator = match (self.lost, self.lost.is_multiple_of(PER_LINE), self.is_code) {
                (0, _, false) => "",
                (0, _, true) => "\n    ",
                (_, true, false) => ",\n",
                (_, true, true) => ",\n    ",
                (_, false, false) => ",",
                (_, false, true) => ", ",
            };
            write!(self.out, "{separator}{position}")?;
            self.lost += 1;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<Vec<Finding>, ExportError> {
        self.out
            .write_all(if self.is_code { b"});\n" } else { b"\n" })?;
        self.out.flush()?;
        let mut findings = Vec::new();
        findings.extend(self.seen.delays_lost(""));
        findings.extend(self.seen.times_lost());
        findings.extend(self.seen.order_lost());
        if self.lost > 0 {
            let text = format!(
                "{} of {} packets are lost; ns-3 looks through the list for every packet",
                self.lost, self.seen.slots
            );
            findings.push(Finding::note("list", self.lost, "packets", text));
        }
        Ok(findings)
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufRead;

    use proptest::prelude::*;

    use super::super::testing::{export, slot};
    use super::*;
    use crate::format::import::{self, Files, Given};

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
        fn a_list_out_and_in_is_the_same(lost in prop::collection::vec(any::<bool>(), 1..200)) {
            let fate = |(at, lost): (u64, &bool)| slot(at * 1_000_000, u64::from(!lost));
            let slots: Vec<Slot> = (0..).zip(&lost).map(fate).collect();
            let list = export(&FORMAT, &[], &[], &slots).unwrap().text().to_owned();
            let mut given = Given::default();
            let packets = lost.len().to_string();
            for (key, value) in [("interval", "1ms"), ("decode-delay", "1ns"), ("packets", &packets)] {
                given.set(key, value);
            }
            let mut import =
                import::open(&import::ns3::FORMAT, &given, &mut Text(list), &mut |_| {}).unwrap();
            let mut read = Vec::new();
            while let Some(slot) = import.slots.next_slot().unwrap() {
                read.push(slot);
            }
            prop_assert_eq!(read, slots);
        }
    }

    /// Packets 1 ms apart, lost at these positions.
    fn slots(lost: &[u64]) -> Vec<Slot> {
        let fate = |at: u64| slot(at * 1_000_000, u64::from(!lost.contains(&at)));
        (0..40).map(fate).collect()
    }

    #[test]
    fn positions_count_from_0_and_include_received_packets() {
        let exported = export(&FORMAT, &[], &[], &slots(&[0, 7, 8])).unwrap();
        assert_eq!(exported.text(), "0,7,8\n");
        assert_eq!(exported.found("list").unwrap().count, 3);
        assert!(exported.found("delays-not-carried").is_none());
    }

    #[test]
    fn long_lists_have_lines_and_code_an_initialiser() {
        let lost: Vec<u64> = (0..18).collect();
        let list = export(&FORMAT, &[], &[], &slots(&lost)).unwrap();
        assert_eq!(
            list.text(),
            "0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,\n16,17\n"
        );
        let code = export(&FORMAT, &[("as", "cpp")], &[], &slots(&[3, 5])).unwrap();
        assert!(
            code.text().ends_with("losses->SetList({\n    3, 5});\n"),
            "{}",
            code.text()
        );
    }

    #[test]
    fn a_trace_without_losses_gives_an_empty_list() {
        assert_eq!(export(&FORMAT, &[], &[], &slots(&[])).unwrap().text(), "\n");
        let code = export(&FORMAT, &[("as", "cpp")], &[], &slots(&[])).unwrap();
        assert!(code.text().ends_with("SetList({});\n"));
    }
}

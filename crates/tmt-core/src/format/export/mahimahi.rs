//! Capacity traces of mahimahi: one delivery opportunity per line, in whole milliseconds (docs/trace-format.md,
//! Sec. 14.1).
//!
//! mm-link repeats the file after its last time, and an opportunity serves 1504 bytes (`link_queue.cc` of mahimahi). The files
//! that its recorder writes hold what arrived, so an erased slot is no opportunity.

use super::opportunities::{ERASED, Opportunities, RESCALE, propagation_hint};
use super::{Export, ExportError, Exporter, LLDU, OUTPUT};
use crate::format::foreign::Carries;
use crate::format::import::Finding;
use crate::format::import::mahimahi::OPPORTUNITY;
use crate::types::Slot;

/// Exporter to mahimahi traces.
pub static FORMAT: Exporter = Exporter {
    name: "mahimahi",
    about: "one delivery opportunity of 1504 B per line, in whole milliseconds",
    carries: Carries::NOTHING.capacity(),
    keys: &[ERASED, RESCALE, LLDU],
    open: |given, head, outputs, note| {
        if let Some(remark) = propagation_hint(head, "mm-delay adds one") {
            note(remark);
        }
        let out = outputs.create(OUTPUT)?;
        let file = Opportunities::open(FORMAT.name, OPPORTUNITY, given, head, out, note)?;
        Ok(Box::new(Mahimahi(file)))
    },
};

/// A file that is being written.
struct Mahimahi(Opportunities);

impl Export for Mahimahi {
    fn put(&mut self, slots: &[Slot]) -> Result<(), ExportError> {
        slots.iter().try_for_each(|slot| self.0.slot(slot))
    }

    fn finish(self: Box<Self>) -> Result<Vec<Finding>, ExportError> {
        self.0.finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{Exported, export, slot};
    use super::*;
    use crate::format::import::mahimahi::Mahimahi as Reader;
    use crate::format::import::{Effect, Slots};
    use crate::types::Span;

    const HEAD: [(&str, &str); 1] = [("lldu_bytes", "1504")];

    fn written(keys: &[(&'static str, &str)], slots: &[Slot]) -> Exported {
        export(&FORMAT, keys, &HEAD, slots).unwrap()
    }

    /// The slots of a file.
    fn read(text: &str) -> Vec<Slot> {
        let delay = Span::from_nanos(1).unwrap();
        let mut trace = Reader::new(std::io::Cursor::new(text.to_owned()), delay);
        let mut slots = Vec::new();
        while let Some(slot) = trace.next_slot().unwrap() {
            slots.push(slot);
        }
        slots
    }

    proptest! {
        #[test]
        fn a_file_in_and_out_is_the_same(gaps in prop::collection::vec(0_u64..50, 1..200), last in 1_u64..9) {
            let mut now = 0;
            let mut text = String::new();
            for gap in gaps {
                now += gap;
                text.push_str(&format!("{now}\n"));
            }
            text.push_str(&format!("{}\n", now + last));
            let exported = written(&[], &read(&text));
            prop_assert_eq!(exported.text(), &text);
            prop_assert!(exported.findings.iter().all(|finding| finding.effect == Effect::Fact));
        }
    }

    #[test]
    fn erased_slots_are_left_out_or_kept_and_reported_either_way() {
        let slots = [slot(1_000_000, 1), slot(2_000_000, 0), slot(3_000_000, 1)];
        let left_out = written(&[], &slots);
        assert_eq!(left_out.text(), "1\n3\n");
        let found = left_out.found("losses-not-carried").unwrap();
        assert_eq!((found.count, found.effect), (1, Effect::NotCarried));
        assert!(
            found.text.starts_with("1 lost slot (33.33 %) left out"),
            "{found}"
        );
        let kept = written(&[("erased", "keep")], &slots);
        assert_eq!(kept.text(), "1\n2\n3\n");
        assert!(kept.found("losses-not-carried").is_some());
    }

    #[test]
    fn times_are_rounded_to_the_nearest_millisecond() {
        let slots = [slot(1_499_999, 1), slot(1_500_000, 1), slot(3_000_000, 7)];
        let exported = written(&[], &slots);
        assert_eq!(exported.text(), "1\n2\n3\n");
        assert_eq!(exported.found("times-rounded").unwrap().count, 2);
        let delays = exported.found("delays-not-carried").unwrap();
        assert!(delays.text.contains("from 1ns to 7ns"), "{delays}");
    }

    #[test]
    fn slots_of_another_size_need_rescaling_which_keeps_the_bytes() {
        let slots: Vec<Slot> = (1..=1000).map(|ms| slot(ms * 1_000_000, 1)).collect();
        for (lldu, lines) in [("100", 66), ("1504", 1000), ("4512", 3000), ("33", 21)] {
            let head = [("lldu_bytes", lldu)];
            let refused = export(&FORMAT, &[], &head, &slots);
            assert_eq!(refused.is_err(), lldu != "1504", "{lldu}");
            let exported = export(&FORMAT, &[("rescale", "")], &head, &slots).unwrap();
            assert_eq!(exported.text().lines().count(), lines, "{lldu}");
        }
        assert!(export(&FORMAT, &[("rescale", "")], &[], &slots).is_err());
        let assumed = export(&FORMAT, &[], &[], &slots).unwrap();
        assert_eq!(assumed.remarks[0].effect, Effect::Assumed);
    }

    #[test]
    fn the_period_and_the_rate_are_reported() {
        let slots: Vec<Slot> = (1..=4).map(|ms| slot(ms * 1_000_000, 1)).collect();
        let exported = written(&[], &slots);
        let period = &exported.found("period").unwrap().text;
        assert!(
            period.contains("after 4 ms") && period.contains("12032000 bps"),
            "{period}"
        );
    }

    #[test]
    fn a_trace_without_opportunities_after_0_ms_is_refused() {
        for slots in [&[][..], &[slot(5_000_000, 0)], &[slot(100, 1)]] {
            let refused = export(&FORMAT, &[], &HEAD, slots);
            assert!(matches!(refused, Err(ExportError::Trace(_))), "{slots:?}");
        }
    }

    #[test]
    fn probes_are_no_capacity() {
        let head = [HEAD[0], ("trace_kind", "probe")];
        let exported = export(&FORMAT, &[], &head, &[slot(1_000_000, 1)]).unwrap();
        assert_eq!(
            exported.found("rate-of-probes").unwrap().effect,
            Effect::Assumed
        );
    }
}

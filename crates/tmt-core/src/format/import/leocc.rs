//! Pairs of traces of LeoReplayer: delivery opportunities, and the one-way delay over time (docs/trace-format.md,
//! Sec. 12.9).
//!
//! The bandwidth trace is one of mahimahi. Line i (from 1) of the delay file is the delay in whole ms of what is sent from
//! (i − 1) bins on, up to i bins; LeoReplayer begins again with the first after the last. Both count from the same zero:
//! <https://github.com/SpaceNetLab/LeoCC>, `leoreplayer`.

use std::io::BufRead;

use super::finding::counted;
use super::mahimahi::{Mahimahi, OPPORTUNITY, mean_rate_of};
use super::probe::PROPAGATION;
use super::{
    Files, Finding, Given, Import, ImportError, Importer, Key, Lines, RTT, Remark, Rule, Slots,
    ValueKind, set_rtt, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Metadata, Result, Slot, Span, TraceKind};

const BANDWIDTH: &str = "bandwidth";
const DELAY: &str = "delay";
const BIN: &str = "bin";

/// Most lines of a delay file, which memory holds with 4 bytes each: 23 hours of bins of 10 ms.
const MOST_BINS: usize = 1 << 23;

const KEYS: [Key; 5] = [
    Key::new(
        BANDWIDTH,
        ValueKind::File,
        "file of delivery opportunities, in ms, as of mahimahi; `-` for stdin",
    )
    .when(Rule::Required("the delays alone say nothing of the slots")),
    Key::new(DELAY, ValueKind::File, "file of delays, `-` for stdin").when(Rule::Required(
        "without delays the trace is one of mahimahi: convert it as such",
    )),
    Key::new(
        BIN,
        ValueKind::Period,
        "time that a line of the delay file covers [default: 10ms, as in the traces of LeoCC]",
    ),
    PROPAGATION,
    RTT,
];

/// Importer of pairs of bandwidth and delay.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "leocc"
    }

    fn about(&self) -> &'static str {
        "a bandwidth trace (mahimahi) and a file of delays over time together, as LeoReplayer replays them"
    }

    fn kind(&self) -> TraceKind {
        TraceKind::Capacity
    }

    fn carries(&self) -> Carries {
        Carries::NOTHING.capacity().delay().order()
    }

    fn recognises(&self, first: &[u8]) -> bool {
        // A file of whole ms that fall at times: no opportunities, which never do. Digits 0 and 1 are losses.
        let delays: Option<Vec<u64>> = whole_lines(first).map(|line| whole(line).ok()).collect();
        delays.is_some_and(|delays| {
            let most = delays.iter().max();
            !delays.is_sorted() && most.is_some_and(|most| (2..100_000).contains(most))
        })
    }

    fn keys(&self) -> &'static [Key] {
        &KEYS
    }

    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Import, ImportError> {
        let mut settings = given.clone();
        settings.assume(BIN, "10ms", "a line of the delay file covers 10ms", note);
        let bin: Span = settings.get(BIN).unwrap_or(Span::from_millis(10));
        let (delays, line_ends) = read_delays(files)?;
        let smallest = delays.iter().min().copied().unwrap_or(0);
        let smallest = Span::from_millis(smallest);
        let typed = given.get::<Span>(PROPAGATION.name);
        let propagation = typed.unwrap_or(smallest);
        let text = match typed {
            Some(_) => format!("propagation {propagation} (as given) is removed from every delay"),
            None => format!(
                "propagation {propagation} (the smallest delay of the file) is removed from every delay"
            ),
        };
        note(if given.has(PROPAGATION.name) {
            Remark::fact(text)
        } else {
            Remark::assumed(format!("{text} (`{}`)", PROPAGATION.name))
        });
        settings.set(PROPAGATION.name, propagation.to_string());
        let mut head = Metadata::new();
        head.set("lldu_bytes", OPPORTUNITY.0.to_string());
        head.set("packing", "bytes");
        if !files.can_reopen(BANDWIDTH) {
            note(Remark::not_carried(
                "the rate of a pipe is not known in advance; the head gets no rate_bps",
            ));
        } else if let Some(rate) =
            mean_rate_of(BANDWIDTH, files).map_err(|error| error.of_input(BANDWIDTH))?
        {
            head.set("rate_bps", rate.to_string());
        }
        set_rtt(&mut head, given, Some(propagation), note);
        head.set("propagation_removed_ns", propagation.as_nanos().to_string());
        let input = files.open(BANDWIDTH).map_err(Error::from)?;
        Ok(Import {
            head,
            settings,
            slots: Box::new(Pair {
                opportunities: Mahimahi::new(input, Span::ZERO),
                delays,
                bin,
                propagation,
                again: 0,
                below: 0,
                line_ends,
            }),
        })
    }
}

/// A line as a whole number.
fn whole(line: &[u8]) -> Result<u64, ErrorKind> {
    let line = line.trim_ascii();
    let text = std::str::from_utf8(line).ok();
    let digits = text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let found = format!("'{}'", shown(line));
        ErrorKind::format(found, "a delay in whole milliseconds")
    })
}

/// All delays, ms, and what is to be said of the line ends.
fn read_delays(files: &mut dyn Files) -> Result<(Vec<u32>, Option<Finding>)> {
    let at = |error: Error| error.of_input(DELAY);
    let input = files.open(DELAY).map_err(|error| at(error.into()))?;
    let mut lines: Lines<Box<dyn BufRead + Send>> = Lines::new(input);
    let mut delays = Vec::new();
    while lines.advance().map_err(at)? {
        let delay = whole(lines.text()).and_then(|delay| {
            u32::try_from(delay).map_err(|_| {
                ErrorKind::format(format!("a delay of {delay} ms"), "less than 2^32 ms")
            })
        });
        let delay = delay.map_err(|kind| at(lines.error(kind)))?;
        if delays.len() == MOST_BINS {
            let found = format!("more than {MOST_BINS} delays");
            let kind = ErrorKind::format(found, "at most so many: cut the pair into parts");
            return Err(at(lines.error(kind)));
        }
        delays.push(delay);
    }
    if delays.is_empty() {
        return Err(at(Error::new(ErrorKind::EmptyTrace)));
    }
    Ok((delays, lines.finding(DELAY)))
}

/// The slots of a pair.
struct Pair {
    opportunities: Mahimahi<Box<dyn BufRead + Send>>,
    /// Delay of each bin, ms.
    delays: Vec<u32>,
    bin: Span,
    propagation: Span,
    /// Slots after the last bin, and slots with a delay below the propagation.
    again: u64,
    below: u64,
    line_ends: Option<Finding>,
}

impl Slots for Pair {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        let slot = self.opportunities.next_slot();
        let Some(slot) = slot.map_err(|error| error.of_input(BANDWIDTH))? else {
            return Ok(None);
        };
        let at = slot.tx_time();
        let bins = self.delays.len() as u64;
        let bin = at.as_nanos() / self.bin.as_nanos();
        self.again += u64::from(bin >= bins);
        let delay = usize::try_from(bin % bins).ok();
        let delay = delay.and_then(|bin| self.delays.get(bin)).copied();
        let delay = Span::from_millis(delay.unwrap_or(0));
        self.below += u64::from(delay < self.propagation);
        let nanos = delay.saturating_sub(self.propagation).as_nanos().max(1);
        let decode_delay = Span::from_nanos(nanos).unwrap_or(Span::MAX);
        let slot = Slot::new(at, decode_delay);
        slot.map(Some).ok_or_else(|| {
            let kind = ErrorKind::SumTooLarge {
                sum: "time + delay",
            };
            Error::new(kind).of_input(DELAY)
        })
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self
            .opportunities
            .line_ends(BANDWIDTH)
            .into_iter()
            .collect();
        findings.extend(self.line_ends.clone());
        if self.again > 0 {
            let text = format!(
                "{DELAY}: {} after the last delay: the delays begin again with the first, as in LeoReplayer",
                counted(self.again, "slot")
            );
            findings.push(Finding::note("delays-repeated", self.again, "slots", text));
        }
        if self.below > 0 {
            let text = format!(
                "{DELAY}: {} with a delay below the propagation of {}, taken as 1 ns",
                counted(self.below, "slot"),
                self.propagation
            );
            let finding = Finding::warning("delays-below-propagation", self.below, "slots", text);
            findings.push(finding.not_carried());
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::Effect;
    use super::super::testing::{Converted, Inputs, refusal, try_convert};
    use super::*;

    fn inputs(bandwidth: &str, delay: &str) -> Inputs {
        Inputs {
            files: vec![(BANDWIDTH, bandwidth.into()), (DELAY, delay.into())],
            can_reopen: true,
        }
    }

    const BOTH: [(&str, &str); 2] = [(BANDWIDTH, "a"), (DELAY, "b")];

    fn convert(bandwidth: &str, delay: &str, keys: &[(&'static str, &str)]) -> Converted {
        let keys = [&BOTH, keys].concat();
        try_convert(&Format, inputs(bandwidth, delay), &keys).unwrap_or_else(|e| panic!("{e}"))
    }

    #[test]
    fn a_slot_has_the_delay_of_its_bin_less_the_propagation() {
        let found = convert("0\n9\n10\n10\n29\n30\n41\n", "7\n9\r\n12\n", &[]);
        let ms: Vec<_> = found
            .slots
            .iter()
            .map(|(at, d)| (at / 1_000_000, *d))
            .collect();
        let expected = [
            (0, 1),
            (9, 1),
            (10, 2_000_000),
            (10, 2_000_000),
            (29, 5_000_000),
            (30, 1),
            (41, 2_000_000),
        ];
        assert_eq!(ms, expected);
        let head = |key| found.head.get(key).map(str::to_owned);
        assert_eq!(head("propagation_removed_ns").as_deref(), Some("7000000"));
        assert_eq!(head("rtt_ns").as_deref(), Some("14000000"));
        assert_eq!(head("trace_kind").as_deref(), Some("capacity"));
        // 7 · 1504 B in 41 ms.
        assert_eq!(head("rate_bps").as_deref(), Some("2054244"));
        assert_eq!(found.names(), ["mixed-line-ends", "delays-repeated"]);
        assert_eq!(found.count("delays-repeated"), 2);
    }

    #[test]
    fn bins_and_propagation_can_be_given() {
        let keys = [(BIN, "20ms"), ("propagation", "8ms")];
        let found = convert("0\n19\n20\n", "7\n9\n", &keys);
        assert_eq!(found.delays(), [1, 1, 1_000_000]);
        assert_eq!(found.count("delays-below-propagation"), 2);
        let is_fact = |remark: &Remark| remark.effect == Effect::Fact;
        assert!(found.remarks.iter().all(is_fact), "{:?}", found.remarks);
    }

    #[test]
    fn a_fault_is_refused_in_its_file_and_line() {
        for (bandwidth, delay, words) in [
            (
                "1\n2\n",
                "7\n-1\n",
                "2:1: found '-1', expected a delay in whole milliseconds",
            ),
            ("1\n2\n", "7\n7.5\n", "2:1: found '7.5'"),
            ("1\n2\n", "7\n\n", "2:1: found ''"),
            ("1\n2\n", "4294967296\n", "less than 2^32 ms"),
            ("1\n2\n", "", "no row"),
            ("2\n1\n", "7\n", "2:1: tx_time"),
            ("0\n", "7\n", "a last opportunity at 0 ms"),
        ] {
            let found = refusal(&Format, inputs(bandwidth, delay), &BOTH);
            assert!(found.contains(words), "{found}");
        }
        let alone = refusal(&Format, inputs("1\n", ""), &BOTH[..1]);
        assert!(alone.contains("leocc needs `delay`"), "{alone}");
    }

    proptest! {
        #[test]
        fn each_slot_arrives_when_the_pair_says(
            gaps in prop::collection::vec(0_u64..40, 1..60),
            delays in prop::collection::vec(0_u64..300, 1..30),
        ) {
            let mut at = 1;
            let times: Vec<u64> = gaps.iter().map(|gap| { at += gap; at }).collect();
            let lines = |numbers: &[u64]| {
                let lines: Vec<String> = numbers.iter().map(u64::to_string).collect();
                lines.join("
    ")
            };
            let found = convert(&lines(&times), &lines(&delays), &[]);
            let propagation = delays.iter().min().unwrap() * 1_000_000;
            let arrivals: Vec<u64> = found.slots.iter().map(|(at, delay)| {
                at + if *delay == 1 { 0 } else { *delay } + propagation
            }).collect();
            let expected: Vec<u64> = times.iter().map(|at| {
                (at + delays[usize::try_from(at / 10).unwrap() % delays.len()]) * 1_000_000
            }).collect();
            prop_assert_eq!(arrivals, expected);
        }
    }
}

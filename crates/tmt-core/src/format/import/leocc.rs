//! Pairs of traces of LeoReplayer: delivery opportunities, and the one-way delay over time (docs/trace-format.md,
//! Sec. 12.9).
//!
//! The bandwidth trace is one of mahimahi. Line i (from 1) of the delay file is the delay in whole ms of what is sent from
//! (i − 1) bins on, up to i bins; LeoReplayer begins again with the first after the last. Both count from the same zero:
//! <https://github.com/SpaceNetLab/LeoCC>, `leoreplayer`.

use super::leoreplayer::{self, BANDWIDTH, DELAY};
use super::probe::PROPAGATION;
use super::{Importer, Kind, Parameter, RTT, Rule};
use crate::format::foreign::Carries;
use crate::types::{Span, TraceKind};

const BIN: &str = "bin";

const KEYS: [Parameter; 5] = [
    Parameter::optional(
        BANDWIDTH,
        Kind::File,
        "file of delivery opportunities, in ms, as of mahimahi; `-` for stdin",
    )
    .when(Rule::Required("the delays alone say nothing of the slots")),
    Parameter::optional(DELAY, Kind::File, "file of delays, `-` for stdin").when(Rule::Required(
        "without delays the trace is one of mahimahi: convert it as such",
    )),
    Parameter::optional(
        BIN,
        Kind::PERIOD,
        "time that a line of the delay file covers [default: 10ms, as in the traces of LeoCC]",
    ),
    PROPAGATION,
    RTT,
];

/// Importer of pairs of bandwidth and delay.
pub static FORMAT: Importer = Importer {
    name: "leocc",
    about: "a bandwidth trace (mahimahi) and a file of delays over time together, as LeoReplayer replays them",
    kind: TraceKind::Capacity,
    carries: Carries::NOTHING.capacity().delay().order(),
    keys: &KEYS,
    // One of the two files says nothing of the other: opportunities are of mahimahi, delays alone of leoreplayer.
    recognises: |_| false,
    open: |given, files, note| {
        let mut settings = given.clone();
        settings.assume(BIN, "10ms", "a line of the delay file covers 10ms", note);
        let bin = settings.get(BIN).unwrap_or(Span::from_millis(10));
        leoreplayer::pair(bin, &settings, files, note)
    },
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::testing::{Converted, Inputs, refusal, try_convert};
    use super::super::{Effect, Remark};
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
        try_convert(&FORMAT, inputs(bandwidth, delay), &keys).unwrap_or_else(|e| panic!("{e}"))
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
                "2:1: found '-1', expected a whole number of milliseconds",
            ),
            ("1\n2\n", "7\n7.5\n", "2:1: found '7.5'"),
            ("1\n2\n", "7\n\n", "2:1: found ''"),
            ("1\n2\n", "4294967296\n", "milliseconds below 2^32"),
            ("1\n2\n", "", "no row"),
            ("2\n1\n", "7\n", "2:1: tx_time"),
            ("0\n", "7\n", "a last opportunity at 0 ms"),
        ] {
            let found = refusal(&FORMAT, inputs(bandwidth, delay), &BOTH);
            assert!(found.contains(words), "{found}");
        }
        let alone = refusal(&FORMAT, inputs("1\n", ""), &BOTH[..1]);
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
                lines.join("\n")
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

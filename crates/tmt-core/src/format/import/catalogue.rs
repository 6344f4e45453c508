//! All findings by name, those of importers and those of traces of this program: what each means, from when on it is
//! found, and what to do about it (docs/lint.md has the same table).

/// What is known of a finding, whatever its count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Known {
    /// Name, which stays the same between versions.
    pub name: &'static str,
    /// What was found.
    pub meaning: &'static str,
    /// From when on it is found.
    pub threshold: &'static str,
    /// What to do about it, with keys of importers between backticks ([`render_keys`](super::render_keys)).
    pub remedy: &'static str,
}

/// A row of the table.
const fn row(
    name: &'static str,
    meaning: &'static str,
    threshold: &'static str,
    remedy: &'static str,
) -> Known {
    Known {
        name,
        meaning,
        threshold,
        remedy,
    }
}

/// All findings, those of text and numbers first.
pub static CATALOGUE: &[Known] = &[
    row(
        "crlf",
        "all lines end in CRLF",
        "any",
        "none needed: CRs are removed",
    ),
    row(
        "mixed-line-ends",
        "some lines end in CRLF, others in LF",
        "any",
        "check that the file is one, not parts of several",
    ),
    row(
        "other-lines",
        "lines that the tool does not print",
        "any",
        "check that nothing of the log is damaged",
    ),
    row(
        "missing-numbers",
        "packets whose numbers are missing; they were lost",
        "any",
        "none needed: they become erased slots",
    ),
    row(
        "missing-rows",
        "no row where the constant interval has one: lost packets left out",
        "intervals of 2 or more usual ones, to a quarter of one and 2 % of the gap; the usual one is that of 80 % or more",
        "a record with numbers, or with lost packets",
    ),
    row(
        "duplicates",
        "packets that were answered more than once",
        "any",
        "none needed: the first answer counts",
    ),
    row(
        "reordered",
        "packets after a later one",
        "any",
        "none needed: slots are in the order of sending",
    ),
    row(
        "late-beyond-window",
        "answers after those of more than 4096 later packets",
        "any",
        "a complete file",
    ),
    row(
        "summary-differs",
        "the summary counts other answers than the lines",
        "any",
        "the whole output of one run",
    ),
    row(
        "losses-at-ends-unknown",
        "losses before the first and after the last packet cannot be seen",
        "the file does not say how many were sent",
        "a file with its summary, or `packets`",
    ),
    row(
        "losses-left-out",
        "a table of answers, without lost packets",
        "any table of answers",
        "the output of the tool itself",
    ),
    row(
        "errors-returned",
        "errors were returned for packets",
        "any",
        "none needed: lost unless answered",
    ),
    row(
        "frames-in-error",
        "frames with an error",
        "any",
        "none needed: they count as lost",
    ),
    row(
        "nothing-received",
        "nothing was received",
        "all of one packet or slot and more",
        "leave the file out",
    ),
    row(
        "polarity-suspected",
        "more than half is lost: perhaps 0 and 1 are the wrong way round",
        "more than half, but not all",
        "`lost` of a conversion; of a table swap 0 and 1 of its erasures",
    ),
    row(
        "filler-delays",
        "lost packets have a delay",
        "any other than 0 or blank",
        "none needed: it is ignored",
    ),
    row(
        "repeated-delays",
        "received slots have exactly the delay of the one before: fillers of lost packets",
        "10 or more, 10 times as many as have that of 8 before, at most a tenth of the slots",
        "convert with the losses, too",
    ),
    row(
        "times-of-answers",
        "times are those of the answers",
        "any table of answers",
        "none needed: one round trip before is taken",
    ),
    row(
        "times-raised",
        "send times before the one before, by rounding",
        "up to 1 ms",
        "none needed",
    ),
    row(
        "unsorted-times",
        "times before the one of the line before",
        "any in mahimahi, 1 ms in tables of answers",
        "sort the file, or cut it where the clock was set",
    ),
    row(
        "clock-steps",
        "send times jump",
        "back by 1 ms; off the expected time by 1 s and 3 intervals",
        "`interval` gives times without steps; cut a trace there with tmt slice",
    ),
    row(
        "clock-offset",
        "the clocks of sender and receiver differ by a constant",
        "smallest one-way delay below 0, or 1.5 s and more",
        "synchronised clocks, or round trips (`round-trip`)",
    ),
    row(
        "clock-skew",
        "the clocks of sender and receiver run at different rates: the smallest delays rise or fall",
        "above 1 ppm and 4 standard errors, in both halves within a factor of 2",
        "remove the trend from the delays, or take round trips",
    ),
    row(
        "negative-delays",
        "delays below 0",
        "any",
        "synchronised clocks, or round trips (`round-trip`)",
    ),
    row(
        "delays-below-propagation",
        "delays below the propagation that is removed",
        "any; in a converted trace 5 % of the slots with 1 ns",
        "a smaller `propagation`, or `min`",
    ),
    row(
        "unit-suspected",
        "delays or times are too large or too small for a network",
        "delays all of 1.5 s and more or all below 10 us; in a trace median delay > 5 s or mean interval > 1 s",
        "`delay-unit` of a conversion, --unit of a table",
    ),
    row(
        "rate-of-probes",
        "a slot is a probe: its rate is not the capacity of the link",
        "kind probe without `lldu`",
        "use it to fit the channel, not as the link",
    ),
    row(
        "probes-suspected",
        "rows at a constant interval with losses or delays look like probes, but nothing says so",
        "no kind and no LLDU size in the head; interval of 1 ms and more, the same (to 10 %) in 80 % of 100 rows and more",
        "trace_kind: probe in the head; then fit the channel",
    ),
    row(
        "capacity-suspected",
        "the head says probe, but the rows look like delivery opportunities",
        "no losses, no delays, no constant interval in 100 rows and more",
        "convert with --kind capacity",
    ),
    row(
        "loop-seam",
        "looped, the trace has a longer pause than anywhere else",
        "before the first or before the last row: 100 ms, twice any other, 10 times the median",
        "cut the ends off with tmt slice, and --rebase",
    ),
    row(
        "opportunity-size",
        "the head says 1500 B, but opportunities of mahimahi have 1504 B: the rate is 0.27 % low",
        "1500 B, packing bytes or times in whole ms, not probes",
        "--lldu 1504B, or lldu_bytes: 1504 in the head",
    ),
    row(
        "clocks-aligned",
        "the clocks differ: the smallest delay is negative",
        "any",
        "synchronised clocks; its amount is added to every delay, and P and the RTT are unknown (`rtt`)",
    ),
    row(
        "loss-direction-unknown",
        "lost packets of which the way is not known",
        "any, in one direction",
        "none: they are taken as lost in the chosen direction",
    ),
    row(
        "delays-unknown",
        "packets that arrived, and whose answer was lost with their delay",
        "any, up",
        "none: each gets the delay of the packet before",
    ),
    row(
        "never-sent",
        "packets without an answer that could have been sent",
        "any, down",
        "none: they are no slots of this direction",
    ),
    row(
        "payload-differs",
        "frames received with other data than were sent",
        "any",
        "check the receiver; they count as received",
    ),
    row(
        "delays-repeated",
        "more slots or packets than delays",
        "any",
        "delays of the whole time; those there are begin again",
    ),
    row(
        "delays-left",
        "more delays than packets",
        "any",
        "check that the two files belong together",
    ),
    row(
        "received-reordered",
        "packets that arrived before one sent earlier",
        "any",
        "none: slots are in the order of sending",
    ),
    row(
        "received-again",
        "packets that arrived more than once",
        "any",
        "none: the first arrival counts",
    ),
    row(
        "received-only",
        "packets of the flow that only the receiver's capture has",
        "any",
        "begin the sender's capture first, and let it drop nothing",
    ),
    row(
        "packets-alike",
        "packets that look like later ones, fewer of which arrived",
        "any",
        "TCP time stamps, or IPv4 identification, in the packets",
    ),
    row(
        "segmentation-offload",
        "packets longer than a link carries: captured before they were segmented",
        "more than 9216 B",
        "ethtool -K DEVICE tso off gso off gro off, and capture again",
    ),
    row(
        "segments-without-payload",
        "TCP segments without payload, left out",
        "any",
        "none needed",
    ),
    row(
        "silent-intervals",
        "intervals in which nothing was counted",
        "any",
        "none: an outage; its losses are counted in a later interval",
    ),
    row(
        "losses-out-of-range",
        "intervals with more losses than datagrams, or fewer than none",
        "any",
        "a longer interval of iperf3",
    ),
    row(
        "intervals-omitted",
        "intervals that iperf3 left out of its sums (-O)",
        "any",
        "none needed",
    ),
    row(
        "queue-drops",
        "packets that the queue of ns-2 dropped",
        "any",
        "none: they are no losses of the link",
    ),
    row(
        "arrivals-unsent",
        "arrivals without their departure",
        "any",
        "a trace that begins with the run",
    ),
    row(
        "received-at-end-unknown",
        "what followed the last lost packet is not known",
        "`packets` not given",
        "give `packets`",
    ),
];

/// What is known of the finding of this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static Known> {
    CATALOGUE.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_remedies_name_keys_that_exist() {
        let keys = super::super::Importers::default().keys();
        for (at, entry) in CATALOGUE.iter().enumerate() {
            let is_known = CATALOGUE[..at].iter().any(|other| other.name == entry.name);
            assert!(!is_known, "{} twice", entry.name);
            for key in entry.remedy.split('`').skip(1).step_by(2) {
                let exists = keys.iter().any(|(known, _)| known.name == key) || key == "min";
                assert!(exists, "{}: {key}", entry.name);
            }
        }
    }
}

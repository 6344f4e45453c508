//! All findings by name, those of importers and those of traces of this program: what each means, from when on it is
//! found, and what to do about it. docs/lint.md has the same table.

use super::finding::{FindingKind, Severity};

/// Makes a constant of each row, and the table of all.
macro_rules! catalogue {
    ($($row:ident = $name:literal, $severity:ident, $meaning:literal, $threshold:literal, $remedy:literal;)+) => {
        $(
            #[doc = $meaning]
            pub(crate) static $row: FindingKind = FindingKind {
                name: $name,
                severity: Severity::$severity,
                meaning: $meaning,
                threshold: $threshold,
                remedy: $remedy,
            };
        )+

        /// All findings, those of text and numbers first.
        pub static CATALOGUE: &[&FindingKind] = &[$(&$row),+];
    };
}

catalogue! {
    CRLF = "crlf", Note,
        "all lines end in CRLF",
        "any",
        "none needed: CRs are removed";
    MIXED_LINE_ENDS = "mixed-line-ends", Warning,
        "some lines end in CRLF, others in LF",
        "any",
        "check that the file is one, not parts of several";
    OTHER_LINES = "other-lines", Note,
        "lines that the tool does not print",
        "any",
        "check that nothing of the log is damaged";
    MISSING_NUMBERS = "missing-numbers", Note,
        "packets whose numbers are missing; they were lost",
        "any",
        "none needed: they become erased slots";
    MISSING_ROWS = "missing-rows", Warning,
        "no row where the constant interval has one: lost packets left out",
        "intervals of 2 or more usual ones, to a quarter of one and 2 % of the gap; the usual one is that of 80 % or more",
        "a record with numbers, or with lost packets";
    DUPLICATES = "duplicates", Note,
        "packets that were answered more than once",
        "any",
        "none needed: the first answer counts";
    REORDERED = "reordered", Note,
        "packets after a later one",
        "any",
        "none needed: slots are in the order of sending";
    LATE_BEYOND_WINDOW = "late-beyond-window", Warning,
        "answers after those of more than 4096 later packets",
        "any",
        "a complete file";
    SUMMARY_DIFFERS = "summary-differs", Warning,
        "the summary counts other answers than the lines",
        "any",
        "the whole output of one run";
    LOSSES_AT_ENDS_UNKNOWN = "losses-at-ends-unknown", Note,
        "losses before the first and after the last packet cannot be seen",
        "the file does not say how many were sent",
        "a file with its summary, or `packets`";
    LOSSES_LEFT_OUT = "losses-left-out", Warning,
        "a table of answers, without lost packets",
        "any table of answers",
        "the output of the tool itself";
    ERRORS_RETURNED = "errors-returned", Note,
        "errors were returned for packets",
        "any",
        "none needed: lost unless answered";
    FRAMES_IN_ERROR = "frames-in-error", Note,
        "frames with an error",
        "any",
        "none needed: they count as lost";
    NOTHING_RECEIVED = "nothing-received", Warning,
        "nothing was received",
        "all of one packet or slot and more",
        "leave the file out";
    POLARITY_SUSPECTED = "polarity-suspected", Warning,
        "more than half is lost: perhaps 0 and 1 are the wrong way round",
        "more than half, but not all",
        "`lost` of a conversion; of a table swap 0 and 1 of its erasures";
    FILLER_DELAYS = "filler-delays", Note,
        "lost packets have a delay",
        "any other than 0 or blank",
        "none needed: it is ignored";
    REPEATED_DELAYS = "repeated-delays", Warning,
        "received slots have exactly the delay of the one before: fillers of lost packets",
        "10 or more, 10 times as many as have that of 8 before, at most a tenth of the slots",
        "convert with the losses, too";
    CONSTANT_DELAY = "constant-delay", Warning,
        "one delay in all packets received",
        "100 measured delays and more",
        "the delays themselves, from a clock that is fine enough";
    SATURATED_DELAYS = "saturated-delays", Warning,
        "many delays are exactly the largest one: a limit of the tool or of its columns",
        "the largest delay in 20 slots and in 5 % of those received, and more than 32 other delays",
        "a record without that limit: what was longer is unknown";
    WRAPPED_DELAYS = "wrapped-delays", Warning,
        "single delays of about 2^32 ns or us: a difference that was negative, or a counter that wrapped",
        "within 2^28 of 2^32 units in at most a fifth of the slots received, with half of the delays below 2^28 units",
        "take the difference in 64 bits, or subtract 2^32 units from them";
    TIMES_OF_ANSWERS = "times-of-answers", Note,
        "times are those of the answers",
        "any table of answers",
        "none needed: one round trip before is taken";
    TIMES_RAISED = "times-raised", Note,
        "send times before the one before, by rounding",
        "up to 1 ms",
        "none needed";
    UNSORTED_TIMES = "unsorted-times", Warning,
        "times before the one of the line before",
        "any in a trace and in mahimahi, 1 ms in tables of answers",
        "sort the file, or cut it where the clock was set";
    CLOCK_STEPS = "clock-steps", Warning,
        "send times jump",
        "back by 1 ms; off the expected time by 1 s and 3 intervals",
        "`interval` gives times without steps; cut a trace there with tmt slice";
    CLOCK_OFFSET = "clock-offset", Warning,
        "the clocks of sender and receiver differ by a constant",
        "smallest one-way delay of 1.5 s and more; in irtt and lens any below 0 or above the round trip",
        "synchronised clocks, or round trips (`round-trip`)";
    CLOCK_SKEW = "clock-skew", Warning,
        "the clocks of sender and receiver run at different rates: the smallest delays rise or fall",
        "above 1 ppm and 4 standard errors, in both halves within a factor of 2",
        "remove the trend from the delays, or take round trips";
    NEGATIVE_DELAYS = "negative-delays", Warning,
        "delays below 0",
        "any",
        "synchronised clocks, or round trips (`round-trip`)";
    DELAYS_BELOW_PROPAGATION = "delays-below-propagation", Warning,
        "delays below the propagation that is removed",
        "any",
        "a smaller `propagation`, or `min`";
    LEAST_DELAYS = "least-delays", Note,
        "many delays are the least one: at or below the propagation that was removed",
        "1 ns in 5 % of the received slots of a trace, but not in all",
        "none needed if P was the smallest delay; else a smaller `propagation`";
    UNIT_SUSPECTED = "unit-suspected", Warning,
        "delays or times are too large or too small for a network",
        "delays all of 1.5 s and more, or all below 1 ms where the unit is a choice; in a trace median delay > 5 s, or mean interval > 1 s unless it holds probes",
        "`delay-unit` of a conversion, --unit of a table";
    RATE_OF_PROBES = "rate-of-probes", Warning,
        "a slot is a probe: its rate is not the capacity of the link",
        "kind probe without `lldu`",
        "use it to fit the channel, not as the link";
    PROBES_SUSPECTED = "probes-suspected", Warning,
        "rows at a constant interval with losses or delays look like probes, but nothing says so",
        "no kind and no LLDU size in the head; interval of 1 ms and more, the same (to 10 %) in 80 % of 100 rows and more",
        "a line # trace_kind: probe before the rows; then fit the channel";
    CAPACITY_SUSPECTED = "capacity-suspected", Warning,
        "the head says probe, but the rows look like delivery opportunities",
        "no losses, no delays, no constant interval in 100 rows and more",
        "convert with --kind capacity";
    LOOP_SEAM = "loop-seam", Warning,
        "looped, the trace has a longer pause than anywhere else",
        "before the first or before the last row: 100 ms, twice any other, 10 times the median",
        "cut the ends off with tmt slice, and --rebase";
    OPPORTUNITY_SIZE = "opportunity-size", Warning,
        "the head says 1500 B, but opportunities of mahimahi have 1504 B: the rate is 0.27 % low",
        "1500 B, packing bytes or times in whole ms, not probes",
        "--lldu 1504B, or lldu_bytes: 1504 in the head";
    CLOCKS_ALIGNED = "clocks-aligned", Warning,
        "the clocks differ: the smallest delay is negative",
        "any",
        "synchronised clocks; its amount is added to every delay, and P and the RTT are unknown (`rtt`)";
    LOSS_DIRECTION_UNKNOWN = "loss-direction-unknown", Warning,
        "lost packets of which the way is not known",
        "any, in one direction",
        "none: they are taken as lost in the chosen direction";
    DELAYS_UNKNOWN = "delays-unknown", Note,
        "packets that arrived, and whose answer was lost with their delay",
        "any, up",
        "none: each gets the delay of the packet before";
    NEVER_SENT = "never-sent", Note,
        "packets without an answer that could have been sent",
        "any, down",
        "none: they are no slots of this direction";
    PAYLOAD_DIFFERS = "payload-differs", Warning,
        "frames received with other data than were sent",
        "any",
        "check the receiver; they count as received";
    DELAYS_REPEATED = "delays-repeated", Note,
        "more slots or packets than delays",
        "any",
        "delays of the whole time; those there are begin again";
    DELAYS_LEFT = "delays-left", Note,
        "more delays than packets",
        "any",
        "check that the two files belong together";
    RECEIVED_REORDERED = "received-reordered", Note,
        "packets that arrived before one sent earlier",
        "any",
        "none: slots are in the order of sending";
    RECEIVED_AGAIN = "received-again", Note,
        "packets that arrived more than once",
        "any",
        "none: the first arrival counts";
    RECEIVED_ONLY = "received-only", Warning,
        "packets of the flow that only the receiver's capture has",
        "any",
        "begin the sender's capture first, and let it drop nothing";
    PACKETS_ALIKE = "packets-alike", Note,
        "packets that look like later ones, fewer of which arrived",
        "any",
        "TCP time stamps, or IPv4 identification, in the packets";
    SEGMENTATION_OFFLOAD = "segmentation-offload", Warning,
        "packets longer than a link carries: captured before they were segmented",
        "more than 9216 B",
        "ethtool -K DEVICE tso off gso off gro off, and capture again";
    SEGMENTS_WITHOUT_PAYLOAD = "segments-without-payload", Note,
        "TCP segments without payload, left out",
        "any",
        "none needed";
    SILENT_INTERVALS = "silent-intervals", Warning,
        "intervals in which nothing was counted",
        "any",
        "none: an outage; its losses are counted in a later interval";
    LOSSES_OUT_OF_RANGE = "losses-out-of-range", Warning,
        "intervals with more losses than datagrams, or fewer than none",
        "any",
        "a longer interval of iperf3";
    INTERVALS_OMITTED = "intervals-omitted", Note,
        "intervals that iperf3 left out of its sums (-O)",
        "any",
        "none needed";
    QUEUE_DROPS = "queue-drops", Note,
        "packets that the queue of ns-2 dropped",
        "any",
        "none: they are no losses of the link";
    ARRIVALS_UNSENT = "arrivals-unsent", Note,
        "arrivals without their departure",
        "any",
        "a trace that begins with the run";
    RECEIVED_AT_END_UNKNOWN = "received-at-end-unknown", Note,
        "what followed the last lost packet is not known",
        "`packets` not given",
        "give `packets`";
}

/// The entry of the finding of this name.
#[must_use]
pub fn known(name: &str) -> Option<&'static FindingKind> {
    CATALOGUE.iter().copied().find(|known| known.name == name)
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

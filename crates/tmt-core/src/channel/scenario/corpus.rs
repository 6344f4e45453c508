//! Links whose losses were estimated from measured traces. Parameters only: `fixtures/corpus/make` estimates them again
//! from the traces, and docs/corpus.md says what they are, how well they fit, and what they are not.
//!
//! A trace of probes has no rate and no slots. Its losses are therefore a process in time, `fading`: the two-state chain that
//! `tmt fit` finds between probes, as the process in continuous time that has it at the interval of the probes.

use super::registry::{Scenario, Setting, fitted, ours};
use crate::types::Bytes;

/// The rate is in none of these traces.
const RATE: Setting = ours(
    "rate",
    "48Mbps",
    "not measured there; near the 48.9 Mbps of another trace, of LeoCC",
);
const EVERY: Setting = ours("every", "1", "");
const LLDU: Setting = ours("lldu", "1500B", "a slot carries a packet, without a header");
const NO_INTERLEAVER: Setting = ours("interleaver", "0s", "");
const DURATION: Setting = ours("duration", "300s", "the process is stationary");

const LOAD: &str = "tmt apply --scheme none | tmt tcp --cc cubic --profile linux";

/// What all of them are not.
const RESIDUAL: &str = "the losses are those that Starlink's own link layer left: a scheme with ARQ above them is a study of what \
    if, not what users have";
const NO_DELAY: &str = "delay and capacity do not change with time, unlike those of the measured link; `starlink` has other delays \
    every 15 s";
const ROUND_TRIPS: &str = "losses of both directions are on the forward link: an answer that is missing does not say where it was lost";

pub(super) static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "starlink-downlink",
        about: "Losses of a fixed Starlink dish, from 100 s of probes every 10 ms on 2024-09-10",
        source: "ours, fitted to a trace of yeliqseu/ebpf-trace-emu: LEO_downlink_loss-000001-12h",
        family: "fading",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            RATE,
            EVERY,
            LLDU,
            ours(
                "rtt",
                "30ms",
                "near the smallest RTT of the driving traces; the clocks of one-way delays may differ",
            ),
            NO_INTERLEAVER,
            DURATION,
            fitted(
                "m",
                "5.26ms",
                "standard error 1.2 ms; shorter than the 10 ms between probes",
            ),
            fitted("X", "0.0033", "standard error 0.00067"),
        ],
        load: LOAD,
        notes: &[
            "a mean loss of 5 ms is extrapolated from pairs of probes that are 10 ms apart; independent losses of packets, \
             bernoulli:0.0033, would be a far harder link for TCP",
            "losses of the trace come in clusters that this process does not have: over 10 s their number varies 5.8 times \
             as much as that of independent ones, with this process 1.3 times",
            RESIDUAL,
            NO_DELAY,
        ],
    },
    Scenario {
        name: "starlink-driving-20240527",
        about: "Outages of a Starlink dish on a driving car, from 30 s of pings every 200 ms on 2024-05-27",
        source: "ours, fitted to a trace of NUWiNS/starlink-measurement: starlink_20240527_111234471_ping_111648884",
        family: "fading",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            RATE,
            EVERY,
            LLDU,
            fitted("rtt", "30.1ms", "the smallest RTT of the trace"),
            NO_INTERLEAVER,
            DURATION,
            fitted("m", "1.24s", "standard error 0.69 s: three outages"),
            fitted("X", "0.132", "standard error 0.089"),
        ],
        load: LOAD,
        notes: &[
            "three outages in 30 s: the order of size and no more; outages below 0.2 s are hardly seen",
            ROUND_TRIPS,
            RESIDUAL,
            NO_DELAY,
        ],
    },
    Scenario {
        name: "starlink-driving-20240528",
        about: "Outages of a Starlink dish on a driving car, from 30 s of pings every 200 ms on 2024-05-28",
        source: "ours, fitted to a trace of NUWiNS/starlink-measurement: starlink_20240528_111436693_ping_111740829",
        family: "fading",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            RATE,
            EVERY,
            LLDU,
            fitted("rtt", "30.3ms", "the smallest RTT of the trace"),
            NO_INTERLEAVER,
            DURATION,
            fitted("m", "270ms", "standard error 95 ms: nine outages"),
            fitted("X", "0.12", "standard error 0.042"),
        ],
        load: LOAD,
        notes: &[
            "nine outages in 30 s: the order of size and no more; outages below 0.2 s are hardly seen",
            ROUND_TRIPS,
            RESIDUAL,
            NO_DELAY,
        ],
    },
];

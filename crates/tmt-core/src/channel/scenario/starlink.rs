//! A link through low satellites that is reassigned every 15 seconds, from published figures (docs/channels.md).

use super::registry::{Scenario, ours, published};
use crate::types::Bytes;

pub(super) static SCENARIOS: &[Scenario] = &[Scenario {
    name: "starlink",
    about: "Like Starlink: another satellite every 15 s, with a short disturbance and another delay",
    source: "ours, after Huston 2024 and measured traces",
    family: "reconfiguration",
    withholds: false,
    lldu_header: Some(Bytes(0)),
    settings: &[
        ours(
            "rate",
            "48Mbps",
            "near the 48.7 Mbps of a public downlink trace of LeoCC",
        ),
        ours("every", "1", ""),
        ours("lldu", "1500B", "a slot carries a packet, without a header"),
        ours("rtt", "25ms", "smallest RTT; the process adds to it"),
        ours("interleaver", "0s", ""),
        ours("duration", "300s", "20 periods"),
        published("period", "15s", "Huston 2024"),
        ours(
            "first",
            "12s",
            "seconds 12, 27, 42 and 57 of a minute are reported, if the trace begins at a full minute",
        ),
        published(
            "jitter",
            "6.7ms",
            "Huston 2024: between successive RTTs of a period",
        ),
    ],
    load: "tmt apply --scheme none | tmt tcp --cc cubic --profile linux",
    notes: &[
        "capacity does not change with time; the delay of the return path is part of the forward delay",
    ],
}];

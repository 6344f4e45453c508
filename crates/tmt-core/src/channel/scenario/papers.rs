//! The links of Barakat 2004, Celandroni 2006 and Zhu 2006, whose units are lost independently or in on/off fades.

use super::registry::{Scenario, Setting, ours, published};
use crate::types::Bytes;

/// Why packets are sent again that have arrived.
const RENO: &str = "after a timeout Reno without SACK resends what has already arrived, as in the paper; `tmt tcp` warns about it";

const NO_INTERLEAVER: Setting = ours("interleaver", "0s", "none in the model");

pub(super) static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "barakat",
        about: "Wireless link of small units, lost independently, under hybrid FEC/ARQ",
        source: "Barakat 2004, Sec. 3",
        family: "bernoulli",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            published("rate", "2Mbps", "Sec. 3"),
            ours("every", "1", ""),
            published(
                "lldu",
                "25B",
                "Sec. 3: units of 25 B, ten to a packet of 250 B",
            ),
            published(
                "rtt",
                "200ms",
                "Sec. 3: one-way delays D of 20, 100 and 200 ms",
            ),
            NO_INTERLEAVER,
            published("duration", "2000s", "Sec. 3"),
            published("p", "0.001", "Sec. 3: 1e-5 to 1e-2"),
        ],
        load: "tmt tcp --link coupled --scheme harq:10/16 --feedback-delay decode --in-order flow --packet 250B \
               --terrestrial-rtt 40ms --profile rfc --cc newreno --delayed-ack 2 --buffer 500pkt --rwnd 2000pkt",
        notes: &[
            "K = 10 data units to a packet; the number N of units sent first and the rounds are swept in the paper",
        ],
    },
    Scenario {
        name: "tgep",
        about: "Geostationary link whose segments are lost independently",
        source: "Celandroni 2006, Sec. II",
        family: "bernoulli",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            ours(
                "rate",
                "1.2Mbps",
                "Sec. II: 100 (or 455) segments per second, whose size is not given",
            ),
            ours("every", "1", ""),
            ours(
                "lldu",
                "1500B",
                "not given; a unit is a segment, without a header",
            ),
            published("rtt", "500ms", "Sec. II: tau = 0.5 s"),
            NO_INTERLEAVER,
            ours("duration", "400s", "not given"),
            published("p", "0.001", "Sec. II: q = 1e-5 to 1e-1"),
        ],
        load: "tmt tcp --link coupled --scheme none --profile rfc --cc reno --sack off --flows 5",
        notes: &["1, 5, 8 or 10 Reno connections in the paper", RENO],
    },
    Scenario {
        name: "hybrid",
        about: "Satellite hop behind a terrestrial path, units lost independently, link ARQ",
        source: "Zhu 2006, Sec. III-C",
        family: "bernoulli",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            published("rate", "1Mbps", "Sec. III-C"),
            ours("every", "1", ""),
            published("lldu", "500B", "Sec. III-C: S = 1 unit to a packet"),
            published("rtt", "100ms", "Sec. III-C: T2 = 10 to 500 ms"),
            NO_INTERLEAVER,
            ours("duration", "400s", "not given"),
            published("p", "0.1", "Sec. III-C: 0.1 to 0.5"),
        ],
        load: "tmt tcp --link coupled --scheme arq --feedback-delay decode --in-order flow --packet 500B --terrestrial-rtt 100ms --buffer 50pkt \
               --profile rfc --cc reno --sack off --delayed-ack off",
        notes: &[
            "--path split puts the proxy of the paper at the gateway; T1 is --terrestrial-rtt, B is --buffer",
            RENO,
        ],
    },
    Scenario {
        name: "hybrid-fading",
        about: "The same link with two-state fades of exponential length",
        source: "Zhu 2006, Sec. V-C",
        family: "fading",
        withholds: false,
        lldu_header: Some(Bytes(0)),
        settings: &[
            published("rate", "1Mbps", "Sec. III-C"),
            ours("every", "1", ""),
            published("lldu", "500B", "Sec. III-C: S = 1 unit to a packet"),
            published("rtt", "100ms", "Sec. III-C: T2 = 10 to 500 ms"),
            NO_INTERLEAVER,
            ours("duration", "400s", "not given"),
            ours("m", "100ms", "swept in Sec. V-C"),
            ours("X", "0.1", "swept in Sec. V-C"),
        ],
        load: "tmt tcp --link coupled --scheme arq --feedback-delay decode --in-order flow --packet 500B --terrestrial-rtt 100ms --buffer 50pkt \
               --profile rfc --cc reno --sack off --delayed-ack off",
        notes: &[
            "--path split puts the proxy of the paper at the gateway; T1 is --terrestrial-rtt, B is --buffer",
            RENO,
        ],
    },
];

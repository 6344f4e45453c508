//! Links whose rate varies as in measured traces of delivery opportunities: a Markov chain of the rate in steps of 100 ms. What the
//! link does not offer is withheld, not erased. `fixtures/corpus/make` estimates the chains again; docs/corpus.md says how well
//! they fit.

use super::registry::{Scenario, Setting, fitted, ours};
use crate::types::Bytes;

const EVERY: Setting = ours("every", "1", "");
const LLDU: Setting = ours(
    "lldu",
    "1500B",
    "an opportunity carries a packet, without a header",
);
const RTT: Setting = ours("rtt", "60ms", "not measured there");
const NO_INTERLEAVER: Setting = ours("interleaver", "0s", "");
const DURATION: Setting = ours("duration", "300s", "the process is stationary");
const STEP: Setting = ours("step", "100ms", "step of the estimate");
const RATE: &str = "mean of the fastest fifth of the steps with opportunities";
const SHARES: &str = "of the steps without opportunities, and of fifths of the others";
const NEXT: &str = "counts of the steps of the trace";

const LOAD: &str = "tmt apply --scheme none | tmt tcp --cc cubic --profile linux";

const NOTES: &[&str] = &[
    "no losses: what the link does not offer is withheld, so that packets wait in the queue",
    "over 0.1 s the rate varies nearly as that of the trace, over 10 s about half as much: the chain has no slow changes, and long \
     outages are rarer (docs/corpus.md)",
    "delays beside those of the queue do not vary; the RTT is ours",
];

pub(super) static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "lte-att-driving-down",
        about: "Rate of AT&T LTE from a driving car, down, from 120 s of a saturated link",
        source: "ours, fitted to a trace of ravinet/mahimahi: ATT-LTE-driving-2016.down",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "12038kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.07166/0.2181/0.3154/0.4549/1", SHARES),
            fitted(
                "next",
                "0.6047:0.2791:0.0581:0.0349:0.0116:0.0116/0.1053:0.5964:0.1974:0.0395:0.0351:0.0263/0.0303:0.1818:0.4415:0.2554:0.0823:0.0087/0.009:0.0583:0.2646:0.4214:0.2063:0.0404/0.0048:0.0335:0.0813:0.2297:0.4593:0.1914/0:0.027:0.0135:0.045:0.1802:0.7343",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
    Scenario {
        name: "lte-att-driving-up",
        about: "Rate of AT&T LTE from a driving car, up, from 120 s of a saturated link",
        source: "ours, fitted to a trace of ravinet/mahimahi: ATT-LTE-driving-2016.up",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "5772kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.07966/0.1896/0.2876/0.4168/1", SHARES),
            fitted(
                "next",
                "0.741:0.0964:0.0723:0.0542:0.0241:0.012/0.1401:0.3382:0.1787:0.1739:0.0966:0.0725/0.0289:0.2231:0.2645:0.1983:0.186:0.0992/0.016:0.1383:0.2394:0.2181:0.2712:0.117/0.0051:0.1414:0.2979:0.1869:0.2222:0.1465/0.0152:0.0707:0.1263:0.0859:0.1717:0.5302",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
    Scenario {
        name: "lte-tmobile-down",
        about: "Rate of T-Mobile LTE, down, from 140 s of a saturated link",
        source: "ours, fitted to a trace of ravinet/mahimahi: TMobile-LTE-short.down",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "34991kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.1416/0.3079/0.4279/0.6034/1", SHARES),
            fitted(
                "next",
                "0.6667:0.2941:0.0196:0.0196:0:0/0.0519:0.4963:0.3185:0.0852:0.037:0.0111/0.0074:0.2556:0.4148:0.2481:0.0556:0.0185/0:0.1343:0.1978:0.403:0.2164:0.0485/0.0037:0.0404:0.0478:0.2206:0.5074:0.1801/0:0.0187:0.0187:0.0375:0.191:0.7341",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
    Scenario {
        name: "lte-verizon-down",
        about: "Rate of Verizon LTE, down, from 140 s of a saturated link",
        source: "ours, fitted to a trace of ravinet/mahimahi: Verizon-LTE-short.down",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "10840kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.1121/0.2607/0.4065/0.5866/1", SHARES),
            fitted(
                "next",
                "0.5652:0.3043:0.087:0.0435:0:0/0.029:0.7102:0.1775:0.0725:0.0072:0.0036/0.0071:0.1964:0.5072:0.2393:0.0321:0.0179/0:0.0582:0.24:0.4509:0.2182:0.0327/0:0.0074:0.0699:0.1912:0.5403:0.1912/0:0:0.0073:0.0403:0.1978:0.7546",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
    Scenario {
        name: "lte-verizon-up",
        about: "Rate of Verizon LTE, up, from 140 s of a saturated link",
        source: "ours, fitted to a trace of ravinet/mahimahi: Verizon-LTE-short.up",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "11365kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.1552/0.3403/0.496/0.71/1", SHARES),
            fitted(
                "next",
                "0.6897:0.3103:0:0:0:0/0.0206:0.7285:0.2096:0.0344:0.0069:0/0.0038:0.2146:0.479:0.2375:0.0536:0.0115/0.0071:0.0429:0.2143:0.4714:0.2214:0.0429/0:0.0037:0.0403:0.2308:0.4871:0.2381/0:0.0038:0.0151:0.0491:0.234:0.698",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
    Scenario {
        name: "umts-tmobile-driving-down",
        about: "Rate of T-Mobile UMTS from a driving car, down, from 928 s of a saturated link",
        source: "ours, fitted to a trace of ravinet/mahimahi: TMobile-UMTS-driving.down",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "4869kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.09804/0.2724/0.4348/0.5826/1", SHARES),
            fitted(
                "next",
                "0.827:0.1188:0.0285:0.0064:0.0055:0.0138/0.0909:0.7289:0.1587:0.0152:0.004:0.0023/0.0124:0.2012:0.5435:0.209:0.0274:0.0065/0.0018:0.0181:0.194:0.5149:0.2455:0.0257/0.0012:0.0038:0.0275:0.2569:0.5268:0.1838/0.0019:0.0032:0.0076:0.041:0.178:0.7683",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
    Scenario {
        name: "starlink-capacity",
        about: "Rate of Starlink, down, from 120 s of a saturated link",
        source: "ours, fitted to a trace of SpaceNetLab/LeoCC: bw_example.txt",
        family: "levels",
        withholds: true,
        lldu_header: Some(Bytes(0)),
        settings: &[
            fitted("rate", "63412kbps", RATE),
            EVERY,
            LLDU,
            RTT,
            NO_INTERLEAVER,
            DURATION,
            STEP,
            fitted("shares", "0/0.543/0.6861/0.7715/0.8512/1", SHARES),
            fitted(
                "next",
                "0:1:0:0:0:0/0:0.6583:0.2583:0.0792:0:0.0042/0.0041:0.2131:0.3934:0.2705:0.1107:0.0082/0:0.0744:0.2314:0.3512:0.3058:0.0372/0:0.0422:0.1181:0.2658:0.3967:0.1772/0:0:0.0085:0.0383:0.1787:0.7745",
                NEXT,
            ),
        ],
        load: LOAD,
        notes: NOTES,
    },
];

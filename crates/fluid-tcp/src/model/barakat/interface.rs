//! What `barakat` takes and gives.

use tmt_core::model::{Arguments, Domain, Field, Key, Model, ModelError, Outcome};

use super::resequencing::Resequencing;
use super::{Hybrid, Nacks, Pipe, Throughput};

const CONNECTIONS: Key = Key::count("C", 10, (1, 1_000_000), "TCP connections over the link")
    .alias(&["c", "connections"]);
const RATE: Key = Key::number("B", 10_000.0, Domain::Positive, "rate of the link, units/s")
    .alias(&["rate", "link_rate"]);
const DELAY: Key = Key::number(
    "D",
    0.2,
    Domain::NonNegative,
    "one-way delay of the link, s",
)
.alias(&["d", "link_delay"]);
const ELSEWHERE: Key = Key::number(
    "T",
    0.08,
    Domain::NonNegative,
    "two-way delay outside of the link, s",
)
.alias(&["t", "elsewhere"]);
const LOSS: Key =
    Key::number("p", 0.01, Domain::Probability, "loss of a unit").alias(&["loss", "unit_loss"]);
const FRAMES: Key = Key::count("X", 6, (1, 10_000), "frames a packet").alias(&["x", "frames"]);
const DATA: Key = Key::count("K", 10, (1, 10_000), "data units a frame").alias(&["k", "data"]);
const SENT: Key = Key::count(
    "N",
    10,
    (1, 10_000),
    "units a frame with its redundancy, K or more",
)
.alias(&["n", "sent"]);
const PERSISTENCY: Key = Key::count("delta", 3, (0, 10_000), "repeats of a frame at most")
    .alias(&["Delta", "persistency"]);
const DELAYED: Key =
    Key::number("b", 2.0, Domain::Positive, "packets an acknowledgement").alias(&["delayed_ack"]);
const ORDER: Key = Key::count(
    "reseq",
    1,
    (0, 1),
    "1: the link keeps packets in order, 0: not",
)
.alias(&["ord", "in_order"]);
const PIPE: Key = Key::word(
    "bdp",
    "medium",
    &["medium", "large"],
    "medium: frames take their time on the link; large: the propagation alone counts",
);
const NACKS: Key = Key::word(
    "nack",
    "paper",
    &["paper", "exact"],
    "share of transmissions that are repeated, as printed or as it is (B5)",
);
const WAITS: Key = Key::word(
    "reseq_model",
    "prop1",
    &["prop1", "mminf"],
    "wait for order: first order in the load, or M/M/inf at any load (B6)",
);

static KEYS: [Key; 14] = [
    CONNECTIONS,
    RATE,
    DELAY,
    ELSEWHERE,
    LOSS,
    FRAMES,
    DATA,
    SENT,
    PERSISTENCY,
    DELAYED,
    ORDER,
    PIPE,
    NACKS,
    WAITS,
];

/// The model.
pub(in crate::model) static MODEL: Model = Model {
    name: "barakat",
    about: "Long-lived TCP over a link with FEC and selective-repeat ARQ: throughput and round trip",
    source: "papers/002 §4 and appendix, equations (1) to (10) and proposition 1; models.md §2.1",
    notes: &[
        "Units are lost independently; a frame of N units fails when more than N - K are lost (B1: the text before (4) says N - K or more, its sum is right)",
        "Repeats go before new frames; NACKs take the one-way delay and no room; the link is the only bottleneck and its buffer never overflows",
        "All connections share one round trip; queueing in front of the link is left out of it, so that R is only an upper figure once the link is full (B8)",
        "E[Y] of a single frame with the maximum is (X+1)/2, printed (X-1)/2 (B2); the appendix' fourth line has an exponent X too many, its result is right (B3)",
        "The wait for repeats is tau E[M] with tau = 2D + N/B; (9) has tau = 2D, which bdp=large uses (B4)",
        "Printed, the share of transmissions that are repeated is P_T(1 - P_T^delta/(delta+1)), which takes all trials as equally likely; nack=exact counts them (B5)",
        "Proposition 1 is first order in lambda/mu; under load it is far too small, and reseq_model=mminf has the mean for Poisson arrivals and exponential times (B6)",
        "p_T in the text before (8) is P_T (B7)",
    ],
    example: "C=10 D=0.1 p=0.01 K=10 N=11 delta=2",
    keys: &KEYS,
    results: &[
        Field::new("PT", "a transmission of a frame fails"),
        Field::new("PF", "a frame is lost for good"),
        Field::new("P", "a packet is lost"),
        Field::new(
            "alpha",
            "share of the busy link that is data of whole packets",
        ),
        Field::new("alpha_inf", "the same without a limit of repeats"),
        Field::new("EM", "mean of the most repeats of any frame of a packet"),
        Field::new("EY", "mean place of the last frame with as many, 1 to X"),
        Field::new(
            "Esigma",
            "mean transmission of a frame with repeats before it, s",
        ),
        Field::new("pi", "share of time in which the link is busy"),
        Field::new("A", "mean round trip without waiting for order, s"),
        Field::new("Ai", "mean round trip with it, s"),
        Field::new("lambda", "packets sent by all connections, 1/s"),
        Field::new("R", "what comes through of a connection, units/s"),
        Field::new("U", "what comes through of all, units/s"),
        Field::new("percent", "the same, in percent of B"),
        Field::new("load", "lambda/mu: packets on the link"),
    ],
    answer,
};

fn hybrid(given: &Arguments) -> Result<Hybrid, ModelError> {
    let (data, sent) = (given.count(&DATA), given.count(&SENT));
    if sent < data {
        return Err(ModelError::refused(format!(
            "N = {sent} is below K = {data}: a frame has at least its data units"
        )));
    }
    let resequencing = match (given.count(&ORDER), given.word(&WAITS)) {
        (0, _) => Resequencing::Off,
        (_, "mminf") => Resequencing::Exact,
        _ => Resequencing::FirstOrder,
    };
    Ok(Hybrid {
        connections: tmt_core::types::to_f64(given.count(&CONNECTIONS)),
        rate: given.number(&RATE),
        delay: given.number(&DELAY),
        elsewhere: given.number(&ELSEWHERE),
        loss: given.number(&LOSS),
        frames: given.count(&FRAMES),
        data,
        sent,
        persistency: given.count(&PERSISTENCY),
        delayed: given.number(&DELAYED),
        resequencing,
        pipe: if given.word(&PIPE) == "large" {
            Pipe::Large
        } else {
            Pipe::Medium
        },
        nacks: if given.word(&NACKS) == "exact" {
            Nacks::Exact
        } else {
            Nacks::Paper
        },
    })
}

fn answer(given: &Arguments) -> Result<Outcome, ModelError> {
    let hybrid = hybrid(given)?;
    let Some(found) = hybrid.solve() else {
        return Err(ModelError::refused(
            "T = 0, D = 0 and bdp=large: a round trip would take no time",
        ));
    };
    let outcome = Outcome::new()
        .number("PT", found.transmission_loss)
        .number("PF", found.frame_loss)
        .number("P", found.packet_loss)
        .number("alpha", found.useful)
        .number("alpha_inf", found.useful_unlimited)
        .number("EM", found.repeats)
        .number("EY", found.last_frame)
        .number("Esigma", found.transmission)
        .number("pi", found.busy)
        .number("A", found.round_trip)
        .number("Ai", found.ordered_round_trip)
        .number("lambda", found.packets)
        .number("R", found.connection)
        .number("U", found.throughput)
        .number("percent", 100.0 * found.throughput / hybrid.rate)
        .number("load", found.load);
    Ok(remarks(outcome, &hybrid, &found))
}

/// What lies outside of the model's assumptions.
fn remarks(outcome: Outcome, hybrid: &Hybrid, found: &Throughput) -> Outcome {
    let frames = tmt_core::types::to_f64(hybrid.frames);
    let packet_time = frames * hybrid.frame_time();
    let medium = hybrid.pipe == Pipe::Medium;
    let outcome = outcome
        .remark_if(
            found.packet_loss <= 0.0,
            "no packet is lost: nothing bounds R here, and the link is full",
        )
        .remark_if(
            found.useful <= 0.0,
            "nothing comes through: every packet is lost",
        )
        .remark_if(
            found.busy >= 1.0 && found.useful > 0.0,
            "the link is full: U is exact, but R, lambda and load are upper figures and A and Ai lower ones, for the queue in front of the link is left out (B8)",
        )
        .remark_if(
            medium && packet_time > 2.0 * hybrid.delay + hybrid.frame_time(),
            "a packet's frames are not out when the first NACK comes back: the link is too short for bdp=medium, which takes the waits of frames as independent",
        )
        .remark_if(
            !medium && packet_time > 0.1 * hybrid.delay,
            "a packet takes more than a tenth of the one-way delay to send: bdp=large, which leaves that out, is too fast",
        );
    let crowded = found.load > 0.5 && found.useful > 0.0 && found.busy < 1.0;
    outcome.remark_if(
        hybrid.resequencing == Resequencing::FirstOrder && crowded,
        "lambda/mu is not small: proposition 1, first order in it, adds too little waiting for order (reseq_model=mminf has all of it, B6)",
    )
}

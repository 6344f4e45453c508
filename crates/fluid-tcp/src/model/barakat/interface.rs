//! What `barakat` takes and gives.

use strum::VariantNames as _;
use tmt_core::model::{Arguments, ModelError};
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::resequencing::Resequencing;
use super::{Hybrid, Nacks, Pipe};

keys! {
    CONNECTIONS: Count(1, 1_000_000), "C" | "c" | "connections" = 10, "TCP connections over the link";
    RATE: Positive, "B" | "rate" | "link_rate" = 10_000.0, "rate of the link, units/s";
    DELAY: NonNegative, "D" | "d" | "link_delay" = 0.2, "one-way delay of the link, s";
    ELSEWHERE: NonNegative, "T" | "t" | "elsewhere" = 0.08, "two-way delay outside of the link, s";
    LOSS: Probability, "p" | "loss" | "unit_loss" = 0.01, "loss of a unit";
    FRAMES: Count(1, 10_000), "X" | "x" | "frames" = 6, "frames a packet";
    DATA: Count(1, 10_000), "K" | "k" | "data" = 10, "data units a frame";
    SENT: Count(1, 10_000), "N" | "n" | "sent" = 10, "units a frame with its redundancy, K or more";
    PERSISTENCY: Count(0, 10_000), "delta" | "Delta" | "persistency" = 3, "repeats of a frame at most";
    DELAYED: Positive, "b" | "delayed_ack" = 2.0, "packets an acknowledgement";
    ORDER: Count(0, 1), "reseq" | "ord" | "in_order" = 1, "1: the link keeps packets in order, 0: not";
    PIPE: Word(Pipe::VARIANTS), "bdp" = "medium",
        "medium: frames take their time on the link; large: the propagation alone counts";
    NACKS: Word(Nacks::VARIANTS), "nack" = "paper",
        "share of transmissions that are repeated, as printed or as it is (B5)";
    WAITS: Word(&["prop1", "mminf"]), "reseq_model" = "prop1",
        "wait for order: first order in the load, or M/M/inf at any load (B6)";
}

closed_form! {
    /// The model.
    pub(in crate::model) static MODEL: "barakat",
        "Long-lived TCP over a link with FEC and selective-repeat ARQ: throughput and round trip";
    source: "papers/002 §4 and appendix, equations (1) to (10) and proposition 1; models.md §2.1";
    notes: [
        "Units are lost independently; a frame of N units fails when more than N - K are lost (B1: the text before (4) says N - K or more, its sum is right)",
        "Repeats go before new frames; NACKs take the one-way delay and no room; the link is the only bottleneck and its buffer never overflows",
        "All connections share one round trip; queueing in front of the link is left out of it, so that R is only an upper figure once the link is full (B8)",
        "E[Y] of a single frame with the maximum is (X+1)/2, printed (X-1)/2 (B2); the appendix' fourth line has an exponent X too many, its result is right (B3)",
        "The wait for repeats is tau E[M] with tau = 2D + N/B; (9) has tau = 2D, which bdp=large uses (B4)",
        "Printed, the share of transmissions that are repeated is P_T(1 - P_T^delta/(delta+1)), which takes all trials as equally likely; nack=exact counts them (B5)",
        "Proposition 1 is first order in lambda/mu; under load it is far too small, and reseq_model=mminf has the mean for Poisson arrivals and exponential times (B6)",
        "p_T in the text before (8) is P_T (B7)",
    ];
    example: "C=10 D=0.1 p=0.01 K=10 N=11 delta=2";
    keys: [CONNECTIONS, RATE, DELAY, ELSEWHERE, LOSS, FRAMES, DATA, SENT, PERSISTENCY, DELAYED, ORDER, PIPE, NACKS, WAITS];
    answer(given) {
        let hybrid = hybrid(given)?;
        let Some(found) = hybrid.solve() else {
            return Err(ModelError::refused(
                "T = 0, D = 0 and bdp=large: a round trip would take no time",
            ));
        };
        let (full, through) = (found.busy >= 1.0, found.useful > 0.0);
        let packet_time = to_f64(hybrid.frames) * hybrid.frame_time();
        let medium = hybrid.pipe == Pipe::Medium;
        let first_order = hybrid.resequencing == Resequencing::FirstOrder;
    }
    results {
        "PT" = found.transmission_loss, "a transmission of a frame fails";
        "PF" = found.frame_loss, "a frame is lost for good";
        "P" = found.packet_loss, "a packet is lost";
        "alpha" = found.useful, "share of the busy link that is data of whole packets";
        "alpha_inf" = found.useful_unlimited, "the same without a limit of repeats";
        "EM" = found.repeats, "mean of the most repeats of any frame of a packet";
        "EY" = found.last_frame, "mean place of the last frame with as many, 1 to X";
        "Esigma" = found.transmission, "mean transmission of a frame with repeats before it, s";
        "pi" = found.busy, "share of time in which the link is busy";
        "A" = found.round_trip, "mean round trip without waiting for order, s";
        "Ai" = found.ordered_round_trip, "mean round trip with it, s";
        "lambda" = found.packets, "packets sent by all connections, 1/s";
        "R" = found.connection, "what comes through of a connection, units/s";
        "U" = found.throughput, "what comes through of all, units/s";
        "percent" = 100.0 * found.throughput / hybrid.rate, "the same, in percent of B";
        "load" = found.load, "lambda/mu: packets on the link";
    }
    remarks {
        if found.packet_loss <= 0.0 => "no packet is lost: nothing bounds R here, and the link is full";
        if !through => "nothing comes through: every packet is lost";
        if full && through =>
            "the link is full: U is exact, but R, lambda and load are upper figures and A and Ai lower ones, for the queue in front of the link is left out (B8)";
        if medium && packet_time > 2.0 * hybrid.delay + hybrid.frame_time() =>
            "a packet's frames are not out when the first NACK comes back: the link is too short for bdp=medium, which takes the waits of frames as independent";
        if !medium && packet_time > 0.1 * hybrid.delay =>
            "a packet takes more than a tenth of the one-way delay to send: bdp=large, which leaves that out, is too fast";
        if first_order && found.load > 0.5 && through && !full =>
            "lambda/mu is not small: proposition 1, first order in it, adds too little waiting for order (reseq_model=mminf has all of it, B6)";
    }
}

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
        connections: to_f64(given.count(&CONNECTIONS)),
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
        pipe: given.choice(&PIPE),
        nacks: given.choice(&NACKS),
    })
}

//! Keys and results of `barakat`.

use strum::VariantNames as _;
use tmt_core::model::{Arguments, ModelError};
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::resequencing::Resequencing;
use super::{Bdp, Hybrid, Nacks};

keys! {
    CONNECTIONS: Count(1, 1_000_000), "C" | "c" | "connections" = 10, "connections";
    RATE: Positive, "B" | "rate" | "link_rate" = 10_000.0, "rate of the link, units/s";
    DELAY: NonNegative, "D" | "d" | "link_delay" = 0.2, "one-way delay of the link, s";
    ELSEWHERE: NonNegative, "T" | "t" | "elsewhere" = 0.08, "two-way delay outside the link, s";
    LOSS: Probability, "p" | "loss" | "unit_loss" = 0.01, "loss of a unit";
    FRAMES: Count(1, 10_000), "X" | "x" | "frames" = 6, "frames per packet";
    DATA: Count(1, 10_000), "K" | "k" | "data" = 10, "data units of a frame";
    SENT: Count(1, 10_000), "N" | "n" | "sent" = 10, "all units of a frame, K or more";
    PERSISTENCY: Count(0, 10_000), "delta" | "Delta" | "persistency" = 3, "rounds of a frame, at most";
    DELAYED: Positive, "b" | "delayed_ack" = 2.0, "packets per ACK";
    ORDER: Count(0, 1), "reseq" | "ord" | "in_order" = 1, "1: in-order delivery, 0: none";
    PIPE: Word(Bdp::VARIANTS), "bdp" = "medium",
        "medium: frames take their time on the link; large: only propagation counts";
    NACKS: Word(Nacks::VARIANTS), "nack" = "paper",
        "share of transmissions that are repeated: paper (as printed) or exact (B5)";
    WAITS: Word(&["prop1", "mminf"]), "reseq_model" = "prop1",
        "wait for order: prop1 (first order in the load) or mminf (M/M/inf at any load, B6)";
}

closed_form! {
    /// `tmt model barakat` (docs/models.md, Sec. 5.2).
    pub(in crate::model) static MODEL: "barakat",
        "Long-lived TCP over a link with FEC and selective-repeat ARQ: throughput and round trip";
    source: "Barakat 2004, Sec. 4 and appendix, eq. (1) to (10), Proposition 1; docs/models.md, Sec. 5.2";
    notes: [
        "Unit losses are independent. A frame of N units fails if more than N - K are lost (B1: the text before (4) has N - K or more; the sum (4) is right)",
        "Repeats go before new frames. NACKs take D and no capacity. The link is the only bottleneck and its buffer does not overflow",
        "All connections have the same round trip. It omits queueing before the link, so R is an upper figure if the link is full (B8)",
        "E[Y] of a single frame with the maximum is (X+1)/2; the appendix prints (X-1)/2 (B2). An exponent X in its fourth line must be 1; its result is right (B3)",
        "The wait for repeats is tau E[M] with tau = 2D + N/B. (9) has tau = 2D, which bdp=large uses (B4)",
        "The printed share of transmissions that are repeated, P_T(1 - P_T^delta/(delta+1)), takes all trial numbers as equally likely. nack=exact is the correct share (B5)",
        "Proposition 1 is first order in lambda/mu and far too small under load. reseq_model=mminf is the mean for Poisson arrivals and exponential times (B6)",
        "p_T in the text before (8) is P_T (B7)",
    ];
    example: "C=10 D=0.1 p=0.01 K=10 N=11 delta=2";
    keys: [CONNECTIONS, RATE, DELAY, ELSEWHERE, LOSS, FRAMES, DATA, SENT, PERSISTENCY, DELAYED, ORDER, PIPE, NACKS, WAITS];
    answer(given) {
        let hybrid = hybrid(given)?;
        let Some(found) = hybrid.solve() else {
            return Err(ModelError::refused(
                "T = 0, D = 0 and bdp=large: the round-trip time would be 0; set T or D above 0 or bdp=medium",
            ));
        };
        let (full, through) = (found.busy >= 1.0, found.useful > 0.0);
        let packet_time = to_f64(hybrid.frames) * hybrid.frame_time();
        let medium = hybrid.bdp == Bdp::Medium;
        let first_order = hybrid.resequencing == Resequencing::FirstOrder;
    }
    results {
        "PT" = found.transmission_loss, "probability that a transmission of a frame fails";
        "PF" = found.frame_loss, "probability that a frame is lost after all rounds";
        "P" = found.packet_loss, "probability that a packet is lost";
        "alpha" = found.useful, "share of a full link that carries data of complete packets";
        "alpha_inf" = found.useful_unlimited, "alpha with unlimited rounds";
        "EM" = found.repeats, "mean of the largest number of rounds of a packet's frames";
        "EY" = found.last_frame, "mean number of the last frame with that many rounds, 1 to X";
        "Esigma" = found.transmission, "mean time to send a frame, with the repeats before it, s";
        "pi" = found.busy, "share of time in which the link is busy";
        "A" = found.round_trip, "mean round-trip time without the wait for order, s";
        "Ai" = found.ordered_round_trip, "mean round-trip time with the wait for order, s";
        "lambda" = found.packets, "packets sent by all connections, 1/s";
        "R" = found.connection, "throughput of a connection, units/s";
        "U" = found.throughput, "throughput of all connections, units/s";
        "percent" = 100.0 * found.throughput / hybrid.rate, "U in percent of B";
        "load" = found.load, "lambda/mu: mean number of packets on the link";
    }
    remarks {
        if found.packet_loss <= 0.0 => "no packet is lost: only the link limits R, and it is full";
        if !through => "every packet is lost";
        if full && through =>
            "the link is full: U is exact, but R, lambda and load are upper figures and A and Ai lower ones, because queueing before the link is left out (B8)";
        if medium && packet_time > 2.0 * hybrid.delay + hybrid.frame_time() =>
            "the first NACK arrives before all frames of a packet are sent: the link is too short for bdp=medium, which assumes that frames wait independently";
        if !medium && packet_time > 0.1 * hybrid.delay =>
            "a packet takes more than a tenth of the one-way delay to send: bdp=large, which leaves that out, gives too high a throughput";
        if first_order && found.load > 0.5 && through && !full =>
            "lambda/mu is not small: Proposition 1, which is first order in it, underestimates the wait for order; use reseq_model=mminf (B6)";
    }
}

fn hybrid(given: &Arguments) -> Result<Hybrid, ModelError> {
    let (data, sent) = (given.count(&DATA), given.count(&SENT));
    if sent < data {
        return Err(ModelError::refused(format!(
            "N = {sent} is below K = {data}: a frame has at least K units"
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
        bdp: given.choice(&PIPE),
        nacks: given.choice(&NACKS),
    })
}

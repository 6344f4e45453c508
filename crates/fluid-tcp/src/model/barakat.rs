//! `barakat`: long-lived TCP over a link with FEC and frame ARQ together.
//!
//! K data units and N − K repair units make a frame, X frames make a packet. A frame fails if more than N − K of its units
//! are lost. It is then sent again as a whole, at most δ times.
//!
//! In the equations of Barakat 2004 the rate R is on both sides: repeats on a busy link delay other frames, and the
//! packets of a faster connection wait longer for order. The unknown solved for is the sending rate g = R/(1 − P),
//! which keeps its precision if nearly all packets are lost.

mod interface;
pub mod resequencing;

use strum::{EnumString, VariantNames};
use tmt_core::math::num::{exp, expm1, ln, log1p};
use tmt_core::types::to_f64;

use super::Probability;
use super::pftk::round_trips_per_packet;

pub(super) use interface::MODEL;
use resequencing::Resequencing;

/// Terms of the round trip that are taken into account, by the size of the bandwidth-delay product.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Bdp {
    /// All frames of a packet are sent before a NACK arrives, and sending them takes time (Sec. 4.4.3).
    Medium,
    /// Only propagation counts (Sec. 4.4.2, eq. (9)).
    Large,
}

/// Formula for the share of transmissions that fail and are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Nacks {
    /// As printed: P_T (1 − P_T^δ/(δ+1)).
    Paper,
    /// Corrected (B5): P_T (1 − P_T^δ)/(1 − P_T^(δ+1)).
    Exact,
}

/// A link, its code and ARQ, and the connections over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hybrid {
    /// C: number of connections, 1 or more.
    pub connections: f64,
    /// B: rate of the link, units/s; above 0.
    pub rate: f64,
    /// D: one-way delay of the link, s; 0 or above.
    pub delay: f64,
    /// T: two-way delay outside the link, s; 0 or above.
    pub elsewhere: f64,
    /// p: loss probability of a unit, 0 to 1.
    pub loss: f64,
    /// X: frames per packet, 1 or more.
    pub frames: u64,
    /// K: data units of a frame, 1 or more.
    pub data: u64,
    /// N: all units of a frame, K or more.
    pub sent: u64,
    /// δ: rounds of a frame, at most.
    pub persistency: u64,
    /// b: packets per ACK, above 0.
    pub delayed: f64,
    /// Wait for order that is added to the round trip.
    pub resequencing: Resequencing,
    /// Terms of the round trip that are taken into account.
    pub bdp: Bdp,
    /// Formula for the share of transmissions that are repeated.
    pub nacks: Nacks,
}

/// Results for a [`Hybrid`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// P_T: probability that a transmission of a frame fails.
    pub transmission_loss: f64,
    /// P_F: probability that a frame is lost after all rounds.
    pub frame_loss: f64,
    /// P: probability that a packet is lost.
    pub packet_loss: f64,
    /// α: share of a full link that carries data of complete packets, 0 to 1.
    pub useful: f64,
    /// α for δ → ∞, 0 to 1.
    pub useful_unlimited: f64,
    /// E(M): mean of the largest number of rounds of the frames of a delivered packet.
    pub repeats: f64,
    /// E(Y): mean number of the last frame with that many rounds, 1 to X.
    pub last_frame: f64,
    /// E(σ): mean time to send a frame, with the repeats before it, s.
    pub transmission: f64,
    /// π: share of time in which the link is busy, 0 to 1.
    pub busy: f64,
    /// A: mean round-trip time without the wait for order, s.
    pub round_trip: f64,
    /// A_i: mean round-trip time with the wait for order, s.
    pub ordered_round_trip: f64,
    /// λ: packets that all connections send, 1/s.
    pub packets: f64,
    /// λ/μ: mean number of packets on the link.
    pub load: f64,
    /// R: throughput of a connection, units/s; an upper figure if `busy` is 1.
    pub connection: f64,
    /// U: throughput of all connections, units/s.
    pub throughput: f64,
}

/// Rounds of the frames of a delivered packet (Sec. 4.4.2, Sec. 4.4.3 and appendix).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// E(M): mean of the largest number of rounds of its frames.
    pub most: f64,
    /// E(Y): mean number of the last frame with that many rounds, 1 to X.
    pub last: f64,
}

/// E(M) and E(Y) for frames whose transmissions fail with probability P_T, given that all X frames arrive.
///
/// With F_k = P(δ_i ≤ k) and f_k = P(δ_i = k), all terms of E(M) = Σ_k (1 − F_k^X) and
/// E(Y) = Σ_k f_k Σ_{y=1..X} y F_k^(y−1) F_{k−1}^(X−y) are positive. This E(Y) equals (10), with the difference of
/// powers there expanded into the inner sum. It takes at most δ steps, fewer once the remaining terms are negligible.
#[must_use]
pub fn repeats(transmission: Probability, persistency: u64, frames: u64) -> Repeats {
    let trials = to_f64(persistency) + 1.0;
    let x = to_f64(frames);
    // (1 − P_T^a)/(1 − P_T^(δ+1)), a/(δ+1) if P_T is 1.
    let power = transmission.ln();
    let all = expm1(trials * power);
    let share = |a: f64| {
        if a <= 0.0 {
            0.0
        } else if transmission.no <= 0.0 {
            a / trials
        } else {
            expm1(a * power) / all
        }
    };
    let first = share(1.0);
    let (mut most, mut last, mut before) = (0.0, 0.0, 0.0);
    for k in 0..=persistency {
        let k = to_f64(k);
        let still = if k > 0.0 { exp(k * power) } else { 1.0 };
        // The terms beyond k are less than 1 in 10^18 of the sum.
        if x * x * still <= 1e-18 * transmission.no * f64::min(most, 1.0) {
            break;
        }
        let more = transmission.yes * still * share(trials - 1.0 - k);
        let at_most = share(k + 1.0);
        let at_most_log = if more < 0.5 {
            log1p(-more)
        } else {
            ln(at_most)
        };
        most -= expm1(x * at_most_log);
        last += first * still * exp((x - 1.0) * at_most_log) * rising_sum(before / at_most, frames);
        before = at_most;
    }
    Repeats { most, last }
}

/// Σ_{j=0..n−1} (n − j) t^j by doubling: only positive terms, one step per bit of n.
fn rising_sum(t: f64, n: u64) -> f64 {
    // With m the number given by the bits read so far: t^m, Σ_{j<m} t^j and the sum for m.
    let (mut power, mut plain, mut rising, mut m) = (1.0, 0.0, 0.0, 0.0);
    for bit in (0..64 - n.leading_zeros()).rev() {
        rising += m * plain + power * rising;
        plain += power * plain;
        power *= power;
        m *= 2.0;
        if n >> bit & 1 == 1 {
            plain += power;
            rising += plain;
            power *= t;
            m += 1.0;
        }
    }
    rising
}

/// Intermediate results that do not depend on the rate.
struct Fixed {
    transmission: Probability,
    frame: Probability,
    packet: Probability,
    repeats: Repeats,
    /// Probability that a transmission fails and is repeated.
    nack: f64,
    /// Time on the link per data unit sent, s: (N/K) (1 − P_T^(δ+1))/((1 − P_T) B).
    units: f64,
}

impl Hybrid {
    fn fixed(&self) -> Fixed {
        let transmission = Probability::new(self.loss).more_than(self.sent - self.data, self.sent);
        let trials = to_f64(self.persistency) + 1.0;
        let frame = transmission.all(trials);
        let packet = frame.not().all(to_f64(self.frames)).not();
        let nack = transmission.yes
            * match self.nacks {
                Nacks::Paper => 1.0 - transmission.all(trials - 1.0).yes / trials,
                Nacks::Exact => transmission.ratio(trials - 1.0, trials),
            };
        // A frame is sent (1 − P_T^(δ+1))/(1 − P_T) times.
        let sent = transmission.ratio(trials, 1.0) * to_f64(self.sent) / to_f64(self.data);
        Fixed {
            repeats: repeats(transmission, self.persistency, self.frames),
            transmission,
            frame,
            packet,
            nack,
            units: sent / self.rate,
        }
    }

    /// S: data units per packet, X K.
    #[must_use]
    pub fn packet_units(&self) -> f64 {
        to_f64(self.frames) * to_f64(self.data)
    }

    /// Time to send a frame on an idle link, N/B, s.
    #[must_use]
    pub fn frame_time(&self) -> f64 {
        to_f64(self.sent) / self.rate
    }

    /// Solves for g by bisection, to the last bit.
    ///
    /// The solution is unique, because the right side of R = R(P, A_i(R)) decreases in R. Returns `None` if the
    /// round-trip time is 0.
    #[must_use]
    pub fn solve(&self) -> Option<Throughput> {
        let fixed = self.fixed();
        let trips = round_trips_per_packet(fixed.packet.yes, self.delayed);
        let rate = |g: f64| self.packet_units() / (self.at(&fixed, g).ordered_round_trip * trips);
        let slowest = self.elsewhere + 2.0 * self.delay;
        if slowest <= 0.0 && self.bdp == Bdp::Large {
            return None;
        }
        let mut above = rate(0.0);
        let mut below = rate(above);
        // Bisects until no double lies in the interval.
        while above.is_finite() {
            let middle = below + (above - below) / 2.0;
            if middle <= below || middle >= above {
                break;
            }
            if rate(middle) > middle {
                below = middle;
            } else {
                above = middle;
            }
        }
        Some(self.at(&fixed, above))
    }

    /// All results for the sending rate `g` of a connection, in units/s.
    fn at(&self, fixed: &Fixed, g: f64) -> Throughput {
        let x = to_f64(self.frames);
        let share = to_f64(self.data) / to_f64(self.sent);
        let busy = f64::min(1.0, self.connections * g * fixed.units);
        let transmission = self.frame_time() / (1.0 - busy * fixed.nack);
        let way = self.elsewhere + 2.0 * self.delay;
        let waits = match self.bdp {
            Bdp::Medium => {
                (2.0 * self.delay + self.frame_time()) * fixed.repeats.most
                    + fixed.repeats.last * transmission
            }
            Bdp::Large => 2.0 * self.delay * fixed.repeats.most,
        };
        // 1/μ = A − T − D.
        let on_link = self.delay + waits;
        let packets = self.connections * g / self.packet_units();
        let load = if on_link > 0.0 {
            packets * on_link
        } else {
            0.0
        };
        let useful_unlimited = fixed.transmission.no * share;
        let useful = fixed.frame.not().all(x - 1.0).yes * useful_unlimited;
        let connection = if fixed.packet.no > 0.0 {
            fixed.packet.no * g
        } else {
            0.0
        };
        Throughput {
            transmission_loss: fixed.transmission.yes,
            frame_loss: fixed.frame.yes,
            packet_loss: fixed.packet.yes,
            useful,
            useful_unlimited,
            repeats: fixed.repeats.most,
            last_frame: fixed.repeats.last,
            transmission,
            busy,
            round_trip: way + waits,
            ordered_round_trip: way + waits + on_link * self.resequencing.delay(load),
            packets,
            load,
            connection,
            throughput: f64::min(useful * self.rate, self.connections * connection),
        }
    }
}

/// α for δ → ∞, (1 − P_T) K/N: share of a full link that carries data if frames are repeated until they arrive.
#[must_use]
pub fn useful_unlimited(loss: f64, data: u64, sent: u64) -> f64 {
    Probability::new(loss).more_than(sent - data, sent).no * to_f64(data) / to_f64(sent)
}

#[cfg(test)]
mod tests;

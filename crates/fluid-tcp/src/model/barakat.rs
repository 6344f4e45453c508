//! `barakat`: long-lived TCP over a link that repairs losses by FEC and selective-repeat ARQ together.
//!
//! The transport of the link is a unit; K data units and N − K redundant ones make a frame, X frames a packet. A
//! frame fails when more than N − K of its units are lost, and is then repeated as a whole, δ times at most.
//!
//! Barakat and Al Fawal's equations hold the rate on both sides: a busy link delays frames by repeats of others, and
//! a faster connection waits longer for its packets to come in order. The unknown here is g = R/(1 − P), what all of
//! a connection's packets are sent with, so that nothing is lost where next to nothing comes through.

mod interface;
pub mod resequencing;

use strum::{EnumString, VariantNames};
use tmt_core::math::num::{exp, expm1, ln, log1p};
use tmt_core::types::to_f64;

use super::Probability;
use super::pftk::round_trips_a_packet;

pub(super) use interface::MODEL;
use resequencing::Resequencing;

/// Which terms of the round trip count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Pipe {
    /// A packet's frames are out before a NACK comes back; their transmission takes time (§4.4.3).
    Medium,
    /// Their transmission takes no time beside the propagation (§4.4.2, equation (9)).
    Large,
}

/// How many transmissions fail and are repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Nacks {
    /// As the paper has it: P_T (1 − P_T^δ/(δ+1)).
    Paper,
    /// What it is (erratum B5): P_T (1 − P_T^δ)/(1 − P_T^(δ+1)).
    Exact,
}

/// A link, its repair and the connections over it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hybrid {
    /// C: connections.
    pub connections: f64,
    /// B: rate of the link, units a second; above 0.
    pub rate: f64,
    /// D: one-way delay of the link, seconds.
    pub delay: f64,
    /// T: two-way delay outside of the link, seconds.
    pub elsewhere: f64,
    /// p: loss of a unit.
    pub loss: f64,
    /// X: frames a packet, 1 or more.
    pub frames: u64,
    /// K: data units a frame, 1 or more.
    pub data: u64,
    /// N: units a frame, K or more.
    pub sent: u64,
    /// δ: repeats of a frame at most.
    pub persistency: u64,
    /// b: packets an acknowledgement.
    pub delayed: f64,
    /// What waiting for order adds.
    pub resequencing: Resequencing,
    /// Which terms of the round trip count.
    pub pipe: Pipe,
    /// How many transmissions are repeated.
    pub nacks: Nacks,
}

/// What comes of a [`Hybrid`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Throughput {
    /// P_T: that a transmission of a frame fails.
    pub transmission_loss: f64,
    /// P_F: that a frame is lost for good.
    pub frame_loss: f64,
    /// P: that a packet is.
    pub packet_loss: f64,
    /// α: share of the link that is data of whole packets, when it is always busy.
    pub useful: f64,
    /// α for δ → ∞.
    pub useful_unlimited: f64,
    /// E(M): most repeats of any frame of a packet that comes through.
    pub repeats: f64,
    /// E(Y): the last frame that has as many, counted from 1.
    pub last_frame: f64,
    /// E(σ): transmission of a frame with what goes before it, seconds.
    pub transmission: f64,
    /// π: share of time in which the link is busy.
    pub busy: f64,
    /// A: round trip without waiting for order, seconds.
    pub round_trip: f64,
    /// A_i: round trip with it.
    pub ordered_round_trip: f64,
    /// λ: packets that all connections send, a second.
    pub packets: f64,
    /// λ/μ: packets on the link.
    pub load: f64,
    /// R: what comes through of a connection, units a second; an upper figure where `busy` is 1.
    pub connection: f64,
    /// U: what comes through of all, units a second.
    pub throughput: f64,
}

/// Repeats of a packet that comes through (§4.4.2, §4.4.3 and appendix).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Repeats {
    /// E(M): most repeats of any of its frames.
    pub most: f64,
    /// E(Y): the last frame with as many, from 1 to X.
    pub last: f64,
}

/// E(M) and E(Y) for frames whose transmissions fail with probability P_T, given that all X frames arrive.
///
/// With F_k = P(δ_i ≤ k) and f_k = P(δ_i = k), all terms of
/// E(M) = Σ_k (1 − F_k^X) and E(Y) = Σ_k f_k Σ_{y=1..X} y F_k^(y−1) F_{k−1}^(X−y) are positive. This E(Y) is
/// (10): the difference of its powers is that of the inner sum. At most δ steps; fewer once no frame needs more.
#[must_use]
pub fn repeats(transmission: Probability, persistency: u64, frames: u64) -> Repeats {
    let trials = to_f64(persistency) + 1.0;
    let x = to_f64(frames);
    // (1 − P_T^a)/(1 − P_T^(δ+1)), a/(δ+1) where P_T is 1.
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
        // No frame has more repeats than δ, and fewer than 1 in 10^18 of what is summed have more than k.
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

/// Σ_{j=0..n−1} (n − j) t^j, by doubling: positive terms alone, in as many steps as n has bits.
fn rising_sum(t: f64, n: u64) -> f64 {
    // For the m that the bits read so far make: t^m, Σ_{j<m} t^j and the sum asked for.
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

/// What does not depend on the rate.
struct Fixed {
    transmission: Probability,
    frame: Probability,
    packet: Probability,
    repeats: Repeats,
    /// That a transmission fails and is repeated.
    nack: f64,
    /// C g times this is the load of the link: 1/(α B) of what comes through.
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

    /// S: units a packet.
    #[must_use]
    pub fn packet_units(&self) -> f64 {
        to_f64(self.frames) * to_f64(self.data)
    }

    /// Transmission of a frame without any in front of it, seconds.
    #[must_use]
    pub fn frame_time(&self) -> f64 {
        to_f64(self.sent) / self.rate
    }

    /// The answer, with g as near to the fixed point as a double comes.
    ///
    /// There is exactly one: the right side of R = R(P, A_i(R)) falls as R rises. None where a round trip takes no
    /// time at all.
    #[must_use]
    pub fn solve(&self) -> Option<Throughput> {
        let fixed = self.fixed();
        let trips = round_trips_a_packet(fixed.packet.yes, self.delayed);
        let rate = |g: f64| self.packet_units() / (self.at(&fixed, g).ordered_round_trip * trips);
        let slowest = self.elsewhere + 2.0 * self.delay;
        if slowest <= 0.0 && self.pipe == Pipe::Large {
            return None;
        }
        let mut above = rate(0.0);
        let mut below = rate(above);
        // Halves the interval until no double is left in it.
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

    /// Everything under a sending rate of `g` a connection.
    fn at(&self, fixed: &Fixed, g: f64) -> Throughput {
        let x = to_f64(self.frames);
        let share = to_f64(self.data) / to_f64(self.sent);
        let busy = f64::min(1.0, self.connections * g * fixed.units);
        let transmission = self.frame_time() / (1.0 - busy * fixed.nack);
        let way = self.elsewhere + 2.0 * self.delay;
        let waits = match self.pipe {
            Pipe::Medium => {
                (2.0 * self.delay + self.frame_time()) * fixed.repeats.most
                    + fixed.repeats.last * transmission
            }
            Pipe::Large => 2.0 * self.delay * fixed.repeats.most,
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

/// α for δ → ∞: (1 − P_T) K/N, the share of a busy link that is data when no frame is given up.
#[must_use]
pub fn useful_unlimited(loss: f64, data: u64, sent: u64) -> f64 {
    Probability::new(loss).more_than(sent - data, sent).no * to_f64(data) / to_f64(sent)
}

#[cfg(test)]
mod tests;

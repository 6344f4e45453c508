//! The goodput of TCP over a link that carries a code.

use strum::{EnumString, VariantNames};
use tmt_core::model::ModelError;

use super::super::congestion::Bottleneck;
use super::super::relation15::relation_15;
use super::super::tgep::{TgepParameters, goodput, stationary_goodput};

/// Model for the goodput of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Law {
    /// Relation (15) times the connections, at most 1.
    #[strum(serialize = "rel15")]
    Relation15,
    /// TGEP: its law for one connection on a link, drawn for more, up to a segment error rate of 0.999.
    Tgep,
    /// TGEP if it gives at least half of the link, otherwise (15): the threshold of the paper.
    Hybrid,
}

/// Links of several connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Links {
    /// All connections share one link and its buffer.
    Shared,
    /// Each connection has its own link with an equal share of the rate, and its own buffer.
    Separate,
}

/// Settings of TCP and its path, apart from the code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Propagation delay, both ways, s; 0 or above.
    pub tau: f64,
    /// Buffer over bandwidth-delay product; 0 or above.
    pub beta: f64,
    /// Segments per ACK; above 0.
    pub per_ack: f64,
    /// Timeout T0 of (15), s.
    pub timeout: f64,
    /// Model for the goodput of TCP.
    pub law: Law,
    /// Number of connections; a whole number, 1 or more.
    pub connections: f64,
    /// Links of the connections.
    pub links: Links,
}

/// Half-width over the mean, and level, at which TGEP is drawn for connections that share a link.
const PRECISION: (f64, f64) = (0.005, 0.99);

/// Segment error rate above which (15) is used in place of drawing: almost no segment arrives, and the rare ones would
/// take more cycles than is feasible.
const DRAWN: f64 = 0.999;

impl Path {
    /// The link of a connection, if all links together have a rate of `mu` segments/s.
    pub(super) fn link(&self, mu: f64) -> Bottleneck {
        let (mu, connections) = match self.links {
            Links::Shared => (mu, self.connections),
            Links::Separate => (mu / self.connections, 1.0),
        };
        Bottleneck {
            mu,
            tau: self.tau,
            beta: self.beta,
            connections,
            per_ack: self.per_ack,
        }
    }

    fn relation(&self, mu: f64, q: f64) -> f64 {
        let link = self.link(mu);
        let one = relation_15(q, link.mu, self.tau, self.timeout, self.per_ack);
        (link.connections * one).min(1.0)
    }

    /// Upper bound of the law of TGEP: goodput with congestion alone, the share of segments that are not lost, and the
    /// inverse square root law of a link without limit, 1.31 N/(μ T √(bq)). The latter is increased by a fifth, because it
    /// is only approximate for frequent losses.
    fn most(&self, mu: f64, q: f64) -> f64 {
        let link = self.link(mu);
        let root = 1.2 * 1.31 * link.connections / (link.bdp() * (self.per_ack * q).sqrt());
        // Some random loss helps several connections: their windows no longer halve together.
        let full = if link.connections > 1.0 {
            1.0
        } else {
            link.congestion_goodput()
        };
        full.min(root).min(1.0 - q)
    }

    /// Goodput of all connections over μ at a rate of `mu` segments/s in all and a segment error rate `q`.
    ///
    /// # Errors
    /// TGEP would need too many cycles for connections that share a link.
    pub fn goodput(&self, mu: f64, q: f64) -> Result<f64, ModelError> {
        match self.law {
            Law::Relation15 => Ok(self.relation(mu, q)),
            Law::Tgep => self.tgep(mu, q),
            Law::Hybrid if self.most(mu, q) < 0.5 => Ok(self.relation(mu, q)),
            Law::Hybrid => {
                let tgep = self.tgep(mu, q)?;
                Ok(if tgep >= 0.5 {
                    tgep
                } else {
                    self.relation(mu, q)
                })
            }
        }
    }

    fn tgep(&self, mu: f64, q: f64) -> Result<f64, ModelError> {
        let link = self.link(mu);
        if q * link.cycle() < 1e-12 {
            return Ok(link.congestion_goodput());
        }
        if link.connections <= 1.0 {
            return Ok(stationary_goodput(&link, q));
        }
        if q > DRAWN {
            return Ok(self.relation(mu, q));
        }
        let (relative, level) = PRECISION;
        let drawn = goodput(&TgepParameters {
            link,
            loss: q,
            resend_round_trip: false,
            relative,
            level,
            seed: 1,
        });
        drawn.map(|found| found.norm)
    }

    /// Half-width over the mean of what [`Path::goodput`] draws; 0 where it computes.
    pub(super) fn relative_error(&self) -> f64 {
        if self.is_drawn() { PRECISION.0 } else { 0.0 }
    }

    fn is_drawn(&self) -> bool {
        let is_shared = self.links == Links::Shared && self.connections > 1.0;
        is_shared && self.law != Law::Relation15
    }

    /// Upper bound of [`Path::goodput`], which costs little.
    pub(super) fn bound(&self, mu: f64, q: f64) -> f64 {
        // The lattice of the law is exact to 1e-5; what is drawn has an interval.
        let slack = if self.is_drawn() { 0.02 } else { 1e-4 };
        let most = self.most(mu, q) * (1.0 + slack);
        match self.law {
            Law::Relation15 => self.relation(mu, q),
            Law::Tgep => most,
            Law::Hybrid => self.relation(mu, q).max(most),
        }
    }
}

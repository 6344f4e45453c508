//! The best code and modulation at a quality of the channel (papers/003, section IV; models.md §3.6).

mod codes;
#[cfg(test)]
mod tests;

use strum::{EnumString, VariantNames};
use tmt_core::model::ModelError;
use tmt_core::model::linkbudget::Carrier;
use tmt_core::model::ser::Burst;
use tmt_core::{closed_form, keys};

use super::congestion::{B, BETA, Bottleneck, TAU};
use super::relation15::{T0, relation_15};
use super::tgep::stationary_goodput;
use codes::too_long;
pub use codes::{Candidate, Family, candidates};

/// How the goodput of TCP is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Law {
    /// Relation (15), at most 1.
    #[strum(serialize = "rel15")]
    Relation15,
    /// TGEP's law for one connection.
    Tgep,
    /// TGEP where it gives half of the link or more, (15) below: the paper's threshold.
    Hybrid,
}

/// What TCP meets besides the code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Path {
    /// Latency of both ways, s.
    pub tau: f64,
    /// Buffer over bandwidth-delay product.
    pub beta: f64,
    /// Segments an ACK stands for.
    pub per_ack: f64,
    /// Timeout, s, for (15).
    pub timeout: f64,
    /// How the goodput is told.
    pub law: Law,
}

/// What a candidate gives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// Bits a symbol.
    pub eta: f64,
    /// Information bits/s.
    pub rate: f64,
    /// Segment error rate.
    pub segment: f64,
    /// Goodput over the rate.
    pub norm: f64,
}

impl Goodput {
    /// Bits/s.
    #[must_use]
    pub fn bits(&self) -> f64 {
        self.rate * self.norm
    }
}

impl Path {
    fn link(&self, mu: f64) -> Bottleneck {
        Bottleneck {
            mu,
            tau: self.tau,
            beta: self.beta,
            connections: 1.0,
            per_ack: self.per_ack,
        }
    }

    fn relation(&self, mu: f64, q: f64) -> f64 {
        relation_15(q, mu, self.tau, self.timeout, self.per_ack).min(1.0)
    }

    /// What TGEP's law cannot exceed: congestion alone, and the law of the root of the loss on a link without a
    /// limit, 1.31/(μ T √(bq)), with a fifth to spare for losses so frequent that this is no more than near.
    fn most(&self, mu: f64, q: f64) -> f64 {
        let link = self.link(mu);
        let root = 1.2 * 1.31 / (link.pipe() * (self.per_ack * q).sqrt());
        link.congestion_goodput().min(root)
    }

    /// Goodput over μ at a segment error rate.
    #[must_use]
    pub fn goodput(&self, mu: f64, q: f64) -> f64 {
        match self.law {
            Law::Relation15 => self.relation(mu, q),
            Law::Tgep => self.tgep(mu, q),
            Law::Hybrid if self.most(mu, q) < 0.5 => self.relation(mu, q),
            Law::Hybrid => {
                let tgep = self.tgep(mu, q);
                if tgep >= 0.5 {
                    tgep
                } else {
                    self.relation(mu, q)
                }
            }
        }
    }

    fn tgep(&self, mu: f64, q: f64) -> f64 {
        let link = self.link(mu);
        if q * link.cycle() < 1e-12 {
            link.congestion_goodput()
        } else {
            stationary_goodput(&link, q)
        }
    }

    fn bound(&self, mu: f64, q: f64) -> f64 {
        match self.law {
            Law::Relation15 => self.relation(mu, q),
            // The lattice of the law is good to 1e-5.
            Law::Tgep => self.most(mu, q) * (1.0 + 1e-4),
            Law::Hybrid => self.relation(mu, q).max(self.most(mu, q) * (1.0 + 1e-4)),
        }
    }
}

/// The candidate with the highest goodput at `cn0_db` over BPSK and QPSK, the first of equals, with its place.
///
/// `symbols` of the carrier a second, of which `part` is assigned; both above 0, and `candidates` not empty.
/// Candidates are tried from the highest bound down, so that TGEP is solved for the few that can win.
#[must_use]
pub fn best(
    cn0_db: f64,
    symbols: f64,
    part: f64,
    candidates: &[Candidate],
    path: &Path,
) -> Option<(usize, Goodput)> {
    let mut entries = Vec::new();
    for eta in [1.0, 2.0] {
        let carrier = Carrier {
            cn0_db,
            bits: eta,
            symbols,
            part,
        };
        for candidate in candidates {
            let rate = carrier.information_rate(candidate.code.rate());
            let mu = rate / candidate.bits;
            let segment = candidate.code.errors_at(carrier.ecn0_db()).segment;
            let bound = Goodput {
                eta,
                rate,
                segment,
                norm: path.bound(mu, segment),
            };
            entries.push((entries.len(), mu, bound));
        }
    }
    entries.sort_by(|(.., a), (.., b)| b.bits().total_cmp(&a.bits()));
    let mut winner: Option<(usize, Goodput)> = None;
    for (index, mu, bound) in entries {
        if winner.is_some_and(|(_, found)| bound.bits() < found.bits()) {
            break;
        }
        let norm = path.goodput(mu, bound.segment);
        let found = Goodput { norm, ..bound };
        let better = winner.is_none_or(|(first, known)| {
            let (new, old) = (found.bits(), known.bits());
            new > old || (new >= old && index < first)
        });
        if better {
            winner = Some((index, found));
        }
    }
    winner.map(|(index, found)| (index % candidates.len(), found))
}

keys! {
    CN0: Real, "cn0_db" | "CN0" | "cn0" = 70.0, "carrier power over noise density C/N0, dB Hz";
    FAMILY: Word(Family::VARIANTS), "family" = "conv", "codes to choose from";
    SYMBOLS: Positive, "symrate" = 2e6, "symbols/s of the carrier";
    RHO: Probability, "rho" = 0.5, "part of the carrier that is assigned, above 0";
    TG: Word(Law::VARIANTS), "tg" = "rel15",
        "goodput of TCP: relation (15) up to 1, TGEP, or TGEP from half of the link on and (15) below (the paper's way)";
    EBL: Word(Burst::VARIANTS), "ebl" = "errors", "burst length behind the Viterbi decoder, as in model ser (C7)";
    STRICT: Word(&["no", "yes"]), "strict" = "no",
        "whether Reed-Solomon codes of more than 255 bytes, which do not exist, are left out";
}
closed_form! {
    /// The model's face.
    pub(crate) static MODEL: "envelope",
        "The code and modulation with the highest TCP goodput at a quality of the channel";
    source: "papers/003 §IV, figures 4 and 5; models.md §3.6";
    notes: [
        "One long-lived connection; segments of 8920 bits (conv, rs, rsconv) or 8832 (erasure, erconv); BPSK and QPSK",
        "TGEP is its stationary law for one connection, solved on a lattice to 1e-5 instead of drawn",
        "rs goes up to RS(287,223) as in the contract; strict=yes ends at the 255 bytes that symbols of 8 bits allow",
        "Reed-Solomon around a convolutional code: ideal interleaver, whose delay is left out",
        "C11: mu is the information rate over the bits of a segment",
    ];
    example: "cn0_db=70 family=rsconv tg=hybrid";
    keys: [CN0, FAMILY, SYMBOLS, RHO, TAU, BETA, B, TG, T0, EBL, STRICT];
    answer(arguments) {
        let path = Path {
            tau: arguments.number(&TAU),
            beta: arguments.number(&BETA),
            per_ack: arguments.number(&B),
            timeout: arguments.number(&T0),
            law: arguments.choice(&TG),
        };
        let strict = arguments.word(&STRICT) == "yes";
        let codes = candidates(arguments.choice(&FAMILY), arguments.choice(&EBL), strict);
        let (cn0_db, symbols, part) = (
            arguments.number(&CN0),
            arguments.number(&SYMBOLS),
            arguments.number(&RHO),
        );
        let nothing = || ModelError::refused("rho=0 assigns nothing of the carrier");
        if part <= 0.0 {
            return Err(nothing());
        }
        // A window that a double cannot square has no law.
        if path.link(symbols).most() > 1e150 {
            return Err(ModelError::refused(
                "the windows that fill link and buffer are beyond what a double can square",
            ));
        }
        let (place, found) = best(cn0_db, symbols, part, &codes, &path).ok_or_else(nothing)?;
        let modulation = if found.eta < 1.5 { "BPSK" } else { "QPSK" };
        let lost = found.segment >= 1.0;
    }
    results {
        "best" = format!("{modulation} {}", codes[place].name), "the code and modulation";
        "goodput" = found.bits(), "its goodput, bits/s";
        "info_rate" = found.rate, "its information bits/s";
        "ser" = found.segment, "its segment error rate";
        "Tg" = found.norm, "its goodput over the information rate";
    }
    remarks {
        if too_long(&codes[place].code) =>
            "there is no Reed-Solomon code of so many bytes with symbols of 8 bits: strict=yes leaves it out";
        if lost => "every segment is lost under every code of this family";
    }
}

//! `envelope`: the best code and modulation at a C/N0 (Celandroni 2006, Sec. IV; docs/models.md, Sec. 4.6).

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

/// Model for the goodput of TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "lowercase")]
pub enum Law {
    /// Relation (15), at most 1.
    #[strum(serialize = "rel15")]
    Relation15,
    /// TGEP's law for one connection.
    Tgep,
    /// TGEP if it gives at least half of the link, otherwise (15): the threshold of the paper.
    Hybrid,
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
}

/// Results for a candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Goodput {
    /// Bits per symbol: 1 for BPSK, 2 for QPSK.
    pub eta: f64,
    /// Information rate, bit/s.
    pub rate: f64,
    /// Segment error rate, 0 to 1.
    pub segment: f64,
    /// Goodput over the information rate, 0 to 1.
    pub norm: f64,
}

impl Goodput {
    /// Goodput of the best candidate, bit/s.
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

    /// Upper bound of the law of TGEP: goodput with congestion alone, and the inverse square root law of a link without
    /// limit, 1.31/(μ T √(bq)). The latter is increased by a fifth, because it is only approximate for frequent losses.
    fn most(&self, mu: f64, q: f64) -> f64 {
        let link = self.link(mu);
        let root = 1.2 * 1.31 / (link.bdp() * (self.per_ack * q).sqrt());
        link.congestion_goodput().min(root)
    }

    /// Goodput over μ at a rate of `mu` segments/s and a segment error rate `q`.
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
            // The lattice of the law is exact to 1e-5.
            Law::Tgep => self.most(mu, q) * (1.0 + 1e-4),
            Law::Hybrid => self.relation(mu, q).max(self.most(mu, q) * (1.0 + 1e-4)),
        }
    }
}

/// The candidate with the highest goodput at `cn0_db` over BPSK and QPSK, the first on ties, with its index.
///
/// `symbols` is the symbol rate of the carrier, 1/s, and `part` its assigned share. Both must be above 0, and
/// `candidates` must not be empty. Candidates are tried in descending order of their bounds, so TGEP is solved only for
/// those that can win.
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
    RHO: Probability, "rho" = 0.5, "assigned share of the carrier, above 0";
    TG: Word(Law::VARIANTS), "tg" = "rel15",
        "goodput of TCP: rel15 (min(1, relation15)), tgep, or hybrid (tgep if at least 0.5, else rel15, as in the paper)";
    EBL: Word(Burst::VARIANTS), "ebl" = "errors", "burst length after the Viterbi decoder, as in ser (C7)";
    STRICT: Word(&["no", "yes"]), "strict" = "no",
        "yes omits Reed-Solomon codes of more than 255 symbols, which do not exist for m = 8";
}
closed_form! {
    /// `tmt model envelope` (docs/models.md, Sec. 4.6).
    pub(crate) static MODEL: "envelope",
        "The code and modulation with the highest TCP goodput at a C/N0";
    source: "Celandroni 2006, Sec. IV, Fig. 4 and 5; docs/models.md, Sec. 4.6";
    notes: [
        "One long-lived connection; segments of 8920 bits (conv, rs, rsconv) or 8832 (erasure, erconv); BPSK and QPSK",
        "tgep is the stationary law for one connection, solved on a lattice to 1e-5 instead of drawn",
        "rs goes up to RS(287,223); strict=yes ends at the 255 symbols that 8 bits per symbol allow",
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
        let nothing = || ModelError::refused("rho=0: no share of the carrier is assigned; rho must be above 0");
        if part <= 0.0 {
            return Err(nothing());
        }
        // The law needs the square of the window.
        if path.link(symbols).most() > 1e150 {
            return Err(ModelError::refused(
                "the windows that fill link and buffer are larger than a double can square; use a smaller symrate, tau or beta",
            ));
        }
        let (place, found) = best(cn0_db, symbols, part, &codes, &path).ok_or_else(nothing)?;
        let modulation = if found.eta < 1.5 { "BPSK" } else { "QPSK" };
        let lost = found.segment >= 1.0;
    }
    results {
        "best" = format!("{modulation} {}", codes[place].name), "best modulation and code";
        "goodput" = found.bits(), "goodput, bit/s";
        "info_rate" = found.rate, "information rate, bit/s";
        "ser" = found.segment, "segment error rate";
        "Tg" = found.norm, "goodput over the information rate";
    }
    remarks {
        if too_long(&codes[place].code) =>
            "a Reed-Solomon code of that many symbols does not exist for 8 bits per symbol; strict=yes omits it";
        if lost => "every segment is lost with every code of this family";
    }
}

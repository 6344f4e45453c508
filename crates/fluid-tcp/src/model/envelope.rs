//! `envelope` and `code-goodput`: the goodput of TCP with a code, and the best code and modulation, at a C/N0
//! (Celandroni 2006, Sec. IV; docs/models.md, Sec. 4.6 and 4.7).

mod code_best;
mod code_order;
mod codes;
mod decide;
mod path;
mod single;
#[cfg(test)]
mod tests;

use strum::VariantNames as _;
use tmt_core::model::linkbudget::Carrier;
use tmt_core::model::ser::Code;
use tmt_core::model::ser::keys::{EBL, INTERLEAVER};
use tmt_core::model::{Arguments, ModelError};
use tmt_core::types::to_f64;
use tmt_core::{closed_form, keys};

use super::congestion::{B, BETA, TAU};
use super::relation15::T0;
pub use code_best::{MODEL as BEST, RATES, decide, measured};
pub(crate) use code_order::MODEL as ORDER;
use codes::too_long;
pub use codes::{Candidate, Choice, Family, Set, all, candidates};
pub use decide::{Decision, Enough, Measure, Offer, Question, Ranged, Rates};
pub use path::{Law, Links, Path};
pub(crate) use single::MODEL as SINGLE;

/// Goodput of TCP with a code.
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
    /// Goodput of all connections, bit/s.
    #[must_use]
    pub fn bits(&self) -> f64 {
        self.rate * self.norm
    }
}

/// The information rate and segment error rate of `code` on `carrier`, with the rate in segments/s.
fn sent(code: &Code, carrier: &Carrier) -> (f64, Goodput) {
    let rate = carrier.information_rate(code.rate());
    let segment = code.errors_at(carrier.ecn0_db()).segment;
    let sent = Goodput {
        eta: carrier.bits,
        rate,
        segment,
        norm: 1.0,
    };
    (rate / code.segment_bits(), sent)
}

/// Goodput with `code` on `carrier`, whose symbol rate and share are above 0.
///
/// # Errors
/// As [`Path::goodput`].
pub fn with_code(code: &Code, carrier: &Carrier, path: &Path) -> Result<Goodput, ModelError> {
    let (mu, sent) = sent(code, carrier);
    let norm = path.goodput(mu, sent.segment)?;
    Ok(Goodput { norm, ..sent })
}

/// The candidate with the highest goodput over BPSK and QPSK, the first on ties, with its index; `None` without
/// candidates.
///
/// `carrier` has a symbol rate and a share above 0; its bits per symbol do not matter. Candidates are tried in descending
/// order of their bounds, so TGEP is solved only for those that can win.
///
/// # Errors
/// As [`Path::goodput`].
pub fn best(
    carrier: &Carrier,
    candidates: &[Candidate],
    path: &Path,
) -> Result<Option<(usize, Goodput)>, ModelError> {
    let mut entries = Vec::new();
    for bits in [1.0, 2.0] {
        let carrier = Carrier { bits, ..*carrier };
        for candidate in candidates {
            let (mu, sent) = sent(&candidate.code, &carrier);
            let norm = path.bound(mu, sent.segment);
            entries.push((entries.len(), mu, Goodput { norm, ..sent }));
        }
    }
    entries.sort_by(|(.., a), (.., b)| b.bits().total_cmp(&a.bits()));
    let mut winner: Option<(usize, Goodput)> = None;
    for (index, mu, bound) in entries {
        if winner.is_some_and(|(_, found)| bound.bits() < found.bits()) {
            break;
        }
        let norm = path.goodput(mu, bound.segment)?;
        let found = Goodput { norm, ..bound };
        let better = winner.is_none_or(|(first, known)| {
            let (new, old) = (found.bits(), known.bits());
            new > old || (new >= old && index < first)
        });
        if better {
            winner = Some((index, found));
        }
    }
    Ok(winner.map(|(index, found)| (index % candidates.len(), found)))
}

keys! {
    pub CN0: Real, "cn0_db" | "CN0" | "cn0" = 70.0, "carrier power over noise density C/N0, dB Hz";
    FAMILY: Word(Family::VARIANTS), "family" = "conv", "codes to choose from";
    SYMBOLS: Positive, "symrate" = 2e6, "symbols/s of the carrier";
    RHO: Probability, "rho" = 0.5, "assigned share of the carrier, above 0";
    TG: Word(Law::VARIANTS), "tg" = "rel15",
        "goodput of TCP: rel15 (min(1, relation15)), tgep, or hybrid (tgep if at least 0.5, else rel15, as in the paper)";
    STRICT: Word(&["no", "yes"]), "strict" = "no",
        "yes omits Reed-Solomon codes of more than 255 symbols, which do not exist for m = 8";
    SET: Word(Set::VARIANTS), "set" = "basic",
        "codes of a family: basic, or paper, which has RS(239,223), erasure blocks of 46 B and outer codes alone, too";
    CONNECTIONS: Count(1, 64), "connections" = 1, "TCP connections";
    LINKS: Word(Links::VARIANTS), "links" = "shared",
        "connections share a link and its buffer, or have separate links of an equal share of the rate";
}

/// Carrier and path of the arguments.
fn read(arguments: &Arguments) -> Result<(Carrier, Path), ModelError> {
    let carrier = Carrier {
        cn0_db: arguments.number(&CN0),
        bits: 1.0,
        symbols: arguments.number(&SYMBOLS),
        part: arguments.number(&RHO),
    };
    if carrier.part <= 0.0 {
        return Err(ModelError::refused(
            "rho=0: no share of the carrier is assigned; rho must be above 0",
        ));
    }
    let path = Path {
        tau: arguments.number(&TAU),
        beta: arguments.number(&BETA),
        per_ack: arguments.number(&B),
        timeout: arguments.number(&T0),
        law: arguments.choice(&TG),
        connections: to_f64(arguments.count(&CONNECTIONS)),
        links: arguments.choice(&LINKS),
    };
    // The law needs the square of the window.
    if path.link(carrier.symbols).most() > 1e150 {
        return Err(ModelError::refused(
            "the windows that fill link and buffer are larger than a double can square; use a smaller symrate, tau or beta",
        ));
    }
    Ok((carrier, path))
}

closed_form! {
    /// `tmt model envelope` (docs/models.md, Sec. 4.6).
    pub(crate) static MODEL: "envelope",
        "The code and modulation with the highest TCP goodput at a C/N0";
    source: "Celandroni 2006, Sec. IV, Fig. 4 to 6; docs/models.md, Sec. 4.6";
    notes: [
        "Long-lived connections; segments of 8920 bits (conv, rs, rsconv) or 8832 (erasure, erconv); BPSK and QPSK",
        "tgep is the stationary law for one connection on a link, solved on a lattice to 1e-5 instead of drawn; for \
         connections that share a link it is drawn to 0.5 %",
        "set=basic: rs goes up to RS(287,223); strict=yes ends at the 255 symbols that 8 bits per symbol allow",
        "Reed-Solomon around a convolutional code: an ideal interleaver, whose delay is left out, or none, as in Fig. 4 to 6",
        "C11: mu is the information rate over the bits of a segment",
    ];
    example: "cn0_db=70 family=rsconv tg=hybrid";
    keys: [CN0, FAMILY, SYMBOLS, RHO, TAU, BETA, B, TG, T0, EBL, STRICT, SET, INTERLEAVER, CONNECTIONS, LINKS];
    answer(arguments) {
        let (carrier, path) = read(arguments)?;
        let codes = candidates(&Choice {
            family: arguments.choice(&FAMILY),
            set: arguments.choice(&SET),
            burst: arguments.choice(&EBL),
            interleaver: arguments.choice(&INTERLEAVER),
            strict: arguments.word(&STRICT) == "yes",
        });
        let found = best(&carrier, &codes, &path)?;
        let (place, found) = found.ok_or_else(|| ModelError::refused("the family has no codes"))?;
        let modulation = if found.eta < 1.5 { "BPSK" } else { "QPSK" };
        let lost = found.segment >= 1.0;
    }
    results {
        "best" = format!("{modulation} {}", codes[place].name), "best modulation and code";
        "goodput" = found.bits(), "goodput of all connections, bit/s";
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

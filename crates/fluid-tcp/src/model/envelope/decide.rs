//! The best code at a C/N0 and its margin over the next one, from closed forms or from codes that are really decoded
//! (docs/models.md, Sec. 4.9).
//!
//! Codes are a race: measurements become longer only for those that the intervals of the best one still reach.

mod enough;
mod margin;
#[cfg(test)]
mod tests;

use tmt_core::coding::counts::Tally;
use tmt_core::coding::estimate::Estimate;
use tmt_core::coding::measure::Settings;
use tmt_core::coding::model::interleaver_of_theory;
use tmt_core::coding::simulation::{Decision as Decider, Link};
use tmt_core::coding::spec::{CodeSpec, Interleaver, Outer};
use tmt_core::model::linkbudget::Carrier;
use tmt_core::model::{ModelError, ser};

use super::{Goodput, Path};
pub use enough::Enough;

/// Counts the segments of a code that fail: by `tmt_core::coding::measure::measure`, or from results of it that are kept.
pub type Measure<'a> = &'a (dyn Fn(&CodeSpec, &Settings) -> Result<Tally, ModelError> + 'a);

/// dB by which closed forms may be off before a code is left out of measurements for them. Farthest off are Reed-Solomon codes around
/// conv:7/8 without interleaver, RS(239, 223) by 0.20 dB at a segment error rate of 1e-2 and 0.45 dB at 4.5e-4.
const TRUST_DB: f64 = 0.75;

/// The same for hard decisions, which cost 2 to 3 dB.
const HARD_DB: f64 = 3.5;

/// Bits of the first, shortest measurements of a race; each later one is this many times as long.
const FIRST_BITS: u64 = 10_000_000;
const LONGER: u64 = 10;

/// Where segment error rates come from.
#[derive(Clone, Copy)]
pub enum Rates<'a> {
    /// Equations (16), (17) and the union bound; without interval.
    ClosedForm,
    /// Codes that are really decoded, at most as long as the settings say, whose Ec/N0 does not matter; closed forms where they are exact,
    /// for Reed-Solomon alone and no code.
    Measured(Settings, Measure<'a>),
}

/// A question: which of these codes is best on this carrier?
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The carrier; its bits per symbol do not matter, since BPSK and QPSK are both tried.
    pub carrier: Carrier,
    /// Codes to choose from.
    pub codes: &'a [CodeSpec],
    /// The side that each code is on, in their order: sides are compared, each by the best of its codes. `None` if each code with
    /// each modulation is a side of its own.
    pub sides: Option<&'a [usize]>,
    /// TCP and its path.
    pub path: Path,
    /// Interleaver of the symbols of outer codewords. The closed forms know none and an ideal one; they are ideal for a block
    /// interleaver.
    pub interleaver: Interleaver,
    /// Error rates.
    pub rates: Rates<'a>,
}

/// A code and modulation with its goodput.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offer {
    /// The code.
    pub code: CodeSpec,
    /// Its side.
    pub side: usize,
    /// Ec/N0, dB.
    pub ecn0_db: f64,
    /// Segment error rate, with an interval of 95 % if it is measured.
    pub errors: Estimate,
    /// Goodput at the error rate; [`Goodput::eta`] is the modulation.
    pub goodput: Goodput,
    /// Goodput at the upper and lower end of the interval of the error rate, bit/s. A goodput that is drawn adds its own.
    pub low: f64,
    /// The upper end, bit/s.
    pub high: f64,
}

impl Offer {
    /// Modulation and code, such as `QPSK conv:3/4+rs:239/223`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{} {}", self.modulation(), self.code)
    }

    /// Name of the modulation.
    #[must_use]
    pub fn modulation(&self) -> &'static str {
        if self.goodput.eta < 1.5 {
            "BPSK"
        } else {
            "QPSK"
        }
    }
}

/// A figure with its interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ranged {
    /// From the error rates as they are.
    pub value: f64,
    /// From their intervals, lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Ranged {
    /// Whether the interval without `fixed` of its width is at most as wide as the figure is large, so that a longer measurement tells
    /// little more.
    fn is_clear(self, fixed: f64) -> bool {
        self.high - self.low - fixed <= self.value.abs()
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Those that stayed in the race, best first: the winner and the best of another side at least, unless there is only one.
    pub offers: Vec<Offer>,
    /// Whether the interval of the first side does not reach that of another.
    pub is_decided: bool,
    /// Goodput by which the first side is ahead of the next, bit/s; `None` without another.
    pub ahead_bps: Option<Ranged>,
    /// dB of C/N0 that the first side can lose until its goodput is that of the next one now: 20 means 20 or more. `None` without another,
    /// or if the next one gives nothing.
    pub ahead_db: Option<Ranged>,
    /// A measurement that would decide; `None` if this one does, or if none of up to 10^13 bits would.
    pub enough: Option<Enough>,
}

impl Decision {
    /// The best of the side that comes next.
    #[must_use]
    pub fn next(&self) -> Option<&Offer> {
        let first = self.offers.first()?;
        self.offers.iter().find(|offer| offer.side != first.side)
    }
}

/// A code and modulation with what does not depend on the noise.
#[derive(Debug, Clone, Copy)]
struct Contender {
    code: CodeSpec,
    side: usize,
    carrier: Carrier,
    closed: ser::Code,
    /// dB by which the closed form may be off; 0 where it is exact.
    trust_db: f64,
}

impl Contender {
    fn rate(&self) -> f64 {
        self.carrier.information_rate(self.closed.rate())
    }

    /// Segments per second.
    fn mu(&self) -> f64 {
        self.rate() / self.closed.segment_bits()
    }

    /// Segment error rate of the closed forms with `more` dB.
    fn theory(&self, more: f64) -> f64 {
        self.closed.errors_at(self.carrier.ecn0_db() + more).segment
    }

    /// The most that `path` can give with `more` dB, bit/s, as far as closed forms tell. It costs little.
    fn most(&self, path: &Path, more: f64) -> f64 {
        path.bound(self.mu(), self.theory(self.trust_db + more)) * self.rate()
    }
}

/// Whether the closed form of a code is exact over white noise: without a convolutional code bits are wrong independently, and a
/// decoder of Reed-Solomon corrects just the words with few enough wrong symbols (eq. (16)). No measurement would tell more.
const fn is_exact(code: &CodeSpec) -> bool {
    matches!(
        (code.inner, code.outer),
        (None, None | Some(Outer::ReedSolomon { .. }))
    )
}

/// The highest value of each side.
#[derive(Default)]
struct Sides(Vec<(usize, f64)>);

impl Sides {
    fn of<'a>(offers: impl IntoIterator<Item = &'a Offer>, end: fn(&Offer) -> f64) -> Self {
        let mut sides = Self::default();
        for offer in offers {
            sides.raise(offer.side, end(offer));
        }
        sides
    }

    /// Takes a value of a side.
    fn raise(&mut self, side: usize, value: f64) {
        match self.0.iter_mut().find(|(known, _)| *known == side) {
            Some((_, highest)) => *highest = highest.max(value),
            None => self.0.push((side, value)),
        }
    }

    /// That of a side.
    fn get(&self, side: usize) -> f64 {
        let found = self.0.iter().find(|(known, _)| *known == side);
        found.map_or(f64::NEG_INFINITY, |(_, highest)| *highest)
    }

    /// That of the side which is second.
    fn second(&self) -> f64 {
        let mut values: Vec<f64> = self.0.iter().map(|(_, highest)| *highest).collect();
        values.sort_by(|a, b| b.total_cmp(a));
        values.get(1).copied().unwrap_or(f64::NEG_INFINITY)
    }
}

impl Question<'_> {
    /// The best code, those next to it, and its margins.
    ///
    /// # Errors
    /// No codes, a code whose decoder refuses it, or as [`Path::goodput`].
    pub fn answer(&self) -> Result<Decision, ModelError> {
        let all = self.all()?;
        let offers = self.race(&self.contenders(&all)?)?;
        let offers_only: Vec<Offer> = offers.iter().map(|(_, offer)| *offer).collect();
        let mut decision = Decision {
            is_decided: is_decided(&offers_only),
            offers: offers_only,
            ahead_bps: None,
            ahead_db: None,
            enough: None,
        };
        if let (Some(a), Some(next)) = (decision.offers.first(), others(&decision.offers)) {
            let first: Vec<Contender> = match self.sides {
                Some(_) => all.iter().copied().filter(|of| of.side == a.side).collect(),
                None => offers.iter().take(1).map(|(first, _)| *first).collect(),
            };
            decision.ahead_db = self.margin(&first, next)?;
            decision.ahead_bps = lead(&decision.offers);
        }
        if !decision.is_decided {
            decision.enough = self.enough(&offers)?;
        }
        Ok(decision)
    }

    /// dB by which the closed form of a code may be off. It is that of soft decisions.
    fn trust_db(&self, code: &CodeSpec) -> f64 {
        match self.rates {
            Rates::ClosedForm => 0.0,
            Rates::Measured(..) if is_exact(code) => 0.0,
            Rates::Measured(settings, _) if settings.link.decision == Decider::Hard => HARD_DB,
            Rates::Measured(..) => TRUST_DB,
        }
    }

    /// All codes and modulations.
    fn all(&self) -> Result<Vec<Contender>, ModelError> {
        let interleaver = interleaver_of_theory(self.interleaver);
        let mut all = Vec::new();
        for bits in [1.0, 2.0] {
            for (place, code) in self.codes.iter().enumerate() {
                let code = code
                    .checked()
                    .map_err(|error| ModelError::refused(error.to_string()))?;
                let own = all.len();
                let side = self.sides.and_then(|sides| sides.get(place).copied());
                all.push(Contender {
                    code,
                    side: side.unwrap_or(own),
                    carrier: Carrier {
                        bits,
                        ..self.carrier
                    },
                    closed: ser::Code {
                        interleaver,
                        ..code.closed_form(code.segment_bytes())
                    },
                    trust_db: self.trust_db(&code),
                });
            }
        }
        if all.is_empty() {
            return Err(ModelError::refused("no codes to choose from"));
        }
        Ok(all)
    }

    /// Those that can be the best of the best two sides, by closed forms.
    fn contenders(&self, all: &[Contender]) -> Result<Vec<Contender>, ModelError> {
        let most = all.iter().map(|of| (of.most(&self.path, 0.0), *of));
        let mut most: Vec<(f64, Contender)> = most.collect();
        most.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        // What sides give at least.
        let mut least = Sides::default();
        let mut kept = Vec::new();
        for (most, contender) in most {
            if most < least.second() {
                break;
            }
            if most < least.get(contender.side) {
                continue;
            }
            let lost = contender.theory(-contender.trust_db);
            let norm = self.path.goodput(contender.mu(), lost)?;
            least.raise(contender.side, norm * contender.rate());
            kept.push(contender);
        }
        Ok(kept)
    }

    /// Measures until one side is ahead by a clear lead, or as long as it may. Returns those that are still in the race, the best first.
    fn race(&self, contenders: &[Contender]) -> Result<Vec<(Contender, Offer)>, ModelError> {
        let mut offers = Vec::with_capacity(contenders.len());
        for contender in contenders {
            offers.push((*contender, self.offer(contender, 0.0, FIRST_BITS)?));
        }
        let mut bits = FIRST_BITS;
        loop {
            leave(&mut offers);
            best_first(&mut offers);
            let now: Vec<Offer> = offers.iter().map(|(_, offer)| *offer).collect();
            // Intervals of drawn goodput do not narrow.
            let drawn = 2.0 * self.path.relative_error();
            let is_clear =
                |of: Ranged| of.is_clear(drawn * (2.0 * now[0].goodput.bits() - of.value));
            let is_over = is_decided(&now) && lead(&now).is_none_or(is_clear);
            if bits >= self.most_bits() || offers.len() <= 1 || is_over {
                return Ok(offers);
            }
            bits = self.longer(bits);
            let due = self.due(&now);
            let mut due = due.into_iter();
            let mut has_changed = false;
            for (contender, offer) in &mut offers {
                if due.next() == Some(true) && !is_exact(&contender.code) {
                    let before = std::mem::replace(offer, self.offer(contender, 0.0, bits)?);
                    has_changed |= before != *offer;
                }
            }
            // All have had their errors.
            if !has_changed {
                return Ok(offers);
            }
        }
    }

    /// Which offers of a race, the best first, are measured for longer: all, or of sides the best of each, and those of others that
    /// reach the first. Once it is decided, the best of the first side and of the others, and those that may be better.
    fn due(&self, offers: &[Offer]) -> Vec<bool> {
        if is_decided(offers) {
            let first = offers[0];
            let second = offers.iter().find(|offer| offer.side != first.side);
            let is_due = |offer: &Offer| {
                let best = if offer.side == first.side {
                    Some(&first)
                } else {
                    second
                };
                best.is_some_and(|best| offer == best || offer.high > best.goodput.bits())
            };
            return offers.iter().map(is_due).collect();
        }
        if self.sides.is_none() {
            return vec![true; offers.len()];
        }
        let value = Sides::of(offers, |offer| offer.goodput.bits());
        let low = Sides::of(offers, |offer| offer.low);
        let first = value.0.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let reached = first.map_or(f64::INFINITY, |(side, _)| low.get(*side));
        let is_due = |offer: &Offer| {
            let is_best =
                offer.goodput.bits() >= value.get(offer.side) || offer.low >= low.get(offer.side);
            let is_other = first.is_some_and(|(side, _)| *side != offer.side);
            is_best || is_other && offer.high >= reached
        };
        offers.iter().map(is_due).collect()
    }

    /// Bits of the longest measurement; 0 for closed forms.
    fn most_bits(&self) -> u64 {
        match self.rates {
            Rates::ClosedForm => 0,
            Rates::Measured(settings, _) => settings.most_bits,
        }
    }

    /// Bits of the measurement after one of `bits`.
    fn longer(&self, bits: u64) -> u64 {
        bits.saturating_mul(LONGER).min(self.most_bits())
    }

    /// The offer of a contender with `less` dB, measured over at most `most_bits`.
    fn offer(&self, contender: &Contender, less: f64, most_bits: u64) -> Result<Offer, ModelError> {
        let ecn0_db = contender.carrier.ecn0_db() - less;
        let errors = match self.rates {
            Rates::Measured(settings, measure) if !is_exact(&contender.code) => {
                let settings = Settings {
                    link: Link {
                        ecn0_db,
                        interleaver: match contender.code.outer {
                            Some(_) => self.interleaver,
                            None => Interleaver::None,
                        },
                        segment_bytes: None,
                        ..settings.link
                    },
                    most_bits: most_bits.min(settings.most_bits),
                    ..settings
                };
                measure(&contender.code, &settings)?.rate()
            }
            _ => {
                let value = contender.theory(-less);
                Estimate {
                    value,
                    low: value,
                    high: value,
                }
            }
        };
        self.at_errors(contender, ecn0_db, errors)
    }

    /// The offer of a contender whose segments fail at the rate `errors`.
    fn at_errors(
        &self,
        contender: &Contender,
        ecn0_db: f64,
        errors: Estimate,
    ) -> Result<Offer, ModelError> {
        let (mu, rate) = (contender.mu(), contender.rate());
        let norm = |q: f64| self.path.goodput(mu, q);
        let drawn = self.path.relative_error();
        Ok(Offer {
            code: contender.code,
            side: contender.side,
            ecn0_db,
            errors,
            goodput: Goodput {
                eta: contender.carrier.bits,
                rate,
                segment: errors.value,
                norm: norm(errors.value)?,
            },
            low: rate * norm(errors.high)? * (1.0 - drawn),
            high: rate * norm(errors.low)? * (1.0 + drawn),
        })
    }
}

/// How far the first side is ahead of the next, bit/s; the best offer of a side comes first. `None` without another side.
fn lead(offers: &[Offer]) -> Option<Ranged> {
    let first = offers.first()?;
    let others = others(offers)?;
    let high = Sides::of(offers, |offer| offer.high);
    Some(Ranged {
        value: first.goodput.bits() - others.value,
        low: first.low - others.high,
        high: high.get(first.side) - others.low,
    })
}

/// The goodput of the best of the sides behind the first, bit/s: that of the next, and what all of them give at least and at most.
/// `None` without another side.
fn others(offers: &[Offer]) -> Option<Ranged> {
    let first = offers.first()?;
    let others = || offers.iter().filter(|offer| offer.side != first.side);
    Some(Ranged {
        value: others().next()?.goodput.bits(),
        low: others()
            .map(|offer| offer.low)
            .fold(f64::NEG_INFINITY, f64::max),
        high: others()
            .map(|offer| offer.high)
            .fold(f64::NEG_INFINITY, f64::max),
    })
}

/// Sorts sides by the goodput of their best offer. That is the one with the highest lower end: a code that was measured briefly without an
/// error may look better, and be worse. The order of the codes decides ties.
fn best_first(offers: &mut [(Contender, Offer)]) {
    offers.sort_by(|(_, a), (_, b)| b.low.total_cmp(&a.low));
    let mut best = Sides::default();
    for (_, offer) in &*offers {
        if best.get(offer.side) == f64::NEG_INFINITY {
            best.raise(offer.side, offer.goodput.bits());
        }
    }
    offers.sort_by(|(_, a), (_, b)| {
        best.get(b.side)
            .total_cmp(&best.get(a.side))
            .then(a.side.cmp(&b.side))
    });
}

/// Removes those that cannot be the best of the best two sides.
fn leave(offers: &mut Vec<(Contender, Offer)>) {
    let least = Sides::of(offers.iter().map(|(_, offer)| offer), |offer| offer.low);
    offers.retain(|(_, offer)| offer.high >= least.get(offer.side));
    // The next side is wanted, too; one without any goodput is no choice.
    let nothing = least.second().max(f64::MIN_POSITIVE);
    let mut staying = Sides::default();
    for (_, offer) in offers.iter().filter(|(_, offer)| offer.high >= nothing) {
        staying.raise(offer.side, offer.high);
    }
    if staying.0.len() >= 2 {
        offers.retain(|(_, offer)| offer.high >= nothing);
        return;
    }
    // All of the side that gives something, and of the others the one that gives most.
    offers.sort_by(|(_, a), (_, b)| {
        (b.low, b.high)
            .partial_cmp(&(a.low, a.high))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    let mut sides = Vec::new();
    offers.retain(|(_, offer)| {
        if !sides.contains(&offer.side) {
            sides.push(offer.side);
        }
        sides.iter().take(2).any(|side| *side == offer.side)
    });
}

/// Whether the lower end of one side is above the upper ends of all others.
fn is_decided(offers: &[Offer]) -> bool {
    let low = Sides::of(offers, |offer| offer.low);
    let best = low.0.iter().max_by(|(_, a), (_, b)| a.total_cmp(b));
    best.is_some_and(|(side, low)| {
        let mut others = offers.iter().filter(|offer| offer.side != *side);
        others.all(|other| other.high < *low)
    })
}

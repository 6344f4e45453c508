//! The best code at a C/N0 and its margin over the next one, from closed forms or from codes that are really decoded
//! (docs/models.md, Sec. 4.9).
//!
//! Codes are a race: measurements become longer only for those that the intervals of the best one still reach.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tmt_core::coding::counts::Tally;
use tmt_core::coding::estimate::Estimate;
use tmt_core::coding::measure::Settings;
use tmt_core::coding::simulation::{Decision as Decider, Link};
use tmt_core::coding::spec::{CodeSpec, Interleaver};
use tmt_core::model::linkbudget::Carrier;
use tmt_core::model::{ModelError, ser};
use tmt_core::types::to_f64;

use super::{Goodput, Path};

/// Counts the segments of a code that fail: by `tmt_core::coding::measure::measure`, or from results of it that are kept.
pub type Measure<'a> = &'a (dyn Fn(&CodeSpec, &Settings) -> Result<Tally, ModelError> + 'a);

/// dB by which closed forms may be off before a code is left out of measurements for them.
const TRUST_DB: f64 = 0.5;

/// The same for hard decisions, which cost 2 to 3 dB.
const HARD_DB: f64 = 3.5;

/// Bits of the first, shortest measurements of a race; each later one is this many times as long.
const FIRST_BITS: u64 = 10_000_000;
const LONGER: u64 = 10;

/// Hundredths of a dB: resolution of margins, that of measured ones, and the largest that is looked for.
const STEP: u32 = 1;
const MEASURED_STEP: u32 = 4;
const FARTHEST: u32 = 2_000;

/// Where segment error rates come from.
#[derive(Clone, Copy)]
pub enum Rates<'a> {
    /// Equations (16), (17) and the union bound; without interval.
    ClosedForm,
    /// Codes that are really decoded, at most as long as the settings say, whose Ec/N0 does not matter.
    Measured(Settings, Measure<'a>),
}

/// A question: which of these codes is best on this carrier?
#[derive(Clone, Copy)]
pub struct Question<'a> {
    /// The carrier; its bits per symbol do not matter, since BPSK and QPSK are both tried.
    pub carrier: Carrier,
    /// Codes to choose from; an unknown one is refused when it is measured.
    pub codes: &'a [CodeSpec],
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

/// The answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Those that stayed in the race, best first: the winner and the next one at least, unless there is only one.
    pub offers: Vec<Offer>,
    /// Whether the intervals of the first do not reach those of another.
    pub is_decided: bool,
    /// Goodput by which the first is ahead of the next, bit/s; `None` without another.
    pub ahead_bps: Option<Ranged>,
    /// dB of C/N0 that the first can lose until it gives what the next gives now: 20 means 20 or more. `None` without another,
    /// or if the next one gives nothing.
    pub ahead_db: Option<Ranged>,
}

/// A code and modulation with what does not depend on the noise.
#[derive(Debug, Clone, Copy)]
struct Contender {
    code: CodeSpec,
    carrier: Carrier,
    closed: ser::Code,
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
}

impl Question<'_> {
    /// The best code, those next to it, and its margins.
    ///
    /// # Errors
    /// No codes, a code whose decoder refuses it, or as [`Path::goodput`].
    pub fn answer(&self) -> Result<Decision, ModelError> {
        let contenders = self.contenders()?;
        let mut offers = self.race(&contenders)?;
        // The order of the codes decides ties.
        offers.sort_by(|(_, a), (_, b)| b.goodput.bits().total_cmp(&a.goodput.bits()));
        let is_decided = offers
            .iter()
            .skip(1)
            .all(|(_, other)| other.high < offers[0].1.low);
        let (mut ahead_bps, mut ahead_db) = (None, None);
        if let [(first, a), (_, b), ..] = offers[..] {
            ahead_bps = Some(Ranged {
                value: a.goodput.bits() - b.goodput.bits(),
                low: a.low - b.high,
                high: a.high - b.low,
            });
            ahead_db = self.margin(&first, &b)?;
        }
        Ok(Decision {
            offers: offers.into_iter().map(|(_, offer)| offer).collect(),
            is_decided,
            ahead_bps,
            ahead_db,
        })
    }

    /// Those of all codes and modulations that can be the best two, by closed forms.
    fn contenders(&self) -> Result<Vec<Contender>, ModelError> {
        // Closed forms are those of soft decisions.
        let trust = match self.rates {
            Rates::ClosedForm => 0.0,
            Rates::Measured(settings, _) if settings.link.decision == Decider::Hard => HARD_DB,
            Rates::Measured(..) => TRUST_DB,
        };
        let mut all = Vec::new();
        for bits in [1.0, 2.0] {
            for code in self.codes {
                let interleaver = match self.interleaver {
                    Interleaver::None => ser::Interleaver::None,
                    Interleaver::Ideal | Interleaver::Block(_) => ser::Interleaver::Ideal,
                };
                let contender = Contender {
                    code: *code,
                    carrier: Carrier {
                        bits,
                        ..self.carrier
                    },
                    closed: ser::Code {
                        interleaver,
                        ..code.closed_form(code.segment_bytes())
                    },
                };
                let most = self.path.bound(contender.mu(), contender.theory(trust));
                all.push((most * contender.rate(), contender));
            }
        }
        if all.is_empty() {
            return Err(ModelError::refused("no codes to choose from"));
        }
        all.sort_by(|(a, _), (b, _)| b.total_cmp(a));
        // The second highest of what contenders give at least.
        let mut least = [f64::NEG_INFINITY; 2];
        let mut kept = Vec::new();
        for (most, contender) in all {
            if most < least[1] {
                break;
            }
            let norm = self
                .path
                .goodput(contender.mu(), contender.theory(-trust))?;
            let bits = norm * contender.rate();
            if bits > least[0] {
                least = [bits, least[0]];
            } else if bits > least[1] {
                least[1] = bits;
            }
            kept.push(contender);
        }
        Ok(kept)
    }

    /// Measures until one contender is ahead, or as long as it may. Returns those that are still in the race.
    fn race(&self, contenders: &[Contender]) -> Result<Vec<(Contender, Offer)>, ModelError> {
        let mut bits = FIRST_BITS;
        let mut left = contenders.to_vec();
        loop {
            let mut offers = Vec::with_capacity(left.len());
            for contender in &left {
                offers.push((*contender, self.offer(contender, 0.0, bits)?));
            }
            let mut lows: Vec<f64> = offers.iter().map(|(_, offer)| offer.low).collect();
            lows.sort_by(|a, b| b.total_cmp(a));
            // The next one is wanted, too.
            let second = lows.get(1).copied().unwrap_or(f64::NEG_INFINITY);
            // Candidates without any goodput are no choice.
            let nothing = second.max(f64::MIN_POSITIVE);
            let some = offers
                .iter()
                .filter(|(_, offer)| offer.high >= nothing)
                .count();
            if some >= 2 {
                offers.retain(|(_, offer)| offer.high >= nothing);
            } else {
                offers.sort_by(|(_, a), (_, b)| b.high.total_cmp(&a.high));
                offers.truncate(2);
            }
            if bits >= self.most_bits() || offers.len() <= 1 || is_settled(&offers) {
                return Ok(offers);
            }
            bits = self.longer(bits);
            left = offers.into_iter().map(|(contender, _)| contender).collect();
        }
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
            Rates::ClosedForm => {
                let value = contender.theory(-less);
                Estimate {
                    value,
                    low: value,
                    high: value,
                }
            }
            Rates::Measured(settings, measure) => {
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
        };
        let (mu, rate) = (contender.mu(), contender.rate());
        let norm = |q: f64| self.path.goodput(mu, q);
        let drawn = self.path.relative_error();
        Ok(Offer {
            code: contender.code,
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

    /// dB that `first` can lose until it gives what `next` gives.
    fn margin(&self, first: &Contender, next: &Offer) -> Result<Option<Ranged>, ModelError> {
        if next.goodput.bits() <= 0.0 {
            return Ok(None);
        }
        let step = match self.rates {
            Rates::ClosedForm => STEP,
            Rates::Measured(..) => MEASURED_STEP,
        };
        let mut known: HashMap<(u32, u64), Offer> = HashMap::new();
        let mut lost = |target: f64, of: fn(&Offer) -> f64| {
            // As in the race, long measurements are for what short ones do not tell.
            let mut gives = |less: u32| -> Result<bool, ModelError> {
                let mut bits = FIRST_BITS;
                loop {
                    let offer = match known.entry((less, bits)) {
                        Entry::Occupied(known) => *known.get(),
                        Entry::Vacant(new) => {
                            *new.insert(self.offer(first, to_f64(u64::from(less)) / 100.0, bits)?)
                        }
                    };
                    let is_told = offer.low >= target || offer.high < target;
                    if is_told || bits >= self.most_bits() {
                        return Ok(of(&offer) >= target);
                    }
                    bits = self.longer(bits);
                }
            };
            if !gives(0)? {
                return Ok(0.0);
            }
            let (mut above, mut below) = (0, step);
            while below < FARTHEST && gives(below)? {
                (above, below) = (below, 2 * below);
            }
            let mut below = below.min(FARTHEST);
            while below - above > step {
                let middle = above.midpoint(below);
                if gives(middle)? {
                    above = middle;
                } else {
                    below = middle;
                }
            }
            Ok::<f64, ModelError>(to_f64(u64::from(below)) / 100.0)
        };
        Ok(Some(Ranged {
            value: lost(next.goodput.bits(), |offer| offer.goodput.bits())?,
            low: lost(next.high, |offer| offer.low)?,
            high: lost(next.low, |offer| offer.high)?,
        }))
    }
}

/// Whether one is ahead of all others by their intervals.
fn is_settled(offers: &[(Contender, Offer)]) -> bool {
    let best = offers
        .iter()
        .max_by(|(_, a), (_, b)| a.low.total_cmp(&b.low));
    best.is_some_and(|(_, best)| {
        let reaching = offers.iter().filter(|(_, offer)| offer.high >= best.low);
        reaching.count() <= 1
    })
}

#[cfg(test)]
mod tests;

//! How long a measurement must be to decide what this one leaves open.

use tmt_core::coding::estimate::Estimate;
use tmt_core::math::num::floor_u64;
use tmt_core::model::ModelError;
use tmt_core::types::to_f64;

use super::{Contender, Offer, Question, Rates, is_decided, is_exact};

/// Longest measurement that is thought of, bits: weeks on a core.
const LONGEST: u64 = 10_000_000_000_000;

/// Most events after which a measurement can be made to stop.
const MOST_EVENTS: u64 = 1_000_000_000;

/// dB in the disfavour of a closed form, where no error was seen to say more.
const DOUBT_DB: f64 = 0.25;

/// A measurement that decides if error rates are what they seem to be now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enough {
    /// Information bits after which it stops in any case.
    pub most_bits: u64,
    /// Errors after which it stops.
    pub events: u64,
}

impl Question<'_> {
    /// The shortest measurement, to the next 1, 2 or 5 times a power of ten, that decides between `offers`; `None` for closed forms,
    /// or if no feasible one does.
    pub(super) fn enough(
        &self,
        offers: &[(Contender, Offer)],
    ) -> Result<Option<Enough>, ModelError> {
        let Rates::Measured(settings, _) = self.rates else {
            return Ok(None);
        };
        let rates: Vec<f64> = offers
            .iter()
            .map(|(contender, offer)| match offer.errors.value {
                seen if seen > 0.0 => seen,
                _ => contender.theory(-DOUBT_DB).min(offer.errors.high),
            })
            .collect();
        let mut most_bits = 1_000_000;
        while most_bits <= LONGEST {
            if most_bits >= settings.most_bits {
                let mut expected = Vec::with_capacity(offers.len());
                let mut events = settings.events;
                for ((contender, offer), rate) in offers.iter().zip(&rates) {
                    if is_exact(&contender.code) {
                        expected.push(*offer);
                        continue;
                    }
                    let segments = to_f64(most_bits) / contender.closed.segment_bits();
                    let errors = floor_u64(segments * rate);
                    events = events.max(errors);
                    let rate = Estimate::independent(errors, floor_u64(segments).max(errors));
                    expected.push(self.at_errors(contender, offer.ecn0_db, rate)?);
                }
                if is_decided(&expected) {
                    return Ok(Some(Enough {
                        most_bits,
                        events: rounded_up(events).min(MOST_EVENTS),
                    }));
                }
            }
            most_bits = rounded_up(most_bits + 1);
        }
        Ok(None)
    }
}

/// The next 1, 2 or 5 times a power of ten.
fn rounded_up(number: u64) -> u64 {
    let mut power = 1_u64;
    loop {
        for digit in [1, 2, 5] {
            if power.saturating_mul(digit) >= number {
                return power.saturating_mul(digit);
            }
        }
        power = power.saturating_mul(10);
    }
}

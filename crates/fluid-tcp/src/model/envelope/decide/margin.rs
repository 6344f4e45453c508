//! How many dB of C/N0 a side can lose until it gives what another gives now.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tmt_core::model::ModelError;
use tmt_core::types::to_f64;

use super::{Contender, FIRST_BITS, Offer, Question, Ranged, Rates, is_exact};

/// Hundredths of a dB: resolution of margins, that of measured ones, and the largest that is looked for.
const STEP: u32 = 1;
const MEASURED_STEP: u32 = 4;
const FARTHEST: u32 = 2_000;

/// A measured margin is first looked for this far around that of the closed forms: between 64 less and 64 more.
const AROUND: u32 = 16 * MEASURED_STEP;

/// Offers by hundredths of a dB, bits and contender.
type Known = HashMap<(u32, u64, usize), Offer>;

fn in_db(hundredths: u32) -> f64 {
    to_f64(u64::from(hundredths)) / 100.0
}

impl Question<'_> {
    /// dB that the best of `first` can lose until it gives the goodput `next`, bit/s; `None` if that is nothing.
    pub(super) fn margin(
        &self,
        first: &[Contender],
        next: Ranged,
    ) -> Result<Option<Ranged>, ModelError> {
        if next.value <= 0.0 {
            return Ok(None);
        }
        let mut known = Known::new();
        let mut lost = |target, end| self.lost(first, target, end, &mut known).map(in_db);
        Ok(Some(Ranged {
            value: lost(next.value, |offer| offer.goodput.bits())?,
            low: lost(next.high, |offer| offer.low)?,
            high: lost(next.low, |offer| offer.high)?,
        }))
    }

    /// Hundredths of a dB with which no contender gives `target` any more.
    fn lost(
        &self,
        first: &[Contender],
        target: f64,
        end: fn(&Offer) -> f64,
        known: &mut Known,
    ) -> Result<u32, ModelError> {
        let (step, around) = match self.rates {
            Rates::ClosedForm => (STEP, None),
            Rates::Measured(..) if first.iter().all(|of| is_exact(&of.code)) => (STEP, None),
            Rates::Measured(..) => {
                let closed = Question {
                    rates: Rates::ClosedForm,
                    ..*self
                };
                let theory = closed.lost(first, target, end, &mut Known::new())?;
                let start = theory
                    .saturating_sub(AROUND)
                    .next_multiple_of(MEASURED_STEP);
                (MEASURED_STEP, Some(start).filter(|start| *start > 0))
            }
        };
        let mut gives = |less: u32| self.gives(first, less, target, end, known);
        let (mut above, mut width) = (0, step);
        match around {
            Some(start) if gives(start)? => (above, width) = (start, 2 * AROUND),
            _ if gives(0)? => {}
            _ => return Ok(0),
        }
        while above + width < FARTHEST && gives(above + width)? {
            (above, width) = (above + width, 2 * width);
        }
        let mut below = (above + width).min(FARTHEST);
        while below - above > step {
            let middle = above.midpoint(below);
            if gives(middle)? {
                above = middle;
            } else {
                below = middle;
            }
        }
        Ok(below)
    }

    /// Whether one of the contenders gives `target` with `less` hundredths of a dB. Long measurements are for what short ones do not
    /// tell, and for the most promising first: one that gives it is enough.
    fn gives(
        &self,
        first: &[Contender],
        less: u32,
        target: f64,
        end: fn(&Offer) -> f64,
        known: &mut Known,
    ) -> Result<bool, ModelError> {
        let mut offer = |place: usize, bits| match known.entry((less, bits, place)) {
            Entry::Occupied(known) => Ok(*known.get()),
            Entry::Vacant(new) => {
                let offer = self.offer(&first[place], in_db(less), bits)?;
                Ok::<Offer, ModelError>(*new.insert(offer))
            }
        };
        let mut left: Vec<(usize, Offer)> = Vec::new();
        for (place, contender) in first.iter().enumerate() {
            if contender.most(&self.path, -in_db(less)) >= target {
                left.push((place, offer(place, FIRST_BITS)?));
            }
        }
        if left.iter().any(|(_, offer)| offer.low >= target) {
            return Ok(true);
        }
        left.sort_by(|(_, a), (_, b)| b.goodput.bits().total_cmp(&a.goodput.bits()));
        for (place, mut found) in left {
            let mut bits = FIRST_BITS;
            while found.low < target && found.high >= target && bits < self.most_bits() {
                bits = self.longer(bits);
                found = offer(place, bits)?;
            }
            if found.low >= target || found.high >= target && end(&found) >= target {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

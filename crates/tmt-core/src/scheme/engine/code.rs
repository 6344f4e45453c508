//! Erasure codes: which received units decode a codeword, and how many more a codeword needs (docs/schemes.md, Sec. 4).

use std::fmt::Debug;

use crate::types::Time;

/// An erasure code: the rule by which received units decode a codeword. The built-in one is [`Ideal`].
///
/// Codes are systematic: the first units of a codeword are its data units, and each is delivered when it arrives. A codeword with
/// all data units received is therefore decoded, regardless of the result of [`Self::judge`]. The code decides when repair units
/// replace erased data units.
///
/// The answer must depend on the arguments alone, because the engine may ask at any time and in any order. A random code
/// draws its numbers by seed and codeword number, for example with [`Uniform`](crate::math::rng::Uniform).
pub trait Code: Debug + Clone {
    /// Whether any ND units decode a codeword, as with [`Ideal`]. The engine then counts units instead of calling
    /// [`Self::judge`], and takes many slots at once.
    const IS_IDEAL: bool = false;

    /// Judges a codeword at the end of an attempt. `received` are the units that count, in order of arrival: those of all
    /// attempts, or in frame ARQ those of this attempt.
    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict;
}

/// The attempt of a codeword that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attempt {
    /// Number of the codeword, from 0 in the order in which codewords are taken from the source.
    pub codeword: u64,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// Data units of the codeword: ND, or fewer if it is short.
    pub data_units: u32,
    /// All units of its first attempt: N, or fewer if it is short.
    pub units: u32,
}

/// A unit that was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceivedUnit {
    /// Number of the unit in its codeword, from 0 in the order of sending: first the data units, then the repair units, then
    /// the units of each round. Frame ARQ sends the same units in each attempt and counts from 0 again.
    pub number: u32,
    /// Time at which the unit arrived, without propagation.
    pub arrival: Time,
}

/// Result of judging a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The units decode the codeword. Its erased data units are available at this time, without propagation. An earlier time
    /// than the ND-th arrival is replaced by that arrival, because fewer units cannot determine ND data units.
    Decoded(Time),
    /// The codeword is not decoded and needs at least this many more units. A round sends so many, plus NS. At least the
    /// units that are missing to ND are sent, and never none.
    Missing(u32),
}

/// The ideal (maximum distance separable) code: any ND units decode a codeword.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Ideal;

impl Code for Ideal {
    const IS_IDEAL: bool = true;

    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict {
        let needed = attempt.data_units as usize;
        received.get(needed - 1).map_or_else(
            || Verdict::Missing(missing(needed, received.len())),
            |unit| Verdict::Decoded(unit.arrival),
        )
    }
}

/// Arrival that stands for a unit that was not received; above every time.
const NOT_RECEIVED: u64 = u64::MAX;

/// Arrivals of the units of a codeword that count, ns. With an ideal code only of received units; otherwise of all units in
/// the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Arrivals(Vec<u64>);

impl Arrivals {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds units in the order of sending, each with its arrival, ns, if it was received.
    #[inline]
    pub(super) fn extend<C: Code>(&mut self, units: impl Iterator<Item = Option<u64>>) {
        if C::IS_IDEAL {
            self.0.extend(units.flatten());
        } else {
            let units = units.map(|arrival| arrival.unwrap_or(NOT_RECEIVED));
            self.0.extend(units);
        }
    }

    /// The `needed`-th smallest, T_ND; `None` if there are fewer. Only with an ideal code. May change the order.
    #[inline]
    pub(super) fn nth(&mut self, needed: usize) -> Option<Time> {
        let nth = needed.checked_sub(1)?;
        let complete = *self.0.get(nth)?;
        // Arrivals are mostly in the order of the slots.
        let complete = if self.0.is_sorted() {
            complete
        } else {
            *self.0.select_nth_unstable(nth).1
        };
        Time::from_nanos(complete)
    }

    /// Judges the codeword by these units. `received` is scratch memory.
    #[inline]
    pub(super) fn judge<C: Code>(
        &mut self,
        code: &C,
        attempt: &Attempt,
        received: &mut Vec<ReceivedUnit>,
    ) -> Verdict {
        let needed = attempt.data_units as usize;
        if C::IS_IDEAL {
            return self.nth(needed).map_or_else(
                || Verdict::Missing(missing(needed, self.0.len())),
                Verdict::Decoded,
            );
        }
        received.clear();
        let units = (0..).zip(&self.0).filter_map(|(number, arrival)| {
            let arrival = Time::from_nanos(*arrival)?;
            Some(ReceivedUnit { number, arrival })
        });
        received.extend(units);
        received.sort_by_key(|unit| unit.arrival);
        let verdict = code.judge(attempt, received);
        // The data units themselves, if all arrived.
        let data = self.0.iter().take(needed).max();
        let data = data.and_then(|latest| Time::from_nanos(*latest));
        match (verdict, received.get(needed - 1), data) {
            (Verdict::Decoded(at), Some(nth), data) => {
                let at = at.max(nth.arrival);
                Verdict::Decoded(data.map_or(at, |data| at.min(data)))
            }
            (_, _, Some(data)) => Verdict::Decoded(data),
            (Verdict::Missing(more), ..) => {
                Verdict::Missing(more.max(missing(needed, received.len())).max(1))
            }
            (Verdict::Decoded(_), ..) => Verdict::Missing(missing(needed, received.len())),
        }
    }
}

/// Units that `received` units lack to `needed`.
fn missing(needed: usize, received: usize) -> u32 {
    u32::try_from(needed.saturating_sub(received)).unwrap_or(u32::MAX)
}

//! States that erase with a probability each and last for some units or some time: what `markov` and `semi-markov` share.
//!
//! A process is a list of sojourns. State and length of sojourn k are drawn by inversion from two numbers with k as their
//! index, so that a process is known after one pass over its sojourns, regardless of the units. The pass leaves checkpoints.

use std::fmt;
use std::sync::Arc;

use super::family::{Family, TableError};
use super::{ChannelError, Erasing, Process, SlotChannel, Use};
use crate::types::Span;
use crate::types::named::{Kind, Parameter, Value, Values};

mod length;
mod running;
mod states;
mod stationary;

pub(super) use crate::types::named::{Row, Rows, content};
pub(super) use length::{Amount, Length};

/// Most states of a process.
const MOST_STATES: usize = 256;

/// A state of a process.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct State {
    pub(super) name: String,
    /// Probability that a unit of this state is erased.
    pub(super) erasure: f64,
    pub(super) length: Length,
    /// Probability of each state as the next one. Its sum is 1 within 10^-9.
    pub(super) next: Vec<f64>,
}

/// Where lengths are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Base {
    /// Units, regardless of their times.
    Units,
    /// Nanoseconds since time zero.
    Time,
}

/// A process with its states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Chain {
    /// The text as which the process displays.
    pub(super) text: String,
    pub(super) states: Vec<State>,
    pub(super) base: Base,
    /// The first state; `None` for the stationary distribution.
    pub(super) start: Option<usize>,
    /// Share of units or time in each state under the stationary distribution; 0 throughout if there is not one.
    shares: Vec<f64>,
}

/// Name of the parameter of a family whose value is a table.
pub(super) const TABLE: &str = "file";

/// The parameter [`TABLE`]: a file, or its content in braces.
pub(super) const fn table(about: &'static str) -> Parameter {
    Parameter::required(TABLE, Kind::Content)
        .without_name()
        .described("FILE", about)
}

/// The parameter `start`: the first state, or the stationary distribution.
pub(super) const fn start(about: &'static str) -> Parameter {
    let kind = Kind::Text("the name of a state, or stationary");
    Parameter::preset("start", kind, Value::text(STATIONARY)).described("STATE", about)
}

/// Reads a process of `family`, whose parameters are a table, which `states` reads, and a first state.
pub(super) fn read(
    family: &Family,
    values: &Values,
    states: fn(&Rows<'_>) -> Result<Vec<State>, TableError>,
) -> Result<SlotChannel, ChannelError> {
    let start = values.text("start");
    let rows = Rows::of(values.text(TABLE))?;
    let states = states(&rows)?;
    let mut chain = Chain::new(states, start)?;
    chain.text = format!("{}:{{{}}}", family.name, rows.in_one_line());
    if start != STATIONARY {
        chain.text += &format!(",start={start}");
    }
    Ok(SlotChannel::Timed(Arc::new(Arc::new(chain))))
}

impl Chain {
    /// A process that begins in the state named `start`, or in its stationary distribution.
    ///
    /// # Errors
    /// The state does not exist, a state is never reached, or the stationary distribution is not unique.
    pub(super) fn new(states: Vec<State>, start: &str) -> Result<Self, ChannelError> {
        let base = match states.first() {
            Some(first) => first.length.base(),
            None => {
                return Err(ChannelError::Misfit(
                    "expected at least one state".to_owned(),
                ));
            }
        };
        if let Some(other) = states.iter().find(|state| state.length.base() != base) {
            let name = &other.name;
            return Err(ChannelError::Misfit(format!(
                "'{name}': expected its sojourn {}, as that of '{}': all in units or all in time",
                if base == Base::Time {
                    "in time"
                } else {
                    "in units"
                },
                states[0].name
            )));
        }
        let start = match start {
            STATIONARY => None,
            name => Some(
                states
                    .iter()
                    .position(|state| state.name == name)
                    .ok_or_else(|| {
                        let names: Vec<&str> =
                            states.iter().map(|state| state.name.as_str()).collect();
                        ChannelError::value(
                            format!("start={name}"),
                            format!("{STATIONARY}, {}", names.join(", ")),
                        )
                    })?,
            ),
        };
        let visits = stationary::visits(&states, start)?;
        let weights = visits.iter().zip(&states);
        let weights: Vec<f64> = weights
            .map(|(visits, state)| {
                // A state without end has all of the time.
                let mean = state.length.mean();
                if *visits == 0.0 {
                    0.0
                } else if mean.is_finite() {
                    visits * mean
                } else {
                    f64::MAX
                }
            })
            .collect();
        let total: f64 = weights.iter().sum();
        if !total.is_finite() {
            return Err(ChannelError::Misfit("found states whose shares are beyond all numbers apart, expected probabilities of the next state above 1e-100".to_owned()));
        }
        let shares = weights
            .iter()
            .map(|weight| if total > 0.0 { weight / total } else { 0.0 });
        let shares = shares.collect();
        Ok(Self {
            text: String::new(),
            states,
            base,
            start,
            shares,
        })
    }

    /// Probability that a unit is erased which lies in one state: any, if lengths are counted in units, and one without
    /// length otherwise. `None` if there is no stationary distribution.
    fn erasure_of_an_instant(&self) -> Option<f64> {
        let sum: f64 = self.shares.iter().sum();
        let terms = self.shares.iter().zip(&self.states);
        (sum > 0.0).then(|| terms.map(|(share, state)| share * state.erasure).sum())
    }
}

/// The start that is no state.
pub(super) const STATIONARY: &str = "stationary";

impl fmt::Display for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Runs share the table: it may be large, and each thread begins runs of its own.
impl Process for Arc<Chain> {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(running::Running::new(Self::clone(self), seed, used))
    }

    fn erasure_probability(&self, on_air: Span) -> Option<f64> {
        let in_one_state = self.base == Base::Units || on_air.is_zero();
        self.erasure_of_an_instant().filter(|_| in_one_state)
    }

    fn is_timed(&self) -> bool {
        self.base == Base::Time
    }

    fn note(&self, _on_air: Span) -> String {
        let count = self.states.len();
        let of = if self.base == Base::Time {
            " of an instant"
        } else {
            ""
        };
        let p = self.erasure_of_an_instant();
        let p = p.map_or_else(String::new, |p| format!(", erasure probability{of} {p:.6}"));
        format!("{count} states{p}")
    }
}

#[cfg(test)]
mod tests;

//! Statistics of the land-mobile-satellite channel by environment (docs/channels.md, Sec. 2 and 3): published sets, and a model
//! with parameters of the user.

mod lutz;
mod p681;
mod three_state;

use std::fmt;
use std::str::FromStr;

use super::RadioError;
use crate::types::named::unknown_of;

pub use lutz::Lutz;

/// Loo's distribution: direct signal with log-normal shadowing, and Rayleigh multipath. Without a direct signal, and with
/// multipath of log-normal power, Suzuki's. Relative to the unobstructed line of sight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Loo {
    /// Mean of the direct signal, dB: alpha, or M_A of ITU-R P.681. −∞ for none.
    pub direct_db: f64,
    /// Standard deviation of the direct signal, dB: psi, or Sigma_A.
    pub shadowing_db: f64,
    /// Mean power of the multipath, dB: MP. If the power varies, its mean in dB.
    pub multipath_db: f64,
    /// Standard deviation of the power of the multipath, dB; 0 in Loo's distribution.
    pub multipath_shadowing_db: f64,
}

/// A state of the three-state model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FrameState {
    /// Distribution of the signal.
    pub loo: Loo,
    /// Distance after which the next state is drawn, m: Lframe. 0 if the state is never entered.
    pub frame_m: f64,
    /// Probabilities of the next state.
    pub row: [f64; 3],
}

/// A state of the two-state semi-Markov model. Its triplet is drawn again whenever it is entered.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventState {
    /// Mean and standard deviation of the natural logarithm of its length in metres.
    pub length_ln_m: [f64; 2],
    /// Shortest length, m: shorter ones are drawn again.
    pub shortest_m: f64,
    /// Mean and standard deviation of M_A, dB.
    pub direct_db: [f64; 2],
    /// Quantiles of M_A between which it is drawn.
    pub quantiles: [f64; 2],
    /// Slope and offset of MP over M_A.
    pub multipath: [f64; 2],
    /// Slope and offset of Sigma_A over M_A.
    pub shadowing: [f64; 2],
}

/// A state whose sojourns have exponential lengths.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExponentialState {
    /// Distribution of the signal.
    pub loo: Loo,
    /// Mean length of a sojourn, m.
    pub mean_m: f64,
}

/// How the states follow one another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sequence {
    /// Three states; the next one is drawn after each frame (Perez-Fontan et al.).
    Frames {
        /// Line of sight, moderate shadowing, deep shadowing.
        states: [FrameState; 3],
        /// Distance over which a triplet changes into the next, m: Ltrans.
        transition_m: f64,
    },
    /// Good and bad states in turn, with log-normal lengths (ITU-R P.681-11, Sec. 6.2).
    Events {
        /// Good and bad.
        states: [EventState; 2],
        /// Distance over which a triplet changes into the next, m: slope over the change of M_A, and offset.
        transition: [f64; 2],
    },
    /// Good and bad states in turn, with exponential lengths and without transitions (Lutz et al.).
    Exponential {
        /// Good and bad.
        states: [ExponentialState; 2],
    },
}

/// An environment at an elevation.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Environment {
    /// Name, such as `suburban` or `p681:suburban`.
    pub name: &'static str,
    /// Elevation of the satellite, degrees; `None` if the set is for none in particular.
    pub elevation_deg: Option<f64>,
    /// Distance over which the correlation of the shadowing falls to 1/e, m.
    pub correlation_m: f64,
    /// Sequence of states.
    pub sequence: Sequence,
}

impl Environment {
    /// All published sets, by name and elevation.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        three_state::SETS.iter().chain(p681::SETS)
    }

    /// Names of all environments with published sets.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let mut last = "";
        Self::all().map(|set| set.name).filter(move |name| {
            let new = *name != last;
            last = name;
            new
        })
    }

    /// The set named `name` whose elevation is nearest to `elevation_deg`; the higher one of two equally near. `None` if
    /// there is no environment of that name.
    #[must_use]
    pub fn nearest(name: &str, elevation_deg: f64) -> Option<&'static Self> {
        let distance = |set: &Self| {
            set.elevation_deg
                .map_or(0.0, |of| (of - elevation_deg).abs())
        };
        let sets = Self::all().filter(|set| set.name == name);
        sets.reduce(|best, set| {
            if distance(set) <= distance(best) {
                set
            } else {
                best
            }
        })
    }

    /// Whether the set is of the three-state model, which is known for one elevation only.
    #[must_use]
    pub const fn is_three_state(&self) -> bool {
        matches!(self.sequence, Sequence::Frames { .. })
    }
}

/// Surroundings of a terminal, by which a channel chooses its environment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Surroundings {
    /// The published sets of this name.
    Published(&'static str),
    /// Two states with parameters of the user.
    Lutz(Lutz),
}

impl Surroundings {
    /// Whether every value is in its range.
    pub(super) fn is_valid(self) -> bool {
        match self {
            Self::Published(name) => Environment::names().any(|known| known == name),
            Self::Lutz(lutz) => lutz.is_valid(),
        }
    }

    /// Limit that the power relative to the unobstructed line of sight hardly ever exceeds, dB.
    pub(super) fn highest_db(self) -> f64 {
        match self {
            Self::Published(_) => 10.0,
            Self::Lutz(lutz) => lutz.highest_db(),
        }
    }
}

impl fmt::Display for Surroundings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published(name) => f.write_str(name),
            Self::Lutz(lutz) => lutz.fmt(f),
        }
    }
}

impl FromStr for Surroundings {
    type Err = RadioError;

    fn from_str(text: &str) -> Result<Self, RadioError> {
        if text.starts_with(lutz::NAME) || text.starts_with("lutz(") {
            return text.parse().map(Self::Lutz);
        }
        let known = Environment::names().find(|name| *name == text);
        known.map(Self::Published).ok_or_else(|| unknown(text))
    }
}

/// The refusal of an unknown environment `name`, with the known ones.
pub(super) fn unknown(name: &str) -> RadioError {
    let unknown = unknown_of("environment", name, Environment::names());
    RadioError(format!("{unknown}, or {}KEY=VALUE/…", lutz::NAME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_three_state_model_add_up_to_one() {
        for set in Environment::all() {
            if let Sequence::Frames { states, .. } = set.sequence {
                for state in states {
                    // The published rows are rounded to four decimals.
                    assert!(
                        (state.row.iter().sum::<f64>() - 1.0).abs() < 1.5e-4,
                        "{}",
                        set.name
                    );
                }
            }
        }
    }

    #[test]
    fn rows_are_chosen_at_the_published_breakpoints() {
        let row = |name, elevation| {
            Environment::nearest(name, elevation)
                .unwrap()
                .elevation_deg
                .unwrap()
        };
        for (elevation, nearest) in [
            (5.0, 20.0),
            (24.9, 20.0),
            (25.0, 30.0),
            (37.4, 30.0),
            (40.0, 45.0),
            (52.4, 45.0),
            (52.5, 60.0),
            (64.9, 60.0),
            (90.0, 70.0),
        ] {
            assert!(
                (row("p681:urban", elevation) - nearest).abs() < 1e-9,
                "{elevation}"
            );
        }
        // The table has no row for 45 degrees.
        for (elevation, nearest) in [(44.9, 30.0), (45.0, 60.0), (65.0, 70.0)] {
            assert!(
                (row("p681:residential", elevation) - nearest).abs() < 1e-9,
                "{elevation}"
            );
        }
        assert_eq!(Environment::nearest("p681:lunar", 40.0), None);
        assert_eq!(Environment::names().count(), 9);
        assert_eq!(Environment::all().count(), 4 + 5 * 5 - 1);
    }
}

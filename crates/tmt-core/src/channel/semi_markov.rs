//! `semi-markov`: states whose sojourns have lengths of any distribution, in units or in time.
//!
//! A table of run lengths as measured is such a process: two states, each with a histogram of lengths in units.

use super::chain::{self, Rows, State};
use super::family::{Family, Make, TableError};

pub(super) static FAMILY: Family = Family {
    name: "semi-markov",
    about: "States with lengths of any distribution, in units or in time, and an erasure probability each",
    parameters: &[
        chain::table(
            "table `state,erasure,sojourn,NAME…`: a row per state with its name, its erasure probability, the distribution of \
             its length and the probability of each state as the next one, in the order of the rows",
        ),
        chain::start("first state, just begun, or stationary"),
    ],
    examples: &[
        "semi-markov:{state,erasure,sojourn,good,bad;good,0,histogram 1:1 40:2 900:1,0,1;bad,1,geometric mean=5,1,0}",
        "semi-markov:{state,erasure,sojourn,clear,shadow;clear,0.001,exponential mean=2s,0,1;\
         shadow,1,lognormal median=80ms sigma=0.8 min=5ms,1,0},start=clear",
    ],
    make: Make {
        content: Some(|text| chain::content(text, states)),
        ..Make::timed(|values| chain::read(&FAMILY, values, states))
    },
};

/// The states of a table.
fn states(rows: &Rows<'_>) -> Result<Vec<State>, TableError> {
    rows.states(true)
}

//! `markov`: a Markov chain of any number of states, which changes its state from unit to unit.
//!
//! The sojourns of a chain are geometric, so it runs as a process of sojourns ([`super::chain`]): with probability p of
//! leaving, a sojourn has a length of 1 + floor(ln(1 − u) / ln(1 − p)) units, and the next state is another one.

use super::chain::{self, Length, Rows, State};
use super::family::{Family, Make, TableError};

pub(super) static FAMILY: Family = Family {
    name: "markov",
    about: "Markov chain from unit to unit, with an erasure probability per state",
    parameters: &[
        chain::table(
            "table `state,erasure,NAME…`: a row per state with its name, its erasure probability and the probability of each \
             state at the next unit, in the order of the rows",
        ),
        chain::start("state at the first unit, or stationary"),
    ],
    examples: &[
        "markov:{state,erasure,good,bad;good,0,0.99,0.01;bad,1,0.2,0.8}",
        "markov:{state,erasure,sun,cloud,rain;sun,0,0.9,0.1,0;cloud,0.1,0.3,0.6,0.1;rain,0.9,0,0.5,0.5},start=rain",
    ],
    make: Make {
        content: Some(|text| chain::content(text, states)),
        ..Make::timed(|values| chain::read(&FAMILY, values, states))
    },
};

/// The states of a table.
fn states(rows: &Rows<'_>) -> Result<Vec<State>, TableError> {
    let mut states = rows.states(false)?;
    for (at, state) in states.iter_mut().enumerate() {
        // A sojourn ends with a change of state.
        let stay = std::mem::take(&mut state.next[at]);
        let leave: f64 = state.next.iter().sum();
        if leave > 0.0 {
            // The row adds up to one only nearly.
            state.length = Length::Geometric {
                leave: leave / (stay + leave),
            };
            for p in &mut state.next {
                *p /= leave;
            }
        } else {
            state.length = Length::Geometric { leave: 0.0 };
            state.next[at] = 1.0;
        }
    }
    Ok(states)
}

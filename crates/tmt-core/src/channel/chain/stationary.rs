//! How often each state is visited in the long run.

use super::State;
use crate::channel::ChannelError;

/// Relative frequency with which sojourns are in each state, from the first state `start`, or in the stationary
/// distribution; 0 throughout if several are possible, which only a `start` allows.
///
/// # Errors
/// A state is never visited, or `start` is needed.
pub(super) fn visits(states: &[State], start: Option<usize>) -> Result<Vec<f64>, ChannelError> {
    let reach: Vec<Vec<bool>> = (0..states.len())
        .map(|from| reached(states, from))
        .collect();
    // A state that can be reached from all that it reaches is in a closed class.
    let closed = |at: usize| (0..states.len()).all(|to| !reach[at][to] || reach[to][at]);
    let name = |at: usize| states[at].name.as_str();
    let first = (0..states.len()).find(|at| closed(*at)).unwrap_or(0);
    let other = (0..states.len()).find(|at| closed(*at) && !reach[first][*at]);
    if let Some(start) = start {
        if let Some(never) = (0..states.len()).find(|at| !reach[start][*at]) {
            return Err(ChannelError::Misfit(format!(
                "state '{}' cannot be reached from the start '{}': remove it, or start elsewhere",
                name(never),
                name(start)
            )));
        }
    } else if let Some(other) = other {
        return Err(ChannelError::Misfit(format!(
            "'{}' and '{}' cannot be reached from each other, so the stationary distribution is not unique: add start=STATE",
            name(first),
            name(other)
        )));
    } else if let Some(never) = (0..states.len()).find(|at| !closed(*at)) {
        return Err(ChannelError::Misfit(format!(
            "state '{}' is left for good, so the stationary distribution never visits it: remove it, or add start=STATE",
            name(never)
        )));
    }
    if other.is_some() {
        return Ok(vec![0.0; states.len()]);
    }
    let members: Vec<usize> = (0..states.len()).filter(|at| closed(*at)).collect();
    let mut visits = vec![0.0; states.len()];
    for (at, share) in members.iter().zip(balanced(states, &members)) {
        visits[*at] = share;
    }
    Ok(visits)
}

/// The states that can follow `from`, itself included.
fn reached(states: &[State], from: usize) -> Vec<bool> {
    let mut reached = vec![false; states.len()];
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        if !std::mem::replace(&mut reached[at], true) {
            let next = states[at].next.iter().enumerate();
            open.extend(next.filter(|(_, p)| **p > 0.0).map(|(to, _)| to));
        }
    }
    reached
}

/// Frequencies that balance all transitions between `members`, which all reach each other. Subtracts nothing, so that each
/// has full relative precision (Grassmann, Taksar and Heyman, Operations Research 33(5), 1985).
fn balanced(states: &[State], members: &[usize]) -> Vec<f64> {
    let mut p: Vec<Vec<f64>> = members
        .iter()
        .map(|from| members.iter().map(|to| states[*from].next[*to]).collect())
        .collect();
    for last in (1..members.len()).rev() {
        let leaves: f64 = p[last][..last].iter().sum();
        let from_last = p[last].clone();
        for row in &mut p[..last] {
            row[last] /= leaves;
            let weight = row[last];
            for (to, other) in row[..last].iter_mut().zip(&from_last) {
                *to += weight * other;
            }
        }
    }
    let mut visits = vec![1.0; members.len()];
    for at in 1..members.len() {
        visits[at] = (0..at).map(|from| visits[from] * p[from][at]).sum();
    }
    visits
}

//! `levels`: a rate that is constant for a step and then changes by a Markov chain, such as that of a mobile network.
//!
//! A level is a share of the units. The others are erased, or withheld where the process of a scenario withholds slots
//! (docs/scenarios.md, Sec. 6). It is a process of states of fixed length ([`super::chain`]).

use std::sync::Arc;

use super::chain::{Amount, Chain, Length, STATIONARY, State};
use super::family::{Family, Make};
use super::{ChannelError, SlotChannel};
use crate::types::Span;
use crate::types::named::{Kind, Parameter, Values};

pub(super) static FAMILY: Family = Family {
    name: "levels",
    about: "A share of the units, constant for a step, that then changes by a Markov chain; the others are erased",
    parameters: &[
        Parameter::required("step", Kind::Duration(Span::from_micros(1), Span::MAX))
            .described("DURATION", "how long a level lasts, from 1us"),
        Parameter::required(
            "shares",
            Kind::Text("shares from 0 to 1, with / between them"),
        )
        .described(
            "S/S/…",
            "share of units of each level that are not erased, 0 to 1",
        ),
        Parameter::required(
            "next",
            Kind::Text("rows of probabilities, with / between them"),
        )
        .described(
            "P:P:…/…",
            "for each level the probability of each as the next one, in the order of the shares",
        ),
    ],
    examples: &[
        "levels:step=100ms,shares=0/0.25/1,next=0.6:0.4:0/0.1:0.7:0.2/0:0.3:0.7",
        "levels:step=2s,shares=0.5/1,next=0:1/1:0",
    ],
    make: Make::timed(levels),
};

fn levels(values: &Values) -> Result<SlotChannel, ChannelError> {
    let length = values.duration("step");
    let (shares, next) = (values.text("shares"), values.text("next"));
    let shares: Vec<f64> = shares
        .split('/')
        .map(|text| probability("shares", text))
        .collect::<Result<_, _>>()?;
    let rows: Vec<&str> = next.split('/').collect();
    if rows.len() != shares.len() {
        return Err(ChannelError::Misfit(format!(
            "'next={next}': found {} rows, expected one for each of the {} shares, with / between them",
            rows.len(),
            shares.len()
        )));
    }
    if shares.len() > MOST_LEVELS {
        return Err(ChannelError::Misfit(format!(
            "shares: found {} levels, expected at most {MOST_LEVELS}",
            shares.len()
        )));
    }
    let states = shares.iter().zip(&rows).enumerate();
    let states = states.map(|(number, (share, row))| {
        let next = row.split(':').map(|text| probability("next", text));
        let next: Vec<f64> = next.collect::<Result<_, _>>()?;
        let sum: f64 = next.iter().sum();
        if next.len() != shares.len() || (sum - 1.0).abs() > TOLERANCE {
            return Err(ChannelError::Misfit(format!(
                "next: found '{row}' with {} probabilities that add up to {sum}, expected {} that add up to 1, with : between them",
                next.len(),
                shares.len()
            )));
        }
        Ok(State {
            name: format!("level-{number}"),
            erasure: 1.0 - share,
            length: Length::Fixed(Amount::Time(length)),
            next,
        })
    });
    let mut chain = Chain::new(states.collect::<Result<_, _>>()?, STATIONARY)?;
    chain.text = format!(
        "{}:step={length},shares={},next={next}",
        FAMILY.name,
        shares
            .iter()
            .map(f64::to_string)
            .collect::<Vec<_>>()
            .join("/")
    );
    Ok(SlotChannel::Timed(Arc::new(Arc::new(chain))))
}

/// Reads a probability of the list that is the value of `key`.
fn probability(key: &str, text: &str) -> Result<f64, ChannelError> {
    super::probability(text)
        .map_err(|_| ChannelError::value(format!("{key}={text}"), Kind::Probability.expected()))
}

/// Most levels of a process.
const MOST_LEVELS: usize = 64;

/// How far the probabilities of a row may be from adding up to one.
const TOLERANCE: f64 = 1e-9;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Use;
    use crate::types::{Slot, Time};

    /// Two levels in turn: every other step has all units, and the one between half of them.
    #[test]
    fn a_level_lasts_one_step_and_passes_its_share() {
        let process: SlotChannel = "levels:step=1s,shares=0.5/1,next=0:1/1:0".parse().unwrap();
        let unit = |number: u64| {
            Slot::new(
                Time::from_nanos(number * 1_000_000).unwrap(),
                Span::NANOSECOND,
            )
            .unwrap()
        };
        let mut units: Vec<Slot> = (0..101_000).map(unit).collect();
        process
            .begin(3, Use::Forward)
            .erase(0, Span::ZERO, &mut units);
        // The first step began before time zero.
        let lost = |units: &[Slot]| units.iter().filter(|unit| unit.is_erased()).count();
        let begin = (0..1000)
            .find(|begin| {
                let whole = units[*begin..].chunks_exact(1000);
                whole.step_by(2).all(|step| lost(step) == 0)
            })
            .or_else(|| {
                (0..1000).find(|begin| {
                    let whole = units[*begin..].chunks_exact(1000);
                    whole.skip(1).step_by(2).all(|step| lost(step) == 0)
                })
            });
        let begin = begin.unwrap();
        for pair in units[begin..].chunks_exact(2000) {
            let (one, other) = pair.split_at(1000);
            let (least, most) = (lost(one).min(lost(other)), lost(one).max(lost(other)));
            assert!(least == 0 && (400..600).contains(&most), "{least} {most}");
        }
        let SlotChannel::Timed(process) = process else {
            panic!("a process in time")
        };
        assert_eq!(process.erasure_probability(Span::ZERO), Some(0.25));
    }

    #[test]
    fn invalid_levels_are_refused_with_the_reason() {
        for (text, words) in [
            ("step=1s,shares=0/1,next=0:1", "found 1 rows"),
            ("step=1s,shares=0/1,next=0:1/1", "1 probabilities"),
            ("step=1s,shares=0/1,next=0:1/0.5:0.4", "add up to 0.9"),
            ("step=1s,shares=0/2,next=0:1/1:0", "'shares=2'"),
            ("step=10ns,shares=0/1,next=0:1/1:0", "at least 1us"),
            ("step=1s,shares=0/1,next=1:0/0:1", "not unique"),
        ] {
            let error = format!("levels:{text}").parse::<SlotChannel>().unwrap_err();
            assert!(error.to_string().contains(words), "{text}: {error}");
        }
    }
}

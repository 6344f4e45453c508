//! Heads of slices: a user's share of the rate, and one head for traces that are put together.

use std::fmt;

use crate::types::{BitRate, Metadata, TraceKind};

/// How traces are put together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Join {
    /// One after another, on the same link.
    Concatenated,
    /// In the order of time: users of one link, whose rates add up.
    Merged,
}

/// Rate of the slots, whose sum a merged trace has.
const RATE: &str = "rate_bps";

/// Keys by which a head describes its link. Traces of one link have the same values.
const LINK: [&str; 8] = [
    RATE,
    "lldu_bytes",
    "lldu_header_bytes",
    "packing",
    "rtt_ns",
    "interleaver_ns",
    "propagation_removed_ns",
    TraceKind::KEY,
];

/// Keys of how the first trace was made, which the others need not share.
const FIRST: [&str; 2] = ["tool", "command"];

/// A key in which a head differs from the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The key.
    pub key: &'static str,
    /// Its value in the first head, if it has one.
    pub first: Option<String>,
    /// Index of the other head.
    pub index: usize,
    /// The value there, if it has one.
    pub other: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_owned());
        let (first, other) = (shown(&self.first), shown(&self.other));
        write!(f, "{}: found {other}, expected {first}", self.key)
    }
}

/// The first key in which each of `heads` differs from the first one about the link. Rates of a merged trace may differ,
/// but each head needs one or none.
#[must_use]
pub fn differences(heads: &[&Metadata], how: Join) -> Vec<Difference> {
    let Some((first, others)) = heads.split_first() else {
        return Vec::new();
    };
    let differs = |key: &str, other: &Metadata| {
        let (first, other) = (first.get(key), other.get(key));
        if key == RATE && how == Join::Merged {
            first.is_some() != other.is_some()
        } else if key == TraceKind::KEY {
            // A head that does not say is that of a capacity.
            (first == Some("probe")) != (other == Some("probe"))
        } else {
            first != other
        }
    };
    let found = (1..).zip(others).flat_map(|(index, other)| {
        let keys = LINK.into_iter().filter(move |key| differs(key, other));
        keys.map(move |key| Difference {
            key,
            first: first.get(key).map(str::to_owned),
            index,
            other: other.get(key).map(str::to_owned),
        })
    });
    found.collect()
}

/// One head for traces that are put together, and the keys that it lost: those whose values differ.
///
/// The first head gives the keys that describe the link, and `tool` and `command`. The sum of the rates is the rate of a merged
/// trace. Of keys that may occur more than once, such as `stage`, every line stays, equal ones once.
#[must_use]
pub fn joined(heads: &[&Metadata], how: Join) -> (Metadata, Vec<String>) {
    let Some((first, others)) = heads.split_first().filter(|(first, _)| first.is_head()) else {
        return (Metadata::new(), Vec::new());
    };
    let mut head = Metadata::clone(first);
    let mut lost = Vec::new();
    if how == Join::Merged {
        let rates = heads.iter().map(|head| head.rate().map(|rate| rate.0));
        let sum: Option<u64> = rates.sum();
        match sum {
            Some(sum) => head.set(RATE, sum.to_string()),
            None if head.get(RATE).is_some() => {
                head.remove(RATE);
                lost.push(RATE.to_owned());
            }
            None => {}
        }
    }
    for (key, value) in others.iter().flat_map(|other| other.iter()) {
        let is_known = LINK.contains(&key) || FIRST.contains(&key);
        if is_known || head.iter().any(|entry| entry == (key, value)) {
            continue;
        }
        if !Metadata::occurs_once(key) {
            head.push(key, value);
        } else if head.get(key).is_some() {
            head.remove(key);
            lost.push(key.to_owned());
        }
    }
    (head, lost)
}

/// Rate of user `offset` of `every` that share slots of `rate` in turn; `None` if it is 0.
///
/// A whole number, so that the rates of all users add up to `rate`: ⌊(k + 1) · rate / n⌋ − ⌊k · rate / n⌋.
#[must_use]
pub fn share_of_rate(rate: BitRate, every: u64, offset: u64) -> Option<BitRate> {
    let until = |users: u64| u128::from(rate.0) * u128::from(users) / u128::from(every.max(1));
    let share = until(offset + 1) - until(offset);
    let share = u64::try_from(share).ok().filter(|share| *share > 0);
    share.map(BitRate)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(entries: &[(&str, &str)]) -> Metadata {
        let mut head = Metadata::new();
        head.set("tool", "hand 1");
        for (key, value) in entries {
            head.push(key, *value);
        }
        head
    }

    proptest! {
        #[test]
        fn the_rates_of_all_users_add_up(rate in 1u64..=u64::MAX >> 1, every in 1u64..40) {
            let rates = (0..every).map(|offset| share_of_rate(BitRate(rate), every, offset));
            let rates: Vec<u64> = rates.map(|rate| rate.map_or(0, |rate| rate.0)).collect();
            prop_assert_eq!(rates.iter().sum::<u64>(), rate);
            let (least, most) = (rates.iter().min().unwrap(), rates.iter().max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }

    #[test]
    fn every_key_of_the_link_that_differs_is_named() {
        let first = head(&[("rate_bps", "100"), ("lldu_bytes", "33"), ("site", "Pisa")]);
        let other = head(&[
            ("rate_bps", "200"),
            ("lldu_header_bytes", "0"),
            ("rtt_ns", "5"),
            ("site", "Livorno"),
        ]);
        let keys = |how| {
            let found = differences(&[&first, &first, &other], how);
            assert!(found.iter().all(|difference| difference.index == 2));
            found
                .iter()
                .map(|difference| difference.key)
                .collect::<Vec<_>>()
        };
        assert_eq!(
            keys(Join::Concatenated),
            ["rate_bps", "lldu_bytes", "lldu_header_bytes", "rtt_ns"]
        );
        assert_eq!(
            keys(Join::Merged),
            ["lldu_bytes", "lldu_header_bytes", "rtt_ns"]
        );
    }

    #[test]
    fn a_merged_head_has_the_sum_of_the_rates_only_if_all_are_known() {
        let (known, unknown) = (head(&[("rate_bps", "100")]), head(&[]));
        for heads in [[&known, &unknown], [&unknown, &known]] {
            let found = differences(&heads, Join::Merged);
            let keys: Vec<&str> = found.iter().map(|difference| difference.key).collect();
            assert_eq!(keys, ["rate_bps"]);
            assert_eq!(joined(&heads, Join::Merged).0.get("rate_bps"), None);
        }
        let (_, lost) = joined(&[&known, &unknown], Join::Merged);
        assert_eq!(lost, ["rate_bps"]);
    }

    #[test]
    fn a_joined_head_keeps_every_stage_and_loses_a_seed_that_differs() {
        let users = ["0", "1", "2"].map(|user| {
            let stage = format!("tmt slice --every 3 --offset {user}");
            head(&[
                ("rate_bps", "7"),
                ("seed", user),
                ("stage", "tmt synth"),
                ("stage", &stage),
            ])
        });
        let users = users.each_ref();
        let (merged, lost) = joined(&users, Join::Merged);
        assert_eq!(merged.number("rate_bps"), Some(21));
        assert_eq!(merged.iter().filter(|(key, _)| *key == "stage").count(), 4);
        assert_eq!(lost, ["seed"]);
        assert_eq!(joined(&users[..1], Join::Concatenated).0, *users[0]);
    }
}

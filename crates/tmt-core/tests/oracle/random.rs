//! Random traces and schemes that cover the corner cases: equal times, gaps, delays much longer than a slot, no erasures,
//! only erasures, bursts, codewords longer than the trace.

use proptest::prelude::*;

use super::{Code, Rule, TimeAndDelay};

/// A link: trace, RTT and feedback delay.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) trace: Vec<TimeAndDelay>,
    pub(crate) rtt: u64,
    pub(crate) feedback: u64,
}

/// A link of at most `longest` slots.
pub(crate) fn link(longest: usize) -> impl Strategy<Value = Link> {
    (
        trace(longest),
        span(),
        prop_oneof![2 => Just(0), 1 => span()],
    )
        .prop_map(|(trace, rtt, feedback)| Link {
            trace,
            rtt,
            feedback,
        })
}

/// Times from zero to longer than any trace.
fn span() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 4 => 1u64..300, 4 => 300u64..10_000, 1 => 1u64 << 50..1 << 51]
}

fn trace(longest: usize) -> impl Strategy<Value = Vec<TimeAndDelay>> {
    let start = prop_oneof![3 => Just(0), 2 => 0u64..2_000_000_000, 1 => 1u64 << 61..1 << 62];
    let gap = prop_oneof![2 => Just(0), 6 => 1u64..40, 2 => Just(20), 1 => 1_000u64..50_000];
    let delay =
        prop_oneof![4 => Just(7), 4 => 1u64..60, 2 => 1u64..20_000, 1 => 1u64 << 40..1 << 41];
    let short = longest.min(30);
    let slots = prop_oneof![
        1 => prop::collection::vec((gap.clone(), delay.clone()), 1..=short),
        1 => prop::collection::vec((gap, delay), 1..=longest),
    ];
    (start, slots).prop_flat_map(|(start, slots)| {
        let erased = erased(slots.len());
        (Just(start), Just(slots), erased).prop_map(|(start, slots, erased)| {
            let mut t = start;
            let mut trace = Vec::new();
            for (&(gap, delay), erased) in slots.iter().zip(erased) {
                t += gap;
                trace.push((t, if erased { 0 } else { delay }));
            }
            trace
        })
    })
}

fn erased(slots: usize) -> impl Strategy<Value = Vec<bool>> {
    let independent = (1u32..100).prop_flat_map(move |percent| {
        prop::collection::vec((0u32..100).prop_map(move |draw| draw < percent), slots)
    });
    let bursts = prop::collection::vec((1usize..25, any::<bool>()), 1..60).prop_map(move |runs| {
        let flags = runs
            .iter()
            .flat_map(|&(length, erased)| std::iter::repeat_n(erased, length));
        flags.chain(std::iter::repeat(false)).take(slots).collect()
    });
    prop_oneof![
        1 => Just(vec![false; slots]),
        1 => Just(vec![true; slots]),
        6 => independent,
        6 => bursts,
    ]
}

/// Any scheme of docs/schemes.md, Sec. 2, with its options in any order.
pub(crate) fn code() -> impl Strategy<Value = Code> {
    let extra = prop::option::of(prop_oneof![8 => 0u32..4, 1 => 50u32..300]);
    let depth = prop::option::of(prop_oneof![6 => 1u32..5, 1 => 5u32..80]);
    (
        0..5u8,
        codeword(),
        extra,
        rounds(),
        depth,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(family, (nd, n), extra, rounds, depth, in_order, reversed)| {
                let one = Code {
                    text: String::new(),
                    nd: 1,
                    n: 1,
                    extra: 0,
                    rounds,
                    interleave: 1,
                    frame: false,
                    in_order,
                    rule: Rule::Any,
                };
                let mut options = Vec::new();
                let with_rounds = |options: &mut Vec<String>| {
                    options.extend(rounds.map(|r| format!("rounds={r}")));
                };
                let with_depth = |options: &mut Vec<String>| {
                    options.extend(depth.map(|i| format!("interleave={i}")));
                };
                let mut code = match family {
                    0 => Code {
                        rounds: Some(0),
                        ..one
                    },
                    1 => {
                        with_depth(&mut options);
                        Code {
                            nd,
                            n,
                            rounds: Some(0),
                            interleave: depth.unwrap_or(1),
                            ..one
                        }
                    }
                    2 => {
                        with_rounds(&mut options);
                        one
                    }
                    3 => {
                        options.extend(extra.map(|ns| format!("extra={ns}")));
                        with_rounds(&mut options);
                        with_depth(&mut options);
                        Code {
                            nd,
                            n,
                            extra: extra.unwrap_or(0),
                            interleave: depth.unwrap_or(1),
                            ..one
                        }
                    }
                    _ => {
                        with_rounds(&mut options);
                        Code {
                            nd,
                            n,
                            frame: true,
                            ..one
                        }
                    }
                };
                if reversed {
                    options.reverse();
                }
                let name = ["none", "fec", "arq", "harq", "frame-arq"][usize::from(family)];
                let mut parts = Vec::new();
                if matches!(name, "fec" | "harq" | "frame-arq") {
                    parts.push(format!("{nd}/{n}"));
                }
                parts.extend(options);
                let head = if parts.is_empty() {
                    name.to_owned()
                } else {
                    format!("{name}:{}", parts.join(","))
                };
                code.text = if in_order {
                    format!("{head},in-order")
                } else {
                    head
                };
                code
            },
        )
}

fn codeword() -> impl Strategy<Value = (u32, u32)> {
    let sizes = prop_oneof![2 => Just((1, 0)), 8 => (1u32..9, 0u32..6), 2 => (9u32..60, 0u32..30), 1 => (300u32..700, 0u32..40)];
    sizes.prop_map(|(nd, nr)| (nd, nd + nr))
}

fn rounds() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![3 => Just(None), 4 => (0u32..4).prop_map(Some), 1 => Just(Some(u32::MAX - 1))]
}

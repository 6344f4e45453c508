//! Codes other than the ideal one, compared with the naive model in `oracle/`: under a saturated sender and under a queue
//! that runs empty, slot by slot and in slices (docs/schemes.md, Sec. 4).

use crate::extending::code::{RandomLinear, overhead};
use crate::oracle::random::{self, Link};
use crate::oracle::{self, Rule};
use crate::queue_driven::{arrivals, carried, packets, queue, record, slot, span, supply};
use proptest::prelude::*;
use test_support::{cases, depth};
use tmt_core::SchemeRunner;
use tmt_core::coding::erasure::ErasureCode;
use tmt_core::scheme::engine::{Attempt, Code, Engine, Ideal, ReceivedUnit, UnitKind, Verdict};
use tmt_core::types::{EndLine, Fate, Lldu, Slot, Time};

const SEED: u64 = 3;

/// The ideal code on the path of any other code.
#[derive(Debug, Clone)]
struct AnyUnits;

impl Code for AnyUnits {
    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict {
        Ideal.judge(attempt, received)
    }
}

/// Repair unit `r` is the sum of the data units whose number modulo NR is `r`; units of rounds are the repair units again,
/// or the data units if there are none.
#[derive(Debug, Clone)]
struct Parity;

impl Code for Parity {
    fn judge(&self, attempt: &Attempt, received: &[ReceivedUnit]) -> Verdict {
        let (data_units, units) = (attempt.data_units as usize, attempt.units as usize);
        let mut numbers = Vec::new();
        for unit in received {
            numbers.push(unit.number as usize);
            if erased_groups(data_units, units, &numbers) == 0 {
                return Verdict::Decoded(unit.arrival);
            }
        }
        let missing = erased_groups(data_units, units, &numbers);
        Verdict::Missing(u32::try_from(missing).unwrap())
    }
}

/// Data units that these units do not determine.
fn erased_groups(data_units: usize, units: usize, numbers: &[usize]) -> usize {
    let groups = units - data_units;
    let has = |wanted: &dyn Fn(usize) -> bool| numbers.iter().any(|number| wanted(*number));
    if groups == 0 {
        let erased = |data: &usize| !has(&|number| number % data_units == *data);
        return (0..data_units).filter(erased).count();
    }
    let lacking = |group: usize| {
        let data = (0..data_units).filter(|data| data % groups == group);
        let erased = data.filter(|data| !has(&|number| number == *data)).count();
        let repaired =
            has(&|number| number >= data_units && (number - data_units) % groups == group);
        erased.saturating_sub(repaired.into())
    };
    (0..groups).map(lacking).sum()
}

/// A code that answers what no code can.
#[derive(Debug, Clone)]
struct Wrong(Verdict);

impl Code for Wrong {
    fn judge(&self, _: &Attempt, _: &[ReceivedUnit]) -> Verdict {
        self.0
    }
}

fn engine<C: Code>(scheme: &str, code: C, link: &Link) -> Engine<C> {
    let (rtt, feedback) = (span(link.rtt), span(link.feedback));
    Engine::with_code(scheme.parse().unwrap(), code, rtt, feedback)
}

/// Rows and end line of a saturated sender, whose slots are pushed in slices of this length.
fn run<C: Code>(scheme: &str, code: C, link: &Link, length: usize) -> (Vec<Lldu>, EndLine) {
    let (rtt, feedback) = (span(link.rtt), span(link.feedback));
    let mut runner = SchemeRunner::with_code(scheme.parse().unwrap(), code, rtt, feedback);
    let slots: Vec<Slot> = link.trace.iter().copied().map(slot).collect();
    let mut rows = Vec::new();
    for slice in slots.chunks(length) {
        runner.push_slots(slice, &mut rows).unwrap();
    }
    let end = runner.finish(&mut rows);
    (rows, end)
}

/// Compares a code with the model.
fn check(
    code: &oracle::Code,
    decoder: &impl Code,
    link: &Link,
    queued: &[(u64, u32)],
    length: usize,
) -> Result<(), TestCaseError> {
    let wait = link.rtt + link.feedback;
    let history = oracle::saturated(code, &link.trace, wait);
    let expected = oracle::rows(code, &link.trace, &history);
    for length in [1, length, link.trace.len()] {
        let (rows, end) = run(&code.text, decoder.clone(), link, length);
        prop_assert_eq!(&rows, &expected, "saturated, slices of {}", length);
        prop_assert_eq!(end, oracle::end_line(&link.trace, &expected));
    }
    let history = oracle::walk(code, &link.trace, wait, supply(code, queued));
    let expected = oracle::rows(code, &link.trace, &history);
    let kinds: Vec<Option<UnitKind>> = carried(link.trace.len(), &history);
    for length in [1, length] {
        let engine = engine(&code.text, decoder.clone(), link);
        let (record, used) = record(engine, link, &mut queue(queued), &[length]);
        prop_assert_eq!(&record.rows, &expected, "queue, slices of {}", length);
        prop_assert_eq!(used, kinds.iter().flatten().count());
        let units: u32 = record.sent.iter().map(|sent| sent.units).sum();
        prop_assert_eq!(units as usize, used, "each unit is reported once");
        let own: u32 = record.settled.iter().map(|settled| settled.own).sum();
        let recovered: u32 = record.settled.iter().map(|settled| settled.recovered).sum();
        prop_assert!(own as usize <= record.received.len());
        prop_assert!(record.received.is_sorted_by(|one, next| one < next));
        let delivered = expected.iter().filter(|row| row.fate == Fate::Delivered);
        prop_assert_eq!(
            record.received.len() + recovered as usize,
            delivered.count()
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn the_ideal_code_gives_the_same_on_the_path_of_any_code(
        code in random::code(), link in random::link(400), queued in arrivals(), length in 1usize..90,
    ) {
        for length in [1, length, 400] {
            prop_assert_eq!(run(&code.text, AnyUnits, &link, length), run(&code.text, Ideal, &link, length));
        }
        let queued = packets(&link, &queued);
        let of = |record: &crate::queue_driven::Record| format!("{:?}", (&record.rows, &record.lost));
        let any = record(engine(&code.text, AnyUnits, &link), &link, &mut queue(&queued), &[length]);
        let ideal = record(engine(&code.text, Ideal, &link), &link, &mut queue(&queued), &[length]);
        prop_assert_eq!(of(&any.0), of(&ideal.0));
        prop_assert_eq!(any.1, ideal.1);
        check(&code, &AnyUnits, &link, &queued, length)?;
        check(&code, &Ideal, &link, &queued, length)?;
    }

    #[test]
    fn a_code_that_needs_more_units_gives_the_rows_of_the_model(
        code in random::code(), link in random::link(300), queued in arrivals(), length in 1usize..90,
    ) {
        let code = oracle::Code { rule: Rule::More(|codeword| overhead(SEED, codeword)), ..code };
        let queued = packets(&link, &queued);
        check(&code, &RandomLinear { seed: SEED }, &link, &queued, length)?;
    }

    #[test]
    fn a_code_that_needs_certain_units_gives_the_rows_of_the_model(
        code in random::code(), link in random::link(300), queued in arrivals(), length in 1usize..90,
    ) {
        let code = oracle::Code { rule: Rule::These(erased_groups), ..code };
        let queued = packets(&link, &queued);
        check(&code, &Parity, &link, &queued, length)?;
    }

    #[test]
    fn an_impossible_answer_is_replaced_by_the_least_possible(
        code in random::code(), link in random::link(300), queued in arrivals(), length in 1usize..90,
    ) {
        // Decoded at once: like the ideal code, which no code surpasses.
        let queued = packets(&link, &queued);
        check(&code, &Wrong(Verdict::Decoded(Time::ZERO)), &link, &queued, length)?;
    }
}

/// The comparison is only meaningful if a code differs from the ideal one.
/// The erasure code of real bytes needs no `Code` of its own.
#[test]
fn real_blocks_decode_exactly_when_the_ideal_code_says_so() {
    const BYTES: usize = 3;
    for (units, data_units) in [(6, 4), (7, 3), (5, 4)] {
        let code = ErasureCode::new(units, data_units, BYTES).unwrap();
        let data: Vec<u8> = (1..).take(data_units * BYTES).collect();
        let sent = code.encode(&data);
        let attempt = Attempt {
            codeword: 0,
            attempt: 1,
            data_units: u32::try_from(data_units).unwrap(),
            units: u32::try_from(units).unwrap(),
        };
        for pattern in 0u32..1 << units {
            let mut bytes = sent.clone();
            let mut received = Vec::new();
            for (number, block) in (0u32..).zip(bytes.chunks_mut(code.block_bytes())) {
                if pattern >> number & 1 == 1 {
                    block[0] ^= 1;
                } else {
                    let arrival = Time::from_nanos(u64::from(number)).unwrap();
                    received.push(ReceivedUnit { number, arrival });
                }
            }
            let says = matches!(Ideal.judge(&attempt, &received), Verdict::Decoded(_));
            let mut decoded = vec![0; data.len()];
            let is_decoded = code.decode(&bytes, &mut decoded).is_ok();
            // Data units that have all arrived need no code, which the engine decides itself.
            let all_data = pattern & ((1 << data_units) - 1) == 0;
            assert_eq!(
                is_decoded,
                says || all_data,
                "{units} {data_units} {pattern:b}"
            );
            assert!(!is_decoded || decoded == data);
        }
    }
}

#[test]
fn the_codes_differ_from_the_ideal_one() {
    let slots = (0..depth(6_000, 20_000u64))
        .map(|t| (t * 100, if t * 7919 % 97 % 8 == 0 { 0 } else { 50 }));
    let link = Link {
        trace: slots.collect(),
        rtt: 3_000,
        feedback: 0,
    };
    for scheme in [
        "fec:10/13",
        "harq:10/13",
        "frame-arq:10/13",
        "harq:10/13,extra=1,interleave=4",
    ] {
        let ideal = run(scheme, Ideal, &link, 999).0;
        assert_eq!(run(scheme, AnyUnits, &link, 999).0, ideal, "{scheme}");
        assert_ne!(
            run(scheme, RandomLinear { seed: SEED }, &link, 999).0,
            ideal,
            "{scheme}"
        );
        assert_ne!(run(scheme, Parity, &link, 999).0, ideal, "{scheme}");
    }
}

/// Without a limit of rounds every codeword is decoded, although the code asks for nothing.
#[test]
fn a_round_sends_at_least_one_unit() {
    let trace = (0..100).map(|t| (t, u64::from(t > 30))).collect();
    let link = Link {
        trace,
        rtt: 2,
        feedback: 0,
    };
    let rows = run("arq", Wrong(Verdict::Missing(0)), &link, 7).0;
    assert!(rows.iter().all(|row| row.fate != Fate::Lost));
}

//! Statistics of chains against closed forms, and what is refused.

use super::*;
use crate::channel::{Channel, ChannelSpec};
use crate::math::num;
use crate::types::{Slot, Time, to_f64};

fn process(text: &str) -> SlotChannel {
    text.parse()
        .unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Which of `count` slots are erased, a millisecond apart and on air for that long.
fn erased(process: &SlotChannel, seed: u64, count: u64) -> Vec<bool> {
    let slot = |at| Slot::new(Time::from_nanos(at * 1_000_000)?, Span::from_millis(1));
    let mut slots: Vec<Slot> = (0..count).filter_map(slot).collect();
    let mut running = process.begin(seed, Use::Forward);
    // In pieces, as callers ask for them.
    for (number, piece) in slots.chunks_mut(4096).enumerate() {
        running.erase(number as u64 * 4096, Span::from_millis(1), piece);
    }
    slots.iter().map(Slot::is_erased).collect()
}

fn share(of: impl Iterator<Item = bool>) -> f64 {
    let (hits, count) = of.fold((0, 0), |(hits, count), hit| {
        (hits + u64::from(hit), count + 1)
    });
    to_f64(hits) / to_f64(count)
}

/// Share of erased units, mean burst and correlation at lags 1 and 5.
fn statistics(erased: &[bool]) -> [f64; 4] {
    let p = share(erased.iter().copied());
    let begins = share(erased.windows(2).map(|pair| !pair[0] && pair[1]));
    let correlation = |lag: usize| {
        let both = share(
            erased
                .iter()
                .zip(&erased[lag..])
                .map(|(one, other)| *one && *other),
        );
        (both - p * p) / (p * (1.0 - p))
    };
    [p, p / begins, correlation(1), correlation(5)]
}

/// The closed forms of Kuhn 2015, eq. (3): share (1 − alpha)/(2 − alpha − beta), mean burst 1/(1 − beta), correlation
/// (alpha + beta − 1)^lag; and the statistics of the two-state process that is drawn in another way.
#[test]
fn two_states_have_the_statistics_of_gilbert_elliott() {
    let (alpha, beta) = (0.99, 0.8);
    let text = format!("markov:{{state,erasure,good,bad;good,0,{alpha},0.01;bad,1,0.2,{beta}}}");
    let units = 1_000_000;
    let found = statistics(&erased(&process(&text), 5, units));
    let memory: f64 = alpha + beta - 1.0;
    let expected = [0.01 / 0.21, 5.0, memory, num::powi(memory, 5)];
    let spec: ChannelSpec = format!("gilbert-elliott:alpha={alpha},beta={beta}")
        .parse()
        .unwrap();
    let mut channel = Channel::new(spec, 5);
    let other: Vec<bool> = (0..units).map(|_| channel.erases()).collect();
    let other = statistics(&other);
    // Some 9 500 bursts, whose lengths vary by their mean: 1 % relative, four of them.
    for (at, (found, expected)) in found.into_iter().zip(expected).enumerate() {
        assert!(
            (found / expected - 1.0).abs() < 0.045,
            "{at}: {found} {expected}"
        );
        assert!(
            (found / other[at] - 1.0).abs() < 0.06,
            "{at}: {found} {}",
            other[at]
        );
    }
    let p = process(&text).erasure_probability(Span::ZERO).unwrap();
    assert!((p - 0.01 / 0.21).abs() < 1e-12, "{p}");
}

/// Three states whose transitions are not reversible: the stationary shares solve pi P = pi, here by repeated squaring.
#[test]
fn shares_are_those_of_the_stationary_distribution() {
    let rows = [[0.9, 0.06, 0.04], [0.1, 0.5, 0.4], [0.0, 0.3, 0.7]];
    let text = "markov:{state,erasure,a,b,c;a,0,0.9,0.06,0.04;b,0.25,0.1,0.5,0.4;c,1,0,0.3,0.7}";
    let mut power = rows;
    for _ in 0..12 {
        let mut next = [[0.0; 3]; 3];
        for (from, row) in next.iter_mut().enumerate() {
            for (to, cell) in row.iter_mut().enumerate() {
                *cell = (0..3).map(|by| power[from][by] * power[by][to]).sum();
            }
        }
        power = next;
    }
    let [_, b, c] = power[0];
    let expected = 0.25 * b + c;
    let given = process(text);
    let stated = given.erasure_probability(Span::ZERO).unwrap();
    assert!((stated - expected).abs() < 1e-12, "{stated} {expected}");
    let found = share(erased(&given, 2, 400_000).into_iter());
    assert!((found - expected).abs() < 0.01, "{found} {expected}");
}

/// A process that has always run looks the same at every unit: at the first, and in the middle of the first sojourns.
#[test]
fn a_stationary_process_begins_as_it_goes_on() {
    for (text, expected) in [
        // Mean lengths 1·0.5 + 9·0.5 = 5 and 3.
        (
            "semi-markov:{state,erasure,sojourn,good,bad;good,0,histogram 1:1 9:1,0,1;bad,1,fixed 3,1,0}",
            3.0 / 8.0,
        ),
        (
            "semi-markov:{state,erasure,sojourn,good,bad;good,0,geometric mean=4,0,1;bad,1,fixed 1,1,0}",
            0.2,
        ),
        // Each returns to itself with probability 1/2, so that a is twice as frequent as with 1.
        (
            "semi-markov:{state,erasure,sojourn,a,b;a,1,fixed 2,0.5,0.5;b,0,fixed 4,1,0}",
            0.5,
        ),
    ] {
        let given = process(text);
        let stated = given.erasure_probability(Span::ZERO).unwrap();
        assert!((stated - expected).abs() < 1e-12, "{text}: {stated}");
        let runs: Vec<Vec<bool>> = (0..6000).map(|seed| erased(&given, seed, 8)).collect();
        for unit in [0, 1, 2, 7] {
            let found = share(runs.iter().map(|run| run[unit]));
            // Standard error 0.0065.
            assert!(
                (found - expected).abs() < 0.026,
                "{text} {unit}: {found} {expected}"
            );
        }
    }
}

/// The same in time: slots of 1 ms see a state at their start with its share of time, and touch a bad one more often.
#[test]
fn a_stationary_process_in_time_begins_as_it_goes_on() {
    let text = "semi-markov:{state,erasure,sojourn,good,bad;good,0,lognormal median=20ms sigma=0.7 min=5ms,0,1;\
                bad,1,fixed 9ms,1,0}";
    let given = process(text);
    let SlotChannel::Timed(ref timed) = given else {
        panic!("a process in time");
    };
    let bad = timed.erasure_probability(Span::ZERO).unwrap();
    let Ok(good) = "lognormal median=20ms sigma=0.7 min=5ms".parse::<Length>() else {
        panic!("a length");
    };
    assert!(
        (bad - 9.0 / (9.0 + good.mean() / 1e6)).abs() < 1e-12,
        "{bad}"
    );
    assert!(timed.erasure_probability(Span::from_millis(1)).is_none());
    // A slot of 1 ms touches a bad time that begins up to 1 ms after its start: 10 ms of each cycle.
    let expected = bad / 9.0 * 10.0;
    let runs: Vec<Vec<bool>> = (0..6000).map(|seed| erased(&given, seed, 40)).collect();
    for unit in [0, 3, 17, 39] {
        let found = share(runs.iter().map(|run| run[unit]));
        assert!(
            (found - expected).abs() < 0.026,
            "{unit}: {found} {expected}"
        );
    }
}

/// Mean and smallest length by summing the quantile function, which does not use the formula of the mean.
#[test]
fn lengths_have_their_means() {
    for (text, least) in [
        ("geometric mean=7.5", 1),
        ("exponential mean=3ms", 0),
        ("fixed 40ms", 40_000_000),
        ("lognormal median=80ms sigma=0.8 min=60ms", 60_000_000),
        ("lognormal median=80ms sigma=0.3 min=1us", 1000),
        ("histogram 1:3 4:0 10:1", 1),
        ("histogram 2ms:1 5ms:2", 2_000_000),
        // A length without weight does not occur.
        ("histogram 2ms:0 5ms:2", 5_000_000),
    ] {
        let length: Length = text.parse().unwrap();
        let steps = 200_000;
        let lengths = (0..steps).map(|at| length.at((f64::from(at) + 0.5) / f64::from(steps)));
        let mean = lengths.map(to_f64).sum::<f64>() / f64::from(steps);
        assert!(
            (mean / length.mean() - 1.0).abs() < 1e-3,
            "{text}: {mean} {}",
            length.mean()
        );
        assert!(length.at(0.0) >= least, "{text}");
    }
}

#[test]
fn lengths_that_are_fixed_erase_exactly_what_they_say() {
    // Bad from 10 to 13 ms, 23 to 26 ms …: slots of 1 ms at whole milliseconds.
    let given = process(
        "semi-markov:{state,erasure,sojourn,good,bad;good,0,fixed 10ms,0,1;bad,1,fixed 3ms,1,0},start=good",
    );
    let expected: Vec<bool> = (0..200).map(|at| at % 13 >= 10).collect();
    assert_eq!(erased(&given, 1, 200), expected);
    let units = process(
        "semi-markov:{state,erasure,sojourn,good,bad;good,0,fixed 10,0,1;bad,1,fixed 3,1,0},start=good",
    );
    assert_eq!(erased(&units, 1, 200), expected);
    for (process, timed) in [(given, true), (units, false)] {
        let SlotChannel::Timed(process) = process else {
            panic!("a process with states");
        };
        assert_eq!(process.is_timed(), timed);
    }
}

/// Texts that are refused, and part of the refusal.
const REFUSED: &[(&str, &str)] = &[
    (
        "markov:{state,erasure,a;a,0,0.9}",
        "row 2: found probabilities of the next state that add up to 0.9, expected 1",
    ),
    (
        "markov:{state,erasure,a,b;a,0,0.5,0.5;b,2,1,0}",
        "row 3: column 2: found '2', expected an erasure probability",
    ),
    (
        "markov:{state,erasure,a,b;a,0,0.5,nan;b,1,1,0}",
        "row 2: column 4: found 'nan', expected a probability",
    ),
    (
        "markov:{state,erasure,a,b;b,0,1,0;a,0,0,1}",
        "rows and columns have the same order",
    ),
    (
        "markov:{state,erasure,a,a;a,0,1,0;a,0,0,1}",
        "a name of its own",
    ),
    (
        "markov:{state,erasure,a,b;a,0,1,0}",
        "a column for each row",
    ),
    (
        "markov:{state,erasure,a;a,0}",
        "found 2 columns, expected 3",
    ),
    ("markov:{}", "a row below it"),
    (
        "markov:{name,erasure,a;a,0,1}",
        "expected the header state,erasure,NAME…",
    ),
    (
        "markov:weather.csv",
        "found 'weather.csv', expected the content of a file in braces",
    ),
    (
        "markov:{state,erasure,a;a,0,1},start=b",
        "'start=b': expected stationary, a",
    ),
    // As for alpha=1,beta=1 of gilbert-elliott.
    (
        "markov:{state,erasure,a,b;a,0,1,0;b,1,0,1}",
        "not unique: add start=STATE",
    ),
    (
        "markov:{state,erasure,a,b;a,0,0.5,0.5;b,1,0,1}",
        "state 'a' is left for good",
    ),
    (
        "markov:{state,erasure,a,b;a,0,1,0;b,1,0,1},start=a",
        "state 'b' cannot be reached",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a,b,c;a,0,fixed 1,0,1,0;b,1,fixed 1,1e-310,0,1;c,0.5,fixed 1,0,1,0}",
        "expected probabilities of the next state above 1e-100",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,fixed 0,1}",
        "row 2: column 3: found a length of 0 units",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,exponential mean=0s,1}",
        "expected at least 1us",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,histogram 0:1 5:1,1}",
        "found a length of 0 units",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,histogram 3:0,1}",
        "found no weight above 0",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,geometric mean=0,1}",
        "at least 1 unit",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,histogram 3:1 5ms:1,1}",
        "one of them",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,expnential mean=1s,1}",
        "did you mean 'exponential'?",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a;a,0,lognormal median=1ms sigma=0.1 min=1h,1}",
        "out of range",
    ),
    (
        "semi-markov:{state,erasure,sojourn,a,b;a,0,fixed 3,0,1;b,1,fixed 3ms,1,0}",
        "all in units or all in time",
    ),
];

#[test]
fn tables_that_say_nothing_or_the_wrong_thing_are_refused() {
    for (text, expected) in REFUSED {
        let refused = text.parse::<SlotChannel>().unwrap_err().to_string();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
    let many: Vec<String> = (0..300).map(|at| format!("s{at}")).collect();
    let rows: Vec<String> = many.iter().map(|name| format!("{name},0")).collect();
    let text = format!(
        "markov:{{state,erasure,{};{}}}",
        many.join(","),
        rows.join(";")
    );
    let refused = text.parse::<SlotChannel>().unwrap_err().to_string();
    assert!(
        refused.contains("found 300 states, expected at most 256"),
        "{refused}"
    );
}

#[test]
fn a_file_says_its_faults_by_line() {
    let mut read = |_: &str| {
        Ok(
            "# weather\nstate,erasure,dry,wet\ndry, 0, 0.9, 0.1 # mostly\n\nwet, 1, 0.4, 0.5\n"
                .to_owned(),
        )
    };
    let error = crate::channel::with_files("markov:a.csv", crate::channel::FAMILIES, &mut read)
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "a.csv:5: found probabilities of the next state that add up to 0.9, expected 1"
    );
    let mut read = |_: &str| Err("no such file".to_owned());
    let error = crate::channel::with_files("markov:a.csv", crate::channel::FAMILIES, &mut read)
        .unwrap_err();
    assert_eq!(error.to_string(), "no such file");
}

/// A state that is never left has no end; the exponent of ln 1 = 0 is not divided by.
#[test]
fn an_absorbing_state_is_never_left() {
    let given = process("markov:{state,erasure,a,b;a,0,0,1;b,1,0,1},start=a");
    let found = erased(&given, 1, 5000);
    assert!(!found[0] && found[1..].iter().all(|erased| *erased));
    assert_eq!(given.erasure_probability(Span::ZERO), Some(1.0));
    assert!(num::ln(1.0).abs() < f64::EPSILON);
}

/// Rows that add up to 1 within the tolerance, though the probability of staying alone is 1 already.
#[test]
fn a_state_that_is_left_rarely_is_left() {
    let given = process("markov:{state,erasure,a,b;a,0,1,1e-10;b,1,2e-10,1}");
    let p = given.erasure_probability(Span::ZERO).unwrap();
    assert!((p - 1.0 / 3.0).abs() < 1e-9, "{p}");
    let p = process("markov:{state,erasure,a,b;a,0,1,1e-20;b,1,1e-20,1}");
    let p = p.erasure_probability(Span::ZERO).unwrap();
    assert!((p - 0.5).abs() < 1e-12, "{p}");
    let begins_bad = |seed| erased(&given, seed, 1)[0];
    let share = share((0..600).map(begins_bad));
    assert!((share - 1.0 / 3.0).abs() < 0.08, "{share}");
}

#[test]
fn runs_share_the_table_of_their_process() {
    let table = "state,erasure,sojourn,a,b;a,0,fixed 3ms,0,1;b,1,exponential mean=1ms,1,0";
    let states = Rows::of(table).and_then(|rows| rows.states(true)).unwrap();
    let chain = Arc::new(Chain::new(states, STATIONARY).unwrap());
    let runs = [1, 2, 3].map(|seed| chain.begin(seed, Use::Forward));
    assert_eq!(Arc::strong_count(&chain), 1 + runs.len());
}

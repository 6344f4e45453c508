//! A reference model of docs/schemes.md, simple and slow: complete arrays, linear searches, nothing cached.
//!
//! It was written from the specification alone. It shares the row types with the crate, but no logic: it must not call the
//! engine, the runner or the tally.

pub(crate) mod random;

use std::collections::BTreeMap;

use tmt_core::stats::LinkSummary;
use tmt_core::stats::distribution::{Precision, Quantiles};
use tmt_core::types::{EndLine, Fate, Lldu, Span, Time};

/// A scheme by its numbers, and the equivalent text (docs/schemes.md, Sec. 2).
#[derive(Debug, Clone)]
pub(crate) struct Code {
    pub(crate) text: String,
    pub(crate) nd: u32,
    pub(crate) n: u32,
    pub(crate) extra: u32,
    /// Limit of rounds R; `None` is unlimited.
    pub(crate) rounds: Option<u32>,
    pub(crate) interleave: u32,
    /// `frame-arq`: units of earlier attempts are discarded.
    pub(crate) frame: bool,
    pub(crate) in_order: bool,
    pub(crate) rule: Rule,
}

/// The rule by which units decode a codeword.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Rule {
    /// Any ND units.
    Any,
    /// Any ND units and as many more as this function returns for the number of the codeword.
    More(fn(u64) -> u32),
    /// These units, by their numbers. The function gets ND, N and the numbers, and returns how many units are missing; 0 if
    /// they decode the codeword.
    These(fn(usize, usize, &[usize]) -> usize),
}

impl Rule {
    /// Units that a codeword of `nd` data units and `n` units lacks; 0 if these units decode it.
    fn missing(self, codeword: usize, (nd, n): (usize, usize), units: &[usize]) -> usize {
        if (0..nd).all(|data| units.contains(&data)) {
            return 0;
        }
        let ideal = nd.saturating_sub(units.len());
        match self {
            Self::Any => ideal,
            Self::More(more) => (nd + more(codeword as u64) as usize).saturating_sub(units.len()),
            Self::These(missing) => ideal.max(missing(nd, n, units)),
        }
    }
}

/// A slot: t_j and d_j in ns; d_j is zero if erased.
pub(crate) type TimeAndDelay = (u64, u64);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Data,
    Repair,
    Repeat,
}

/// The unit that a slot carried.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) slot: usize,
    pub(crate) codeword: usize,
    /// Attempt of the codeword, from 1.
    pub(crate) attempt: u32,
    pub(crate) kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Open,
    Decoded { attempt: u32, complete: u64 },
    Failed { given_up: u64 },
}

#[derive(Debug, Clone)]
struct Codeword {
    /// Number of data units: ND, or fewer if the source had no more.
    nd: usize,
    /// Units of each attempt so far.
    attempts: Vec<usize>,
    verdict: Verdict,
}

impl Codeword {
    fn attempt(&self) -> u32 {
        u32::try_from(self.attempts.len()).unwrap()
    }
}

#[derive(Debug, Clone, Copy)]
struct Repeat {
    codeword: usize,
    ready: u64,
}

/// All units sent, and the result of each codeword.
#[derive(Debug)]
pub(crate) struct History {
    pub(crate) sent: Vec<Sent>,
    codewords: Vec<Codeword>,
}

/// docs/schemes.md, Sec. 3, with a saturated sender.
pub(crate) fn saturated(code: &Code, trace: &[TimeAndDelay], wait: u64) -> History {
    walk(code, trace, wait, |_| {
        vec![code.nd; code.interleave as usize]
    })
}

/// docs/schemes.md, Sec. 3, with `wait` = RTT + fb. `open` returns the numbers of data units of the codewords of a
/// super-block that is opened at a time.
pub(crate) fn walk(
    code: &Code,
    trace: &[TimeAndDelay],
    wait: u64,
    mut open: impl FnMut(u64) -> Vec<u32>,
) -> History {
    let mut history = History {
        sent: Vec::new(),
        codewords: Vec::new(),
    };
    let mut repeats: Vec<Repeat> = Vec::new();
    // Remaining units of the current super-block, in the order of sending.
    let mut block: Vec<(usize, Kind)> = Vec::new();
    for (slot, &(t, _)) in trace.iter().enumerate() {
        let (codeword, kind) = if repeats.first().is_some_and(|head| head.ready <= t) {
            (repeats.remove(0).codeword, Kind::Repeat)
        } else {
            if block.is_empty() {
                block = open_block(code, &open(t), &mut history.codewords);
            }
            if block.is_empty() {
                continue;
            }
            block.remove(0)
        };
        let attempt = history.codewords[codeword].attempt();
        history.sent.push(Sent {
            slot,
            codeword,
            attempt,
            kind,
        });
        judge(
            code,
            trace,
            slot,
            codeword,
            wait,
            &mut history,
            &mut repeats,
        );
    }
    history
}

/// Adds the codewords of a super-block and lists its units row by row.
fn open_block(
    code: &Code,
    data_units: &[u32],
    codewords: &mut Vec<Codeword>,
) -> Vec<(usize, Kind)> {
    let first = codewords.len();
    let repair = (code.n - code.nd) as usize;
    for &nd in data_units {
        let nd = nd as usize;
        codewords.push(Codeword {
            nd,
            attempts: vec![nd + repair],
            verdict: Verdict::Open,
        });
    }
    let mut units = Vec::new();
    for row in 0..code.n as usize {
        for (codeword, it) in codewords.iter().enumerate().skip(first) {
            if row < it.nd {
                units.push((codeword, Kind::Data));
            } else if row < it.nd + repair {
                units.push((codeword, Kind::Repair));
            }
        }
    }
    units
}

/// docs/schemes.md, Sec. 4.
fn judge(
    code: &Code,
    trace: &[TimeAndDelay],
    slot: usize,
    codeword: usize,
    wait: u64,
    history: &mut History,
    repeats: &mut Vec<Repeat>,
) {
    let attempt = history.codewords[codeword].attempt();
    let of_attempt = history
        .sent
        .iter()
        .filter(|unit| unit.codeword == codeword && unit.attempt == attempt);
    if of_attempt.count() < *history.codewords[codeword].attempts.last().unwrap() {
        return;
    }
    let received = received(code, trace, &history.sent, codeword, attempt);
    let it = &mut history.codewords[codeword];
    let used = attempt - 1;
    let missing = |until: u64| {
        let here = received.iter().filter(|(_, arrival)| *arrival <= until);
        let units: Vec<usize> = here.map(|(unit, _)| *unit).collect();
        code.rule.missing(codeword, (it.nd, it.attempts[0]), &units)
    };
    // The first arrival with which it is decoded.
    let mut arrivals: Vec<u64> = received.iter().map(|(_, arrival)| *arrival).collect();
    arrivals.sort_unstable();
    let complete = arrivals.into_iter().find(|arrival| missing(*arrival) == 0);
    if let Some(complete) = complete {
        it.verdict = Verdict::Decoded { attempt, complete };
    } else if code.rounds.is_none_or(|rounds| used < rounds) {
        let again = if code.frame {
            it.attempts[0]
        } else {
            missing(u64::MAX) + code.extra as usize
        };
        it.attempts.push(again);
        for _ in 0..again {
            repeats.push(Repeat {
                codeword,
                ready: trace[slot].0 + wait,
            });
        }
    } else {
        it.verdict = Verdict::Failed {
            given_up: trace[slot].0,
        };
    }
}

/// Number and arrival of the received units of `codeword` that count at the end of `attempt`.
fn received(
    code: &Code,
    trace: &[TimeAndDelay],
    sent: &[Sent],
    codeword: usize,
    attempt: u32,
) -> Vec<(usize, u64)> {
    let counts = |unit: &&Sent| {
        let here = if code.frame {
            unit.attempt == attempt
        } else {
            unit.attempt <= attempt
        };
        unit.codeword == codeword && here
    };
    let units = sent.iter().filter(counts).enumerate();
    let arrivals = units.map(|(number, unit)| (number, trace[unit.slot]));
    let received = arrivals.filter(|(_, (_, d))| *d > 0);
    received.map(|(number, (t, d))| (number, t + d)).collect()
}

/// docs/schemes.md, Sec. 5 to 7: one row per data LLDU, in number order.
pub(crate) fn rows(code: &Code, trace: &[TimeAndDelay], history: &History) -> Vec<Lldu> {
    let end = trace.last().unwrap().0;
    let mut rows = Vec::new();
    let mut in_order = 0;
    for unit in history.sent.iter().filter(|unit| unit.kind == Kind::Data) {
        let (t, d) = trace[unit.slot];
        let it = &history.codewords[unit.codeword];
        let (delay, attempts, fate) = match it.verdict {
            _ if d > 0 && !code.frame => (d, 1, Fate::Delivered),
            Verdict::Decoded { attempt, complete } => (complete - t, attempt, Fate::Delivered),
            Verdict::Failed { .. } => (0, code.rounds.unwrap() + 1, Fate::Lost),
            Verdict::Open => (0, it.attempt(), Fate::Censored),
        };
        let known = match (fate, it.verdict) {
            (Fate::Delivered, _) => t + delay,
            (Fate::Lost, Verdict::Failed { given_up }) => given_up,
            _ => end,
        };
        in_order = if rows.is_empty() {
            known
        } else {
            known.max(in_order)
        };
        let delay = if code.in_order && fate == Fate::Delivered {
            in_order - t
        } else {
            delay
        };
        rows.push(Lldu {
            tx_time: Time::from_nanos(t).unwrap(),
            decode_delay: Span::from_nanos(delay).unwrap(),
            attempts,
            fate,
        });
    }
    rows
}

/// The end line (docs/trace-format.md, Sec. 5) of a timeline from all slots.
pub(crate) fn end_line(trace: &[TimeAndDelay], rows: &[Lldu]) -> EndLine {
    let censored = rows.iter().find(|row| row.fate == Fate::Censored);
    EndLine {
        rows: rows.len() as u64,
        slots: trace.len() as u64,
        usable_until: censored.map_or(Time::from_nanos(trace.last().unwrap().0).unwrap(), |row| {
            row.tx_time
        }),
    }
}

/// The rows as text, written with the formatter of the standard library.
pub(crate) fn text(rows: &[Lldu]) -> String {
    let seconds = |nanos: u64| format!("{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    let mut out = String::from("tx_time,decode_delay,attempts\n");
    for row in rows {
        let delay = match row.decode_delay.as_nanos() {
            0 => "0".to_owned(),
            nanos => seconds(nanos),
        };
        out += &format!(
            "{},{delay},{}\n",
            seconds(row.tx_time.as_nanos()),
            row.attempts
        );
    }
    out
}

/// The summary of docs/schemes.md, Sec. 8.
pub(crate) fn summary(
    code: &Code,
    trace: &[TimeAndDelay],
    history: &History,
    rows: &[Lldu],
    rtt: u64,
    feedback: u64,
) -> LinkSummary {
    let units = |kind| history.sent.iter().filter(|unit| unit.kind == kind).count() as u64;
    let fates = |fate| rows.iter().filter(|row| row.fate == fate).count() as u64;
    let erased: Vec<bool> = trace.iter().map(|&(_, d)| d == 0).collect();
    let missing: Vec<bool> = rows.iter().map(|row| row.fate != Fate::Delivered).collect();
    let slots = trace.len() as u64;
    let slots_erased = erased.iter().filter(|erased| **erased).count() as u64;
    let (delivered, lost) = (fates(Fate::Delivered), fates(Fate::Lost));
    let mut attempts = BTreeMap::new();
    let mut delays = Vec::new();
    for row in rows.iter().filter(|row| row.fate == Fate::Delivered) {
        *attempts.entry(row.attempts).or_insert(0) += 1;
        delays.push(row.decode_delay.as_nanos() + rtt / 2);
    }
    let (reordered, furthest, longest) = reordering(rows);
    LinkSummary {
        reordered_share: ratio(reordered, delivered),
        reordering_max_lldus: furthest,
        reordering_max_s: seconds(longest),
        scheme: code.text.clone(),
        rtt_ns: rtt,
        feedback_delay_ns: feedback,
        slots,
        units_data: units(Kind::Data),
        units_repair: units(Kind::Repair),
        units_repeated: units(Kind::Repeat),
        slots_erased,
        erasure_ratio: ratio(slots_erased, slots),
        delivered,
        lost,
        censored: fates(Fate::Censored),
        efficiency: ratio(delivered, slots),
        residual_loss: ratio(lost, delivered + lost),
        delay_s: quantiles(delays),
        delay_percentiles: Precision::Exact,
        attempts,
        bursts_before: runs(&erased, true),
        gaps_before: runs(&erased, false),
        bursts_after: runs(&missing, true),
        gaps_after: runs(&missing, false),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a ratio is reported as a double"
)]
fn ratio(part: u64, whole: u64) -> Option<f64> {
    if whole == 0 {
        None
    } else {
        Some(part as f64 / whole as f64)
    }
}

/// LLDUs that a later one was delivered before, and the largest distance of such a pair in numbers and in time, ns.
fn reordering(rows: &[Lldu]) -> (u64, u64, u64) {
    let delivered: Vec<(u64, u64)> = (0..)
        .zip(rows)
        .filter(|(_, row)| row.fate == Fate::Delivered)
        .map(|(number, row)| {
            let arrival = row.tx_time.as_nanos() + row.decode_delay.as_nanos();
            (number, arrival)
        })
        .collect();
    let (mut reordered, mut furthest, mut longest) = (0, 0, 0);
    for (at, (number, arrival)) in delivered.iter().enumerate() {
        let earlier = delivered[at + 1..]
            .iter()
            .filter(|(_, later)| later < arrival);
        reordered += u64::from(earlier.clone().next().is_some());
        for (overtaking, before) in earlier {
            furthest = furthest.max(overtaking - number);
            longest = longest.max(arrival - before);
        }
    }
    (reordered, furthest, longest)
}

/// Lengths of the maximal runs of `wanted`, by a search for the end of each.
fn runs(flags: &[bool], wanted: bool) -> BTreeMap<u64, u64> {
    let mut lengths = BTreeMap::new();
    for start in 0..flags.len() {
        let starts = flags[start] == wanted && (start == 0 || flags[start - 1] != wanted);
        if starts {
            let length = flags[start..]
                .iter()
                .take_while(|flag| **flag == wanted)
                .count() as u64;
            *lengths.entry(length).or_insert(0) += 1;
        }
    }
    lengths
}

#[expect(
    clippy::cast_precision_loss,
    reason = "seconds are reported as a double"
)]
fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn quantiles(mut nanos: Vec<u64>) -> Quantiles {
    nanos.sort_unstable();
    let count = nanos.len();
    // Nearest rank: the smallest value with at least p % of all values at or below it.
    let percentile = |p: usize| {
        let value = nanos
            .iter()
            .enumerate()
            .find(|(at, _)| (at + 1) * 100 >= p * count);
        value.map(|(_, nanos)| seconds(*nanos))
    };
    let sum: u128 = nanos.iter().map(|nanos| u128::from(*nanos)).sum();
    let twice = 2 * count as u128;
    let mean =
        (count > 0).then(|| seconds(u64::try_from((2 * sum + count as u128) / twice).unwrap()));
    Quantiles {
        min: nanos.first().map(|nanos| seconds(*nanos)),
        mean,
        p50: percentile(50),
        p85: percentile(85),
        p95: percentile(95),
        p99: percentile(99),
        max: nanos.last().map(|nanos| seconds(*nanos)),
    }
}

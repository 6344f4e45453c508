//! Reports of iperf3 over UDP (docs/trace-format.md, Sec. 12.11).
//!
//! iperf3 counts the datagrams of an interval and those of them that were lost. It does not say which were lost, or when any
//! was sent. `spread` states where losses are put; without it a report is refused. Only the receiver knows losses: the server
//! of an upload, the client of a download (`-R`).

mod json;
mod text;

use std::io::BufRead;

use super::finding::counted;
use super::probe::{self, Fate, LLDU, Record, Records, Shape};
use super::{
    DECODE_DELAY, Files, Finding, Given, ImportError, Importer, Kind, Lines, Parameter, RTT,
    Remark, Rule, TRACE, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::import::catalogue::{LOSSES_OUT_OF_RANGE, SILENT_INTERVALS};
use crate::math::rng::{Stream, Uniform};
use crate::types::{Error, ErrorKind, Result, TraceKind};

const SPREAD: &str = "spread";
const SEED: &str = "seed";

/// Most datagrams of a report: each is a row, and a number in the report may be wrong.
const MOST: u64 = 100_000_000;

const KEYS: [Parameter; 6] = [
    TRACE,
    Parameter::optional(
        SPREAD,
        Kind::Words(&["even", "random", "together"]),
        "where the lost datagrams of an interval are put: at equal distances, at random, or in one burst at its start",
    )
    .when(Rule::Required(
        "iperf3 counts the losses of an interval and does not say which datagrams were lost; bursts and gaps of the trace \
         follow from what you state",
    )),
    Parameter::optional(
        SEED,
        Kind::Count(1, u64::MAX),
        "seed of `spread` random [default: 1]",
    ),
    DECODE_DELAY,
    RTT,
    LLDU,
];

/// Importer of reports of iperf3.
pub static FORMAT: Importer = Importer {
    name: "iperf3",
    about: "report of `iperf3 -u` of the receiver, text or JSON (-J); counts per interval only, so that --spread is needed",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.loss(),
    keys: &KEYS,
    recognises: |first| {
        let has = |words: &[u8]| memchr::memmem::find(first, words).is_some();
        if super::json::begins(first, b'{') {
            return has(b"\"intervals\"") || has(b"iperf 3");
        }
        whole_lines(first).any(|line| text::is_heading(line) || text::interval(line).is_some())
    },
    open: |given, files, note| {
        let mut settings = given.clone();
        if settings.text(SPREAD) == Some("random") {
            let words = "the losses of an interval are put at random with seed 1";
            settings.assume(SEED, "1", words, note);
        } else if given.has(SEED) {
            let refusal = format!("`{SEED}` applies to `{SPREAD}` random only");
            return Err(ImportError::Refused(refusal));
        }
        note(Remark::not_carried(format!(
            "which datagrams were lost, and when they were sent, is not in the report: losses are spread over each interval (`{SPREAD}`), send times are evenly spaced in it"
        )));
        let shape = Shape::new(&FORMAT, None, Datagrams::open);
        probe::open(&shape, given, settings, files, note)
    },
};

/// Counts of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interval {
    /// Begin and end, ns since the start of the test.
    begin: i64,
    end: i64,
    datagrams: u64,
    /// Lost datagrams; negative if more arrived late than were lost.
    lost: i64,
}

/// A source of intervals.
trait Intervals: Send {
    fn next_interval(&mut self) -> Result<Option<Interval>>;
    fn error(&self, kind: ErrorKind) -> Error;
    fn findings(&self) -> Vec<Finding>;
}

/// How losses are spread.
#[derive(Debug)]
enum Spread {
    Even,
    Random(Box<Uniform>),
    Together,
}

/// Makes datagrams out of intervals.
struct Datagrams {
    intervals: Box<dyn Intervals>,
    spread: Spread,
    interval: Option<Interval>,
    /// Datagrams of the interval so far, and lost ones of them.
    made: u64,
    lost: u64,
    /// Datagrams of all intervals.
    all: u64,
    /// End of the interval before, ns.
    until: i64,
    /// Intervals without datagrams, and those with fewer than no losses, or more than datagrams.
    silent: u64,
    odd: u64,
}

impl Datagrams {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let mut input = files.open(TRACE.name).map_err(Error::from)?;
        let first = input.fill_buf().map_err(Error::from)?;
        let intervals: Box<dyn Intervals> = if super::json::begins(first, b'{') {
            Box::new(json::Report::new(input))
        } else {
            Box::new(text::Report::new(Lines::new(input)))
        };
        Ok(Self {
            intervals,
            spread: match settings.text(SPREAD) {
                Some("random") => {
                    let seed = settings.get(SEED).unwrap_or(1);
                    Spread::Random(Box::new(Uniform::new(seed, Stream::SpreadLosses)))
                }
                Some("together") => Spread::Together,
                _ => Spread::Even,
            },
            interval: None,
            made: 0,
            lost: 0,
            all: 0,
            until: 0,
            silent: 0,
            odd: 0,
        })
    }

    /// Begins the next interval; false at the end.
    fn begin(&mut self) -> Result<bool> {
        let Some(mut interval) = self.intervals.next_interval()? else {
            if self.all == 0 {
                let found = "no interval with datagrams";
                let expected = "intervals of a test over UDP (-u), as its receiver reports them";
                return Err(self.intervals.error(ErrorKind::format(found, expected)));
            }
            return Ok(false);
        };
        let Interval {
            begin,
            end,
            datagrams,
            lost,
        } = interval;
        let fault = if end <= begin || begin < self.until {
            Some((
                "an interval that ends before it begins, or begins before the one before ends",
                "intervals one after another, of one stream",
            ))
        } else if self.all.saturating_add(datagrams) > MOST {
            Some(("more than 100000000 datagrams", "a report of fewer"))
        } else {
            None
        };
        if let Some((found, expected)) = fault {
            return Err(self.intervals.error(ErrorKind::format(found, expected)));
        }
        let most = i64::try_from(datagrams).unwrap_or(i64::MAX);
        interval.lost = lost.clamp(0, most);
        self.odd += u64::from(interval.lost != lost);
        self.silent += u64::from(datagrams == 0);
        self.until = end;
        (self.made, self.lost) = (0, 0);
        self.interval = Some(interval);
        Ok(true)
    }

    /// Whether the next datagram of the interval is lost.
    fn is_lost(&mut self, of: u64, lost: u64) -> bool {
        match &mut self.spread {
            // In the middle of each of `lost` equal parts.
            Spread::Even => {
                let share = |made: u64| {
                    (2 * u128::from(made) * u128::from(lost) + u128::from(of))
                        / (2 * u128::from(of))
                };
                share(self.made + 1) > share(self.made)
            }
            // Knuth, The Art of Computer Programming, Vol. 2, Sec. 3.4.2, Algorithm S: every choice is equally likely.
            Spread::Random(numbers) => {
                let (left, rest) = (lost - self.lost, of - self.made);
                #[expect(clippy::cast_precision_loss, reason = "counts below 2^53")]
                let is_chosen = numbers.at(self.all) * (rest as f64) < left as f64;
                is_chosen
            }
            Spread::Together => self.made < lost,
        }
    }
}

impl Records for Datagrams {
    fn next_record(&mut self) -> Result<Option<Record>> {
        let Interval {
            begin,
            end,
            datagrams,
            lost,
        } = loop {
            if let Some(interval) = self.interval
                && self.made < interval.datagrams
            {
                break interval;
            }
            if !self.begin()? {
                return Ok(None);
            }
        };
        let is_lost = self.is_lost(datagrams, lost.unsigned_abs());
        let since = i128::from(end - begin) * i128::from(self.made) / i128::from(datagrams);
        self.made += 1;
        self.all += 1;
        self.lost += u64::from(is_lost);
        Ok(Some(Record {
            number: None,
            sent: Some(begin + i64::try_from(since).unwrap_or(0)),
            fate: if is_lost {
                Fate::Lost
            } else {
                Fate::Received(None)
            },
        }))
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.intervals.error(kind)
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.intervals.findings();
        if self.silent > 0 {
            let text = format!(
                "{}: {} without datagrams: an outage, whose losses the interval after it counts",
                TRACE.name,
                counted(self.silent, "interval")
            );
            findings.push(Finding::of(
                &SILENT_INTERVALS,
                self.silent,
                "intervals",
                text,
            ));
        }
        if self.odd > 0 {
            let text = format!(
                "{}: {} with fewer than 0 losses, or more than datagrams, which out-of-order datagrams cause; taken as 0, or all",
                TRACE.name,
                counted(self.odd, "interval")
            );
            let finding = Finding::of(&LOSSES_OUT_OF_RANGE, self.odd, "intervals", text);
            findings.push(finding.not_carried());
        }
        findings
    }
}

#[cfg(test)]
mod tests;

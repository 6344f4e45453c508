//! Adaptive coding and modulation: how a link chooses among its MODCODs (docs/acm.md, Sec. 2).

use std::fmt;

use crate::types::Span;
use crate::types::named::{pairs, parts, split, unknown_of};

use super::RadioError;
use super::modcods::Modcods;

/// How a link chooses its MODCOD. Its text is `TABLE[,key=value…]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Acm {
    /// The MODCODs.
    pub modcods: Modcods,
    /// Es/N0 that is kept in reserve, dB.
    pub margin_db: f64,
    /// Age of the Es/N0 on which a decision rests.
    pub delay: Span,
    /// Time over which Es/N0 is averaged as a ratio, up to that age; zero for its last sample.
    pub average: Span,
    /// Time between decisions.
    pub period: Span,
    /// Es/N0 beyond the threshold that a more efficient MODCOD needs, dB.
    pub hysteresis_db: f64,
    /// Symbols per second of the whole link; `None` if they follow from its rate and its code.
    pub symbols_per_s: Option<f64>,
}

/// Margin without `margin`, dB.
const MARGIN_DB: f64 = 1.0;

/// Time between decisions without `period`.
const PERIOD: Span = Span::from_millis(10);

/// Longest time over which Es/N0 is averaged.
const LONGEST_AVERAGE: Span = Span::from_secs(60);

/// Shortest time between decisions.
const SHORTEST_PERIOD: Span = Span::from_micros(100);

impl Acm {
    /// Form of its text.
    pub const FORM: &str = "TABLE[,margin=1dB][,delay=RTT][,average=0s][,period=10ms][,hysteresis=0dB][,symbol-rate=SYMBOLS]";

    /// The file that a text names; `None` if its table is one of [`Modcods::named`], or in the text.
    #[must_use]
    pub fn file(text: &str) -> Option<&str> {
        let table = split(text).next().unwrap_or_default();
        let known = Modcods::named(table).is_ok() || Modcods::of_text(table).is_some();
        (!known).then_some(table)
    }

    /// Reads a text. `rtt` is the RTT of the link, the delay unless another one is given. `file` gives the MODCODs of the
    /// file that a TABLE names if it is no table of [`Modcods::named`], or why it cannot.
    ///
    /// # Errors
    /// The table or a key is unknown, or a value is outside its range.
    pub fn read(
        text: &str,
        rtt: Span,
        file: impl FnOnce(&str) -> Result<Modcods, String>,
    ) -> Result<Self, RadioError> {
        let mut parts = parts(text);
        let table = parts.next().map_or("", |table| table.text);
        let modcods = match Modcods::named(table) {
            Ok(modcods) => modcods,
            Err(unknown) => match Modcods::of_text(table) {
                Some(modcods) => modcods?,
                None => file(table).map_err(|why| RadioError(format!("{unknown} ({why})")))?,
            },
        };
        let mut acm = Self {
            modcods,
            margin_db: MARGIN_DB,
            delay: rtt,
            average: Span::ZERO,
            period: PERIOD,
            hysteresis_db: 0.0,
            symbols_per_s: None,
        };
        for (key, value) in pairs(parts, "margin=1dB")? {
            acm.set(key, value)?;
        }
        Ok(acm)
    }

    /// Whether every decision of a trace of `duration` rests on Es/N0 at time 0, so that the first one stands.
    #[must_use]
    pub fn decides_once(&self, duration: Span) -> bool {
        let period = self.period.as_nanos().max(1);
        let last = duration.as_nanos().saturating_sub(1) / period * period;
        last <= self.delay.as_nanos()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), RadioError> {
        let refuse = |expected: &str| RadioError(format!("'{key}={value}': expected {expected}"));
        let db = |most: f64| {
            let number: Option<f64> = value.strip_suffix("dB").and_then(|db| db.parse().ok());
            number.filter(|db| (0.0..=most).contains(db))
        };
        let span = || {
            value
                .parse::<Span>()
                .map_err(|error| RadioError(format!("'{key}={value}': {error}")))
        };
        match key {
            "margin" => {
                self.margin_db = db(40.0).ok_or_else(|| refuse("a ratio from 0dB to 40dB"))?;
            }
            "hysteresis" => {
                self.hysteresis_db = db(40.0).ok_or_else(|| refuse("a ratio from 0dB to 40dB"))?;
            }
            "delay" if value == "RTT" => {}
            "delay" => self.delay = span()?,
            "average" => {
                self.average = Some(span()?)
                    .filter(|average| *average <= LONGEST_AVERAGE)
                    .ok_or_else(|| refuse("a duration of at most 60s"))?;
            }
            "period" => {
                self.period = Some(span()?)
                    .filter(|period| *period >= SHORTEST_PERIOD)
                    .ok_or_else(|| refuse("a duration of at least 100us"))?;
            }
            "symbol-rate" => {
                let number: Option<f64> = value.parse().ok();
                let number = number.filter(|number| (1.0..=1e12).contains(number));
                let number = number.ok_or_else(|| refuse("symbols per second, from 1 to 1e12"))?;
                self.symbols_per_s = Some(number);
            }
            _ => {
                let known = [
                    "margin",
                    "delay",
                    "average",
                    "period",
                    "hysteresis",
                    "symbol-rate",
                ];
                return Err(unknown_of("key", key, known).into());
            }
        }
        Ok(())
    }
}

impl fmt::Display for Acm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{},margin={}dB,delay={},average={},period={},hysteresis={}dB",
            self.modcods, self.margin_db, self.delay, self.average, self.period, self.hysteresis_db
        )?;
        match self.symbols_per_s {
            Some(rate) => write!(f, ",symbol-rate={rate}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acm(text: &str) -> Result<Acm, String> {
        let acm = Acm::read(text, Span::from_millis(500), |_| {
            Err("no such file".to_owned())
        });
        acm.map_err(|RadioError(error)| error)
    }

    #[test]
    fn a_text_reads_back() {
        for text in [
            "dvb-s2,margin=0dB,delay=0s,average=1s,period=1s,hysteresis=0.5dB",
            "dvb-s2:8psk-3/4,margin=1.5dB,delay=500ms,average=0s,period=10ms,hysteresis=0dB,symbol-rate=5000000",
            "modcods:low;0.5;-2;dvb-s2:qpsk-1/4&high;2;8;points:7.5/1|8/0,margin=1dB,delay=1s,average=0s,period=10ms,hysteresis=0dB",
        ] {
            let read = acm(text).unwrap();
            assert_eq!(read.to_string(), text);
        }
        let short = acm("dvb-s2").unwrap();
        assert_eq!(
            short.to_string(),
            "dvb-s2,margin=1dB,delay=500ms,average=0s,period=10ms,hysteresis=0dB"
        );
    }

    #[test]
    fn a_text_names_a_file_unless_its_table_is_known() {
        for (text, file) in [
            ("dvb-s2,margin=0dB", None),
            ("dvb-s2:qpsk-1/4", None),
            ("modcods:low;0.5;-2;dvb-s2:qpsk-1/4", None),
            ("table.csv,margin=0dB", Some("table.csv")),
            ("-", Some("-")),
        ] {
            assert_eq!(Acm::file(text), file, "{text}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for (text, words) in [
            ("dvb-s3", "unknown table of MODCODs 'dvb-s3'"),
            ("dvb-s2,margin=1", "from 0dB to 40dB"),
            ("dvb-s2,margin=1dB,margin=1dB", "more than once"),
            ("dvb-s2,period=0s", "at least 100us"),
            (
                "dvb-s2,delay=soon",
                "'delay=soon': found 'soon', expected a duration",
            ),
            ("dvb-s2,average=61s", "at most 60s"),
            ("dvb-s2,speed=1", "unknown key 'speed'"),
            ("dvb-s2,margin", "KEY=VALUE"),
            (
                "modcods:a;0;1;dvb-s2:qpsk-1/4",
                "line 2: found 0 bit/symbol",
            ),
            (
                "modcods:a;1;x;dvb-s2:qpsk-1/4",
                "line 2: found 'x', expected an Es/N0 in dB",
            ),
            ("modcods:a;1;1;turbo", "line 2: unknown code"),
            ("modcods:a;1;1", "line 2: found 3 fields"),
            (
                "modcods:a;1;1;dvb-s2:qpsk-1/4&b;1;2;dvb-s2:qpsk-1/3",
                "line 3: found the name or",
            ),
        ] {
            let error = acm(text).unwrap_err();
            assert!(error.contains(words), "{text}: {error}");
        }
    }

    #[test]
    fn a_delay_that_the_trace_does_not_outlast_leaves_one_decision() {
        let short = acm("dvb-s2,delay=30ms,period=10ms").unwrap();
        // The decision at 40 ms is the first one on Es/N0 after time 0.
        for (millis, once) in [(1, true), (31, true), (40, true), (41, false)] {
            assert_eq!(
                short.decides_once(Span::from_millis(millis)),
                once,
                "{millis}"
            );
        }
        // Without delay there is a second decision after one period.
        let immediate = acm("dvb-s2,delay=0s,period=1s").unwrap();
        assert!(immediate.decides_once(Span::from_secs(1)));
        assert!(!immediate.decides_once(Span::from_millis(1001)));
    }
}

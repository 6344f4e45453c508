//! Adaptive coding and modulation: which MODCODs a link has, and how it chooses among them (docs/acm.md).

use std::fmt;

use crate::types::Span;

use super::error_curve::Code;
use super::{ErrorCurve, RadioError};

/// A modulation with a code, which a link can choose.
#[derive(Debug, Clone, PartialEq)]
pub struct Modcod {
    /// Its name.
    pub name: String,
    /// Bits per symbol, above 0.
    pub efficiency_bit_per_symbol: f64,
    /// Lowest Es/N0 at which it is chosen, dB.
    pub threshold_db: f64,
    /// Its word error rate.
    pub curve: ErrorCurve,
}

/// Error rate at the threshold of a code that is chosen by name: that of EN 302 307-1, table 13.
const THRESHOLD_RATE: f64 = 1e-7;

/// Start of the names of DVB-S2.
const DVB_S2: &str = "dvb-s2";

/// Header of a table in a file.
const HEADER: &str = "name,efficiency_bit_per_symbol,threshold_es_n0_db,code";

/// The MODCODs of a link, by rising efficiency.
///
/// ```
/// use tmt_core::radio::Modcods;
///
/// let modcods = Modcods::named("dvb-s2")?;
/// assert_eq!(modcods.iter().count(), 22);
/// assert_eq!(modcods.best(1.2), Some(3)); // QPSK 1/2 needs 1.00 dB, QPSK 3/5 2.23 dB
/// assert_eq!(modcods.best(-3.0), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Modcods {
    /// Text from which [`Acm`] reads them again.
    text: String,
    by_efficiency: Vec<Modcod>,
    /// The one with the lowest threshold.
    lowest: usize,
}

impl Modcods {
    /// A preset or a single code: `dvb-s2` has the MODCODs of DVB-S2 but those for which another one has more efficiency
    /// at no higher threshold; the name of a published code, such as `dvb-s2:qpsk-1/2`, is that one alone.
    ///
    /// # Errors
    /// There is no such name.
    pub fn named(name: &str) -> Result<Self, RadioError> {
        let modcod = |code: &'static Code| -> Option<Modcod> {
            let curve = ErrorCurve::Code(code);
            Some(Modcod {
                name: code.name.to_owned(),
                efficiency_bit_per_symbol: code.efficiency_bit_per_symbol,
                threshold_db: curve.threshold_db(THRESHOLD_RATE)?,
                curve,
            })
        };
        let of_dvb_s2 = |code: &&Code| code.name.starts_with("dvb-s2:");
        let found: Vec<Modcod> = if name == DVB_S2 {
            let mut all: Vec<Modcod> = ErrorCurve::codes()
                .filter(of_dvb_s2)
                .filter_map(modcod)
                .collect();
            let known = all.clone();
            all.retain(|one| {
                !known.iter().any(|other| {
                    other.threshold_db <= one.threshold_db
                        && other.efficiency_bit_per_symbol > one.efficiency_bit_per_symbol
                })
            });
            all
        } else {
            let named = ErrorCurve::codes().filter(|code| code.name == name);
            named.filter_map(modcod).collect()
        };
        if found.is_empty() {
            return Err(RadioError(format!(
                "unknown table of MODCODs '{name}'; expected dvb-s2, a code such as dvb-s2:qpsk-1/2, or a file"
            )));
        }
        Self::new(name.to_owned(), found)
    }

    /// Reads lines of name, efficiency in bit/symbol, threshold as Es/N0 in dB, and error curve, separated by commas, after
    /// the header `name,efficiency_bit_per_symbol,threshold_es_n0_db,code`. Empty lines and lines that start with `#` are
    /// skipped.
    ///
    /// # Errors
    /// A line is not of this form, or two have the same name or efficiency. The message names the line.
    pub fn read(text: &str) -> Result<Self, RadioError> {
        let lines = (1..).zip(text.lines().map(str::trim));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let refuse = |line: u32, what: String| RadioError(format!("line {line}: {what}"));
        match lines.next() {
            Some((_, HEADER)) => {}
            Some((line, found)) => {
                return Err(refuse(
                    line,
                    format!("found '{found}', expected the header {HEADER}"),
                ));
            }
            None => {
                return Err(RadioError(format!(
                    "found no line, expected the header {HEADER}"
                )));
            }
        }
        let mut modcods: Vec<Modcod> = Vec::new();
        for (line, text) in lines {
            let modcod = modcod(text).map_err(|RadioError(what)| refuse(line, what))?;
            let same = |other: &Modcod| {
                other.name == modcod.name
                    || other
                        .efficiency_bit_per_symbol
                        .total_cmp(&modcod.efficiency_bit_per_symbol)
                        .is_eq()
            };
            if let Some(other) = modcods.iter().find(|other| same(other)) {
                let what = format!(
                    "found the name or the efficiency of {}, expected another one",
                    other.name
                );
                return Err(refuse(line, what));
            }
            modcods.push(modcod);
        }
        if modcods.is_empty() {
            return Err(RadioError(
                "found no MODCOD, expected at least one".to_owned(),
            ));
        }
        let rows: Vec<String> = modcods.iter().map(|modcod| modcod.row(INLINE.1)).collect();
        Self::new(format!("{}{}", INLINE.0, rows.join(INLINE.2)), modcods)
    }

    fn new(text: String, mut modcods: Vec<Modcod>) -> Result<Self, RadioError> {
        modcods.sort_by(|one, other| {
            let key = |modcod: &Modcod| modcod.efficiency_bit_per_symbol;
            key(one).total_cmp(&key(other))
        });
        let thresholds = modcods.iter().map(|modcod| modcod.threshold_db);
        let lowest = (0..)
            .zip(thresholds)
            .min_by(|one, other| one.1.total_cmp(&other.1));
        let (lowest, _) = lowest.ok_or_else(|| RadioError("found no MODCOD".to_owned()))?;
        Ok(Self {
            text,
            by_efficiency: modcods,
            lowest,
        })
    }

    /// The MODCODs, by rising efficiency.
    pub fn iter(&self) -> impl Iterator<Item = &Modcod> {
        self.by_efficiency.iter()
    }

    /// Index of the most efficient one whose threshold is at most `es_n0_db`; `None` if there is none.
    #[must_use]
    pub fn best(&self, es_n0_db: f64) -> Option<usize> {
        self.by_efficiency
            .iter()
            .rposition(|modcod| modcod.threshold_db <= es_n0_db)
    }

    /// Index of the one with the lowest threshold.
    #[must_use]
    pub fn lowest(&self) -> usize {
        self.lowest
    }
}

/// Start of a table in a text, and the separators of its fields and rows.
const INLINE: (&str, &str, &str) = ("modcods:", ";", "&");

impl Modcod {
    fn row(&self, separator: &str) -> String {
        let Self {
            name,
            efficiency_bit_per_symbol,
            threshold_db,
            curve,
        } = self;
        format!(
            "{name}{separator}{efficiency_bit_per_symbol}{separator}{threshold_db}{separator}{curve}"
        )
    }
}

/// Reads a MODCOD from its fields.
fn modcod(text: &str) -> Result<Modcod, RadioError> {
    let fields: Vec<&str> = text.split(',').map(str::trim).collect();
    let [name, efficiency, threshold, curve] = fields[..] else {
        return Err(RadioError(format!(
            "found {} fields, expected four: {HEADER}",
            fields.len()
        )));
    };
    let number = |text: &str, what: &str| {
        let number: Option<f64> = text.parse().ok();
        number
            .filter(|number| number.is_finite())
            .ok_or_else(|| RadioError(format!("found '{text}', expected {what}")))
    };
    let efficiency_bit_per_symbol = number(efficiency, "an efficiency in bit/symbol")?;
    if !(efficiency_bit_per_symbol > 0.0 && efficiency_bit_per_symbol <= 20.0) {
        return Err(RadioError(format!(
            "found {efficiency} bit/symbol, expected more than 0 and at most 20"
        )));
    }
    Ok(Modcod {
        name: name.to_owned(),
        efficiency_bit_per_symbol,
        threshold_db: number(threshold, "an Es/N0 in dB")?,
        curve: curve.parse()?,
    })
}

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

    /// Reads a text. `rtt` is the RTT of the link, the delay unless another one is given. `file` gives the content of the
    /// file that a TABLE names if it is no table of [`Modcods::named`].
    ///
    /// # Errors
    /// The table or a key is unknown, or a value is outside its range.
    pub fn read(
        text: &str,
        rtt: Span,
        file: impl FnOnce(&str) -> Result<String, String>,
    ) -> Result<Self, RadioError> {
        let mut parts = text.split(',');
        let table = parts.next().unwrap_or_default();
        let modcods = match Modcods::named(table) {
            Ok(modcods) => modcods,
            Err(unknown) => {
                if let Some(rows) = table.strip_prefix(INLINE.0) {
                    let rows = rows.replace(INLINE.1, ",").replace(INLINE.2, "\n");
                    Modcods::read(&format!("{HEADER}\n{rows}"))?
                } else {
                    let read =
                        file(table).map_err(|why| RadioError(format!("{unknown} ({why})")))?;
                    let modcods = Modcods::read(&read);
                    modcods.map_err(|RadioError(error)| RadioError(format!("{table}: {error}")))?
                }
            }
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
        let mut given = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').ok_or_else(|| {
                RadioError(format!("'{part}': expected KEY=VALUE, such as margin=1dB"))
            })?;
            if given.contains(&key) {
                return Err(RadioError(format!("'{key}' is given more than once")));
            }
            given.push(key);
            acm.set(key, value)?;
        }
        Ok(acm)
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
                .map_err(|error| refuse(&error.to_string()))
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
                return Err(RadioError(format!(
                    "unknown key '{key}'; expected one of margin, delay, average, period, hysteresis, symbol-rate"
                )));
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
            self.modcods.text,
            self.margin_db,
            self.delay,
            self.average,
            self.period,
            self.hysteresis_db
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
    fn a_ladder_has_no_step_that_another_one_beats() {
        let ladder = Modcods::named("dvb-s2").unwrap();
        let all: Vec<&Modcod> = ladder.iter().collect();
        for pair in all.windows(2) {
            assert!(pair[0].efficiency_bit_per_symbol < pair[1].efficiency_bit_per_symbol);
            assert!(
                pair[0].threshold_db < pair[1].threshold_db,
                "{}",
                pair[1].name
            );
        }
        let names: Vec<&str> = all.iter().map(|modcod| modcod.name.as_str()).collect();
        // EN 302 307-1, table 13: 8PSK 3/5 has 1.780 bit/symbol at 5.50 dB, QPSK 8/9 1.766 at 6.20 dB.
        assert!(names.contains(&"dvb-s2:8psk-3/5") && !names.contains(&"dvb-s2:qpsk-8/9"));
        assert!((all[0].threshold_db + 2.35).abs() < 1e-5);
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
    fn what_cannot_be_read_is_named() {
        for (text, words) in [
            ("dvb-s3", "unknown table of MODCODs 'dvb-s3'"),
            ("dvb-s2,margin=1", "from 0dB to 40dB"),
            ("dvb-s2,margin=1dB,margin=1dB", "more than once"),
            ("dvb-s2,period=0s", "at least 100us"),
            ("dvb-s2,delay=soon", "a duration"),
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
        assert!(Modcods::read("a,b\n").is_err());
    }
}

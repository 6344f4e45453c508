//! Texts of measured fades: our own table, attenuation of OpenSAND, received power of SNS3.

use std::fmt;
use std::str::FromStr;

use crate::types::decimal::Decimal;
use crate::types::{Span, Time};

use super::error_curve::{fields, number_of};
use super::{RadioError, Series, to_db};

/// Form of the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FadeFormat {
    /// Header `time_s,es_n0_db` or `time_s,attenuation_db`, then rows of seconds and dB.
    Csv,
    /// Number of a step and attenuation in dB, separated by blanks.
    OpenSand,
    /// Seconds and received power density (W/Hz), separated by blanks. The largest is taken as unattenuated.
    Sns3,
}

/// Names, in the order of their description.
const NAMES: [(FadeFormat, &str); 3] = [
    (FadeFormat::Csv, "csv"),
    (FadeFormat::OpenSand, "opensand"),
    (FadeFormat::Sns3, "sns3"),
];

impl fmt::Display for FadeFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = NAMES.iter().find(|(format, _)| format == self);
        f.write_str(name.map_or("", |(_, name)| name))
    }
}

impl FromStr for FadeFormat {
    type Err = RadioError;

    fn from_str(text: &str) -> Result<Self, RadioError> {
        let found = NAMES.iter().find(|(_, name)| *name == text);
        found.map(|(format, _)| *format).ok_or_else(|| {
            RadioError(format!(
                "'{text}': expected a format of fades: csv, opensand or sns3"
            ))
        })
    }
}

/// How a fade is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FadeOptions {
    /// Form of the text; `None` to find it out.
    pub format: Option<FadeFormat>,
    /// Time of a step of OpenSAND, which needs it; the others have times of their own and refuse it.
    pub step: Option<Span>,
    /// Longest time between two rows; `None` for ten times the median.
    pub longest_gap: Option<Span>,
}

/// A measured fade, as it was read.
#[derive(Debug, Clone, PartialEq)]
pub struct FadeFile {
    /// Form of the text.
    pub format: FadeFormat,
    /// Whether the values are attenuations rather than Es/N0.
    pub attenuation: bool,
    /// Time and value in dB.
    points: Vec<(Time, f64)>,
}

impl FadeFile {
    /// Reads a fade.
    ///
    /// # Errors
    /// The form is not known, a line is not of the form, times do not rise, two rows are further apart than the longest gap, or
    /// there is a time of steps and rows have times. The message names line and column, and options in backticks.
    pub fn read(text: &str, options: FadeOptions) -> Result<Self, RadioError> {
        let format = match options.format {
            Some(format) => format,
            None => detect(text)?,
        };
        if let (Some(step), FadeFormat::Csv | FadeFormat::Sns3) = (options.step, format) {
            return Err(RadioError(format!(
                "`step` {step}: found a fade of format {format}, whose rows have times, expected opensand, which counts steps; leave `step` out"
            )));
        }
        let mut rows = Rows {
            format,
            step: options.step,
            attenuation: format != FadeFormat::Csv,
            headed: false,
            points: Vec::new(),
        };
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_end();
            if !line.trim_start().is_empty() && !line.trim_start().starts_with('#') {
                rows.read(number, line)?;
            }
        }
        rows.finish(options.longest_gap)
    }

    /// Time of the first row as it is written; `None` without rows.
    #[must_use]
    pub fn start(&self) -> Option<Time> {
        self.points.first().map(|(time, _)| *time)
    }

    /// The series, with attenuations subtracted from `es_n0_db`. Times count from the first row on.
    ///
    /// # Errors
    /// A value is out of range.
    pub fn series(&self, es_n0_db: f64) -> Result<Series, RadioError> {
        let start = self.start().unwrap_or(Time::ZERO);
        let point = |(time, db): &(Time, f64)| {
            let db = if self.attenuation { es_n0_db - db } else { *db };
            (Time::ZERO.saturating_add(time.since(start)), db)
        };
        Series::new(self.points.iter().map(point).collect())
    }
}

/// The form of a text by its first row.
fn detect(text: &str) -> Result<FadeFormat, RadioError> {
    let rows = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    for row in rows.take(1) {
        if row.starts_with("time_s") {
            return Ok(FadeFormat::Csv);
        }
        let fields: Vec<&str> = row.split_whitespace().collect();
        if let [first, second] = fields[..]
            && number_of(first).is_some()
            && let Some(value) = number_of(second)
        {
            // Power densities are far below any attenuation that is not zero.
            let power = value > 0.0 && value < 1e-9;
            let whole = first.bytes().all(|byte| byte.is_ascii_digit());
            match (power, whole) {
                (true, _) => return Ok(FadeFormat::Sns3),
                (false, true) => return Ok(FadeFormat::OpenSand),
                (false, false) => {}
            }
        }
    }
    Err(RadioError(
        "the fade is of no known form; expected a header time_s,es_n0_db or time_s,attenuation_db (csv), rows of a step and \
         dB (opensand), or of seconds and W/Hz (sns3)"
            .to_owned(),
    ))
}

/// Rows read so far.
struct Rows {
    format: FadeFormat,
    step: Option<Span>,
    attenuation: bool,
    headed: bool,
    /// Line, time and value.
    points: Vec<(u64, Time, f64)>,
}

impl Rows {
    fn read(&mut self, number: u64, line: &str) -> Result<(), RadioError> {
        let fields = fields(line);
        let at = |column: usize| format!("line {number}, column {column}");
        let [(time_at, time_text), (value_at, value_text)] = fields[..] else {
            return Err(RadioError(format!(
                "{}: found {} fields, expected a time and a value",
                at(1),
                fields.len()
            )));
        };
        if self.format == FadeFormat::Csv && !self.headed {
            self.headed = true;
            self.attenuation = match (time_text, value_text) {
                ("time_s", "es_n0_db") => false,
                ("time_s", "attenuation_db") => true,
                _ => {
                    return Err(RadioError(format!(
                        "{}: found '{line}', expected the header time_s,es_n0_db or time_s,attenuation_db",
                        at(1)
                    )));
                }
            };
            return Ok(());
        }
        let time = self.time(time_text).map_err(|what| {
            RadioError(format!(
                "{}: time: found '{time_text}', expected {what}",
                at(time_at)
            ))
        })?;
        let value = number_of(value_text).ok_or_else(|| {
            RadioError(format!(
                "{}: found '{value_text}', expected a number (a fade has no gaps)",
                at(value_at)
            ))
        })?;
        let value = match self.format {
            FadeFormat::Sns3 if value > 0.0 => to_db(value),
            FadeFormat::Sns3 => {
                return Err(RadioError(format!(
                    "{}: found '{value_text}', expected a power above 0",
                    at(value_at)
                )));
            }
            FadeFormat::Csv | FadeFormat::OpenSand => value,
        };
        if let Some((_, before, _)) = self.points.last()
            && time <= *before
        {
            return Err(RadioError(format!(
                "{}: time {time} after {before}, expected rising times",
                at(time_at)
            )));
        }
        self.points.push((number, time, value));
        Ok(())
    }

    fn time(&self, text: &str) -> Result<Time, &'static str> {
        if self.format == FadeFormat::OpenSand {
            let step = self
                .step
                .ok_or("`step`, the time of a step: opensand files count steps")?;
            let steps = text
                .parse()
                .map_err(|_| "the number of a step, from 0 on")?;
            let time = step
                .checked_mul(steps)
                .and_then(|span| Time::ZERO.checked_add(span));
            return time.ok_or("a step before 2^63 ns");
        }
        let seconds = Decimal::parse(text.as_bytes()).filter(|seconds| !seconds.is_negative());
        let nanos = seconds.and_then(|seconds| seconds.scaled(1, 9));
        nanos
            .and_then(|nanos| Time::from_nanos(nanos.value))
            .ok_or("seconds, zero or more")
    }

    fn finish(mut self, longest_gap: Option<Span>) -> Result<FadeFile, RadioError> {
        if self.points.len() < 2 {
            return Err(RadioError(format!(
                "found {} rows of a fade, expected at least two",
                self.points.len()
            )));
        }
        let steps = || {
            self.points
                .windows(2)
                .filter_map(|pair| <&[_; 2]>::try_from(pair).ok())
        };
        let mut lengths: Vec<Span> = steps()
            .map(|[before, after]| after.1.since(before.1))
            .collect();
        lengths.sort_unstable();
        let median = lengths.get(lengths.len() / 2).copied().unwrap_or(Span::MAX);
        let longest = longest_gap.unwrap_or(median.checked_mul(10).unwrap_or(Span::MAX));
        if let Some([before, after]) =
            steps().find(|[before, after]| after.1.since(before.1) > longest)
        {
            return Err(RadioError(format!(
                "line {}: a gap of {} from {} on, expected rows at most {longest} apart; fill it, or allow longer gaps by `longest_gap`",
                after.0,
                after.1.since(before.1),
                before.1
            )));
        }
        if self.format == FadeFormat::Sns3 {
            let highest = self
                .points
                .iter()
                .map(|point| point.2)
                .fold(f64::NEG_INFINITY, f64::max);
            for point in &mut self.points {
                point.2 = highest - point.2;
            }
        }
        Ok(FadeFile {
            format: self.format,
            attenuation: self.attenuation,
            points: self
                .points
                .into_iter()
                .map(|(_, time, value)| (time, value))
                .collect(),
        })
    }
}

#[cfg(test)]
mod tests;

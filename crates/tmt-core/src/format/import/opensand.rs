//! Delays over time of OpenSAND: a step and a value per line (docs/trace-format.md, Sec. 12.15).
//!
//! Steps are whole numbers of the refresh period, delays whole milliseconds; between two lines OpenSAND interpolates in whole
//! milliseconds (`FileDelay` of OpenSAND). Files of the same form have an attenuation, which says of no packet whether it was
//! lost.

use super::over_time::{Points, Step};
use super::probe::{self, Fate, INTERVAL, LLDU, PROPAGATION, Record, Records, Shape};
use super::{
    Files, Finding, Given, Import, ImportError, Importer, Key, Lines, RTT, Remark, Rule, TRACE,
    ValueKind, whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Result, Span, TraceKind};

const STEP: &str = "step";
const VALUES: &str = "values";
const HOLD: &str = "hold";

const KEYS: [Key; 7] = [
    TRACE,
    Key::new(
        VALUES,
        ValueKind::OneOf(&["delay", "attenuation"]),
        "what the file has: delay in ms, or attenuation in dB, which is no trace",
    )
    .when(Rule::Required(
        "the file does not say whether it has delays or attenuations",
    )),
    Key::new(
        STEP,
        ValueKind::Period,
        "refresh period, which the first column counts",
    )
    .when(Rule::Required(
        "the file counts steps of the refresh period",
    )),
    Key::new(
        HOLD,
        ValueKind::Switch,
        "hold each delay until the next line instead of interpolating as OpenSAND does",
    ),
    PROPAGATION,
    RTT,
    LLDU,
];

/// Importer of delay files of OpenSAND.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "opensand"
    }

    fn about(&self) -> &'static str {
        "delays over time, `step delay_ms` per line, as in OpenSAND"
    }

    fn kind(&self) -> TraceKind {
        TraceKind::Probe
    }

    fn carries(&self) -> Carries {
        Carries::NOTHING.delay()
    }

    fn recognises(&self, first: &[u8]) -> bool {
        let (mut last, mut rows) = (None, 0);
        let is_every = whole_lines(first).all(|line| {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                return true;
            }
            let Some((step, value)) = columns(line) else {
                return false;
            };
            // Between lines there are steps to interpolate; numbers without gaps are of packets.
            let is_next = last.is_none_or(|last| step > last + 1) && value.parse::<f64>().is_ok();
            (last, rows) = (Some(step), rows + 1);
            is_next
        });
        is_every && rows > 2
    }

    fn keys(&self) -> &'static [Key] {
        &KEYS
    }

    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Import, ImportError> {
        if given.text(VALUES) == Some("attenuation") {
            return Err(ImportError::Refused(format!(
                "a file of attenuations (`{VALUES}`) has no packets: which are lost is for a link to say; `tmt synth --scenario NAME --fading-in FILE --fading-format opensand` makes a trace of it"
            )));
        }
        note(Remark::not_carried(
            "the file has no losses; every step is a packet that is received",
        ));
        // The interval of the packets is the step.
        let mut settings = given.clone();
        let step = given.text(STEP).unwrap_or("1s").to_owned();
        settings.set(INTERVAL.name, step);
        let shape = Shape {
            format: self.name(),
            inputs: &[TRACE.name],
            has_delays: true,
            places: (TRACE.name, TRACE.name),
            make: &Delays::open,
        };
        let mut import = probe::open(&shape, given, settings, files, note)?;
        import.settings.remove(INTERVAL.name);
        Ok(import)
    }
}

/// Step and value of a line.
fn columns(line: &[u8]) -> Option<(u64, &str)> {
    let mut fields = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let step = fields.next()?.parse().ok().filter(|step| *step < 1 << 40)?;
    let value = fields.next()?;
    fields.next().is_none().then_some((step, value))
}

/// The delays, one step after the other.
struct Delays {
    points: Points,
    /// The next step, as a time.
    next: u64,
    step: u64,
}

/// Step, as if it were ns, and delay in ns of a line; `None` for a comment.
fn point<R: std::io::BufRead>(lines: &Lines<R>) -> Result<Option<(u64, u64)>> {
    let text = lines.text();
    if text.is_empty() || text.starts_with(b"#") {
        return Ok(None);
    }
    let read = columns(text)
        .and_then(|(step, value)| Some((step, value.parse::<u32>().ok()?)))
        .filter(|_| !text.contains(&b'+'));
    let Some((step, delay)) = read else {
        let found = format!("'{}'", shown(text));
        let expected = "a step and a delay in ms, both whole numbers";
        return Err(lines.error(ErrorKind::format(found, expected)));
    };
    Ok(Some((step, u64::from(delay) * 1_000_000)))
}

impl Delays {
    fn open(settings: &Given, files: &mut dyn Files) -> Result<Self> {
        let input = files.open(TRACE.name).map_err(Error::from)?;
        let kind = if settings.has(HOLD) {
            Step::Hold(1)
        } else {
            Step::LinearMillis
        };
        let step = settings.get::<Span>(STEP).unwrap_or(Span::MAX).as_nanos();
        Ok(Self {
            points: Points::read(input, TRACE.name, kind, point)?,
            next: 0,
            step,
        })
    }
}

impl Records for Delays {
    fn next_record(&mut self) -> Result<Option<Record>> {
        if self.next > self.points.last() {
            return Ok(None);
        }
        let delay = i64::try_from(self.points.at(self.next)).unwrap_or(i64::MAX);
        if self.next.checked_mul(self.step).is_none() {
            return Err(self.error(ErrorKind::SumTooLarge {
                sum: "step × refresh period",
            }));
        }
        self.next += 1;
        Ok(Some(Record {
            number: None,
            sent: None,
            fate: Fate::Received(Some(delay)),
        }))
    }

    fn findings(&self) -> Vec<Finding> {
        self.points.finding().into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{converted, refusal_of_files as refusal};
    use super::*;

    const MS: u64 = 1_000_000;
    const SECOND: u64 = 1_000_000_000;

    fn delays(text: &str, more: &[(&'static str, &str)]) -> Vec<(u64, u64)> {
        let keys = [("values", "delay"), ("step", "1s"), ("propagation", "0s")];
        converted(&Format, &[("trace", text)], &[&keys, more].concat()).slots
    }

    #[test]
    fn every_step_has_a_delay_interpolated_or_held() {
        let text = "# comment\n0 250\n2 255\n\n4 250\n";
        let ms = |delays: [u64; 5]| {
            (0..)
                .zip(delays)
                .map(|(at, delay)| (at * SECOND, delay * MS))
        };
        assert_eq!(
            delays(text, &[]),
            ms([250, 252, 255, 253, 250]).collect::<Vec<_>>()
        );
        let held = delays(text, &[("hold", "")]);
        assert_eq!(held, ms([250, 250, 255, 255, 250]).collect::<Vec<_>>());
        assert!(Format.recognises(text.as_bytes()) && !Format.recognises(b"1 20\n2 21\n4 20\n"));
        // The first value holds before its step.
        assert_eq!(delays("1 7\n2 9\n", &[])[0], (0, 7 * MS));
    }

    #[test]
    fn attenuations_and_odd_lines_are_refused_with_the_way() {
        let keys = [("values", "attenuation"), ("step", "1s")];
        let error = refusal(&Format, &[("trace", "0 0.5\n")], &keys);
        assert!(
            error.contains("--fading-in FILE --fading-format opensand"),
            "{error}"
        );
        let keys = [("values", "delay"), ("step", "1s"), ("propagation", "0s")];
        for text in [
            "0 0.5\n",
            "0\n",
            "0 1 2\n",
            "5 1\n4 1\n",
            "x 1\n",
            "# only\n",
        ] {
            refusal(&Format, &[("trace", text)], &keys);
        }
    }
}

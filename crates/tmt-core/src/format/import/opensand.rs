//! Delays over time of OpenSAND: a step and a value per line (docs/trace-format.md, Sec. 12.15).
//!
//! Steps are whole numbers of the refresh period, delays whole milliseconds; between two lines OpenSAND interpolates in whole
//! milliseconds (`FileDelay` of OpenSAND). Files of the same form have an attenuation, which says of no packet whether it was
//! lost.

use super::over_time::{Points, Step};
use super::probe::{self, Fate, INTERVAL, LLDU, PROPAGATION, Record, Records, Shape};
use super::{
    Files, Finding, Given, ImportError, Importer, Kind, Lines, Parameter, RTT, Remark, Rule, TRACE,
    whole_lines,
};
use crate::format::foreign::Carries;
use crate::format::text::shown;
use crate::types::{Error, ErrorKind, Result, Span, TraceKind};

const STEP: &str = "step";
const VALUES: &str = "values";
const HOLD: &str = "hold";

const KEYS: [Parameter; 7] = [
    TRACE,
    Parameter::optional(
        VALUES,
        Kind::Words(&["delay", "attenuation"]),
        "what the file has: delay in ms, or attenuation in dB, which is no trace",
    )
    .when(Rule::Required(
        "the file does not say whether it has delays or attenuations",
    )),
    Parameter::optional(
        STEP,
        Kind::PERIOD,
        "refresh period, which the first column counts",
    )
    .when(Rule::Required(
        "the file counts steps of the refresh period",
    )),
    Parameter::optional(
        HOLD,
        Kind::Present,
        "hold each delay until the next line instead of interpolating as OpenSAND does",
    ),
    PROPAGATION,
    RTT,
    LLDU,
];

/// Importer of delay files of OpenSAND.
pub static FORMAT: Importer = Importer {
    name: "opensand",
    about: "delays over time, `step delay_ms` per line, as in OpenSAND",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay(),
    keys: &KEYS,
    recognises: |first| {
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
    },
    open: |given, files, note| {
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
        let shape = Shape::new(&FORMAT, Some(TRACE.name), Delays::open);
        let mut import = probe::open(&shape, given, settings, files, note)?;
        import.settings.remove(INTERVAL.name);
        Ok(import)
    },
};

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

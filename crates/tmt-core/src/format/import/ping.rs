//! Output of ping, and tables of its answers (docs/trace-format.md, Sec. 12.4).
//!
//! Logs of iputils (plain, with `-D`, or with the date before each line), of busybox and of macOS have sequence numbers, so
//! that lost packets show. Tables `time,rtt` have answers only.

mod answers;
mod log;
mod stamp;

use std::io::BufRead;

use super::probe::{self, INTERVAL, LLDU, PROPAGATION, ROUND_TRIP, Record, Records, Shape, Totals};
use super::{Files, Finding, Given, Importer, Lines, Parameter, RTT, TRACE, whole_lines};
use crate::format::foreign::Carries;
use crate::types::{Error, ErrorKind, Result, TraceKind};
use answers::Answers;
use log::Log;

const KEYS: [Parameter; 6] = [TRACE, INTERVAL, PROPAGATION, ROUND_TRIP, RTT, LLDU];

/// Importer of output of ping.
pub static FORMAT: Importer = Importer {
    name: "ping",
    about: "output of ping (iputils also with -D or dated lines, busybox, macOS), or a table time,rtt of answers",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss().order(),
    keys: &KEYS,
    recognises: |first| {
        let mut lines = whole_lines(first).map(<[u8]>::trim_ascii);
        let is_answers = lines.clone().find(|line| !line.is_empty());
        is_answers.is_some_and(answers::is_telling) || lines.any(log::is_telling)
    },
    open: |given, files, note| {
        let mut settings = given.clone();
        let words = "ping measures round trips; half of each is taken as the one-way delay";
        settings.assume(ROUND_TRIP.name, "", words, note);
        let shape = Shape::new(&FORMAT, Some(TRACE.name), Ping::open);
        probe::open(&shape, given, settings, files, note)
    },
};

/// Lines of an input.
type File = Lines<Box<dyn BufRead + Send>>;

/// Reads the packets of a file of either kind.
struct Ping {
    lines: File,
    kind: Kind,
}

/// Kind of a file, decided by its first line with content.
enum Kind {
    Log(Log),
    Answers(Answers),
}

impl Ping {
    fn open(_: &Given, files: &mut dyn Files) -> Result<Self> {
        let mut lines = Lines::new(files.open(TRACE.name).map_err(Error::from)?);
        // Only the first line with content tells.
        let has_content = loop {
            match lines.advance()? {
                true if lines.text().is_empty() => {}
                advanced => break advanced,
            }
        };
        let kind = if has_content && answers::begins(lines.text()) {
            Kind::Answers(Answers::new(&lines))
        } else if has_content {
            Kind::Log(Log::begun())
        } else {
            Kind::Log(Log::default())
        };
        Ok(Self { lines, kind })
    }
}

impl Records for Ping {
    fn next_record(&mut self) -> Result<Option<Record>> {
        match &mut self.kind {
            Kind::Log(log) => log.next(&mut self.lines),
            Kind::Answers(answers) => answers.next(&mut self.lines),
        }
    }

    fn modulus(&self) -> Option<u64> {
        Some(log::NUMBERS)
    }

    fn totals(&self) -> Totals {
        match &self.kind {
            Kind::Log(log) => log.totals(),
            Kind::Answers(_) => Totals::default(),
        }
    }

    fn error(&self, kind: ErrorKind) -> Error {
        self.lines.error(kind)
    }

    fn line(&self) -> u64 {
        self.lines.line()
    }

    fn be_lenient(&mut self) {
        if let Kind::Answers(answers) = &mut self.kind {
            answers.be_lenient();
        }
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.lines.finding(TRACE.name).into_iter().collect();
        findings.extend(match &self.kind {
            Kind::Log(log) => log.findings(),
            Kind::Answers(answers) => answers.findings(),
        });
        findings
    }
}

#[cfg(test)]
mod tests;

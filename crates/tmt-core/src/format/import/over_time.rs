//! Delays over time, as a file lists them: held until the next, or interpolated; and the opportunities of a link to which they
//! apply.

use std::io::BufRead;

use super::finding::{Finding, Remark, counted};
use super::probe::PROPAGATION;
use super::{Files, Given, Import, ImportError, Lines, Slots, rate_bps, set_rtt};
use crate::format::import::catalogue::{DELAYS_BELOW_PROPAGATION, DELAYS_REPEATED};
use crate::types::{Bytes, Error, ErrorKind, Metadata, Result, Slot, Span, Time, TraceKind};

/// Most delays of a file, which are held in memory: 10^7, more than a day at 10 ms.
pub(super) const MOST: usize = 10_000_000;

/// A delay between two times of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// That of the time before; the file begins again this many ns after its last time.
    Hold(u64),
    /// On the line between both, rounded down to ns; the file begins again at its last time.
    Linear,
    /// The same in whole ms, cut towards the one before, as OpenSAND does.
    LinearMillis,
}

/// Delays at times.
#[derive(Debug)]
pub(super) struct Points {
    /// Times and delays, ns, in the order of time.
    all: Vec<(u64, u64)>,
    step: Step,
    /// Finding on the line ends of the file.
    lines: Option<Finding>,
}

impl Points {
    /// Reads the file `name`, whose lines `point` turns into time and delay, ns, or into nothing.
    ///
    /// # Errors
    /// An invalid line, times that decrease, no line at all, or more than [`MOST`].
    pub(super) fn read(
        input: Box<dyn BufRead + Send>,
        name: &'static str,
        step: Step,
        mut point: impl FnMut(&Lines<Box<dyn BufRead + Send>>) -> Result<Option<(u64, u64)>>,
    ) -> Result<Self> {
        let mut lines = Lines::new(input);
        let mut points: Vec<(u64, u64)> = Vec::new();
        let read = loop {
            match lines.advance() {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(error) => break Err(error),
            }
            let next = match point(&lines) {
                Ok(Some(next)) => next,
                Ok(None) => continue,
                Err(error) => break Err(error),
            };
            let previous = points.last().map_or(0, |(time, _)| *time);
            let span = |nanos| Time::from_nanos(nanos).unwrap_or(Time::MAX);
            if next.0 < previous {
                break Err(lines.error(ErrorKind::OutOfOrder {
                    previous: span(previous),
                    found: span(next.0),
                }));
            }
            if points.len() == MOST {
                let found = format!("more than {MOST} delays");
                break Err(lines.error(ErrorKind::format(found, "a shorter file")));
            }
            points.push(next);
        };
        let lines_found = lines.finding(name);
        match read {
            Ok(()) if points.is_empty() => Err(Error::new(ErrorKind::EmptyTrace).of_input(name)),
            Ok(()) => Ok(Self {
                all: points,
                step,
                lines: lines_found,
            }),
            Err(error) => Err(error.of_input(name)),
        }
    }

    /// The smallest delay, ns.
    fn least(&self) -> u64 {
        self.all.iter().map(|(_, delay)| *delay).min().unwrap_or(0)
    }

    /// The last time, ns.
    pub(super) fn last(&self) -> u64 {
        self.all.last().map_or(0, |(time, _)| *time)
    }

    /// After how many ns the delays are repeated; 0 if they are not.
    fn period(&self) -> u64 {
        match self.step {
            Step::Hold(after) => self.last().saturating_add(after),
            _ => self.last(),
        }
    }

    /// Finding on the line ends of the file; `None` if all are LF.
    pub(super) fn finding(&self) -> Option<Finding> {
        self.lines.clone()
    }

    /// The delay at a time, ns. Before the first time it is the first one.
    pub(super) fn at(&self, time: u64) -> u64 {
        let after = self.all.partition_point(|(at, _)| *at <= time);
        let before = self.all[after.saturating_sub(1)];
        let Some(next) = self.all.get(after).filter(|_| after > 0) else {
            return before.1;
        };
        let (rise, run) = (
            i128::from(next.1) - i128::from(before.1),
            i128::from(next.0 - before.0),
        );
        let since = i128::from(time - before.0);
        let delay = match self.step {
            Step::Hold(_) => i128::from(before.1),
            Step::Linear => i128::from(before.1) + (rise * since).div_euclid(run),
            // Towards the value before, whether it rises or falls.
            Step::LinearMillis => {
                i128::from(before.1) + rise * since / (run * 1_000_000) * 1_000_000
            }
        };
        u64::try_from(delay).unwrap_or(0)
    }
}

/// A link whose opportunities have the delays of a file.
pub(super) struct Sampled {
    /// Size of an opportunity.
    pub(super) opportunity: Bytes,
    /// Key of the file of opportunities.
    pub(super) capacity: &'static str,
    /// Key of the file of delays.
    pub(super) place: &'static str,
    /// The delays.
    pub(super) points: Points,
}

/// Reads opportunities.
type Open = fn(Box<dyn BufRead + Send>) -> Box<dyn Slots>;

impl Sampled {
    /// Starts a conversion whose slots are the opportunities that `read` reads.
    ///
    /// # Errors
    /// Those of opening the file of opportunities; the first invalid line, if it is read for its rate.
    pub(super) fn open(
        self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(Remark),
        read: Open,
    ) -> Result<Import, ImportError> {
        let (key, mut settings) = (self.capacity, given.clone());
        let open = |files: &mut dyn Files| -> Result<Box<dyn Slots>> {
            let input = files
                .open(key)
                .map_err(|error| Error::from(error).of_input(key))?;
            Ok(read(input))
        };
        let mut head = Metadata::new();
        head.set(TraceKind::KEY, TraceKind::Capacity.to_string());
        head.set("lldu_bytes", self.opportunity.0.to_string());
        head.set("packing", "bytes");
        let typed = given.get::<Span>(PROPAGATION.name);
        let smallest = Span::from_nanos(self.points.least()).unwrap_or(Span::MAX);
        let propagation = typed.unwrap_or(smallest);
        let text = match typed {
            Some(_) => format!("propagation {propagation} (as given) is removed from every delay"),
            None => format!(
                "propagation {propagation} (the smallest delay of the file) is removed from every delay"
            ),
        };
        note(if given.has(PROPAGATION.name) {
            Remark::fact(text)
        } else {
            Remark::assumed(format!("{text} (`{}`)", PROPAGATION.name))
        });
        settings.set(PROPAGATION.name, propagation.to_string());
        let slots = open(files)?;
        if files.can_reopen(key) {
            let mut slots = open(files)?;
            let (mut last, mut count) = (Time::ZERO, 0);
            while let Some(slot) = slots.next_slot().map_err(|error| error.of_input(key))? {
                (last, count) = (slot.tx_time(), count + 1);
            }
            if let Some(rate) = rate_bps(self.opportunity, count, last.since(Time::ZERO)) {
                head.set("rate_bps", rate.to_string());
            }
        } else {
            note(Remark::not_carried(
                "the rate of a pipe is not known in advance; the head gets no rate_bps",
            ));
        }
        set_rtt(&mut head, given, Some(propagation), note);
        head.set("propagation_removed_ns", propagation.as_nanos().to_string());
        let slots = Box::new(SampledSlots {
            slots,
            key,
            place: self.place,
            points: self.points,
            propagation,
            seen: 0,
            repeated: 0,
            raised: 0,
            first_raised: None,
        });
        Ok(Import {
            head,
            settings,
            slots,
        })
    }
}

struct SampledSlots {
    slots: Box<dyn Slots>,
    key: &'static str,
    place: &'static str,
    points: Points,
    propagation: Span,
    seen: u64,
    /// Slots after the end of the delays.
    repeated: u64,
    /// Slots whose delay is below the propagation, and the first of them.
    raised: u64,
    first_raised: Option<u64>,
}

impl Slots for SampledSlots {
    fn next_slot(&mut self) -> Result<Option<Slot>> {
        let key = self.key;
        let Some(slot) = self
            .slots
            .next_slot()
            .map_err(|error| error.of_input(key))?
        else {
            return Ok(None);
        };
        let at = slot.tx_time().as_nanos();
        let within = at.checked_rem(self.points.period()).unwrap_or(at);
        self.repeated += u64::from(within != at);
        let delay = self.points.at(within);
        let propagation = self.propagation.as_nanos();
        if delay < propagation {
            self.raised += 1;
            self.first_raised.get_or_insert(self.seen);
        }
        self.seen += 1;
        let delay = Span::from_nanos(delay.saturating_sub(propagation).max(1));
        let slot = delay.and_then(|delay| Slot::new(slot.tx_time(), delay));
        let sum = "time + delay";
        slot.map(Some)
            .ok_or_else(|| Error::new(ErrorKind::SumTooLarge { sum }).of_input(key))
    }

    fn be_lenient(&mut self) {
        self.slots.be_lenient();
    }

    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.slots.findings();
        for finding in &mut findings {
            // The reader names the only input of its own format.
            finding.first.input = Some(self.key);
            if let Some(rest) = finding.text.strip_prefix("trace:") {
                finding.text = format!("{}:{rest}", self.key);
            }
        }
        findings.extend(self.points.finding());
        if self.repeated > 0 {
            let text = format!(
                "{}: the delays end before the opportunities, and are repeated for {}",
                self.place,
                counted(self.repeated, "slot")
            );
            findings.push(Finding::of(&DELAYS_REPEATED, self.repeated, "slots", text));
        }
        if self.raised > 0 {
            let text = format!(
                "{}: {} below the propagation of {}, taken as 1 ns",
                self.place,
                counted(self.raised, "delay"),
                self.propagation
            );
            let finding = Finding::of(&DELAYS_BELOW_PROPAGATION, self.raised, "delays", text);
            let finding = finding.at_slot(self.first_raised);
            findings.push(finding.not_carried());
        }
        findings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(step: Step, points: &[(u64, u64)]) -> Points {
        Points {
            all: points.to_vec(),
            step,
            lines: None,
        }
    }

    #[test]
    fn delays_are_held_or_on_the_line_between_two() {
        const MS: u64 = 1_000_000;
        let all = [(10, 5 * MS), (20, 8 * MS), (30, 2 * MS)];
        let at = |step, time| points(step, &all).at(time);
        for (time, held, linear, millis) in [
            (0, 5_000_000, 5_000_000, 5_000_000),
            (10, 5_000_000, 5_000_000, 5_000_000),
            (15, 5_000_000, 6_500_000, 6_000_000),
            (20, 8_000_000, 8_000_000, 8_000_000),
            (21, 8_000_000, 7_400_000, 8_000_000),
            (29, 8_000_000, 2_600_000, 3_000_000),
            (99, 2_000_000, 2_000_000, 2_000_000),
        ] {
            assert_eq!(at(Step::Hold(10), time), held, "{time}");
            assert_eq!(at(Step::Linear, time), linear, "{time}");
            assert_eq!(at(Step::LinearMillis, time), millis, "{time}");
        }
    }

    #[test]
    fn two_delays_at_one_time_do_not_divide_by_nothing() {
        let twice = points(Step::Linear, &[(0, 1), (5, 2), (5, 9), (10, 9)]);
        assert_eq!((twice.at(4), twice.at(5), twice.at(6)), (1, 9, 9));
    }
}

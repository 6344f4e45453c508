//! Applies several schemes to one trace, which is read and parsed once (docs/schemes.md, Sec. 9).

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::format::{Rows, Sink, Take, TraceReader};
use crate::scheme::SchemeSpec;
use crate::scheme::runner::SchemeRunner;
use crate::stats::{LinkSummary, LlduTally, SlotTally};
use crate::types::{EndLine, Error, Lldu, Position, Slot, Span, Time};

/// One scheme of a run, with the sink of its timeline.
pub struct Lane<S> {
    state: LaneState,
    rtt: Span,
    feedback_delay: Span,
    tally: LlduTally,
    sink: Option<S>,
    /// LLDUs of the last round that have not been taken yet, which are counted and formatted in this one.
    previous: Vec<Lldu>,
}

/// The runner of a scheme, with its results of this round.
struct LaneState {
    walk: SchemeRunner,
    /// LLDUs that have not been counted.
    lldus: Vec<Lldu>,
    /// Error of the first row that the scheme refused.
    failed: Option<Error>,
}

/// Result of one scheme of a run.
pub struct LaneResult<O> {
    /// Summary of the timeline (docs/schemes.md, Sec. 8).
    pub summary: LinkSummary,
    /// The output, complete but not closed; `None` without a sink.
    pub output: Option<O>,
}

impl<S: Sink<Lldu>> Lane<S> {
    /// Runs `scheme` over a link with this round-trip time and extra feedback delay; `sink` gets the timeline.
    #[must_use]
    pub fn new(scheme: SchemeSpec, rtt: Span, feedback_delay: Span, sink: Option<S>) -> Self {
        Self {
            tally: LlduTally::of(&scheme),
            state: LaneState {
                walk: SchemeRunner::new(scheme, rtt, feedback_delay),
                lldus: Vec::new(),
                failed: None,
            },
            rtt,
            feedback_delay,
            sink,
            previous: Vec::new(),
        }
    }
}

/// Applies several schemes to one trace, as `tmt apply` does.
///
/// ```
/// use tmt_core::format::{Form, Options, TraceReader, TraceWriter};
/// use tmt_core::pipeline::{Apply, Lane};
/// use tmt_core::types::Metadata;
/// use tmt_core::{SchemeSpec, Span};
///
/// let text = "tx_time,decode_delay\n0.00,0.001\n0.01,0\n0.02,0.001\n0.03,0.001\n";
/// let mut trace = TraceReader::new(text.as_bytes(), Options::default())?;
/// let rtt = Span::from_millis(20);
/// let writer = TraceWriter::new(Vec::new(), Form::default(), &Metadata::new())?;
/// let lanes = vec![
///     Lane::new(SchemeSpec::none(), rtt, Span::ZERO, None),
///     Lane::new(SchemeSpec::arq(), rtt, Span::ZERO, Some(writer)),
/// ];
/// let ends = Apply::new(lanes).run(&mut trace)?;
/// assert_eq!((ends[0].summary.lost, ends[1].summary.lost), (1, 0));
/// let timeline = String::from_utf8(ends[1].output.clone().unwrap_or_default())?;
/// assert_eq!(timeline.lines().nth(2), Some("0.010000000,0.021000000,2"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Apply<S> {
    lanes: Vec<Lane<S>>,
    slots: SlotTally,
    /// The last slot time at which no scheme can fail; `None` if any slot may fail.
    safe_until: Option<Time>,
}

impl<S: Sink<Lldu>> Apply<S> {
    /// Applies the schemes of `lanes` to one trace.
    #[must_use]
    pub fn new(lanes: Vec<Lane<S>>) -> Self {
        let safe_until = lanes
            .iter()
            .map(|lane| lane.state.walk.repeats_fit_until())
            .try_fold(Time::MAX, |least, until| Some(least.min(until?)));
        Self {
            lanes,
            slots: SlotTally::default(),
            safe_until,
        }
    }

    /// Passes the trace through all schemes, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// The first row that is invalid or that a scheme refuses; LLDUs settled before it have been written. Or an I/O
    /// error of an output, with the index of its lane.
    pub fn run(
        mut self,
        reader: &mut TraceReader<'_>,
    ) -> Result<Vec<LaneResult<S::Output>>, StageError> {
        reader.keep_columns();
        let driven = drive(reader, &mut self);
        if let Err(error) = driven {
            if matches!(error, StageError::Input(_)) {
                // The error of the input is reported, even if writing the rows before it fails.
                let _ = self.idle();
                for lane in self.lanes {
                    let _ = lane.sink.map(Sink::abandon);
                }
            }
            return Err(error);
        }
        self.finish(reader.end().and_then(|end| end.end_line))
    }

    fn finish(
        mut self,
        input_end: Option<EndLine>,
    ) -> Result<Vec<LaneResult<S::Output>>, StageError> {
        let end = |LaneState { walk, lldus, .. }: &mut LaneState| {
            let end = walk.finish(lldus);
            // The timeline is usable no longer than its input.
            let until = input_end.map_or(end.usable_until, |input_end| {
                input_end.usable_until.min(end.usable_until)
            });
            EndLine {
                usable_until: until,
                ..end
            }
        };
        let lanes = self.lanes.iter_mut();
        let ends: Vec<EndLine> = lanes.map(|lane| end(&mut lane.state)).collect();
        self.idle()?;
        self.idle()?;
        let lanes = self.lanes.into_iter().zip(ends).enumerate();
        let ends = lanes.map(|(index, (lane, end))| {
            let output = lane.sink.map(|sink| sink.finish(&end)).transpose();
            let walk = &lane.state.walk;
            Ok(LaneResult {
                summary: LinkSummary::new(
                    walk.scheme(),
                    lane.rtt,
                    lane.feedback_delay,
                    walk.unit_counts(),
                    &self.slots,
                    &lane.tally,
                ),
                output: output.map_err(|error| StageError::Output(index, error))?,
            })
        });
        ends.collect()
    }
}

impl<S: Sink<Lldu>> Stage for Apply<S> {
    fn spawn<'s>(&'s mut self, batch: &'s mut [Rows], scope: &Scope<'s>) {
        let last = batch.iter().rev().find_map(Rows::times);
        let safe = last.is_none_or(|(_, last)| self.safe_until.is_some_and(|until| last <= until));
        let (mut slots, mut walks, mut tasks) = (Some(&mut self.slots), Vec::new(), Vec::new());
        for lane in &mut self.lanes {
            let (previous, tally) = (&lane.previous[..], &mut lane.tally);
            let round = lane.sink.as_mut().map(|sink| sink.round(previous));
            let (taking, spawn) =
                round.map_or((None, None), |round| (round.taking, Some(round.tasks)));
            tasks.extend(spawn);
            let taking = if let Some(sink) = taking {
                tally.lldus(previous);
                let slots = slots.take();
                Some(Taking { tally, sink, slots })
            } else {
                tasks.push(Box::new(|scope| scope.spawn(|_| tally.lldus(previous))));
                None
            };
            walks.push(Walk {
                state: &mut lane.state,
                taking,
            });
        }
        let others = move |scope: &Scope<'s>| tasks.into_iter().for_each(|spawn| spawn(scope));
        if !safe {
            others(scope);
            scope.spawn(move |_| run_in_lockstep(&mut walks, slots, batch));
            return;
        }
        let batch: &[Rows] = batch;
        // The longest tasks first: those of schemes whose LLDUs are encoded, too.
        let (long, short): (Vec<_>, Vec<_>) =
            walks.into_iter().partition(|walk| walk.taking.is_some());
        let walk = |mut walk: Walk<'s>| scope.spawn(move |_| walk.batch(batch));
        long.into_iter().for_each(walk);
        if let Some(slots) = slots {
            scope.spawn(move |_| {
                for rows in batch {
                    rows.each(0..rows.len(), &mut |some| slots.slots(some));
                }
            });
        }
        others(scope);
        short.into_iter().for_each(walk);
    }

    fn advance(&mut self) -> Result<(), StageError> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(sink) = &mut lane.sink {
                let advanced = sink.advance();
                advanced.map_err(|error| StageError::Output(index, error))?;
            }
            std::mem::swap(&mut lane.state.lldus, &mut lane.previous);
            lane.state.lldus.clear();
        }
        // The error in the lowest row, and of the schemes that fail there, the first.
        let lanes = self.lanes.iter_mut();
        let failed = lanes.filter_map(|lane| lane.state.failed.take());
        let first = failed.min_by_key(|error| error.position().map(|position| position.row));
        first.map_or(Ok(()), |error| Err(StageError::Input(error)))
    }
}

/// Slots passed to a scheme at a time, and LLDUs counted and encoded at a time, so that they stay in the L1 cache.
const AT_ONCE: usize = 1 << 10;

/// A lane in a round.
struct Walk<'s> {
    state: &'s mut LaneState,
    /// `None` if LLDUs are counted and formatted in the next round.
    taking: Option<Taking<'s>>,
}

/// What counts and takes LLDUs as they are made.
struct Taking<'s> {
    tally: &'s mut LlduTally,
    sink: &'s mut (dyn Take<Lldu> + 's),
    /// The tally of the slots, in one of the lanes.
    slots: Option<&'s mut SlotTally>,
}

impl Walk<'_> {
    /// Passes a batch through the scheme, up to the first row that fails.
    fn batch(&mut self, batch: &[Rows]) {
        let _ = batch.iter().all(|rows| self.rows(rows));
        if let Some(taking) = &mut self.taking {
            taking.slots(&[], &mut self.state.lldus, 1);
        }
    }

    /// Passes `rows` through the scheme; returns false if one of them fails.
    fn rows(&mut self, rows: &Rows) -> bool {
        let (mut from, mut passed) = (0, true);
        rows.each(0..rows.len(), &mut |slots| {
            for slots in slots.chunks(AT_ONCE) {
                passed = passed && self.state.slots(rows, from, slots);
                from += slots.len();
                if let Some(taking) = &mut self.taking {
                    taking.slots(slots, &mut self.state.lldus, AT_ONCE);
                }
            }
        });
        passed
    }
}

impl Taking<'_> {
    /// Counts slots, and takes the LLDUs away if there are `least` or more.
    fn slots(&mut self, slots: &[Slot], lldus: &mut Vec<Lldu>, least: usize) {
        if let Some(tally) = &mut self.slots {
            tally.slots(slots);
        }
        if lldus.len() >= least {
            for some in lldus.chunks(AT_ONCE) {
                self.tally.lldus(some);
                self.sink.take(some);
            }
            lldus.clear();
        }
    }
}

impl LaneState {
    /// Passes slots through the scheme, the first one row `from` of `rows`; returns false if one of them fails.
    fn slots(&mut self, rows: &Rows, from: usize, slots: &[Slot]) -> bool {
        let walked = self.walk.push_slots(slots, &mut self.lldus);
        self.failed = walked.err().map(|error| {
            let index = from + error.index;
            let position = Position {
                line: rows.line(index),
                column: 1,
                row: rows.number(index),
            };
            Error::at(error.kind, position)
        });
        self.failed.is_none()
    }
}

/// Processes a batch in which a scheme may fail: all schemes row by row, so that none goes beyond a failing row. The LLDUs are
/// counted and formatted in the next round.
fn run_in_lockstep(walks: &mut [Walk<'_>], slots: Option<&mut SlotTally>, batch: &mut [Rows]) {
    let mut taking = walks.iter_mut().filter_map(|walk| walk.taking.as_mut());
    let mut tally = slots.or_else(|| taking.find_map(|taking| taking.slots.take()));
    for rows in batch {
        rows.convert();
        if let Some(tally) = &mut tally {
            tally.slots(&rows.slots);
        }
        for (index, slot) in rows.slots.iter().enumerate() {
            let slot = std::slice::from_ref(slot);
            let walked = walks
                .iter_mut()
                .map(|walk| walk.state.slots(rows, index, slot));
            if !walked.fold(true, |all, walked| all & walked) {
                return;
            }
        }
    }
}

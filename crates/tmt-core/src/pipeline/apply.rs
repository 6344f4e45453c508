//! Many schemes over one trace: read and parsed once, each scheme walked by itself.

use std::io::Write;
use std::ops::Range;

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::format::{Rows, TraceReader, TraceWriter};
use crate::scheme::SchemeSpec;
use crate::scheme::runner::Walk;
use crate::stats::{LinkSummary, LlduTally, SlotTally};
use crate::types::{EndLine, Error, Lldu, Position, Span, Time};

/// One scheme at work, with where its timeline goes.
pub struct Lane<W: Write + Send> {
    state: LaneState,
    rtt: Span,
    feedback_delay: Span,
    tally: LlduTally,
    writer: Option<TraceWriter<Lldu, W>>,
    /// LLDUs of the round before, counted and formatted in this one.
    known: Vec<Lldu>,
}

/// A walk, with what came of it in this round.
struct LaneState {
    walk: Walk,
    lldus: Vec<Lldu>,
    /// The first row that cannot be walked.
    failed: Option<Error>,
}

/// What a scheme's walk ended in.
pub struct LaneResult<W> {
    /// The summary of link-layer.md §9.
    pub summary: LinkSummary,
    /// The output, all written and yet to be closed.
    pub output: Option<W>,
}

impl<W: Write + Send> Lane<W> {
    /// `scheme` over a link of this round-trip time and extra feedback delay, its timeline going to `writer`.
    #[must_use]
    pub fn new(
        scheme: SchemeSpec,
        rtt: Span,
        feedback_delay: Span,
        writer: Option<TraceWriter<Lldu, W>>,
    ) -> Self {
        Self {
            state: LaneState {
                walk: Walk::new(scheme, rtt, feedback_delay),
                lldus: Vec::new(),
                failed: None,
            },
            rtt,
            feedback_delay,
            tally: LlduTally::default(),
            writer,
            known: Vec::new(),
        }
    }
}

/// All schemes over one trace.
pub struct Apply<W: Write + Send> {
    lanes: Vec<Lane<W>>,
    slots: SlotTally,
    /// The last time at which no walk can fail; none where any slot may.
    safe_until: Option<Time>,
}

impl<W: Write + Send> Apply<W> {
    /// All of `lanes` over one trace.
    #[must_use]
    pub fn new(lanes: Vec<Lane<W>>) -> Self {
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

    /// Runs the trace through all schemes, on the threads of the current rayon pool.
    ///
    /// # Errors
    /// The first row that cannot be read or walked; what was known before it has been written. What the
    /// system says about an output, by the number of its lane.
    pub fn run(mut self, reader: &mut TraceReader<'_>) -> Result<Vec<LaneResult<W>>, StageError> {
        let driven = drive(reader, &mut self);
        if let Err(error) = driven {
            if matches!(error, StageError::Input(_)) {
                // What is wrong with the input is told, whatever becomes of the rows in front of it.
                let _ = self.idle();
                for lane in self.lanes {
                    let _ = lane.writer.map(TraceWriter::abandon);
                }
            }
            return Err(error);
        }
        self.finish(reader.end().and_then(|end| end.end_line))
    }

    fn finish(mut self, input_end: Option<EndLine>) -> Result<Vec<LaneResult<W>>, StageError> {
        let end = |LaneState { walk, lldus, .. }: &mut LaneState| {
            let end = walk.finish(lldus);
            // What the input does not know, the timeline does not know either.
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
            let output = lane.writer.map(|writer| writer.finish(&end)).transpose();
            let walk = &lane.state.walk;
            Ok(LaneResult {
                summary: LinkSummary::new(
                    walk.scheme(),
                    lane.rtt,
                    lane.feedback_delay,
                    walk.units(),
                    &self.slots,
                    &lane.tally,
                ),
                output: output.map_err(|error| StageError::Output(index, error))?,
            })
        });
        ends.collect()
    }
}

impl<W: Write + Send> Stage for Apply<W> {
    fn spawn<'s>(&'s mut self, batch: &'s [Rows], scope: &Scope<'s>) {
        let last = batch.iter().rev().find_map(|rows| rows.slots.last());
        let safe =
            last.is_none_or(|slot| self.safe_until.is_some_and(|until| slot.tx_time() <= until));
        let slots = &mut self.slots;
        scope.spawn(move |_| batch.iter().for_each(|rows| slots.slots(&rows.slots)));
        let mut walks = Vec::new();
        for lane in &mut self.lanes {
            let (known, tally) = (&lane.known[..], &mut lane.tally);
            if let Some(writer) = &mut lane.writer {
                writer.spawn([known], scope);
            }
            scope.spawn(move |_| tally.lldus(known));
            walks.push(&mut lane.state);
        }
        if safe {
            for state in walks {
                scope.spawn(move |_| {
                    let mut batch = batch.iter();
                    batch.all(|rows| state.slots(rows, 0..rows.slots.len()));
                });
            }
        } else {
            scope.spawn(move |_| run_in_lockstep(&mut walks, batch));
        }
    }

    fn advance(&mut self) -> Result<(), StageError> {
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(writer) = &mut lane.writer {
                let advanced = writer.advance();
                advanced.map_err(|error| StageError::Output(index, error))?;
            }
            std::mem::swap(&mut lane.state.lldus, &mut lane.known);
            lane.state.lldus.clear();
        }
        // The lowest row wins, and of the schemes that fail there the first.
        let lanes = self.lanes.iter_mut();
        let failed = lanes.filter_map(|lane| lane.state.failed.take());
        let first = failed.min_by_key(|error| error.position().map(|position| position.row));
        first.map_or(Ok(()), |error| Err(StageError::Input(error)))
    }
}

impl LaneState {
    /// Walks some of `rows`; false where one of them fails.
    fn slots(&mut self, rows: &Rows, some: Range<usize>) -> bool {
        let from = some.start;
        let walked = self.walk.slots(&rows.slots[some], &mut self.lldus);
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

/// Walks a batch in which a walk may fail, all schemes row by row, so that none goes beyond the failing row.
fn run_in_lockstep(walks: &mut [&mut LaneState], batch: &[Rows]) {
    for rows in batch {
        for index in 0..rows.slots.len() {
            let walked = walks
                .iter_mut()
                .map(|state| state.slots(rows, index..index + 1));
            if !walked.fold(true, |all, walked| all & walked) {
                return;
            }
        }
    }
}

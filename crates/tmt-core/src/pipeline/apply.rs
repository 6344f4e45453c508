//! Many schemes over one trace: read and parsed once, each scheme walked by itself.

use std::io::Write;

use rayon::Scope;

use super::{Stage, StageError, drive};
use crate::format::{Rows, TraceReader, TraceWriter};
use crate::scheme::SchemeSpec;
use crate::scheme::runner::Walk;
use crate::stats::{LinkSummary, LlduTally, SlotTally};
use crate::types::{EndLine, Error, ErrorKind, Lldu, Position, Result, Span, Time};

/// One scheme at work, with where its timeline goes.
pub struct Lane<W: Write + Send> {
    walk: Walk,
    rtt: Span,
    feedback_delay: Span,
    tally: LlduTally,
    writer: Option<TraceWriter<Lldu, W>>,
    /// LLDUs of this round.
    walked: Vec<Lldu>,
    /// LLDUs of the round before, counted and formatted in this one.
    known: Vec<Lldu>,
    /// The first row that cannot be walked, with its index in the batch.
    failed: Option<(usize, Error)>,
}

/// What a scheme's walk ended in.
pub struct LaneEnd<W> {
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
            walk: Walk::new(scheme, rtt, feedback_delay),
            rtt,
            feedback_delay,
            tally: LlduTally::default(),
            writer,
            walked: Vec::new(),
            known: Vec::new(),
            failed: None,
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
            .map(|lane| lane.walk.repeats_fit_until())
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
    pub fn run(mut self, reader: &mut TraceReader<'_>) -> Result<Vec<LaneEnd<W>>, StageError> {
        match drive(reader, &mut self) {
            Ok(()) => self.finish(reader.tail().and_then(|tail| tail.end)),
            Err(StageError::Input(error)) => {
                // What is wrong with the input is told, whatever becomes of the rows in front of it.
                let _ = self.idle();
                for lane in self.lanes {
                    let _ = lane.writer.map(TraceWriter::abandon);
                }
                Err(StageError::Input(error))
            }
            Err(error) => Err(error),
        }
    }

    fn finish(mut self, told: Option<EndLine>) -> Result<Vec<LaneEnd<W>>, StageError> {
        let ends: Vec<EndLine> = self
            .lanes
            .iter_mut()
            .map(|lane| {
                let mut end = lane.walk.finish(&mut lane.walked);
                // What the input does not know, the timeline does not know either.
                if let Some(told) = told {
                    end.usable_until = end.usable_until.min(told.usable_until);
                }
                end
            })
            .collect();
        self.idle()?;
        self.idle()?;
        let slots = self.slots;
        self.lanes
            .into_iter()
            .zip(ends)
            .enumerate()
            .map(|(index, (lane, end))| {
                let output = lane
                    .writer
                    .map(|writer| writer.finish(&end))
                    .transpose()
                    .map_err(|error| StageError::Output(index, error))?;
                let summary = LinkSummary::new(
                    lane.walk.scheme(),
                    lane.rtt,
                    lane.feedback_delay,
                    lane.walk.units(),
                    &slots,
                    &lane.tally,
                );
                Ok(LaneEnd { summary, output })
            })
            .collect()
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
            let Lane {
                walk,
                tally,
                writer,
                walked,
                known,
                failed,
                ..
            } = lane;
            let known = &*known;
            if let Some(writer) = writer {
                writer.spawn([&known[..]], scope);
            }
            scope.spawn(move |_| tally.lldus(known));
            walks.push((walk, walked, failed));
        }
        if safe {
            for (walk, walked, failed) in walks {
                scope.spawn(move |_| *failed = walk_batch(walk, batch, walked).err());
            }
        } else {
            scope.spawn(move |_| walk_in_step(&mut walks, batch));
        }
    }

    fn advance(&mut self) -> Result<(), StageError> {
        let mut first: Option<(usize, Error)> = None;
        for (index, lane) in self.lanes.iter_mut().enumerate() {
            if let Some(writer) = &mut lane.writer {
                writer
                    .advance()
                    .map_err(|error| StageError::Output(index, error))?;
            }
            std::mem::swap(&mut lane.walked, &mut lane.known);
            lane.walked.clear();
            // The lowest row wins, and of the schemes that fail there the first.
            if let Some(failed) = lane.failed.take()
                && first.as_ref().is_none_or(|(row, _)| failed.0 < *row)
            {
                first = Some(failed);
            }
        }
        match first {
            Some((_, error)) => Err(StageError::Input(error)),
            None => Ok(()),
        }
    }
}

/// What a walk needs in a round.
type WalkParts<'s> = (
    &'s mut Walk,
    &'s mut Vec<Lldu>,
    &'s mut Option<(usize, Error)>,
);

/// Walks a batch; the row that fails, by its index in the batch.
fn walk_batch(walk: &mut Walk, batch: &[Rows], out: &mut Vec<Lldu>) -> Result<(), (usize, Error)> {
    let mut before = 0;
    for rows in batch {
        walk.slots(&rows.slots, out)
            .map_err(|error| (before + error.index, at(rows, error.index, error.kind)))?;
        before += rows.slots.len();
    }
    Ok(())
}

/// Walks a batch in which a walk may fail, all schemes row by row, so that none goes beyond the failing row.
fn walk_in_step(walks: &mut [WalkParts<'_>], batch: &[Rows]) {
    let mut before = 0;
    for rows in batch {
        for (index, slot) in rows.slots.iter().enumerate() {
            let mut all_well = true;
            for (walk, out, failed) in &mut *walks {
                if let Err(error) = walk.slots(std::slice::from_ref(slot), out) {
                    **failed = Some((before + index, at(rows, index, error.kind)));
                    all_well = false;
                }
            }
            if !all_well {
                return;
            }
        }
        before += rows.slots.len();
    }
}

fn at(rows: &Rows, index: usize, kind: ErrorKind) -> Error {
    let position = Position {
        line: rows.line(index),
        column: 1,
        row: rows.number(index),
    };
    Error::at(kind, position)
}

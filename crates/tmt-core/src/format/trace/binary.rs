//! Reads a trace in a binary format (Arrow, Parquet) in rounds.

use rayon::Scope;

use super::input::{Input, Reading};
use super::options::Options;
use crate::format::batch::{Rows, TraceEnd};
use crate::format::columnar::{Batch, Next, Source};
use crate::format::pool::Pool;
use crate::types::{EndLine, Error, ErrorKind, Metadata, Position, Result, Time};

/// Typical bytes of a row of text: a chunk has about as many rows as a chunk of text.
const ROW: usize = 26;

/// A binary trace and the state of reading it.
pub(super) struct Binary<'a> {
    source: Source<'a>,
    /// Rows fetched at a time.
    chunk: u64,
    /// Whether rows stay in their columns until they are used.
    keeps_columns: bool,
    allow_cut: bool,
    /// Fetched in this round; parsed in this round.
    fetched: Fetched,
    parsed: Fetched,
    rows: u64,
    previous: Time,
}

/// The batches fetched in a round.
#[derive(Default)]
struct Fetched {
    batches: Vec<Batch>,
    /// State after the batches: `None` if unknown, the end of the input with its end line, or an error.
    after: Option<Result<Option<EndLine>>>,
}

impl<'a> Binary<'a> {
    pub(super) fn new(source: Source<'a>, options: &Options) -> Self {
        Self {
            source,
            chunk: (options.chunk / ROW).max(1) as u64,
            keeps_columns: false,
            allow_cut: options.allow_cut,
            fetched: Fetched::default(),
            parsed: Fetched::default(),
            rows: 0,
            previous: Time::ZERO,
        }
    }
}

/// Fills `batches` with the next `rows` rows of `source`, rounded up to whole batches, and checks them if `checks`: their bytes
/// are in a cache then. Returns what follows them, if known.
fn fetch(
    source: &mut Source<'_>,
    batches: &mut Vec<Batch>,
    rows: u64,
    checks: bool,
) -> Option<Result<Option<EndLine>>> {
    batches.clear();
    let until = source.rows().saturating_add(rows);
    while source.rows() < until {
        match source.next_batch() {
            Ok(Next::Batch(mut batch)) => {
                if checks {
                    batch.check();
                }
                batches.push(batch);
            }
            Ok(Next::End) => return Some(Ok(source.end())),
            Ok(Next::Cut) => {
                let (format, rows) = (source.format, source.rows());
                return Some(Err(Error::new(ErrorKind::CutStream { format, rows })));
            }
            Err(error) => return Some(Err(error)),
        }
    }
    None
}

impl Input for Binary<'_> {
    fn metadata(&self) -> &Metadata {
        self.source.metadata()
    }

    fn reading(&self) -> Reading<'_> {
        let layout = self.source.layout();
        Reading {
            ignored: &layout.ignored,
            has_no_delays: layout.places.have_no_delays(),
            starts_at_first_row: layout.has_timestamps,
        }
    }

    fn keep_columns(&mut self) {
        self.keeps_columns = true;
    }

    fn spawn<'s>(&'s mut self, pieces: &'s mut Pool<Rows>, scope: &Scope<'s>) {
        let (source, fetched) = (&mut self.source, &mut self.fetched);
        let (chunk, checks) = (self.chunk, self.keeps_columns);
        if self.parsed.after.is_none() {
            scope.spawn(move |_| {
                fetched.after = fetch(source, &mut fetched.batches, chunk, checks);
            });
        }
        let batches = &self.parsed.batches;
        for (batch, rows) in batches.iter().zip(pieces.resize(batches.len())) {
            rows.clear();
            if !rows.keep(batch) {
                scope.spawn(move |_| rows.fill(batch));
            }
        }
    }

    fn commit(&mut self, rows: &mut Rows) -> Result<()> {
        let before = self.rows;
        rows.set_rows_before(before);
        if let Some((first, _)) = rows.times()
            && first < self.previous
        {
            let kind = ErrorKind::OutOfOrder {
                previous: self.previous,
                found: first,
            };
            rows.truncate(0);
            return Err(Error::at(kind, Position::of_row(before + 1)));
        }
        if let Some((_, last)) = rows.times() {
            self.previous = last;
            self.rows += rows.len() as u64;
        }
        let fault = rows.take_fault();
        fault.map_or(Ok(()), |error| Err(error.offset_rows(before)))
    }

    fn advance(&mut self, _: &mut Rows) -> Result<Option<TraceEnd>> {
        let after = self.parsed.after.take();
        std::mem::swap(&mut self.parsed, &mut self.fetched);
        let (end, cut) = match after {
            None => return Ok(None),
            Some(Ok(end)) => (end, false),
            Some(Err(error)) => match error.kind() {
                ErrorKind::CutStream { .. } if self.allow_cut => (None, true),
                _ => return Err(error),
            },
        };
        let rows = self.rows;
        if rows == 0 {
            return Err(Error::new(ErrorKind::EmptyTrace));
        }
        Ok(Some(TraceEnd {
            rows,
            end_line: end,
            cut,
        }))
    }
}

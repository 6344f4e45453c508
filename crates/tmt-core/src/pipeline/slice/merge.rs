//! Interleaves traces in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::io::Write;

use super::super::{StageError, produce};
use crate::format::{Rows, TraceReader, TraceWriter};
use crate::types::{EndLine, Result, Slot, Time};

/// Slots that are merged while the same number is written.
const BATCH: usize = 1 << 16;

/// Result of [`merge`].
#[derive(Debug)]
pub struct Merged<W> {
    /// The output, completely written but not closed.
    pub output: W,
    /// Slots of all traces.
    pub slots: u64,
    /// Slots that start at the same time as the slot before them, which is of another trace.
    pub ties: u64,
}

/// A trace and its next slots.
struct Source<'s, 'r> {
    reader: &'s mut TraceReader<'r>,
    rows: Rows,
    next: usize,
    last: Time,
}

impl Source<'_, '_> {
    /// Start of the next slot; `None` at the end of the trace.
    fn peek(&mut self) -> Result<Option<Time>> {
        while self.next == self.rows.slots.len() {
            self.next = 0;
            if !self.reader.next_rows(&mut self.rows)? {
                self.rows.clear();
                return Ok(None);
            }
        }
        Ok(Some(self.rows.slots[self.next].tx_time()))
    }
}

/// Writes the slots of several traces in the order of time; of slots that start at the same time, that of the first trace
/// comes first.
///
/// # Errors
/// The first invalid row of one of the traces, with the index of the trace, after the slots before it have been written;
/// or an I/O error of the output.
pub fn merge<W: Write + Send>(
    readers: &mut [TraceReader<'_>],
    mut writer: TraceWriter<Slot, W>,
) -> Result<Merged<W>, (usize, StageError)> {
    let mut sources: Vec<Source<'_, '_>> = readers
        .iter_mut()
        .map(|reader| Source {
            reader,
            rows: Rows::default(),
            next: 0,
            last: Time::ZERO,
        })
        .collect();
    // The next slot of each trace: its start, and the trace.
    let mut heads = BinaryHeap::new();
    let mut failed = 0;
    let (mut slots, mut ties, mut last, mut last_source) = (0, 0, Time::ZERO, None);
    let mut begun = false;
    let mut fill = |out: &mut Vec<Slot>| -> Result<()> {
        if !begun {
            begun = true;
            for (index, source) in sources.iter_mut().enumerate() {
                failed = index;
                if let Some(time) = source.peek()? {
                    heads.push(Reverse((time, index)));
                }
            }
        }
        while out.len() < BATCH {
            let Some(mut head) = heads.peek_mut() else {
                break;
            };
            let Reverse((time, index)) = *head;
            let source = &mut sources[index];
            out.push(source.rows.slots[source.next]);
            source.next += 1;
            source.last = time;
            slots += 1;
            ties += u64::from(time == last && last_source.is_some_and(|other| other != index));
            (last, last_source) = (time, Some(index));
            failed = index;
            match source.peek()? {
                Some(time) => *head = Reverse((time, index)),
                None => {
                    PeekMut::pop(head);
                }
            }
        }
        Ok(())
    };
    let produced = produce(&mut writer, &mut fill);
    if let Err(error) = produced {
        if matches!(error, StageError::Input(_)) {
            let _ = writer.abandon();
        }
        return Err((failed, error));
    }
    let mut usable_until = last;
    for source in &sources {
        let end = source.reader.end().and_then(|end| end.end_line);
        if let Some(end) = end.filter(|end| end.usable_until < source.last) {
            usable_until = usable_until.min(end.usable_until);
        }
    }
    let end = EndLine {
        rows: slots,
        slots,
        usable_until,
    };
    let output = writer.finish(&end);
    let output = output.map_err(|error| (0, StageError::Output(0, error)))?;
    Ok(Merged {
        output,
        slots,
        ties,
    })
}

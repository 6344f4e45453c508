//! Writes rows that are generated instead of read.

use std::io::Write;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use super::StageError;
use crate::channel::synth::ConstantRate;
use crate::channel::{Erasing, SlotChannel, Use};
use crate::format::{Make, TraceWriter};
use crate::radio::{Adapted, AdaptedSlots};
use crate::types::{Result, Slot, Span, Time};

/// Calls `fill` with an empty vector and writes the slots that it appends, until it appends none.
///
/// The next slots are generated while the last ones are written.
///
/// # Errors
/// The first error of `fill`, after the slots before it have been written; or an I/O error of the output.
pub fn produce<W: Write + Send>(
    writer: &mut TraceWriter<Slot, W>,
    mut fill: impl FnMut(&mut Vec<Slot>) -> Result<()> + Send,
) -> Result<(), StageError> {
    let (mut ready, mut next) = (Vec::new(), Vec::new());
    let (mut filled, mut ended) = (Ok(()), false);
    loop {
        rayon::scope(|scope| {
            writer.spawn([&ready[..]], scope);
            if !ended {
                scope.spawn(|_| {
                    next.clear();
                    filled = fill(&mut next);
                });
            }
        });
        writer
            .advance()
            .map_err(|error| StageError::Output(0, error))?;
        if ended {
            return filled.map_err(StageError::from);
        }
        std::mem::swap(&mut ready, &mut next);
        ended = filled.is_err() || ready.is_empty();
    }
}

/// Slots per piece. A process may compute stretches of time for which a short piece is too little.
const PIECE: usize = 1 << 16;

/// Pieces generated per round.
const PIECES: usize = 8;

/// Slots per round if none is erased: they are made while they are formatted, eight pieces of text or two blocks.
const ROUND: usize = 1 << 16;

/// An erasure process on the slots that [`synthesise`] writes.
#[derive(Debug, Clone)]
pub struct Erased {
    /// The process.
    pub channel: SlotChannel,
    /// Its seed.
    pub seed: u64,
    /// How long a slot is on air.
    pub on_air: Span,
    /// Whether slots that the process takes are left out, instead of written as erased.
    pub withheld: bool,
}

/// Counts of the slots written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Number of slots.
    pub slots: u64,
    /// Number of erased slots among them.
    pub erased: u64,
    /// Start of the last slot; time zero without any.
    pub last: Time,
}

/// Writes all slots of a link of constant rate, as `tmt synth` does (docs/trace-format.md, Sec. 11), and erases those
/// that the process of `erased` erases. Calls `made` with the number of slots of each batch, withheld ones included.
///
/// # Errors
/// I/O errors of the output.
pub fn synthesise<W: Write + Send>(
    link: &ConstantRate,
    erased: Option<&Erased>,
    writer: &mut TraceWriter<Slot, W>,
    made: impl Fn(u64),
) -> Result<Written, StageError> {
    let Some(erased) = erased else {
        return error_free(link, writer, made);
    };
    let begin = || erased.channel.begin(erased.seed, Use::Forward);
    let fill = |running: &mut Box<dyn Erasing>, from: u64, piece: &mut Vec<Slot>| {
        link.piece(from, PIECE, piece);
        running.erase(from, erased.on_air, piece);
        if erased.withheld {
            piece.retain(|slot| !slot.is_erased());
        }
    };
    in_pieces(link.slots(), begin, fill, writer, made)
}

/// Slots that are made while they are formatted.
struct Stretch<'a> {
    link: &'a ConstantRate,
    first: u64,
    len: usize,
}

/// Slots of a stretch that are made at a time.
const AT_ONCE: usize = 512;

impl Make<Slot> for Stretch<'_> {
    fn len(&self) -> usize {
        self.len
    }

    fn make(&self, range: Range<usize>, take: &mut dyn FnMut(&[Slot])) {
        let mut slots = Vec::with_capacity(range.len().min(AT_ONCE));
        for at in range.clone().step_by(AT_ONCE) {
            slots.clear();
            let count = AT_ONCE.min(range.end - at);
            self.link.piece(self.first + at as u64, count, &mut slots);
            take(&slots);
        }
    }
}

/// [`synthesise`] without erasures.
fn error_free<W: Write + Send>(
    link: &ConstantRate,
    writer: &mut TraceWriter<Slot, W>,
    made: impl Fn(u64),
) -> Result<Written, StageError> {
    let (slots, mut first) = (link.slots(), 0);
    loop {
        let len = ROUND.min(usize::try_from(slots - first).unwrap_or(usize::MAX));
        let stretch = Stretch { link, first, len };
        rayon::scope(|scope| writer.spawn([&stretch as &dyn Make<Slot>], scope));
        let advanced = writer.advance();
        advanced.map_err(|error| StageError::Output(0, error))?;
        if len == 0 {
            break;
        }
        made(len as u64);
        first += len as u64;
    }
    let last = slots.checked_sub(1).and_then(|last| link.tx_time(last));
    Ok(Written {
        slots,
        erased: 0,
        last: last.unwrap_or_default(),
    })
}

/// Writes all slots of a link with adaptive coding and modulation (docs/acm.md). Calls `made` with the number of slots of each
/// batch.
///
/// # Errors
/// I/O errors of the output.
pub fn synthesise_adapted<W: Write + Send>(
    link: &Adapted,
    writer: &mut TraceWriter<Slot, W>,
    made: impl Fn(u64),
) -> Result<Written, StageError> {
    let fill = |running: &mut AdaptedSlots, from: u64, piece: &mut Vec<Slot>| {
        running.piece(from, PIECE, piece);
    };
    in_pieces(link.slots(), || link.begin(), fill, writer, made)
}

/// Writes `slots` slots in pieces of [`PIECE`], several at the same time: `fill` makes each from its first slot on, with a state
/// of its own that `begin` makes. `fill` may leave slots out.
///
/// The buffers of the pieces stay, as a piece is so long that the system would take it back and clear it again each time.
fn in_pieces<S: Send, W: Write + Send>(
    slots: u64,
    begin: impl Fn() -> S,
    fill: impl Fn(&mut S, u64, &mut Vec<Slot>) + Sync + Send,
    writer: &mut TraceWriter<Slot, W>,
    made: impl Fn(u64),
) -> Result<Written, StageError> {
    let mut states: Vec<S> = (0..PIECES).map(|_| begin()).collect();
    let (mut ready, mut next) = (vec![Vec::new(); PIECES], vec![Vec::new(); PIECES]);
    let (mut begun, mut ended, lost) = (0, false, AtomicU64::new(0));
    let (fill, lost) = (&fill, &lost);
    let (mut written, mut last) = (0, Time::ZERO);
    loop {
        rayon::scope(|scope| {
            writer.spawn(ready.iter().map(Vec::as_slice), scope);
            if ended {
                return;
            }
            let firsts = (begun..).step_by(PIECE);
            for ((state, piece), first) in states.iter_mut().zip(&mut next).zip(firsts) {
                scope.spawn(move |_| {
                    piece.clear();
                    if first < slots {
                        fill(state, first, piece);
                    }
                    let erased = piece.iter().filter(|slot| slot.is_erased()).count();
                    lost.fetch_add(erased as u64, Ordering::Relaxed);
                });
            }
        });
        writer
            .advance()
            .map_err(|error| StageError::Output(0, error))?;
        if ended {
            return Ok(Written {
                slots: written,
                erased: lost.load(Ordering::Relaxed),
                last,
            });
        }
        std::mem::swap(&mut ready, &mut next);
        written += ready.iter().map(Vec::len).sum::<usize>() as u64;
        if let Some(slot) = ready.iter().rev().find_map(|piece| piece.last()) {
            last = slot.tx_time();
        }
        let before = begun;
        begun = slots.min(begun.saturating_add((PIECE * PIECES) as u64));
        made(begun - before);
        ended = begun == before;
    }
}

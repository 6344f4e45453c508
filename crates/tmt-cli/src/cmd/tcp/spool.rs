//! Timelines of any length in little memory: short ones are held, the blocks of long ones go to a temporary file.
//!
//! The end of a run, the first censored LLDU, is told behind the last row only, and runs over repeated or several
//! places of a trace go back in it. So every timeline is read once, whole, and checked; a run then asks for one block
//! after the other, 9 bytes an LLDU instead of a row of text to parse.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fluid_tcp::experiment::{Collect, Error, Loaded, Result, Storage};
use fluid_tcp::link::timeline::{Block, Builder, Store, Timeline};
use tmt_core::format::{Options, TraceReader};
use tmt_core::pipeline::collect;
use tmt_core::types::Lldu;

use crate::exit::Failure;
use crate::input::{cut_note, open_trace};

/// Memory of a timeline that is held: a million LLDUs, more or less.
const HELD: usize = 9 << 20;

/// Blocks of so much are written at a time once they are written.
const WRITTEN: usize = 1 << 20;

/// Blocks in a temporary file that is gone when the program is.
#[derive(Debug)]
struct Spool {
    file: Mutex<File>,
    /// Where each block ends.
    ends: Vec<u64>,
    /// Why a block could not be read.
    failure: OnceLock<io::Error>,
}

impl Spool {
    fn new() -> io::Result<Self> {
        Ok(Self {
            file: Mutex::new(tempfile::tempfile()?),
            ends: Vec::new(),
            failure: OnceLock::new(),
        })
    }

    fn append(&mut self, blocks: &[Block]) -> io::Result<()> {
        let file = self.file.get_mut().unwrap_or_else(PoisonError::into_inner);
        let mut end = self.ends.last().copied().unwrap_or(0);
        let mut bytes = Vec::new();
        for block in blocks {
            bytes.clear();
            block.encode(&mut bytes);
            file.write_all(&bytes)?;
            end += bytes.len() as u64;
            self.ends.push(end);
        }
        Ok(())
    }

    fn read(&self, number: usize) -> io::Result<Block> {
        let cut = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let end = *self.ends.get(number).ok_or_else(cut)?;
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        let mut bytes = vec![0; usize::try_from(end - start).map_err(|_| cut())?];
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut bytes)?;
        drop(file);
        Block::decode(&bytes).ok_or_else(cut)
    }
}

impl Store for Spool {
    fn block(&self, number: usize) -> Option<Arc<Block>> {
        let block = self.read(number).map(Arc::new);
        block.map_err(|error| self.failure.set(error)).ok()
    }

    fn failure(&self) -> Option<String> {
        let failure = self.failure.get();
        failure.map(|error| format!("{FILE}: {error}"))
    }
}

/// How messages call the file.
const FILE: &str = "temporary file of a timeline that is too long for memory (TMPDIR says where)";

/// Reads files and pipes, and keeps long timelines in temporary files.
pub(super) struct Files;

impl Storage for Files {
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded> {
        let (name, mut reader) = open_trace("tcp", path, options).map_err(storage)?;
        let timeline = read_held(&name, &mut reader, HELD)?;
        Ok(Loaded {
            timeline,
            head: reader.metadata().clone(),
            end: reader.end().and_then(|end| end.end_line),
            note: cut_note(&name, &reader).map(|note| hidden(&note)),
            name: hidden(&name),
        })
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::new(Collector::holding(HELD))
    }
}

/// Stands for a backtick of a file's name in messages, where backticks enclose the keys of parameters.
const BACKTICK: char = '\u{1}';

/// A text of the user's own in a message of the library.
fn hidden(text: &str) -> String {
    text.replace('`', &BACKTICK.to_string())
}

/// The message with the user's own texts as they are.
pub(super) fn shown(message: &str) -> String {
    message.replace(BACKTICK, "`")
}

fn storage(failure: Failure) -> Error {
    Error::Storage(Box::new(failure))
}

/// What becomes of the blocks while a timeline is read.
struct Collector {
    builder: Builder,
    /// Memory of blocks that are held.
    held: usize,
    /// What is not held, or why it cannot be kept.
    spool: io::Result<Option<Spool>>,
}

impl Collector {
    /// Nothing yet; up to `held` bytes will be held.
    fn holding(held: usize) -> Self {
        Self {
            builder: Builder::default(),
            held,
            spool: Ok(None),
        }
    }

    /// Takes rows in, and writes the blocks that are full where they are too many to be held.
    fn take(&mut self, rows: impl FnOnce(&mut Builder)) {
        let Ok(spool) = &mut self.spool else {
            return;
        };
        rows(&mut self.builder);
        let written = spool.as_ref().map_or(usize::MAX, |_| WRITTEN);
        if self.builder.bytes() > self.held.min(written) {
            let spool = spool.take().map_or_else(Spool::new, Ok);
            self.spool = spool.and_then(|mut spool| {
                spool.append(&self.builder.take_full())?;
                Ok(Some(spool))
            });
        }
    }
}

impl Collect for Collector {
    fn lldus(&mut self, lldus: &[Lldu]) {
        self.take(|builder| builder.lldus(lldus));
    }

    fn finish(self: Box<Self>) -> Result<Timeline> {
        let Self {
            mut builder, spool, ..
        } = *self;
        let timeline = spool.and_then(|spool| {
            let Some(mut spool) = spool else {
                return Ok(builder.finish());
            };
            spool.append(&builder.seal())?;
            Ok(builder.finish_in(Arc::new(spool)))
        });
        timeline.map_err(|error| storage(Failure::io(FILE, &error)))
    }
}

/// Reads all of a timeline, of which up to `held` bytes are held in memory.
fn read_held(name: &str, reader: &mut TraceReader<'_>, held: usize) -> Result<Timeline> {
    let mut collector = Collector::holding(held);
    collect(reader, |rows| collector.take(|builder| builder.rows(rows)))
        .map_err(|error| storage(Failure::input(name, &error)))?;
    Box::new(collector).finish()
}

#[cfg(test)]
mod tests {
    use fluid_tcp::endpoint::Profile;
    use fluid_tcp::link::TimelineLink;
    use fluid_tcp::simulation::metrics::RunReport;
    use fluid_tcp::simulation::probe::NoProbe;
    use fluid_tcp::simulation::{self, Flow, Setup};
    use tmt_core::format::Options;
    use tmt_core::types::{Span, Time};

    use super::*;

    #[test]
    fn blocks_come_back_from_the_file_in_any_order() {
        let mut builder = Builder::default();
        for row in 0..40_000 {
            let time = Time::from_nanos(row * 1_000_000).unwrap();
            builder.push(time, Span::from_nanos(row % 5).unwrap(), Some(1));
        }
        let mut spool = Spool::new().unwrap();
        let blocks = builder.seal();
        assert!(blocks.len() > 3);
        let (front, back) = blocks.split_at(2);
        spool.append(front).unwrap();
        spool.append(back).unwrap();
        for number in (0..blocks.len()).rev() {
            assert_eq!(spool.block(number).as_deref(), Some(&blocks[number]));
        }
        assert!(spool.failure().is_none());
        // A file that became shorter meanwhile fails, and says so.
        spool.file.get_mut().unwrap().set_len(100).unwrap();
        assert_eq!(spool.block(0), None);
        assert!(spool.failure().is_some());
    }

    /// A run over `timeline`, repeated or not.
    fn ran(timeline: Timeline, looped: bool) -> RunReport {
        let begin = timeline.first().unwrap();
        let flow = Flow::new("cubic".parse().unwrap(), Profile::Rfc.endpoint());
        let setup = Setup {
            buffer: 20,
            begin,
            end: begin.saturating_add(Span::from_secs(90)),
            link_rate_bps: Some(1e6),
            ..Setup::new(vec![flow], Span::from_millis(20), Span::ZERO)
        };
        let period = looped.then(|| Span::from_secs(61));
        let link = TimelineLink::new(Arc::new(timeline), 47, Span::ZERO, period, begin).unwrap();
        simulation::run(&setup, link, &mut NoProbe)
    }

    #[test]
    fn a_run_is_the_same_from_memory_and_from_a_file() {
        let mut text = "tx_time,decode_delay,attempts\n".to_owned();
        for row in 0..60_000_u32 {
            let delay = if row % 1_777 == 5 { 0 } else { 2_000 + row % 7 };
            let attempts = 1 + row % 300 / 298;
            text += &format!("{}.{:03},0.{delay:06},{attempts}\n", row / 1000, row % 1000);
        }
        let read = |held| {
            let options = Options {
                attempts: true,
                chunk: 1 << 14,
                ..Options::default()
            };
            let mut reader = TraceReader::new(text.as_bytes(), options).unwrap();
            read_held("x", &mut reader, held).unwrap()
        };
        for looped in [false, true] {
            let (memory, file) = (read(usize::MAX), read(0));
            let is_spooled = |timeline: &Timeline| format!("{timeline:?}").contains("Spool {");
            assert!(!is_spooled(&memory) && is_spooled(&file) && file.blocks() > 3);
            let (memory, file) = (ran(memory, looped), ran(file, looped));
            assert!(memory.total.metrics.packets_lost > 0);
            assert_eq!(memory, file);
        }
    }
}

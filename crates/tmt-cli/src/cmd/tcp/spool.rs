//! Timelines of any length in little memory: short ones stay in memory, the blocks of long ones go to a temporary file.
//!
//! The end of a run, the first censored LLDU, is known only after the last row. Runs with `--loop` or `--offsets` go back
//! in the trace. Every timeline is therefore read completely and checked first. A run then reads block after block, 9
//! bytes per LLDU, instead of parsing text.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fluid_tcp::experiment::{Collect, Error, Loaded, Result, Storage};
use rayon::ThreadPool;
use tmt_core::format::{Options, TraceReader};
use tmt_core::pipeline::collect;
use tmt_core::types::{Lldu, Note, Slot};
use tmt_link::timeline::{Block, Builder, Store, Trace};

use crate::exit::Failure;
use crate::host::{Here, here};
use crate::input::{open_trace, reading_notes};
use crate::pool;

/// Memory for a timeline, bytes: about a million LLDUs.
const MEMORY: usize = 9 << 20;

/// Size of a write to the temporary file, bytes.
const WRITE_SIZE: usize = 1 << 20;

/// Blocks in a temporary file, which disappears with the program.
#[derive(Debug)]
struct Spool {
    file: Mutex<File>,
    /// End of each block in the file, bytes.
    ends: Vec<u64>,
    /// Error of a block that could not be read.
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

/// Name of the file in messages.
const FILE: &str =
    "temporary file of a timeline that is too long for memory (TMPDIR sets its directory)";

/// Storage that reads files and pipes, and spools long timelines to temporary files.
pub(crate) struct Files {
    here: Here,
    /// Threads of the call.
    threads: usize,
    /// As many for traces that are read by threads of no pool, or why there are none. They end with the call.
    pool: OnceLock<Result<ThreadPool, String>>,
}

impl Files {
    /// Those of the call that this thread works for.
    pub(crate) fn here() -> Self {
        Self {
            here: here(),
            threads: rayon::current_num_threads(),
            pool: OnceLock::new(),
        }
    }

    fn load(path: Option<&str>, options: Options) -> Result<Loaded> {
        let (name, mut reader) = open_trace("tcp", path, options).map_err(storage)?;
        Ok(Loaded {
            rows: read_rows(&name, &mut reader, MEMORY)?,
            head: reader.metadata().clone(),
            end: reader.end().and_then(|end| end.end_line),
            notes: reading_notes(&name, &reader)
                .into_iter()
                .map(|note| Note {
                    text: escaped(&note.text),
                    ..note
                })
                .collect(),
            name: escaped(&name),
        })
    }
}

impl Storage for Files {
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded> {
        let host = self.here.host();
        let Some(host) = host.filter(|_| rayon::current_thread_index().is_none()) else {
            return self.here.enter(|| Self::load(path, options));
        };
        let pool = self
            .pool
            .get_or_init(|| pool(host, Some(self.threads)).map_err(|error| error.to_string()));
        let pool = pool.as_ref();
        let pool = pool.map_err(|error| Error::Storage(error.clone().into()))?;
        pool.install(|| Self::load(path, options))
    }

    fn stopped(&self) -> bool {
        self.here.is_stopped()
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::new(Collector::new(MEMORY))
    }
}

/// Replaces a backtick of a file name in messages, where backticks enclose keys of parameters.
const BACKTICK: char = '\u{1}';

/// Escapes backticks of a file name for a message of the library.
fn escaped(text: &str) -> String {
    text.replace('`', &BACKTICK.to_string())
}

/// Restores the backticks of file names in a message.
pub(crate) fn unescaped(message: &str) -> String {
    message.replace(BACKTICK, "`")
}

fn storage(failure: Failure) -> Error {
    Error::Storage(Box::new(failure))
}

/// Collects the blocks of a timeline while it is read.
struct Collector {
    builder: Builder,
    /// Memory for blocks, bytes.
    memory: usize,
    /// The blocks in the file, or the error that prevents it.
    spool: io::Result<Option<Spool>>,
}

impl Collector {
    /// An empty collector that holds up to `memory` bytes.
    fn new(memory: usize) -> Self {
        Self {
            builder: Builder::default(),
            memory,
            spool: Ok(None),
        }
    }

    /// Adds rows, and writes full blocks to the file if they exceed the memory.
    fn add(&mut self, rows: impl FnOnce(&mut Builder)) {
        let Ok(spool) = &mut self.spool else {
            return;
        };
        rows(&mut self.builder);
        let written = spool.as_ref().map_or(usize::MAX, |_| WRITE_SIZE);
        if self.builder.bytes() > self.memory.min(written) {
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
        self.add(|builder| builder.lldus(lldus));
    }

    fn slots(&mut self, slots: &[Slot]) {
        self.add(|builder| builder.slots(slots));
    }

    fn finish(self: Box<Self>) -> Result<Trace> {
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

/// Reads a whole trace; up to `memory` bytes of it stay in memory.
fn read_rows(name: &str, reader: &mut TraceReader<'_>, memory: usize) -> Result<Trace> {
    let mut collector = Collector::new(memory);
    collect(reader, |rows| collector.add(|builder| builder.rows(rows)))
        .map_err(|error| storage(Failure::input(name, &error)))?;
    Box::new(collector).finish()
}

#[cfg(test)]
mod tests {
    use fluid_tcp::endpoint::Profile;
    use fluid_tcp::simulation::metrics::RunReport;
    use fluid_tcp::simulation::probe::NoProbe;
    use fluid_tcp::simulation::{Flow, Setup, run_timeline};
    use tmt_core::format::Options;
    use tmt_core::types::{Span, Time};
    use tmt_link::queue::Buffer;
    use tmt_link::{Segmentation, TimelineLink};

    use super::*;
    use crate::host::Host;

    #[test]
    fn blocks_are_read_back_in_any_order() {
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
        // A truncated file is an error.
        spool.file.get_mut().unwrap().set_len(100).unwrap();
        assert_eq!(spool.block(0), None);
        assert!(spool.failure().is_some());
    }

    /// A run over `timeline`, repeated or not.
    fn ran(timeline: Trace, looped: bool) -> RunReport {
        let begin = timeline.first().unwrap();
        let flow = Flow::new("cubic".parse().unwrap(), Profile::Rfc.endpoint());
        let setup = Setup {
            buffer: Buffer::Packets(20),
            begin,
            end: begin.saturating_add(Span::from_secs(90)),
            ..Setup::new(vec![flow], Span::from_millis(20), Span::ZERO)
        };
        let period = looped.then(|| Span::from_secs(61));
        let whole = Segmentation::whole(setup.packet, 47);
        let link = TimelineLink::new(timeline.into(), whole, Span::ZERO, period, begin).unwrap();
        run_timeline(&setup, link, &mut NoProbe).unwrap()
    }

    #[test]
    fn threads_of_no_pool_read_on_as_many_as_the_call_has() {
        let host = Arc::new(Host::default());
        let sizes = Arc::new(Mutex::new(Vec::new()));
        for name in ["a", "b"] {
            let sizes = Arc::clone(&sizes);
            let open = move |options| {
                let pool = rayon::current_thread_index().map(|_| rayon::current_num_threads());
                sizes.lock().unwrap().push(pool);
                TraceReader::new("tx_time,decode_delay\n0,1e-3\n".as_bytes(), options)
            };
            host.hold_trace(name, Box::new(open));
        }
        // As many as no pool has by default.
        let jobs = std::thread::available_parallelism().unwrap().get() + 3;
        let of_call = pool(&host, Some(jobs)).unwrap();
        let files = of_call.install(Files::here);
        let read = |name| {
            files
                .read(Some(name), Options::default())
                .unwrap()
                .rows
                .len()
        };
        assert_eq!(
            std::thread::scope(|scope| scope.spawn(|| read("a")).join().unwrap()),
            1
        );
        assert_eq!(of_call.install(|| read("b")), 1);
        assert_eq!(*sizes.lock().unwrap(), [Some(jobs); 2]);
    }

    #[test]
    fn runs_from_memory_and_from_a_file_are_equal() {
        let mut text = "tx_time,decode_delay,attempts\n".to_owned();
        for row in 0..60_000_u32 {
            let delay = if row % 1_777 == 5 { 0 } else { 2_000 + row % 7 };
            let attempts = 1 + row % 300 / 298;
            text += &format!("{}.{:03},0.{delay:06},{attempts}\n", row / 1000, row % 1000);
        }
        let read = |memory| {
            let options = Options {
                attempts: true,
                chunk: 1 << 14,
                ..Options::default()
            };
            let mut reader = TraceReader::new(text.as_bytes(), options).unwrap();
            read_rows("x", &mut reader, memory).unwrap()
        };
        for looped in [false, true] {
            let (memory, file) = (read(usize::MAX), read(0));
            let is_spooled = |timeline: &Trace| format!("{timeline:?}").contains("Spool {");
            assert!(!is_spooled(&memory) && is_spooled(&file) && file.blocks() > 3);
            let (memory, file) = (ran(memory, looped), ran(file, looped));
            assert!(memory.total.metrics.packets_lost > 0);
            assert_eq!(memory, file);
        }
    }
}

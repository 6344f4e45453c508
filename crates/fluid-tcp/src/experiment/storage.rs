//! Input and storage of traces: the only part of an experiment that touches the operating system.

use tmt_core::format::Options;
use tmt_core::types::{EndLine, Lldu, Metadata, Note, Slot};

use super::error::{Error, Result, refused};
use tmt_link::timeline::{Builder, Trace};

/// A trace read to its end. Clones share the rows.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// Name of the trace in messages, such as its file name.
    pub name: String,
    /// Rows of the trace, slots or LLDUs, in memory or in a store.
    pub rows: Trace,
    /// Metadata of the trace.
    pub head: Metadata,
    /// End line of the trace.
    pub end: Option<EndLine>,
    /// Notes about the trace, for example that it was cut.
    pub notes: Vec<Note>,
}

/// A trace under construction.
pub trait Collect {
    /// Appends LLDUs in order.
    fn lldus(&mut self, lldus: &[Lldu]);

    /// Appends slots in order, as rows without attempts.
    fn slots(&mut self, slots: &[Slot]);

    /// Completes the trace.
    ///
    /// # Errors
    /// [`super::Error::Storage`] if it could not be stored.
    fn finish(self: Box<Self>) -> Result<Trace>;
}

/// Reads and stores traces of any length.
pub trait Storage: Sync {
    /// Reads a whole trace from the file `path`, or from stdin for `None` or `-`.
    ///
    /// # Errors
    /// [`super::Error::Storage`] if it cannot be read or stored.
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded>;

    /// Begins a trace.
    fn collect(&self) -> Box<dyn Collect>;

    /// Whether the work shall end early, with [`super::Error::Stopped`]: the user has interrupted it. Asked often. Storage that
    /// wraps another asks that one.
    fn stopped(&self) -> bool;
}

impl dyn Storage + '_ {
    /// The slots of `trace`, block by block; [`super::Error::Stopped`] in place of the next block once the work shall end.
    pub(super) fn slots(&self, trace: &Trace) -> impl Iterator<Item = Result<Vec<Slot>>> {
        let blocks = trace.slots();
        blocks.map(|block| {
            if self.stopped() {
                Err(Error::Stopped)
            } else {
                Ok(block?)
            }
        })
    }
}

/// Storage that reads no traces and holds what it collects in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMemory;

impl Collect for Builder {
    fn lldus(&mut self, lldus: &[Lldu]) {
        Builder::lldus(self, lldus);
    }

    fn slots(&mut self, slots: &[Slot]) {
        Builder::slots(self, slots);
    }

    fn finish(self: Box<Self>) -> Result<Trace> {
        Ok(Builder::finish(*self))
    }
}

impl Storage for InMemory {
    fn read(&self, path: Option<&str>, _options: Options) -> Result<Loaded> {
        let path = path.unwrap_or("-");
        refused(
            "trace",
            format!("`trace`: found {path}, expected no trace: this storage reads none"),
        )
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::new(Builder::default())
    }

    fn stopped(&self) -> bool {
        false
    }
}

//! Where traces come from and where timelines are kept: the side of an experiment that touches the operating system.

use tmt_core::format::Options;
use tmt_core::types::{EndLine, Lldu, Metadata};

use super::error::{Result, refused};
use crate::link::timeline::{Builder, Timeline};

/// A trace that has been read whole.
#[derive(Debug)]
pub struct Loaded {
    /// What messages call it.
    pub name: String,
    /// Its rows.
    pub timeline: Timeline,
    /// Its head.
    pub head: Metadata,
    /// Its end line.
    pub end: Option<EndLine>,
    /// What to say of it, such as of an end that is missing.
    pub note: Option<String>,
}

/// A timeline that is being made.
pub trait Collect {
    /// Adds LLDUs in their order.
    fn lldus(&mut self, lldus: &[Lldu]);

    /// All of them.
    ///
    /// # Errors
    /// [`super::Error::Storage`] where the timeline could not be kept.
    fn finish(self: Box<Self>) -> Result<Timeline>;
}

/// Reads traces, and keeps timelines of any length.
pub trait Storage: Sync {
    /// Reads a whole trace: the file `path`; none, or `-`, for a pipe.
    ///
    /// # Errors
    /// [`super::Error::Storage`] where it cannot be read or kept.
    fn read(&self, path: Option<&str>, options: Options) -> Result<Loaded>;

    /// Begins a timeline.
    fn collect(&self) -> Box<dyn Collect>;
}

/// Reads no traces, and keeps timelines in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct InMemory;

impl Collect for Builder {
    fn lldus(&mut self, lldus: &[Lldu]) {
        Builder::lldus(self, lldus);
    }

    fn finish(self: Box<Self>) -> Result<Timeline> {
        Ok(Builder::finish(*self))
    }
}

impl Storage for InMemory {
    fn read(&self, path: Option<&str>, _options: Options) -> Result<Loaded> {
        let path = path.unwrap_or("-");
        refused(
            "trace",
            format!("`trace`: found {path}, and no way to read traces"),
        )
    }

    fn collect(&self) -> Box<dyn Collect> {
        Box::new(Builder::default())
    }
}

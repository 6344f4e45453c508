//! Runs written down: one row a packet copy, a used slot, or an event of a sender; captures, qlog, one packet's story.

mod explain;
mod packets;
mod pcap;
mod qlog;
mod series;
mod slots;

pub use explain::{
    Explain, Lldus, PacketHistory, TransmissionDelay, TransmissionHistory, TransmissionService,
};
pub use packets::PacketLog;
pub use pcap::{HEADERS, LARGEST, Pcap, PcapFlow};
pub use qlog::Qlog;
pub use series::Series;
pub use slots::SlotLog;

use std::io::{self, Write};

use serde::Serialize;
use strum::IntoStaticStr;
use tmt_core::format::table::{Cell, Column, Kind, TableForm, TableWriter};
use tmt_core::types::{Metadata, Span, Time};

use crate::simulation::probe::Refused;

/// Where rows go; the first error of the output is kept and ends the writing.
#[derive(Debug)]
struct Table<W: Write + Send> {
    writer: TableWriter<W>,
    error: Option<io::Error>,
}

impl<W: Write + Send> Table<W> {
    fn new(
        output: W,
        form: TableForm,
        columns: &'static [Column],
        head: &Metadata,
    ) -> io::Result<Self> {
        Ok(Self {
            writer: TableWriter::new(output, form, columns, head)?,
            error: None,
        })
    }

    fn row(&mut self, cells: &[Cell]) {
        if self.error.is_none() {
            self.error = self.writer.row(cells).err();
        }
    }

    fn finish(self) -> io::Result<W> {
        self.error.map_or_else(|| self.writer.finish(), Err)
    }
}

/// What became of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, IntoStaticStr)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Fate {
    /// The run ended before it was known.
    #[default]
    Open,
    /// It reached the receiver.
    Delivered,
    /// The queue dropped it: it was full, or its discipline wanted so.
    Queue,
    /// Lost on the link.
    Link,
    /// A proxy had it already.
    Duplicate,
}

impl From<Refused> for Fate {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Full => Self::Queue,
            Refused::Duplicate => Self::Duplicate,
        }
    }
}

/// A column in which every row has something.
const fn always(name: &'static str, kind: Kind) -> Column {
    Column {
        name,
        kind,
        optional: false,
    }
}

/// A column in which a row may have nothing.
const fn maybe(name: &'static str, kind: Kind) -> Column {
    Column {
        optional: true,
        ..always(name, kind)
    }
}

fn time(time: Option<Time>) -> Cell {
    time.map_or(Cell::None, |time| Cell::Time(time.as_nanos()))
}

fn span(span: Option<Span>) -> Cell {
    span.map_or(Cell::None, |span| Cell::Time(span.as_nanos()))
}

fn count(count: Option<u64>) -> Cell {
    count.map_or(Cell::None, Cell::Count)
}

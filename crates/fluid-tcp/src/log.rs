//! Runs written down: one row a packet copy, a used slot, or an event of a sender; captures, qlog, one packet's story.

mod explain;
mod packets;
mod pcap;
mod qlog;
mod series;
mod slots;

pub use explain::{CopyStory, Explain, Story};
pub use packets::PacketLog;
pub use pcap::{HEADERS, LARGEST, Pcap, PcapFlow};
pub use qlog::Qlog;
pub use series::Series;
pub use slots::SlotLog;

use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm, TableWriter};
use tmt_core::types::{Metadata, Span, Time};

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
        match self.error {
            Some(error) => Err(error),
            None => self.writer.finish(),
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
        name,
        kind,
        optional: true,
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

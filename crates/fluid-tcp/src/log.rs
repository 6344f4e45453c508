//! Logs of a run: packet log, slot log, series, delays, captures, qlog, and the history of one packet (docs/simulator.md,
//! Sec. 11 and 12).

mod course;
mod delays;
mod explain;
mod intervals;
mod packets;
mod pcap;
mod qlog;
mod recording;
mod series;
mod slots;

pub use course::{Course, Stretch, Totals};
pub use delays::Delays;
pub use explain::{
    Explain, Lldus, PacketHistory, TransmissionDelay, TransmissionHistory, TransmissionService,
};
pub use intervals::Intervals;
pub use packets::PacketLog;
pub use pcap::{Capture, Pcap, check_packet};
pub use qlog::Qlog;
pub use recording::{Drops, Recording, RecordingError};
pub use series::{HostSample, HostSeries, Series};
pub use slots::SlotLog;

use std::io::{self, Write};

use serde::Serialize;
use strum::{EnumString, IntoStaticStr};
use tmt_core::format::table::{Cell, Column, TableForm, TableWriter};
use tmt_core::types::{Metadata, Span, Time};

use crate::simulation::Side;
use crate::simulation::probe::Refused;

/// Writer of rows. After the first error of the output nothing more is written; `finish` returns the error.
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

/// Fate of one transmission of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, IntoStaticStr, EnumString)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Fate {
    /// Unknown, because the run ended before.
    #[default]
    Open,
    /// It reached the receiver.
    Delivered,
    /// The queue dropped it, because it was full or by its discipline.
    Queue,
    /// It was lost on the link, after all rounds of its codeword.
    Link,
    /// It was dropped or lost on the terrestrial path before the gateway.
    Terrestrial,
    /// It was dropped or lost on the far path behind the link.
    Far,
    /// A proxy discarded it because it had the packet already.
    Duplicate,
}

impl From<Side> for Fate {
    fn from(side: Side) -> Self {
        match side {
            Side::Terrestrial => Self::Terrestrial,
            Side::Far => Self::Far,
        }
    }
}

impl From<Refused> for Fate {
    fn from(why: Refused) -> Self {
        match why {
            Refused::Full => Self::Queue,
            Refused::Duplicate => Self::Duplicate,
        }
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

//! `--slots`: one row per used slot of a coupled link, in the order of the slots.

use std::io::{self, Write};

use tmt_core::format::table::{Cell, Column, Kind, TableForm};
use tmt_core::scheme::engine::UnitKind;
use tmt_core::types::Metadata;

use super::{Table, time};
use tmt_link::SlotUse;

use crate::endpoint::Transmission;
use crate::simulation::probe::Probe;

/// Columns of the log (docs/simulator.md, Sec. 11).
const COLUMNS: &[Column] = &[
    Column::always("slot", Kind::Count),
    Column::always("time", Kind::Time),
    Column::always("unit", Kind::Word),
    Column::always("flow", Kind::Count),
    Column::always("packet", Kind::Count),
    Column::always("copy", Kind::Count),
    Column::always("codeword", Kind::Count),
    Column::always("attempt", Kind::Count),
    Column::always("received", Kind::Count),
    Column::maybe("arrival", Kind::Time),
];

/// Probe that writes the slot log during the run.
#[derive(Debug)]
pub struct SlotLog<W: Write + Send>(Table<W>);

impl<W: Write + Send> SlotLog<W> {
    /// Creates the log of a run and writes its head.
    ///
    /// # Errors
    /// An error of the output.
    pub fn new(output: W, form: TableForm, head: &Metadata) -> io::Result<Self> {
        let mut head = head.clone();
        head.set("log", "slots/2");
        Table::new(output, form, COLUMNS, &head).map(Self)
    }

    /// Writes the end line.
    ///
    /// # Errors
    /// The first error of the output.
    pub fn finish(self) -> io::Result<W> {
        self.0.finish()
    }
}

impl<W: Write + Send> Probe for SlotLog<W> {
    fn watches_slots(&self) -> bool {
        true
    }

    fn on_slot(&mut self, used: &SlotUse) {
        let transmission = Transmission::of(&used.packet);
        self.0.row(&[
            Cell::Count(used.slot),
            Cell::Time(used.at.as_nanos()),
            Cell::Word(match used.kind {
                UnitKind::Data => "data",
                UnitKind::Repair => "repair",
                UnitKind::Repeat => "repeat",
            }),
            Cell::Count(used.packet.flow.into()),
            Cell::Count(transmission.packet),
            Cell::Count(transmission.copy.into()),
            Cell::Count(used.codeword),
            Cell::Count(used.attempt.into()),
            Cell::Count(used.arrival.is_some().into()),
            time(used.arrival),
        ]);
    }
}

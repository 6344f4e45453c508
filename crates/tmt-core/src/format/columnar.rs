//! The columns of a trace in a binary format (docs/trace-format.md, Sec. 6): lookup by name, types, valid values,
//! and conversion to slots. Arrow and Parquet share these rules.

mod append;
mod collect;
mod double;
pub(crate) mod head;
mod layout;
mod source;

pub(crate) use collect::{Collected, batches};
pub(crate) use layout::Layout;
pub use layout::Options;
pub use source::{Batch, Next, Source, panics_are_contained};
pub(crate) use source::{Item, catch_panics};

use arrow_schema::{DataType, Field};

use crate::format::columns::{BINARY_NAMES, DECODE_DELAY};
use crate::types::{Lldu, Slot, Span, Time};

/// The columns of rows of type `R`, in the order in which they are written. A delay may be null.
pub(crate) fn fields<R: Row>() -> Vec<Field> {
    let names = BINARY_NAMES.into_iter().enumerate();
    names
        .take(if R::HAS_ATTEMPTS { 3 } else { 2 })
        .map(|(column, name)| Field::new(name, DataType::Int64, column == DECODE_DELAY))
        .collect()
}

/// A row that can be written: a slot, an LLDU, or a type of the caller.
pub trait Row {
    /// Whether these rows have a column `attempts`.
    const HAS_ATTEMPTS: bool;

    /// Time at which the slot, or the first transmission of the LLDU, starts.
    fn tx_time(&self) -> Time;

    /// Delay until decoding or delivery, without propagation; zero if erased, lost or censored.
    fn decode_delay(&self) -> Span;

    /// Number of attempts, at least 1. Called only if [`Row::HAS_ATTEMPTS`] is true.
    fn attempts(&self) -> u32;
}

impl Row for Slot {
    const HAS_ATTEMPTS: bool = false;

    fn tx_time(&self) -> Time {
        Self::tx_time(self)
    }

    fn decode_delay(&self) -> Span {
        Self::decode_delay(self)
    }

    fn attempts(&self) -> u32 {
        1
    }
}

impl Row for Lldu {
    const HAS_ATTEMPTS: bool = true;

    fn tx_time(&self) -> Time {
        self.tx_time
    }

    fn decode_delay(&self) -> Span {
        self.decode_delay
    }

    fn attempts(&self) -> u32 {
        self.attempts
    }
}

//! Transfers over TCP whose data are all available at once: without end, or of a size.

use tmt_core::named::{Kind, Parameter};
use tmt_core::types::Bytes;

use super::{Entry, Make, Traffic};
use crate::simulation::Flow;

pub(super) static BULK: Entry = Entry {
    name: "bulk",
    about: "a transfer without end over TCP",
    parameters: &[],
    examples: &["bulk"],
    make: Make::of(|_| Ok(Box::new(Bulk(None)))),
};

pub(super) static BYTES: Entry = Entry {
    name: "bytes",
    about: "a transfer of a size over TCP",
    parameters: &[Parameter::required("size", Kind::Size)
        .without_name()
        .described("SIZE", "payload")],
    examples: &["bytes(1MB)", "bytes(size=100kB)"],
    make: Make::of(|values| Ok(Box::new(Bulk(Some(values.size("size")))))),
};

/// A transfer of a size, or without end.
#[derive(Debug)]
struct Bulk(Option<Bytes>);

impl Traffic for Bulk {
    fn flow(&self, flow: Flow, packet: Bytes) -> Option<Flow> {
        match self.0 {
            Some(bytes) => flow.of_bytes(bytes, packet),
            None => Some(flow),
        }
    }
}

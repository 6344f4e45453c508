//! JSON of irtt, `irtt client -o FILE` (docs/trace-format.md, Sec. 12.6).
//!
//! Fields: <https://github.com/heistp/irtt/blob/master/doc/irtt-client.md>, Sec. "JSON output". A file is one object with the
//! list `round_trips`, one element per packet that was sent; it is read element by element. Times and delays are integers, ns.

mod packets;

use std::io::BufRead;

use super::json;
use super::probe::{self, DIRECTION, Direction, INTERVAL, LLDU, PROPAGATION, Shape};
use super::{Files, Given, Import, ImportError, Importer, Key, RTT, Remark, TRACE};
use crate::format::foreign::Carries;
use crate::types::TraceKind;
use packets::Packets;

const KEYS: [Key; 6] = [TRACE, DIRECTION, INTERVAL, PROPAGATION, RTT, LLDU];

/// Importer of JSON of irtt.
#[derive(Debug)]
pub struct Format;

impl Importer for Format {
    fn name(&self) -> &'static str {
        "irtt"
    }

    fn about(&self) -> &'static str {
        "JSON of `irtt client -o`, one round trip per packet; one-way delays with --direction"
    }

    fn kind(&self) -> TraceKind {
        TraceKind::Probe
    }

    fn carries(&self) -> Carries {
        Carries::NOTHING.delay().loss()
    }

    fn recognises(&self, first: &[u8]) -> bool {
        let holds = |words: &[u8]| memchr::memmem::find(first, words).is_some();
        json::begins(first, b'{') && (holds(b"\"irtt\"") || holds(b"\"round_trips\""))
    }

    fn keys(&self) -> &'static [Key] {
        &KEYS
    }

    fn open(
        &self,
        given: &Given,
        files: &mut dyn Files,
        note: &mut dyn FnMut(Remark),
    ) -> Result<Import, ImportError> {
        let mut settings = given.clone();
        let direction = Direction::complete(&mut settings, note);
        if direction == Direction::Down && given.has(INTERVAL.name) {
            let refusal = format!(
                "`{}` does not apply to `{}` down: the server answers only the packets that reach it",
                INTERVAL.name, DIRECTION.name
            );
            return Err(ImportError::Refused(refusal));
        }
        let shape = Shape {
            format: self.name(),
            inputs: &[TRACE.name],
            has_delays: true,
            places: (TRACE.name, TRACE.name),
            make: &Packets::open,
        };
        let mut import = probe::open(&shape, given, settings, files, note)?;
        direction.describe(&mut import.head);
        Ok(import)
    }
}

/// A file of irtt.
type File = json::Elements<Box<dyn BufRead + Send>>;

#[cfg(test)]
mod tests;

//! JSON of irtt, `irtt client -o FILE` (docs/trace-format.md, Sec. 12.6).
//!
//! Fields: <https://github.com/heistp/irtt/blob/master/doc/irtt-client.md>, Sec. "JSON output". A file is one object with the
//! list `round_trips`, one element per packet that was sent; it is read element by element. Times and delays are integers, ns.

mod packets;

use std::io::BufRead;

use super::json;
use super::probe::{self, DIRECTION, Direction, INTERVAL, LLDU, PROPAGATION, Shape};
use super::{ImportError, Importer, Parameter, RTT, TRACE};
use crate::format::foreign::Carries;
use crate::types::TraceKind;
use packets::Packets;

const KEYS: [Parameter; 6] = [TRACE, DIRECTION, INTERVAL, PROPAGATION, RTT, LLDU];

/// Importer of JSON of irtt.
pub static FORMAT: Importer = Importer {
    name: "irtt",
    about: "JSON of `irtt client -o`, one round trip per packet; one-way delays with --direction",
    kind: TraceKind::Probe,
    carries: Carries::NOTHING.delay().loss(),
    keys: &KEYS,
    recognises: |first| {
        let holds = |words: &[u8]| memchr::memmem::find(first, words).is_some();
        json::begins(first, b'{') && (holds(b"\"irtt\"") || holds(b"\"round_trips\""))
    },
    open: |given, files, note| {
        let mut settings = given.clone();
        let direction = Direction::complete(&mut settings, note);
        if direction == Direction::Down && given.has(INTERVAL.name) {
            let refusal = format!(
                "`{}` does not apply to `{}` down: the server answers only the packets that reach it",
                INTERVAL.name, DIRECTION.name
            );
            return Err(ImportError::Refused(refusal));
        }
        let shape = Shape::new(&FORMAT, Some(TRACE.name), Packets::open);
        let mut import = probe::open(&shape, given, settings, files, note)?;
        direction.describe(&mut import.head);
        Ok(import)
    },
};

/// A file of irtt.
type File = json::Elements<Box<dyn BufRead + Send>>;

#[cfg(test)]
mod tests;

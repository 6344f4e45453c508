//! Reno, RFC 5681: NewReno's window. Without SACK, the first ACK of new data ends a fast recovery (Sec. 3.2, step 6),
//! even if it is partial.
//!
//! Duplicate ACKs may then start the next recovery at once, so several losses in one window cut it several times or
//! end in a timeout. RFC 6582 solves this. With SACK, `reno` equals `newreno` (RFC 6675 for both).
//! Deviations: none beyond those of `newreno.rs`.

use super::newreno::NewReno;
use super::{Entry, Make, hystart};

/// Reno (RFC 5681) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "reno",
    about: "RFC 5681: without SACK, the first ACK of new data ends a fast recovery",
    parameters: &[hystart::PARAMETER_OFF],
    examples: &["reno", "reno:hystart=on"],
    make: Make(|connection, parameters| {
        let mut reno = NewReno::new(connection, parameters);
        reno.uses_newreno_recovery = false;
        Box::new(reno)
    }),
};

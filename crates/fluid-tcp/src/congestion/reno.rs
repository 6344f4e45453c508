//! Reno, RFC 5681: NewReno's window, and without SACK a fast recovery that the first acknowledgement of new
//! data ends (§3.2 step 6), with all that was sent acknowledged or not.
//!
//! Duplicates may then start the next recovery at once, so several losses in one window cut it several times
//! or end in a timeout; that is what RFC 6582 mends. With SACK it is `newreno` (RFC 6675 for both).
//! Deviations: none beyond those of `newreno.rs`.

use super::newreno::NewReno;
use super::{Entry, Parameter};

/// Reno (RFC 5681) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "reno",
    about: "RFC 5681: the first acknowledgement of new data ends a fast recovery",
    parameters: &[Parameter::switch("hystart", false)],
    examples: &["reno", "reno:hystart=on"],
    make: |initial_window, parameters| {
        let mut reno = NewReno::new(initial_window, parameters.is_on("hystart"));
        reno.recovers_by_partial = false;
        Box::new(reno)
    },
};

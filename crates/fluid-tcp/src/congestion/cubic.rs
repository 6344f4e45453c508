//! CUBIC: RFC 9438 (`cubic/rfc9438.rs`) or as in Linux (`cubic/linux.rs`), as the hosts have it
//! ([`super::Implementation::cubic`]).

mod linux;
mod rfc9438;

use super::{CubicForm, Entry, Make, Parameter, hystart};

/// CUBIC (RFC 9438, or of Linux) as a registry entry.
pub static ENTRY: Entry = Entry {
    name: "cubic",
    about: "RFC 9438, or as in Linux (--cubic)",
    parameters: &[
        // The factor of the window after a loss (RFC 9438, Sec. 4.6). The papers use 0.8, like Linux 2.6.22 in ns-2
        // (819/1024).
        Parameter::number("beta", 0.7, 0.1, 0.99),
        // C, segments/s³ (Sec. 4.1.2).
        Parameter::number("c", 0.4, 0.001, 100.0),
        hystart::PARAMETER,
    ],
    examples: &["cubic", "cubic:beta=0.8,c=0.3,hystart=on"],
    make: Make(
        |connection, parameters| match connection.implementation.cubic {
            CubicForm::Rfc9438 => Box::new(rfc9438::Cubic::new(connection, parameters)),
            CubicForm::Linux => Box::new(linux::Cubic::new(connection, parameters)),
        },
    ),
};

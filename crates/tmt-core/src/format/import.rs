//! Measured traces of other tools into (t, d), in the open (link-layer.md §11).
//!
//! One format, one file. A converter streams rows and collects [`Finding`]s on the way: what in the
//! files a user would want to know about before believing the result.

pub mod delay_loss;
mod lines;
pub mod mahimahi;

pub use lines::Lines;

use std::fmt;

/// Something about the input that is worth a line on stderr.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file it was found in, by its role.
    pub file: &'static str,
    /// What was found and what was made of it.
    pub text: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.text)
    }
}

/// The formats `--from` knows: name, and what it is.
pub const FORMATS: [(&str, &str); 2] = [delay_loss::FORMAT, mahimahi::FORMAT];

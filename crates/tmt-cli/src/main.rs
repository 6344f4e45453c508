//! The program `tmt`, with the entries of its crates.

use std::process::ExitCode;

fn main() -> ExitCode {
    tmt_cli::run(tmt_cli::Registries::default())
}

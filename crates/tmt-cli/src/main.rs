//! `tmt`: measured trace → reliability scheme → link-layer timeline → TCP, chained with pipes.
//!
//! This crate alone touches the operating system. `main` only routes; each command is one file in
//! `cmd/`, with its flags as typed at the top and its work below.

mod cmd;
mod exit;
mod input;
mod output;
mod provenance;
mod quantity;
mod table;

use std::process::ExitCode;

use clap::Parser;

use crate::cmd::Command;

/// From measured physical-layer traces to link-layer timelines to TCP.
#[derive(Debug, Parser)]
#[command(
    name = "tmt",
    version,
    max_term_width = 100,
    after_help = "Example:\n  tmt demo\n  tmt apply --scheme harq:10/12 < phy.csv | tmt tcp --cc cubic\n\n\
                  Exit codes: 0 done (also when the reader of a pipe went away), 1 bad data or I/O, 2 usage."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    output::clean_up_on_signals();
    let name = cli.command.name();
    exit::code(name, cli.command.run())
}

//! `tmt`: measured trace → reliability scheme → link-layer timeline → TCP, chained with pipes.
//!
//! This crate alone touches the operating system. `main` only routes; each command is one file in
//! `cmd/`, with its flags as typed at the top and its work below.
//!
//! From the bottom to the top; a module uses only modules above it in this list (`tests/architecture.rs` checks it):
//! - [`provenance`]: this program's name and version, and what it writes into heads.
//! - [`stderr`], [`progress`], [`exit`]: lines and the bar on stderr; exit codes and their messages.
//! - [`input`], [`output`], [`quantity`]: what is read; files that appear whole; flags that take a quantity.
//! - [`table`]: tables for people.
//! - [`cmd`]: the commands.

mod cmd;
mod exit;
mod input;
mod output;
mod progress;
mod provenance;
mod quantity;
mod stderr;
mod table;

use std::num::NonZero;
use std::process::ExitCode;

use clap::Parser;
use rayon::ThreadPoolBuilder;

use crate::cmd::Command;
use crate::exit::Failure;

/// From measured physical-layer traces to link-layer timelines to TCP.
#[derive(Debug, Parser)]
#[command(
    name = "tmt",
    version,
    max_term_width = 100,
    disable_help_flag = true,
    after_help = "Example:\n  tmt demo\n  tmt apply --scheme harq:10/12 < phy.csv | tmt tcp --cc cubic\n\n\
                  Exit codes: 0 done (also when the reader of a pipe went away), 1 bad data or I/O, 2 usage."
)]
struct Cli {
    /// Print errors only: no notes, no tables on stderr, no progress bar
    #[arg(short, long, global = true, help_heading = "General")]
    quiet: bool,
    /// Worker threads; the output does not depend on it [default: all cores]
    #[arg(short, long, global = true, help_heading = "General", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
    /// Print help
    #[arg(short, long, global = true, help_heading = "General", action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

/// Threads that `--jobs` may ask for where there are fewer cores.
const LEAST_LIMIT: usize = 8;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return exit::usage(&error),
    };
    if cli.quiet {
        stderr::be_quiet();
    }
    output::clean_up_on_signals();
    exit::leave_out_contained_panics();
    let name: &str = (&cli.command).into();
    // Everything runs on the pool's threads, so that no round of a pipeline has to wake one up first.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cli
        .jobs
        .map_or(0, |jobs| usize::from(jobs).min(cores.max(LEAST_LIMIT)));
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let outcome = match pool {
        Ok(pool) => pool.install(|| cli.command.run()),
        Err(error) => Err(Failure::failed(error)),
    };
    progress::clear();
    exit::code(name, outcome)
}

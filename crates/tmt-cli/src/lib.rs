//! `tmt`: measured trace → reliability scheme → link-layer timeline → TCP, chained with pipes.
//!
//! Only this crate touches the operating system. [`run`] dispatches. Each command is one file in `cmd/`: its flags at the
//! top, its work below. A program with congestion controls, queues or schemes of its own calls [`run`] with them:
//!
//! ```no_run
//! use std::process::ExitCode;
//! use tmt_cli::{Registries, run};
//!
//! fn main() -> ExitCode {
//!     run(Registries { controls: vec![], queues: vec![], schemes: vec![] })
//! }
//! ```
//!
//! A program in another language calls a command with [`call`], and gets its output: the flags, the defaults and the
//! digits are those of `tmt`.
//!
//! Modules from bottom to top. A module uses only modules above it in this list (`tests/architecture.rs` checks it):
//! - [`host`]: the program that calls a command in place of a shell, if there is one.
//! - [`provenance`]: name and version of this program, and the heads that it writes.
//! - [`stderr`], [`progress`], [`exit`]: lines and progress bar on stderr; exit codes and their messages.
//! - [`input`], [`output`], [`quantity`]: inputs; atomic output files, and the shape of JSON documents and tidy tables; flags
//!   that take a quantity.
//! - [`table`]: text tables.
//! - [`cmd`]: the commands.

#![allow(rustdoc::private_intra_doc_links, reason = "the list names all layers")]

mod cmd;
mod exit;
mod host;
mod input;
mod output;
mod progress;
mod provenance;
mod quantity;
mod stderr;
mod table;

use std::ffi::OsString;
use std::num::NonZero;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{FromArgMatches as _, Parser};
use fluid_tcp::congestion::Algorithm;
use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use tmt_core::named::RegisterError;
use tmt_link::queue::Discipline;

use crate::cmd::Command;
pub use crate::cmd::arguments::{Argument, arguments};
use crate::exit::Failure;
use crate::host::Here;
pub use crate::host::{Host, OpenTrace, Progress};
use crate::stderr::Verbosity;

/// Effect of FEC, ARQ and HARQ on TCP over measured links.
#[derive(Debug, Parser)]
#[command(
    name = "tmt",
    version,
    max_term_width = 100,
    disable_help_flag = true,
    disable_help_subcommand = true,
    after_help = "Example:\n  tmt demo\n  tmt apply --scheme harq:10/12 < phy.csv | tmt tcp --cc cubic\n\n\
                  Exit codes: 0 done (also if the reader of a pipe has closed it),\n1 bad data or I/O error, 2 usage. diff: 1 different, 2 any error.\nlint: 1 also if there is a warning."
)]
struct Cli {
    /// Print errors and warnings only: no headline, no progress bar
    #[arg(short, long, global = true, help_heading = "General")]
    quiet: bool,
    /// Print notes as well: every value used and where it comes from
    #[arg(
        short,
        long,
        global = true,
        help_heading = "General",
        conflicts_with = "quiet"
    )]
    verbose: bool,
    /// Worker threads; the output does not depend on it [default: all cores]
    #[arg(short, long, global = true, help_heading = "General", value_name = "N", value_parser = quantity::whole::<u16>(1, u16::MAX.into()))]
    jobs: Option<u16>,
    /// Print help
    #[arg(short, long, global = true, help_heading = "General", action = clap::ArgAction::Help)]
    help: Option<bool>,
    #[command(subcommand)]
    command: Command,
}

impl Cli {
    /// Reads the arguments, the name of the program first.
    fn read(arguments: Vec<OsString>) -> Result<Self, clap::Error> {
        let mut matches = cmd::typed(&arguments).try_get_matches_from(arguments)?;
        Self::from_arg_matches_mut(&mut matches)
    }
}

/// Threads that `--jobs` can request on a machine with fewer cores.
const MIN_JOBS_LIMIT: usize = 8;

/// Additions of a program to `tmt`: entries of its own in the registries, which all commands, help texts and completions then
/// have.
#[derive(Debug, Default)]
pub struct Registries {
    /// Congestion controls, for `--cc`.
    pub controls: Vec<&'static fluid_tcp::congestion::Entry>,
    /// Queue disciplines, for `--queue`.
    pub queues: Vec<&'static tmt_link::queue::Entry>,
    /// Families of schemes, for `--scheme`.
    pub schemes: Vec<&'static tmt_core::scheme::Family>,
}

impl Registries {
    fn register(self) -> Result<(), RegisterError> {
        Algorithm::register(self.controls)?;
        Discipline::register(self.queues)?;
        tmt_core::scheme::register(self.schemes)
    }
}

/// Runs `tmt` with the arguments of the process, once. Returns the exit code for `main`.
#[must_use]
pub fn run(registries: Registries) -> ExitCode {
    if let Err(error) = registries.register() {
        return exit::code("own entries", Err(Failure::usage(error)));
    }
    let cli = match Cli::read(std::env::args_os().collect()) {
        Ok(cli) => cli,
        Err(error) => return output::usage(&error),
    };
    stderr::set_verbosity(match (cli.quiet, cli.verbose) {
        (true, _) => Verbosity::Quiet,
        (false, true) => Verbosity::Verbose,
        (false, false) => Verbosity::Normal,
    });
    if let Command::Replay(args) = &cli.command {
        // Signals are the command's.
        if let Some(code) = cmd::replay::outside(args) {
            return code;
        }
    } else {
        output::clean_up_on_signals();
    }
    exit::silence_contained_panics();
    let name = cli.command.name();
    // Commands run on the threads of the pool, so that no pipeline round has to wake one first.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let threads = cli
        .jobs
        .map_or(0, |jobs| usize::from(jobs).min(cores.max(MIN_JOBS_LIMIT)));
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    let outcome = match pool {
        Ok(pool) => pool.install(|| cli.command.run()),
        Err(error) => Err(Failure::failed(error)),
    };
    progress::clear();
    exit::code(name, outcome)
}

/// Output of a command that was called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its stdout: a trace, a document, a page.
    pub printed: Vec<u8>,
    /// Why the exit code would be 1 although it has printed its answer: a rule is broken, rows are off, a file was cut.
    pub complaint: Option<String>,
}

/// Why a command that was called has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CallError {
    /// The arguments are wrong or contradict each other.
    #[error("{0}")]
    Usage(String),
    /// A file cannot be read or written.
    #[error("{1}")]
    Io(std::io::ErrorKind, String),
    /// Bad data, with the remedy.
    #[error("{0}")]
    Failed(String),
    /// [`Host::stop`] was called.
    #[error("stopped before its end")]
    Stopped,
}

/// Runs a command for another program: `arguments` are those of `tmt`, the name of the command first, and `host` has its inputs
/// and gets its messages. It runs on the threads of the pool from which it is called. All of them work for the call until they
/// end: the pool is to end with it. Nothing is read from stdin or printed.
///
/// ```
/// use std::sync::Arc;
/// use tmt_cli::{Host, call};
///
/// let host = Arc::new(Host::default());
/// let pool = tmt_cli::pool(&host, Some(1))?;
/// let arguments = ["model", "pftk", "--csv", "P=0.01"].map(str::to_owned);
/// let answer = pool.install(|| call(&host, arguments.to_vec()))?;
/// assert!(answer.printed.starts_with(b"P,"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As the command fails. Flags and remedies are those of the command line.
pub fn call(host: &Arc<Host>, arguments: Vec<String>) -> Result<Answer, CallError> {
    let typed = std::iter::once("tmt".to_owned()).chain(arguments);
    let cli = Cli::read(typed.map(OsString::from).collect());
    let outcome = match cli {
        Ok(cli) => Here::of(host).enter(|| cli.command.run()),
        Err(error) => Err(Failure::usage(exit::reason(&error))),
    };
    if host.is_stopped() {
        return Err(CallError::Stopped);
    }
    let printed = host.take_printed();
    let with_help = |message: String, help: Option<String>| match help {
        Some(help) => format!("{message}; {help}"),
        None => message,
    };
    let complaint = match outcome {
        Ok(())
        | Err(Failure::ClosedPipe | Failure::Odd | Failure::Different | Failure::Exit(_)) => None,
        Err(Failure::Usage(message)) => return Err(CallError::Usage(message)),
        Err(Failure::Io(std::io::ErrorKind::Other, message)) => Some(message),
        Err(Failure::Io(kind, message)) => return Err(CallError::Io(kind, message)),
        Err(Failure::Failed { message, help } | Failure::Trouble { message, help }) => {
            Some(with_help(message, help))
        }
    };
    match complaint {
        Some(message) if printed.is_empty() => Err(CallError::Failed(message)),
        complaint => Ok(Answer { printed, complaint }),
    }
}

/// Threads that work for `host`: `jobs` of them, or one for each core.
///
/// # Errors
/// The operating system has no threads left.
pub fn pool(host: &Arc<Host>, jobs: Option<usize>) -> Result<ThreadPool, ThreadPoolBuildError> {
    let here = Here::of(host);
    let pool = ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0));
    pool.start_handler(move |_| here.stay()).build()
}

//! `tmt replay`: real TCP stacks over traces (docs/replay.md).

mod args;
mod direction;
#[cfg(target_os = "linux")]
mod logs;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod show;

pub(crate) use args::Args;
#[cfg(target_os = "linux")]
pub(crate) use run::{outside, run};

#[cfg(not(target_os = "linux"))]
use crate::exit::{Failure, Outcome};

/// Stage before the namespaces exist: nothing, on systems without namespaces.
#[cfg(not(target_os = "linux"))]
pub(crate) fn outside(_args: &Args) -> Option<std::process::ExitCode> {
    None
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn run(args: &Args) -> Outcome {
    args.directions()?;
    Err(Failure::failed(
        "found another system, expected Linux: replay needs its network namespaces and TUN devices; `tmt tcp` simulates on any",
    ))
}

//! `tmt completions` and `tmt man`, generated from the definitions of `--help`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::Cli;
use crate::exit::{Failure, Outcome};
use crate::output::Output;

/// Flags of `tmt completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt completions bash > ~/.local/share/bash-completion/completions/tmt"
)]
pub(crate) struct CompletionsArgs {
    /// Shell to complete in
    shell: Shell,
}

/// Flags of `tmt man`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example:\n  tmt man apply | man -l -\n  tmt man model harq | man -l -\n  tmt man > tmt.1"
)]
pub(crate) struct ManArgs {
    /// Command, and its subcommand [default: `tmt` itself]
    command: Vec<String>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tmt", &mut text);
    print(&text)
}

pub(crate) fn man(args: &ManArgs) -> Outcome {
    let mut tmt = Cli::command();
    tmt.build();
    let mut command = &tmt;
    for name in &args.command {
        let found = command.find_subcommand(name);
        command = found.ok_or_else(|| {
            Failure::usage(format!(
                "unknown command '{name}' of {}",
                command.get_name()
            ))
        })?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command.clone())
        .render(&mut page)
        .map_err(Failure::failed)?;
    print(&page)
}

fn print(text: &[u8]) -> Outcome {
    let mut output = Output::create(None)?;
    output.write(text)?;
    output.finish()
}

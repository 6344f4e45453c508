//! `tmt completions` and `tmt man`, generated from the definitions of `--help`.

use clap::Command;
use clap_complete::Shell;
use tmt_core::named::suggestion;

use crate::cmd::whole;
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
    after_help = "Example:\n  tmt man apply | man -l -\n  tmt man model harq | man -l -\n  \
                  tmt man --all ~/.local/share/man/man1"
)]
pub(crate) struct ManArgs {
    /// Command, and its subcommand [default: `tmt` itself]
    command: Vec<String>,
    /// Write the pages of all commands to this directory, which must exist
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    all: Option<String>,
}

pub(crate) fn completions(args: &CompletionsArgs) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut whole(), "tmt", &mut text);
    print(&text)
}

pub(crate) fn man(args: &ManArgs) -> Outcome {
    let mut tmt = whole();
    tmt.build();
    if let Some(folder) = &args.all {
        return all_pages(&tmt, "tmt", folder);
    }
    let mut command = &tmt;
    for name in &args.command {
        let found = command.find_subcommand(name);
        command = found.ok_or_else(|| {
            let known = command.get_subcommands().map(Command::get_name);
            Failure::usage(format!(
                "unknown command '{name}' of {}{}",
                command.get_name(),
                suggestion(name, known)
            ))
        })?;
    }
    print(&page(command)?)
}

/// Writes the pages of `command` and its subcommands to `folder`, named `NAME.1`.
fn all_pages(command: &Command, name: &str, folder: &str) -> Outcome {
    let mut output = Output::create(Some(&format!("{folder}/{name}.1")))?;
    output.write(&page(command)?)?;
    output.finish()?;
    for subcommand in command.get_subcommands() {
        let name = format!("{name}-{}", subcommand.get_name());
        all_pages(subcommand, &name, folder)?;
    }
    Ok(())
}

/// Files that every command leaves in the file system.
const FILES: &str = "Output files are written under a temporary name, .tmt-*.tmp, in their own directory and renamed when \
complete. `tmt tcp` keeps timelines of more than a million LLDUs in a file without a name in the directory TMPDIR.";

/// Exit codes and their meaning.
const EXIT: [(&str, &str); 7] = [
    ("0", "Done. Also if the reader of a pipe has closed it."),
    (
        "1",
        "Bad data, an I/O error, a comparison that failed (`tmt validate`, `tmt audit`), or a difference (`tmt diff`).",
    ),
    (
        "2",
        "Unknown or contradicting arguments. Of `tmt diff` also bad data and I/O errors.",
    ),
    ("129", "Ended by SIGHUP, as when its terminal was closed."),
    ("130", "Ended by SIGINT (Ctrl-C)."),
    ("143", "Ended by SIGTERM."),
    ("152", "Ended by SIGXCPU, the limit of CPU time."),
];

/// The manual page of a command.
fn page(command: &Command) -> Outcome<Vec<u8>> {
    let mut page = Vec::new();
    let name = command
        .get_bin_name()
        .unwrap_or(command.get_name())
        .replace(' ', "-");
    let man = clap_mangen::Man::new(command.clone())
        .title(name)
        .manual("tmt");
    let rendered = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page));
    rendered.map_err(Failure::failed)?;
    let usage = command.clone().render_usage().to_string();
    let usage = usage.strip_prefix("Usage: ").unwrap_or(&usage);
    page.extend(section("SYNOPSIS", usage).bytes());
    let rendered = man
        .render_description_section(&mut page)
        .and_then(|()| man.render_options_section(&mut page));
    rendered.map_err(Failure::failed)?;
    if command.has_subcommands() {
        let rendered = man.render_subcommands_section(&mut page);
        rendered.map_err(Failure::failed)?;
    }
    let text = command.get_after_long_help().or(command.get_after_help());
    let text = text.map(ToString::to_string).unwrap_or_default();
    let (examples, notes): (Vec<&str>, Vec<&str>) = text
        .split("\n\n")
        .partition(|part| part.starts_with("Example"));
    // The exit codes have their own section.
    let notes: Vec<&str> = notes
        .into_iter()
        .filter(|part| !part.starts_with("Exit"))
        .collect();
    let examples = examples.concat();
    let examples = examples
        .split_once('\n')
        .map_or("", |(_, examples)| examples);
    let mut rest = section("NOTES", &notes.join("\n\n")) + &section("EXAMPLES", examples);
    rest += ".SH \"EXIT STATUS\"\n";
    for (code, meaning) in EXIT {
        rest += &format!(".TP\n{code}\n{}\n", escaped(meaning));
    }
    rest += &section("FILES", FILES);
    page.extend(rest.bytes());
    Ok(page)
}

/// A section of a manual page; nothing if `text` is empty. Indented lines are kept as they are.
fn section(name: &str, text: &str) -> String {
    if text.trim().is_empty() {
        return String::new();
    }
    let mut section = format!(".SH {name}\n");
    let mut is_kept = false;
    for line in text.trim_end().lines() {
        let keep = line.starts_with("  ");
        if keep != is_kept {
            section += if keep { ".nf\n" } else { ".fi\n" };
            is_kept = keep;
        }
        match line.trim_end() {
            "" => section += ".PP\n",
            line => section += &format!("{}\n", escaped(line)),
        }
    }
    if is_kept {
        section += ".fi\n";
    }
    section
}

/// `text` without characters that roff interprets.
fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
}

fn print(text: &[u8]) -> Outcome {
    let mut output = Output::create(None)?;
    output.write(text)?;
    output.finish()
}

//! The commands of Slurm: `sbatch`, `squeue`, `sacct`, `scontrol`.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::exit::{Failure, Outcome};

/// Largest size of an array where Slurm does not say it: its default `MaxArraySize`.
const MAX_ARRAY_SIZE: usize = 1001;

/// A task in the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Queued {
    /// Number of the array.
    pub(super) job: u64,
    pub(super) is_running: bool,
    /// Why it waits.
    pub(super) reason: String,
}

/// All own tasks in the queue whose array has a name of `sweep`, by number of tasks of the sweep and of the task.
pub(super) type Queue = BTreeMap<(usize, usize), Queued>;

/// Output of a command that succeeds; else its complaints, which begin with its name.
fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(program);
    text(
        program,
        command.args(arguments).stdin(Stdio::null()).output(),
    )
}

fn text(program: &str, ran: io::Result<Output>) -> Result<String, String> {
    let ran = ran.map_err(|error| format!("{program}: {error}"))?;
    if ran.status.success() {
        return Ok(String::from_utf8_lossy(&ran.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&ran.stderr);
    let said = said.lines().map(str::trim).filter(|line| !line.is_empty());
    Err(said.collect::<Vec<_>>().join("; "))
}

/// Refuses a machine without the commands.
pub(super) fn check() -> Outcome {
    for program in ["sbatch", "squeue"] {
        match Command::new(program).arg("--version").output() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(Failure::Failed {
                    message: format!("--engine slurm: found no {program} on PATH"),
                    help: Some("run it where jobs are submitted, usually a login node of the cluster; `tmt sweep --shard K/N` works under any other scheduler (docs/cluster.md)".to_owned()),
                });
            }
            ran => text(program, ran).map_err(Failure::failed)?,
        };
    }
    Ok(())
}

/// Most tasks of an array whose first has the number 1.
pub(super) fn max_tasks() -> usize {
    let config = run("scontrol", &["show", "config"]).unwrap_or_default();
    let mut lines = config.lines().filter_map(|line| line.split_once('='));
    let size = lines.find(|(key, _)| key.trim() == "MaxArraySize");
    let size = size.and_then(|(_, size)| size.trim().parse().ok());
    size.unwrap_or(MAX_ARRAY_SIZE).saturating_sub(1).max(1)
}

/// Submits `script` for the tasks with these numbers, and returns the number of the array.
pub(super) fn submit(name: &str, tasks: &[usize], directory: &Path, script: &Path) -> Outcome<u64> {
    let mut command = Command::new("sbatch");
    command
        .args(["--parsable", "--requeue"])
        .arg(format!("--job-name={name}"))
        .arg(format!("--array={}", ranges(tasks)))
        .args([
            "--input=/dev/null",
            "--output=/dev/null",
            "--error=/dev/null",
        ])
        .arg("--chdir")
        .arg(directory)
        .arg(script)
        .stdin(Stdio::null());
    let said = text("sbatch", command.output()).map_err(Failure::failed)?;
    let number = said.trim().split(';').next().unwrap_or_default();
    number.parse().map_err(|_| {
        Failure::failed(format!(
            "sbatch: found '{}', expected the number of a job",
            said.trim()
        ))
    })
}

/// The tasks in the queue of arrays whose name is `sweep` with the number of tasks; why Slurm does not say it.
pub(super) fn queue(sweep: &str) -> Result<Queue, String> {
    let format = "--format=%F|%K|%T|%j|%r";
    let listed = run("squeue", &["--me", "--noheader", "--array", format])?;
    Ok(read_queue(&listed, sweep))
}

fn read_queue(listed: &str, sweep: &str) -> Queue {
    let entry = |line: &str| {
        let mut fields = line.trim().splitn(5, '|');
        let job = fields.next()?.parse().ok()?;
        let task = fields.next()?.parse().ok()?;
        let state = fields.next()?;
        let tasks = fields.next()?.strip_prefix(sweep)?.strip_prefix('-')?;
        let queued = Queued {
            job,
            is_running: matches!(state, "RUNNING" | "COMPLETING"),
            reason: fields.next().unwrap_or_default().to_owned(),
        };
        Some(((tasks.parse().ok()?, task), queued))
    };
    listed.lines().filter_map(entry).collect()
}

/// How a task ended, as far as Slurm knows.
pub(super) fn ending(job: u64, task: usize) -> String {
    let id = format!("{job}_{task}");
    let accounted = run(
        "sacct",
        &[
            "--noheader",
            "--parsable2",
            "--allocations",
            "--format=State,ExitCode",
            "--jobs",
            &id,
        ],
    );
    let accounted = accounted.unwrap_or_default();
    if let Some((state, code)) = accounted
        .lines()
        .last()
        .and_then(|line| line.split_once('|'))
    {
        return said(state, code, "");
    }
    // Without accounting the controller remembers jobs for some minutes.
    let shown = run("scontrol", &["show", "job", "--oneliner", &id]).unwrap_or_default();
    let field = |name: &str| {
        let mut words = shown.split_whitespace();
        words
            .find_map(|word| word.strip_prefix(name))
            .unwrap_or_default()
    };
    match field("JobState=") {
        "" => "Slurm does not know it any more".to_owned(),
        state => said(state, field("ExitCode="), field("Reason=")),
    }
}

/// State, exit code and reason as text.
fn said(state: &str, code: &str, reason: &str) -> String {
    let mut text = state.to_owned();
    if let Some((code, signal)) = code.split_once(':') {
        if code != "0" {
            text += &format!(", exit code {code}");
        }
        if signal != "0" {
            text += &format!(", signal {signal}");
        }
    }
    if !matches!(reason, "" | "None") {
        text += &format!(", {reason}");
    }
    text
}

/// Numbers in order as `sbatch --array` takes them: 1-3,7.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let texts = runs.into_iter().map(|(first, last)| match last {
        last if last == first => first.to_string(),
        last => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_name_ranges() {
        assert_eq!(ranges(&[1, 2, 3, 5, 7, 8]), "1-3,5,7-8");
        assert_eq!(ranges(&[4]), "4");
    }

    #[test]
    fn only_tasks_of_the_sweep_count() {
        let listed = "12|3|RUNNING|tmt-ab-40|None\n12|4|PENDING|tmt-ab-40|Resources\n13|N/A|RUNNING|tmt-ab-40|None\n14|3|RUNNING|tmt-abc-40|None\nCLUSTER: c\n";
        let queue = read_queue(listed, "tmt-ab");
        let keys: Vec<(usize, usize)> = queue.keys().copied().collect();
        assert_eq!(keys, [(40, 3), (40, 4)]);
        assert!(queue[&(40, 3)].is_running && !queue[&(40, 4)].is_running);
        assert_eq!(queue[&(40, 4)].reason, "Resources");
    }

    #[test]
    fn endings_name_code_signal_and_reason() {
        assert_eq!(
            said("FAILED", "1:0", "NonZeroExitCode"),
            "FAILED, exit code 1, NonZeroExitCode"
        );
        assert_eq!(
            said("CANCELLED by 0", "0:15", ""),
            "CANCELLED by 0, signal 15"
        );
        assert_eq!(said("COMPLETED", "0:0", "None"), "COMPLETED");
    }
}

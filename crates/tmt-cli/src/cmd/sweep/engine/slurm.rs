//! Cells run as a job array of Slurm (docs/cluster.md).
//!
//! Every task of the array is a shard, `tmt sweep FOLDER/plan.toml --shard K/N`, whose records are in the folder. The state of
//! the sweep is these records and the queue; nothing else is kept, so that the process that waits can be killed and begun
//! again at any moment. A task has done its work when its records are complete, regardless of what Slurm says of it.

mod flags;
mod queue;
mod script;
mod watch;

use std::fs;
use std::path::{Path, PathBuf, absolute};

use flate2::Crc;
use tmt_core::types::Span;
use tmt_study::{Records, Sweep};

pub(super) use self::flags::Slurm;
use self::script::Script;
use self::watch::Watch;
use super::{Engine, Job, Part, forecast};
use crate::exit::{Failure, Outcome, headline, warning};
use crate::output::on_signal;
use crate::table::counted;

pub(super) const ENGINE: Engine = Engine {
    name: "slurm",
    help: "As a job array of Slurm; --output is on a file system that its nodes share",
    part: Part::Parts("slurm"),
    run,
};

/// File with the resolved plan, which tasks read.
const PLAN: &str = "plan.toml";

/// File with the job script.
const SCRIPT: &str = "task.sh";

fn run(job: &Job<'_>, sweep: &Sweep<'_>, done: Records) -> Outcome {
    let flags = &job.flags.slurm;
    let array = Array::new(job)?;
    let queued = queue::queue(&array.name);
    let queued = queued.map_err(Failure::failed)?;
    let known = queued
        .iter()
        .next()
        .map(|((tasks, _), queued)| (*tasks, queued.job));
    let tasks = match known {
        Some((_, number)) if !job.resume => {
            return Err(Failure::failed(format!(
                "{}: found job array {number}, which works on it; --resume waits for it, `scancel {number}` ends it",
                job.partial.folder().display()
            )));
        }
        Some((tasks, number)) => {
            if flags.tasks.is_some_and(|given| given != tasks) {
                warning!(
                    "sweep",
                    "job array {number} works on this sweep: it has {tasks} tasks, --tasks is ignored"
                );
            }
            tasks
        }
        None => number_of_tasks(job, sweep)?,
    };
    array.prepare(tasks)?;
    Watch::new(&array, tasks, sweep, done)?.run()
}

/// The number of tasks for what is left.
fn number_of_tasks(job: &Job<'_>, sweep: &Sweep<'_>) -> Outcome<usize> {
    let flags = &job.flags.slurm;
    let (cells, most) = (job.read.plan.cells(), queue::max_tasks());
    if let Some(tasks) = flags.tasks {
        if tasks > most {
            return Err(Failure::usage(format!(
                "--tasks {tasks}: found more tasks than an array may have, expected at most {most} (MaxArraySize of Slurm)"
            )));
        }
        return Ok(tasks.min(cells));
    }
    let target = flags
        .task_duration
        .unwrap_or(Span::from_secs(600))
        .as_secs_f64();
    let estimate = forecast::time(&job.read.plan, sweep, 1, |record| job.partial.keep(record))?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate; the cast saturates"
    )]
    let tasks = (estimate.seconds / target).ceil() as usize;
    let tasks = tasks.clamp(1, most.min(cells));
    headline!(
        "sweep",
        "about {} on one core, by timing a few cells: {}",
        forecast::lasting(estimate.seconds),
        counted(tasks as u64, "task")
    );
    Ok(tasks)
}

/// State that all tasks share.
struct Array<'a> {
    job: &'a Job<'a>,
    /// Prefix of the names of its arrays; the number of tasks follows.
    name: String,
    folder: PathBuf,
    directory: PathBuf,
}

impl<'a> Array<'a> {
    fn new(job: &'a Job<'a>) -> Outcome<Self> {
        let failed = |error| Failure::io(&job.partial.folder().display().to_string(), &error);
        let folder = fs::canonicalize(job.partial.folder()).map_err(failed)?;
        let directory = std::env::current_dir().map_err(|error| Failure::io(".", &error))?;
        let mut crc = Crc::new();
        crc.update(folder.as_os_str().as_encoded_bytes());
        Ok(Self {
            job,
            name: format!("tmt-{:08x}", crc.sum()),
            folder,
            directory,
        })
    }

    /// Writes plan and script for `tasks` tasks.
    fn prepare(&self, tasks: usize) -> Outcome {
        let program = std::env::current_exe().map_err(|error| Failure::io("tmt", &error))?;
        let output = absolute(self.job.path).map_err(|error| Failure::io(self.job.path, &error))?;
        let (plan, path) = (self.folder.join(PLAN), self.folder.join(SCRIPT));
        let script = Script {
            program: &program,
            directory: &self.directory,
            plan: &plan,
            output: &output,
            folder: &self.folder,
            options: &self.job.flags.slurm.sbatch,
            tasks,
        };
        // The plan has every value that flags gave.
        write(&plan, &self.job.read.plan.to_file())?;
        write(&path, &script.text()?)
    }

    /// Submits the tasks `numbers` of `tasks`, and returns the number of the array.
    fn submit(&self, numbers: &[usize], tasks: usize) -> Outcome<u64> {
        let name = format!("{}-{tasks}", self.name);
        let script = self.folder.join(SCRIPT);
        let number = queue::submit(&name, numbers, &self.directory, &script)?;
        headline!(
            "sweep",
            "submitted {} of {tasks} as job array {number}",
            counted(numbers.len() as u64, "task")
        );
        on_signal(format!(
            "tmt sweep: interrupted: job array {number} goes on; --resume waits for it again, `scancel --name={name}` ends it"
        ));
        Ok(number)
    }
}

/// Writes a small file, complete or not at all.
fn write(path: &Path, text: &str) -> Outcome {
    let failed = |error| Failure::io(&path.display().to_string(), &error);
    let own = path.with_extension(format!("{}.txt", std::process::id()));
    let written = fs::write(&own, text).and_then(|()| fs::rename(&own, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&own);
        failed(error)
    })
}

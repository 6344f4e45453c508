//! Cells run as a job array of Slurm (docs/cluster.md).
//!
//! Every task of the array is a shard, `tmt sweep FOLDER/plan.toml --shard K/N`, whose records are in the folder. The state of
//! the sweep is these records and the queue; nothing else is kept, so that the process that waits can be killed and begun
//! again at any moment. A task has done its work when its records are complete, whatever Slurm says of it.

mod queue;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf, absolute};
use std::time::Duration;

use flate2::Crc;
use tmt_core::types::Span;
use tmt_study::{Records, Sweep};

use self::script::Script;
use super::{Engine, Job, Part, forecast};
use crate::cmd::sweep::partial::Reader;
use crate::exit::{Failure, Outcome, headline, one_line, print_line, warning};
use crate::output::on_signal;
use crate::progress::Work;
use crate::quantity::whole;
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

/// Time between looks at the queue, which grows from the first to the last.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Lines of the log of a failed task that are shown.
const LOG_LINES: usize = 10;

/// Failed tasks whose logs are shown.
const LOGS: usize = 3;

/// Options of `sbatch` that the engine sets.
const OURS: [&str; 12] = [
    "--array",
    "-a",
    "--job-name",
    "-J",
    "--output",
    "-o",
    "--error",
    "-e",
    "--chdir",
    "-D",
    "--input",
    "-i",
];

/// Reasons to wait that pass without anybody's doing.
const PASSING: [&str; 8] = [
    "",
    "None",
    "Priority",
    "Resources",
    "BeginTime",
    "JobArrayTaskLimit",
    "Prolog",
    "Cleaning",
];

/// Flags of the engine.
#[derive(Debug, clap::Args)]
pub(super) struct Slurm {
    /// Number of tasks of the array [default: as many as take --task-duration each, by timing a few cells]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<usize>(1, 1_000_000))]
    tasks: Option<usize>,
    /// Time that a task takes on one core, about [default: 10min]
    #[arg(
        long,
        value_name = "DURATION",
        hide_short_help = true,
        conflicts_with = "tasks"
    )]
    task_duration: Option<Span>,
    /// How often a task that has failed is submitted again [default: 2]
    #[arg(long, value_name = "N", hide_short_help = true, value_parser = whole::<u32>(0, 1000))]
    retries: Option<u32>,
    /// Options of sbatch, e.g. "--partition=long --time=1:00:00 --cpus-per-task=4"; repeat for more
    #[arg(
        long,
        value_name = "OPTIONS",
        hide_short_help = true,
        allow_hyphen_values = true
    )]
    sbatch: Vec<String>,
}

impl Slurm {
    /// A flag that is given.
    pub(super) fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--tasks", self.tasks.is_some()),
            ("--task-duration", self.task_duration.is_some()),
            ("--retries", self.retries.is_some()),
            ("--sbatch", !self.sbatch.is_empty()),
        ];
        let mut flags = flags.into_iter();
        flags.find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// Refuses options that the engine sets, and a machine without the commands of Slurm.
    pub(super) fn check(&self) -> Outcome {
        for text in &self.sbatch {
            if text.chars().any(char::is_control) {
                return Err(Failure::usage(
                    "--sbatch: found a line break or another control character, expected options",
                ));
            }
            let mut words = text.split_whitespace();
            let is = |word: &str, ours: &str| match ours.starts_with("--") {
                true => word.split('=').next() == Some(ours),
                // Its value may follow without a blank.
                false => word.starts_with(ours),
            };
            let ours = words.find_map(|word| OURS.iter().find(|ours| is(word, ours)));
            if let Some(ours) = ours {
                return Err(Failure::usage(format!(
                    "--sbatch {text}: found {ours}, which the engine sets, expected other options"
                )));
            }
        }
        queue::check()
    }
}

fn run(job: &Job<'_>, sweep: &Sweep<'_>, done: Records) -> Outcome {
    let flags = &job.flags.slurm;
    let array = Array::new(job)?;
    let queued = queue::queue(&array.name);
    let queued = queued.map_err(|why| Failure::failed(format!("squeue: {why}")))?;
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
    array.watch(tasks, sweep, done)
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

/// What all tasks share.
struct Array<'a> {
    job: &'a Job<'a>,
    /// What the names of its arrays begin with; the number of tasks follows.
    name: String,
    folder: PathBuf,
    directory: PathBuf,
}

/// A task that is not complete.
#[derive(Debug, Default)]
struct Task {
    /// The array that it was last seen in.
    job: Option<u64>,
    failures: u32,
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
    fn prepare(&self, tasks: usize) -> Outcome<PathBuf> {
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
        write(&path, &script.text()?)?;
        Ok(path)
    }

    /// Submits what is neither done nor queued, and again what fails, until everything is done.
    fn watch(&self, tasks: usize, sweep: &Sweep<'_>, done: Records) -> Outcome {
        let script = self.prepare(tasks)?;
        let retries = self.job.flags.slurm.retries.unwrap_or(2);
        let shards = |records: &Records| -> BTreeSet<usize> {
            let cells = sweep.clone().without(records).cells();
            cells.into_iter().map(|cell| cell % tasks + 1).collect()
        };
        let (mut records, mut reader) = (done, Reader::default());
        reader.read(self.job.partial.folder(), &mut records)?;
        let mut open: BTreeMap<usize, Task> = shards(&records)
            .into_iter()
            .map(|task| (task, Task::default()))
            .collect();
        let mut failed: BTreeMap<usize, Task> = BTreeMap::new();
        let work = Work::new(sweep.clone().without(&records).runs(), "runs");
        let (mut patience, mut warned) = (PATIENCE[0], BTreeSet::new());
        while !open.is_empty() {
            let queued = match queue::queue(&self.name) {
                Ok(queued) => queued,
                Err(why) => {
                    // The controller may be restarted while tasks run.
                    if warned.insert(why.clone()) {
                        warning!("sweep", "squeue: {}; asking again", one_line(&why));
                    }
                    sleep(&mut patience);
                    continue;
                }
            };
            // After the queue: a task that has left it has written all its records.
            work.advance(reader.read(self.job.partial.folder(), &mut records)?);
            let (mut running, mut waiting) = (0_u64, 0_u64);
            let mut lost = Vec::new();
            for (number, task) in &mut open {
                let Some(queued) = queued.get(&(tasks, *number)) else {
                    lost.push(*number);
                    continue;
                };
                task.job = Some(queued.job);
                if queued.is_running {
                    running += 1;
                    continue;
                }
                waiting += 1;
                let reason = &queued.reason;
                if !PASSING.contains(&reason.as_str()) && warned.insert(reason.clone()) {
                    warning!(
                        "sweep",
                        "job array {} waits: {}",
                        queued.job,
                        one_line(reason)
                    );
                }
            }
            if !lost.is_empty() {
                let left = shards(&records);
                open.retain(|number, _| left.contains(number));
                lost.retain(|number| left.contains(number));
            }
            let mut again = Vec::new();
            for number in lost {
                let Some(task) = open.get_mut(&number) else {
                    continue;
                };
                if let Some(job) = task.job {
                    task.failures += 1;
                    let is_last = task.failures > retries;
                    warning!(
                        "sweep",
                        "task {number} of {tasks} (job {job}_{number}) failed: {}; its finished cells are kept{}",
                        queue::ending(job, number),
                        if is_last {
                            ""
                        } else {
                            ", and it is submitted again"
                        }
                    );
                    if is_last {
                        failed.extend(open.remove_entry(&number));
                        continue;
                    }
                }
                again.push(number);
            }
            if !again.is_empty() {
                patience = PATIENCE[0];
                self.submit(&again, tasks, &script, &mut open)?;
                waiting += again.len() as u64;
            }
            if !open.is_empty() {
                work.name(&format!(
                    "{running} of {tasks} tasks running, {waiting} waiting"
                ));
                sleep(&mut patience);
            }
        }
        drop(work);
        // Files of other nodes may show late.
        let left = shards(&self.job.partial.records()?);
        failed.retain(|number, _| left.contains(number));
        self.judge(&failed, tasks)
    }

    /// Submits the tasks `numbers`.
    fn submit(
        &self,
        numbers: &[usize],
        tasks: usize,
        script: &Path,
        open: &mut BTreeMap<usize, Task>,
    ) -> Outcome {
        let name = format!("{}-{tasks}", self.name);
        let number = queue::submit(&name, numbers, &self.directory, script)?;
        for task in numbers {
            if let Some(task) = open.get_mut(task) {
                task.job = Some(number);
            }
        }
        headline!(
            "sweep",
            "submitted {} of {tasks} as job array {number}",
            counted(numbers.len() as u64, "task")
        );
        on_signal(format!(
            "tmt sweep: interrupted: job array {number} goes on; --resume waits for it again, `scancel --name={name}` ends it"
        ));
        Ok(())
    }

    /// Names the failed tasks with the end of their logs.
    fn judge(&self, failed: &BTreeMap<usize, Task>, tasks: usize) -> Outcome {
        if failed.is_empty() {
            return Ok(());
        }
        for number in failed.keys().take(LOGS) {
            let log = self.folder.join(format!("shard-{number}-of-{tasks}.log"));
            let text = fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.lines().collect();
            print_line(format_args!("the end of {}:", log.display()));
            for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
                print_line(format_args!("  {}", one_line(line)));
            }
            if lines.is_empty() {
                print_line(format_args!("  no line: the task did not begin"));
            }
        }
        let names: Vec<String> = failed.keys().map(usize::to_string).collect();
        Err(Failure::failed(format!(
            "{} of {tasks} failed: {}; all finished cells are kept in {}, --resume runs what is missing",
            counted(failed.len() as u64, "task"),
            names.join(", "),
            self.job.partial.folder().display()
        )))
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

/// Waits, a little longer every time.
fn sleep(patience: &mut Duration) {
    std::thread::sleep(*patience);
    *patience = (*patience * 5 / 4).min(PATIENCE[1]);
}

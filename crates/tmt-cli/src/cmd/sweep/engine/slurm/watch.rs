//! Waiting for tasks, and submitting again those that fail.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use tmt_core::types::one_line;
use tmt_study::{Records, Sweep};

use super::Array;
use super::queue::{self, Queue};
use crate::cmd::sweep::partial::Reader;
use crate::exit::{Failure, Outcome, print_line, warning};
use crate::progress::Work;
use crate::table::counted;

/// Time between looks at the queue, which grows from the first to the last.
const PATIENCE: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(30)];

/// Lines of the log of a failed task that are shown.
const LOG_LINES: usize = 10;

/// Failed tasks whose logs are shown.
const LOGS: usize = 3;

/// Times that a failed task is submitted again, unless given.
const RETRIES: u32 = 2;

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

/// A task that is not complete.
#[derive(Debug, Default)]
struct Task {
    /// The array that it was last seen in.
    job: Option<u64>,
    failures: u32,
}

/// The tasks of a sweep and their records.
pub(super) struct Watch<'a> {
    array: &'a Array<'a>,
    /// Number of tasks.
    tasks: usize,
    sweep: &'a Sweep<'a>,
    records: Records,
    reader: Reader,
    /// Tasks that are not complete.
    open: BTreeMap<usize, Task>,
    /// Tasks that are not complete and are not submitted again.
    failed: BTreeSet<usize>,
    /// Messages that were printed, each once.
    said: BTreeSet<String>,
    patience: Duration,
}

impl<'a> Watch<'a> {
    pub(super) fn new(
        array: &'a Array<'a>,
        tasks: usize,
        sweep: &'a Sweep<'a>,
        done: Records,
    ) -> Outcome<Self> {
        let mut watch = Self {
            array,
            tasks,
            sweep,
            records: done,
            reader: array.job.partial.reader(),
            open: BTreeMap::new(),
            failed: BTreeSet::new(),
            said: BTreeSet::new(),
            patience: PATIENCE[0],
        };
        watch.read()?;
        let left = watch.left(&watch.records).into_iter();
        watch.open = left.map(|task| (task, Task::default())).collect();
        Ok(watch)
    }

    /// Submits what is neither done nor queued, and again what fails, until everything is done.
    pub(super) fn run(mut self) -> Outcome {
        let work = Work::new(self.sweep.clone().without(&self.records).runs(), "runs");
        while !self.open.is_empty() {
            match queue::queue(&self.array.name) {
                Ok(queue) => {
                    // After the queue: a task that has left it has written all its records.
                    work.advance(self.read()?);
                    let (running, waiting, lost) = self.look(&queue);
                    let again = self.lost(&lost);
                    self.submit(&again)?;
                    work.name(&format!(
                        "{running} of {} tasks running, {} waiting",
                        self.tasks,
                        waiting + again.len()
                    ));
                }
                // The controller may be restarted while tasks run.
                Err(why) => self.say(&format!("{}; asking again", one_line(&why))),
            }
            if !self.open.is_empty() {
                std::thread::sleep(self.patience);
                self.patience = (self.patience * 5 / 4).min(PATIENCE[1]);
            }
        }
        drop(work);
        // Files of other nodes may show late.
        let left = self.left(&self.array.job.partial.records()?);
        self.failed.retain(|number| left.contains(number));
        self.judge()
    }

    /// Reads new records, and returns the number of their runs.
    fn read(&mut self) -> Outcome<u64> {
        let folder = self.array.job.partial.folder();
        self.reader.read(folder, &mut self.records)
    }

    /// The tasks whose records are not complete.
    fn left(&self, records: &Records) -> BTreeSet<usize> {
        let cells = self.sweep.clone().without(records).cells();
        cells
            .into_iter()
            .map(|cell| cell % self.tasks + 1)
            .collect()
    }

    /// Says something once.
    fn say(&mut self, text: &str) {
        if self.said.insert(text.to_owned()) {
            warning!("sweep", "{text}");
        }
    }

    /// The number of tasks that run, that of those that wait, and the tasks that are not in the queue.
    fn look(&mut self, queue: &Queue) -> (usize, usize, Vec<usize>) {
        let (mut running, mut waiting, mut lost) = (0, 0, Vec::new());
        let mut held = BTreeSet::new();
        for (number, task) in &mut self.open {
            match queue.get(&(self.tasks, *number)) {
                None => lost.push(*number),
                Some(queued) => {
                    task.job = Some(queued.job);
                    if queued.is_running {
                        running += 1;
                        continue;
                    }
                    waiting += 1;
                    if !PASSING.contains(&queued.reason.as_str()) {
                        held.insert((queued.job, queued.reason.as_str()));
                    }
                }
            }
        }
        for (job, reason) in held {
            self.say(&format!("job array {job} waits: {}", one_line(reason)));
        }
        (running, waiting, lost)
    }

    /// Judges the tasks `lost`, which are not in the queue, and returns those to submit.
    fn lost(&mut self, lost: &[usize]) -> Vec<usize> {
        if lost.is_empty() {
            return Vec::new();
        }
        let left = self.left(&self.records);
        self.open.retain(|number, _| left.contains(number));
        let retries = self.array.job.flags.slurm.retries.unwrap_or(RETRIES);
        let mut again = Vec::new();
        for number in lost {
            let Some(task) = self.open.get_mut(number) else {
                continue;
            };
            if let Some(job) = task.job.take() {
                task.failures += 1;
                let is_last = task.failures > retries;
                warning!(
                    "sweep",
                    "task {number} of {} (job {job}_{number}) failed: {}; its finished cells are kept{}",
                    self.tasks,
                    queue::ending(job, *number),
                    if is_last {
                        ""
                    } else {
                        ", and it is submitted again"
                    }
                );
                if is_last {
                    self.open.remove(number);
                    self.failed.insert(*number);
                    continue;
                }
            }
            again.push(*number);
        }
        again
    }

    /// Submits these tasks.
    fn submit(&mut self, numbers: &[usize]) -> Outcome {
        if numbers.is_empty() {
            return Ok(());
        }
        self.patience = PATIENCE[0];
        let job = self.array.submit(numbers, self.tasks)?;
        for number in numbers {
            if let Some(task) = self.open.get_mut(number) {
                task.job = Some(job);
            }
        }
        Ok(())
    }

    /// Names the failed tasks with the end of their logs.
    fn judge(&self) -> Outcome {
        if self.failed.is_empty() {
            return Ok(());
        }
        for number in self.failed.iter().take(LOGS) {
            let log = format!("shard-{number}-of-{}.log", self.tasks);
            let log = self.array.folder.join(log);
            let text = fs::read(&log).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            let lines: Vec<&str> = text.lines().collect();
            print_line(format_args!("the end of {}:", log.display()));
            for line in &lines[lines.len().saturating_sub(LOG_LINES)..] {
                print_line(format_args!("  {}", one_line(line)));
            }
            if lines.is_empty() {
                print_line(format_args!("  nothing: the task did not begin"));
            }
        }
        let names: Vec<String> = self.failed.iter().map(usize::to_string).collect();
        Err(Failure::failed(format!(
            "{} of {} failed: {}; all finished cells are kept in {}, --resume runs what is missing",
            self.failed.len(),
            counted(self.tasks as u64, "task"),
            names.join(", "),
            self.array.job.partial.folder().display()
        )))
    }
}

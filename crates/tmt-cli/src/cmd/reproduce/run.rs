//! Runs of figures, and the folder of their results.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use tmt_study::Records;
use tmt_study::figures::{Changes, Part as FigurePart, Row};

use super::Chosen;
use super::show::{self, Shown};
use crate::cmd::plot::natural_svg;
use crate::cmd::sweep::partial::{Part, Partial};
use crate::cmd::sweep::{carry_out, refusal};
use crate::exit::{Failure, Outcome};
use crate::input::process::unnamed;
use crate::output::{Output, on_signal};

/// The folder of results, and what is finished of each experiment until all are.
pub(super) struct Folder {
    path: PathBuf,
    resume: bool,
    partial: Vec<Partial>,
}

impl Folder {
    pub(super) fn open(path: &str, resume: bool) -> Outcome<Self> {
        fs::create_dir_all(path).map_err(|error| Failure::io(path, &error))?;
        on_signal(format!(
            "tmt reproduce: interrupted: finished runs are kept in {path}; --resume goes on with them"
        ));
        Ok(Self {
            path: PathBuf::from(path),
            resume,
            partial: Vec::new(),
        })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn create(&self, name: &str, bytes: &[u8]) -> Outcome {
        let path = self.file(name);
        let mut output = Output::create(path.to_str())?;
        output.write(bytes)?;
        output.finish()
    }

    /// Writes the table of a figure and its picture, and returns whether it has one.
    pub(super) fn write(&self, shown: &Shown) -> Outcome<bool> {
        let table = show::csv(std::slice::from_ref(shown))?;
        self.create(&format!("{}.csv", shown.name()), &table)?;
        let picture = natural_svg(shown.name(), &table)?;
        if let Some(svg) = &picture {
            self.create(&format!("{}.svg", shown.name()), svg.as_bytes())?;
        }
        Ok(picture.is_some())
    }

    /// Writes the index, and removes what an interrupted command would need.
    pub(super) fn finish(self, all: &[Shown]) -> Outcome {
        self.create("index.md", show::index(all).as_bytes())?;
        on_signal(String::new());
        self.partial.into_iter().try_for_each(Partial::remove)
    }
}

/// The rows of a figure.
pub(super) fn rows(
    chosen: &Chosen,
    changes: &Changes,
    mut folder: Option<&mut Folder>,
) -> Outcome<Vec<Row>> {
    let mut rows = Vec::new();
    for (number, part) in (1..).zip(&chosen.figure.parts) {
        rows.extend(match folder.as_deref_mut() {
            None => part_rows(chosen, part, changes, None)?,
            Some(folder) => kept_rows(chosen, part, changes, folder, number)?,
        });
    }
    Ok(rows)
}

/// The rows of one part, kept in memory. `tolerance` replaces those of its theory.
pub(in crate::cmd) fn part_rows(
    chosen: &Chosen,
    part: &FigurePart,
    changes: &Changes,
    tolerance: Option<f64>,
) -> Outcome<Vec<Row>> {
    let file = chosen.file.as_deref();
    let refuse = |error: tmt_study::PlanError| refusal(&error, file);
    let plan = part.changed(changes, &mut unnamed).map_err(refuse)?;
    let sweep = part.sweep(&plan).map_err(refuse)?;
    let kept = Mutex::new(Records::default());
    carry_out(file, &sweep, Records::default(), |record| {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.add(record.clone());
        Ok(())
    })?;
    let records = kept.into_inner().unwrap_or_else(PoisonError::into_inner);
    part.rows(&plan, &records, tolerance).map_err(refuse)
}

/// The rows of part `number`, whose finished runs are kept in the folder.
fn kept_rows(
    chosen: &Chosen,
    part: &FigurePart,
    changes: &Changes,
    folder: &mut Folder,
    number: usize,
) -> Outcome<Vec<Row>> {
    let file = chosen.file.as_deref();
    let refuse = |error: tmt_study::PlanError| refusal(&error, file);
    let plan = part.changed(changes, &mut unnamed).map_err(refuse)?;
    let sweep = part.sweep(&plan).map_err(refuse)?;
    let name = format!("{}-{number}", chosen.figure.name);
    folder.create(&format!("{name}.plan.toml"), plan.to_file().as_bytes())?;
    let path = folder.file(&name).display().to_string();
    let partial = Partial::open(&path, &plan, folder.resume, Part::All)?;
    let done = partial.records()?;
    let left = sweep.clone().without(&done);
    if left.runs() > 0 {
        carry_out(file, &left, done, |record| partial.keep(record))?;
    }
    let records = partial.records()?;
    folder.partial.push(partial);
    part.rows(&plan, &records, None).map_err(refuse)
}

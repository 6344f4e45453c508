//! Runs of figures, and the folder of their results.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tmt_study::Records;
use tmt_study::figures::{Changes, Row};

use super::Chosen;
use super::show::{self, Shown};
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

    /// Writes the table of a figure.
    pub(super) fn write(&self, shown: &Shown) -> Outcome {
        self.create(
            &format!("{}.csv", shown.name()),
            &show::csv(std::slice::from_ref(shown))?,
        )
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
    let file = chosen.file.as_deref();
    let refuse = |error: &tmt_study::PlanError| refusal(error, file);
    let figure = &chosen.figure;
    let mut rows = Vec::new();
    for (number, part) in (1..).zip(&figure.parts) {
        let plan = part
            .changed(changes, &mut unnamed)
            .map_err(|error| refuse(&error))?;
        let sweep = part.sweep(&plan).map_err(|error| refuse(&error))?;
        let records = match folder.as_deref_mut() {
            None => {
                let kept = Mutex::new(Records::default());
                carry_out(file, &sweep, Records::default(), |record| {
                    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                    kept.add(record.clone());
                    Ok(())
                })?;
                kept.into_inner().unwrap_or_else(PoisonError::into_inner)
            }
            Some(folder) => {
                let name = format!("{}-{number}", figure.name);
                folder.create(&format!("{name}.plan.toml"), plan.to_file().as_bytes())?;
                let path: &Path = &folder.file(&name);
                let path = path.display().to_string();
                let partial = Partial::open(&path, &plan, folder.resume, Part::All)?;
                let done = partial.records()?;
                let left = sweep.clone().without(&done);
                if left.runs() > 0 {
                    carry_out(file, &left, done, |record| partial.keep(record))?;
                }
                let records = partial.records()?;
                folder.partial.push(partial);
                records
            }
        };
        let found = part.rows(&plan, &records, None);
        rows.extend(found.map_err(|error| refuse(&error))?);
    }
    Ok(rows)
}

//! The job script that every task of an array runs.

use std::path::Path;

use crate::exit::{Failure, Outcome};

/// Names and options in the script.
pub(super) struct Script<'a> {
    pub(super) program: &'a Path,
    /// Working directory, from which the plan names traces.
    pub(super) directory: &'a Path,
    pub(super) plan: &'a Path,
    pub(super) output: &'a Path,
    /// Folder of records, which gets the logs.
    pub(super) folder: &'a Path,
    /// Options of `sbatch`, as they follow `#SBATCH`.
    pub(super) options: &'a [String],
    /// Number of tasks.
    pub(super) tasks: usize,
}

impl Script<'_> {
    /// The text.
    pub(super) fn text(&self) -> Outcome<String> {
        let options = self.options.iter();
        let options: Vec<String> = options.map(|text| format!("#SBATCH {text}\n")).collect();
        let options = options.concat();
        let log = format!("-of-{}.log", self.tasks);
        // The script opens its log itself: sbatch would replace % and \ in the path, and does so differently by version.
        Ok(format!(
            "#!/bin/bash\n\
             # One task of an array: tmt sweep --engine slurm has written this for sbatch.\n\
             {options}\
             exec >>{folder}/shard-\"$SLURM_ARRAY_TASK_ID\"{log} 2>&1\n\
             echo \"== job $SLURM_ARRAY_JOB_ID, task $SLURM_ARRAY_TASK_ID, on $(hostname), $(date)\"\n\
             cd -- {directory} || exit 1\n\
             {program} --jobs \"${{SLURM_CPUS_PER_TASK:-1}}\" sweep --shard \"$SLURM_ARRAY_TASK_ID/{tasks}\" --output {output} -- {plan}\n\
             code=$?\n\
             [ $code -eq 0 ] || echo \"tmt ended with exit code $code\"\n\
             exit $code\n",
            folder = quoted(self.folder)?,
            directory = quoted(self.directory)?,
            program = quoted(self.program)?,
            output = quoted(self.output)?,
            plan = quoted(self.plan)?,
            tasks = self.tasks,
        ))
    }
}

/// A path as one word of a shell, with any content.
fn quoted(path: &Path) -> Outcome<String> {
    let text = path.to_str().ok_or_else(|| {
        Failure::failed(format!(
            "{}: found a path that is not UTF-8, expected one that a job script can name",
            path.display()
        ))
    })?;
    Ok(format!("'{}'", text.replace('\'', "'\\''")))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_shell_reads_quoted_paths_as_they_are(path in "[ -~\\n\\té]{1,20}") {
            let word = quoted(Path::new(&path)).unwrap();
            let ran = Command::new("bash").args(["-c", &format!("printf %s {word}")]).output().unwrap();
            prop_assert_eq!(String::from_utf8(ran.stdout).unwrap(), path);
        }
    }
}

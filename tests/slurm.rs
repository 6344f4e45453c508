//! `tmt sweep --engine slurm` with scripts in place of Slurm; `.ci/slurm` has the real one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::common::{Folder, Ran, bash, tmt};

const PLAN: &str = "sweep --scheme arq,in-order,harq:10/12 --cc newreno,cubic:beta=0.8 \
    --loss bernoulli:1e-3..1e-2:log:3 --rate 2Mbps --duration 10s --seeds 2";

/// Runs the tasks of an array one after another. A task K for which there is a file `lost-K` does not run.
const SBATCH: &str = r#"
[ "$1" != --version ] || exit 0
for option in "$@"; do
  case $option in
    --array=*) array=${option#*=} ;;
    --job-name=*) name=${option#*=} ;;
  esac
  script=$option
done
echo "$array" >>submitted
job=$(wc -l <submitted)
tasks=$(for range in ${array//,/ }; do seq "${range%-*}" "${range#*-}"; done)
for task in $tasks; do echo "$job|$task|PENDING|$name|Resources" >"queue/$job.$task"; done
(
  for task in $tasks; do
    if ! rm "lost-$task"; then
      SLURM_ARRAY_JOB_ID=$job SLURM_ARRAY_TASK_ID=$task bash "$script"
    fi
    rm "queue/$job.$task"
  done
) >/dev/null 2>&1 &
echo "$job;cluster"
"#;

/// A folder with the commands, and the table of an undisturbed run in `local.csv`.
fn cluster() -> Folder {
    let folder = Folder::new();
    fs::create_dir(folder.path("bin")).unwrap();
    fs::create_dir(folder.path("queue")).unwrap();
    for (name, script) in [
        ("sbatch", SBATCH),
        (
            "squeue",
            "[ \"$1\" = --version ] || cat queue/* 2>/dev/null || true",
        ),
        ("sacct", "echo 'NODE_FAIL|1:0'"),
        ("scontrol", "echo 'MaxArraySize            = 11'"),
    ] {
        let path = folder.path("bin").join(name);
        fs::write(&path, format!("#!/bin/bash\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    tmt(&format!("{PLAN} -o local.csv"))
        .within(&folder)
        .run()
        .ok();
    folder
}

fn run(folder: &Folder, flags: &str) -> Ran {
    bash(
        folder,
        &format!("PATH=$PWD/bin:$PATH; tmt {PLAN} --engine slurm -o r.csv {flags}"),
    )
}

#[test]
fn an_array_gives_the_table_of_one_machine() {
    let folder = cluster();
    folder.write("lost-2", "");
    run(&folder, "--tasks 4").ok().says(&[
        "submitted 4 tasks of 4 as job array 1",
        "task 2 of 4 (job 1_2) failed: NODE_FAIL, exit code 1; its finished cells are kept, and it is submitted again",
        "submitted 1 task of 4 as job array 2",
    ]);
    assert_eq!(folder.read("submitted"), "1-4\n2\n");
    assert_eq!(folder.read("r.csv"), folder.read("local.csv"));
    assert!(!folder.path("r.csv.partial").exists());
}

#[test]
fn the_number_of_tasks_follows_from_the_estimate() {
    let folder = cluster();
    run(&folder, "--task-duration 1h")
        .ok()
        .says(&["by timing a few cells: 1 task", "submitted 1 task of 1"]);
    assert_eq!(folder.read("r.csv"), folder.read("local.csv"));
    fs::remove_file(folder.path("r.csv")).unwrap();
    // As many as an array may have.
    run(&folder, "--task-duration 1us")
        .ok()
        .says(&["by timing a few cells: 10 tasks"]);
    assert_eq!(folder.read("r.csv"), folder.read("local.csv"));
    fs::remove_file(folder.path("r.csv")).unwrap();
    run(&folder, "--tasks 11").fails(2, &["at most 10 (MaxArraySize of Slurm)"]);
}

#[test]
fn a_task_that_fails_every_time_is_named_and_the_others_are_kept() {
    let folder = cluster();
    folder.write("lost-3", "");
    run(&folder, "--tasks 3 --retries 0").fails(1, &[
        "shard-3-of-3.log:",
        "nothing: the task did not begin",
        "1 of 3 tasks failed: 3; all finished cells are kept in r.csv.partial, --resume runs what is missing",
    ]);
    assert!(!folder.path("r.csv").exists());
    run(&folder, "--tasks 3").fails(1, &["16 finished runs of an interrupted sweep"]);
    let ran = run(&folder, "--tasks 3 --resume").ok();
    // Only the cells of task 3 are left; their numbers are 2, 5, 8 and 11.
    assert!(
        ran.stderr.contains("submitted 1 task of 3 as job array 2"),
        "{}",
        ran.stderr
    );
    assert_eq!(folder.read("r.csv"), folder.read("local.csv"));
}

#[test]
fn options_and_plan_reach_the_tasks() {
    let folder = cluster();
    folder.write("lost-1", "");
    run(
        &folder,
        "--tasks 1 --retries 0 --sbatch=--time=5 --sbatch=--mem=1G",
    )
    .fails(1, &["1 of 1 task failed"]);
    let script = folder.read("r.csv.partial/task.sh");
    assert!(
        script.contains("\n#SBATCH --time=5\n#SBATCH --mem=1G\nexec "),
        "{script}"
    );
    let plan = folder.read("r.csv.partial/plan.toml");
    assert!(
        plan.contains("scheme = [[\"arq,in-order\"], [\"harq:10/12\"]]\n"),
        "{plan}"
    );
    // Any shard of it, submitted by hand, belongs to the sweep.
    tmt("sweep r.csv.partial/plan.toml --shard 1/1 -o r.csv")
        .within(&folder)
        .run()
        .ok();
    tmt(&format!("{PLAN} -o r.csv --resume"))
        .within(&folder)
        .run()
        .ok();
    assert_eq!(folder.read("r.csv"), folder.read("local.csv"));
}

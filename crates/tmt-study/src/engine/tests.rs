//! Where a stop ends the work.

use std::sync::atomic::{AtomicU64, Ordering};

use fluid_tcp::experiment::InMemory;

use super::*;
use crate::plan::Draft;

/// Questions of the cells of a plan whether they shall end.
static ASKED: AtomicU64 = AtomicU64::new(0);
/// Questions after which the answer is yes.
static BEFORE: AtomicU64 = AtomicU64::new(u64::MAX);

/// The records, whether the sweep has failed, and how many times it asked, if the answer is yes after `before` questions.
fn stopped_after(plan: &Plan, before: u64) -> (Vec<Record>, Option<String>, u64) {
    ASKED.store(0, Ordering::Relaxed);
    BEFORE.store(before, Ordering::Relaxed);
    let stopped =
        Stopped::when(|| ASKED.fetch_add(1, Ordering::Relaxed) >= BEFORE.load(Ordering::Relaxed));
    let records = Mutex::new(Vec::new());
    let sweep = Sweep::new(plan).unwrap().ends_when(stopped);
    let ran = sweep.run(&InMemory, 1, Records::default(), |record| {
        records.lock().unwrap().push(record.clone());
        Ok::<_, std::convert::Infallible>(())
    });
    let error = ran.err().map(|error| error.to_string());
    (
        records.into_inner().unwrap(),
        error,
        ASKED.load(Ordering::Relaxed),
    )
}

/// Each cell decodes many words, and asks before each. A stopped cell leaves no record: the next run with `--resume` measures it.
#[test]
fn a_stop_ends_a_cell_that_measures_a_code_within_it() {
    let plan = "model = \"ser-measured\"\nscheme = \"rs\"\necn0_db = [5.0, 5.5]\nevents = 300\n";
    let plan = Draft::parse(plan).unwrap();
    let plan = plan.plan(&mut |_| Ok(None)).unwrap();
    let (all, error, asked) = stopped_after(&plan, u64::MAX);
    assert!(
        all.len() == 2 && error.is_none() && asked > 1000,
        "{asked} {error:?}"
    );
    // Chunks that other threads have begun ask once more each.
    let in_flight = 4 * u64::try_from(std::thread::available_parallelism().unwrap().get()).unwrap();
    for (before, whole) in [(0, 0), (10, 0), (asked - 10, 1)] {
        let (records, error, until) = stopped_after(&plan, before);
        assert!(
            until <= before + in_flight,
            "{until} questions, {before} before"
        );
        assert_eq!(error.as_deref(), Some("stopped before its end"));
        assert_eq!(records, all[..whole]);
    }
}

/// Closed forms are too short to ask within a cell.
#[test]
fn a_stop_ends_a_sweep_before_its_next_cell() {
    let plan =
        "model = \"relation15\"\nq = [0.1, 0.01]\nT0 = 1\nmu = 455\ntau = 0.5\nb = 1\nN = 5\n";
    let plan = Draft::parse(plan).unwrap();
    let plan = plan.plan(&mut |_| Ok(None)).unwrap();
    let sweep = Sweep::new(&plan).unwrap();
    assert_eq!(sweep.cells().len(), 2);
    let stopped = sweep.ends_when(Stopped::when(|| true));
    let error = stopped.collect(&InMemory, 1).err();
    assert_eq!(error.unwrap().to_string(), "stopped before its end");
}

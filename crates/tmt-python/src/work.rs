//! Runs work on all cores, without the interpreter's lock, until it ends or the user interrupts it.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::Failure;

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// Whether work shall end early.
#[derive(Debug, Default)]
pub(crate) struct Stop(AtomicBool);

impl Stop {
    /// An error once the user has pressed Ctrl-C.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        if self.0.load(Ordering::Relaxed) {
            Err(Failure::Interrupted)
        } else {
            Ok(())
        }
    }
}

/// Runs the handlers of signals that have arrived.
fn signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals()
}

/// Threads that end with the value.
pub(crate) fn pool(jobs: Option<usize>) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(jobs.unwrap_or(0));
    pool.build()
        .map_err(|error| Failure::Data(error.to_string()))
}

/// Runs `work` on `jobs` threads, on all cores by default. The threads end with it, so that a process may fork afterwards.
///
/// # Errors
/// That of `work`; or the exception of a signal handler, such as `KeyboardInterrupt`, once `work` has noticed.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    jobs: Option<usize>,
    work: impl FnOnce(&Stop) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let pool = pool(jobs)?;
    let stop = Stop::default();
    let (result, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (ended, end) = channel();
            let (pool, stop) = (&pool, &stop);
            let worker = scope.spawn(move || {
                let result = pool.install(|| work(stop));
                let _ = ended.send(());
                result
            });
            let mut raised = None;
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if raised.is_none() {
                    raised = Python::attach(signals).err();
                    stop.0.store(raised.is_some(), Ordering::Relaxed);
                }
            }
            // Panics become exceptions in the caller's thread.
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            (result, raised)
        })
    });
    match raised {
        Some(raised) => Err(raised),
        None => Ok(result?),
    }
}

//! Runs work on all cores, without the interpreter's lock, until it ends or the user interrupts it, and shows how far it is.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;
use rayon::ThreadPool;
use tmt_cli::Host;

use crate::error::Failure;

/// Time between two looks at signals.
const LOOK: Duration = Duration::from_millis(50);

/// Looks between two reports of the progress.
const LOOKS: u32 = 4;

/// An error once the user has pressed Ctrl-C.
pub(crate) fn check(host: &Host) -> Result<(), Failure> {
    if host.is_stopped() {
        Err(Failure::Interrupted)
    } else {
        Ok(())
    }
}

/// Threads that end with the value.
pub(crate) fn pool(host: &Arc<Host>, jobs: Option<usize>) -> Result<ThreadPool, Failure> {
    tmt_cli::pool(host, jobs).map_err(|error| Failure::Data(error.to_string()))
}

/// How work ended, and the exception of a signal handler, such as `KeyboardInterrupt`, if one ended it early.
pub(crate) type Ended<T> = (Result<T, Failure>, Option<PyErr>);

/// Runs `work` on `jobs` threads, on all cores by default. The threads end with it, so that a process may fork afterwards.
///
/// # Errors
/// That of `work`; or the exception of a signal handler, such as `KeyboardInterrupt`, once `work` has noticed.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    jobs: Option<usize>,
    watcher: &Bound<'_, PyAny>,
    work: impl FnOnce(&Arc<Host>) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    match attempt(py, jobs, watcher, work)? {
        (_, Some(raised)) => Err(raised),
        (result, None) => Ok(result?),
    }
}

/// As [`run`], for work that has something to show although it was interrupted.
pub(crate) fn attempt<T: Send>(
    py: Python<'_>,
    jobs: Option<usize>,
    watcher: &Bound<'_, PyAny>,
    work: impl FnOnce(&Arc<Host>) -> Result<T, Failure> + Send,
) -> PyResult<Ended<T>> {
    let host = Arc::new(Host::default());
    let pool = pool(&host, jobs)?;
    let watcher = watcher.clone().unbind();
    let ended = py.detach(|| {
        std::thread::scope(|scope| {
            let (ended, end) = channel();
            let (pool, host) = (&pool, &host);
            let worker = scope.spawn(move || {
                let result = pool.install(|| work(host));
                let _ = ended.send(());
                result
            });
            let mut raised = None;
            let mut looks = 0u32;
            while end.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                looks = looks.wrapping_add(1);
                if raised.is_none() {
                    let shows = looks.is_multiple_of(LOOKS);
                    raised = Python::attach(|py| look(py, host, shows, &watcher)).err();
                    if raised.is_some() {
                        host.stop();
                    }
                }
            }
            // Panics become exceptions in the caller's thread.
            let result = worker.join().unwrap_or_else(|panic| resume_unwind(panic));
            (result, raised)
        })
    });
    Ok(ended)
}

/// Runs the handlers of signals that have arrived, and shows how far the work is.
fn look(py: Python<'_>, host: &Host, shows: bool, watcher: &Py<PyAny>) -> PyResult<()> {
    py.check_signals()?;
    let progress = host.progress();
    if shows && progress.total > 0 {
        let counts = (progress.done, progress.total, progress.unit);
        watcher.call_method1(py, "progress", counts)?;
    }
    Ok(())
}

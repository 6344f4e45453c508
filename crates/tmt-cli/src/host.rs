//! The program that calls a command in place of a shell ([`crate::call`]): the traces and files that it holds in memory, what the
//! command says and prints, how far it is, and whether it shall stop.
//!
//! A call belongs to the threads of its pool. Other threads that act for it enter it with [`Here::enter`].

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt;
use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tmt_core::format::{Options, TraceReader};
use tmt_core::types::{Note, Severity, Stopped};

/// Opens a trace that is in memory; its bytes are not copied.
pub type OpenTrace =
    Box<dyn FnOnce(Options) -> tmt_core::Result<TraceReader<'static>> + Send + 'static>;

/// How far a call is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Progress {
    /// Steps that are done.
    pub done: u64,
    /// All steps; 0 while they are unknown.
    pub total: u64,
    /// Unit of the count, in the plural: runs, slots, simulated seconds.
    pub unit: &'static str,
}

/// Flags of hosts that are gone, which others use again.
static FLAGS: Mutex<Vec<&AtomicBool>> = Mutex::new(Vec::new());

/// A flag that threads of any pool may look at: it outlives its host. There are as many as there were hosts at once.
struct Flag(&'static AtomicBool);

impl Default for Flag {
    fn default() -> Self {
        let known = locked(&FLAGS).pop();
        let flag = known.unwrap_or_else(|| Box::leak(Box::default()));
        // Until here work that was stopped stays stopped.
        flag.store(false, Ordering::Relaxed);
        Self(flag)
    }
}

impl Drop for Flag {
    fn drop(&mut self) {
        locked(&FLAGS).push(self.0);
    }
}

/// A call of a command by a program. It is shared with the threads that do the work: while [`crate::call`] runs, another thread
/// may look at [`Self::progress`] and end it by [`Self::stop`].
#[derive(Default)]
pub struct Host {
    traces: Mutex<HashMap<String, OpenTrace>>,
    files: Mutex<HashMap<String, Bytes>>,
    printed: Mutex<Vec<u8>>,
    notes: Mutex<Vec<Note>>,
    unit: Mutex<&'static str>,
    done: AtomicU64,
    total: AtomicU64,
    stopped: Flag,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("progress", &self.progress())
            .finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    /// Gives the command a trace in memory, which it reads once, under a name in place of a path.
    pub fn hold_trace(&self, name: &str, open: OpenTrace) {
        locked(&self.traces).insert(name.to_owned(), open);
    }

    /// Gives the command the bytes of a file under a name in place of a path.
    pub fn hold_file(&self, name: &str, bytes: Bytes) {
        locked(&self.files).insert(name.to_owned(), bytes);
    }

    /// How far the command is.
    #[must_use]
    pub fn progress(&self) -> Progress {
        Progress {
            done: self.done.load(Ordering::Relaxed),
            total: self.total.load(Ordering::Relaxed),
            unit: *locked(&self.unit),
        }
    }

    /// Ends the command as soon as it looks, which long work does many times a second.
    pub fn stop(&self) {
        self.stopped.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::stop`] was called.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stopped.0.load(Ordering::Relaxed)
    }

    /// Ends work together with the command, on any thread. The work must end before this host is dropped.
    #[must_use]
    pub fn stopped(&self) -> Stopped {
        Stopped::by(self.stopped.0)
    }

    /// Messages of the command so far, removed from here.
    #[must_use]
    pub fn take_notes(&self) -> Vec<Note> {
        std::mem::take(&mut locked(&self.notes))
    }

    /// Output of the command, removed from here.
    pub(crate) fn take_printed(&self) -> Vec<u8> {
        std::mem::take(&mut locked(&self.printed))
    }

    /// Prints `bytes`.
    pub(crate) fn print(&self, bytes: Vec<u8>) {
        let mut printed = locked(&self.printed);
        if printed.is_empty() {
            *printed = bytes;
        } else {
            printed.extend(bytes);
        }
    }

    /// Says something.
    pub(crate) fn tell(&self, severity: Severity, text: String) {
        locked(&self.notes).push(Note { severity, text });
    }

    /// Begins work of `total` steps.
    pub fn begin(&self, total: u64, unit: &'static str) {
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
        *locked(&self.unit) = unit;
    }

    /// Counts `steps` more steps as done.
    pub fn advance(&self, steps: u64) {
        self.done.fetch_add(steps, Ordering::Relaxed);
    }

    /// Takes the trace of this name.
    pub(crate) fn trace(&self, name: &str) -> Option<OpenTrace> {
        locked(&self.traces).remove(name)
    }

    /// Whether a trace has this name.
    pub(crate) fn has_trace(&self, name: &str) -> bool {
        locked(&self.traces).contains_key(name)
    }

    /// The bytes of the file of this name.
    pub(crate) fn file(&self, name: &str) -> Option<Bytes> {
        locked(&self.files).get(name).cloned()
    }
}

thread_local! {
    /// The call that this thread works for.
    static HOST: RefCell<Option<Arc<Host>>> = const { RefCell::new(None) };
}

/// The call that this thread works for; `None` in a program that a shell has started.
#[derive(Debug, Clone)]
pub(crate) struct Here(Option<Arc<Host>>);

/// The call that this thread works for.
pub(crate) fn here() -> Here {
    Here(HOST.with_borrow(Option::clone))
}

impl Here {
    /// The call `host`.
    pub(crate) fn of(host: &Arc<Host>) -> Self {
        Self(Some(Arc::clone(host)))
    }

    /// The host, if there is one.
    pub(crate) fn host(&self) -> Option<&Arc<Host>> {
        self.0.as_ref()
    }

    /// Whether the work shall end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.host().is_some_and(|host| host.is_stopped())
    }

    /// Ends work of any thread together with the call.
    pub(crate) fn stopped(&self) -> Stopped {
        self.host().map_or(Stopped::NEVER, |host| host.stopped())
    }

    /// Lets this thread work for the call, for good.
    pub(crate) fn stay(&self) {
        HOST.set(self.0.clone());
    }

    /// Does `work`, on a thread that may not belong to the call.
    pub(crate) fn enter<R>(&self, work: impl FnOnce() -> R) -> R {
        /// Restores the call that the thread had before, also if `work` unwinds.
        struct Before(Option<Arc<Host>>);

        impl Drop for Before {
            fn drop(&mut self) {
                HOST.set(self.0.take());
            }
        }

        let _before = Before(HOST.replace(self.0.clone()));
        work()
    }

    /// `input`, which fails once the work shall end.
    pub(crate) fn watched(self, input: Box<dyn Read + Send>) -> Box<dyn Read + Send> {
        if self.0.is_none() {
            return input;
        }
        Box::new(Watched { input, here: self })
    }
}

/// Message of a call that was stopped, on its way out.
pub(crate) const STOPPED: &str = "stopped before its end";

/// An input that fails once the work shall end.
struct Watched {
    input: Box<dyn Read + Send>,
    here: Here,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.here.is_stopped() {
            return Err(io::Error::other(STOPPED));
        }
        self.input.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_works_for_the_call_that_it_has_entered() {
        let (outer, inner) = (Arc::new(Host::default()), Arc::new(Host::default()));
        assert!(here().host().is_none());
        Here::of(&outer).enter(|| {
            here().host().unwrap().advance(1);
            Here::of(&inner).enter(|| here().host().unwrap().advance(2));
            here().host().unwrap().advance(4);
        });
        assert!(here().host().is_none());
        assert_eq!([outer.progress().done, inner.progress().done], [5, 2]);
    }

    #[test]
    fn a_host_that_takes_the_flag_of_another_is_not_stopped() {
        let host = Host::default();
        let stopped = host.stopped();
        assert!(!stopped.now());
        host.stop();
        assert!(stopped.now());
        drop(host);
        let next: Vec<Host> = (0..4).map(|_| Host::default()).collect();
        assert!(next.iter().all(|host| !host.is_stopped()));
        next[0].stop();
        assert!(!next[1].stopped().now());
    }

    #[test]
    fn a_stopped_input_fails() {
        let host = Arc::new(Host::default());
        let mut input = Here::of(&host).watched(Box::new(io::repeat(7)));
        assert_eq!(input.read(&mut [0; 3]).unwrap(), 3);
        host.stop();
        assert_eq!(input.read(&mut [0; 3]).unwrap_err().to_string(), STOPPED);
    }
}

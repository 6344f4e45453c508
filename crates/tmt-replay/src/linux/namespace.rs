//! Namespaces of a run.

use std::fs;
use std::io;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getgid, getuid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

/// Reason why there are no namespaces.
#[derive(Debug, thiserror::Error)]
pub enum NamespaceError {
    /// The kernel refuses them.
    #[error(
        "network namespaces: found {0}, expected CAP_SYS_ADMIN or a kernel that lets users create user namespaces; run as root, or see user.max_user_namespaces, kernel.unprivileged_userns_clone and kernel.apparmor_restrict_unprivileged_userns with sysctl"
    )]
    Refused(Errno),
    /// A file of /proc, or the program itself, cannot be used.
    #[error("{0}: {1}")]
    File(&'static str, io::Error),
    /// A signal cannot be handled.
    #[error("signals: {0}")]
    Signals(io::Error),
}

/// A signal is repeated after so many ticks, and the last one is SIGKILL: after 10 s.
const ATTEMPTS: u32 = 101;
const TICKS: u32 = 10;
const TICK: Duration = Duration::from_millis(10);

/// New namespaces for children of this process, as root or as any user in a user namespace, where the user is root.
fn isolate() -> Result<(), NamespaceError> {
    let (user, group) = (getuid(), getgid());
    let isolated = CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNET;
    match unshare(isolated) {
        Ok(()) => return Ok(()),
        Err(Errno::EPERM) => {}
        Err(other) => return Err(NamespaceError::Refused(other)),
    }
    unshare(CloneFlags::CLONE_NEWUSER | isolated).map_err(NamespaceError::Refused)?;
    let write = |path: &'static str, text: String| {
        fs::write(path, text).map_err(|error| NamespaceError::File(path, error))
    };
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("0 {user} 1"))?;
    write("/proc/self/gid_map", format!("0 {group} 1"))
}

/// Runs this program again with the same arguments as the first process of new namespaces, with `variable` set to the number in /proc of
/// this process, and waits for it. SIGTERM and SIGHUP are passed on; SIGINT and SIGQUIT, which a terminal sends to all processes, are
/// left to the command.
///
/// The process must have a single thread: the kernel gives no user namespace to others.
///
/// # Errors
/// The kernel refuses namespaces, or the program cannot be run again.
pub fn as_first_process(variable: &str) -> Result<ExitStatus, NamespaceError> {
    isolate()?;
    let flags = [SIGTERM, SIGHUP].map(|signal| (signal, Arc::new(AtomicBool::new(false))));
    for (signal, flag) in &flags {
        signal_hook::flag::register(*signal, Arc::clone(flag)).map_err(NamespaceError::Signals)?;
    }
    for signal in [SIGINT, SIGQUIT] {
        signal_hook::flag::register(signal, Arc::default()).map_err(NamespaceError::Signals)?;
    }
    let program = |error| NamespaceError::File("/proc/self/exe", error);
    let mut child = Command::new("/proc/self/exe")
        .args(std::env::args_os().skip(1))
        .env(variable, of_status("Pid:")?)
        .spawn()
        .map_err(program)?;
    // A handler restarts a system call that waits, so that a signal would be seen only at the end.
    loop {
        if let Some(status) = child.try_wait().map_err(program)? {
            return Ok(status);
        }
        let raised = |(_, flag): &&(i32, Arc<AtomicBool>)| flag.load(Ordering::Relaxed);
        if let Some((signal, _)) = flags.iter().find(raised) {
            return ended(child, *signal).map_err(program);
        }
        thread::sleep(TICK);
    }
}

/// Ends the first process of the namespaces by a signal. It ignores the signal until it has a handler, so that the signal is
/// repeated; what has not ended after some time is killed.
fn ended(mut child: Child, signal: i32) -> io::Result<ExitStatus> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let signal = Signal::try_from(signal).unwrap_or(Signal::SIGKILL);
    for attempt in 0..ATTEMPTS {
        // The child may have ended.
        let _ = kill(
            pid,
            if attempt + 1 < ATTEMPTS {
                signal
            } else {
                Signal::SIGKILL
            },
        );
        for _ in 0..TICKS {
            if let Some(status) = child.try_wait()? {
                return Ok(status);
            }
            thread::sleep(TICK);
        }
    }
    child.wait()
}

/// A field of /proc/self/status. All processes of a run see the same /proc, so that the numbers there agree.
fn of_status(field: &str) -> Result<String, NamespaceError> {
    let file = |error| NamespaceError::File("/proc/self/status", error);
    let status = fs::read_to_string("/proc/self/status").map_err(file)?;
    let found = status.lines().find_map(|line| line.strip_prefix(field));
    let found = found.ok_or_else(|| file(io::Error::other(format!("found no field {field}"))))?;
    Ok(found.trim().to_owned())
}

/// Ends this process when its parent, whose number in the parent's namespace is `parent`, ends.
///
/// # Errors
/// The kernel refuses it, or the parent has ended already.
pub fn follow_parent(parent: &str) -> Result<(), NamespaceError> {
    let file = |error| NamespaceError::File("/proc/self/status", error);
    set_pdeathsig(Signal::SIGKILL).map_err(|error| file(error.into()))?;
    if of_status("PPid:")? == parent {
        return Ok(());
    }
    Err(file(io::Error::other(
        "the process that started this one has ended",
    )))
}

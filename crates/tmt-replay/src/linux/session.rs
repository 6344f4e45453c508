//! A run: the command at the near end, another at the far end, and the link between them.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use signal_hook::consts::{SIGHUP, SIGTERM};
use tmt_core::types::Time;

use super::end::End;
use super::sampler::Sampler;
use super::tun::{TunPort, instant};
use crate::carrier::Carried;
use crate::port::Port as _;

/// Time that the far command has until it listens.
const READY: Duration = Duration::from_secs(2);

/// Time that a command has to end.
const GRACE: Duration = Duration::from_millis(500);

/// Time between two looks at something that does not report its end.
const TICK: Duration = Duration::from_millis(5);

/// Reason why a run could not begin or go on.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// A command cannot be started.
    #[error("{name}: {error}")]
    Start {
        /// The command.
        name: String,
        /// The reason.
        error: io::Error,
    },
    /// The kernel refuses something.
    #[error(transparent)]
    System(#[from] io::Error),
    /// A direction could not go on.
    #[error("{0}")]
    Direction(String),
}

/// How a run ended.
#[derive(Debug)]
pub enum Ended {
    /// The command ended.
    Command(ExitStatus),
    /// The link of a direction ended before the command: 0 for down, 1 for up.
    Link(usize),
    /// The run got this signal.
    Signal(i32),
}

/// Both ends, and the commands there.
#[derive(Debug)]
pub struct Session {
    /// Near and far end.
    pub ends: [End; 2],
    /// The command at the near end.
    pub near: Command,
    /// The command at the far end.
    pub far: Option<Command>,
    /// Samples the connections at both ends.
    pub sampler: Option<Sampler>,
}

impl Session {
    /// Runs the commands until the near one ends. `down` carries the packets from the far to the near end, `up` the others; both
    /// get the port of their direction, whose time begins at their `Time`.
    ///
    /// The far command is in a process group of its own and reads nothing. The near one starts when a socket at the far end
    /// listens, or after 2 s, or when the far command has ended.
    ///
    /// # Errors
    /// A command that cannot be started, or a direction that cannot go on.
    pub fn run<F>(self, [down, up]: [(Time, F); 2]) -> Result<(Ended, [Carried; 2]), SessionError>
    where
        F: FnOnce(TunPort) -> Result<Carried, String> + Send,
    {
        let Self {
            ends,
            near,
            far,
            sampler,
        } = self;
        let signals = [SIGTERM, SIGHUP].map(|signal| (signal, Arc::new(AtomicBool::new(false))));
        for (signal, flag) in &signals {
            signal_hook::flag::register(*signal, Arc::clone(flag))?;
        }
        let [near_end, far_end] = &ends;
        let far = far.map(at_far_end);
        let mut far = far.map(|command| started(far_end, command)).transpose()?;
        if let Some(far) = &mut far {
            let begun = instant();
            while !far_end.listens() && far.try_wait()?.is_none() && begun.elapsed() < READY {
                thread::sleep(TICK);
            }
        }
        let over = Arc::new(AtomicBool::new(false));
        let start = instant();
        let port = |from, to, begin| TunPort::new(from, to, start, begin, &over);
        let begins = [up.0, down.0];
        let mut ports = [
            port(far_end, near_end, down.0),
            port(near_end, far_end, up.0),
        ];
        let mut before = Vec::new();
        for port in &mut ports {
            // Packets that the kernel has sent before the run are not part of it.
            while port.receive(&mut before)? {}
        }
        let [down_port, up_port] = ports;
        let (reports, reported) = channel::<usize>();
        let (ended, carried) = thread::scope(|scope| {
            let direct = |number, work: F, port| {
                let reports = reports.clone();
                scope.spawn(move || {
                    TunPort::wake_precisely();
                    let carried = work(port);
                    // The receiver waits as long as anything may report.
                    let _ = reports.send(number);
                    carried
                })
            };
            let over = &over;
            let sampling =
                sampler.map(|sampler| scope.spawn(move || sampler.run(start, begins, over)));
            let directions = [direct(0, down.1, down_port), direct(1, up.1, up_port)];
            let ended = started(near_end, near).and_then(|mut near| {
                let ended = loop {
                    if let Some(status) = near.try_wait()? {
                        break Ended::Command(status);
                    }
                    let signal = signals
                        .iter()
                        .find(|(_, flag)| flag.load(Ordering::Relaxed));
                    if let Some((signal, _)) = signal {
                        break Ended::Signal(*signal);
                    }
                    match reported.recv_timeout(TICK) {
                        Ok(number) => break Ended::Link(number),
                        Err(RecvTimeoutError::Timeout) => {}
                        Err(error) => return Err(io::Error::other(error).into()),
                    }
                };
                if !matches!(ended, Ended::Command(_)) {
                    end(&mut near, false)?;
                }
                Ok(ended)
            });
            over.store(true, Ordering::Relaxed);
            let carried = directions.map(|direction| {
                let carried = direction.join();
                carried.unwrap_or_else(|_| Err("the thread of a direction failed".to_owned()))
            });
            let sampled = sampling.map(|thread| {
                let sampled = thread.join();
                sampled
                    .unwrap_or_else(|_| Err(io::Error::other("the thread of the samples failed")))
            });
            let ended = ended.and_then(|ended| {
                sampled.transpose()?;
                Ok(ended)
            });
            (ended, carried)
        });
        if let Some(far) = &mut far {
            end(far, true)?;
        }
        let [down, up] = carried;
        // A direction that fails is why the rest ended.
        let carried = [down, up].map(|carried| carried.map_err(SessionError::Direction));
        let [down, up] = carried;
        Ok((ended?, [down?, up?]))
    }
}

/// Starts a command at an end.
fn started(end: &End, command: Command) -> Result<Child, SessionError> {
    let name = command.get_program().to_string_lossy().into_owned();
    end.start(command)
        .map_err(|error| SessionError::Start { name, error })
}

/// Ends a process, or its group: by SIGTERM, and then by SIGKILL.
fn end(child: &mut Child, group: bool) -> io::Result<()> {
    let pid = Pid::from_raw(child.id().cast_signed());
    let begun = instant();
    for signal in [Signal::SIGTERM, Signal::SIGKILL] {
        // A process that has ended gets no signal.
        let _ = if group {
            killpg(pid, signal)
        } else {
            kill(pid, signal)
        };
        while child.try_wait()?.is_none() && begun.elapsed() < GRACE {
            thread::sleep(TICK);
        }
    }
    child.wait().map(|_| ())
}

/// The command at the far end: in a group of its own, so that the terminal does not interrupt it, without input, and with its
/// output where errors go.
fn at_far_end(mut command: Command) -> Command {
    command
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(io::stderr());
    command
}

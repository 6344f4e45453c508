//! One direction between two TUN devices, with the monotonic clock.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::prctl::set_timerslack;
use nix::sys::time::TimeSpec;
use tmt_core::types::{Span, Time};

use super::end::End;
use crate::port::Port;

/// Longest wait, after which the end of the run is noticed.
const LONGEST_WAIT: Duration = Duration::from_millis(20);

/// Niceness of the threads that carry packets: before all that have not asked for more.
const NICENESS: i32 = -20;

/// Largest packet of a TUN device, bytes.
const LARGEST: usize = 65_535;

/// The packets that one end sends to the other, with the monotonic clock.
#[derive(Debug)]
pub struct TunPort {
    from: Arc<File>,
    to: Arc<File>,
    /// The instant at which the time of the run is `begin`.
    start: Instant,
    begin: Time,
    over: Arc<AtomicBool>,
    /// Memory of a packet that is being read.
    memory: Vec<u8>,
}

impl TunPort {
    /// The packets from one end to the other. At the instant `start` the time is `begin`; the run ends once `over` is set.
    #[must_use]
    pub(super) fn new(
        from: &End,
        to: &End,
        start: Instant,
        begin: Time,
        over: &Arc<AtomicBool>,
    ) -> Self {
        Self {
            from: Arc::clone(from.device()),
            to: Arc::clone(to.device()),
            start,
            begin,
            over: Arc::clone(over),
            memory: vec![0; LARGEST],
        }
    }

    /// Asks the kernel to wake this thread in time, rather than within 50 µs, and before others that wait for a processor, which
    /// only root may ask.
    pub fn wake_precisely() {
        // Without either packets are later, which is counted.
        let _ = set_timerslack(1);
        let _ = rustix::process::setpriority_process(None, NICENESS);
    }
}

/// The monotonic clock.
#[expect(
    clippy::disallowed_methods,
    reason = "a run in real time goes by the clock; decisions of the link do not depend on it"
)]
pub(super) fn instant() -> Instant {
    Instant::now()
}

impl Port for TunPort {
    fn now(&mut self) -> Time {
        let passed = instant().duration_since(self.start).as_nanos();
        let passed = u64::try_from(passed).ok().and_then(Span::from_nanos);
        self.begin.saturating_add(passed.unwrap_or(Span::MAX))
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        match (&*self.from).read(&mut self.memory) {
            Ok(length) => {
                packet.clear();
                packet.extend_from_slice(&self.memory[..length]);
                Ok(true)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        (&*self.to).write(packet).map(|_| ())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<bool> {
        if self.over.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let now = self.now();
        let wait = until.map(|until| Duration::from_nanos(until.since(now).as_nanos()));
        let wait = wait.map_or(LONGEST_WAIT, |wait| wait.min(LONGEST_WAIT));
        if wait.is_zero() {
            return Ok(true);
        }
        let mut polled = [PollFd::new(self.from.as_fd(), PollFlags::POLLIN)];
        match ppoll(&mut polled, Some(TimeSpec::from_duration(wait)), None) {
            Ok(_) | Err(Errno::EINTR) => Ok(true),
            Err(error) => Err(error.into()),
        }
    }
}

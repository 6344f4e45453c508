//! Samples of the TCP connections at both ends, on a thread of their own.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use fluid_tcp::log::{HostSample, HostSeries};
use tmt_core::types::{Span, Time};

use super::end::End;
use super::sockets::Sockets;
use super::tun::instant;

/// The connections of an end at a time: 0 for the near end.
type Seen = (usize, Time, Vec<HostSample>);

/// Longest sleep, after which the end of the run is noticed.
const LONGEST_SLEEP: Duration = Duration::from_millis(20);

/// Asks the kernel for the connections at both ends at a constant interval.
#[derive(Debug)]
pub struct Sampler {
    ends: [Sockets; 2],
    every: Duration,
    samples: Sender<Seen>,
}

/// Samples of a [`Sampler`].
#[derive(Debug)]
pub struct Samples(Receiver<Seen>);

impl Sampler {
    /// A sampler of the near and the far end, and its samples.
    ///
    /// # Errors
    /// The kernel has no `sock_diag`.
    pub fn new([near, far]: [&End; 2], every: Span) -> io::Result<(Self, Samples)> {
        let (sender, receiver) = channel();
        let sampler = Self {
            ends: [near.sockets()?, far.sockets()?],
            every: Duration::from_nanos(every.as_nanos()),
            samples: sender,
        };
        Ok((sampler, Samples(receiver)))
    }

    /// Samples until the run is over. At the instant `start` the time of each end is that of `begins`.
    pub(super) fn run(
        mut self,
        start: Instant,
        begins: [Time; 2],
        over: &AtomicBool,
    ) -> io::Result<()> {
        let mut due = start;
        while !over.load(Ordering::Relaxed) {
            let wait = due.saturating_duration_since(instant());
            if !wait.is_zero() {
                thread::sleep(wait.min(LONGEST_SLEEP));
                continue;
            }
            for (number, (end, begin)) in self.ends.iter_mut().zip(begins).enumerate() {
                let passed = instant().duration_since(start).as_nanos();
                let passed = u64::try_from(passed).ok().and_then(Span::from_nanos);
                let now = begin.saturating_add(passed.unwrap_or(Span::MAX));
                let seen = end.samples()?;
                // Without a reader there is no series to write.
                let _ = self.samples.send((number, now, seen));
            }
            // A sample that is missed is left out.
            while due <= instant() {
                due += self.every;
            }
        }
        Ok(())
    }
}

impl Samples {
    /// Writes the series of the near and the far end, until the run is over.
    ///
    /// # Errors
    /// The first error of a file.
    pub fn write<W: Write + Send>(self, mut series: [HostSeries<W>; 2]) -> io::Result<[W; 2]> {
        for (end, now, samples) in self.0 {
            for sample in samples {
                series[end].sample(now, &sample);
            }
        }
        let [near, far] = series;
        Ok([near.finish()?, far.finish()?])
    }
}

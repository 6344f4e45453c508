//! Where packets come from and go to, with the clock that they go by.

use std::collections::VecDeque;
use std::io;

use tmt_core::types::Time;

/// Both ends of one direction, and the clock of its run.
pub trait Port {
    /// The time of the run. It never decreases.
    fn now(&mut self) -> Time;

    /// Takes the next packet that waits into `packet`; false if none waits.
    ///
    /// # Errors
    /// The device fails.
    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool>;

    /// Hands a packet over to the other end.
    ///
    /// # Errors
    /// The device fails.
    fn send(&mut self, packet: &[u8]) -> io::Result<()>;

    /// Waits for a packet, until `until`, or for a while. Returns false once the run is over.
    ///
    /// # Errors
    /// The device fails.
    fn wait(&mut self, until: Option<Time>) -> io::Result<bool>;
}

/// Packets in memory with their arrivals, and simulated time, for tests.
#[derive(Debug, Default)]
pub struct InMemoryPort {
    now: Time,
    arrivals: VecDeque<(Time, Vec<u8>)>,
    sent: Vec<(Time, Vec<u8>)>,
}

impl InMemoryPort {
    /// A port with these packets, whose arrivals never decrease. The run is over once all are delivered.
    pub fn new(arrivals: impl IntoIterator<Item = (Time, Vec<u8>)>) -> Self {
        Self {
            arrivals: arrivals.into_iter().collect(),
            ..Self::default()
        }
    }

    /// The packets that were handed over, each with the time.
    #[must_use]
    pub fn sent(&self) -> &[(Time, Vec<u8>)] {
        &self.sent
    }
}

impl Port for InMemoryPort {
    fn now(&mut self) -> Time {
        self.now
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        let next = self.arrivals.pop_front_if(|(at, _)| *at <= self.now);
        let Some((_, bytes)) = next else {
            return Ok(false);
        };
        *packet = bytes;
        Ok(true)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.sent.push((self.now, packet.to_vec()));
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<bool> {
        let arrival = self.arrivals.front().map(|(at, _)| *at);
        let next = arrival.into_iter().chain(until).min();
        self.now = next.map_or(self.now, |next| next.max(self.now));
        Ok(next.is_some())
    }
}

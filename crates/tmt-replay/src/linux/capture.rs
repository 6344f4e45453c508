//! Captures at both ends, on a thread of their own.

use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};

use fluid_tcp::log::Capture;
use tmt_core::types::Time;

use crate::port::Port;

/// A packet at an end: 0 for the near one.
type Seen = (usize, Time, Vec<u8>);

/// Port that passes each packet, as its ends see it, to [`Captures`].
#[derive(Debug)]
pub struct Tapped<P> {
    port: P,
    /// Ends that packets come from and go to, and where to pass them; `None` without captures.
    tap: Option<([usize; 2], Sender<Seen>)>,
}

/// The packets that both ends see.
#[derive(Debug)]
pub struct Captures(Receiver<Seen>);

impl Captures {
    /// The senders for both directions, and what they send to.
    #[must_use]
    pub fn new() -> ([Tap; 2], Self) {
        let (sender, receiver) = channel();
        ([Tap(sender.clone()), Tap(sender)], Self(receiver))
    }

    /// Writes the packets to the files of the near and the far end, until both directions are over.
    ///
    /// # Errors
    /// The first error of a file.
    pub fn write<W: Write>(self, files: [W; 2]) -> io::Result<[W; 2]> {
        let [near, far] = files;
        let mut files = [Capture::new(near)?, Capture::new(far)?];
        for (end, at, packet) in self.0 {
            files[end].packet(at, &packet)?;
        }
        Ok(files.map(Capture::into_inner))
    }
}

/// Passes packets to [`Captures`].
#[derive(Debug)]
pub struct Tap(Sender<Seen>);

impl<P: Port> Tapped<P> {
    /// `port`, whose packets come from end `ends[0]` and go to `ends[1]`.
    pub fn new(port: P, ends: [usize; 2], tap: Option<Tap>) -> Self {
        let tap = tap.map(|tap| (ends, tap.0));
        Self { port, tap }
    }

    fn pass(&mut self, which: usize, packet: &[u8]) {
        if let Some((ends, sender)) = &self.tap {
            // Without a reader there is no capture to write.
            let _ = sender.send((ends[which], self.port.now(), packet.to_vec()));
        }
    }
}

impl<P: Port> Port for Tapped<P> {
    fn now(&mut self) -> Time {
        self.port.now()
    }

    fn receive(&mut self, packet: &mut Vec<u8>) -> io::Result<bool> {
        let received = self.port.receive(packet)?;
        if received {
            self.pass(0, packet);
        }
        Ok(received)
    }

    fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        self.port.send(packet)?;
        self.pass(1, packet);
        Ok(())
    }

    fn wait(&mut self, until: Option<Time>) -> io::Result<bool> {
        self.port.wait(until)
    }
}

//! Reading ahead: a thread unpacks a compressed input while another parses what it has unpacked.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Bytes of a chunk, and chunks that may wait: 1 MiB in all.
const CHUNK: usize = 1 << 18;
const WAITING: usize = 4;

/// Message of the thread. Without an end, it has stopped before its time.
enum Passed {
    Bytes(Vec<u8>),
    End,
    Failed(io::Error),
}

/// A source that a thread of its own reads.
pub(crate) struct Ahead {
    passed: Receiver<Passed>,
    chunk: Vec<u8>,
    /// Bytes of the chunk that were taken.
    taken: usize,
    ended: bool,
}

impl Ahead {
    /// Starts to read `source`. The thread ends with the source, or when this is dropped.
    pub(crate) fn new(source: impl Read + Send + 'static) -> io::Result<Self> {
        let (passing, passed) = sync_channel(WAITING);
        let name = String::from("unpack");
        thread::Builder::new()
            .name(name)
            .spawn(move || pass(source, &passing))?;
        Ok(Self {
            passed,
            chunk: Vec::new(),
            taken: 0,
            ended: false,
        })
    }
}

/// Reads the source to its end, as long as somebody takes what it gives.
fn pass(mut source: impl Read, passing: &SyncSender<Passed>) {
    loop {
        let mut chunk = Vec::with_capacity(CHUNK);
        let read = source.by_ref().take(CHUNK as u64).read_to_end(&mut chunk);
        let is_end = chunk.is_empty();
        // Bytes read before an error are valid.
        if !is_end && passing.send(Passed::Bytes(chunk)).is_err() {
            return;
        }
        let last = match read {
            Err(error) => Passed::Failed(error),
            Ok(_) if is_end => Passed::End,
            Ok(_) => continue,
        };
        // Nobody may be left to take it.
        let _ = passing.send(last);
        return;
    }
}

impl BufRead for Ahead {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.taken == self.chunk.len() && !self.ended {
            match self.passed.recv() {
                Ok(Passed::Bytes(chunk)) => (self.chunk, self.taken) = (chunk, 0),
                Ok(Passed::End) => self.ended = true,
                Ok(Passed::Failed(error)) => return Err(error),
                Err(_) => return Err(io::Error::other("unpacking has stopped before the end")),
            }
        }
        Ok(&self.chunk[self.taken..])
    }

    fn consume(&mut self, bytes: usize) {
        self.taken = self.chunk.len().min(self.taken + bytes);
    }
}

impl Read for Ahead {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.fill_buf()?;
        let count = bytes.len().min(buffer.len());
        buffer[..count].copy_from_slice(&bytes[..count]);
        self.consume(count);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives these bytes, then fails.
    struct Failing(io::Cursor<Vec<u8>>);

    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("cut")),
                count => Ok(count),
            }
        }
    }

    fn bytes(count: usize) -> Vec<u8> {
        (0..count)
            .map(|at| u8::try_from(at % 251).unwrap())
            .collect()
    }

    #[test]
    fn all_bytes_pass_in_order() {
        for count in [0, 1, CHUNK - 1, CHUNK, 9 * CHUNK + 7] {
            let mut all = Vec::new();
            let mut ahead = Ahead::new(io::Cursor::new(bytes(count))).unwrap();
            ahead.read_to_end(&mut all).unwrap();
            assert_eq!(all, bytes(count));
            assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 0);
        }
    }

    #[test]
    fn an_error_comes_after_the_bytes_before_it_and_is_no_end() {
        let count = 2 * CHUNK + 5;
        let mut ahead = Ahead::new(Failing(io::Cursor::new(bytes(count)))).unwrap();
        let mut all = Vec::new();
        let error = ahead.read_to_end(&mut all).unwrap_err();
        assert_eq!((error.to_string().as_str(), all), ("cut", bytes(count)));
        assert!(ahead.fill_buf().is_err());
    }

    #[test]
    fn a_reader_that_stops_early_ends_the_thread() {
        // Endless: the thread ends only because nobody takes more.
        let mut ahead = Ahead::new(io::repeat(7)).unwrap();
        assert_eq!(ahead.fill_buf().unwrap()[0], 7);
        drop(ahead);
    }
}

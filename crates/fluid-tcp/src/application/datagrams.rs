//! Data in pieces of one size at times of their own, as datagrams with jitter and playout, or as a stream.

use std::fmt::Debug;

use tmt_core::types::{Bytes, Span, Time};

use super::voice::Playout;
use crate::endpoint::{
    Application, Datagram, Endpoint, Mean, Outcome, Supply, UdpReceiver, UdpSender,
};
use crate::simulation::Flow;

/// The flow between hosts of UDP, whose datagrams have these headers.
pub(super) fn over_udp(flow: Flow, headers: Bytes) -> Flow {
    let endpoint = Endpoint {
        headers,
        ..flow.endpoint
    };
    let flow = Flow { endpoint, ..flow };
    flow.over(move |_| (UdpSender::new(headers), UdpReceiver::new(headers)))
}

/// A piece of data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Time at which it is there.
    pub(super) at: Time,
    /// Whether it is the first after a pause.
    pub(super) begins: bool,
}

/// An application that sends pieces.
#[derive(Debug)]
pub(super) struct Pieces<I> {
    payload: Bytes,
    schedule: I,
    next: Option<Piece>,
    supplied: u64,
    /// Jitter; `None` for a stream, whose pieces the network does not keep apart.
    jitter: Option<Jitter>,
    /// The listener, if it is a call.
    playout: Option<Playout>,
}

impl<I: Iterator<Item = Piece>> Pieces<I> {
    /// Pieces as datagrams, to a listener if it is a call.
    pub(super) fn datagrams(payload: Bytes, schedule: I, playout: Option<Playout>) -> Self {
        Self {
            jitter: Some(Jitter::default()),
            playout,
            ..Self::stream(payload, schedule)
        }
    }

    /// Pieces as a stream.
    pub(super) fn stream(payload: Bytes, mut schedule: I) -> Self {
        Self {
            payload,
            next: schedule.next(),
            schedule,
            supplied: 0,
            jitter: None,
            playout: None,
        }
    }
}

impl<I: Iterator<Item = Piece> + Debug> Application for Pieces<I> {
    fn supply(&mut self, now: Time) -> Supply {
        let Some(piece) = self.next else {
            return Supply::Ended;
        };
        if now < piece.at {
            return Supply::At(piece.at);
        }
        self.next = self.schedule.next();
        self.supplied = self.supplied.saturating_add(self.payload.0);
        if let Some(playout) = &mut self.playout {
            playout.on_sent(now, piece.begins);
        }
        Supply::Data(self.payload)
    }

    fn on_datagram(&mut self, now: Time, datagram: &Datagram) {
        if let Some(jitter) = &mut self.jitter {
            jitter.on_arrival(now, datagram.sent);
        }
        if let Some(playout) = &mut self.playout {
            playout.on_arrival(now, datagram);
        }
    }

    fn outcome(&mut self, end: Time) -> Outcome {
        // A stream takes no more than it can send: the rest was offered, too.
        while self.jitter.is_none()
            && let Some(piece) = self.next
            && piece.at <= end
        {
            self.supplied = self.supplied.saturating_add(self.payload.0);
            self.next = self.schedule.next();
        }
        let jitter = self.jitter.as_ref().and_then(Jitter::values);
        Outcome {
            offered: Some(Bytes(self.supplied)),
            jitter_s: jitter.map_or_else(Mean::default, |(last, _)| Mean::of(last)),
            jitter_max_s: jitter.map(|(_, most)| most),
            voice: self.playout.as_mut().and_then(|playout| playout.heard(end)),
            ..Outcome::default()
        }
    }
}

/// Interarrival jitter of RFC 3550, Sec. 6.4.1 and A.8, in the order of arrival, with times in ns and without rounding.
#[derive(Debug, Clone, Default)]
pub(super) struct Jitter {
    /// Transit time of the last datagram.
    transit: Option<Span>,
    /// Whether there have been two.
    known: bool,
    last_s: f64,
    most_s: f64,
}

impl Jitter {
    /// A datagram of time `sent` arrives.
    pub(super) fn on_arrival(&mut self, now: Time, sent: Time) {
        let transit = now.since(sent);
        if let Some(last) = self.transit.replace(transit) {
            let (more, less) = (transit.max(last), transit.min(last));
            let difference = more.saturating_sub(less).as_secs_f64();
            self.last_s += (difference - self.last_s) / 16.0;
            self.most_s = self.most_s.max(self.last_s);
            self.known = true;
        }
    }

    /// The last value and the largest, s; `None` before the second datagram.
    pub(super) fn values(&self) -> Option<(f64, f64)> {
        self.known.then_some((self.last_s, self.most_s))
    }
}

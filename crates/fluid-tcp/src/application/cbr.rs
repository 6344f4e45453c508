//! Datagrams at a constant rate, such as a call.

use tmt_core::types::{Bytes, Time};

use super::datagrams::{Piece, Pieces, over_udp};
use super::spacing::spacing;
use super::voice::{CODEC, HEADERS, PACKET, PLAYOUT, RATE, Sound};
use super::{Entry, Form, Make, Traffic};
use crate::simulation::Flow;

pub(super) static ENTRY: Entry = Entry {
    name: "cbr",
    about: "datagrams at a constant rate over UDP; a call, if it has a codec",
    parameters: &[RATE, PACKET, CODEC, HEADERS, PLAYOUT],
    examples: &[
        "cbr",
        "cbr(rate=64kbps,packet=160B)",
        "cbr(codec=g729,packet=40B,playout=100ms)",
        "cbr(rate=2Mbps,packet=1200B,headers=28B)",
    ],
    make: Make::of(|values| Ok(Box::new(ConstantRate(Sound::of(values)?)))),
};

#[derive(Debug)]
struct ConstantRate(Sound);

impl Traffic for ConstantRate {
    fn datagrams(&self) -> Option<Form> {
        Some(self.0.form(1.0))
    }

    fn flow(&self, flow: Flow, _packet: Bytes) -> Option<Flow> {
        let sound = self.0.clone();
        let headers = sound.headers;
        Some(over_udp(flow, headers).limited().with(move |context| {
            let ticks = Ticks {
                start: context.start,
                payload: sound.payload,
                rate_bps: sound.rate.0,
                number: 0,
            };
            Pieces::datagrams(sound.payload, ticks, sound.listener())
        }))
    }
}

/// Pieces one after the other at a rate, without end.
#[derive(Debug)]
struct Ticks {
    start: Time,
    payload: Bytes,
    rate_bps: u64,
    number: u64,
}

impl Iterator for Ticks {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let after = spacing(self.number, self.payload, self.rate_bps);
        let begins = self.number == 0;
        self.number += 1;
        let at = self.start.checked_add(after)?;
        Some(Piece { at, begins })
    }
}

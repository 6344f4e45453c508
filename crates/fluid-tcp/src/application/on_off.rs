//! Data at a constant rate with pauses, as datagrams or as a stream of TCP.

use tmt_core::math::rng::Uniform;
use tmt_core::named::{Kind, Parameter, ParseError, Values};
use tmt_core::types::{Bytes, Time, to_f64};

use super::datagrams::{Piece, Pieces, over_udp};
use super::law::{Law, Unit};
use super::spacing::spacing;
use super::voice::{CODEC, HEADERS, PACKET, PLAYOUT, RATE, Sound};
use super::{Entry, Form, Make, Traffic};
use crate::endpoint::Context;
use crate::simulation::Flow;

const TIMES: Kind = Kind::Text("a duration or a distribution");

pub(super) static ENTRY: Entry = Entry {
    name: "on-off",
    about: "data at a rate for a time, then a pause, and again, over UDP or TCP",
    parameters: &[
        Parameter::required("on", TIMES)
            .described("TIME", "time in which it sends, fixed or drawn"),
        Parameter::required("off", TIMES).described("TIME", "length of a pause, fixed or drawn"),
        Parameter::keyword("over", &["udp", "tcp"]),
        RATE,
        PACKET,
        CODEC,
        HEADERS,
        PLAYOUT,
    ],
    examples: &[
        "on-off(on=1s,off=1s)",
        "on-off(on=exponential(1s),off=exponential(1.35s),codec=g729,playout=80ms,headers=40B)",
        "on-off(on=2s,off=500ms,rate=1Mbps,packet=1kB,over=tcp)",
    ],
    make: Make::of(|values| Ok(Box::new(OnOff::of(values)?))),
};

#[derive(Debug)]
struct OnOff {
    on: Law,
    off: Law,
    over_tcp: bool,
    sound: Sound,
}

impl OnOff {
    fn of(values: &Values) -> Result<Self, ParseError> {
        let over_tcp = values.word("over") == "tcp";
        let mut of_calls = ["codec", "headers", "playout"].into_iter();
        if over_tcp && let Some(name) = of_calls.find(|name| values.get(name).is_some()) {
            let found = format!("{name} with over=tcp");
            return Err(ParseError::mismatch(
                found,
                "over=udp, whose datagrams have it",
            ));
        }
        Ok(Self {
            on: Law::read(values.text("on"), Unit::Span)?,
            off: Law::read(values.text("off"), Unit::Span)?,
            over_tcp,
            sound: Sound::of(values)?,
        })
    }

    fn bursts(&self, context: &Context) -> Bursts {
        let lane = u32::try_from(context.entry).unwrap_or(u32::MAX);
        let mut bursts = Bursts {
            on: self.on.clone(),
            off: self.off.clone(),
            payload: self.sound.payload,
            rate_bps: self.sound.rate.0,
            numbers: Uniform::named(context.seed, ENTRY.name, lane),
            drawn: 0,
            start: context.start,
            end: context.start,
            number: 0,
        };
        bursts.end = bursts.after_on();
        bursts
    }
}

impl Traffic for OnOff {
    fn datagrams(&self) -> Option<Form> {
        // Bursts are whole pieces; the last one takes its whole time.
        let piece_ns = to_f64(spacing(1, self.sound.payload, self.sound.rate.0).as_nanos());
        let on = self.on.mean_pieces(piece_ns).max(1.0) * piece_ns;
        let share = on / (on + self.off.mean());
        (!self.over_tcp).then(|| self.sound.form(share))
    }

    fn is_random(&self) -> bool {
        self.on.is_random() || self.off.is_random()
    }

    fn flow(&self, flow: Flow, _packet: Bytes) -> Option<Flow> {
        let own = Self {
            on: self.on.clone(),
            off: self.off.clone(),
            sound: self.sound.clone(),
            ..*self
        };
        let (payload, headers) = (self.sound.payload, self.sound.headers);
        if self.over_tcp {
            return Some(
                flow.limited()
                    .with(move |context| Pieces::stream(payload, own.bursts(context))),
            );
        }
        Some(over_udp(flow, headers).limited().with(move |context| {
            let listener = own.sound.listener();
            Pieces::datagrams(payload, own.bursts(context), listener)
        }))
    }
}

/// Pieces in bursts. The first of a burst is there at its start, the others one after the other at the rate. The lengths of burst k and
/// of the pause after it are drawn from numbers 2 k and 2 k + 1 of the flow.
#[derive(Debug)]
struct Bursts {
    on: Law,
    off: Law,
    payload: Bytes,
    rate_bps: u64,
    numbers: Uniform,
    drawn: u64,
    /// Begin and end of the burst, and the number of its next piece.
    start: Time,
    end: Time,
    number: u64,
}

impl Bursts {
    fn draw(&mut self) -> f64 {
        self.drawn += 1;
        self.numbers.at(self.drawn - 1)
    }

    /// End of a burst that begins at `start`.
    fn after_on(&mut self) -> Time {
        let u = self.draw();
        self.start.saturating_add(self.on.draw_span(u))
    }
}

impl Iterator for Bursts {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let after = spacing(self.number, self.payload, self.rate_bps);
        let at = self.start.checked_add(after)?;
        if self.number == 0 || at < self.end {
            self.number += 1;
            let begins = self.number == 1;
            return Some(Piece { at, begins });
        }
        let u = self.draw();
        // The last piece takes its whole time, so that pieces are never closer than the rate allows.
        self.start = at.checked_add(self.off.draw_span(u))?;
        self.end = self.after_on();
        self.number = 1;
        Some(Piece {
            at: self.start,
            begins: true,
        })
    }
}

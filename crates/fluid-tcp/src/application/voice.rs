//! Calls: codecs, and the listener with a playout buffer, rated by the E-model.
//!
//! The playout buffer holds the first datagram that arrives of a talkspurt for a fixed time. This sets the clock to which
//! all datagrams of the talkspurt are played: one that is late is lost. Delay from mouth to ear is packetisation, look-ahead
//! of the codec, delay of that first datagram, and playout buffer. Delays of the devices themselves are not counted.

use std::collections::VecDeque;

use tmt_core::named::{Kind, Parameter, ParseError, Values};
use tmt_core::stats::ratio;
use tmt_core::types::{BitRate, Bytes, Span, Time};

use super::spacing::spacing;
use super::{Form, Pace};
use crate::endpoint::{Datagram, Heard, Mean, UDP_HEADERS};
use crate::model::e_model::Quality;

/// A codec of voice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Codec {
    /// Name.
    pub name: &'static str,
    /// Description in a few words.
    pub about: &'static str,
    /// Rate of its frames.
    pub rate: BitRate,
    /// Size of a frame.
    pub frame: Bytes,
    /// Size of a usual packet.
    pub packet: Bytes,
    /// Look-ahead, and delay of concealment.
    pub look_ahead: Span,
    /// Equipment impairment factor.
    pub ie: f64,
    /// Packet-loss robustness factor.
    pub bpl: f64,
}

/// Codecs, with Ie and Bpl of ITU-T G.113 (11/2007), Appendix I, Tables I.1 and I.4, and look-ahead of ITU-T G.114, Appendix I.
pub static CODECS: [Codec; 5] = [
    Codec {
        name: "g711",
        about: "G.711 without concealment of losses",
        rate: BitRate(64_000),
        frame: Bytes(1),
        packet: Bytes(160),
        look_ahead: Span::ZERO,
        ie: 0.0,
        bpl: 4.3,
    },
    Codec {
        name: "g711-plc",
        about: "G.711 with concealment of losses (its Appendix I)",
        rate: BitRate(64_000),
        frame: Bytes(1),
        packet: Bytes(160),
        look_ahead: Span::from_micros(3_750),
        ie: 0.0,
        bpl: 25.1,
    },
    Codec {
        name: "g729",
        about: "G.729 Annex A with detection of voice activity",
        rate: BitRate(8_000),
        frame: Bytes(10),
        packet: Bytes(20),
        look_ahead: Span::from_millis(5),
        ie: 11.0,
        bpl: 19.0,
    },
    Codec {
        name: "g723",
        about: "G.723.1 at 6.3 kbit/s with detection of voice activity, 24 B in 30 ms",
        rate: BitRate(6_400),
        frame: Bytes(24),
        packet: Bytes(24),
        look_ahead: Span::from_micros(7_500),
        ie: 15.0,
        bpl: 16.1,
    },
    Codec {
        name: "gsm-efr",
        about: "GSM enhanced full rate, 31 B in 20 ms",
        rate: BitRate(12_400),
        frame: Bytes(31),
        packet: Bytes(31),
        look_ahead: Span::ZERO,
        ie: 5.0,
        bpl: 10.0,
    },
];

/// Words that select a codec, or none.
const NAMES: &[&str] = &["g711", "g711-plc", "g729", "g723", "gsm-efr", "none"];

/// Rate of G.711, which is the codec of datagrams of this rate that name none.
const USUAL_RATE: BitRate = BitRate(64_000);

/// Headers of IPv4, UDP and RTP, bytes (RFC 791, 768, 3550).
const RTP_HEADERS: Bytes = Bytes(UDP_HEADERS.0 + 12);

/// Largest IPv4 packet, bytes.
const LARGEST: u64 = 65_535;

/// Parameters of datagrams that may be a call.
pub(super) const RATE: Parameter = Parameter::optional(
    "rate",
    Kind::Rate,
    "rate of the payload; that of the codec, else 64kbps",
);
pub(super) const PACKET: Parameter = Parameter::optional(
    "packet",
    Kind::Size,
    "payload of a packet; usual one of the codec",
);
pub(super) const CODEC: Parameter = Parameter::optional(
    "codec",
    Kind::Words(NAMES),
    "codec of a call; g711 at 64kbps, else none",
);
pub(super) const HEADERS: Parameter = Parameter::optional(
    "headers",
    Kind::Size,
    "headers of a datagram; 40B of a call (RTP), else 28B",
);
pub(super) const PLAYOUT: Parameter =
    Parameter::optional("playout", Kind::PERIOD, "playout buffer of a call; 60ms");

/// Playout buffer of a call: three usual packets of G.711.
const USUAL_PLAYOUT: Span = Span::from_millis(60);

/// Datagrams, and the listener if they are those of a call.
#[derive(Debug, Clone)]
pub(super) struct Sound {
    pub(super) payload: Bytes,
    pub(super) headers: Bytes,
    pub(super) rate: BitRate,
    codec: Option<&'static Codec>,
    buffer: Span,
}

impl Sound {
    /// Reads the values of these parameters.
    pub(super) fn of(values: &Values) -> Result<Self, ParseError> {
        let given = |name: &str| values.get(name).is_some();
        let named = given("codec").then(|| values.word("codec"));
        let named_codec = named.and_then(Codec::of);
        let rate = if given("rate") {
            values.rate("rate")
        } else {
            named_codec.map_or(USUAL_RATE, |codec| codec.rate)
        };
        let codec = match named {
            Some(_) => named_codec,
            None => CODECS.first().filter(|codec| codec.rate == rate),
        };
        if let Some(codec) = codec.filter(|codec| codec.rate != rate) {
            let found = format!("rate={rate} with codec={}", codec.name);
            return Err(ParseError::mismatch(found, format!("its {}", codec.rate)));
        }
        let payload = match (given("packet"), codec) {
            (true, _) => values.size("packet"),
            (false, Some(codec)) => codec.packet,
            (false, None) => {
                let found = format!("rate={rate} without a codec and without packet");
                return Err(ParseError::mismatch(found, "packet=SIZE, or a codec"));
            }
        };
        if let Some(codec) = codec {
            codec.check(payload)?;
        } else if given("playout") {
            let found = format!("playout={} without a codec", values.duration("playout"));
            return Err(ParseError::mismatch(found, "codec=…, or no playout"));
        }
        let usual = codec.map_or(UDP_HEADERS, |_| RTP_HEADERS);
        let headers = if given("headers") {
            values.size("headers")
        } else {
            usual
        };
        if headers < UDP_HEADERS {
            let found = format!("headers={headers}");
            let expected = format!("at least {UDP_HEADERS}, those of IPv4 and UDP");
            return Err(ParseError::mismatch(found, expected));
        }
        if payload.0.saturating_add(headers.0) > LARGEST {
            let found = format!("packet={payload} with headers of {headers}");
            return Err(ParseError::mismatch(
                found,
                format!("at most {LARGEST} B in all"),
            ));
        }
        if spacing(1, payload, rate.0).is_zero() {
            let found = format!("rate={rate} with packet={payload}");
            return Err(ParseError::mismatch(
                found,
                "at least 1 ns between datagrams",
            ));
        }
        Ok(Self {
            payload,
            headers,
            rate,
            codec,
            buffer: if given("playout") {
                values.duration("playout")
            } else {
                USUAL_PLAYOUT
            },
        })
    }

    /// Its datagrams, sent for this share of the time.
    pub(super) fn form(&self, share: f64) -> Form {
        Form {
            payload: self.payload,
            headers: self.headers,
            pace: Pace::Rate {
                bps: self.rate.0,
                share,
            },
        }
    }

    /// The listener of a run; `None` if it is no call.
    pub(super) fn listener(&self) -> Option<Playout> {
        let codec = self.codec?;
        Some(Playout::new(codec, self.payload, self.buffer))
    }
}

impl Codec {
    /// The codec with this name; `None` for another name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        CODECS.iter().find(|codec| codec.name == name)
    }

    /// Refuses a packet that does not hold whole frames.
    pub(super) fn check(&self, packet: Bytes) -> Result<(), ParseError> {
        if packet.0.is_multiple_of(self.frame.0) {
            return Ok(());
        }
        Err(ParseError::mismatch(
            format!("packet={packet} with codec={}", self.name),
            format!("whole frames of {}", self.frame),
        ))
    }
}

/// A datagram that is not played yet.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    sent: Time,
    begins: bool,
    /// Whether it has arrived, and in time.
    arrived: bool,
    in_time: bool,
}

/// The listener of a call.
#[derive(Debug, Clone)]
pub(super) struct Playout {
    codec: &'static Codec,
    /// Time for which the first datagram of a talkspurt waits.
    buffer: Span,
    /// Packetisation and look-ahead.
    before: Span,
    /// Datagrams that are sent and not due, from number `first` on.
    waiting: VecDeque<Waiting>,
    first: u64,
    /// Time from sending to playing, of the talkspurt that plays and of that which arrives: known once a datagram of one has
    /// arrived.
    clock: Option<Span>,
    /// Talkspurts that have arrived: the number of their first datagram that did, and their clock.
    clocks: VecDeque<(u64, Span)>,
    /// Sum of the delays of the datagrams that were played.
    delays_ns: u128,
    heard: Heard,
    /// Bursts of missing datagrams, and whether the last one was missing.
    bursts: u64,
    was_missing: bool,
}

impl Playout {
    pub(super) fn new(codec: &'static Codec, packet: Bytes, buffer: Span) -> Self {
        let packetisation = spacing(1, packet, codec.rate.0);
        Self {
            codec,
            buffer,
            before: packetisation.saturating_add(codec.look_ahead),
            waiting: VecDeque::new(),
            first: 0,
            clock: None,
            clocks: VecDeque::new(),
            delays_ns: 0,
            heard: Heard::default(),
            bursts: 0,
            was_missing: false,
        }
    }

    /// The next datagram is sent at `now`; it `begins` a talkspurt, or goes on with one.
    pub(super) fn on_sent(&mut self, now: Time, begins: bool) {
        self.play(now);
        let begins = begins || self.first + self.waiting.len() as u64 == 0;
        self.waiting.push_back(Waiting {
            sent: now,
            begins,
            arrived: false,
            in_time: false,
        });
    }

    /// A datagram arrives.
    pub(super) fn on_arrival(&mut self, now: Time, datagram: &Datagram) {
        self.play(now);
        let Some(place) = datagram.number.checked_sub(self.first) else {
            // Its time to be played is over, and it was counted as missing.
            self.heard.late += 1;
            return;
        };
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        let clock = self.clock_of(place).unwrap_or_else(|| {
            let clock = now.since(datagram.sent).saturating_add(self.buffer);
            self.clocks.push_back((self.spurt(place), clock));
            clock
        });
        if let Some(waiting) = self.waiting.get_mut(place) {
            waiting.arrived = true;
            waiting.in_time = now <= waiting.sent.saturating_add(clock);
        }
    }

    /// Number of the first datagram of the talkspurt to which the one at `place` belongs, as far as it still waits.
    fn spurt(&self, place: usize) -> u64 {
        let mut before = (0..=place).rev();
        let begin = before.find(|place| self.waiting.get(*place).is_some_and(|it| it.begins));
        begin.map_or(self.first, |place| self.first + place as u64)
    }

    /// The clock of the talkspurt of the datagram at `place`; `None` if no datagram of it has arrived.
    fn clock_of(&self, place: usize) -> Option<Span> {
        let begin = self.spurt(place);
        let begins = self
            .waiting
            .get(usize::try_from(begin - self.first).unwrap_or(0));
        let continues = begins.is_some_and(|it| !it.begins);
        let known = self.clocks.iter().rev().find(|(first, _)| *first == begin);
        known
            .map(|(_, clock)| *clock)
            .or_else(|| self.clock.filter(|_| continues))
    }

    /// The clock of a talkspurt that has not arrived at all, although the next one has: that of the one before it, else that of
    /// the next. `None` if it may still arrive.
    fn clock_after_silence(&self) -> Option<Span> {
        let (_, next) = self.clocks.front()?;
        Some(self.clock.unwrap_or(*next))
    }

    /// Plays what is due before `now`. A datagram that arrives when it is due is in time.
    fn play(&mut self, now: Time) {
        while let Some(next) = self.waiting.front()
            && let Some(clock) = self.clock_of(0).or_else(|| self.clock_after_silence())
            && next.sent.saturating_add(clock) < now
        {
            self.play_next(clock);
        }
    }

    fn play_next(&mut self, clock: Span) {
        let Some(next) = self.waiting.pop_front() else {
            return;
        };
        self.first += 1;
        self.clock = Some(clock);
        while self
            .clocks
            .front()
            .is_some_and(|(first, _)| *first < self.first)
        {
            self.clocks.pop_front();
        }
        let missing = !next.in_time;
        self.heard.due += 1;
        self.heard.missing += u64::from(missing);
        self.heard.late += u64::from(next.arrived && missing);
        self.bursts += u64::from(missing && !self.was_missing);
        self.was_missing = missing;
        if !missing {
            self.delays_ns += u128::from(clock.as_nanos());
        }
    }

    /// Quality at the listener until `end`; `None` if nothing was due. A talkspurt that did not arrive at all is played as the
    /// one before it, or as one without delay in the network.
    pub(super) fn heard(&mut self, end: Time) -> Option<Heard> {
        self.play(end);
        while let Some(next) = self.waiting.front() {
            let clock = self.clock_of(0).or(self.clock).unwrap_or(self.buffer);
            if next.sent.saturating_add(clock) > end {
                break;
            }
            self.play_next(clock);
        }
        let Heard { due, missing, .. } = self.heard;
        let lost = ratio(missing, due)?;
        let played = u128::from(due - missing);
        let mean = self
            .delays_ns
            .checked_div(played)
            .and_then(|mean| u64::try_from(mean).ok());
        let unheard = self.clock.unwrap_or(self.buffer);
        let network = mean.and_then(Span::from_nanos).unwrap_or(unheard);
        let delay_s = self.before.saturating_add(network).as_secs_f64();
        let burst_ratio = burst_ratio(missing, self.bursts, lost);
        let quality = Quality::of(delay_s, self.codec.ie, self.codec.bpl, lost, burst_ratio);
        Some(Heard {
            rating: Mean::of(quality.rating()),
            mos: Mean::of(quality.mos()),
            delay_s: Mean::of(delay_s),
            burst_ratio: Mean::of(burst_ratio),
            ..self.heard
        })
    }
}

/// Mean length of the bursts over 1/(1 − p), that of random losses (ITU-T G.107, Sec. 7.5), within the range of 1 to 8 for
/// which the E-model is made. 1 without losses.
fn burst_ratio(missing: u64, bursts: u64, lost: f64) -> f64 {
    let length = ratio(missing, bursts).unwrap_or(1.0);
    (length * (1.0 - lost)).clamp(1.0, 8.0)
}

//! Slots of a link with adaptive coding and modulation, and which of them are lost (docs/acm.md).
//!
//! One pass over the decisions finds the runs of slots with the same MODCOD. Any slots can then be made in any order. Within a
//! run, slot k starts at round(k · 8 · S · 10^9 / rate) ns after the first, as on a link of constant rate.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::math::num::floor_u64;
use crate::math::octave_table::OctaveTable;
use crate::math::rng::{BATCH, Draws, Stream, Uniform};
use crate::types::{BitRate, Bytes, NANOS_PER_SECOND, Slot, Span, Time, to_f64};

use super::acm::Acm;
use super::mutual_information::Modulation;
use super::words::Samples;
use super::{Fade, LandMobile, RadioChannel, RadioError, STRETCH, Series, to_db};

/// A link whose MODCOD can be adapted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdaptedLink {
    /// Rate of the user with the code of the channel, LLDU headers included.
    pub rate: BitRate,
    /// One slot in this many belongs to the user; 1: all.
    pub every: u64,
    /// Size of an LLDU, which a slot carries with any MODCOD.
    pub lldu: Bytes,
    /// Slots start before this time.
    pub duration: Span,
}

/// A run of slots with the same MODCOD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Run {
    /// Start of its first slot, ns.
    start: u64,
    /// Number of that slot.
    first: u64,
    /// Index of the MODCOD.
    modcod: usize,
}

/// A MODCOD on the link.
#[derive(Debug)]
struct Mode {
    /// Rate of the user.
    rate: BitRate,
    decode_delay: Span,
    /// Time over which a word is spread.
    window: Span,
    modulation: Modulation,
    /// Which words are lost with it.
    parameters: LandMobile,
}

impl Mode {
    /// Slots from the start of a run until `time` after it; slot k starts at ⌊(k · step + rate/2) / rate⌋.
    fn slots_before(&self, step: u128, time: u64) -> u64 {
        let rate = u128::from(self.rate.0);
        let end = u128::from(time) * rate;
        let slots = end.saturating_sub(rate / 2).div_ceil(step);
        u64::try_from(slots).unwrap_or(u64::MAX)
    }

    /// Start of slot `slot` of a run after its first one, ns.
    fn start(&self, step: u128, slot: u64) -> u64 {
        let rate = u128::from(self.rate.0);
        let nanos = (u128::from(slot) * step + rate / 2) / rate;
        u64::try_from(nanos).unwrap_or(u64::MAX)
    }
}

/// What the link did with a MODCOD.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Use {
    /// Rate of the user.
    pub rate: BitRate,
    /// Share of the time.
    pub time_share: f64,
}

/// Slots of a link with adaptive coding and modulation under one seed.
///
/// ```
/// use tmt_core::radio::{Acm, Adapted, AdaptedLink, LandMobile};
/// use tmt_core::{BitRate, Bytes, Span};
///
/// let rtt = Span::from_millis(500);
/// let acm = Acm::read("dvb-s2,margin=2dB", rtt, |_| Err("no file".to_owned()))?;
/// let channel: LandMobile = "es-n0=10dB".parse()?;
/// let (rate, lldu, duration) = (BitRate(2_630_000), Bytes(33), Span::from_secs(10));
/// let link = AdaptedLink { rate, every: 10, lldu, duration };
/// let adapted = Adapted::new(link, &channel, None, acm, 1)?;
/// let mut running = adapted.begin();
/// let mut slots = Vec::new();
/// running.piece(0, 100, &mut slots);
/// assert_eq!(slots.len(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Adapted(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    link: AdaptedLink,
    seed: u64,
    modes: Vec<Mode>,
    /// The channel with each MODCOD that is used.
    channels: Vec<Option<RadioChannel>>,
    runs: Vec<Run>,
    slots: u64,
    /// Decisions at which no MODCOD had enough Es/N0, and all.
    outages: u64,
    decisions: u64,
}

/// Lane of the random numbers: that of the forward direction of the other processes.
const LANE: u32 = 0;

impl Adapted {
    /// The slots of `link` over a channel, or over a measured fade in place of its model.
    ///
    /// The code of `channel` gives the symbol rate, unless `acm` has one.
    ///
    /// # Errors
    /// A parameter of the channel is outside its range, an error curve is not known for every Es/N0 that the channel
    /// reaches, the efficiency of the channel's code is unknown, or a MODCOD has a rate of 0 or slots of 0 ns.
    pub fn new(
        link: AdaptedLink,
        channel: &LandMobile,
        series: Option<&Series>,
        acm: Acm,
        seed: u64,
    ) -> Result<Self, RadioError> {
        let modes = modes(link, channel, &acm)?;
        let on_channel = |parameters: &LandMobile| match series {
            Some(series) => RadioChannel::of_series(series.clone(), parameters),
            None => RadioChannel::new(parameters),
        };
        let fade = on_channel(channel)?.fade(seed, LANE);
        let estimates = Estimates::new(fade, channel.implementation_loss_db, acm.average);
        let mut walk = Walk {
            step: u128::from(link.lldu.0) * 8 * u128::from(NANOS_PER_SECOND),
            end: link.duration.as_nanos(),
            period: acm.period.as_nanos(),
            delay: acm.delay.as_nanos(),
            acm,
            estimates,
            decided: None,
            outages: 0,
            decisions: 0,
        };
        let (runs, slots) = walk.runs(&modes);
        let is_used = |index: usize| runs.iter().any(|run| run.modcod == index);
        // Error rates are tabulated, which takes a while: only for those that are used.
        let channels = modes.iter().enumerate().map(|(index, mode)| {
            let channel = is_used(index).then(|| on_channel(&mode.parameters));
            channel.transpose()
        });
        let channels = channels.collect::<Result<_, _>>()?;
        Ok(Self(Arc::new(Shared {
            link,
            seed,
            modes,
            channels,
            runs,
            slots,
            outages: walk.outages,
            decisions: walk.decisions,
        })))
    }

    /// Number of slots.
    #[must_use]
    pub fn slots(&self) -> u64 {
        self.0.slots
    }

    /// Rate of the user, mean over time, to the nearest bit/s.
    #[must_use]
    pub fn mean_rate(&self) -> BitRate {
        let total = u128::from(self.0.link.duration.as_nanos().max(1));
        let runs = self.runs().map(|(run, nanos)| {
            let mode = self.0.modes.get(run.modcod);
            u128::from(nanos) * u128::from(mode.map_or(0, |mode| mode.rate.0))
        });
        let mean = (runs.sum::<u128>() + total / 2) / total;
        BitRate(u64::try_from(mean).unwrap_or(u64::MAX))
    }

    /// What was used of each MODCOD, by rising efficiency.
    #[must_use]
    pub fn uses(&self) -> Vec<Use> {
        let mut nanos = vec![0; self.0.modes.len()];
        for (run, length) in self.runs() {
            if let Some(sum) = nanos.get_mut(run.modcod) {
                *sum += length;
            }
        }
        let total = to_f64(self.0.link.duration.as_nanos());
        let modes = self.0.modes.iter().zip(nanos);
        let used = modes.map(|(mode, nanos)| Use {
            rate: mode.rate,
            time_share: to_f64(nanos) / total,
        });
        used.collect()
    }

    /// Changes of the MODCOD.
    #[must_use]
    pub fn changes(&self) -> u64 {
        (self.0.runs.len() as u64).saturating_sub(1)
    }

    /// Share of the decisions at which no MODCOD had enough Es/N0, so that the one with the lowest threshold was taken.
    #[must_use]
    pub fn outage(&self) -> f64 {
        to_f64(self.0.outages) / to_f64(self.0.decisions.max(1))
    }

    /// The runs with their lengths in ns.
    fn runs(&self) -> impl Iterator<Item = (&Run, u64)> {
        let end = self.0.link.duration.as_nanos();
        let ends = self.0.runs.iter().skip(1).map(|run| run.start);
        let ends = ends.chain([end]);
        let runs = self.0.runs.iter().zip(ends);
        runs.map(|(run, end)| (run, end - run.start.min(end)))
    }

    /// The running link, from which slots can be had in any order.
    #[must_use]
    pub fn begin(&self) -> AdaptedSlots {
        AdaptedSlots {
            shared: Arc::clone(&self.0),
            samples: Vec::new(),
            erasure: Uniform::on_lane(self.0.seed, Stream::RadioErasure, LANE),
            draws: Draws::default(),
        }
    }
}

/// The MODCODs on the link.
fn modes(link: AdaptedLink, channel: &LandMobile, acm: &Acm) -> Result<Vec<Mode>, RadioError> {
    let own = channel.code.efficiency_bit_per_symbol();
    let bits = to_f64(link.rate.0);
    let rate = |efficiency: f64| {
        match (acm.symbols_per_s, own) {
        (Some(symbols), _) => Ok(symbols * efficiency / to_f64(link.every)),
        (None, Some(own)) => Ok(bits * (efficiency / own)),
        (None, None) => Err(RadioError(
            "the efficiency of the scenario's code is unknown, so that its symbol rate is: add symbol-rate".to_owned(),
        )),
    }
    };
    let mode = |modcod: &super::Modcod| {
        let rate = BitRate(floor_u64(rate(modcod.efficiency_bit_per_symbol)? + 0.5));
        let link_rate = BitRate(rate.0.saturating_mul(link.every));
        let on_air = link_rate.time_of_bit(8 * u128::from(link.lldu.0));
        let on_air = on_air.map(|end| end.since(Time::ZERO));
        let on_air = on_air.filter(|on_air| !on_air.is_zero()).ok_or_else(|| {
            RadioError(format!(
                "MODCOD {}: found slots of {} at {rate}, expected slots that last at least 1 ns and less than 2^63 ns",
                modcod.name, link.lldu
            ))
        })?;
        let parameters = LandMobile {
            code: modcod.curve.clone(),
            ..channel.clone()
        };
        parameters.check()?;
        let decode_delay = channel_delay(parameters.interleaver, on_air, link.duration);
        Ok(Mode {
            rate,
            decode_delay: decode_delay.ok_or_else(|| {
                RadioError("found a trace and delays of 2^63 ns or more, expected less".to_owned())
            })?,
            window: on_air.max(parameters.interleaver),
            modulation: modcod.curve.modulation(),
            parameters,
        })
    };
    acm.modcods.iter().map(mode).collect()
}

/// Delay until a slot is decoded, if all slots of the trace can have it.
fn channel_delay(interleaver: Span, on_air: Span, duration: Span) -> Option<Span> {
    let delay = interleaver.checked_add(on_air)?;
    duration.checked_add(delay).map(|_| delay)
}

/// Es/N0 by time, as the link measures it.
struct Estimates {
    fade: Fade,
    loss_db: f64,
    /// Time between samples, ns.
    step: u64,
    /// Time over which samples are averaged, ns.
    average: u64,
    /// Number of the first stretch held.
    first: u64,
    held: VecDeque<f64>,
    buffer: Box<[f64; STRETCH]>,
}

impl Estimates {
    fn new(fade: Fade, loss_db: f64, average: Span) -> Self {
        Self {
            step: fade.step().as_nanos().max(1),
            average: average.as_nanos(),
            fade,
            loss_db,
            first: 0,
            held: VecDeque::new(),
            buffer: Box::new([0.0; STRETCH]),
        }
    }

    /// Mean of the samples of the last `average` until `time`, at least of the last sample, dB. Times do not decrease.
    fn at(&mut self, time: u64) -> f64 {
        let last = time / self.step;
        let earlier = time.checked_sub(self.average);
        let begin = earlier.map_or(0, |time| time / self.step + 1).min(last);
        let stretch = STRETCH as u64;
        while self.first < begin / stretch && !self.held.is_empty() {
            self.held.drain(..STRETCH);
            self.first += 1;
        }
        if self.held.is_empty() {
            self.first = begin / stretch;
        }
        while self.first + self.held.len() as u64 / stretch <= last / stretch {
            let next = self.first + self.held.len() as u64 / stretch;
            self.fade.stretch(next, &mut self.buffer);
            self.held.extend(self.buffer.iter());
        }
        let place =
            |sample: u64| usize::try_from(sample - self.first * stretch).unwrap_or(usize::MAX);
        let samples = self.held.range(place(begin)..=place(last));
        let mean = samples.sum::<f64>() / to_f64(last - begin + 1);
        to_db(mean) - self.loss_db
    }
}

/// The pass over the decisions.
struct Walk {
    /// 8 · S · 10^9.
    step: u128,
    end: u64,
    period: u64,
    delay: u64,
    acm: Acm,
    estimates: Estimates,
    /// Number of the last decision, and the MODCOD.
    decided: Option<(u64, usize)>,
    outages: u64,
    decisions: u64,
}

impl Walk {
    /// The MODCOD from decision `number` on. Decisions are asked for in order, each once.
    fn decide(&mut self, number: u64) -> usize {
        let time = (number * self.period).saturating_sub(self.delay);
        let usable_db = self.estimates.at(time) - self.acm.margin_db;
        let modcods = &self.acm.modcods;
        let lowest = modcods.lowest();
        self.decisions += 1;
        let down = modcods.best(usable_db);
        self.outages += u64::from(down.is_none());
        let down = down.unwrap_or(lowest);
        let up = modcods.best(usable_db - self.acm.hysteresis_db);
        let up = up.unwrap_or(lowest).min(down);
        let chosen = match self.decided {
            Some((_, current)) => current.clamp(up, down),
            None => down,
        };
        self.decided = Some((number, chosen));
        chosen
    }

    /// The MODCOD of a slot that starts at `time`, which is not before that of the last call.
    fn at(&mut self, time: u64) -> usize {
        let number = time / self.period;
        let next = self.decided.map_or(0, |(last, _)| last + 1);
        for decision in next..=number {
            self.decide(decision);
        }
        self.decided.map_or(0, |(_, modcod)| modcod)
    }

    /// All runs, and the number of slots.
    fn runs(&mut self, modes: &[Mode]) -> (Vec<Run>, u64) {
        let mut runs: Vec<Run> = Vec::new();
        let (mut start, mut first) = (0, 0);
        while start < self.end {
            let modcod = self.at(start);
            let Some(mode) = modes.get(modcod) else {
                break;
            };
            runs.push(Run {
                start,
                first,
                modcod,
            });
            let (slots, next) = self.run(start, modcod, mode);
            start = next;
            first += slots;
        }
        (runs, first)
    }

    /// Number of slots of a run with `mode` from `start` on, and the start of the slot after it. It ends with the first slot that
    /// has another MODCOD; one that is decided and given up again between two slots does not end it.
    fn run(&mut self, start: u64, modcod: usize, mode: &Mode) -> (u64, u64) {
        loop {
            let change = self.change(modcod);
            let slots = mode.slots_before(self.step, change - start);
            let next = start.saturating_add(mode.start(self.step, slots));
            if next >= self.end || self.at(next) != modcod {
                return (slots, next);
            }
        }
    }

    /// When the next decision for another one than `modcod` is made; the end of the trace if there is none.
    fn change(&mut self, modcod: usize) -> u64 {
        loop {
            let number = self.decided.map_or(0, |(last, _)| last + 1);
            let time = number.saturating_mul(self.period);
            if time >= self.end {
                return self.end;
            }
            if self.decide(number) != modcod {
                return time;
            }
        }
    }
}

/// Slots of a running link. Made by [`Adapted::begin`].
#[derive(Debug, Clone)]
pub struct AdaptedSlots {
    shared: Arc<Shared>,
    /// Equivocation over time for the modulations that were needed.
    samples: Vec<(Modulation, Samples)>,
    erasure: Uniform,
    draws: Draws,
}

impl AdaptedSlots {
    /// Appends up to `len` slots from slot `from` on, those that are lost as erased; fewer if the trace ends before.
    ///
    /// Calls in any order give the same slots.
    pub fn piece(&mut self, from: u64, len: usize, out: &mut Vec<Slot>) {
        let shared = Arc::clone(&self.shared);
        let end = from.saturating_add(len as u64).min(shared.slots);
        let after = shared.runs.partition_point(|run| run.first <= from);
        let mut number = from;
        for index in after.saturating_sub(1)..shared.runs.len() {
            if number >= end {
                break;
            }
            let run = shared.runs[index];
            let next = shared.runs.get(index + 1);
            let until = next.map_or(shared.slots, |next| next.first).min(end);
            let mode = shared.modes.get(run.modcod);
            let channel = shared.channels.get(run.modcod).and_then(Option::as_ref);
            let Some((mode, channel)) = mode.zip(channel) else {
                break;
            };
            let begin = out.len();
            times(&shared.link, mode, run, number..until, out);
            self.erase(mode, channel, number, &mut out[begin..]);
            number = until;
        }
    }

    /// Erases those of `slots` that are lost with `mode`. They are numbered from `first` on.
    fn erase(&mut self, mode: &Mode, channel: &RadioChannel, first: u64, slots: &mut [Slot]) {
        let Shared { link, seed, .. } = *self.shared;
        let known = |(modulation, _): &(Modulation, Samples)| *modulation == mode.modulation;
        let place = self.samples.iter().position(known).unwrap_or_else(|| {
            let samples = channel.samples(seed, LANE);
            self.samples.push((mode.modulation, samples));
            self.samples.len() - 1
        });
        let (_, samples) = &mut self.samples[place];
        let rates: &OctaveTable = channel.rates();
        let mut lose = |slot: &mut Slot, draw: f64| {
            if draw < rates.at(samples.mean(slot.tx_time(), mode.window)) {
                *slot = Slot::erased(slot.tx_time());
            }
        };
        if link.every > 1 {
            // The numbers of the user's slots among those of the link.
            for (number, slot) in (first..).zip(slots) {
                lose(slot, self.erasure.at(number.saturating_mul(link.every)));
            }
            return;
        }
        for (batch, number) in slots.chunks_mut(BATCH).zip((first..).step_by(BATCH)) {
            self.erasure.draw(number, &mut self.draws);
            for (slot, draw) in batch.iter_mut().zip(self.draws.numbers()) {
                lose(slot, draw);
            }
        }
    }
}

/// Appends the received slots `numbers` of `run`.
fn times(
    link: &AdaptedLink,
    mode: &Mode,
    run: Run,
    numbers: std::ops::Range<u64>,
    out: &mut Vec<Slot>,
) {
    let rate = u128::from(mode.rate.0);
    let step = u128::from(link.lldu.0) * 8 * u128::from(NANOS_PER_SECOND);
    let mut place = u128::from(numbers.start - run.first) * step + rate / 2;
    let (mut nanos, mut rest) = (place / rate, place % rate);
    place = step;
    let (whole, part) = (place / rate, place % rate);
    out.extend(numbers.map(|_| {
        let start = u64::try_from(nanos).unwrap_or(u64::MAX);
        let time = Time::from_nanos(run.start.saturating_add(start)).unwrap_or(Time::MAX);
        nanos += whole;
        rest += part;
        if rest >= rate {
            (nanos, rest) = (nanos + 1, rest - rate);
        }
        Slot::new(time, mode.decode_delay).unwrap_or(Slot::erased(time))
    }));
}

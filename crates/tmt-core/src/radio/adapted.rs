//! Slots of a link with adaptive coding and modulation, and which of them are lost (docs/acm.md).
//!
//! One pass over the decisions finds the runs of slots with the same MODCOD. Any slots can then be made in any order. Within a
//! run, slot k starts at round(k · 8 · S · 10^9 / rate) ns after the first, as on a link of constant rate.

mod decisions;
mod estimates;
mod mode;
mod slots;

use std::sync::Arc;

use crate::types::{BitRate, Bytes, Span, to_f64};

use super::acm::Acm;
use super::{LandMobile, RadioChannel, RadioError, Series};
use decisions::{Run, Walk};
use estimates::Estimates;
use mode::{Mode, modes, symbols_per_s};

pub use slots::AdaptedSlots;

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

/// Use of a MODCOD by the link.
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
    symbols_per_s: f64,
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
        let symbols_per_s = symbols_per_s(link, channel, &acm)?;
        let modes = modes(link, symbols_per_s, channel, &acm)?;
        let on_channel = |parameters: &LandMobile| match series {
            Some(series) => RadioChannel::of_series(series.clone(), parameters),
            None => RadioChannel::new(parameters),
        };
        let fade = on_channel(channel)?.fade(seed, LANE);
        let estimates = Estimates::new(fade, channel.implementation_loss_db, acm.average);
        let mut walk = Walk::new(link, acm, estimates);
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
            symbols_per_s,
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

    /// Symbols per second of the whole link.
    #[must_use]
    pub fn symbols_per_s(&self) -> f64 {
        self.0.symbols_per_s
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

    /// Use of each MODCOD, by rising efficiency.
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
        AdaptedSlots::new(Arc::clone(&self.0))
    }
}

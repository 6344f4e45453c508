//! `land-mobile`: words of a code over a land-mobile-satellite channel ([`crate::radio`], docs/channels.md).

use std::fmt;
use std::sync::Arc;

use super::family::{Family, Make};
use super::{Erasing, Process, SlotChannel, Use};
use crate::radio::{PARAMETERS, RadioChannel, Words};
use crate::types::{Slot, Span};

pub(super) static FAMILY: Family = Family {
    name: "land-mobile",
    about: "Words of a code over a fading satellite channel to a moving terminal, from published statistics",
    parameters: PARAMETERS,
    examples: &[
        "land-mobile:es-n0=6dB,environment=suburban,elevation=40deg,speed=60km/h,carrier=2.2GHz,implementation-loss=0dB,deep-shadow=1,word-variation=0dB,code=turbo:264-1/3,interleaver=36ms,cross-fade=1,samples-per-doppler=16",
        "land-mobile:es-n0=9.5dB,environment=p681:urban,elevation=30deg,speed=36km/h,carrier=1.5GHz,implementation-loss=1dB,deep-shadow=0.5,word-variation=0.5dB,code=dvb-s2:qpsk-1/2,interleaver=0s,cross-fade=0,samples-per-doppler=20",
        "land-mobile:es-n0=9dB,environment=lutz:rice-factor=10dB/bad-mean=-12dB/bad-deviation=4dB/good=90m/bad=30m/correlation=5m,elevation=40deg,speed=60km/h,carrier=1.54GHz,implementation-loss=0dB,deep-shadow=1,word-variation=0dB,code=turbo:264-1/3,interleaver=0s,cross-fade=1,samples-per-doppler=16",
    ],
    make: Make::timed(|values| {
        let channel = RadioChannel::new(&values.try_into()?)?;
        Ok(SlotChannel::Timed(Arc::new(channel)))
    }),
};

impl fmt::Display for RadioChannel {
    /// The text of its process. A measured fade is not part of it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", FAMILY.name, self.parameters())
    }
}

impl Process for RadioChannel {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        Box::new(Self::begin(self, seed, used as u32))
    }

    fn radio(&self) -> Option<&RadioChannel> {
        Some(self)
    }
}

impl Erasing for Words {
    fn erase(&mut self, first: u64, on_air: Span, slots: &mut [Slot]) {
        Self::erase(self, first, on_air, slots);
    }

    fn erase_every(&mut self, every: u64, first: u64, on_air: Span, slots: &mut [Slot]) {
        Self::erase_every(self, every, first, on_air, slots);
    }
}

use std::fmt;
use std::sync::Arc;

use tmt_core::channel::{
    ChannelError, ChannelSpec, Erasing, Family, GilbertElliott, Key, Process, SlotChannel, Start,
    Use,
};
use tmt_core::{Slot, Span};

pub(crate) static BURSTS: Family = Family {
    name: "bursts",
    about: "Bursts of a mean length",
    keys: &[
        Key::needed("length", "UNITS", "mean length of a burst, units, from 1"),
        Key::preset(
            "every",
            "UNITS",
            "100",
            "mean distance of bursts, units, from 1",
        ),
    ],
    examples: &["bursts:length=2,every=50"],
    in_steps: true,
    read: |text| {
        let [length, every] = BURSTS.values(text)?;
        let channel = GilbertElliott {
            alpha: stay(every)?,
            beta: stay(length)?,
            pg: 0.0,
            pb: 1.0,
            start: Start::Stationary,
        };
        Ok(SlotChannel::Steps(ChannelSpec::GilbertElliott(channel)))
    },
};

/// The probability of staying in a state of this mean length.
fn stay(mean: &str) -> Result<f64, ChannelError> {
    let mean: Option<f64> = mean.parse().ok();
    let stay = mean
        .filter(|mean| *mean >= 1.0)
        .map(|mean| 1.0 - 1.0 / mean);
    stay.ok_or_else(|| ChannelError("expected a mean of 1 or more".to_owned()))
}

pub(crate) static SUNSET: Family = Family {
    name: "sunset",
    about: "Nothing is received from a time on",
    keys: &[Key::needed("at", "DURATION", "time of the sunset")],
    examples: &["sunset:8h"],
    in_steps: false,
    read: |text| {
        let at = text.parse::<Span>();
        let at = at.map_err(|error| ChannelError(error.to_string()))?;
        Ok(SlotChannel::Timed(Arc::new(Sunset { at })))
    },
};

#[derive(Debug, Clone, Copy)]
struct Sunset {
    at: Span,
}

impl fmt::Display for Sunset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", SUNSET.name, self.at)
    }
}

impl Process for Sunset {
    fn begin(&self, _seed: u64, _used: Use) -> Box<dyn Erasing> {
        Box::new(*self)
    }
}

impl Erasing for Sunset {
    fn erase(&mut self, _first: u64, on_air: Span, slots: &mut [Slot]) {
        for slot in slots {
            let ends = slot.tx_time().saturating_add(on_air);
            if ends.as_nanos() > self.at.as_nanos() {
                *slot = Slot::erased(slot.tx_time());
            }
        }
    }
}

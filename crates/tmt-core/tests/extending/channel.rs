use std::fmt;
use std::sync::Arc;

use tmt_core::channel::{
    ChannelSpec, Erasing, Family, GilbertElliott, Make, Process, SlotChannel, Start, Use,
};
use tmt_core::named::{Kind, Parameter};
use tmt_core::{Slot, Span};

pub(crate) static BURSTS: Family = Family {
    name: "bursts",
    about: "Bursts of a mean length",
    parameters: &[
        Parameter::required("length", Kind::Number(1.0, 1e9))
            .described("UNITS", "mean length of a burst, units, from 1"),
        Parameter::number("every", 100.0, 1.0, 1e9)
            .described("UNITS", "mean distance of bursts, units, from 1"),
    ],
    examples: &["bursts:length=2,every=50"],
    make: Make {
        in_steps: true,
        ..Make::timed(|values| {
            // The probability of staying in a state of this mean length.
            let stay = |mean: &str| 1.0 - 1.0 / values.number(mean);
            let channel = GilbertElliott {
                alpha: stay("every"),
                beta: stay("length"),
                pg: 0.0,
                pb: 1.0,
                start: Start::Stationary,
            };
            Ok(SlotChannel::Steps(ChannelSpec::GilbertElliott(channel)))
        })
    },
};

pub(crate) static SUNSET: Family = Family {
    name: "sunset",
    about: "Nothing is received from a time on",
    parameters: &[Parameter::required("at", Kind::DURATION)
        .without_name()
        .described("DURATION", "time of the sunset")],
    examples: &["sunset:8h"],
    make: Make::timed(|values| {
        let at = values.duration("at");
        Ok(SlotChannel::Timed(Arc::new(Sunset { at })))
    }),
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

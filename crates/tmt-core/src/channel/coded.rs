//! `coded`: what a real decoder loses over white noise ([`crate::coding`]). A unit is a codeword of the outer code, or an LLDU
//! of the inner code alone.

use std::fmt;
use std::sync::Arc;

use super::family::{Family, Make};
use super::{ChannelError, Erasing, Process, SlotChannel, Use};
use crate::coding::counts::Outcome;
use crate::coding::simulation::{Link, Simulation};
use crate::coding::spec::{CodeSpec, FORM, Interleaver};
use crate::types::named::{Kind, Parameter, Quantity, Values};
use crate::types::{Bytes, Slot, Span};

/// Ec/N0 of a link.
static DECIBELS: Quantity = Quantity {
    expected: "an Ec/N0 in dB, from -100dB to 100dB",
    least: -100.0,
    most: 100.0,
    units: &[("dB", 1.0, 1.0)],
};

pub(super) static FAMILY: Family = Family {
    name: "coded",
    about: "Codewords that a real decoder fails on, or decodes wrongly, over white noise",
    parameters: &[
        Parameter::required("code", Kind::Text(FORM)).described(
            "CODE",
            "inner and outer code, such as conv:3/4+rs:239/223; a slot is a codeword of the outer one",
        ),
        Parameter::required("ecn0", Kind::Quantity(&DECIBELS))
            .described("DB", "energy per channel bit over noise density Ec/N0"),
        Parameter::optional(
            "lldu",
            Kind::Size,
            "bytes of a slot of a code without outer code, whose size no codeword tells",
        ),
        Parameter::optional(
            "interleaver",
            Kind::Text("none, ideal or block:DEPTH"),
            "order in which symbols of outer codewords are sent [default: none]",
        ),
    ],
    examples: &[
        "coded:code=rs:31/27,ecn0=3dB,interleaver=block:4",
        "coded:code=conv:1/2,ecn0=0dB,lldu=33B",
    ],
    make: Make {
        in_steps: false,
        ..Make::timed(|values| Ok(SlotChannel::Timed(Arc::new(Coded::of(values)?))))
    },
};

/// A code over a noisy link.
#[derive(Debug)]
struct Coded {
    text: String,
    code: CodeSpec,
    /// Bytes of a slot without an outer code.
    lldu: Option<Bytes>,
    simulation: Simulation,
}

impl Coded {
    fn of(values: &Values) -> Result<Self, ChannelError> {
        let code: CodeSpec = values.text("code").parse()?;
        let ecn0_db = values.number("ecn0");
        let lldu = values.get("lldu").map(|_| values.size("lldu"));
        let interleaver = values
            .get("interleaver")
            .map(|_| values.text("interleaver"));
        let interleaver: Interleaver = interleaver.unwrap_or("none").parse()?;
        let mut text = format!(
            "{}:code={code},ecn0={}",
            FAMILY.name,
            DECIBELS.show(ecn0_db)
        );
        let segment_bytes = match (code.outer.is_some(), lldu) {
            (true, None) => None,
            (false, Some(lldu)) => {
                text += &format!(",lldu={lldu}");
                Some(usize::try_from(lldu.0).unwrap_or(usize::MAX))
            }
            (true, Some(lldu)) => {
                return Err(ChannelError::value(
                    format!("lldu={lldu}"),
                    "no lldu: a slot is a codeword of the outer code",
                ));
            }
            (false, None) => {
                return Err(ChannelError::value(
                    format!("code={code}"),
                    "lldu, the bytes of a slot, which only an outer code gives",
                ));
            }
        };
        if interleaver != Interleaver::None {
            if code.outer.is_none() {
                return Err(ChannelError::value(
                    format!("interleaver={interleaver}"),
                    "none: only symbols of an outer code are interleaved",
                ));
            }
            text += &format!(",interleaver={interleaver}");
        }
        let link = Link {
            interleaver,
            segment_bytes,
            ..Link::at(ecn0_db)
        };
        Ok(Self {
            text,
            code,
            lldu,
            simulation: Simulation::new(&code, &link)?,
        })
    }
}

impl fmt::Display for Coded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Process for Coded {
    fn begin(&self, seed: u64, used: Use) -> Box<dyn Erasing> {
        // Points of a curve share no random numbers, and neither do uses.
        let point = match used {
            Use::Forward => 0,
            Use::Return => 1,
            Use::Feedback => 2,
            Use::Queue => 3,
            Use::Terrestrial => 4,
            Use::Far => 5,
        };
        Box::new(Running {
            simulation: self.simulation.under(seed, point),
            chunk: None,
            outcomes: Vec::new(),
        })
    }

    fn unit_bytes(&self) -> Option<Bytes> {
        self.code.outer_data_bytes().map(Bytes).or(self.lldu)
    }

    fn is_timed(&self) -> bool {
        false
    }

    fn note(&self, _on_air: Span) -> String {
        let data = match self.code.outer_data_bytes() {
            Some(bytes) => format!("a slot is a codeword with {} of data", Bytes(bytes)),
            None => "a slot is an LLDU of the inner code".to_owned(),
        };
        format!("{data}, rate {:.4}", self.code.rate())
    }
}

/// A running code, with the chunk that was simulated last.
#[derive(Debug)]
struct Running {
    simulation: Simulation,
    chunk: Option<u64>,
    outcomes: Vec<Outcome>,
}

impl Erasing for Running {
    fn erase(&mut self, first: u64, _on_air: Span, slots: &mut [Slot]) {
        let words = self.simulation.outcomes_per_chunk();
        for (number, slot) in (first..).zip(slots) {
            let chunk = number / words;
            if self.chunk != Some(chunk) {
                self.outcomes = self.simulation.chunk(chunk).1;
                self.chunk = Some(chunk);
            }
            let place = usize::try_from(number % words).unwrap_or(usize::MAX);
            if self.outcomes.get(place) != Some(&Outcome::Decoded) {
                *slot = Slot::erased(slot.tx_time());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::Losses;
    use crate::coding::measure::outcomes;
    use crate::types::Time;

    #[test]
    fn a_slot_is_lost_where_the_decoder_fails() {
        for text in [
            "coded:code=conv:1/2+rs:31/27,ecn0=-1dB",
            "coded:code=conv:3/4,ecn0=2dB,lldu=50B",
        ] {
            let process: SlotChannel = text.parse().unwrap();
            let mut losses = Losses::new(&process, 9, Use::Forward);
            let (code, link) = match text.split_once("lldu") {
                None => (
                    "conv:1/2+rs:31/27",
                    Link {
                        seed: 9,
                        ..Link::at(-1.0)
                    },
                ),
                Some(_) => (
                    "conv:3/4",
                    Link {
                        seed: 9,
                        segment_bytes: Some(50),
                        ..Link::at(2.0)
                    },
                ),
            };
            let expected = outcomes(&code.parse().unwrap(), &link, 2000).unwrap();
            let mut lost = 0;
            for (number, outcome) in expected.enumerate() {
                let is_lost = losses.loses(Time::ZERO, Span::ZERO);
                assert_eq!(is_lost, outcome != Outcome::Decoded, "{text} {number}");
                lost += usize::from(is_lost);
            }
            assert!((20..1980).contains(&lost), "{text}: {lost}");
        }
    }

    #[test]
    fn what_no_slot_can_be_is_refused() {
        for (text, expected) in [
            ("coded:code=conv:1/2,ecn0=1dB", "lldu"),
            ("coded:code=rs:31/27,ecn0=1dB,lldu=3B", "no lldu"),
            (
                "coded:code=conv:1/2,ecn0=1dB,lldu=3B,interleaver=ideal",
                "none",
            ),
            ("coded:code=conv:4/5,ecn0=1dB,lldu=3B", "7/8"),
            ("coded:code=rs:256/200,ecn0=1dB", "255"),
            ("coded:code=rs:31/27,ecn0=500dB", "dB"),
        ] {
            let refused = text.parse::<SlotChannel>().unwrap_err().to_string();
            assert!(refused.contains(expected), "{text}: {refused}");
        }
    }
}
